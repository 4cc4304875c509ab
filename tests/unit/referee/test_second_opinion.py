"""The parts of the second opinion, each against the rule vectors and against the engine it is there to check."""

from __future__ import annotations

from itertools import product
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from rules_service.second_opinion import ranking
from rules_service.second_opinion.betting import Round
from rules_service.second_opinion.dealing import Deck, Stub
from rules_service.second_opinion.pots import build_pots, layers, pay, rake_due, uncalled
from stud_core import pots as engine_pots
from stud_core.cards import parse_card, parse_cards
from stud_core.deck import Positions, take
from stud_core.deck import Stub as EngineStub
from stud_core.events import DealMode, DealRequested, Size, Verb
from stud_core.presets import PLAYNOW, WILLIAM_HILL
from stud_core.ranks import board_strength, rank_best
from stud_core.river import river_plan
from stud_core.ruleset import OddUnits, RiverShortage
from tests.support.core_table import knobs
from tests.support.referee_hands import config_of

# --- ranking ---------------------------------------------------------------------------------------------------------

IN_ORDER = [
    "Ah Kh Qh Jh Th", "Kh Qh Jh Th 9h", "5h 4h 3h 2h Ah", "Ac Ad Ah As Kd", "2c 2d 2h 2s Kd", "Kc Kd Kh 2c 2d",
    "Ah Qh 9h 5h 2h", "Ac Kd Qh Jh Th", "5c 4d 3h 2h Ah", "Ac Ad Ah Kh Qd", "Ac Ad Kh Kd 2c", "Ac Ad 3h 3d Kc",
    "Ac Ad Kh Qd 2c", "Ac Ad Kh Jd 2c", "Ac Kd Qh Jd 9c", "7c 5d 4h 3d 2c",
]  # fmt: skip


def test_categories_and_kickers_stand_in_the_usual_order():
    strengths = [ranking.five(parse_cards(cards)) for cards in IN_ORDER]
    assert strengths == sorted(strengths, reverse=True)
    assert len(set(strengths)) == len(strengths)


@pytest.mark.parametrize("size", [5, 6, 7])
def test_it_orders_hands_as_the_engine_does(size: int):
    rng = Random(size)
    hands = [rng.sample(range(52), size) for _ in range(400)]
    mine = [ranking.best_of(hand) for hand in hands]
    engine = [-rank_best(hand) for hand in hands]
    for a, b in product(range(0, 400, 7), range(400)):
        assert (mine[a] > mine[b], mine[a] == mine[b]) == (engine[a] > engine[b], engine[a] == engine[b])


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_it_orders_boards_as_the_engine_does(size: int):
    rng = Random(size)
    boards = [rng.sample(range(52), size) for _ in range(300)]
    for a, b in product(boards[:60], boards):
        mine, engine = (ranking.board(a), ranking.board(b)), (board_strength(a), board_strength(b))
        assert (mine[0] > mine[1], mine[0] == mine[1]) == (engine[0] > engine[1], engine[0] == engine[1])


# --- pots (rows 84 to 94, 152, 153) ----------------------------------------------------------------------------------


def pots_of(paid: dict[int, int], live: list[int]) -> list[tuple[int, tuple[int, ...]]]:
    return [(pot.amount, pot.eligible) for pot in build_pots(paid, live)]


@pytest.mark.parametrize(
    ("paid", "live", "expected"),
    [
        ({1: 1000, 2: 1000, 3: 300, 4: 50}, [1, 2, 3], [(950, (1, 2, 3)), (1400, (1, 2))]),  # row 84
        ({1: 30, 2: 500, 3: 500, 4: 500}, [1, 2, 3, 4], [(120, (1, 2, 3, 4)), (1410, (2, 3, 4))]),  # row 85
        ({1: 1000, 2: 1000, 3: 700}, [1, 3], [(2100, (1, 3)), (600, (1,))]),  # row 86
        ({1: 1050, 2: 350, 3: 1050, 4: 1050}, [1, 2, 3], [(1400, (1, 2, 3)), (2100, (1, 3))]),  # row 87
        ({1: 50, 2: 30}, [1, 2], [(60, (1, 2)), (20, (1,))]),  # row 152
        ({1: 500, 2: 300, 3: 500, 4: 900, 5: 900}, [1, 2], [(1500, (1, 2)), (1600, (1,))]),  # row 153
        ({1: 0, 2: 0}, [1, 2], []),
    ],
)
def test_pots_are_cut_as_the_vectors_say(paid: dict[int, int], live: list[int], expected: Any):
    assert pots_of(paid, live) == expected


