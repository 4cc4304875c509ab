"""Which card goes where: the dealer's part of the rule vectors, and what he refuses."""

import itertools
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stud_core.cards import DECK_SIZE
from stud_core.deck import Positions, Stub, positions_of, take
from stud_core.deck_events import DeckCardsDealt, DeckSealed
from stud_core.events import DealMode, DealRequested
from stud_core.presets import PLAYNOW, WILLIAM_HILL
from stud_core.rejection import Rejection
from stud_core.river import river_plan
from stud_core.ruleset import Ruleset
from tests.support.dealing import CLEAR, Dealing, box, request, street

RANK = CLEAR.river_rank

TUPLES = [
    (third, fourth, fifth, sixth, live)
    for third in range(2, 9)
    for fourth in range(2, third + 1)
    for fifth in range(2, fourth + 1)
    for sixth in range(2, fifth + 1)
    for live in range(2, sixth + 1)
]


def play(ruleset: Ruleset, counts: Sequence[int]) -> Dealing:
    """Deal a whole hand: players 1..n on third street, of whom the last ones fold."""
    dealing = Dealing()
    for number, count in zip(range(3, 7), counts, strict=False):
        dealing.deal(street(number, range(1, count + 1), burn=ruleset.burns and number > 3))
    plan = river_plan(ruleset, counts)
    targets = () if plan.mode is DealMode.COMMUNITY else tuple(range(1, counts[-1] + 1))
    dealing.deal(request(5, targets, plan.mode, burn=plan.burn))
    return dealing


# Vectors


def test_vector_028_third_street_goes_round_three_times_without_a_burn():
    dealt = Dealing().deal(street(3, (2, 5, 7)))
    assert dealt.down == ((2, 0), (5, 1), (7, 2), (2, 3), (5, 4), (7, 5))
    assert dealt.up == ((2, 6), (5, 7), (7, 8))
    assert dealt.burns == ()


def test_vector_029_the_next_hand_is_dealt_in_the_same_order():
    first, second = (Dealing(hand_no).deal(street(3, (2, 5, 7), hand_no=hand_no)) for hand_no in (1, 2))
    assert first == second


def test_vector_030_the_order_is_that_of_the_request():
    dealt = Dealing().deal(street(3, (7, 2, 5)))
    assert dealt.down == ((7, 0), (2, 1), (5, 2), (7, 3), (2, 4), (5, 5))
    assert dealt.up == ((7, 6), (2, 7), (5, 8))


def test_vector_032_a_burn_before_fourth_street():
    dealing = Dealing()
    dealing.deal(street(3, (2, 5, 7)))
    dealt = dealing.deal(street(4, (2, 7), burn=True))
    assert (dealt.burns, dealt.up, dealt.down) == ((9,), ((2, 10), (7, 11)), ())


def test_vector_033_no_burn_where_nothing_is_burned():
    dealing = Dealing()
    dealing.deal(street(3, (7, 2, 5)))
    dealt = dealing.deal(street(4, (7, 2)))
    assert (dealt.burns, dealt.up) == ((), ((7, 9), (2, 10)))


