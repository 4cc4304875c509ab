"""Checks a deck's log against the table's, and, where the hand is over and there is a key, against its commitment.

How a deck is opened and what must be true of it is for the referee to say (`rules_service.deck_check`). Which card the
rules give to whom is not looked at: that was judged when the hand was.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from rules_service.deck_check import DeckBook, open_deck, same_commitment, shows_the_deck
from rules_service.findings import CannotVerify, Code, Obstacle
from stud_cli.inspect.findings import Hand, Verification
from stud_core import deck_events as de
from stud_core.ruleset import TableConfig
from stud_eventlog import keys
from stud_eventlog.log import CommitLog
from stud_service.keyring import Key
from stud_wire.commits import decode_commit

_SAID: Final = {
    Code.WRONG_RANGE: "it was not committed to exactly once",
    Code.STACKED_DECK: "a stacked deck at a table that may not have one",
    Code.WRONG_COMMITMENT: "the seed is not the committed one",
    Code.WRONG_ROOT: "the Merkle root is not this deck's",
}


async def check_decks(
    log: CommitLog,
    table_id: str,
    config: TableConfig | None,
    hands: dict[int, Hand],
    key: Key | None,
    found: Verification,
) -> None:
    """Check every hand's deck. Raises ChainBroken, WireError. Running hands are compared, never opened, and none is
    opened without the key or where nothing is left of the table (``config`` None).
    """
    books: dict[int, DeckBook] = defaultdict(DeckBook)
    decided = {hand.hand_no for hand in hands.values() if hand.resolved_at}
    async for stored in log.read_all(keys.deck_log(keys.shard_of(table_id), table_id)):
        commit = decode_commit(stored.body)
        found.causes.note(commit)
        for event in commit.events:
            if isinstance(event, de.DeckCommitted | de.DeckSealed | de.DeckCardsDealt):
                books[event.hand_no].note(event, stored.version)
            elif isinstance(event, de.DeckClosed) and key and config and event.hand_no not in decided:
                for version, what in _proven(config, event, books[event.hand_no], key, stored.version, found):
                    found.add(table_id, version, f"deck of hand {event.hand_no}: {what}")
    for hand in hands.values():
        if not hand.resolved_at:
            for what in _compared(hand, books[hand.hand_no]):
                found.add(table_id, hand.version, f"hand {hand.hand_no}: {what}")


def _proven(
    config: TableConfig, closed: de.DeckClosed, book: DeckBook, key: Key, at: int, found: Verification
) -> Iterator[tuple[int, str]]:
    """Open a closed hand's deck and count it; yield the version that something is wrong with, and what."""
    found.decks_closed += 1
    try:
        deck, faults = open_deck(key, config, closed, book)
    except CannotVerify as why:
        found.decks_of_another_key += why.obstacle is Obstacle.WRONG_KEY
        yield at, f"cannot be opened ({why.obstacle})"
        return
    found.decks_opened += 1
    for code, version in faults:
        yield version, _SAID[code]
    if deck is None:
        return
    for deal_no, dealt in sorted(book.deals.items()):
        if not shows_the_deck(dealt, deck):
            yield book.at[deal_no], f"deal {deal_no} shows other cards than the committed deck holds there"


def _compared(hand: Hand, book: DeckBook) -> Iterator[str]:
    """The table must have shown exactly what the dealer dealt."""
    if not book.committed or (hand.ready and not same_commitment(hand.ready, book)):
        yield "the table plays another deck than the dealer committed to"
    for seen in hand.deals:
        deal = book.deals.get(seen.deal_no)
        if deal is None or (deal.up, deal.down, deal.community) != (seen.up, seen.down, seen.community):
            yield f"deal {seen.deal_no} at the table is not what the dealer dealt"
    if book.repeated:
        yield "a deal was answered twice, differently"
    positions = [pos for deal in book.deals.values() for pos in (*deal.positions, *(card.pos for card in deal.down))]
    if len(positions) != len(set(positions)):
        yield "a deck position was dealt twice"
