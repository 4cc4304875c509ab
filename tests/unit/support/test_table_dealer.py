"""The tests' own dealer, which holds the product's to the rule pages: here its positions are written out by hand."""

from collections.abc import Sequence
from random import Random

import msgspec
import pytest

from stud_core.cards import DECK_SIZE, parse_card, parse_cards
from stud_core.commands import RecordCards
from stud_core.deck import Positions, Stub, take
from stud_core.events import DealMode, DealRequested, DownCard, UpCard
from stud_core.state import Hand, Phase
from tests.support import table_dealer
from tests.support.dealing import request, street
from tests.support.table_dealer import Dealer, River

SEATS = (2, 5, 7)


def dealer(
    *, burns: bool = True, up: dict[int, str] | None = None, down: dict[int, str] | None = None,
    community: str | None = None, seed: int = 0,
) -> Dealer:  # fmt: skip
    return Dealer(burns, up or {}, down or {}, community, Random(seed))


def hand_of(*answers: RecordCards) -> Hand:
    """What the table has after these deals."""
    hand = Hand(1, Phase.BETTING, 1, order=SEATS)
    for answer in answers:
        for card in answer.up:
            hand.up[card.seat] += (card.card,)
        for box in answer.down:
            hand.down[box.seat] += (box,)
        hand.community = answer.community
    return hand


def to_sixth(of: Dealer) -> list[RecordCards]:
    return [of.answer(street(number, SEATS, burn=of.burns and number > 3)) for number in range(3, 7)]


def river(mode: DealMode = DealMode.NORMAL, *, burn: bool = False, targets: tuple[int, ...] = SEATS) -> DealRequested:
    return request(5, targets, mode, burn=burn)


def test_two_down_one_up_then_one_at_a_time_each_after_a_burn():
    ours = dealer()
    first, *_ = to_sixth(ours)
    assert [(box.seat, box.pos) for box in first.down] == [(2, 0), (5, 1), (7, 2), (2, 3), (5, 4), (7, 5)]
    assert ours.places == {
        (3, 2): [0, 3, 6],
        (3, 5): [1, 4, 7],
        (3, 7): [2, 5, 8],
        (4, 2): [10],
        (4, 5): [11],
        (4, 7): [12],
        (5, 2): [14],
        (5, 5): [15],
        (5, 7): [16],
        (6, 2): [18],
        (6, 5): [19],
        (6, 7): [20],
    }
    assert ours.burned == [9, 13, 17]
    last = ours.answer(river(burn=True))
    assert ([box.pos for box in last.down], last.up, ours.burned[-1]) == ([22, 23, 24], (), 21)
    assert ours.river == River(DealMode.NORMAL, stub=31, burned=1, pool=30, dealt=3, left=27)


def test_the_root_comes_with_the_first_deal_only():
    assert [bool(answer.root) for answer in to_sixth(dealer())] == [True, False, False, False]


@pytest.mark.parametrize("seed", range(20))
def test_named_cards_come_to_their_seats_in_their_order_and_to_nobody_else(seed: int):
    up, down = {2: "2c As", 7: "Kd"}, {5: "Ah Ad Ac"}
    ours = dealer(up=up, down=down, seed=seed)
    answers = [*to_sixth(ours), ours.answer(river(burn=True))]
    hand = hand_of(*answers)
    assert hand.up[2][:2] == tuple(parse_cards("2c As"))
    assert hand.up[7][0] == parse_card("Kd")
    assert ours.open(hand.down[5]) == tuple(parse_cards("Ah Ad Ac"))
    ours.check(hand)
    assert ours.left() == DECK_SIZE - 3 * 7


def test_a_card_that_is_named_for_two_is_a_fault_of_the_test():
    with pytest.raises(AssertionError, match="As was named twice or is gone"):
        to_sixth(dealer(up={2: "As", 5: "As"}))


@pytest.mark.parametrize("seed", range(20))
def test_a_recycled_river_comes_from_burns_and_stub_and_never_from_what_was_dealt(seed: int):
    ours = dealer(seed=seed)
    answers = to_sixth(ours)
    burned, gone = list(ours.burned), {position for places in ours.places.values() for position in places}
    answers.append(ours.answer(river(DealMode.RECYCLE)))
    taken = [box.pos for box in answers[-1].down]
    assert len({*taken, *gone}) == len(taken) + len(gone)
    assert sorted({*burned, *range(21, DECK_SIZE)} & set(taken)) == sorted(taken)
    assert ours.river == River(DealMode.RECYCLE, stub=31, burned=0, pool=34, dealt=3, left=31)
    assert set(ours.burned) == set(burned) - set(taken)
    ours.check(hand_of(*answers))


