"""Situations in which other poker servers lost, made or misplaced chips; numbered as they were collected.

At the core's level: these are faults of rules and arithmetic.
"""

from __future__ import annotations

from random import Random

import pytest

from rules_service.second_opinion import pots as second
from stud_core import events as ev
from stud_core.pots import build_pots, split
from stud_core.presets import PLAYNOW, WILLIAM_HILL
from stud_core.ruleset import OddUnits, Ruleset
from tests.support.core_table import knobs, none
from tests.support.table_driver import TableDriver, deal
from tests.vectors.positions import ROYAL_DOWN, ROYAL_UP, both, fifth_street

# S1 and S2 make royal flushes, S3 a pair at most.
TIED_UP = {1: ROYAL_UP["s"], 2: ROYAL_UP["h"], 3: "4c 7d 5h 3s"}
TIED_DOWN = {1: ROYAL_DOWN["s"], 2: ROYAL_DOWN["h"]}


def in_all(table: TableDriver) -> int:
    return sum(table.stacks().values())


@both
def test_report_01_an_all_in_player_stays_in_the_pot_while_others_check_and_bet_on(rules: Ruleset):
    """S1 is all-in on fifth street. Sixth street is checked without him, on the river the others bet on: he keeps his
    share of the main pot, they have a side pot, and all that was paid in is paid out."""
    up, down = {1: ROYAL_UP["s"], 2: "Qc Td 8h 6s", 3: "4c 7d 5h 3s"}, {1: ROYAL_DOWN["s"]}
    table = fifth_street(rules, behind={1: 1000}, up=up, down=down)
    before = in_all(table) + sum(table.hand.paid)
    table.play("1 bet 1000", "2 call 1000", "3 call 1000", "2 check", "3 check", "2 bet 1000", "3 call 1000")
    contributed = {1, 2, 3}
    (side, amount, _), (main, shared, winners) = table.awarded()
    assert (side, amount, table.pots[1][1]) == (1, 2000, {2, 3})
    assert (main, table.pots[0][1], winners) == (0, contributed, {1: shared})
    assert in_all(table) == before


def test_report_02_chips_of_folded_players_above_every_live_one_are_won_by_somebody():
    """Of 69 185 paid in, 18 434 lie above the highest live contribution and nobody live has paid into that layer."""
    paid = [0, 38_434, 20_000, 10_751, 0, 0, 0, 0, 0]
    live = [seat in {2, 3} for seat in range(9)]
    pots = build_pots(paid, live)
    assert pots == ((3 * 10_751, (2, 3)), (2 * 9_249 + 18_434, (2,)))
    assert sum(pot.amount for pot in pots) == 69_185
    assert [(pot.amount, pot.eligible) for pot in second.build_pots(dict(enumerate(paid)), [2, 3])] == list(pots)


def test_report_02_whatever_was_paid_every_pot_has_somebody_who_can_win_it():
    rng = Random("report 2")
    topped = 0
    for _ in range(3_000):
        paid = [0, *[rng.choice([0, 30, 50, 550, 1_050, 2_033]) for _ in range(8)]]
        seats = [seat for seat in range(1, 9) if paid[seat] and rng.random() < 0.5]
        if not seats:
            continue
        pots = build_pots(paid, [seat in seats for seat in range(9)])
        topped += max(paid) > max(paid[seat] for seat in seats)
        assert sum(pot.amount for pot in pots) == sum(paid)
        assert all(pot.eligible and pot.amount > 0 for pot in pots)
    assert topped > 100


