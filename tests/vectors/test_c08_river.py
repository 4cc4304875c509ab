"""Rule vectors C.8: river arithmetic (rows 96-116)."""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement
from random import Random
from typing import Any

import pytest

from stud_core import events as ev
from stud_core.cards import parse_card
from stud_core.clear_deck import ClearDeck
from stud_core.deck import Positions, Stub, take
from stud_core.events import DealMode
from stud_core.presets import PLAYNOW
from stud_core.river import river_plan
from stud_core.ruleset import RiverShortage, Ruleset
from stud_core.shuffle import deck_order, river_rank
from tests.support.core_table import knobs, the
from tests.support.deep import either
from tests.support.table_dealer import River
from tests.support.table_driver import TableDriver, deal
from tests.vectors.positions import ROYAL_UP, both
from tests.vectors.random_play import play_hands

Counts = tuple[int, int, int, int, int]  # players dealt a card on third … seventh street

NORMAL, RECYCLE, COMMUNITY = DealMode.NORMAL, DealMode.RECYCLE, DealMode.COMMUNITY


def river_after(rules: Ruleset, counts: Counts, *, rebuild: bool = True, **options: Any) -> TableDriver:
    """Play until the river is dealt, with exactly ``counts`` players on each street: the highest seats fold."""
    table = deal(rules, counts[0], rebuild=rebuild, **options)
    while table.running and table.hand.street < 7:
        street = table.hand.street
        seat = the(table.turn)
        if seat > counts[street - 2]:
            table.play(f"{seat} fold")
        else:
            table.passive()
    assert tuple(len(request.targets) for request in table.dealer.requests)[:4] == counts[:4]
    return table


# tuple -> the river of P and of W: mode, stub before it, burnt for it, cards to deal from, dealt, left over
ROWS: dict[int, tuple[Counts, River, River]] = {
    96: ((2, 2, 2, 2, 2), River(NORMAL, 37, 1, 36, 2, 34), River(NORMAL, 40, 0, 40, 2, 38)),
    97: ((6, 6, 6, 6, 6), River(NORMAL, 13, 1, 12, 6, 6), River(NORMAL, 16, 0, 16, 6, 10)),
    98: ((7, 7, 7, 7, 6), River(NORMAL, 7, 1, 6, 6, 0), River(NORMAL, 10, 0, 10, 6, 4)),
    99: ((7, 7, 7, 7, 7), River(RECYCLE, 7, 0, 10, 7, 3), River(NORMAL, 10, 0, 10, 7, 3)),
    100: ((8, 8, 8, 8, 2), River(RECYCLE, 1, 0, 4, 2, 2), River(NORMAL, 4, 0, 4, 2, 2)),
    101: ((8, 8, 8, 8, 4), River(RECYCLE, 1, 0, 4, 4, 0), River(NORMAL, 4, 0, 4, 4, 0)),
    102: ((8, 8, 8, 8, 5), River(COMMUNITY, 1, 0, 3, 1, 2), River(COMMUNITY, 4, 0, 4, 1, 3)),
    103: ((8, 8, 8, 8, 8), River(COMMUNITY, 1, 0, 3, 1, 2), River(COMMUNITY, 4, 0, 4, 1, 3)),
    104: ((8, 8, 8, 7, 5), River(RECYCLE, 2, 0, 5, 5, 0), River(NORMAL, 5, 0, 5, 5, 0)),
    105: ((8, 8, 8, 7, 6), River(COMMUNITY, 2, 0, 3, 1, 2), River(COMMUNITY, 5, 0, 5, 1, 4)),
    106: ((8, 8, 7, 7, 6), River(RECYCLE, 3, 0, 6, 6, 0), River(NORMAL, 6, 0, 6, 6, 0)),
    107: ((8, 8, 7, 7, 7), River(COMMUNITY, 3, 0, 3, 1, 2), River(COMMUNITY, 6, 0, 6, 1, 5)),
    108: ((8, 7, 7, 7, 7), River(RECYCLE, 4, 0, 7, 7, 0), River(NORMAL, 7, 0, 7, 7, 0)),
    109: ((8, 7, 6, 6, 6), River(RECYCLE, 6, 0, 9, 6, 3), River(NORMAL, 9, 0, 9, 6, 3)),
    110: ((8, 8, 8, 5, 5), River(RECYCLE, 4, 0, 7, 5, 2), River(NORMAL, 7, 0, 7, 5, 2)),
    111: ((8, 6, 6, 6, 6), River(NORMAL, 7, 1, 6, 6, 0), River(NORMAL, 10, 0, 10, 6, 4)),
}


