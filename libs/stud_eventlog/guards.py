"""Checks before the first use: will this server keep what it acknowledges, and does it still have what it was given?"""

from __future__ import annotations

from collections.abc import Mapping

MIN_VERSION = (7, 2)

_SETTINGS = {
    "appendonly": ("yes", "without an append-only file a restart loses everything"),
    "appendfsync": ("always", "anything else may lose what was acknowledged within the last second"),
    "no-appendfsync-on-rewrite": ("no", "while the file is rewritten commits would be acknowledged that may be lost"),
    "maxmemory-policy": ("noeviction", "any eviction deletes parts of the log"),
    "aof-load-truncated": ("no", "a truncated file would be loaded silently, without its tail"),
}
SETTING_NAMES = tuple(_SETTINGS)


def parse_version(text: str) -> tuple[int, int]:
    """Returns (major, minor) of a version such as "7.2.4" or "255.255.255"; (0, 0) when it is none."""
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
