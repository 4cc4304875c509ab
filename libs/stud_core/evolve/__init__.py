"""Fold events into a table. Nothing here decides, and nothing fails on a recorded event.

``evolve`` copies the state once and folds a commit into the copy; ``fold`` rebuilds a table from its log and
needs no copies. The folding functions of each kind of event are in the modules of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from stud_core.events import Event
from stud_core.evolve import betting, ending, hand, life, seating
from stud_core.state import Table

APPLY: Final[dict[type, Callable[[Table, Any], None]]] = {
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
        APPLY[type(event)](after, event)
    return after


def fold(commits: Iterable[tuple[int, Sequence[Event]]]) -> Table:
    """Rebuild a table from its whole log: (version, events) of every commit, in order."""
    state = Table()
    for version, events in commits:
        fold_into(state, events, version)
    return state


def fold_into(state: Table, events: Sequence[Event], version: int) -> None:
    """Fold the commit ``version`` into ``state`` in place: for a rebuild, where nobody else holds the table yet."""
    table = APPLY
    state.version = version
    for event in events:
        table[type(event)](state, event)


def thaw(state: Table, version: int) -> Table:
    """Copy as much of a state as folding changes in place: the table, its hand, and the dictionary of sittings.

    Everything below these (a sitting, a list, the cards of a seat) is replaced when it changes, never changed.
    """
    after = state.__copy__()
    after.version = version
    after.sittings = state.sittings.copy()
    hand = state.hand
    if hand is not None:
        after.hand = hand.__copy__()
    return after


def apply(state: Table, event: Event) -> None:
    """Fold one event into ``state`` in place: for a rebuild that looks at the table between two events."""
    APPLY[type(event)](state, event)
