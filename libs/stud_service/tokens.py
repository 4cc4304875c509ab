"""Tokens: JWT that say who calls. Services only verify; minting is for local runs and tests.

The algorithm is pinned by the key at hand, never chosen by the token: EdDSA for an Ed25519 key, RS256 for an RSA key.

The library is loaded when it is first needed, since a sixth of a service's start went into it; a service has it loaded
beside its work as soon as it serves (`warm_up`), so that the first caller does not wait for it.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey

from stud_service.identity import Caller
from stud_service.keyring import JWT_FOLDER, JWT_PRIVATE, JWT_PUBLIC, home_of
from stud_service.refusals import Refused
from stud_service.settings import MAX_LIFE_S

ROLES = frozenset({"player", "operator", "cashier", "auditor", "service"})
ISSUER = AUDIENCE = "stud"
MAX_SUBJECT = 64
MAX_TOKEN = 4096
CACHED = 10_000
NOT_BEFORE_LEEWAY_S = 5.0
"""An issuer's clock may be this far ahead of ours. None for `exp`: an expired token stays expired."""

PrivateKey = Ed25519PrivateKey | RSAPrivateKey
PublicKey = Ed25519PublicKey | RSAPublicKey


class KeyFileError(ValueError):
    """A key file is missing or holds no usable key. The text names it."""


def load_private_key(keys_dir: Path) -> PrivateKey:
    """Reads `jwt-private.pem`; raises KeyFileError."""
    path = _find(keys_dir, JWT_PRIVATE)
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as why:
        raise KeyFileError(f"{path}: cannot be read as a private key ({type(why).__name__})") from None
    if not isinstance(key, PrivateKey):
        raise KeyFileError(f"{path}: want an Ed25519 or RSA key")
    return key


def load_public_key(keys_dir: Path) -> PublicKey:
    """Reads `jwt-public.pem`; raises KeyFileError."""
    path = _find(keys_dir, JWT_PUBLIC)
    try:
        key = serialization.load_pem_public_key(path.read_bytes())
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as why:
        raise KeyFileError(f"{path}: cannot be read as a public key ({type(why).__name__})") from None
    if not isinstance(key, PublicKey):
        raise KeyFileError(f"{path}: want an Ed25519 or RSA key")
    return key


def _find(keys_dir: Path, name: str) -> Path:
    try:
        path = home_of(keys_dir, JWT_FOLDER, name)
        if path.is_file():
            return path
    except OSError as why:
        raise KeyFileError(f"{keys_dir} cannot be read ({why.strerror}): set STUD_KEYS_DIR") from None
    raise KeyFileError(
        f"there is no {name} in {keys_dir}: set STUD_KEYS_DIR (`stud up` and `stud token` make keys for development)"
    )


def warm_up() -> None:
    """Loads what the first token needs."""
    import_module("jwt")


def mint(
    sub: str,
    roles: Iterable[str],
    ttl_s: int,
    key: PrivateKey,
    *,
    issuer: str = ISSUER,
    audience: str = AUDIENCE,
) -> str:
    """Returns a token for `sub` that expires `ttl_s` seconds from now (negative: it has expired already)."""
    import jwt  # noqa: PLC0415

    now = int(time.time())
    claims = {"sub": sub, "roles": sorted(roles), "iss": issuer, "aud": audience, "iat": now, "exp": now + ttl_s}
    return jwt.encode(claims, key, algorithm=_algorithm(key))


def _algorithm(key: PrivateKey | PublicKey) -> str:
    return "EdDSA" if isinstance(key, (Ed25519PrivateKey, Ed25519PublicKey)) else "RS256"


