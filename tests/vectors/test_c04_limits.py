"""Rule vectors C.4: limits, and fourth street with an open pair (rows 48-62)."""

import pytest

from stud_core import events as ev
from stud_core.ruleset import OpenPair, Ruleset
from tests.support.core_table import only
from tests.support.table_driver import deal
from tests.vectors.positions import LEADER, PAIR, both, fifth_street, fourth_street

NO_PAIR = {seat: LEADER[seat] for seat in (1, 2, 3)}


@pytest.mark.rules("P22", "P52", "P61", "W14", "W15", "W29")
@both
def test_vector_048_no_pair_no_choice(rules: Ruleset):
    table = fourth_street(rules, NO_PAIR)
    table.refuse("1 bet 1000", "P61", "W14")
    assert table.legal(1) == {"fold", "check", "bet 500"}


@pytest.mark.rules("P22", "P62", "W15")
@pytest.mark.knob("open_pair", OpenPair.ANY)
@both
def test_vector_049_a_pair_gives_the_choice(rules: Ruleset):
    table = fourth_street(rules)
    assert table.legal(1) == {"fold", "check", "bet 500", "bet 1000"}
    assert {o.to: o.size for o in table.hand.options if o.verb is ev.Verb.BET} == {
        500: ev.Size.LOW,
        1000: ev.Size.HIGH,
    }


@pytest.mark.rules("P23", "P53", "P62", "W15", "W29")
@pytest.mark.knob("open_pair", OpenPair.ANY)
@both
def test_vector_050_a_low_bet_leaves_the_choice(rules: Ruleset):
    table = fourth_street(rules)
    table.play("1 bet 500")
    assert table.legal(2) == {"fold", "call 500", "raise to 1000", "raise to 1500"}


@both
def test_vector_051_two_low_wagers_do_not_lock(rules: Ruleset):
    table = fourth_street(rules)
    table.play("1 bet 500", "2 raise 1000")
    assert not table.hand.locked
    assert table.legal(3) == {"fold", "call 1000", "raise to 1500", "raise to 2000"}


@pytest.mark.rules("P24", "W17")
@both
def test_vector_052_a_high_wager_locks(rules: Ruleset):
    table = fourth_street(rules)
    table.play("1 bet 500", "2 raise 1500")
    assert table.hand.locked
    assert table.legal(3) == {"fold", "call 1500", "raise to 2500"}
    table.refuse("3 raise 2000", "P24", "W17")


@pytest.mark.rules("P56", "W18", "W19")
@both
def test_vector_053_the_cap_counts_wagers_not_money(rules: Ruleset):
    table = fourth_street(rules)
    table.play("1 bet 500", "2 raise 1500", "3 raise 2500", "1 raise 3500")
    assert table.hand.wagers == 4
    assert table.legal(2) == {"fold", "call 2000"}
    table.refuse("2 raise 4500", "P56", "W19")


@pytest.mark.rules("P24", "P53", "W17", "W29")
@both
def test_the_lock_holds_for_the_rest_of_the_round_and_for_the_holder_of_the_pair(rules: Ruleset):
    table = fourth_street(rules)
    table.play("1 bet 500", "2 raise 1500", "3 raise 2500")
    assert table.hand.locked
    assert table.legal(1) == {"fold", "call 2000", "raise to 3500"}


@pytest.mark.rules("P24", "W17")
@both
def test_vector_054_a_high_bet_is_not_met_with_a_low_raise(rules: Ruleset):
    table = fourth_street(rules)
    table.play("1 bet 1000")
    refusal = table.refuse("2 raise 1500", "P24", "W17")
    assert [o.to for o in refusal.legal if o.verb is ev.Verb.RAISE] == [2000]
    assert table.legal(2) == {"fold", "call 1000", "raise to 2000"}


@pytest.mark.rules("P20", "P62", "W15")
@pytest.mark.knob("open_pair", OpenPair.ANY)
@both
def test_vector_055_anybody_may_use_the_pair(rules: Ruleset):
    table = fourth_street(rules)
    table.play("1 check", "2 bet 1000")
    assert table.hand.locked
    assert table.legal(3) == {"fold", "call 1000", "raise to 2000"}
    table.refuse("3 raise 1500", "P24", "W17")


@both
def test_vector_056_the_option_survives_the_holder(rules: Ruleset):
    table = fourth_street(rules)
    table.play("1 check", "2 check", "3 bet 500", "1 fold")
    assert table.legal(2) == {"fold", "call 500", "raise to 1000", "raise to 1500"}


@both
def test_vector_057_a_folded_seat_shows_no_pair(rules: Ruleset):
    table = deal(rules, up=PAIR | {4: "5d Qc"})
    table.play("2 bring_in", "3 call", "4 call", "1 fold")
    assert table.events(ev.DealRequested)[-1].targets == (2, 3, 4)
    assert len(table.hand.up[1]) == 1
    assert not table.hand.pair_option
    assert table.legal(2) == {"fold", "check", "bet 500"}
    table.refuse("2 bet 1000", "P61", "W14")


@both
def test_vector_058_the_pair_of_an_all_in_player_counts(rules: Ruleset):
    table = fourth_street(rules, behind={1: 0})
    assert table.hand.all_in[1]
    assert table.legal(2) == {"fold", "check", "bet 500", "bet 1000"}
    assert only(table.play("2 bet 1000"), ev.ActionTaken).to == 1000


@pytest.mark.rules("P51", "W15")
@both
def test_vector_059_up_to_twice_is_no_spread(rules: Ruleset):
    table = fourth_street(rules)
    for size in ("", " low", " high"):
        table.refuse(f"1 bet 700{size}", "P62", "W15")


@pytest.mark.rules("P27", "P51", "P63", "W16")
@both
def test_vector_060_fifth_street_is_at_the_higher_limit(rules: Ruleset):
    table = fifth_street(rules)
    table.refuse("1 bet 500", "P27", "W16")
    assert table.legal(1) == {"fold", "check", "bet 1000"}


@both
def test_vector_061_a_pair_on_fifth_gives_no_choice(rules: Ruleset):
    table = fifth_street(rules, up={1: "9c 8d 9h Ks", 2: "3h Kd 7c", 3: "4s Jh 6d"})
    assert table.legal(1) == {"fold", "check", "bet 1000"}
    table.refuse("1 bet 500 low", "P27", "W16")
    table.play("1 bet 1000")
    assert table.legal(2) == {"fold", "call 1000", "raise to 2000"}


@both
def test_vector_062_the_higher_limit_after_low_bets(rules: Ruleset):
    table = fourth_street(rules)
    table.play("1 bet 500", "2 call", "3 call")
    assert table.hand.street == 5
    assert table.legal(1) == {"fold", "check", "bet 1000"}
