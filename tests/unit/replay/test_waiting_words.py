"""What a replay says of the waiting list."""

from __future__ import annotations

import pytest

from stud_core import events as ev
from stud_core.state import Table, Waiter
from stud_replay.words import say


@pytest.mark.parametrize(
    ("event", "what", "why"),
    [
        (ev.WaitingJoined("bea", 5_000), "bea waits for a seat, number 2 of the list", "to sit down with 50"),
        (ev.SeatOffered("ada", 3, 9), "seat 3 is kept for ada", "have waited longest"),
        (ev.WaitingLeft("ada"), "ada waits no more", "they asked to"),
        (ev.WaitingLeft("ada", expired=True), "ada waits no more", "the offer of a seat passed"),
    ],
)
def test_the_waiting_list_in_words(event: ev.Event, what: str, why: str):
    told = say(Table(waiting=(Waiter("ada", 5_000),)), event)
    assert (told.what, told.rules) == (what, ("B.22",))
    assert why in told.why
