"""Only a token that verifies names a caller."""

import math
import time
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from stud_service import tokens
from stud_service.identity import Caller
from stud_service.refusals import Refused
from stud_service.settings import MAX_LIFE_S
from stud_service.signing_keys import KeyFileError, load_private_key, load_public_key
from stud_service.tokens import Verifier, mint
from tests.support.runtime import write_keys

KEY = Ed25519PrivateKey.generate()
RSA_KEY = rsa.generate_private_key(65537, 2048)


@pytest.fixture
def verifier() -> Verifier:
    return Verifier(KEY.public_key())


def reason(verifier: Verifier, token: str) -> str:
    with pytest.raises(Refused) as caught:
        verifier.caller_of(token)
    return caught.value.reason


def test_a_minted_token_names_its_subject_and_roles(verifier: Verifier):
    assert verifier.caller_of(mint("alice", ["player"], 60, KEY)) == Caller("alice", frozenset({"player"}))


def test_a_token_says_how_its_player_is_called(verifier: Verifier):
    named = verifier.caller_of(mint("alice", ["player"], 60, KEY, nickname="Ann", avatar="owl"))
    assert (named.nickname, named.avatar) == ("Ann", "owl")
    plain = verifier.caller_of(mint("alice", ["player"], 60, KEY))
    assert (plain.nickname, plain.avatar) == ("", "")


def test_rsa_keys_work_as_well():
    token = mint("alice", ["operator"], 60, RSA_KEY)
    assert Verifier(RSA_KEY.public_key()).caller_of(token).roles == {"operator"}
    assert reason(Verifier(KEY.public_key()), token) == "UNAUTHENTICATED"


def claims(**changes: object) -> dict[str, object]:
    now = int(time.time())
    base = {"sub": "alice", "roles": ["player"], "iss": "stud", "aud": "stud", "exp": now + 60}
    return {name: value for name, value in {**base, **changes}.items() if value is not None}


@pytest.mark.parametrize(
    "changes",
    [
        *({"iss": "other"}, {"aud": "other"}, {"exp": None}, {"sub": None}, {"iss": None}, {"aud": None}),
        *({"sub": ""}, {"sub": "x" * 65}, {"sub": "a\nb"}, {"sub": 7}, {"exp": "soon"}, {"exp": [1]}),
        *({"roles": "operator"}, {"roles": [1]}, {"nbf": int(time.time()) + 86_400}),
    ],
)
def test_claims_that_do_not_hold(verifier: Verifier, changes):
    token = (
        jwt.encode(claims(**changes), KEY, algorithm="EdDSA") if "sub" not in changes else _encode(claims(**changes))
    )
    assert reason(verifier, token) == "UNAUTHENTICATED"


def _encode(payload: dict[str, object]) -> str:
    import json

    return jwt.api_jws.encode(json.dumps(payload).encode(), KEY, algorithm="EdDSA")


def test_roles_that_nobody_knows_count_for_nothing(verifier: Verifier):
    token = jwt.encode(claims(roles=["player", "god"]), KEY, algorithm="EdDSA")
    assert verifier.caller_of(token).roles == {"player"}
    assert verifier.caller_of(jwt.encode(claims(roles=None), KEY, algorithm="EdDSA")).roles == frozenset()


def test_a_clock_that_is_ahead_harms_nobody(verifier: Verifier):
    token = jwt.encode(claims(iat=int(time.time()) + 600), KEY, algorithm="EdDSA")
    assert verifier.caller_of(token).account == "alice"


def test_the_algorithm_is_the_key_s_not_the_token_s(verifier: Verifier):
    public = KEY.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    assert reason(verifier, jwt.encode(claims(), public, algorithm="HS256")) == "UNAUTHENTICATED"
    assert reason(verifier, jwt.encode(claims(), "", algorithm="none")) == "UNAUTHENTICATED"
    assert reason(verifier, mint("alice", ["player"], 60, Ed25519PrivateKey.generate())) == "UNAUTHENTICATED"


@pytest.mark.parametrize("seconds", [math.inf, -math.inf, math.nan, True, "9", 10**400, None, [9]])
@pytest.mark.parametrize("claim", ["exp", "nbf"])
def test_times_are_finite_numbers_of_seconds(verifier: Verifier, claim: str, seconds: object):
    token = _encode({**claims(), claim: seconds})
    assert reason(verifier, token) == "UNAUTHENTICATED"
    assert reason(verifier, token) == "UNAUTHENTICATED"


NOW = 1_800_000_000.25


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        # An issuer whose clock is up to 5 s ahead of ours is believed; how he writes the number does not matter.
        *[({"nbf": NOW + ahead_s}, "") for ahead_s in (-3_600, 0, 2, 4.9, 5)],
        *[({"nbf": NOW + ahead_s}, "UNAUTHENTICATED") for ahead_s in (5.1, 5.5, 6, 3_600)],
        ({"nbf": int(NOW) + 5}, ""),
        ({"nbf": int(NOW) + 6}, "UNAUTHENTICATED"),
        ({"iat": NOW + 2, "nbf": NOW + 2}, ""),
        # When it was issued does not matter for when it begins.
        *[({"iat": iat}, "") for iat in (NOW + 4.9, NOW + 5.1, NOW + 3_600, "yesterday")],
        # No leeway at the end, also for whoever has some at the beginning.
        *[({"exp": NOW + left_s}, "") for left_s in (0.1, 1)],
        *[({"exp": NOW - past_s}, "TOKEN_EXPIRED") for past_s in (0, 0.1, 4.9, 5.1)],
        ({"nbf": NOW + 4, "exp": NOW}, "TOKEN_EXPIRED"),
    ],
)
def test_how_far_clocks_may_differ(changes: dict[str, object], refused: str):
    verifier = Verifier(KEY.public_key(), clock_s=lambda: NOW)
    token = _encode({**claims(exp=NOW + 60), **changes})
    if refused:
        assert reason(verifier, token) == refused
        assert reason(verifier, token) == refused
    else:
        assert verifier.caller_of(token).account == "alice"


