"""Holds a deck's log against the table's, and against its own commitments where the hand is over."""

from __future__ import annotations

from stud_cli.inspect.findings import Hand, Verification
from stud_core import deck_events as de
from stud_core import events as ev
from stud_core.clear_deck import ClearDeck, UnknownShuffle
from stud_eventlog import keys
from stud_eventlog.log import EventLog
from stud_service.keyring import Key
from stud_service.sealing import SealError, WrongKey, open_order, open_seed
from stud_wire.commits import decode_commit


async def check_deck(
    log: EventLog, table_id: str, hands: dict[int, Hand], key: Key | None, found: Verification
) -> None:
    """Check every hand's deck. Raises ChainBroken, WireError. Running hands are compared, never opened."""
    committed: dict[int, de.DeckCommitted] = {}
    sealed: dict[int, bytes] = {}
    deals: dict[int, list[de.DeckCardsDealt]] = {}
    decided = {hand.hand_no for hand in hands.values() if hand.resolved_at}
    async for stored in log.read_all(keys.deck_log(keys.shard_of(table_id), table_id)):
        commit = decode_commit(stored.body)
        found.causes.note(commit)
        for event in commit.events:
            if isinstance(event, de.DeckCommitted):
                committed[event.hand_no] = event
            elif isinstance(event, de.DeckSealed):
                sealed[event.hand_no] = event.merkle_root
            elif isinstance(event, de.DeckCardsDealt):
                deals.setdefault(event.hand_no, []).append(event)
            elif isinstance(event, de.DeckClosed) and key is not None and event.hand_no in committed.keys() - decided:
                try:
                    deck = _opened(table_id, event, committed[event.hand_no], key)
                except (SealError, UnknownShuffle) as error:
                    whats = [f"cannot be opened ({type(error).__name__})"]
                    found.decks_of_another_key += isinstance(error, WrongKey)
                else:
                    whats = _prove(deck, committed[event.hand_no], sealed, deals)
                    found.decks_opened += 1
                found.decks_closed += 1
                for what in whats:
                    found.add(table_id, stored.version, f"deck of hand {event.hand_no}: {what}")
    for hand in hands.values():
        if hand.resolved_at:
            continue
        for what in _compare(hand, committed.get(hand.hand_no), deals.get(hand.hand_no, [])):
            found.add(table_id, hand.version, f"hand {hand.hand_no}: {what}")


def _compare(hand: Hand, committed: de.DeckCommitted | None, deals: list[de.DeckCardsDealt]) -> list[str]:
    """The table must have shown exactly what the dealer dealt."""
    problems = []
    if committed is None or (hand.commitment and committed.commitment != hand.commitment):
        problems.append("the table plays another deck than the dealer committed to")
    dealt = {deal.deal_no: deal for deal in deals}
    for seen in hand.deals:
        deal = dealt.get(seen.deal_no)
        if deal is None or (deal.up, deal.down, deal.community) != (seen.up, seen.down, seen.community):
            problems.append(f"deal {seen.deal_no} at the table is not what the dealer dealt")
    positions = [pos for deal in deals for pos in _positions(deal)]
    if len(positions) != len(set(positions)):
        problems.append("a deck position was dealt twice")
    return problems


def _positions(deal: de.DeckCardsDealt) -> list[int]:
    return [*deal.positions, *(card.pos for card in deal.down)]


def _opened(table_id: str, closed: de.DeckClosed, committed: de.DeckCommitted, key: Key) -> ClearDeck:
    """Open a closed hand's deck. Raises SealError, UnknownShuffle."""
    place = (table_id, closed.hand_no, committed.commitment)
    seed = open_seed(key, closed.seed, *place)
    order = open_order(key, closed.stacked_order, *place) if closed.stacked_order else None
    return ClearDeck(table_id, closed.hand_no, seed, order, committed.shuffle_version)


def _prove(
    deck: ClearDeck,
    committed: de.DeckCommitted,
    sealed: dict[int, bytes],
    deals: dict[int, list[de.DeckCardsDealt]],
) -> list[str]:
    """Hold commitment, Merkle root and every open card against a closed hand's deck."""
    hand_no = committed.hand_no
    problems = []
    if deck.commitment != committed.commitment:
        problems.append("the seed is not the committed one")
    if hand_no in sealed and deck.root != sealed[hand_no]:
        problems.append("the Merkle root is not this deck's")
    for deal in deals.get(hand_no, []):
        shown: list[ev.UpCard | int] = [*deal.up] or ([deal.community] if deal.community is not None else [])
        cards = [card.card if isinstance(card, ev.UpCard) else card for card in shown]
        if [deck.cards[pos] for pos in deal.positions] != cards:
            problems.append(f"deal {deal.deal_no} shows other cards than the committed deck holds there")
    return problems