def test_over_many_shuffles_a_recycled_river_brings_burnt_cards_too():
    seen = set()
    for seed in range(60):
        ours = dealer(seed=seed)
        to_sixth(ours)
        seen |= {box.pos for box in ours.answer(river(DealMode.RECYCLE)).down}
    assert {9, 13, 17} < seen


@pytest.mark.parametrize("seed", range(10))
def test_a_card_for_all_is_one_of_the_burns(seed: int):
    ours = dealer(seed=seed)
    answers = to_sixth(ours)
    burns = {ours.card_at[position] for position in ours.burned}
    answers.append(ours.answer(river(DealMode.COMMUNITY, targets=())))
    assert answers[-1].community in burns
    assert len(ours.burned) == 2
    ours.check(hand_of(*answers))


def test_where_nothing_is_burnt_it_is_the_next_of_the_stub():
    ours = dealer(burns=False, community="Qh")
    answers = to_sixth(ours)
    assert ours.burned == []
    answers.append(ours.answer(river(DealMode.COMMUNITY, targets=())))
    assert (answers[-1].community, ours.card_at[18]) == (parse_card("Qh"), parse_card("Qh"))
    ours.check(hand_of(*answers))


def test_a_named_card_for_all_is_the_burn_that_is_turned():
    ours = dealer(community="Qh")
    to_sixth(ours)
    assert ours.answer(river(DealMode.COMMUNITY, targets=())).community == parse_card("Qh")


def test_a_new_deck_has_all_its_cards_again_and_the_named_ones_too():
    ours = dealer(up={2: "2c"})
    for _ in range(2):
        assert hand_of(*to_sixth(ours)).up[2][0] == parse_card("2c")
        ours.new_deck()
        assert (ours.left(), ours.burned, ours.places) == (DECK_SIZE, [], {})


# What it must not let pass


WRONG = {
    "no burn": lambda right: msgspec.structs.replace(right, burns=()),
    "down cards two by two": lambda right: msgspec.structs.replace(right, down=tuple(sorted(right.down))),
    "the next card": lambda right: msgspec.structs.replace(
        right, up=tuple([(seat, position + 1) for seat, position in right.up])
    ),
    "a card for all": lambda right: msgspec.structs.replace(right, community=40),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_product_that_takes_other_positions_is_noticed(wrong: str, monkeypatch: pytest.MonkeyPatch):
    def falsely(stub: Stub, asked: DealRequested, river_rank: Sequence[int]) -> Positions:
        changed = WRONG[wrong](take(stub, asked, river_rank))
        assert isinstance(changed, Positions)
        return changed

    monkeypatch.setattr(table_dealer, "take", falsely)
    with pytest.raises(AssertionError, match="Positions"):
        to_sixth(dealer())


def test_a_hand_with_a_card_twice_is_noticed():
    ours = dealer()
    hand = hand_of(*to_sixth(ours))
    hand.up[2] = (*hand.up[2][:-1], hand.up[5][0])
    with pytest.raises(AssertionError, match="a card is there twice"):
        ours.check(hand)


def test_a_hand_that_lost_a_card_is_noticed():
    ours = dealer()
    hand = hand_of(*to_sixth(ours))
    hand.up[2] = hand.up[2][:-1]
    with pytest.raises(AssertionError, match="lost or made up"):
        ours.check(hand)


def test_a_card_that_nobody_dealt_is_noticed():
    ours = dealer()
    hand = hand_of(*to_sixth(ours))
    hand.up[2] = (*hand.up[2][:-1], ours.card_at[9])
    with pytest.raises(AssertionError, match="lost or made up"):
        ours.check(hand)


def test_a_box_that_it_did_not_seal_cannot_be_opened():
    with pytest.raises(KeyError):
        dealer().open((DownCard(2, 0, b"box????"),))


def test_the_answer_says_whose_cards_they_are():
    first, fourth, *_ = to_sixth(dealer(up={2: "2c 3c"}))
    assert first.up[0] == UpCard(2, parse_card("2c"))
    assert fourth.up[0] == UpCard(2, parse_card("3c"))
    assert (first.hand_no, first.deal_no, fourth.deal_no) == (1, 1, 2)
