"""A set of keys is read strictly, and a token is verified by the key it names, with that key's algorithm alone."""

import json
import time

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from stud_service.jwks import MAX_BYTES, MAX_KEYS, keys_of
from stud_service.refusals import Refused
from stud_service.tokens import Verifier
from stud_service.trusted import KeySet, Trusted, TrustedKey
from tests.support.issuer import EC_KEY, ED_KEY, ED_KEY_2, RSA_KEY, jwk, jwks, signed

ALL = jwks(jwk(RSA_KEY, "r"), jwk(EC_KEY, "e"), jwk(ED_KEY, "d"))


def verifier(*documents: bytes, pem: TrustedKey | None = None) -> Verifier:
    keys = [key for document in documents for key in keys_of(document)]
    return Verifier(Trusted(KeySet([*keys, *([pem] if pem else [])])))


def reason(judge: Verifier, token: str) -> str:
    try:
        judge.caller_of(token)
    except Refused as why:
        return why.reason
    return "fine"


def test_each_kind_of_key_verifies_with_its_own_algorithm():
    assert [(key.kid, key.algorithm) for key in keys_of(ALL)] == [("r", "RS256"), ("e", "ES256"), ("d", "EdDSA")]
    for key, kid in ((RSA_KEY, "r"), (EC_KEY, "e"), (ED_KEY, "d")):
        assert verifier(ALL).caller_of(signed(key, kid)).account == "alice"


def test_a_token_is_verified_by_the_key_it_names_and_no_other():
    assert reason(verifier(ALL), signed(EC_KEY, "d")) == "UNAUTHENTICATED"
    assert reason(verifier(ALL), signed(ED_KEY_2, "d")) == "UNAUTHENTICATED"
    assert reason(verifier(ALL), signed(ED_KEY, "x")) == "UNAUTHENTICATED"
    assert reason(verifier(ALL), signed(ED_KEY, None)) == "UNAUTHENTICATED"  # which of three?
    assert reason(verifier(jwks(jwk(ED_KEY, "d"))), signed(ED_KEY, None)) == "fine"


@pytest.mark.parametrize("kid", ["r", "e", "d"])
def test_what_the_header_says_of_algorithms_is_never_asked(kid: str):
    """A public key taken for a shared secret, and no signature at all: the oldest tricks."""
    public = ED_KEY.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    claims = {"sub": "alice", "roles": ["operator"], "iss": "stud", "aud": "stud", "exp": time.time() + 60}
    for key, algorithm in ((public, "HS256"), ("", "none"), (RSA_KEY, "RS512"), (RSA_KEY, "PS256")):
        token = jwt.encode(claims, key, algorithm=algorithm, headers={"kid": kid})
        assert reason(verifier(ALL), token) == "UNAUTHENTICATED"


def test_a_key_without_a_name_serves_all_that_name_none_of_the_others():
    pem = TrustedKey.of(ED_KEY_2.public_key())
    judge = verifier(ALL, pem=pem)
    for kid in (None, "", "unknown"):
        assert reason(judge, signed(ED_KEY_2, kid)) == "fine"
    assert reason(judge, signed(ED_KEY_2, "d")) == "UNAUTHENTICATED"
    assert reason(judge, signed(ED_KEY, "d")) == "fine"


def test_of_two_sources_the_first_has_the_name():
    judge = verifier(jwks(jwk(ED_KEY, "a")), jwks(jwk(ED_KEY_2, "a")))
    assert [reason(judge, signed(key, "a")) for key in (ED_KEY, ED_KEY_2)] == ["fine", "UNAUTHENTICATED"]


def test_without_any_key_nobody_is_called_a_liar():
    assert reason(Verifier(Trusted(KeySet())), signed(ED_KEY, "d")) == "KEYS_UNAVAILABLE"


def test_a_token_with_an_unknown_key_has_the_keys_asked_for():
    trusted, asked = Trusted(KeySet(keys_of(ALL))), []
    trusted.on_unknown_key = lambda: asked.append(1)
    for kid in ("d", "later", None):
        reason(Verifier(trusted), signed(ED_KEY, kid))
    assert len(asked) == 1


