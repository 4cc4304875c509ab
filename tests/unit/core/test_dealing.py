"""Decks and the dealer's answers: the right cards, and all the wrong ones."""

from __future__ import annotations

import msgspec
import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.decide import decide
from stud_core.evolve import evolve
from stud_core.presets import PLAYNOW
from stud_core.rejection import Reason, Rejection
from stud_core.state import Phase
from tests.support.core_table import FREE, kinds, knobs, only
from tests.unit.core.house import House

RULES = knobs(PLAYNOW, **FREE)


def test_decks_come_one_at_a_time():
    house = House(RULES, [1, 2])
    assert house.send(cmd.RecordDeck(1, b"abc")) == [ev.DeckReady(1, b"abc")]
    assert house.state.commitment == b"abc"
    assert house.reject(cmd.RecordDeck(1, b"abc")).reason is Reason.ALREADY_DONE
    assert house.reject(cmd.RecordDeck(2, b"abc")).reason is Reason.UNEXPECTED_CARDS


def dealt(seats: int = 2) -> House:
    """Third street is asked for and has not come."""
    house = House(RULES, range(1, seats + 1))
    house.ready_deck()
    house.send(cmd.StartHand())
    return house


def test_the_right_cards_give_the_turn():
    house = dealt()
    answer = house.answer()
    asked = house.state
    events = house.send(answer)
    assert kinds(events) == ["CardsDealt", "TurnStarted"]
    assert events[0] == ev.CardsDealt(1, 1, 3, answer.up, answer.down, None, b"root")
    turn = only(events, ev.TurnStarted)
    assert (turn.turn_id, turn.seat, turn.to_call, turn.deadline_ms) == (
        house.state.version, 1, 0, house.now_ms + 10_000,
    )  # fmt: skip
    assert house.hand.street == 3
    assert (house.hand.phase, house.hand.counts) == (Phase.BETTING, (2,))
    before_the_turn = evolve(asked, events[:1], house.state.version).running
    assert before_the_turn.phase is Phase.BETTING
    assert (before_the_turn.turn_seat, before_the_turn.aggressor, before_the_turn.pair_holders) == (0, 0, ())
    assert before_the_turn.acted == [False] * 9


UP = "the up cards are not those asked for"
DOWN = "the down cards are not those asked for"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"up": ()}, UP),
        ({"up": (ev.UpCard(1, 9), ev.UpCard(3, 10))}, UP),
        ({"up": (ev.UpCard(1, 9), ev.UpCard(2, 9))}, "a card lies on the table already"),
        ({"up": (ev.UpCard(1, 9), ev.UpCard(2, 52))}, "there is no such card"),
        ({"up": (ev.UpCard(1, -1), ev.UpCard(2, 5))}, "there is no such card"),
        ({"down": ()}, DOWN),
        ({"down": tuple(ev.DownCard(seat, seat, b"") for seat in (1, 2))}, DOWN),
        (
            {"down": tuple(ev.DownCard(seat, 7, b"") for seat in (1, 2, 1, 2))},
            "a down card comes from a position that was dealt before",
        ),
        ({"community": 5}, "a community card was missing, or not asked for"),
        ({"root": None}, "the deck's root comes with the first deal and no other"),
        ({"deal_no": 2}, "deal 2 was not asked for"),
        ({"hand_no": 2}, "no hand 2 is being dealt"),
    ],
)
def test_other_cards_are_refused(change: dict[str, object], text: str):
    house = dealt()
    refusal = house.reject(msgspec.structs.replace(house.answer(), **change))
    assert (refusal.reason, refusal.text) == (Reason.UNEXPECTED_CARDS, text)


def test_the_first_and_the_last_card_of_the_deck_are_cards():
    house = House(RULES, [1, 2], up={1: "2c", 2: "As"})
    house.ready_deck()
    house.send(cmd.StartHand())
    answer = house.answer()
    house.send(msgspec.structs.replace(answer, up=answer.up[::-1]))
    assert (house.hand.up[1], house.hand.up[2]) == ((0,), (51,))


def test_no_card_comes_twice():
    house = dealt()
    first = house.answer()
    house.send(first)
    refusal = house.reject(first)
    assert (refusal.reason, refusal.text) == (Reason.ALREADY_DONE, "deal 1 is on the table")
    house.act(1, "bring_in")
    house.send(house.command("call"))
    answer = house.answer()
    again = (ev.UpCard(1, house.hand.up[2][0]), answer.up[1])
    assert house.reject(msgspec.structs.replace(answer, up=again)).reason is Reason.UNEXPECTED_CARDS
    assert house.reject(msgspec.structs.replace(answer, root=b"x")).reason is Reason.UNEXPECTED_CARDS
    assert house.reject(msgspec.structs.replace(answer, down=first.down)).reason is Reason.UNEXPECTED_CARDS
    house.send(answer)


