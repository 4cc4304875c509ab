"""Rule vectors C.7: pots, uncalled money, odd units (rows 84-95)."""

from __future__ import annotations

from random import Random

import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.conservation import check
from stud_core.evolve import evolve
from stud_core.ruleset import OddUnits, Ruleset
from stud_core.state import Table
from tests.support.core_table import knobs, only
from tests.support.table_driver import TableDriver, deal
from tests.vectors.positions import ROYAL_DOWN, ROYAL_UP, both, playnow, william_hill
from tests.vectors.random_play import play_hands

NO_PAIRS = {1: "2c Kd Jh 9s", 2: "Qc Td 8h 6s", 3: "3c 7d 5h 2s", 4: "4d Ts 8c 6h"}


def contributions(table: TableDriver) -> dict[int, int]:
    """What each seat put in over the whole hand, uncalled money included."""
    paid: dict[int, int] = {}
    for event in table.events(ev.AntePosted, ev.ActionTaken):
        paid[event.seat] = paid.get(event.seat, 0) + event.amount
    return paid


def pots_and_eligible(table: TableDriver) -> list[tuple[int, set[int]]]:
    """The pots of the showdown, after checking that exactly these were paid, the last side pot first."""
    assert [(number, amount) for number, amount, _ in table.awarded()] == [
        (number, amount) for number, (amount, _) in reversed(list(enumerate(table.pots)))
    ]
    assert sum(table.won().values()) == sum(amount for amount, _ in table.pots)
    return table.pots


@both
def test_vector_084_main_and_side_pot(rules: Ruleset):
    table = deal(rules, up=NO_PAIRS, stacks={1: 1000, 2: 1000, 3: 300})
    table.play("1 bring_in", "2 complete 500", "3 call 250", "4 fold", "1 call")
    table.play("1 bet 450", "2 call 450")
    table.passively_to_the_end()
    assert contributions(table) == {1: 1000, 2: 1000, 3: 300, 4: 50}
    assert pots_and_eligible(table) == [(950, {1, 2, 3}), (1400, {1, 2})]
    assert sum(table.won().values()) == 2350


@both
def test_vector_085_uncalled_part_of_a_bet(rules: Ruleset):
    up = {1: "Ac", 2: "Kd", 3: "Qh", 4: "2c"}
    table = deal(rules, up=up, stacks={1: 30, 2: 500, 3: 500}, limits=(950, 1900))
    table.play("4 open 950", "2 call 450", "3 call 450")
    table.passively_to_the_end()
    assert contributions(table) == {1: 30, 2: 500, 3: 500, 4: 1000}
    assert table.returned() == {4: 500}
    assert pots_and_eligible(table) == [(120, {1, 2, 3, 4}), (1410, {2, 3, 4})]


@both
def test_vector_086_a_folded_bet_counts_as_called(rules: Ruleset):
    """S2's 500 lie in the round in which he folds: they are what S1's raise is measured against (B.21)."""
    up = {1: "Ac Kd Jh 8s", 2: "9c 9d", 3: "2c 7d 5h 3s"}
    table = deal(rules, up=up, stacks={3: 700}, limits=(500, 2000), ante=250, bring_in=250)
    table.play("3 bring_in", "1 call", "2 call", "2 bet 500", "3 call 200", "1 raise 2500", "2 fold")
    table.passively_to_the_end()
    assert contributions(table) == {1: 3000, 2: 1000, 3: 700}
    assert table.returned() == {1: 2000}
    assert pots_and_eligible(table) == [(2100, {1, 3}), (600, {1})]
    assert table.awarded()[0] == (1, 600, {1: 600})


@both
def test_vector_087_a_folded_players_money_stays(rules: Ruleset):
    table = deal(rules, up=NO_PAIRS, stacks={2: 350})
    table.play("1 bring_in", "2 call", "3 complete 500", "4 raise 1000", "1 call", "2 call", "3 call")
    while table.turn != 4:
        table.passive()
    table.play("4 fold")
    table.passively_to_the_end()
    assert contributions(table) == {1: 1050, 2: 350, 3: 1050, 4: 1050}
    assert pots_and_eligible(table) == [(1400, {1, 2, 3}), (2100, {1, 3})]


