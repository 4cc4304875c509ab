"""What keeps a log that answers from being written, or from keeping what is written. Told in words, since people must
help.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

MEMORY_LIMIT = 0.85
"""Above this share of the server's memory no hand is started; running hands finish (architecture.md, "Appending")."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """`code` is shown where people look for why nothing moves, `why` is what the server said, `help` what to do.

    With `refuses` nothing can be written; without it play may go on, but nothing new should begin. `serving`: whether
    who asks for health should still be sent here.
    """

    code: str
    why: str
    help: str
    refuses: bool = False
    serving: bool = False


_REFUSALS = {
    "READONLY": ("LOG_READONLY", "make the server a primary again, or point STUD_REDIS_URL at the one that is"),
    "OOM": ("LOG_OUT_OF_MEMORY", "raise maxmemory, or archive and trim what is no longer needed"),
    "MISCONF": ("LOG_DISK", "the server cannot save to its disk: make room, then its next save lets it write again"),
    "NOREPLICAS": ("LOG_NO_REPLICAS", "bring its replicas back, or lower min-replicas-to-write"),
    "NOPERM": ("LOG_NOT_PERMITTED", "render the access list of this build (deploy/redis) and load it"),
}


def refused(code: str, text: str) -> Trouble:
    """Returns the trouble of a server that answers a write with an error."""
    name, help_ = _REFUSALS.get(code, ("LOG_REFUSES_WRITES", "look at the server's own log"))
    return Trouble(name, f"{code} {text}", help_, refuses=True)


def unseen(code: str, text: str) -> Trouble:
    """Returns the trouble of a server that does not say any more whether it keeps what it acknowledges."""
    return replace(refused(code, text), refuses=False)


def volatile(problems: list[str]) -> Trouble:
    """Returns the trouble of a server that may lose what it acknowledges."""
    return Trouble("LOG_VOLATILE", "; ".join(problems), "set it back with CONFIG SET and in redis.conf")


def full(ratio: float) -> Trouble:
    """Returns the trouble of a server whose memory is nearly used up."""
    why = f"{ratio:.0%} of maxmemory is used, above {MEMORY_LIMIT:.0%} no hand is started"
    return Trouble("LOG_MEMORY", why, "raise maxmemory, or archive and trim what is no longer needed", serving=True)