def test_between_two_streets_nobody_has_a_turn_and_nothing_is_bet():
    house = dealt()
    house.deal_on()
    house.act(1, "bring_in")
    house.send(house.command("call"))
    hand = house.hand
    assert (hand.phase, hand.bet, hand.level) == (Phase.DEALING, [0] * 9, 0)
    assert (hand.turn_seat, hand.to_call, hand.deadline_ms, hand.options) == (0, 0, 0, ())


def test_no_position_of_the_deck_is_dealt_twice():
    house = House(RULES, [1, 2])
    house.start()
    house.passive(street=6)
    while house.hand.deal is None:
        house.send(house.command("check"))
    answer = house.answer()
    again = (ev.DownCard(1, house.hand.down[2][0].pos, b""), answer.down[1])
    refusal = house.reject(msgspec.structs.replace(answer, down=again))
    assert refusal.text == "a down card comes from a position that was dealt before"
    house.send(answer)


def test_cards_of_a_voided_hand_are_ignored():
    house = dealt()
    answer = house.answer()
    house.send(cmd.VoidHand(1, "test", "op"))
    assert house.reject(answer).reason is Reason.ALREADY_DONE


def test_cards_without_a_hand():
    house = House(RULES, [1, 2])
    assert house.reject(cmd.RecordCards(1, 1, (), ())).reason is Reason.UNEXPECTED_CARDS
    house.sit(3, auto_post=False)
    house.ready_deck()
    house.send(cmd.StartHand())
    assert house.hand.phase is Phase.ANTES
    assert house.reject(cmd.RecordCards(1, 1, (), ())).reason is Reason.UNEXPECTED_CARDS


def test_nobody_can_bet_so_every_street_is_dealt():
    house = House(RULES, {1: 50, 2: 50, 3: 5_000})
    house.ready_deck()
    house.send(cmd.StartHand())
    for street in (3, 4, 5, 6):
        events = house.send(house.answer())
        assert kinds(events) == ["CardsDealt", "DealRequested"]
        assert house.hand.street == street
    events = house.send(house.answer())
    assert kinds(events)[0] == "CardsDealt"
    assert kinds(events)[-1] == "HandEnded"
    assert house.happened(ev.TurnStarted) == []


def eight_to_the_river(**changes: object) -> House:
    """Sixth street is checked through by eight players; kings of seat 2 and two pair of seat 3 lie open."""
    boards = ["2c 3d 5h 9s", "Kc Kd 2h 3s", "Qc Qd 9h 9d", "4c 6d", "4d 7h", "5c 8s", "6s Td", "7s Jd"]
    house = House(knobs(RULES, **changes), range(1, 9), up=dict(enumerate(boards, 1)), community="Kh")
    house.start()
    house.passive(street=6)
    while house.hand.deal is None:
        house.send(house.command("check"))
    return house


def test_eight_players_share_a_community_card():
    house = eight_to_the_river()
    request = house.hand.deal
    assert request is not None
    assert (request.mode, request.burn, request.targets) == (ev.DealMode.COMMUNITY, False, ())
    answer = house.answer()
    for community in (None, house.hand.up[1][0], 52):
        wrong = msgspec.structs.replace(answer, community=community)
        assert house.reject(wrong).reason is Reason.UNEXPECTED_CARDS
    house.send(answer)
    assert house.hand.first == 2, "three kings with the common card beat two pair"
    house.passive()
    assert house.happened(ev.HandEnded)


def test_nobody_holds_the_community_card():
    house = eight_to_the_river()
    house.deal_on()
    while not (state := house.after(house.command("check"))).wants_showdown:
        house.act(house.hand.turn_seat, "check")
    hand = state.running
    right = {seat: house.clear(hand, seat) for seat in hand.order}
    assert not isinstance(decide(state, cmd.Showdown(right), house.ctx()), Rejection)
    assert hand.community is not None
    refusal = decide(state, cmd.Showdown(right | {1: (right[1][0], hand.community)}), house.ctx())
    assert isinstance(refusal, Rejection)
    assert refusal.text == "a card is there twice"


def test_the_community_card_may_be_left_out_of_the_order():
    house = eight_to_the_river(community_counts_for_first=False)
    house.deal_on()
    assert house.hand.first == 3