def check_row(row: int, rules: Ruleset) -> None:
    counts, of_playnow, of_william_hill = ROWS[row]
    table = river_after(rules, counts)
    expected = of_playnow if rules is PLAYNOW else of_william_hill
    assert table.dealer.river == expected
    request = table.dealer.requests[-1]
    live = table.hand.order[: counts[4]]
    assert (request.street, request.burn) == (7, expected.burned == 1)
    if expected.mode is COMMUNITY:
        assert request.targets == ()
        assert all(len(table.hand.down[seat]) == 2 for seat in live)
        assert table.hand.community is not None
    else:
        assert request.targets == live
        assert all(len(table.hand.down[seat]) == 3 for seat in live)
        assert table.hand.community is None


@both
def test_vector_096_two_all_the_way(rules: Ruleset):
    check_row(96, rules)


@pytest.mark.rules("P30", "P31")
@both
def test_vector_097_six_all_the_way(rules: Ruleset):
    check_row(97, rules)


@both
def test_vector_098_seven_then_six(rules: Ruleset):
    check_row(98, rules)


@pytest.mark.rules("P33", "P34")
@both
def test_vector_099_seven_all_the_way(rules: Ruleset):
    check_row(99, rules)


@both
def test_vector_100_eight_then_two(rules: Ruleset):
    check_row(100, rules)


@pytest.mark.rules("P34")
@both
def test_vector_101_eight_then_four(rules: Ruleset):
    check_row(101, rules)


@pytest.mark.rules("P35")
@both
def test_vector_102_eight_then_five(rules: Ruleset):
    check_row(102, rules)


@pytest.mark.rules("P32", "P35", "W20", "W21")
@both
def test_vector_103_eight_all_the_way(rules: Ruleset):
    check_row(103, rules)


@both
def test_vector_104_seven_on_sixth_then_five(rules: Ruleset):
    check_row(104, rules)


@both
def test_vector_105_seven_on_sixth_then_six(rules: Ruleset):
    check_row(105, rules)


@both
def test_vector_106_seven_on_fifth_then_six(rules: Ruleset):
    check_row(106, rules)


@both
def test_vector_107_seven_from_fifth(rules: Ruleset):
    check_row(107, rules)


@both
def test_vector_108_seven_from_fourth(rules: Ruleset):
    check_row(108, rules)


@both
def test_vector_109_seven_then_six(rules: Ruleset):
    check_row(109, rules)


@both
def test_vector_110_five_on_sixth(rules: Ruleset):
    check_row(110, rules)


@both
def test_vector_111_six_from_fourth(rules: Ruleset):
    check_row(111, rules)


# --- 112: every possible hand, by counting cards one by one ---------------------------------------


def every_tuple() -> list[Counts]:
    """All 8 >= n3 >= n4 >= n5 >= n6 >= n7 >= 2."""
    return [tuple(reversed(c)) for c in combinations_with_replacement(range(2, 9), 5)]  # type: ignore[misc]


def by_hand(counts: Counts, burns: bool) -> DealMode:
    """The dealer's arithmetic of P33-P35 and W20-W21, done with a deck of cards."""
    stub = ["card"] * 52
    burnt = []
    for street, players in zip((3, 4, 5, 6), counts, strict=False):
        if burns and street > 3:
            burnt.append(stub.pop())
        for _ in range(players * (3 if street == 3 else 1)):
            stub.pop()
    players = counts[4]
    if burns:
        if len(stub) >= players + 1:
            return NORMAL
        return RECYCLE if len(stub) + len(burnt) >= players else COMMUNITY
    return NORMAL if len(stub) >= players else COMMUNITY


COMMUNITY_TUPLES = {
    (8, 8, 8, 8, 8), (8, 8, 8, 8, 7), (8, 8, 8, 8, 6), (8, 8, 8, 8, 5),
    (8, 8, 8, 7, 7), (8, 8, 8, 7, 6), (8, 8, 7, 7, 7),
}  # fmt: skip

# The list of B.12: with nothing to spare, and with some.
RECYCLE_TUPLES = {
    (8, 8, 8, 8, 4), (8, 8, 8, 7, 5), (8, 8, 8, 6, 6), (8, 8, 7, 7, 6), (8, 7, 7, 7, 7),
    (8, 8, 8, 8, 2), (8, 8, 8, 8, 3),
    (8, 8, 8, 7, 2), (8, 8, 8, 7, 3), (8, 8, 8, 7, 4),
    (8, 8, 8, 6, 3), (8, 8, 8, 6, 4), (8, 8, 8, 6, 5),
    (8, 8, 8, 5, 4), (8, 8, 8, 5, 5),
    (8, 8, 7, 7, 3), (8, 8, 7, 7, 4), (8, 8, 7, 7, 5),
    (8, 8, 7, 6, 4), (8, 8, 7, 6, 5), (8, 8, 7, 6, 6),
    (8, 8, 7, 5, 5),
    (8, 8, 6, 6, 5), (8, 8, 6, 6, 6),
    (8, 7, 7, 7, 4), (8, 7, 7, 7, 5), (8, 7, 7, 7, 6),
    (8, 7, 7, 6, 5), (8, 7, 7, 6, 6),
    (8, 7, 6, 6, 6),
    (7, 7, 7, 7, 7),
}  # fmt: skip


