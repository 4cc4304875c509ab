"""What happened, event by event, in words: what, and why it was legal or due, with the rules it rests on.

``say`` is the one function; each kind of event has its sentence in a module of this package.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from stud_core.events import Event
from stud_core.state import Table
from stud_replay.words import betting, ending, hand, life, seats, waiting
from stud_replay.words.saying import Told

_SAY: Final[dict[type, Callable[[Table, Any], Told]]] = {
    **life.SAY,
    **seats.SAY,
    **waiting.SAY,
    **hand.SAY,
    **betting.SAY,
    **ending.SAY,
}


def say(before: Table, event: Event) -> Told:
    """Return an event in words; ``before`` is the table just before it. Fields that a viewer may not see are zero."""
    return _SAY[type(event)](before, event)