@pytest.mark.parametrize(
    ("number", "counts", "stub", "playnow", "william_hill"),
    [
        # (burned, positions the cards may come from, cards dealt down)
        (96, (2, 2, 2, 2, 2), 37, "normal", "normal"),
        (97, (6, 6, 6, 6, 6), 13, "normal", "normal"),
        (98, (7, 7, 7, 7, 6), 7, "normal", "normal"),
        (99, (7, 7, 7, 7, 7), 7, "recycle", "normal"),
        (100, (8, 8, 8, 8, 2), 1, "recycle", "normal"),
        (101, (8, 8, 8, 8, 4), 1, "recycle", "normal"),
        (102, (8, 8, 8, 8, 5), 1, "community", "community"),
        (103, (8, 8, 8, 8, 8), 1, "community", "community"),
        (104, (8, 8, 8, 7, 5), 2, "recycle", "normal"),
        (105, (8, 8, 8, 7, 6), 2, "community", "community"),
        (106, (8, 8, 7, 7, 6), 3, "recycle", "normal"),
        (107, (8, 8, 7, 7, 7), 3, "community", "community"),
        (108, (8, 7, 7, 7, 7), 4, "recycle", "normal"),
        (109, (8, 7, 6, 6, 6), 6, "recycle", "normal"),
        (110, (8, 8, 8, 5, 5), 4, "recycle", "normal"),
        (111, (8, 6, 6, 6, 6), 7, "normal", "normal"),
    ],
    ids=lambda value: f"vector_{value:03}" if isinstance(value, int) and value > 50 else None,
)
def test_vectors_096_to_111(number: int, counts: tuple[int, ...], stub: int, playnow: str, william_hill: str):
    live = counts[-1]
    for ruleset, expected, left in ((PLAYNOW, playnow, stub), (WILLIAM_HILL, william_hill, stub + 3)):
        dealing = play(ruleset, counts)
        before, river = dealing.stubs[-1], dealing.dealt[-1]
        assert DECK_SIZE - before.top == left
        assert len(before.burned) == (3 if ruleset.burns else 0)
        if expected == "normal":
            first = before.top + ruleset.burns
            assert river.burns == ((before.top,) if ruleset.burns else ())
            assert [pos for _, pos in river.down] == list(range(first, first + live))
        elif expected == "recycle":
            pool = sorted({*before.burned, *range(before.top, DECK_SIZE)}, key=lambda pos: RANK[pos])
            assert river.burns == ()
            assert [pos for _, pos in river.down] == pool[:live]
        else:
            assert (river.burns, river.down, river.up) == ((), (), ())
            burned_first = min(before.burned, key=lambda pos: RANK[pos], default=before.top)
            assert river.community == burned_first


def test_vector_112_all_tuples_of_both_rulesets():
    assert len(TUPLES) == 462
    for ruleset in (PLAYNOW, WILLIAM_HILL):
        for counts in TUPLES:
            river = play(ruleset, counts).dealt[-1]
            assert len(river.down) == counts[-1] or river.community is not None


@pytest.mark.parametrize("ruleset", [PLAYNOW, WILLIAM_HILL], ids=lambda ruleset: ruleset.name)
def test_vector_113_no_card_is_dealt_twice_and_all_52_are_accounted_for(ruleset: Ruleset):
    """What was dealt, also to players who folded, is dealt to nobody else: it is in no pool (P36)."""
    for counts in TUPLES:
        dealing = play(ruleset, counts)
        dealt = [pos for positions in dealing.dealt for pos in positions.dealt]
        assert len(set(dealt)) == len(dealt)
        burned = {pos for positions in dealing.dealt for pos in positions.burns}
        again = set(dealing.dealt[-1].dealt) & burned  # burned cards that the river took up again
        assert burned - again == set(dealing.deck.stub.burned) - again
        # Nothing but the stub and the burns is left, whatever was folded.
        untouched = set(range(DECK_SIZE)) - set(dealt) - burned
        before = dealing.stubs[-1]
        assert untouched <= set(range(before.top, DECK_SIZE))
        assert len(dealt) + len(untouched | (burned - again)) == DECK_SIZE


def test_vector_116_the_same_seed_gives_the_same_river():
    for counts in [(7, 7, 7, 7, 7), (8, 8, 8, 8, 8), (8, 8, 8, 8, 4)]:
        assert play(PLAYNOW, counts).events == play(PLAYNOW, counts).events


# What the answer says


def test_up_cards_are_open_and_down_cards_sealed():
    dealing = Dealing()
    sealed, dealt = dealing.answer(street(3, (2, 5)))
    assert sealed == DeckSealed(1, CLEAR.root)
    assert isinstance(dealt, DeckCardsDealt)
    assert [(card.seat, card.card) for card in dealt.up] == [(2, CLEAR.cards[4]), (5, CLEAR.cards[5])]
    assert dealt.positions == (4, 5)
    assert [(card.seat, card.pos) for card in dealt.down] == [(2, 0), (5, 1), (2, 2), (5, 3)]
    assert [card.sealed for card in dealt.down] == [
        box(card.seat, card.pos, CLEAR.cards[card.pos]) for card in dealt.down
    ]
    assert dealt.root == CLEAR.root
    assert dealt.community is None


def test_the_root_comes_with_the_first_deal_only():
    dealing = Dealing()
    dealing.deal(street(3, (2, 5)))
    (dealt,) = dealing.answer(street(4, (2, 5)))
    assert isinstance(dealt, DeckCardsDealt)
    assert dealt.root is None
    assert dealing.deck.root == CLEAR.root