@both
def test_report_03_two_tied_winners_share_though_a_third_was_all_in_for_more(rules: Ruleset):
    """S3 is all-in for 7.00 in all, S1 and S2 for 4.00 each with equal hands: 3.00 come back, each of them has half."""
    table = fifth_street(rules, up=TIED_UP, down=TIED_DOWN, behind={1: 400, 2: 400, 3: 700})
    before = in_all(table) + sum(table.hand.paid)
    table.play("1 check", "2 check", "3 bet 700", "1 call 400", "2 call 400")
    ((_, pot, shares),) = table.awarded()
    assert table.returned() == {3: 300}
    assert shares == {1: pot // 2, 2: pot // 2}
    assert in_all(table) == before
    assert table.stack(3) == 300


THIRDS = dict.fromkeys((1, 2, 3), 10100)


@pytest.mark.parametrize("odd", list(OddUnits))
def test_report_04_a_pot_that_can_be_divided_by_three_is(odd: OddUnits):
    """Three equal hands, 101.00 from each: 303.00 are three times 101.00, whatever is done with units left over."""
    up = {1: ROYAL_UP["s"], 2: ROYAL_UP["h"], 3: ROYAL_UP["d"]}
    down = {1: ROYAL_DOWN["s"], 2: ROYAL_DOWN["h"], 3: ROYAL_DOWN["d"]}
    rules = knobs(PLAYNOW, odd_units=odd)
    table = deal(rules, up=up, down=down, ante=100, limits=(5_000, 10_000), bring_in=2_000, stacks=THIRDS)
    low = table.turn
    table.play(f"{low} open 5000")
    while table.running:
        option = table.hand.options[-1] if table.hand.street == 4 and not table.hand.level else table.hand.options[1]
        size = f" {option.size.name.lower()}" if option.size else ""
        table.play(f"{table.turn} {option.verb.name.lower()} {option.to}{size}")
    assert table.won() == {1: 10_100, 2: 10_100, 3: 10_100}
    assert sum(table.won().values()) == 30_300
    assert split(30_300, (1, 2, 3), (1, 2, 3), odd, {1: 51, 2: 50, 3: 49}) == {1: 10_100, 2: 10_100, 3: 10_100}


@both
def test_report_05_who_raises_all_in_and_is_not_called_loses_nothing(rules: Ruleset):
    """S2 raises all-in, the others fold: what nobody called comes back, and the pot is his without a showdown."""
    table = fifth_street(rules, behind={2: 2000})
    pot = sum(table.hand.paid)
    table.play("1 bet 1000", "2 raise 2000", "3 fold", "1 fold")
    assert table.returned() == {2: 1000}
    assert table.won() == {2: pot + 2000}
    assert table.stack(2) == 1000 + pot + 2000
    assert none(table.events(), ev.HandShown)


@pytest.mark.parametrize("rules", [PLAYNOW, WILLIAM_HILL], ids=lambda rules: rules.name)
def test_report_10_a_hand_that_ends_on_third_street_is_not_raked(rules: Ruleset):
    """Stud has no flop; third street is what comes before it. The knob says whether such a hand is raked, and what
    nobody called never is."""
    raked = knobs(rules, rake_bps=500)
    table = deal(raked, 3)
    table.play("1 bring_in", "2 complete 500", "3 fold", "1 fold")
    assert table.returned() == {2: 500 - table.config.bring_in}
    assert [pot.rake for pot in table.events(ev.PotAwarded)] == [0]
    table = deal(knobs(raked, no_rake_before_fourth=False), 3)
    table.play("1 bring_in", "2 complete 500", "3 fold", "1 fold")
    called = 3 * 50 + 2 * table.config.bring_in
    assert [pot.rake for pot in table.events(ev.PotAwarded)] == [called * 5 // 100]


@both
def test_report_16_a_short_all_in_on_a_full_raise_reopens_nothing_for_who_made_it(rules: Ruleset):
    """S1 bets 10.00, S2 makes it 20.00, S3 has 23.00: less than half a raise. S1 has not acted since the full raise
    and may complete to 30.00; S2, whose raise it was, may then only call or fold."""
    table = fifth_street(rules, behind={3: 2300})
    table.play("1 bet 1000", "2 raise 2000", "3 all_in 2300")
    assert table.legal(1) == {"fold", "call 1300", "complete to 3000"}
    table.play("1 call 2300")
    assert table.legal(2) == {"fold", "call 300"}


@both
def test_report_16_a_bet_is_a_whole_bet_however_little_the_opponent_has(rules: Ruleset):
    """S2 has 2.00 left: S1 bets 10.00, neither less nor more, S2 calls for what he has, and 8.00 come back."""
    table = fifth_street(rules, 2, behind={2: 200})
    assert table.legal(1) == {"fold", "check", "bet 1000"}
    table.play("1 bet 1000")
    assert table.legal(2) == {"fold", "call 200"}
    table.play("2 call 200")
    assert table.returned() == {1: 800}
