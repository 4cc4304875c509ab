"""Rule vectors C.10: bet-ahead (rows 140-147), as the shell does it: choose, commit, look, act."""

from __future__ import annotations

import pytest

from stud_core import bet_ahead
from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.bet_ahead import PreAction
from stud_core.events import Size, Verb
from stud_core.rejection import Reason, Rejection
from stud_core.ruleset import Ruleset
from tests.support.core_table import account, describe, knobs, only
from tests.support.table_driver import TableDriver, deal
from tests.vectors.positions import fifth_street, fourth_street, playnow, william_hill


def ahead(table: TableDriver, seat: int, verb: Verb, size: Size | None = None) -> PreAction:
    """A choice that is taken; nothing of the table changes by it."""
    chosen = bet_ahead.choose(table.state, account(seat), verb, size)
    assert isinstance(chosen, PreAction), chosen
    return chosen


def refused(table: TableDriver, seat: int, verb: Verb, size: Size | None = None) -> Rejection:
    answer = bet_ahead.choose(table.state, account(seat), verb, size)
    assert isinstance(answer, Rejection), answer
    return answer


def on_turn(table: TableDriver, seat: int, chosen: PreAction) -> ev.ActionTaken | None:
    """His turn has come: what is done for him, None when he is asked instead."""
    assert table.turn == seat
    act = bet_ahead.action(table.state, account(seat), chosen)
    assert (act is not None) == bet_ahead.holds(table.state, account(seat), chosen)
    return None if act is None else only(table.send(act), ev.ActionTaken)


def done(action: ev.ActionTaken | None) -> tuple[Verb, int, int]:
    assert action is not None, "the choice was cancelled"
    assert action.by is ev.By.PRE_ACTION
    return action.verb, action.amount, action.to


@william_hill
def test_vector_140_a_call_is_cancelled_by_a_raise(rules: Ruleset):
    table = fifth_street(rules, street=4)
    table.play("1 bet 500")
    chosen = ahead(table, 3, Verb.CALL)
    assert bet_ahead.holds(table.state, account(3), chosen)
    table.play("2 raise 1000")
    assert on_turn(table, 3, chosen) is None
    assert table.legal(3) == {"fold", "call 1000", "raise to 1500"}


@william_hill
def test_vector_140_a_short_all_in_raises_the_price_too(rules: Ruleset):
    table = fifth_street(rules, street=4, behind={2: 600})
    table.play("1 bet 500")
    chosen = ahead(table, 3, Verb.CALL)
    table.play("2 all_in 600")
    assert on_turn(table, 3, chosen) is None


@william_hill
@pytest.mark.rules("W28")
@pytest.mark.knob("pre_actions", True)
def test_vector_141_a_call_at_the_same_price(rules: Ruleset):
    table = fifth_street(rules, street=4)
    table.play("1 bet 500")
    chosen = ahead(table, 3, Verb.CALL)
    table.play("2 call")
    assert done(on_turn(table, 3, chosen)) == (Verb.CALL, 500, 500)


@william_hill
def test_vector_141_a_call_with_the_last_chips(rules: Ruleset):
    table = fifth_street(rules, street=4, behind={3: 300})
    table.play("1 bet 500")
    chosen = ahead(table, 3, Verb.CALL)
    table.play("2 call")
    assert done(on_turn(table, 3, chosen)) == (Verb.CALL, 300, 300)


@william_hill
def test_vector_142_a_bet_is_cancelled_by_a_bet(rules: Ruleset):
    table = fifth_street(rules)
    chosen = ahead(table, 2, Verb.BET)
    table.play("1 bet 1000")
    assert on_turn(table, 2, chosen) is None


@william_hill
@pytest.mark.parametrize(("size", "to"), [(Size.LOW, 500), (Size.HIGH, 1000)])
def test_vector_142_a_bet_of_the_chosen_size(rules: Ruleset, size: Size, to: int):
    table = fourth_street(rules)
    assert refused(table, 2, Verb.BET).reason is Reason.ILLEGAL_ACTION  # with an open pair there are two
    chosen = ahead(table, 2, Verb.BET, size)
    table.play("1 check")
    sent = cmd.Act(account(2), table.hand.turn_id, Verb.BET, to, size, by_pre_action=True)
    assert bet_ahead.action(table.state, account(2), chosen) == sent
    assert done(on_turn(table, 2, chosen)) == (Verb.BET, to, to)


