"""The dealer's deck: which positions a deal takes, and what the log then knows (P12, P18, P26-P36, W20-W21; B.12).

Works on positions 0..51 of a committed deck. Positions are no secret; what lies there is, and comes in from outside
only where a card is turned up (:class:`~stud_core.clear_deck.ClearDeck`) or put into a box (``seal``). Each
``decide_…`` returns the events to write, none when the state says that it was done before (architecture.md, R3), or
a :class:`Rejection`; ``evolve`` never fails on a recorded event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from stud_core.amounts import TEST_CURRENCY
from stud_core.cards import DECK_SIZE
from stud_core.clear_deck import ClearDeck
from stud_core.deck_events import (
    DeckAwaited,
    DeckCardsDealt,
    DeckClosed,
    DeckCommitted,
    DeckEvent,
    DeckSealed,
    HandOutcome,
    LogRef,
    SealedSeed,
)
from stud_core.events import DealMode, DealRequested, DownCard, HandEnded, HandVoided, TableOpened, UpCard
from stud_core.rejection import Rejection

THIRD: Final = 3
RIVER: Final = 7
SEATS: Final = range(1, 9)


class Positions(msgspec.Struct, frozen=True):
    """Deck positions that a deal takes; ``down`` and ``up`` are (seat, position) in the order dealt."""

    burns: tuple[int, ...] = ()
    down: tuple[tuple[int, int], ...] = ()
    up: tuple[tuple[int, int], ...] = ()
    community: int | None = None

    @property
    def dealt(self) -> tuple[int, ...]:
        """Every position that somebody got or all can see."""
        common = () if self.community is None else (self.community,)
        return (*[pos for _, pos in self.down], *[pos for _, pos in self.up], *common)


class Stub(msgspec.Struct, frozen=True):
    """What is left to deal: everything from position ``top`` on, and the burned positions."""

    top: int = 0
    burned: tuple[int, ...] = ()


class Answer(msgspec.Struct, frozen=True):
    """One deal of the running hand: who asked, what they got, and the stub before it."""

    request: LogRef
    positions: Positions
    before: Stub


class Closed(msgspec.Struct, frozen=True):
    """The last hand that is over, and its range of the table's log."""

    hand_no: int
    outcome: HandOutcome
    table: LogRef


class Deck(msgspec.Struct, frozen=True):
    """The decks of one table: the newest one committed to, and where the one before it ended.

    ``hand_no`` 0 = none yet; ``awaited`` = the hand whose deck an operator must stack, 0 = none; ``range_from`` = the
    version with which the newest hand's range of the deck log begins.
    """

    stacked: bool = False
    awaited: int = 0
    hand_no: int = 0
    commitment: bytes = b""
    seed: SealedSeed = SealedSeed("", b"")
    stacked_order: bytes = b""
    shuffle_version: int = 0
    root: bytes = b""
    stub: Stub = Stub()
    answers: tuple[Answer, ...] = ()
    range_from: int = 1
    closed: Closed | None = None

    @property
    def closed_hand(self) -> int:
        """Number of the last hand that is over, 0 = none."""
        return self.closed.hand_no if self.closed is not None else 0

    @property
    def running(self) -> bool:
        """Whether the newest deck is still in use (or waits for its hand to begin)."""
        return self.hand_no > self.closed_hand


NextDeck = Callable[[int], DeckCommitted]
"""Commits to a fresh deck for a hand: the shell draws its seed."""

Seal = Callable[[int, int, int], bytes]
"""(seat, position, card) -> a box that only the card's owner and the table can open."""


class Resealed(msgspec.Struct, frozen=True):
    """A closed hand's seed, and order if it was stacked, sealed for the referee."""

    seed: SealedSeed
    stacked_order: bytes = b""


# --- decide ---------------------------------------------------------------------------------------------------------


def decide_opened(deck: Deck, opened: TableOpened, next_deck: NextDeck) -> list[DeckEvent] | Rejection:
    """A table was opened: commit to its first deck, or wait until somebody stacks it."""
    if deck.hand_no or deck.awaited:
        return []
    config = opened.config
    if not config.stacked:
        return [next_deck(1)]
    if config.currency != TEST_CURRENCY:
        text = f"decks are stacked in currency {TEST_CURRENCY} only, not in {config.currency}"
        return Rejection("STACKED_NOT_ALLOWED", text)
    return [DeckAwaited(1, config.currency)]


def decide_stacked(deck: Deck, hand_no: int, next_deck: NextDeck) -> list[DeckEvent] | Rejection:
    """An operator brings the deck of a rehearsal table's next hand."""
    if not deck.hand_no and not deck.awaited:
        return Rejection("UNKNOWN_TABLE", "the dealer has not heard of this table")
    if not deck.stacked:
        return Rejection("STACKED_DECKS_OFF", "this table plays with shuffled decks")
    if hand_no <= deck.hand_no:
        return Rejection("DECK_ALREADY_COMMITTED", f"the deck of hand {hand_no} is fixed")
    if hand_no != deck.awaited:
        text = f"hand {deck.awaited or deck.hand_no} comes before hand {hand_no} and is not over"
        return Rejection("HAND_RUNNING", text)
    return [next_deck(hand_no)]


