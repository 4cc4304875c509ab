"""What keeps a server that answers from being written, or from keeping what it acknowledges: looked at before the first
use, and while it runs. Put into words, since people must help.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

MEMORY_LIMIT = 0.85
"""Above this share of the server's memory no hand is started; running hands finish (architecture.md, "Appending")."""

MIN_VERSION = (7, 2)

_SETTINGS = {
    "appendonly": ("yes", "without an append-only file a restart loses everything"),
    "appendfsync": ("always", "anything else may lose what was acknowledged within the last second"),
    "no-appendfsync-on-rewrite": ("no", "while the file is rewritten commits would be acknowledged that may be lost"),
    "maxmemory-policy": ("noeviction", "any eviction deletes parts of the log"),
    "aof-load-truncated": ("no", "a truncated file would be loaded silently, without its tail"),
}
SETTING_NAMES = tuple(_SETTINGS)

AWAY, BEHIND = "LOG_AWAY", "LOG_BEHIND"
"""It does not answer; it is not the log that was there before."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Of the log's server, in bytes: what it uses, and the most that it may; 0 = nobody says."""

    used: int
    limit: int


@dataclass(frozen=True, slots=True)
class Trouble:
    """`code` is shown where people look to see why nothing moves, `why` is what the server said, `help` what to do.

    With `refuses` nothing can be written; without it play may go on, but nothing new should begin. `serving`: whether
    those who ask for health should still be sent here.
    """

    code: str
    why: str
    help: str
    refuses: bool = False
    serving: bool = False


_ANY_REFUSAL, _VOLATILE, _FULL = "LOG_REFUSES_WRITES", "LOG_VOLATILE", "LOG_MEMORY"

_REFUSALS = {
    "READONLY": ("LOG_READONLY", "make the server a primary again, or point STUD_REDIS_URL at the one that is"),
    "OOM": ("LOG_OUT_OF_MEMORY", "raise maxmemory, or archive and trim what is no longer needed"),
    "MISCONF": ("LOG_DISK", "the server cannot save to its disk: make room, then its next save lets it write again"),
    "NOREPLICAS": ("LOG_NO_REPLICAS", "bring its replicas back, or lower min-replicas-to-write"),
    "NOPERM": ("LOG_NOT_PERMITTED", "render the access list of this build (deploy/redis) and load it"),
    "WRONGTYPE": ("LOG_WRONG_TYPE", "delete the key that is named: somebody put it in place of what belongs there"),
}
CODES = frozenset(
    {
        *(name for name, _ in _REFUSALS.values()),
        *(_ANY_REFUSAL, _VOLATILE, _FULL, AWAY, BEHIND),
    }
)
"""All that a trouble may be called."""

_OF_THE_SERVER = frozenset({"READONLY", "OOM", "MISCONF", "NOREPLICAS"})
"""What is refused for a reason that concerns every key: seen by trying, wherever that is done."""


def refused(code: str, text: str) -> Trouble:
    """Returns the trouble of a server that answers a write with an error."""
    name, help_ = _REFUSALS.get(code, (_ANY_REFUSAL, "look at the server's own log"))
    return Trouble(name, f"{code} {text}", help_, refuses=True)


def of_a_key(code: str) -> bool:
    """Whether an error may concern one key alone, so that nobody sees it who tries another."""
    return code not in _OF_THE_SERVER


def unseen(code: str, text: str) -> Trouble:
    """Returns the trouble of a server that no longer says whether it keeps what it acknowledges."""
    return replace(refused(code, text), refuses=False)


def volatile(problems: list[str]) -> Trouble:
    """Returns the trouble of a server that may lose what it acknowledges."""
    return Trouble(_VOLATILE, "; ".join(problems), "set it back with CONFIG SET and in redis.conf")


def full(ratio: float) -> Trouble:
    """Returns the trouble of a server whose memory is nearly used up."""
    why = f"{ratio:.0%} of maxmemory is used, above {MEMORY_LIMIT:.0%} no hand is started"
    return Trouble(_FULL, why, "raise maxmemory, or archive and trim what is no longer needed", serving=True)


def parse_version(text: str) -> tuple[int, int]:
    """Returns (major, minor) of a version such as "7.2.4" or "255.255.255"; (0, 0) when it is not one."""
    parts = text.split(".")
    try:
        return int(parts[0]), int(parts[1])
    except (IndexError, ValueError):
        return 0, 0


def server_problems(settings: Mapping[str, str], version: str) -> list[str]:
    """Returns one line per setting under which acknowledged commits may be lost; empty = safe."""
    problems = []
    if parse_version(version) < MIN_VERSION:
        problems.append(f"version is {version or 'unknown'}, must be at least {MIN_VERSION[0]}.{MIN_VERSION[1]}")
    return problems + setting_problems(settings)


def setting_problems(settings: Mapping[str, str]) -> list[str]:
    """The same for the settings alone: they may change while the server runs."""
    problems = []
    for name, (wanted, why) in _SETTINGS.items():
        found = settings.get(name)
        if found != wanted:
            problems.append(f"{name} is {found or 'unknown'}, must be {wanted} ({why})")
    return problems
