"""One answer for one question: what the dealer decides, what he recognises as done, what he refuses."""

import msgspec
import pytest

from stud_core.clear_deck import ClearDeck
from stud_core.deck import (
    Closed,
    Deck,
    Resealed,
    Stub,
    decide_closed,
    decide_opened,
    decide_stacked,
    evolve,
)
from stud_core.deck_events import (
    DeckAudited,
    DeckAwaited,
    DeckCardsDealt,
    DeckClosed,
    DeckCommitted,
    DeckEvent,
    HandOutcome,
    LogRef,
    SealedSeed,
)
from stud_core.events import DealMode, HandEnded, HandVoided, TableOpened
from stud_core.presets import PLAYNOW, table_config
from stud_core.rejection import Rejection
from tests.support.dealing import CLEAR, DECK_STREAM, Dealing, committed, deck_ref, ref, request, street

FOR_REFEREE = Resealed(SealedSeed("referee-00000000", b"resealed"))


def ended(hand_no: int = 1) -> HandEnded:
    return HandEnded(hand_no, 1, (), (), 0)


def voided(hand_no: int = 1) -> HandVoided:
    return HandVoided(hand_no, 1, (), "test", "op")


def opened(currency: str = "EUR", *, stacked: bool = False) -> TableOpened:
    return TableOpened(table_config(PLAYNOW, table_id="t-1", currency=currency, stacked=stacked))


def close(
    deck: Deck, end: HandEnded | HandVoided, table: LogRef, version: int = 5, sealed: Resealed = FOR_REFEREE
) -> list[DeckEvent] | Rejection:
    return decide_closed(deck, end, table, deck_ref(version), lambda: sealed, committed)


def reason(made: list[DeckEvent] | Rejection) -> str:
    assert isinstance(made, Rejection)
    return made.reason


def never() -> Resealed:
    raise AssertionError("nothing was to be opened")


# Opening


def test_a_new_table_gets_a_deck():
    assert decide_opened(Deck(), opened(), committed) == [committed(1)]


def test_a_rehearsal_table_waits_for_its_deck():
    assert decide_opened(Deck(), opened("XTS", stacked=True), committed) == [DeckAwaited(1, "XTS")]
    deck = evolve(Deck(), DeckAwaited(1, "XTS"), 1)
    assert (deck.stacked, deck.awaited, deck.hand_no, deck.running) == (True, 1, 0, False)


def test_decks_are_not_stacked_for_money():
    assert reason(decide_opened(Deck(), opened("EUR", stacked=True), committed)) == "STACKED_NOT_ALLOWED"


def test_an_opened_table_is_not_opened_again():
    for events in ([committed(1)], [DeckAwaited(1, "XTS")]):
        deck = evolve(Deck(), events[0], 1)
        assert decide_opened(deck, opened(), committed) == []


# Stacking


def test_the_awaited_deck_can_be_stacked():
    deck = evolve(Deck(), DeckAwaited(1, "XTS"), 1)
    assert decide_stacked(deck, 1, lambda hand: committed(hand, stacked=True)) == [committed(1, stacked=True)]


def test_what_cannot_be_stacked():
    waiting = evolve(Deck(), DeckAwaited(1, "XTS"), 1)
    fixed = evolve(waiting, committed(1, stacked=True), 2)
    shuffled = evolve(Deck(), committed(1), 1)
    assert reason(decide_stacked(Deck(), 1, committed)) == "UNKNOWN_TABLE"
    assert reason(decide_stacked(shuffled, 2, committed)) == "STACKED_DECKS_OFF"
    assert reason(decide_stacked(fixed, 1, committed)) == "DECK_ALREADY_COMMITTED"
    assert reason(decide_stacked(fixed, 2, committed)) == "HAND_RUNNING"
    assert reason(decide_stacked(waiting, 2, committed)) == "HAND_RUNNING"


