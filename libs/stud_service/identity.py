"""Who calls, and what they may do. The interceptor says who it is; handlers ask here."""

from __future__ import annotations

import math
from contextvars import ContextVar
from dataclasses import dataclass, field

from stud_service.refusals import Refused
from stud_service.trusted import TrustedKey


@dataclass(frozen=True, slots=True)
class Caller:
    """The token's subject, its roles (`tokens.ROLES`), when it expires, seconds since the epoch, its own id (`jti`; ""
    = it has none), the key that it was signed with, and what it says of how a player is called (as it stands there; ""
    = nothing).
    """

    account: str
    roles: frozenset[str]
    until_s: float = field(default=math.inf, compare=False)
    token_id: str = field(default="", compare=False)
    signed_by: TrustedKey | None = field(default=None, compare=False, repr=False)
    nickname: str = field(default="", compare=False)
    avatar: str = field(default="", compare=False)


_caller: ContextVar[Caller] = ContextVar("caller")


def caller() -> Caller:
    """Returns who calls. Raises Refused(UNAUTHENTICATED) outside an authenticated call."""
    try:
        return _caller.get()
    except LookupError:
        raise Refused("UNAUTHENTICATED", "this needs a token") from None


def set_caller(who: Caller) -> None:
    """Names the caller for the current task and the tasks that it starts. For the interceptor and tests."""
    _caller.set(who)


def require(*roles: str) -> Caller:
    """Returns the caller if they have one of the roles, else raises Refused(ROLE_NOT_ALLOWED)."""
    who = caller()
    if who.roles.isdisjoint(roles):
        raise Refused("ROLE_NOT_ALLOWED", f"this is for {' or '.join(roles)}", roles=", ".join(sorted(who.roles)))
    return who