@pytest.mark.rules("P33", "P34", "P35", "W20", "W21")
@pytest.mark.knob("river_shortage", RiverShortage.COMMUNITY, RiverShortage.RECYCLE_THEN_COMMUNITY)
@both
def test_vector_112_all_462_tuples(rules: Ruleset):
    expected = {counts: by_hand(counts, rules.burns) for counts in every_tuple()}
    assert len(expected) == 462
    totals = Counter(expected.values())
    if rules is PLAYNOW:
        assert totals == {NORMAL: 424, RECYCLE: 31, COMMUNITY: 7}
    else:
        assert totals == {NORMAL: 455, COMMUNITY: 7}
    assert {counts for counts, mode in expected.items() if mode is COMMUNITY} == COMMUNITY_TUPLES
    recycled = {counts for counts, mode in expected.items() if mode is RECYCLE}
    assert recycled == (RECYCLE_TUPLES if rules is PLAYNOW else set())
    for counts, mode in list(expected.items())[:: either(1, 1, 6)]:
        table = river_after(rules, counts, rebuild=False)
        request = table.dealer.requests[-1]
        assert (request.street, request.mode) == (7, mode), counts
        assert request.burn is (mode is NORMAL and rules.burns), counts
        assert request.targets == (() if mode is COMMUNITY else table.hand.order[: counts[4]]), counts


@pytest.mark.rules("P32", "P33")
@both
def test_vector_112_the_plan_says_the_same(rules: Ruleset):
    modes: Counter[DealMode] = Counter()
    for counts in every_tuple():
        mode = by_hand(counts, rules.burns)
        plan = river_plan(rules, counts)
        assert (plan.mode, plan.burn) == (mode, mode is NORMAL and rules.burns), counts
        stub = 52 - 3 * counts[0] - sum(counts[1:4]) - (3 if rules.burns else 0)
        pool = {NORMAL: stub - plan.burn, RECYCLE: stub + 3, COMMUNITY: 3 if rules.burns else stub}[mode]
        assert (plan.stub, plan.pool) == (stub, pool), counts
        assert plan.pool >= (1 if mode is COMMUNITY else counts[4]), counts
        modes[plan.mode] += 1
    normal, recycle = (424, 31) if rules is PLAYNOW else (455, 0)
    assert (modes[NORMAL], modes[RECYCLE], modes[COMMUNITY]) == (normal, recycle, 7)


@pytest.mark.rules("P36")
@both
@pytest.mark.parametrize(
    "counts", [(8, 8, 8, 8, 8), (8, 8, 8, 8, 4), (8, 7, 6, 6, 6), (8, 5, 4, 3, 2), (7, 7, 7, 7, 7)]
)
def test_vector_113_no_folded_card_comes_back(rules: Ruleset, counts: Counts):
    """The driver accounts for all 52 cards after every commit; here the folded ones are named."""
    table = river_after(rules, counts)
    folded = [s for s in table.hand.order if not table.hand.live[s]]
    gone = {c for s in folded for c in (*table.hand.up[s], *table.dealer.open(table.hand.down[s]))}
    river = [c for s in table.hand.order[: counts[4]] for c in table.dealer.open(table.hand.down[s])[2:]]
    river += [] if table.hand.community is None else [table.hand.community]
    assert river
    assert not gone & set(river)
    assert len(table.dealer.dealt) + table.dealer.left() == 52
    assert len(table.dealer.dealt) == 3 * counts[0] + sum(counts[1:4]) + len(river)


@both
@pytest.mark.parametrize("seed", range(4))
def test_vector_113_random_hands(rules: Ruleset, seed: int):
    table = TableDriver(rules, dict.fromkeys(range(1, 9), 10_000), up={}, seed=100 + seed)
    play_hands(table, hands=2, rng=Random(seed))


KINGS_AND_QUEENS = {
    1: "Kc Kd 2h 3s", 2: "Qc Qd 9h 9s", 3: "4c 5d 7h 8s", 4: "4d 5h 7s 8c",
    5: "4h 5s 7c 8d", 6: "4s 6c 7d 8h", 7: "5c 6d Jh Ts", 8: "2c 6h Jd Tc",
}  # fmt: skip