def tied_for_1001(rules: Ruleset, seats: tuple[int, ...], tied: tuple[int, ...], button: int | None) -> dict[int, int]:
    """Seven antes of 143, everybody all-in; the tied ones hold royal flushes. Returns what each won."""
    assert len(seats) == 7
    up = {seat: ROYAL_UP[suit] for seat, suit in zip(tied, "shd", strict=False)}
    down = {seat: ROYAL_DOWN[suit] for seat, suit in zip(tied, "shd", strict=False)}
    stacks = dict.fromkeys(seats, 143)
    table = deal(rules, seats, stacks=stacks, ante=143, up=up, down=down, button=button)
    table.passively_to_the_end()
    assert table.pots == [(1001, set(seats))]
    assert [(number, amount) for number, amount, _ in table.awarded()] == [(0, 1001)]
    return table.won()


@pytest.mark.rules("P47")
@playnow
def test_vector_088_the_odd_unit_goes_to_the_first_in_deal_order(rules: Ruleset):
    assert tied_for_1001(rules, (1, 2, 3, 4, 5, 6, 7), (2, 5), None) == {2: 501, 5: 500}


@pytest.mark.rules("W24", "W25")
@pytest.mark.knob("odd_units", OddUnits.ALL_TO_FIRST_LEFT)
@william_hill
def test_vector_089_the_odd_unit_goes_left_of_the_button(rules: Ruleset):
    assert tied_for_1001(rules, (1, 2, 3, 4, 5, 6, 7), (2, 5), 3) == {5: 501, 2: 500}


@pytest.mark.rules("P17", "P47")
@pytest.mark.knob("odd_units", OddUnits.ONE_EACH_FROM_LEFT)
@playnow
def test_vector_090_one_odd_unit_each(rules: Ruleset):
    assert tied_for_1001(rules, (1, 2, 3, 4, 5, 6, 7), (2, 5, 7), None) == {2: 334, 5: 334, 7: 333}


@pytest.mark.rules("W24", "W25")
@pytest.mark.knob("odd_units", OddUnits.ALL_TO_FIRST_LEFT)
@william_hill
def test_vector_091_all_odd_units_to_one(rules: Ruleset):
    assert tied_for_1001(rules, (2, 3, 4, 5, 6, 7, 8), (2, 5, 7), 8) == {2: 335, 5: 333, 7: 333}


@pytest.mark.knob("odd_units", OddUnits.HIGH_CARD_BY_SUIT)
@playnow
def test_all_odd_units_go_to_the_highest_card(rules: Ruleset):
    """S5 has the ace of spades, S2 that of hearts."""
    by_card = knobs(rules, odd_units=OddUnits.HIGH_CARD_BY_SUIT)
    assert tied_for_1001(by_card, (1, 2, 3, 4, 5, 6, 7), (5, 2, 7), None) == {2: 333, 5: 335, 7: 333}


@pytest.mark.rules("W25")
@william_hill
def test_vector_092_nothing_for_a_folded_left_neighbour(rules: Ruleset):
    up = {3: "2h 4s 6s 8d", 4: "9c", 5: ROYAL_UP["s"], 7: ROYAL_UP["h"]}
    down = {5: ROYAL_DOWN["s"], 7: ROYAL_DOWN["h"]}
    table = deal(rules, (3, 4, 5, 7), up=up, down=down, limits=(50, 100), ante=25, button=3)
    assert table.dealt_in()[0] == 4
    table.play("3 bring_in", "4 fold", "5 call", "7 call")
    while table.turn != 3:
        table.passive()
    table.play("3 fold")
    table.passively_to_the_end()
    assert table.awarded() == [(0, 175, {5: 88, 7: 87})]


@both
def test_vector_093_side_pot_first_each_split_by_itself(rules: Ruleset):
    up = {1: ROYAL_UP["s"], 2: ROYAL_UP["h"], 3: "4s 6s 7d 9c"}
    down = {1: ROYAL_DOWN["s"], 2: ROYAL_DOWN["h"], 3: "4c 6d 9d"}
    table = deal(rules, up=up, down=down, stacks={1: 51}, ante=51)
    table.play("3 bring_in", "2 call")
    table.passively_to_the_end()
    side = 2 * (200 if rules.name == "playnow" else 250)
    assert table.awarded() == [(1, side, {2: side}), (0, 153, {1: 77, 2: 76})]