def decide_deal(
    deck: Deck, request: DealRequested, ref: LogRef, clear: Callable[[], ClearDeck], seal: Seal
) -> list[DeckEvent] | Rejection:
    """Answer one DealRequested of the commit ``ref``.

    The same request again changes nothing. The same question in another commit is answered again, to the letter;
    a different question under a number already answered is refused. ``clear`` opens the hand's deck, when it is needed.
    """
    if request.hand_no <= deck.closed_hand:
        return _over(deck, ref, f"deal {request.deal_no} of hand {request.hand_no}")
    if request.hand_no != deck.hand_no:
        return Rejection("NO_DECK", f"hand {request.hand_no} has no deck: the newest is that of hand {deck.hand_no}")
    done = len(deck.answers)
    if not 1 <= request.deal_no <= done + 1:
        return Rejection("DEAL_SKIPPED", f"deal {request.deal_no} was asked for, but deal {done + 1} is next")
    answered = deck.answers[request.deal_no - 1] if request.deal_no <= done else None
    opened = clear()
    positions = take(answered.before if answered else deck.stub, request, opened.river_rank)
    if answered is not None:
        if positions != answered.positions:
            text = f"deal {request.deal_no} of hand {request.hand_no} was answered, and is now asked for differently"
            return Rejection("REQUEST_CHANGED", text)
        if ref == answered.request:
            return []
    if isinstance(positions, Rejection):
        return positions
    dealt = _dealt(request, ref, positions, opened, seal)
    if request.deal_no == 1 and answered is None:
        return [DeckSealed(request.hand_no, opened.root), dealt]
    return [dealt]


def decide_closed(
    deck: Deck,
    ended: HandEnded | HandVoided,
    table: LogRef,
    log: LogRef,
    reseal: Callable[[], Resealed],
    next_deck: NextDeck,
) -> list[DeckEvent] | Rejection:
    """The hand is over at the table: open its deck to the referee and commit to the next one.

    ``table`` is the hand's range of the table's log, ``log`` the head of the deck's log (its range is put in here).
    """
    hand_no = ended.hand_no
    outcome = HandOutcome.ENDED if isinstance(ended, HandEnded) else HandOutcome.VOIDED
    if hand_no <= deck.closed_hand:
        if deck.closed == Closed(hand_no, outcome, table):
            return []
        if hand_no == deck.closed_hand:
            return Rejection("END_CHANGED", f"hand {hand_no} was closed, and now ends differently")
        return _over(deck, table, f"the end of hand {hand_no}")
    if hand_no != deck.hand_no:
        return Rejection("NO_DECK", f"hand {hand_no} has no deck: the newest is that of hand {deck.hand_no}")
    sealed = reseal()
    hand_range = LogRef(log.stream, deck.range_from, log.to_version, log.head_hash)
    closed = DeckClosed(hand_no, outcome, table, hand_range, sealed.seed, sealed.stacked_order)
    return [closed] if deck.stacked else [closed, next_deck(hand_no + 1)]


def _over(deck: Deck, ref: LogRef, what: str) -> list[DeckEvent] | Rejection:
    """A message about a hand before the last: read before, or something is wrong with the table's log."""
    if deck.closed is not None and ref.to_version <= deck.closed.table.to_version:
        return []
    return Rejection("HAND_OVER", f"{what} came after hand {deck.closed_hand} was closed")


def _dealt(request: DealRequested, ref: LogRef, positions: Positions, clear: ClearDeck, seal: Seal) -> DeckCardsDealt:
    cards = clear.cards
    common = positions.community
    return DeckCardsDealt(
        hand_no=request.hand_no,
        deal_no=request.deal_no,
        request=ref,
        burns=positions.burns,
        up=tuple([UpCard(seat, cards[pos]) for seat, pos in positions.up]),
        down=tuple([DownCard(seat, pos, seal(seat, pos, cards[pos])) for seat, pos in positions.down]),
        community=None if common is None else cards[common],
        root=clear.root if request.deal_no == 1 else None,
        positions=tuple([pos for _, pos in positions.up]) if common is None else (common,),
    )


# --- which positions ------------------------------------------------------------------------------------------------


def take(stub: Stub, request: DealRequested, river_rank: Sequence[int]) -> Positions | Rejection:
    """Return the positions that a deal takes off the stub; refuses one that no dealer could make."""
    problem = _impossible(request)
    if problem:
        return Rejection("IMPOSSIBLE_DEAL", f"deal {request.deal_no} of hand {request.hand_no}: {problem}")
    match request.mode:
        case DealMode.COMMUNITY:
            return _community(stub, river_rank)
        case DealMode.RECYCLE:
            return _recycled(stub, request.targets, river_rank)
        case DealMode.NORMAL:
            return _from_top(stub, request)


