"""Cards that the dealer sends, and what the table asks for (P12, P18, P26-P36, W20-W21; B.12)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.cards import DECK_SIZE
from stud_core.commands import Context
from stud_core.decide import acting
from stud_core.decide.draft import Answer, Draft
from stud_core.rejection import Reason, Rejection
from stud_core.river import RIVER
from stud_core.state import Hand, Table

_COMMUNITY: Final = ev.DealMode.COMMUNITY


def record_deck(state: Table, command: cmd.RecordDeck, _ctx: Context) -> Answer:
    """The dealer has committed to the deck of the next hand."""
    if command.hand_no <= max(state.hand_no, state.deck_hand_no):
        return Rejection(Reason.ALREADY_DONE, f"the deck of hand {command.hand_no} is known")
    if command.hand_no != state.hand_no + 1:
        text = f"the next hand is {state.hand_no + 1}, not {command.hand_no}"
        return Rejection(Reason.UNEXPECTED_CARDS, text)
    return [ev.DeckReady(command.hand_no, command.commitment)]


def record_cards(state: Table, command: cmd.RecordCards, ctx: Context) -> Answer:
    """The dealer answered a deal: turn the cards up and give the turn, or go on where nobody can bet (B.9)."""
    hand = state.hand
    if command.hand_no <= state.ended_hand:
        return Rejection(Reason.ALREADY_DONE, f"hand {command.hand_no} is over")
    if hand is None or command.hand_no != state.hand_no or hand.hand_no != state.hand_no:
        return Rejection(Reason.UNEXPECTED_CARDS, f"no hand {command.hand_no} is being dealt")
    if hand.deal is None or command.deal_no != hand.deal_no:
        if command.deal_no <= hand.deal_no:
            return Rejection(Reason.ALREADY_DONE, f"deal {command.deal_no} is on the table")
        return Rejection(Reason.UNEXPECTED_CARDS, f"deal {command.deal_no} was not asked for")
    problem = _mismatch(hand, hand.deal, command)
    if problem:
        return Rejection(Reason.UNEXPECTED_CARDS, problem)
    draft = Draft(state, ctx)
    draft.emit(
        ev.CardsDealt(
            command.hand_no,
            command.deal_no,
            hand.deal.street,
            command.up,
            command.down,
            command.community,
            command.root,
        )
    )
    acting.open_betting(draft)
    return draft


def _mismatch(hand: Hand, deal: ev.DealRequested, command: cmd.RecordCards) -> str:
    """What is wrong with the dealer's answer to a request; empty if it is right."""
    targets = list(deal.targets)
    street = deal.street
    if _seats_differ(command.up, targets if street < RIVER else []):
        return "the up cards are not those asked for"
    if _seats_differ(command.down, targets * 2 if street == 3 else targets if street == RIVER else []):
        return "the down cards are not those asked for"
    if (command.community is not None) != (deal.mode is _COMMUNITY):
        return "a community card was missing, or not asked for"
    if (command.root is not None) != (command.deal_no == 1):
        return "the deck's root comes with the first deal and no other"
    cards = [card.card for card in command.up]
    if command.community is not None:
        cards.append(command.community)
    if cards:
        if not 0 <= min(cards) <= max(cards) < DECK_SIZE:
            return "there is no such card"
        cards += chain.from_iterable(hand.up)
        if len(set(cards)) != len(cards):
            return "a card lies on the table already"
    if command.down:
        positions = [box.pos for box in chain(command.down, *hand.down)]
        if len(set(positions)) != len(positions):
            return "a down card comes from a position that was dealt before"
    return ""


def _seats_differ(cards: Sequence[ev.UpCard] | Sequence[ev.DownCard], wanted: list[int]) -> bool:
    """Whether cards go to other seats than wanted; their order does not matter."""
    if not cards:
        return bool(wanted)
    seats = [card.seat for card in cards]
    return seats != wanted and sorted(seats) != sorted(wanted)