@both
def test_vector_093_the_odd_unit_is_decided_per_pot(rules: Ruleset):
    """Main pot 200 for three, side pot 75 for two of them, one odd unit or two in each."""
    up = {1: ROYAL_UP["s"], 2: ROYAL_UP["h"], 3: ROYAL_UP["d"], 4: "2h 4s 6s 8d"}
    down = {1: ROYAL_DOWN["s"], 2: ROYAL_DOWN["h"], 3: ROYAL_DOWN["d"]}
    table = deal(rules, up=up, down=down, stacks={1: 50}, limits=(50, 100), bring_in=25)
    table.play("4 bring_in", "2 call", "3 call")
    while table.turn != 4:
        table.passive()
    table.play("4 fold")
    table.passively_to_the_end()
    main = {1: 67, 2: 67, 3: 66} if rules.name == "playnow" else {1: 68, 2: 66, 3: 66}
    assert table.awarded() == [(1, 75, {2: 38, 3: 37}), (0, 200, main)]


@pytest.mark.rules("P17", "P47", "W24")
@both
@pytest.mark.parametrize(
    ("first", "second", "downs"),
    [
        ("Ts 9d 4c 2h", "Th 9c 4d 2s", ("8s 7c 6h", "8h 7d 6s")),  # straights
        ("Ks Kd 4c 2h", "Kh Kc 4d 2s", ("Qs Qc 9h", "Qh Qd 9s")),  # two pair, the same kicker
    ],
)
def test_vector_094_suits_never_decide(rules: Ruleset, first: str, second: str, downs: tuple[str, str]):
    table = deal(rules, up={1: first, 2: second}, down={1: downs[0], 2: downs[1]})
    table.passively_to_the_end()
    half = table.pots[0][0] // 2
    assert table.won() == {1: half, 2: half}
    assert len({e.rank for e in table.events(ev.HandShown)}) == 1


@both
@pytest.mark.parametrize("seed", range(12))
def test_vector_095_no_chip_is_made_or_lost(rules: Ruleset, seed: int):
    """Random hands with short stacks: stacks + pots + rake is what was brought, at every single event."""
    rng = Random(seed)
    players = 2 + seed % 7
    stacks = {seat: rng.choice([30, 50, 120, 333, 1000, 4321, 9999]) for seat in range(1, players + 1)}
    raked = rules if seed % 2 else with_rake(rules)
    table = TableDriver(raked, stacks, up={}, seed=seed)
    play_hands(table, hands=3, rng=rng)
    ended = [e for e in table.history() if isinstance(e, ev.HandEnded)]
    assert ended
    for hand in ended:
        assert sum(d.delta for d in hand.deltas) + hand.rake == 0
    assert sum(table.stacks().values()) + sum(h.rake for h in ended) == sum(stacks.values())
    every_event_conserves(table)


def with_rake(rules: Ruleset) -> Ruleset:
    return knobs(rules, rake_bps=500, rake_cap=60)


def every_event_conserves(table: TableDriver) -> None:
    """Conservation inside commits too, and no stack below zero in any event."""
    state = Table()
    for version, events in table.log:
        for event in events:
            state = evolve(state, [event], version)
            assert check(state) is None, (event, check(state))
            assert all(sitting.stack >= 0 for sitting in state.sittings.values())
    assert state == table.state


@both
def test_vector_095_a_buy_in_and_a_cash_out_balance_too(rules: Ruleset):
    table = deal(rules, 2)
    table.send(cmd.LeaveSeat("a2"))
    table.passively_to_the_end()
    table.settle()
    claim = only(table.history(), ev.CashOutRequested)
    table.send(cmd.RecordCashOut(claim.sitting_no, claim.claim or 0))
    assert table.state.paid_in - table.state.paid_out == table.stack(1)
    every_event_conserves(table)
