"""Whether the dealer dealt the deck it had committed to: commitment, order, root, every position.

See architecture.md, "The deck".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Self

from rules_service.findings import CannotVerify, Code, Obstacle
from rules_service.redecide import Recorded
from rules_service.second_opinion.dealing import DECK, Deck
from rules_service.second_opinion.sheet import Sheet
from stud_core.amounts import TEST_CURRENCY
from stud_core.clear_deck import ClearDeck, UnknownShuffle
from stud_core.deck_events import DeckCardsDealt, DeckClosed, DeckCommitted, DeckSealed
from stud_core.events import DeckReady
from stud_core.ruleset import TableConfig
from stud_service.keyring import Key
from stud_service.sealing import BrokenBox, WrongKey, open_order, open_seed

Finding = tuple[Code, int]
"""A code and the version of the deck's log it concerns."""


class DeckBook:
    """What a deck's log says about one hand."""

    def __init__(self) -> None:
        self.committed: list[tuple[DeckCommitted, int]] = []
        self.sealed: list[tuple[DeckSealed, int]] = []
        self.deals: dict[int, DeckCardsDealt] = {}
        self.at: dict[int, int] = {}  # version of each deal
        self.repeated: list[int] = []  # versions of answers that differ from an earlier one to the same request

    @classmethod
    def of_hand(cls, commits: Sequence[Recorded], hand_no: int) -> Self:
        """Return what some commits say of a hand."""
        book = cls()
        for commit in commits:
            for event in commit.events:
                if getattr(event, "hand_no", 0) == hand_no:
                    book.note(event, commit.version)
        return book

    def note(self, event: object, version: int) -> None:
        """Take in an event of the hand."""
        if isinstance(event, DeckCommitted):
            self.committed.append((event, version))
        elif isinstance(event, DeckSealed):
            self.sealed.append((event, version))
        elif isinstance(event, DeckCardsDealt):
            known = self.deals.setdefault(event.deal_no, event)
            self.at.setdefault(event.deal_no, version)
            if known != event:
                self.repeated.append(version)


def open_deck(key: Key, config: TableConfig, closed: DeckClosed, book: DeckBook) -> tuple[Deck | None, list[Finding]]:
    """Open the committed deck with the referee's key.

    Returns no deck where it is not the committed one; raises CannotVerify where the referee cannot know.
    """
    stream = closed.deck.stream
    if len(book.committed) != 1:
        return None, [(Code.WRONG_RANGE, closed.deck.from_version)]
    committed, version = book.committed[0]
    if committed.stacked != config.stacked or (committed.stacked and config.currency != TEST_CURRENCY):
        return None, [(Code.STACKED_DECK, version)]
    place = (config.table_id, closed.hand_no)
    try:
        seed = open_seed(key, closed.seed, *place, committed.commitment)
        stacked = open_order(key, closed.stacked_order, *place, committed.commitment) if committed.stacked else None
        clear = ClearDeck(*place, seed, stacked, committed.shuffle_version)
    except UnknownShuffle as why:
        raise CannotVerify(Obstacle.UNKNOWN_SHUFFLE, stream, version, str(why)) from None
    except WrongKey as why:
        raise CannotVerify(Obstacle.WRONG_KEY, stream, version, str(why)) from None
    except BrokenBox as why:
        raise CannotVerify(Obstacle.BROKEN_BOX, stream, version, str(why)) from None
    if clear.commitment != committed.commitment:
        return None, [(Code.WRONG_COMMITMENT, version)]
    return Deck(clear.cards, clear.river_rank), list(_check_root(clear, book))


def _check_root(clear: ClearDeck, book: DeckBook) -> Iterator[Finding]:
    """The root was logged with the first cards, once, and is that of this deck."""
    if not book.deals and not book.sealed:
        return
    version = book.sealed[0][1] if book.sealed else book.at[min(book.at)]
    first = book.deals.get(1)
    roots = [event.merkle_root for event, _ in book.sealed]
    right = roots == [clear.root] and first is not None and first.root == clear.root and book.at[1] == version
    if not right:
        yield Code.WRONG_ROOT, version


def same_commitment(ready: Sequence[DeckReady], book: DeckBook) -> bool:
    """Whether the table recorded the commitment that the deck's log holds, before it asked for antes."""
    return [event.commitment for event in ready] == [event.commitment for event, _ in book.committed]


def shows_the_deck(dealt: DeckCardsDealt, deck: Deck) -> bool:
    """Whether the cards that a deal shows are those that the committed deck has at the positions it names."""
    common = () if dealt.community is None else (dealt.community,)
    shown = [*(up.card for up in dealt.up), *common]
    return all(position < DECK for position in dealt.positions) and shown == [deck.order[p] for p in dealt.positions]


def check_deals(
    sheet: Sheet, book: DeckBook, stream: str, hashes: Mapping[int, bytes], *, complete: bool
) -> Iterator[Finding]:
    """Check every answer of the dealer against the request that caused it and the walk through the deck.

    ``hashes`` are the table's head hashes by version. ``complete`` False: the table's log went astray, so later deals
    cannot be checked against anything.
    """
    for version in book.repeated:
        yield Code.EARLY_DEAL, version
    for deal_no, dealt in sorted(book.deals.items()):
        version = book.at[deal_no]
        asked = sheet.requested.get(deal_no)
        if asked is None:
            if complete:
                yield Code.EARLY_DEAL, version
            continue
        request = dealt.request
        if (request.stream, request.to_version, request.head_hash) != (stream, asked, hashes.get(asked)):
            yield Code.EARLY_DEAL, version
        taken = sheet.walk[deal_no]
        if dealt.burns != taken.burns:
            yield Code.WRONG_BURN, version
        if not _is_the_walk(dealt, sheet, deal_no):
            yield Code.WRONG_CARD, version


def _is_the_walk(dealt: DeckCardsDealt, sheet: Sheet, deal_no: int) -> bool:
    taken = sheet.walk[deal_no]
    positions = tuple([pos for _, pos in taken.up]) if taken.community is None else (taken.community,)
    return (
        [c.seat for c in dealt.up] == [seat for seat, _ in taken.up]
        and tuple([(c.seat, c.pos) for c in dealt.down]) == taken.down
        and dealt.positions == positions
        and (dealt.community is None) == (taken.community is None)
        and shows_the_deck(dealt, sheet.deck)
    )
