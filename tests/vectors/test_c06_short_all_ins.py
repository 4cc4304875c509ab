"""Rule vectors C.6: all-ins for less than a full wager (rows 71-83)."""

import pytest

from stud_core.events import Verb
from stud_core.ruleset import Ruleset, ShortAllIn
from tests.support.core_table import knobs
from tests.support.table_driver import TableDriver, deal
from tests.vectors.positions import both, fifth_street, fourth_street, playnow


def short_raise(rules: Ruleset, behind: int, players: int = 3) -> TableDriver:
    """S1 bets 1000, S2 raises all-in to what he has."""
    table = fifth_street(rules, players, behind={2: behind})
    table.play("1 bet 1000", f"2 raise {behind}")
    assert table.hand.all_in[2]
    return table


@pytest.mark.knob("short_all_in", ShortAllIn.HALF_BET)
@both
def test_vector_071_less_than_half_does_not_count(rules: Ruleset):
    table = short_raise(rules, 1300)
    assert table.hand.wagers == 1
    assert table.legal(3) == {"fold", "call 1300", "complete to 2000"}


@both
def test_vector_072_the_completion_of_a_short_raise(rules: Ruleset):
    table = short_raise(rules, 1300)
    table.play("3 complete 2000")
    assert table.hand.wagers == 2
    assert table.legal(1) == {"fold", "call 1000", "raise to 3000"}


@both
def test_vector_073_a_short_raise_does_not_reopen(rules: Ruleset):
    table = short_raise(rules, 1300)
    table.play("3 call 1300")
    assert table.legal(1) == {"fold", "call 300"}
    table.refuse("1 raise 2300", "B.8")
    table.refuse("1 complete 2000", "B.8")


@pytest.mark.knob("short_all_in", ShortAllIn.HALF_BET)
@both
def test_vector_074_half_is_a_full_wager(rules: Ruleset):
    table = short_raise(rules, 1500)
    assert table.hand.wagers == 2
    assert table.legal(3) == {"fold", "call 1500", "raise to 2500"}


@both
def test_vector_075_half_reopens(rules: Ruleset):
    table = short_raise(rules, 1500)
    table.play("3 call")
    assert table.legal(1) == {"fold", "call 500", "raise to 2500"}


@pytest.mark.knob("short_all_in", ShortAllIn.HALF_BET)
@both
def test_vector_076_a_short_bet(rules: Ruleset):
    table = fifth_street(rules, behind={1: 400})
    table.play("1 bet 400")
    assert table.hand.wagers == 0
    assert table.legal(2) == {"fold", "call 400", "complete to 1000"}


@pytest.mark.knob("short_all_in", ShortAllIn.HALF_BET)
@both
def test_vector_077_a_bet_of_more_than_half(rules: Ruleset):
    table = fifth_street(rules, behind={1: 600})
    table.play("1 bet 600")
    assert table.hand.wagers == 1
    assert table.legal(2) == {"fold", "call 600", "raise to 1600"}


@pytest.mark.knob("short_all_in", ShortAllIn.HALF_BET, ShortAllIn.FULL_BET, ShortAllIn.ANY)
@both
@pytest.mark.parametrize(
    ("rule", "least"), [(ShortAllIn.HALF_BET, 500), (ShortAllIn.FULL_BET, 1000), (ShortAllIn.ANY, 1)]
)
def test_what_a_bet_for_less_must_reach_to_count(rules: Ruleset, rule: ShortAllIn, least: int):
    for behind in {least - 1, least} - {0}:
        table = fifth_street(knobs(rules, short_all_in=rule), behind={1: behind})
        table.play(f"1 bet {behind}")
        more = f"raise to {behind + 1000}" if behind == least else "complete to 1000"
        assert table.legal(2) == {"fold", f"call {behind}", more}


@both
def test_vector_078_a_call_for_less_changes_nothing(rules: Ruleset):
    table = fifth_street(rules, behind={2: 700})
    table.play("1 bet 1000", "2 call 700")
    assert table.hand.all_in[2]
    assert table.hand.level == 1000
    assert table.legal(3) == {"fold", "call 1000", "raise to 2000"}


@pytest.mark.knob("short_all_in", ShortAllIn.HALF_BET)
@both
def test_vector_079_short_all_ins_add_up(rules: Ruleset):
    table = fifth_street(rules, 4, behind={2: 1300, 3: 1500})
    table.play("1 bet 1000", "2 all_in 1300", "3 all_in 1500")
    assert table.hand.wagers == 2
    assert table.legal(4) == {"fold", "call 1500", "raise to 2500"}
    table.play("4 call 1500")
    assert table.legal(1) == {"fold", "call 500", "raise to 2500"}, "the two together reopened the betting"


def short_completion(rules: Ruleset, behind: int) -> TableDriver:
    """Third street: S1 brings in 200, S2 completes all-in."""
    table = deal(rules, 3, stacks={2: 50 + behind})
    table.play("1 bring_in")
    table.play(f"2 complete {behind}")
    assert table.hand.all_in[2]
    return table


@pytest.mark.knob("short_all_in", ShortAllIn.HALF_BET)
@playnow
def test_vector_080_less_than_half_of_the_gap(rules: Ruleset):
    table = short_completion(rules, 300)
    assert table.hand.wagers == 0
    assert table.legal(3) == {"fold", "call 300", "complete to 500"}


@pytest.mark.knob("short_all_in", ShortAllIn.HALF_BET)
@playnow
def test_vector_081_exactly_half_of_the_gap(rules: Ruleset):
    table = short_completion(rules, 350)
    assert table.hand.wagers == 1
    assert table.legal(3) == {"fold", "call 350", "raise to 850"}


@both
def test_vector_082_a_high_bet_of_more_than_half(rules: Ruleset):
    table = fourth_street(rules, behind={1: 700})
    assert {(o.verb, o.to, o.all_in) for o in table.hand.options if o.verb is Verb.BET} == {
        (Verb.BET, 500, False),
        (Verb.BET, 700, True),
    }
    table.play("1 bet 700 high")
    assert table.hand.locked
    assert table.hand.wagers == 1
    assert table.legal(2) == {"fold", "call 700", "raise to 1700"}


@both
def test_vector_083_a_high_bet_of_less_than_half(rules: Ruleset):
    table = fourth_street(rules, behind={1: 400})
    table.play("1 bet 400 high")
    assert table.hand.wagers == 0
    assert not table.hand.locked
    assert table.legal(2) == {"fold", "call 400", "complete to 500", "complete to 1000"}
