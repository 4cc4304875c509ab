"""A choice ahead is taken where the same action would be taken on the turn, and stands until a reason that is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from random import Random

import pytest

from stud_core import bet_ahead
from stud_core import commands as cmd
from stud_core.bet_ahead import PreAction
from stud_core.betting import legal_options, wager_verb
from stud_core.commands import Context
from stud_core.decide import decide
from stud_core.events import Size, Verb
from stud_core.evolve import thaw
from stud_core.presets import PLAYNOW, WILLIAM_HILL
from stud_core.rejection import Reason, Rejection
from stud_core.ruleset import OpenPair, Ruleset
from tests.support.core_table import account, knobs
from tests.support.table_driver import TableDriver, deal
from tests.vectors.positions import fifth_street, fourth_street

RULES = [
    WILLIAM_HILL,
    knobs(PLAYNOW, pre_actions=True),
    knobs(WILLIAM_HILL, pre_fold_is_literal=True),
    knobs(WILLIAM_HILL, open_pair=OpenPair.HOLDER_ONLY),
    knobs(WILLIAM_HILL, pre_check_call_any=True),
]
BY_RULES = pytest.mark.parametrize("rules", RULES, ids=["william_hill", "playnow", "literal", "holder_only", "check"])
REQUESTS = list(product(Verb, (None, Size.LOW, Size.HIGH)))


def third(rules: Ruleset, *lines: str) -> TableDriver:
    return played(deal(rules, 4), *lines)


def played(table: TableDriver, *lines: str) -> TableDriver:
    table.play(*lines)
    return table


POSITIONS: dict[str, Callable[[Ruleset], TableDriver]] = {
    "nobody has opened": third,
    "brought in": lambda rules: third(rules, "1 bring_in"),
    "completed": lambda rules: third(rules, "1 bring_in", "2 complete 500"),
    "fourth street": lambda rules: fifth_street(rules, street=4),
    "an open pair": fourth_street,
    "a small bet beside a pair": lambda rules: played(fourth_street(rules), "1 bet 500 low"),
    "a big bet beside a pair": lambda rules: played(fourth_street(rules), "1 bet 1000 high"),
    "fifth street": fifth_street,
    "a bet": lambda rules: played(fifth_street(rules, 4), "1 bet 1000"),
    "an all-in for less": lambda rules: played(fifth_street(rules, 4, behind={1: 300}), "1 all_in 300"),
    "the cap": lambda rules: played(
        fifth_street(rules, 4), "1 bet 1000", "2 raise 2000", "3 raise 3000", "4 raise 4000"
    ),
}


def others(table: TableDriver) -> Iterator[int]:
    """Live seats with chips that are not on turn."""
    hand = table.hand
    return (seat for seat in hand.order if seat != hand.turn_seat and hand.live[seat] and not hand.all_in[seat])


def on_their_turn(table: TableDriver, seat: int, verb: Verb, size: Size | None) -> bool:
    """Whether the table would take this action were it his turn now."""
    state = thaw(table.state, table.state.version)
    hand = state.running
    hand.turn_seat, hand.options = seat, legal_options(state, seat)
    if verb is Verb.RAISE and wager_verb(hand, state.rules) is Verb.COMPLETE:
        verb = Verb.COMPLETE  # one button for both
    act = cmd.Act(account(seat), hand.turn_id, verb, None, size)
    return not isinstance(decide(state, act, Context(table.now_ms, state.version + 1)), Rejection)


@BY_RULES
@pytest.mark.parametrize("position", POSITIONS)
def test_ahead_is_taken_what_would_be_taken_on_the_turn(rules: Ruleset, position: str):
    table = POSITIONS[position](rules)
    for seat in others(table):
        for verb, size in REQUESTS:
            if verb in bet_ahead.buttons(rules):
                chosen = bet_ahead.choose(table.state, account(seat), verb, size)
                assert isinstance(chosen, PreAction) is on_their_turn(table, seat, verb, size), (seat, verb, size)
                if isinstance(chosen, Rejection):
                    assert chosen.reason is Reason.ILLEGAL_ACTION
                    assert chosen.legal == bet_ahead.choices(table.state, account(seat))


def test_a_fold_with_a_size_is_refused_with_what_is_possible():
    """Where checking is free too: the size was not looked at there, and the choice was gone after the next bet."""
    table = fourth_street(WILLIAM_HILL)
    refused = bet_ahead.choose(table.state, account(2), Verb.FOLD, Size.HIGH)
    assert isinstance(refused, Rejection)
    text = "fold (big) cannot be chosen ahead now (W28); possible: fold, bet to 500, bet to 1000"
    assert (refused.reason, refused.rule, refused.text) == (Reason.ILLEGAL_ACTION, "W28", text)


def test_two_wagers_that_come_to_the_same_are_told_apart_by_their_size():
    refused = bet_ahead.choose(fourth_street(WILLIAM_HILL, behind={2: 400}).state, account(2), Verb.FOLD, Size.HIGH)
    assert isinstance(refused, Rejection)
    assert refused.text.endswith("possible: fold, bet to 400 (small) all-in, bet to 400 (big) all-in")


def test_the_rule_is_one_of_the_tables_own_page():
    table = fifth_street(knobs(PLAYNOW, pre_actions=True))
    refused = bet_ahead.choose(table.state, account(2), Verb.CHECK)
    assert isinstance(refused, Rejection)
    assert refused.rule == "B.16"
    assert "W28" not in refused.text


@BY_RULES
@pytest.mark.parametrize("seed", range(12))
def test_what_was_taken_stands_until_a_reason_that_is_told(rules: Ruleset, seed: int):
    """The price, the end of the round; for a wager also that it has become impossible. A fold stands at any price."""
    rng = Random(seed)
    table = deal(rules, 4, stacks={2: 900, 3: 2_700}, seed=seed)
    taken: list[tuple[int, PreAction]] = []
    while table.running and table.hand.turn_seat:
        for seat in others(table):
            for verb, size in REQUESTS:
                chosen = bet_ahead.choose(table.state, account(seat), verb, size)
                if isinstance(chosen, PreAction):
                    taken.append((seat, chosen))
        option = rng.choice(table.hand.options[1:] or table.hand.options)
        act = cmd.Act(account(table.hand.turn_seat), table.hand.turn_id, option.verb, option.to, option.size)
        table.send(act)
        taken = [(seat, chosen) for seat, chosen in taken if _stands(table, seat, chosen)]


def _stands(table: TableDriver, seat: int, chosen: PreAction) -> bool:
    """Whether it holds; where it does not one of the reasons must be there."""
    if bet_ahead.holds(table.state, account(seat), chosen):
        return True
    hand = table.state.hand
    if hand is None or (hand.hand_no, hand.street) != (chosen.hand_no, chosen.street) or not hand.turn_seat:
        return False
    if not hand.live[seat] or hand.all_in[seat]:
        return False  # his own turn came in between
    assert chosen.verb is not Verb.FOLD, "a fold stands at any price"
    if hand.level != chosen.level:
        return False
    if chosen.verb is Verb.CALL:
        assert hand.bet[seat] == hand.level, "he has called meanwhile"
        return False
    wagers = [option for option in legal_options(table.state, seat) if option.verb >= Verb.OPEN]
    assert not wagers, "a wager that has not become impossible"
    return False