def test_pots_and_rake_are_the_engines_for_any_contributions():
    rng = Random(1)
    for _ in range(2000):
        paid = {seat: rng.choice([0, 30, 50, 300, 301, 1000]) for seat in range(1, rng.randrange(3, 9))}
        live = [seat for seat in paid if rng.random() < 0.6] or [1]
        by_seat = [paid.get(seat, 0) for seat in range(9)]
        alive = [seat in live for seat in range(9)]
        engine = engine_pots.build_pots(by_seat, alive)
        if max(paid[seat] for seat in live) > 0 and min(paid[seat] for seat in live) > 0:
            assert pots_of(paid, live) == [(pot.amount, pot.eligible) for pot in engine]
        ruleset = knobs(PLAYNOW, rake_bps=rng.choice([0, 100, 500]), rake_cap=rng.choice([None, 0, 10]))
        called = engine_pots.called_money(by_seat)
        assert rake_due(paid, ruleset, ended_on_third=False) == min(
            called * ruleset.rake_bps // 10_000, called if ruleset.rake_cap is None else ruleset.rake_cap
        )
        assert uncalled(paid, live) == engine_pots.uncalled(by_seat, alive) or len(set(paid.values())) < len(paid)


def test_no_rake_before_fourth_street_unless_the_knob_says_so():
    paid = {1: 1000, 2: 1000}
    rules = knobs(PLAYNOW, rake_bps=1000)
    assert rake_due(paid, rules, ended_on_third=True) == 0
    assert rake_due(paid, knobs(rules, no_rake_before_fourth=False), ended_on_third=True) == 200
    assert layers(paid) == [(2000, [1, 2])]


@pytest.mark.parametrize(
    ("odd", "order", "winners", "expected"),
    [
        (OddUnits.ONE_EACH_FROM_LEFT, [1, 2, 3, 4, 5], [2, 5], {2: 501, 5: 500}),  # row 88
        (OddUnits.ALL_TO_FIRST_LEFT, [4, 5, 1, 2, 3], [2, 5], {5: 501, 2: 500}),  # row 89
        (OddUnits.ONE_EACH_FROM_LEFT, [2, 5, 7], [2, 5, 7], {2: 334, 5: 334, 7: 333}),  # row 90
        (OddUnits.ALL_TO_FIRST_LEFT, [2, 5, 7], [2, 5, 7], {2: 335, 5: 333, 7: 333}),  # row 91
        (OddUnits.ALL_TO_FIRST_LEFT, [4, 5, 7], [5, 7], {5: 501, 7: 500}),  # row 92
        (OddUnits.HIGH_CARD_BY_SUIT, [2, 5], [2, 5], {2: 500, 5: 501}),
    ],
)
def test_odd_units(odd: OddUnits, order: list[int], winners: list[int], expected: dict[int, int]):
    paid = dict.fromkeys(order, 0) | {winners[0]: 1001 - 500, winners[1]: 500}
    pots = build_pots({winners[0]: 1001}, winners)
    pots[0].eligible = tuple(winners)
    strengths = dict.fromkeys(winners, (1,))
    (payment,) = pay(pots, 0, strengths, order, odd, {2: 10, 5: 40, 7: 3})
    assert payment.shares == expected
    assert sum(paid.values()) == 1001


# --- dealing (rows 96 to 112) ----------------------------------------------------------------------------------------


def tuples() -> list[tuple[int, ...]]:
    return [
        (n3, n4, n5, n6, n7)
        for n3 in range(2, 9)
        for n4 in range(2, n3 + 1)
        for n5 in range(2, n4 + 1)
        for n6 in range(2, n5 + 1)
        for n7 in range(2, n6 + 1)
    ]


@pytest.mark.parametrize("rules", [PLAYNOW, WILLIAM_HILL], ids=lambda rules: rules.name)
def test_every_river_is_planned_and_taken_as_the_engine_and_the_dealer_do(rules: Any):
    rank = Random(7).sample(range(52), 52)
    modes: dict[DealMode, int] = {}
    for counts in tuples():
        stub, theirs = Stub(), EngineStub()
        for street, players in enumerate(counts, 3):
            seats = tuple(range(1, players + 1))
            plan = stub.plan(rules, street, seats)
            request = DealRequested(1, street - 2, plan.street, plan.mode, plan.burn, plan.targets)
            mine, positions = stub.take(plan, rank), take(theirs, request, rank)
            assert isinstance(positions, Positions)
            assert (mine.burns, mine.down, mine.up, mine.community) == (
                positions.burns, positions.down, positions.up, positions.community,
            )  # fmt: skip
            burned = (*theirs.burned, *positions.burns)
            top = max([theirs.top, *[pos + 1 for pos in (*positions.dealt, *positions.burns)]])
            theirs = EngineStub(top, burned)
            if street == 7:
                expected = river_plan(rules, counts)
                assert (plan.mode, plan.burn) == (expected.mode, expected.burn)
                modes[plan.mode] = modes.get(plan.mode, 0) + 1
    expected_modes = {DealMode.NORMAL: 424, DealMode.RECYCLE: 31, DealMode.COMMUNITY: 7}
    assert modes == (expected_modes if rules is PLAYNOW else {DealMode.NORMAL: 455, DealMode.COMMUNITY: 7})


def test_a_community_river_from_the_burns_alone():
    rules = knobs(PLAYNOW, river_shortage=RiverShortage.COMMUNITY)
    stub = Stub()
    stub.top, stub.burned = 51, [24, 33, 42]
    plan = stub.plan(rules, 7, range(1, 9))
    assert plan.mode is DealMode.COMMUNITY
    assert stub.take(plan, list(range(52, 0, -1))).community == 42