@pytest.mark.parametrize(
    "entry",
    [
        jwk(ED_KEY_2, "x", use="enc"),
        jwk(ED_KEY_2, "x", alg="ES256"),
        jwk(ED_KEY_2, "x", key_ops=["sign"]),
        jwk(ED_KEY_2, None),
        {"kty": "oct", "kid": "x", "k": "c2VjcmV0"},
        {"kty": "new", "kid": "x"},
        {"kid": "x"},
        {"kty": "RSA", "kid": "x", "n": "AQAB", "e": "AQAB"},
        {"kty": "EC", "kid": "x", "crv": "P-256", "x": "AA", "y": "AA"},
        {"kty": "OKP", "kid": "x", "crv": "Ed25519", "x": 7},
        {"kty": "OKP", "kid": "x", "crv": ["Ed25519"], "x": "AA"},
    ],
)
def test_what_does_not_verify_is_left_out(entry: dict[str, object]):
    assert [key.kid for key in keys_of(jwks(entry, jwk(ED_KEY, "d")))] == ["d"]
    with pytest.raises(ValueError, match="no key in it verifies"):
        keys_of(jwks(entry, {"kty": "new", "kid": "y"}))


def test_weak_and_strange_keys_are_left_out():
    weak, other = rsa.generate_private_key(65537, 1024), ec.generate_private_key(ec.SECP384R1())
    listed = [
        dict(jwt.get_algorithm_by_name(name).to_jwk(key.public_key(), as_dict=True), kid=name)
        for name, key in (("RS256", weak), ("ES384", other))
    ]
    assert [
        key.kid
        for key in keys_of(jwks(*[{k: v for k, v in j.items() if k != "key_ops"} for j in listed], jwk(ED_KEY, "d")))
    ] == ["d"]


SENSELESS: list[tuple[bytes, str]] = [
    (b"", "want JSON"),
    (b"\xff", "want JSON"),
    (b"[" * 100_000, "want JSON"),
    (b"[]", "under 'keys'"),
    (b'{"keys": {}}', "under 'keys'"),
    (b'{"keys": []}', "no key in it"),
    (b'{"keys": [7]}', "key 1 is no JSON object"),
    (jwks(jwk(ED_KEY, "d"), jwk(ED_KEY_2, "d")), "each kid once"),
    (jwks({**jwk(ED_KEY, "d"), "kid": 7}), "want a kid"),
    (jwks({**jwk(ED_KEY, "d"), "kid": "x" * 300}), "want a kid"),
    (jwks(jwk(ED_KEY, "d"), {**jwk(EC_KEY, "e"), "d": "AAAA"}), "key 2 is a private key"),
    (jwks(*[jwk(ED_KEY, str(number)) for number in range(MAX_KEYS + 1)]), "at most 64 keys"),
    (b" " * (MAX_BYTES + 1), "bytes"),
]


@pytest.mark.parametrize("number", range(len(SENSELESS)))  # each run has keys of its own, so they are no names of tests
def test_what_cannot_be_meant_refuses_the_whole_set(number: int):
    document, problem = SENSELESS[number]
    with pytest.raises(ValueError, match=problem) as caught:
        keys_of(document)
    assert "AAAA" not in str(caught.value)


def test_every_member_of_a_key_may_be_of_any_kind():
    """No document makes it raise anything else than what is told."""
    values: tuple[object, ...] = (None, 7, [], {}, "", "x", True, ["verify"])
    for name in ("kty", "kid", "use", "alg", "key_ops", "crv", "x", "y", "n", "e"):
        for value in values:
            for key in (RSA_KEY, EC_KEY, ED_KEY):
                try:
                    keys_of(json.dumps({"keys": [{**jwk(key, "k"), name: value}, jwk(ED_KEY_2, "d")]}).encode())
                except ValueError as why:
                    assert "want" in str(why)  # noqa: PT017  (mostly it is not raised at all)
