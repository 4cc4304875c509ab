"""How much a test does: the numbers of ``make test``, far larger ones with STUD_DEEP=1 (``make deep``), smaller ones
with STUD_QUICK=1 (``make quick``).
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeVar

import pytest

from tests.support.processes import WITH_PROCESSES

T = TypeVar("T")

TESTS: Final = Path(__file__).resolve().parent.parent

DEEP = os.environ.get("STUD_DEEP") == "1"
QUICK = os.environ.get("STUD_QUICK") == "1"


_SEARCH = "it searches"
_ALL = "it goes through everything there is of its kind"
_LIVES = "systems live for minutes of their own time in it"
_LOADS = "systems are put under load in it"
_SCREEN = "a terminal is drawn over and over in it"
_WAITS = "it waits by the wall clock"
_STARTS = "it starts processes"
NOT_QUICK = {
    **dict.fromkeys(sorted(WITH_PROCESSES), _STARTS),
    "exhaustive": _SEARCH,
    "oracle": _SEARCH,
    "property": _SEARCH,
    "unit/deck/test_dealer_servicer.py": _LIVES,
    "unit/deck/test_shuffle_statistics.py": _SEARCH,
    "unit/hands/test_adjudicate.py": _ALL,
    "unit/hands/test_adjudicate_actors.py": _SEARCH,
    "unit/hands/test_adjudicate_hidden.py": _SEARCH,
    "unit/hands/test_adjudicate_known_hands.py": _ALL,
    "unit/hands/test_adjudicate_made_up.py": _SEARCH,
    "unit/hands/test_impossible_hands.py": _ALL,
    "unit/referee/test_honest_hands.py": _SEARCH,
    "unit/cli/test_asking_again.py": _WAITS,
    "unit/cli/test_commands.py": _WAITS,
    "unit/cli/test_escrows.py": _ALL,
    "unit/cli/test_load.py": _LOADS,
    "unit/cli/test_operate_calls.py": _WAITS,
    "unit/cli/test_page.py": _ALL,
    "unit/cli/test_replay_screen.py": _SCREEN,
    "unit/client/test_calls.py": _WAITS,
    "unit/client/test_sessions.py": _WAITS,
    "unit/hands/test_adjudicate_every_field.py": _ALL,
    "unit/ledger/test_service_guards.py": _WAITS,
    "unit/load/test_running.py": _LOADS,
    "unit/replay/test_leaks.py": _SEARCH,
    "unit/replay/test_words.py": _ALL,
    "unit/service/test_feeds.py": _LIVES,
    "unit/service/test_metrics_port.py": _WAITS,
    "unit/table/test_clock_set.py": _LIVES,
    "unit/table/test_feeds_are_copies.py": _LIVES,
    "unit/table/test_trouble.py": _LIVES,
    "unit/test_made_logs.py": _ALL,
}
"""Folders and files of tests that a quick run leaves out, for it is to end within a minute, and why."""


_SYSTEMS = "system_memory|playing_memory|streams|history|watchers|load_house"
_IN_MEMORY = re.compile(rf"^from tests\.support\.(?:{_SYSTEMS}) import", re.MULTILINE)


@lru_cache
def is_quick(path: Path) -> bool:
    """Whether a folder or file of tests is part of a quick run: not what stands above, nor tests that play at services,
    a whole system of them in memory.
    """
    if str(path.relative_to(TESTS)) in NOT_QUICK:
        return False
    return path.suffix != ".py" or _IN_MEMORY.search(path.read_text(encoding="utf-8")) is None


def either(usual: T, deep: T, quick: T | None = None) -> T:
    """The usual number, or the one of a deep or a quick run; what does not take long needs none for a quick one."""
    if QUICK and quick is not None:
        return quick
    return deep if DEEP else usual


def not_quick(why: str) -> pytest.MarkDecorator:
    """For what a quick run is too short for; ``why`` is told by each run that leaves it out."""
    return pytest.mark.skipif(QUICK, reason=f"{why}: make test")