class Verifier:
    """Turns a token into its caller. Verified tokens are remembered until they expire: a signature costs more than all
    other checks of a call.
    """

    def __init__(
        self,
        key: PublicKey,
        *,
        issuer: str = ISSUER,
        audience: str = AUDIENCE,
        max_life_s: int = MAX_LIFE_S,
        clock_s: Callable[[], float] = time.time,
    ) -> None:
        self._key = key
        self._algorithms = [_algorithm(key)]
        self._issuer = issuer
        self._audience = audience
        self._max_life_s = max_life_s
        self._clock_s = clock_s
        self._known: OrderedDict[str, Caller] = OrderedDict()

    def caller_of(self, token: str) -> Caller:
        """Raises Refused: TOKEN_EXPIRED, or UNAUTHENTICATED for everything else that is wrong with it."""
        who = self._known.get(token)
        if who is None:
            who = self._known[token] = self._verify(token)
            if len(self._known) > CACHED:
                self._known.popitem(last=False)
        try:
            self.check_unexpired(who)
        except Refused:
            del self._known[token]
            raise
        return who

    def check_unexpired(self, who: Caller) -> None:
        """Raises Refused(TOKEN_EXPIRED) when the caller's token has run out since they were let in."""
        if self.left_s(who) <= 0:
            raise expired()

    def left_s(self, who: Caller) -> float:
        """Returns for how many seconds the caller's token is still good."""
        return who.until_s - self._clock_s()

    def _verify(self, token: str) -> Caller:
        import jwt  # noqa: PLC0415

        if len(token) > MAX_TOKEN:
            raise Refused("UNAUTHENTICATED", f"the token has {len(token)} characters: want at most {MAX_TOKEN}")
        try:
            claims = jwt.decode(
                token,
                self._key,
                algorithms=self._algorithms,
                issuer=self._issuer,
                audience=self._audience,
                # Times are judged here by our own clock, to the fraction of a second; the library cuts fractions off.
                # Expiry is judged at every use. A token "issued in the future" harms nobody, however far.
                options={
                    "require": ["exp", "sub", "iss", "aud"],
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                },
            )
        except (jwt.PyJWTError, TypeError, ValueError, OverflowError):
            raise Refused("UNAUTHENTICATED", "the token does not verify") from None
        self._check_begun(claims)
        self._check_life(claims)
        return Caller(_subject(claims["sub"]), _roles(claims.get("roles", ())), _seconds("exp", claims["exp"]))

    def _check_begun(self, claims: Mapping[str, object]) -> None:
        """Raises Refused when the token is only valid from a later moment on."""
        if "nbf" not in claims:
            return
        early_s = _seconds("nbf", claims["nbf"]) - self._clock_s()
        if early_s > NOT_BEFORE_LEEWAY_S:
            raise Refused(
                "UNAUTHENTICATED",
                f"the token is not valid for another {early_s:.1f} s: its nbf may be at most {NOT_BEFORE_LEEWAY_S:g} s "
                "ahead of the server's clock",
            )

    def _check_life(self, claims: Mapping[str, object]) -> None:
        """Raises Refused when the token lives too long from its issue on. One that does not say when that was, or says
        that it is still to come, is issued now: waiting until its end is near does not help.
        """
        now_s = self._clock_s() + NOT_BEFORE_LEEWAY_S
        told_s = _finite(claims.get("iat"))
        issued_s = now_s if told_s is None else min(now_s, told_s)
        life_s = _seconds("exp", claims["exp"]) - issued_s
        if life_s > self._max_life_s:
            raise Refused(
                "UNAUTHENTICATED",
                f"the token is good for {life_s:.0f} s: want at most {self._max_life_s} s from its issue to its exp",
                field="exp",
                max_life_s=str(self._max_life_s),
            )


def expired() -> Refused:
    return Refused("TOKEN_EXPIRED", "the token has expired: ask for a new one")


def _seconds(claim: str, value: object) -> float:
    seconds = _finite(value)
    if seconds is None:
        raise Refused("UNAUTHENTICATED", f"the token's {claim} must be a finite number of seconds since the epoch")
    return seconds


def _finite(value: object) -> float | None:
    """Infinity, which JSON as Python reads it may hold, would make a token last for ever."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _subject(value: object) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_SUBJECT or not value.isprintable():
        raise Refused("UNAUTHENTICATED", f"the token's sub must be 1 to {MAX_SUBJECT} printable characters")
    return value


def _roles(value: object) -> frozenset[str]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(role, str) for role in value):
        raise Refused("UNAUTHENTICATED", "the token's roles must be a list of names")
    return ROLES.intersection(value)
