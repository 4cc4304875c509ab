"""Tokens: JWT that say who calls. Services only verify; minting is for local runs and tests.

A token's header names the key it was signed with (`kid`), and the key says with which algorithm (`signing_keys`): what
the header says of algorithms is never asked.

The library is loaded when it is first needed, since a sixth of a service's start went into it; a service has it loaded
beside its work as soon as it serves (`warm_up`), so that the first caller does not wait for it.
"""

from __future__ import annotations

import asyncio
import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module

from stud_service.identity import Caller
from stud_service.refusals import Refused
from stud_service.revocations import is_token_id
from stud_service.settings import MAX_LIFE_S
from stud_service.signing_keys import PrivateKey, PublicKey, algorithm_of, key_name
from stud_service.trusted import KeySet, Trusted, TrustedKey

ROLES = frozenset({"player", "operator", "cashier", "auditor", "service"})
ISSUER = AUDIENCE = "stud"
MAX_SUBJECT = 64
MAX_TOKEN = 4096
CACHED = 10_000
NOT_BEFORE_LEEWAY_S = 5.0
"""An issuer's clock may be this far ahead of ours. None for `exp`: an expired token stays expired."""


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
    token_id: str = "",
    nickname: str = "",
    avatar: str = "",
) -> str:
    """Returns a token for `sub` that expires `ttl_s` seconds from now (negative: it has expired already). It has an id
    of its own, by which it can be revoked, and names its key. A player may have a nickname and an avatar.
    """
    import jwt  # noqa: PLC0415

    now = int(time.time())
    claims = {"sub": sub, "roles": sorted(roles), "iss": issuer, "aud": audience, "iat": now, "exp": now + ttl_s}
    claims["jti"] = token_id or secrets.token_hex(8)
    claims |= {name: text for name, text in (("nickname", nickname), ("avatar", avatar)) if text}
    return jwt.encode(claims, key, algorithm=algorithm_of(key), headers={"kid": key_name(key.public_key())})


class Verifier:
    """Turns a token into its caller. Verified tokens are remembered until they expire, or until what is trusted
    changes: a signature costs more than all other checks of a call.
    """

    def __init__(
        self,
        trusted: Trusted | PublicKey,
        *,
        issuer: str = ISSUER,
        audience: str = AUDIENCE,
        max_life_s: int = MAX_LIFE_S,
        clock_s: Callable[[], float] = time.time,
    ) -> None:
        self._trusted = trusted if isinstance(trusted, Trusted) else Trusted(KeySet([TrustedKey.of(trusted)]))
        self._trusted.on_change.append(self._changed)
        self._issuer = issuer
        self._audience = audience
        self._max_life_s = max_life_s
        self._clock_s = clock_s
        self._known: OrderedDict[str, Caller] = OrderedDict()
        self._open: dict[asyncio.Timeout, Caller] = {}

    def caller_of(self, token: str) -> Caller:
        """Raises Refused: TOKEN_EXPIRED, TOKEN_REVOKED, KEYS_UNAVAILABLE, or UNAUTHENTICATED for everything else that
        is wrong with it.
        """
        who = self._known.get(token)
        if who is None:
            who = self._verify(token)
            self.check(who)
            self._known[token] = who
            if len(self._known) > CACHED:
                self._known.popitem(last=False)
        try:
            self.check_unexpired(who)
        except Refused:
            del self._known[token]
            raise
        return who

    def check(self, who: Caller) -> None:
        """Raises Refused when the caller's token is good no longer."""
        self.check_unexpired(who)
        if who.token_id and who.token_id in self._trusted.revoked:
            raise Refused("TOKEN_REVOKED", "the token was revoked: ask for a new one")
        if who.signed_by is not None and who.signed_by not in self._trusted.keys:
            raise Refused("TOKEN_REVOKED", "the token's key is trusted no longer: ask for a new token")

    def check_unexpired(self, who: Caller) -> None:
        """Raises Refused(TOKEN_EXPIRED) when the caller's token has run out since they were let in."""
        if self.left_s(who) <= 0:
            raise expired()

    def left_s(self, who: Caller) -> float:
        """Returns for how many seconds the caller's token is still good."""
        return who.until_s - self._clock_s()

    @contextmanager
    def ending_with(self, who: Caller, timeout: asyncio.Timeout) -> Iterator[None]:
        """For as long as a call stays open: its timeout, which has been entered, fires as soon as the caller's token is
        good no longer. Raises Refused where it is not from the start.
        """
        self.check(who)
        self._open[timeout] = who
        try:
            yield
        finally:
            del self._open[timeout]

    def why_over(self, who: Caller) -> Refused:
        """Returns why a call that was ended like this is over."""
        try:
            self.check(who)
        except Refused as why:
            return why
        return expired()

    def _changed(self) -> None:
        """What is trusted is another thing now. Each token is verified again, and what is open is looked at."""
        self._known.clear()
        for timeout, who in list(self._open.items()):
            try:
                self.check(who)
            except Refused:
                if not timeout.expired():
                    timeout.reschedule(asyncio.get_running_loop().time())

    def _key_for(self, token: str) -> TrustedKey:
        import jwt  # noqa: PLC0415

        if not self._trusted.keys:
            raise Refused("KEYS_UNAVAILABLE", "the keys that tokens are verified with cannot be had yet: try again")
        try:
            kid = jwt.get_unverified_header(token).get("kid")
        except (jwt.PyJWTError, TypeError, ValueError, RecursionError):
            raise Refused("UNAUTHENTICATED", "the token does not verify") from None
        key = self._trusted.keys.named(kid if isinstance(kid, str) else None)
        if key is not None:
            return key
        if not kid:
            raise Refused(
                "UNAUTHENTICATED", "the token names no key: want the kid of one of the issuer's keys in its header"
            )
        self._trusted.on_unknown_key()
        raise Refused("UNAUTHENTICATED", "the token names a key (kid) that the issuer does not publish")

    def _verify(self, token: str) -> Caller:
        import jwt  # noqa: PLC0415

        if len(token) > MAX_TOKEN:
            raise Refused("UNAUTHENTICATED", f"the token has {len(token)} characters: want at most {MAX_TOKEN}")
        key = self._key_for(token)
        try:
            claims = jwt.decode(
                token,
                key.key,
                algorithms=[key.algorithm],
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
        until_s, token_id = _seconds("exp", claims["exp"]), claims.get("jti", "")
        if token_id != "" and not is_token_id(token_id):
            raise Refused("UNAUTHENTICATED", "the token's jti must be 1 to 128 printable characters without spaces")
        nickname, avatar = _text(claims.get("nickname")), _text(claims.get("avatar"))
        roles = _roles(claims.get("roles", ()))
        return Caller(_subject(claims["sub"]), roles, until_s, token_id, key, nickname, avatar)

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


def _text(value: object) -> str:
    """What is no text is nobody's name; whether a text is one is asked where it is to be shown."""
    return value if isinstance(value, str) else ""


def _roles(value: object) -> frozenset[str]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(role, str) for role in value):
        raise Refused("UNAUTHENTICATED", "the token's roles must be a list of names")
    return ROLES.intersection(value)