DAY_S = 86_400


@pytest.mark.parametrize(
    ("max_life_s", "changes", "is_refused"),
    [
        # From its issue to its end, where it says when it was issued.
        (DAY_S, {"iat": NOW, "exp": NOW + DAY_S}, False),
        (DAY_S, {"iat": NOW, "exp": NOW + DAY_S + 1}, True),
        (DAY_S, {"iat": NOW - 9 * DAY_S, "exp": NOW + 60}, True),
        (DAY_S, {"iat": NOW - DAY_S + 60, "exp": NOW + 60}, False),
        # From now, where it does not, or says that it was issued later than now: 5 s of that are his clock's.
        *[(DAY_S, {**iat, "exp": NOW + DAY_S + 5}, False) for iat in ({}, {"iat": NOW + DAY_S}, {"iat": "today"})],
        *[(DAY_S, {**iat, "exp": NOW + DAY_S + 6}, True) for iat in ({}, {"iat": NOW + DAY_S}, {"iat": "today"})],
        *[
            (DAY_S, {"iat": iat, "exp": NOW + DAY_S + 6}, True)
            for iat in (math.inf, math.nan, -math.inf, 10**400, None)
        ],
        (DAY_S, {"iat": 0, "exp": NOW + 60}, True),
        (MAX_LIFE_S, {"exp": NOW + MAX_LIFE_S}, False),
        (MAX_LIFE_S, {"exp": NOW + MAX_LIFE_S + DAY_S}, True),
        (MAX_LIFE_S, {"exp": 1e300}, True),
    ],
)
def test_how_long_a_token_may_live(max_life_s: int, changes: dict[str, object], is_refused: bool):
    verifier = Verifier(KEY.public_key(), max_life_s=max_life_s, clock_s=lambda: NOW)
    token = _encode({**claims(), **changes})
    if not is_refused:
        assert verifier.caller_of(token).account == "alice"
        return
    for _ in range(2):
        with pytest.raises(Refused, match=f"want at most {max_life_s} s from its issue") as caught:
            verifier.caller_of(token)
        assert caught.value.reason == "UNAUTHENTICATED"
        assert caught.value.metadata == {"field": "exp", "max_life_s": str(max_life_s)}


def test_it_is_a_year_at_most_unless_somebody_says_less(verifier: Verifier):
    assert verifier.caller_of(mint("alice", ["player"], MAX_LIFE_S, KEY)).account == "alice"
    assert reason(verifier, mint("alice", ["player"], MAX_LIFE_S + 60, KEY)) == "UNAUTHENTICATED"


def test_a_token_that_was_too_early_is_good_when_its_time_has_come():
    now = NOW
    verifier = Verifier(KEY.public_key(), clock_s=lambda: now)
    token = _encode(claims(nbf=NOW + 30, exp=NOW + 60))
    with pytest.raises(Refused, match=r"another 30\.0 s.*at most 5 s"):
        verifier.caller_of(token)
    now += 25
    assert verifier.caller_of(token).account == "alice"


def test_a_fraction_of_a_second_counts(verifier: Verifier):
    assert verifier.caller_of(_encode(claims(exp=time.time() + 60.5))).account == "alice"


def test_expiry_is_judged_at_every_use():
    now = time.time()
    verifier = Verifier(KEY.public_key(), clock_s=lambda: now)
    token = mint("alice", ["player"], 60, KEY)
    assert verifier.caller_of(token).account == "alice"
    now += 61
    assert reason(verifier, token) == "TOKEN_EXPIRED"
    assert reason(verifier, token) == "TOKEN_EXPIRED"


def test_not_more_tokens_are_remembered_than_allowed(verifier: Verifier, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tokens, "CACHED", 3)
    made = [mint(f"p{n}", ["player"], 60, KEY) for n in range(5)]
    assert [verifier.caller_of(token).account for token in made] == [f"p{n}" for n in range(5)]
    assert len(verifier._known) == 3
    assert verifier.caller_of(made[0]).account == "p0"


# Keys


def test_keys_are_found_in_the_directory_or_its_mount_for_tokens(tmp_path: Path):
    write_keys(tmp_path / "a")
    write_keys(tmp_path / "b" / "auth")
    for place in ("a", "b"):
        token = mint("alice", ["player"], 60, load_private_key(tmp_path / place))
        assert Verifier(load_public_key(tmp_path / place)).caller_of(token).account == "alice"


def test_missing_and_useless_keys_are_named(tmp_path: Path):
    with pytest.raises(KeyFileError, match=r"jwt-private\.pem"):
        load_private_key(tmp_path)
    (tmp_path / "jwt-private.pem").write_text("nonsense")
    (tmp_path / "jwt-public.pem").write_text("nonsense")
    for load in (load_private_key, load_public_key):
        with pytest.raises(KeyFileError, match="cannot be read"):
            load(tmp_path)
    key = ec.generate_private_key(ec.SECP384R1())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "jwt-private.pem").write_bytes(private)
    (tmp_path / "jwt-public.pem").write_bytes(public)
    for load in (load_private_key, load_public_key):
        with pytest.raises(KeyFileError, match="Ed25519"):
            load(tmp_path)
