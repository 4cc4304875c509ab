"""Rule vectors C.11: rows 150-153."""

from __future__ import annotations

import pytest

from stud_core import events as ev
from stud_core.pots import build_pots
from stud_core.ruleset import Ruleset
from tests.support.core_table import knobs, none
from tests.support.table_driver import deal
from tests.vectors.positions import both, playnow


@playnow
def test_vector_150_opening_all_in_with_350(rules: Ruleset):
    table = deal(rules, 3, stacks={1: 400})
    assert table.legal(1) == {"bring_in 200", "open 350"}
    assert {o.to: o.all_in for o in table.hand.options} == {200: False, 350: True}
    table.play("1 open 350")
    assert table.hand.wagers == 1
    assert table.legal(2) == {"fold", "call 350", "raise to 850"}


@playnow
def test_vector_150_opening_all_in_with_300(rules: Ruleset):
    table = deal(rules, 3, stacks={1: 350})
    assert table.legal(1) == {"bring_in 200", "open 300"}
    table.play("1 open 300")
    assert table.hand.wagers == 0
    assert table.legal(2) == {"fold", "call 300", "complete to 500"}


@playnow
def test_vector_151_a_posted_bring_in_has_acted(rules: Ruleset):
    table = deal(rules, 3, stacks={2: 350})
    table.play("1 bring_in", "2 complete 300", "3 call 300")
    assert table.legal(1) == {"fold", "call 100"}
    table.refuse("1 complete 500", "B.8")


@pytest.mark.knob("rake_bps", 1_000)
@pytest.mark.knob("rake_cap", None)
@both
def test_vector_152_an_unmatched_ante_is_a_pot_of_its_own(rules: Ruleset):
    raked = knobs(rules, rake_bps=1000, rake_cap=None, no_rake_before_fourth=False)
    table = deal(raked, 2, stacks={2: 30})
    table.passively_to_the_end()
    assert none(table.events(), ev.UncalledReturned)
    assert table.pots == [(60, {1, 2}), (20, {1})]
    rakes = [(p.pot_no, p.amount, p.rake) for p in table.events(ev.PotAwarded)]
    assert rakes == [(1, 20, 0), (0, 60, 6)]
    assert table.awarded()[0] == (1, 20, {1: 20})
    assert sum(table.won().values()) == 74


@both
def test_vector_153_a_layer_of_folded_chips_merges_into_the_one_below(rules: Ruleset):
    """Seats 3 and 4 folded after paying 500 and 700; the live ones paid 300 (all-in) and 400.

    By play alone this cannot come about (the last player with chips is never asked to fold), so the row is shown
    on the function that cuts the pots, which the table and a resolved dispute use.
    """
    paid = [0, 300, 400, 500, 700, 0, 0, 0, 0]
    live = [False, True, True, False, False, False, False, False, False]
    assert build_pots(paid, live) == ((1200, (1, 2)), (700, (2,)))
    assert sum(amount for amount, _ in build_pots(paid, live)) == sum(paid)
    # With the live ones level there is one layer only, and it takes everything.
    assert build_pots([0, 300, 300, 500, 700], [False, True, True, False, False]) == ((1800, (1, 2)),)


@both
def test_vector_153_everything_is_paid(rules: Ruleset):
    """The highest layer that play can make: the last bettor alone above what two folded players paid."""
    up = {1: "Ac Kd Jh 9s", 2: "Qc Td 8h 6s", 3: "2c 7d 5h 3s", 4: "Kc Ts 8c 6h"}
    table = deal(rules, up=up, stacks={1: 350})
    table.play("3 open 500", "4 call", "1 call 300", "2 call")
    table.play("2 bet 500", "3 fold", "4 fold")  # S1 leads, all-in; S2 is the next clockwise
    table.passively_to_the_end()
    assert table.returned() == {2: 500}
    assert table.pots == [(4 * 350, {1, 2}), (3 * 200, {2})]
    assert table.awarded()[0] == (1, 600, {2: 600})
    assert sum(table.won().values()) == 2000