@pytest.mark.knob("community_counts_for_first", True, False)
@both
def test_vector_114_the_community_card_counts_for_the_first_to_act(rules: Ruleset):
    table = river_after(rules, (8, 8, 8, 8, 8), up=KINGS_AND_QUEENS, community="Kh")
    assert table.hand.community == parse_card("Kh")
    assert [t.seat for t in table.events(ev.TurnStarted)][-9] == 2, "two pair led on sixth street"
    assert table.turn == 1
    without = knobs(rules, community_counts_for_first=False)
    assert river_after(without, (8, 8, 8, 8, 8), up=KINGS_AND_QUEENS, community="Kh").turn == 2


@both
def test_vector_114_five_visible_cards_may_be_a_straight(rules: Ruleset):
    """Ranked as full hands: S3 with 4 5 7 8 and a six beats two pair and the kings (B.13)."""
    boards = KINGS_AND_QUEENS | {
        6: "4s 2d 7d 8h",
        7: "5c 3d Jh Ts",
        8: "2c 3h Jd Tc",
        4: "4d 3c 7s 8c",
        5: "4h 2s 7c 8d",
    }
    table = river_after(rules, (8, 8, 8, 8, 8), up=boards, community="6s")
    assert table.turn == 3


@pytest.mark.rules("P35")
@pytest.mark.parametrize("turned", [24, 33, 42])
def test_the_shuffle_says_which_of_the_burns_is_turned(turned: int):
    """Each of them can be; the card that is left in the stub cannot, although it ranks before all."""
    request = ev.DealRequested(1, 5, 7, COMMUNITY, burn=False, targets=())
    first = (51, turned)
    rank = [first.index(position) if position in first else 2 + position for position in range(52)]
    assert take(Stub(51, (24, 33, 42)), request, rank) == Positions(community=turned)


@pytest.mark.rules("P35", "W21")
@both
def test_vector_115_the_community_card_belongs_to_everybody(rules: Ruleset):
    """S2, all-in from the ante, completes a royal flush with it."""
    up = {2: ROYAL_UP["s"]} | {seat: d for seat, d in KINGS_AND_QUEENS.items() if seat not in {1, 2}}
    up |= {1: "Kc Kd 2h 3s", 7: "5c 6d Jh Th"}
    table = river_after(rules, (8, 8, 8, 8, 8), up=up, community="Ts", stacks={2: 50})
    assert table.hand.all_in[2]
    hands = {s: (*table.hand.up[s], *table.dealer.open(table.hand.down[s]), table.hand.community) for s in range(1, 9)}
    assert {len(cards) for cards in hands.values()} == {7}
    table.passively_to_the_end()
    shown = {e.seat: e for e in table.events(ev.HandShown)}
    assert shown[2].rank == 1
    assert table.won()[2] == 8 * 50
    for seat, event in shown.items():
        assert len(event.cards) == 2
        assert event.rank == evaluate(hands[seat])


def evaluate(cards: tuple[int | None, ...]) -> int:
    """Rank of seven cards by an evaluator that the core does not choose the arguments of."""
    from phevaluator import evaluate_cards  # type: ignore[import-untyped]

    return int(evaluate_cards(*[the(card) for card in cards]))


@both
@pytest.mark.parametrize("counts", [(7, 7, 7, 7, 7), (8, 8, 8, 8, 4), (8, 8, 8, 8, 8)])
def test_vector_116_a_seed_replayed_deals_the_same_cards(rules: Ruleset, counts: Counts):
    """The requests of a played hand, answered twice from one seed and once from another."""
    requests = river_after(rules, counts).dealer.requests
    deals = cards_of(b"s" * 32, requests)
    assert deals == cards_of(b"s" * 32, requests)
    assert deals != cards_of(b"t" * 32, requests)
    assert len(set(deals)) == len(deals)
    own = ClearDeck("t-1", 1, b"s" * 32)
    assert (own.cards, own.river_rank) == (deck_order(b"s" * 32), river_rank(b"s" * 32))
    # The order of a reshuffled pool is fixed by the seed before anything is dealt, and is not the deck's own order.
    assert list(own.river_rank) != list(range(52))
    if rules is PLAYNOW and requests[-1].mode is RECYCLE:
        last = deals[-counts[4] :]
        ranked = sorted(range(52), key=own.river_rank.__getitem__)
        assert [own.cards[position] for position in ranked if own.cards[position] in last] == last


def cards_of(seed: bytes, requests: list[ev.DealRequested]) -> list[int]:
    """Every card dealt, in order, from the deck that the seed makes."""
    deck = ClearDeck("t-1", 1, seed)
    stub = Stub()
    dealt: list[int] = []
    for request in requests:
        taken = take(stub, request, deck.river_rank)
        assert isinstance(taken, Positions)
        dealt += [deck.cards[position] for position in taken.dealt]
        burned = tuple(p for p in (*stub.burned, *taken.burns) if p not in taken.dealt)
        stub = Stub(max(stub.top, *(p + 1 for p in (*taken.burns, *taken.dealt))), burned)
    return dealt