def test_a_community_card_is_open_and_its_position_told():
    dealing = play(PLAYNOW, (8, 8, 8, 8, 8))
    dealt = dealing.events[-1]
    assert isinstance(dealt, DeckCardsDealt)
    assert dealt.community == CLEAR.cards[dealt.positions[0]]
    assert dealt.positions == (dealing.dealt[-1].community,)


def test_positions_are_read_back_from_what_was_dealt():
    dealing = play(PLAYNOW, (8, 8, 8, 8, 4))
    recorded = [positions_of(event) for event in dealing.events if isinstance(event, DeckCardsDealt)]
    assert recorded == dealing.dealt == [answer.positions for answer in dealing.deck.answers]


# What no dealer could do


def refused(stub: Stub, wanted: DealRequested) -> tuple[str, str]:
    made = take(stub, wanted, RANK)
    assert isinstance(made, Rejection)
    return made.reason, made.text


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (request(0, (1, 2)), "not that of street 2"),
        (request(6, (1, 2)), "not that of street 8"),
        (msgspec.structs.replace(request(2, (1, 2)), street=5), "not that of street 5"),
        (request(1, (1, 2), burn=True), "nothing is burned"),
        (request(2, (1, 2), DealMode.RECYCLE), "only the river"),
        (request(3, (1, 2), DealMode.COMMUNITY), "only the river"),
        (request(5, (1, 2), DealMode.RECYCLE, burn=True), "without a burn"),
        (request(5, (), DealMode.COMMUNITY, burn=True), "without a burn"),
        (request(2, ()), "different ones of 1 to 8"),
        (request(2, (1, 1)), "different ones of 1 to 8"),
        (request(2, (0, 1)), "different ones of 1 to 8"),
        (request(2, (1, 9)), "different ones of 1 to 8"),
    ],
)
def test_impossible_deals_are_refused(wanted: DealRequested, why: str):
    reason, text = refused(Stub(10), wanted)
    assert reason == "IMPOSSIBLE_DEAL"
    assert why in text


@pytest.mark.parametrize(
    ("stub", "wanted"),
    [
        (Stub(51), request(5, (1, 2))),
        (Stub(50), request(5, (1, 2), burn=True)),
        (Stub(52), request(2, (1,))),
        (Stub(51, (3,)), request(5, (1, 2, 3), DealMode.RECYCLE)),
        (Stub(52), request(5, (), DealMode.COMMUNITY)),
    ],
)
def test_a_deck_that_is_too_short_is_said_so(stub: Stub, wanted: DealRequested):
    assert refused(stub, wanted)[0] == "DECK_TOO_SHORT"


@pytest.mark.parametrize(
    ("stub", "wanted", "dealt"),
    [
        (Stub(50), request(5, (1, 2)), {50, 51}),
        (Stub(49), request(5, (1, 2), burn=True), {50, 51}),
        (Stub(51, (3, 9)), request(5, (1, 2, 3), DealMode.RECYCLE), {3, 9, 51}),
        (Stub(52, (3,)), request(5, (), DealMode.COMMUNITY), {3}),
        (Stub(51), request(5, (), DealMode.COMMUNITY), {51}),
    ],
)
def test_the_last_card_can_be_dealt(stub: Stub, wanted: DealRequested, dealt: set[int]):
    made = take(stub, wanted, RANK)
    assert isinstance(made, Positions)
    assert set(made.dealt) == dealt


@given(
    top=st.integers(0, 52),
    burned=st.sets(st.integers(0, 51), max_size=3),
    deal_no=st.integers(-1, 7),
    targets=st.lists(st.integers(-1, 10), max_size=9),
    mode=st.sampled_from(DealMode),
    burn=st.booleans(),
)
def test_any_request_is_answered_or_refused(
    top: int, burned: set[int], deal_no: int, targets: list[int], mode: DealMode, burn: bool
):
    stub = Stub(top, tuple(sorted(pos for pos in burned if pos < top)))
    made = take(stub, request(deal_no, targets, mode, burn=burn), RANK)
    if isinstance(made, Positions):
        taken = (*made.burns, *made.dealt)
        assert len(set(taken)) == len(taken)
        assert all(pos in stub.burned or top <= pos < DECK_SIZE for pos in taken)
        seats = {seat for seat, _ in itertools.chain(made.up, made.down)}
        assert seats == (set() if mode is DealMode.COMMUNITY else set(targets))