@william_hill
def test_vector_142_the_size_of_the_street_may_be_named(rules: Ruleset):
    table = fifth_street(rules)
    assert refused(table, 2, Verb.BET, Size.LOW).reason is Reason.ILLEGAL_ACTION
    chosen = ahead(table, 2, Verb.BET, Size.HIGH)
    table.play("1 check")
    assert done(on_turn(table, 2, chosen)) == (Verb.BET, 1000, 1000)


@william_hill
def test_vector_143_a_raise_is_cancelled_when_the_level_changes(rules: Ruleset):
    table = fifth_street(rules, street=4)
    table.play("1 bet 500")
    chosen = ahead(table, 3, Verb.RAISE)  # to 1000
    table.play("2 raise 1000")
    assert on_turn(table, 3, chosen) is None


@william_hill
def test_vector_143_a_raise_at_the_same_level(rules: Ruleset):
    table = fifth_street(rules, street=4)
    table.play("1 bet 500")
    chosen = ahead(table, 3, Verb.RAISE)
    table.play("2 call")
    assert done(on_turn(table, 3, chosen)) == (Verb.RAISE, 1000, 1000)


@william_hill
def test_vector_143_raise_completes_a_bring_in(rules: Ruleset):
    table = deal(rules)
    table.play("1 bring_in")
    chosen = ahead(table, 3, Verb.RAISE)
    assert ahead(table, 3, Verb.COMPLETE) == chosen  # the same button
    table.play("2 call")
    assert done(on_turn(table, 3, chosen)) == (Verb.COMPLETE, 500, 500)


@william_hill
def test_vector_143_a_raise_that_nobody_could_answer_any_more(rules: Ruleset):
    """The price is the same, but who could have put in more has folded."""
    table = fifth_street(rules, behind={1: 1000})
    table.play("1 bet 1000")
    chosen = ahead(table, 3, Verb.RAISE)
    table.play("2 fold")
    assert on_turn(table, 3, chosen) is None
    assert table.legal(3) == {"fold", "call 1000"}


@william_hill
@pytest.mark.rules("W28")
@pytest.mark.knob("pre_fold_is_literal", False, True)
@pytest.mark.parametrize(("literal", "verb"), [(False, Verb.CHECK), (True, Verb.FOLD)])
def test_vector_144_fold_checks_where_that_is_free(rules: Ruleset, literal: bool, verb: Verb):
    table = fifth_street(knobs(rules, pre_fold_is_literal=literal))
    chosen = ahead(table, 2, Verb.FOLD)
    table.play("1 check")
    assert done(on_turn(table, 2, chosen))[0] is verb


@william_hill
@pytest.mark.rules("W28")
def test_vector_144_fold_checks_by_the_page_itself(rules: Ruleset):
    table = fifth_street(rules)
    chosen = ahead(table, 2, Verb.FOLD)
    table.play("1 check")
    assert done(on_turn(table, 2, chosen))[0] is Verb.CHECK


@william_hill
def test_vector_144_fold_stands_at_any_price(rules: Ruleset):
    table = fifth_street(rules)
    chosen = ahead(table, 3, Verb.FOLD)
    table.play("1 bet 1000", "2 raise 2000")
    assert done(on_turn(table, 3, chosen)) == (Verb.FOLD, 0, 0)


@william_hill
def test_vector_145_the_end_of_a_street_cancels(rules: Ruleset):
    """Fold too: whoever has acted may choose it against a raise, and when none comes it is not for the next street."""
    table = fifth_street(rules)
    table.play("1 check")
    fold = ahead(table, 1, Verb.FOLD)
    bet = ahead(table, 3, Verb.BET)
    table.passively_to(6)
    assert not bet_ahead.holds(table.state, account(1), fold)
    assert not bet_ahead.holds(table.state, account(3), bet)
    assert ahead(table, 3, Verb.BET) != bet


@william_hill
def test_vector_145_the_end_of_a_hand_cancels(rules: Ruleset):
    table = fifth_street(rules)
    chosen = ahead(table, 2, Verb.FOLD)
    table.passively_to_the_end()
    assert not bet_ahead.holds(table.state, account(2), chosen)
    table.start()
    table.passively_to(5)
    assert not bet_ahead.holds(table.state, account(2), chosen)