def test_a_stacked_table_waits_again_after_each_hand():
    deck = evolve(evolve(Deck(), DeckAwaited(1, "XTS"), 1), committed(1, stacked=True), 2)
    made = close(deck, ended(), ref(40, 1), 2)
    assert isinstance(made, list)
    assert [type(event) for event in made] == [DeckClosed]
    deck = evolve(deck, made[0], 3)
    assert (deck.awaited, deck.hand_no, deck.running) == (2, 1, False)
    assert decide_stacked(deck, 2, committed) == [committed(2)]
    deck = evolve(deck, committed(2, stacked=True), 4)
    assert (deck.awaited, deck.hand_no, deck.running) == (0, 2, True)


# Dealing


def test_the_same_request_again_changes_nothing():
    dealing = Dealing()
    dealing.answer(street(3, (1, 2)))
    dealing.answer(street(4, (1, 2)))
    assert dealing.decide(street(3, (1, 2)), 10) == []
    assert dealing.decide(street(4, (1, 2)), 20) == []


def test_the_same_question_in_another_commit_gets_the_same_answer():
    dealing = Dealing()
    first = dealing.answer(street(3, (1, 2)))[-1]
    dealing.answer(street(4, (1, 2), burn=True))
    before = dealing.deck
    again = dealing.decide(street(3, (1, 2)), 11)
    assert isinstance(first, DeckCardsDealt)
    assert again == [msgspec.structs.replace(first, request=ref(11))]
    dealing.fold(again)
    assert dealing.deck.stub == before.stub
    assert [answer.positions for answer in dealing.deck.answers] == [answer.positions for answer in before.answers]
    assert dealing.decide(street(3, (1, 2)), 11) == []


@pytest.mark.parametrize("version", [20, 21])
@pytest.mark.parametrize(
    "changed",
    [
        street(4, (1, 2), burn=True),
        street(4, (2, 1)),
        street(4, (1,)),
        street(4, (1, 2, 3)),
        request(2, (1, 2), DealMode.RECYCLE),
        msgspec.structs.replace(street(4, (1, 2)), street=5),
    ],
)
def test_another_question_under_an_answered_number_is_refused(version: int, changed: object):
    """From the same commit or another one: there is never a second deal."""
    dealing = Dealing()
    dealing.answer(street(3, (1, 2)))
    dealing.answer(street(4, (1, 2)))
    assert isinstance(changed, type(street(4, (1, 2))))
    assert reason(dealing.decide(changed, version)) == "REQUEST_CHANGED"


def test_deals_come_one_after_the_other():
    dealing = Dealing()
    assert reason(dealing.decide(street(4, (1, 2)), 10)) == "DEAL_SKIPPED"
    assert reason(dealing.decide(request(0, (1, 2)), 10)) == "DEAL_SKIPPED"
    for number in range(3, 8):
        dealing.answer(street(number, (1, 2)))
    assert reason(dealing.decide(request(6, (1, 2)), 60)) == "IMPOSSIBLE_DEAL"


def test_there_is_no_deal_without_a_deck():
    assert reason(Dealing().decide(street(3, (1, 2), hand_no=2), 10)) == "NO_DECK"


def test_a_deal_of_a_hand_that_is_over():
    dealing = Dealing()
    dealing.answer(street(3, (1, 2)))
    made = close(dealing.deck, voided(), ref(40, 1))
    assert isinstance(made, list)
    dealing.fold(made)
    # From before the end: it was read again. From after it: the table contradicts itself.
    assert dealing.decide(street(3, (1, 2)), 10) == []
    assert reason(dealing.decide(street(4, (1, 2)), 41)) == "HAND_OVER"


# Closing


@pytest.mark.parametrize(("end", "outcome"), [(ended(), HandOutcome.ENDED), (voided(), HandOutcome.VOIDED)])
def test_a_hand_is_closed_and_the_next_deck_committed_to(end: HandEnded | HandVoided, outcome: HandOutcome):
    dealing = Dealing()
    dealing.answer(street(3, (1, 2)))
    made = close(dealing.deck, end, ref(40, 1), 2)
    whole_range = LogRef(DECK_STREAM, 1, 2, (2).to_bytes(32, "big"))
    assert made == [
        DeckClosed(1, outcome, ref(40, 1), whole_range, FOR_REFEREE.seed, b""),
        committed(2),
    ]
    dealing.fold(made)
    deck = dealing.deck
    assert (deck.hand_no, deck.running, deck.closed_hand) == (2, True, 1)
    assert deck.closed == Closed(1, outcome, ref(40, 1))
    assert (deck.stub, deck.answers, deck.root) == (Stub(), (), b"")