def test_a_deck_does_not_show_itself():
    assert "1" not in repr(Deck((1, 2, 3), (1, 2, 3)))


# --- betting (rows 48 to 83) -----------------------------------------------------------------------------------------


class Street:
    """A round of the second opinion, driven as the vectors are written."""

    def __init__(self, street: int = 5, stacks: dict[int, int] | None = None, pair: set[int] | None = None, **kn: Any):
        self.stacks = [0] * 9
        for seat, stack in ({1: 10_000, 2: 10_000, 3: 10_000} | (stacks or {})).items():
            self.stacks[seat] = stack
        order = [seat for seat in range(1, 9) if self.stacks[seat]]
        self.round = Round(config_of(knobs(PLAYNOW, **kn)), street, order, order)
        self.round.open(self.stacks, order[0], pair or set())

    def act(self, *actions: str) -> Street:
        for action in actions:
            seat, verb, *rest = action.split()
            wanted = [
                (choice, full)
                for choice, full in self.round.choices(self.stacks, int(seat)).items()
                if choice[0].name.lower() == verb
                and (not rest or str(choice[1]) == rest[0])
                and (len(rest) < 2 or choice[2] is Size[rest[1].upper()])
            ]
            assert len(wanted) == 1, (action, self.legal(int(seat)))
            choice, full = wanted[0]
            self.stacks[int(seat)] -= choice[1] - self.round.put[int(seat)]
            self.round.act(self.stacks, int(seat), choice, is_full=full)
        return self

    def legal(self, seat: int) -> set[str]:
        return {f"{verb.name.lower()} {to}" for verb, to, _ in self.round.choices(self.stacks, seat)}


def test_row_050_to_054_sizes_with_an_open_pair():
    street = Street(4, pair={1})
    assert street.legal(1) == {"fold 0", "check 0", "bet 500", "bet 1000"}
    street.act("1 bet 500")
    assert street.legal(2) == {"fold 0", "call 500", "raise 1000", "raise 1500"}
    street.act("2 raise 1500")
    assert street.legal(3) == {"fold 0", "call 1500", "raise 2500"}
    assert Street(4, pair={1}).act("1 bet 1000").legal(2) == {"fold 0", "call 1000", "raise 2000"}


def test_row_063_to_067_the_cap_for_two():
    two = {1: 90_000, 2: 90_000, 3: 0}
    long = Street(stacks=two).act("1 bet", "2 raise", "1 raise", "2 raise", "1 raise", "2 raise")
    assert "raise 7000" in long.legal(1)
    three = Street().act("1 bet", "2 raise", "3 raise", "1 raise")
    assert three.legal(2) == {"fold 2000", "call 4000"}


def test_row_071_to_075_short_all_ins():
    street = Street(stacks={2: 1300}).act("1 bet", "2 raise 1300")
    assert street.round.wagers == 1
    assert street.legal(3) == {"fold 0", "call 1300", "complete 2000"}
    assert street.act("3 call").legal(1) == {"fold 1000", "call 1300"}
    assert Street(stacks={2: 1500}).act("1 bet", "2 raise 1500").legal(3) == {"fold 0", "call 1500", "raise 2500"}
    assert Street(stacks={1: 400}).act("1 bet 400").legal(2) == {"fold 0", "call 400", "complete 1000"}


def test_row_082_and_083_a_declared_high_all_in():
    street = Street(4, {1: 700}, {1}).act("1 bet 700 high")
    assert street.legal(2) == {"fold 0", "call 700", "raise 1700"}
    street = Street(4, {1: 400}, {1}).act("1 bet 400 high")
    assert street.legal(2) == {"fold 0", "call 400", "complete 500", "complete 1000"}


def test_a_short_all_in_that_passed_the_lower_size_leaves_the_higher_one():
    street = Street(4, {1: 851}, {1}, short_all_in=2).act("1 bet 851 high")
    assert street.legal(2) == {"fold 0", "call 851", "complete 1000"}


def test_nobody_raises_what_nobody_can_answer():
    street = Street(stacks={1: 1000, 3: 1000}).act("1 bet 1000")
    assert street.legal(2) == {"fold 0", "call 1000"}


def test_the_low_card_must_open():
    street = Street(3)
    assert street.legal(1) == {"bring_in 200", "open 500"}
    assert Street(3).legal(2) == {"fold 0", "bring_in 200", "open 500"}
    assert Street(3, {1: 150}).legal(1) == {"bring_in 150"}


def test_who_acts_next():
    street = Street(stacks={2: 900})
    assert street.round.next_seat(street.stacks, 0) == 1
    street.act("1 bet", "2 call")
    assert street.round.next_seat(street.stacks, 2) == 3
    street.act("3 call")
    assert street.round.next_seat(street.stacks, 3) == 0
    alone = Street(stacks={1: 5000, 2: 0, 3: 0})
    assert alone.round.next_seat(alone.stacks, 0) == 0


def test_cards_are_numbers_as_everywhere():
    assert parse_card("2c") == 0
    assert SimpleNamespace(verb=Verb.BET).verb is Verb.BET
