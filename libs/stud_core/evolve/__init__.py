"""Fold events into a table. Nothing here decides, and nothing fails on a recorded event.

``evolve`` copies the state once and folds a commit into the copy; ``fold`` rebuilds a table from its log and
needs no copies. The folding functions of each kind of event stand in the modules of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any, Final

from stud_core.events import Event
from stud_core.evolve import betting, ending, hand, life, seating
from stud_core.state import Table

_APPLY: Final[dict[type, Callable[[Table, Any], None]]] = {
    **seating.APPLY,
    **hand.APPLY,
    **betting.APPLY,
    **ending.APPLY,
    **life.APPLY,
}


def evolve(state: Table, events: Sequence[Event], version: int) -> Table:
    """Return the table after the commit ``version``; ``state`` stays as it is."""
    after = thaw(state, version)
    for event in events:
        _APPLY[type(event)](after, event)
    return after


def fold(commits: Iterable[tuple[int, Sequence[Event]]]) -> Table:
    """Rebuild a table from its whole log: (version, events) of every commit, in order."""
    state = Table()
    table = _APPLY
    for version, events in commits:
        state.version = version
        for event in events:
            table[type(event)](state, event)
    return state


def thaw(state: Table, version: int) -> Table:
    """Copy a state as far as ``apply`` changes it in place.

    Sittings are replaced rather than changed, and so are the cards of a hand: neither is copied here.
    """
    after = copy(state)
    after.version = version
    after.sittings = state.sittings.copy()
    after.seats = state.seats.copy()
    running = state.hand
    if running is not None:
        after.hand = mine = copy(running)
        mine.live = running.live.copy()
        mine.all_in = running.all_in.copy()
        mine.acted = running.acted.copy()
        mine.bet = running.bet.copy()
        mine.paid = running.paid.copy()
    return after


def apply(state: Table, event: Event) -> None:
    """Fold one event into a state that ``thaw`` returned; its ``version`` is that of the commit being made."""
    _APPLY[type(event)](state, event)