def test_ranges_of_the_deck_log_follow_each_other():
    deck = evolve(Deck(), committed(1), 1)
    ranges = []
    for hand_no, version in ((1, 4), (2, 9), (3, 10)):
        made = close(deck, ended(hand_no), ref(100 * hand_no, 100 * (hand_no - 1) + 1), version - 1)
        assert isinstance(made, list)
        assert isinstance(made[0], DeckClosed)
        ranges.append((made[0].deck.from_version, made[0].deck.to_version))
        for event in made:
            deck = evolve(deck, event, version)
    assert ranges == [(1, 3), (4, 8), (9, 9)]


def closed_once() -> Deck:
    dealing = Dealing()
    made = close(dealing.deck, ended(), ref(40, 1), 1)
    assert isinstance(made, list)
    dealing.fold(made)
    return dealing.deck


def test_an_end_that_comes_again_changes_nothing():
    deck = closed_once()
    assert decide_closed(deck, ended(), ref(40, 1), deck_ref(9), never, committed) == []


@pytest.mark.parametrize(
    ("end", "table"), [(voided(), ref(40, 1)), (ended(), ref(41, 1)), (ended(), ref(40, 2)), (ended(), ref(39, 1))]
)
def test_an_end_that_changes_is_refused(end: HandEnded | HandVoided, table: LogRef):
    assert reason(close(closed_once(), end, table)) == "END_CHANGED"


def test_the_end_of_a_hand_before_the_last():
    deck = closed_once()
    for event in (DeckClosed(2, HandOutcome.ENDED, ref(80, 41), deck_ref(4), FOR_REFEREE.seed, b""), committed(3)):
        deck = evolve(deck, event, 5)
    assert close(deck, ended(1), ref(40, 1)) == []
    assert reason(close(deck, ended(1), ref(81, 1))) == "HAND_OVER"


def test_there_is_no_end_without_a_deck():
    assert reason(close(Deck(), ended(), ref(40, 1))) == "NO_DECK"
    assert reason(close(closed_once(), ended(3), ref(80, 41))) == "NO_DECK"


def test_a_stacked_order_goes_to_the_referee_with_the_seed():
    deck = evolve(Deck(), committed(1, stacked=True), 1)
    made = close(deck, ended(), ref(40, 1), sealed=Resealed(FOR_REFEREE.seed, b"order"))
    assert isinstance(made, list)
    assert isinstance(made[0], DeckClosed)
    assert made[0].stacked_order == b"order"


# Folding


def test_an_audit_or_a_foreign_event_changes_nothing():
    deck = closed_once()
    assert evolve(deck, DeckAudited(1, "auditor", "a complaint"), 9) == deck
    assert evolve(deck, object(), 9) == deck


def test_a_commitment_keeps_what_is_known_of_the_table():
    deck = closed_once()
    again = evolve(deck, DeckCommitted(2, CLEAR.commitment, FOR_REFEREE.seed, 1, False, b""), 8)
    assert (again.closed, again.range_from, again.seed) == (deck.closed, deck.range_from, FOR_REFEREE.seed)


def test_nothing_in_the_state_shows_a_card():
    """Positions are no secret; what is sealed stays bytes, and the open deck is no part of the state."""
    dealing = Dealing()
    dealing.answer(street(3, (1, 2)))
    kept = msgspec.structs.asdict(dealing.deck)
    assert not any(isinstance(value, ClearDeck) for value in kept.values())
    assert str(list(CLEAR.cards))[1:40] not in repr(dealing.deck)