@william_hill
def test_vector_146_a_folded_or_absent_player_chooses_nothing(rules: Ruleset):
    table = fifth_street(rules, players=4, behind={2: 1000})
    table.play("1 bet 1000")
    standing = ahead(table, 4, Verb.FOLD)
    table.play("2 call", "3 fold")
    table.send(cmd.SitOut(account(4)))
    not_in = "the player has folded, is all-in, or was not dealt in"
    for seat, why in ((2, not_in), (3, not_in), (4, "the player sits out or leaves")):
        rejection = refused(table, seat, Verb.FOLD)
        assert (rejection.reason, rejection.rule) == (Reason.PRE_ACTION_NOT_ALLOWED, "B.16")
        assert rejection.text == why
    assert not bet_ahead.holds(table.state, account(4), standing)
    table.sit(8)
    assert refused(table, 8, Verb.FOLD).text == not_in
    stranger = refused(table, 7, Verb.FOLD)
    assert (stranger.reason, stranger.text) == (Reason.NOT_SEATED, "the account does not sit at this table")


@playnow
@pytest.mark.knob("pre_actions", False)
@pytest.mark.parametrize("verb", list(bet_ahead.BUTTONS))
def test_vector_147_no_bet_ahead_at_playnow(rules: Ruleset, verb: Verb):
    table = fifth_street(rules)
    table.play("1 bet 1000")
    rejection = refused(table, 3, verb)
    assert (rejection.reason, rejection.rule) == (Reason.PRE_ACTION_NOT_ALLOWED, "B.16")
    assert rejection.text == "this table has no bet-ahead: wait for the turn"
    by_itself = cmd.Act(account(2), table.hand.turn_id, verb, by_pre_action=True)
    assert table.reject(by_itself).reason is Reason.PRE_ACTION_NOT_ALLOWED


# --- what no row asks, and any front end meets ---------------------------------


@william_hill
def test_who_is_on_turn_acts(rules: Ruleset):
    table = fifth_street(rules)
    assert refused(table, 1, Verb.FOLD).text == "it is this account's turn: act"
    assert bet_ahead.action(table.state, account(2), ahead(table, 2, Verb.FOLD)) is None


@william_hill
@pytest.mark.rules("W28")
def test_only_the_buttons_of_the_page_and_what_is_legal_can_be_chosen(rules: Ruleset):
    table = fifth_street(rules, players=4)
    for verb in set(Verb) - {Verb.FOLD, Verb.BET}:
        rejection = refused(table, 2, verb)
        assert (rejection.reason, rejection.rule) == (Reason.ILLEGAL_ACTION, "W28")
        name = verb.name.lower().replace("_", " ")
        assert rejection.text == f"{name} cannot be chosen ahead now (W28); possible: fold, bet to 1000"
    table.play("1 bet 1000", "2 raise 2000")
    assert refused(table, 4, Verb.BET).text.endswith("possible: fold, call 2000, raise to 3000")


@william_hill
def test_a_choice_is_measured_by_ones_own_chips(rules: Ruleset):
    """Who is on turn could raise, who chooses could not; and the other way round."""
    table = fifth_street(rules, players=4, behind={3: 1000})
    table.play("1 bet 1000")
    rejection = refused(table, 3, Verb.RAISE)
    assert {describe(option) for option in rejection.legal} == {"fold", "call 1000"}
    assert rejection.text == "raise cannot be chosen ahead now (W28); possible: fold, call 1000 all-in"
    table.play("2 call")
    assert bet_ahead.holds(table.state, account(4), ahead(table, 4, Verb.RAISE))


@william_hill
def test_nothing_is_chosen_between_the_rounds(rules: Ruleset):
    table = fifth_street(rules)
    table.auto_deal = False
    for _ in range(3):
        table.passive()
    assert refused(table, 2, Verb.FOLD).text == "nobody is betting now"


@william_hill
@pytest.mark.rules("W28")
def test_what_can_be_chosen_is_offered_to_whom_it_concerns(rules: Ruleset):
    table = fifth_street(rules, players=4)
    table.play("1 bet 1000")
    offered = [(o.verb, o.to) for o in bet_ahead.choices(table.state, account(3))]
    assert offered == [(Verb.FOLD, 0), (Verb.CALL, 1000), (Verb.RAISE, 2000)]
    assert bet_ahead.choices(table.state, account(2)) == ()  # he is on turn
    assert bet_ahead.choices(table.state, "a stranger") == ()


@playnow
def test_nothing_is_offered_where_nothing_can_be_chosen(rules: Ruleset):
    assert bet_ahead.choices(fifth_street(rules).state, account(2)) == ()


def test_only_fold_outlives_a_connection():
    assert [verb for verb in bet_ahead.BUTTONS if PreAction(1, 5, 0, verb).outlives_connection] == [Verb.FOLD]
