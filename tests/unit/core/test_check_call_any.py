"""Check and Call Any, chosen ahead where the house has them: check holds at its price, Call Any at any."""

from __future__ import annotations

import pytest

from stud_core import bet_ahead
from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.bet_ahead import PreAction
from stud_core.events import Size, Verb
from stud_core.presets import WILLIAM_HILL
from stud_core.rejection import Reason, Rejection
from tests.support.core_table import account, knobs, only
from tests.support.table_driver import TableDriver, deal
from tests.vectors.positions import fifth_street, fourth_street

MORE = knobs(WILLIAM_HILL, pre_check_call_any=True)


def ahead(table: TableDriver, seat: int, verb: Verb, size: Size | None = None, *, any_price: bool = False) -> PreAction:
    chosen = bet_ahead.choose(table.state, account(seat), verb, size, any_price=any_price)
    assert isinstance(chosen, PreAction), chosen
    assert chosen.any_price is any_price
    return chosen


def call_any(table: TableDriver, seat: int, size: Size | None = None) -> PreAction:
    return ahead(table, seat, Verb.CALL, size, any_price=True)


def done(table: TableDriver, seat: int, chosen: PreAction) -> tuple[Verb, int, int]:
    assert table.turn == seat
    act = bet_ahead.action(table.state, account(seat), chosen)
    assert act is not None, "the choice was cancelled"
    action = only(table.send(act), ev.ActionTaken)
    assert action.by is ev.By.PRE_ACTION
    return action.verb, action.amount, action.to


def asked(table: TableDriver, seat: int, chosen: PreAction) -> bool:
    """Whether the turn is the player's own to take."""
    assert table.turn == seat
    return bet_ahead.action(table.state, account(seat), chosen) is None


@pytest.mark.rules("W28")
@pytest.mark.knob("pre_check_call_any", False, True)
@pytest.mark.parametrize("shown", [False, True])
def test_check_and_call_any_are_buttons_where_the_house_has_them(shown: bool):
    table = fifth_street(knobs(WILLIAM_HILL, pre_check_call_any=shown))
    offered = {option.verb for option in bet_ahead.choices(table.state, account(2))}
    assert offered == {Verb.FOLD, Verb.BET} | ({Verb.CHECK} if shown else set())
    for verb, any_price in ((Verb.CHECK, False), (Verb.CALL, True)):
        chosen = bet_ahead.choose(table.state, account(2), verb, any_price=any_price)
        assert isinstance(chosen, PreAction) is shown


@pytest.mark.parametrize("pre_actions", [False, True])
def test_the_knob_alone_gives_no_buttons(pre_actions: bool):
    table = fifth_street(knobs(MORE, pre_actions=pre_actions))
    chosen = bet_ahead.choose(table.state, account(2), Verb.CHECK)
    assert isinstance(chosen, PreAction) is pre_actions
    assert bool(bet_ahead.choices(table.state, account(2))) is pre_actions


def test_a_check_is_done_where_it_is_still_free():
    table = fifth_street(MORE)
    chosen = ahead(table, 2, Verb.CHECK)
    table.play("1 check")
    assert done(table, 2, chosen) == (Verb.CHECK, 0, 0)


def test_a_check_is_cancelled_by_a_bet():
    table = fifth_street(MORE)
    chosen = ahead(table, 2, Verb.CHECK)
    table.play("1 bet 1000")
    assert asked(table, 2, chosen)
    assert not bet_ahead.holds(table.state, account(2), chosen)


def test_nobody_checks_ahead_facing_a_bet():
    table = fifth_street(MORE, 4)
    table.play("1 bet 1000")
    refused = bet_ahead.choose(table.state, account(3), Verb.CHECK)
    assert isinstance(refused, Rejection)
    assert refused.text == "check cannot be chosen ahead now (W28); possible: fold, call 1000, raise to 2000"


@pytest.mark.parametrize(
    ("before", "meanwhile", "does"),
    [
        ((), ("1 check",), (Verb.CHECK, 0, 0)),
        ((), ("1 bet 1000",), (Verb.CALL, 1000, 1000)),
        (("1 bet 1000",), ("2 call",), (Verb.CALL, 1000, 1000)),
        (("1 bet 1000",), ("2 raise 2000",), (Verb.CALL, 2000, 2000)),
    ],
)
def test_call_any_takes_what_has_come(before: tuple[str, ...], meanwhile: tuple[str, ...], does: tuple[Verb, int, int]):
    table = fifth_street(MORE, 4)
    table.play(*before)
    seat = 3 if before else 2
    chosen = call_any(table, seat)
    table.play(*meanwhile)
    assert done(table, seat, chosen) == does


def test_call_any_with_the_last_chips():
    table = fifth_street(MORE, 4, behind={3: 1300})
    table.play("1 bet 1000")
    chosen = call_any(table, 3)
    table.play("2 raise 2000")
    assert done(table, 3, chosen) == (Verb.CALL, 1300, 1300)


def test_call_any_is_for_one_turn_of_one_street():
    table = fifth_street(MORE, 4)
    table.play("1 check", "2 check")
    chosen = call_any(table, 1)
    table.play("3 check", "4 check")
    assert table.hand.street == 6
    assert not bet_ahead.holds(table.state, account(1), chosen)


def test_call_any_ends_with_sitting_out():
    table = fifth_street(MORE, 4)
    chosen = call_any(table, 3)
    table.send(cmd.SitOut(account(3)))
    assert not bet_ahead.holds(table.state, account(3), chosen)


def test_before_the_bring_in_there_is_nothing_to_call_or_check():
    table = deal(MORE, 4)
    refused = bet_ahead.choose(table.state, account(3), Verb.CALL, any_price=True)
    assert isinstance(refused, Rejection)
    assert (refused.reason, refused.rule) == (Reason.ILLEGAL_ACTION, "W28")
    assert refused.text == "call at any price cannot be chosen ahead now (W28); possible: fold"


@pytest.mark.parametrize("verb", [verb for verb in Verb if verb is not Verb.CALL])
def test_only_a_call_is_for_any_price(verb: Verb):
    table = fifth_street(MORE, 4)
    refused = bet_ahead.choose(table.state, account(3), verb, any_price=True)
    assert isinstance(refused, Rejection)
    assert refused.text.startswith(
        f"{verb.name.lower().replace('_', ' ')} at any price cannot be chosen ahead now (W28)"
    )


def test_a_size_is_for_a_wager():
    """On fourth street with an open pair there are two sizes: a call and a check have none."""
    table = fourth_street(MORE)
    for verb, any_price in ((Verb.CHECK, False), (Verb.CALL, True)):
        refused = bet_ahead.choose(table.state, account(2), verb, Size.HIGH, any_price=any_price)
        assert isinstance(refused, Rejection)
    table = fifth_street(MORE)
    assert call_any(table, 2, Size.HIGH).size is Size.HIGH, "the size of the street may be named"


def test_only_fold_outlives_a_connection_here_too():
    assert not PreAction(1, 5, 0, Verb.CALL, any_price=True).outlives_connection
    assert not PreAction(1, 5, 0, Verb.CHECK).outlives_connection