def _impossible(request: DealRequested) -> str:
    if request.street != request.deal_no + 2 or not THIRD <= request.street <= RIVER:
        return f"it is not that of street {request.street}"
    if request.mode is not DealMode.NORMAL and (request.street != RIVER or request.burn):
        return "only the river is dealt from a pool, and without a burn"
    if request.burn and request.street == THIRD:
        return "nothing is burned before third street"
    if request.mode is DealMode.COMMUNITY:
        return ""
    targets = request.targets
    if not targets or len(set(targets)) != len(targets) or any(seat not in SEATS for seat in targets):
        return "its seats are not different ones of 1 to 8"
    return ""


def _from_top(stub: Stub, request: DealRequested) -> Positions | Rejection:
    """Burn, then deal off the top: third street two down and one up to each in turn, the river one down (P12, P18)."""
    targets = request.targets
    downs = {THIRD: 2, RIVER: 1}.get(request.street, 0)
    ups = 0 if request.street == RIVER else 1
    first = stub.top + request.burn
    end = first + (downs + ups) * len(targets)
    if end > DECK_SIZE:
        return Rejection("DECK_TOO_SHORT", f"{end - stub.top} cards were asked for, {DECK_SIZE - stub.top} are left")
    dealt = list(zip(targets * (downs + ups), range(first, end), strict=True))
    split = downs * len(targets)
    return Positions(tuple(range(stub.top, first)), tuple(dealt[:split]), tuple(dealt[split:]))


def _recycled(stub: Stub, targets: Sequence[int], river_rank: Sequence[int]) -> Positions | Rejection:
    """Stub and burns shuffled together, no burn before it (P34). Cards of folded hands are in neither (P36)."""
    pool = sorted([*stub.burned, *range(stub.top, DECK_SIZE)], key=river_rank.__getitem__)
    if len(pool) < len(targets):
        return Rejection("DECK_TOO_SHORT", f"{len(targets)} cards were asked for, {len(pool)} are in the pool")
    return Positions(down=tuple(zip(targets, pool, strict=False)))


def _community(stub: Stub, river_rank: Sequence[int]) -> Positions | Rejection:
    """The burns shuffled, the first turned up (P35); where nothing was burned, the next card of the stub (W21)."""
    if stub.burned:
        return Positions(community=min(stub.burned, key=river_rank.__getitem__))
    if stub.top == DECK_SIZE:
        return Rejection("DECK_TOO_SHORT", "no card is left to turn up")
    return Positions(community=stub.top)


# --- evolve ---------------------------------------------------------------------------------------------------------


def evolve(deck: Deck, event: object, version: int) -> Deck:
    """Fold one event of the deck's log, of the commit ``version``; events of other kinds change nothing."""
    match event:
        case DeckAwaited():
            return msgspec.structs.replace(deck, stacked=True, awaited=event.hand_no)
        case DeckCommitted():
            return _committed(deck, event)
        case DeckSealed():
            return msgspec.structs.replace(deck, root=event.merkle_root)
        case DeckCardsDealt():
            return _cards_dealt(deck, event)
        case DeckClosed():
            closed = Closed(event.hand_no, event.outcome, event.table)
            awaited = event.hand_no + 1 if deck.stacked else 0
            return msgspec.structs.replace(deck, closed=closed, awaited=awaited, range_from=version)
        case _:
            return deck


def _committed(deck: Deck, event: DeckCommitted) -> Deck:
    return Deck(
        stacked=event.stacked,
        hand_no=event.hand_no,
        commitment=event.commitment,
        seed=event.seed,
        stacked_order=event.stacked_order,
        shuffle_version=event.shuffle_version,
        range_from=deck.range_from,
        closed=deck.closed,
    )


def positions_of(event: DeckCardsDealt) -> Positions:
    """Return the positions that a recorded deal took."""
    down = tuple([(card.seat, card.pos) for card in event.down])
    if event.community is not None:
        return Positions(event.burns, down, (), event.positions[0])
    up = tuple([(card.seat, pos) for card, pos in zip(event.up, event.positions, strict=False)])
    return Positions(event.burns, down, up)


def _cards_dealt(deck: Deck, event: DeckCardsDealt) -> Deck:
    if event.deal_no <= len(deck.answers):  # an answer given again: only who asked last is new
        at = event.deal_no - 1
        again = msgspec.structs.replace(deck.answers[at], request=event.request)
        return msgspec.structs.replace(deck, answers=(*deck.answers[:at], again, *deck.answers[at + 1 :]))
    positions = positions_of(event)
    dealt = positions.dealt
    left = tuple([pos for pos in (*deck.stub.burned, *event.burns) if pos not in dealt])
    stub = Stub(max([deck.stub.top, *[pos + 1 for pos in (*dealt, *event.burns)]]), left)
    answer = Answer(event.request, positions, deck.stub)
    return msgspec.structs.replace(deck, answers=(*deck.answers, answer), stub=stub)
