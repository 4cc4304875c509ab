"""What a replay says of those who are away too long, and of what leavers owe."""

from __future__ import annotations

from stud_core import events as ev
from stud_core.evolve import apply
from stud_core.presets import PLAYNOW, table_config
from stud_core.state import Table
from stud_replay.clocks import Clock, ClockKind, clocks
from stud_replay.words import say
from tests.support.core_table import knobs

RULES = knobs(PLAYNOW, sit_out_max_ms=600_000, rathole_ms=3_600_000)
OUT = ev.SatOut(1, 3, ev.OutReason.REQUESTED, 700_000)


def table(*events: ev.Event) -> Table:
    state = Table()
    seated = (ev.BuyInRequested("EUR", False, 1, 3, "ada", 10_000, 99, True, True), ev.PlayerSeated(1, 3, 10_000))
    for event in (ev.TableOpened(table_config(RULES)), *seated, *events):
        apply(state, event)
    return state


def test_sitting_out_is_told_with_its_end():
    told = say(table(), OUT)
    assert told.what == "ada (seat 3) sits out from the next hand on"
    assert told.why == "they asked to; after 10 minutes of it the seat is given up"
    assert say(table(), ev.SatOut(1, 3, ev.OutReason.REQUESTED)).why == "they asked to"


def test_a_seat_that_is_given_up_is_told_apart_from_one_who_leaves():
    told = say(table(OUT), ev.LeaveRequested(1, 3, idle=True))
    assert (told.what, told.rules) == ("the seat of ada (seat 3) is given up", ("B.17",))
    assert say(table(OUT), ev.LeaveRequested(1, 3)).what == "ada (seat 3) leaves"


def test_a_clock_that_starts_afresh_is_whose_it_is():
    told = say(table(OUT), ev.ClockRestarted(None, None, 900_000, "OUTAGE", 1))
    assert told.what == "ada (seat 3) may sit out for the whole time again"
    assert (told.why, told.seat) == ("an outage of the house takes nobody's seat (OUTAGE)", 3)


def test_more_time_is_told_with_its_reason():
    rules = knobs(PLAYNOW, time_bank_ms=30_000, reconnect_ms=20_000)
    state = Table()
    for event in (
        ev.TableOpened(table_config(rules)),
        ev.BuyInRequested("EUR", False, 1, 3, "ada", 10_000, 99, True, True),
        ev.PlayerSeated(1, 3, 10_000),
    ):
        apply(state, event)
    told = say(state, ev.ClockExtended(9, 3, 99, ev.Extension.TIME_CHIP, 1))
    assert (told.what, told.why) == ("ada (seat 3) uses a time chip: 30 seconds more", "1 left")
    told = say(state, ev.ClockExtended(9, 3, 99, ev.Extension.RECONNECT, 1))
    assert (told.what, told.rules) == ("ada (seat 3) has 20 seconds more", ("B.18",))
    assert told.why.startswith("their connection was lost when the clock ran out")


def test_what_a_leaver_must_bring_back_is_told():
    told = say(table(), ev.CashOutRequested("EUR", 1, "ada", 10_000, 0, 3_700_000))
    assert told.why.endswith("any more; whoever comes back within 1 hour brings as much")
    assert say(table(), ev.CashOutRequested("EUR", 1, "ada", 10_000, 0)).why.endswith("any more")


def test_the_clock_of_an_absence_is_one_of_the_clocks():
    assert clocks(table(), table(OUT)) == (Clock(ClockKind.SIT_OUT, 3, "ada", 700_000, armed=True),)
    assert clocks(table(OUT), table(OUT)) == (Clock(ClockKind.SIT_OUT, 3, "ada", 700_000, armed=False),)
    assert clocks(table(OUT), table(OUT, ev.SatIn(1, 3))) == ()
