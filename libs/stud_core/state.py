"""What a table is, folded from its log.

Seats index lists of length 9 (index 0 unused). A state is never changed after ``evolve`` returned it:
``evolve`` works on a copy. Down cards are sealed boxes; nothing here can open them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Self

import msgspec

from stud_core.events import (
    ActionTaken,
    DealRequested,
    DealtIn,
    DownCard,
    Engine,
    Option,
    OutReason,
    PotAwarded,
    Profile,
    PromptKind,
    Refund,
    UncalledReturned,
)
from stud_core.pots import Pot, build_pots
from stud_core.ruleset import TableConfig


class Life(IntEnum):
    """A table's life (architecture.md, "The life of a table")."""

    OPEN = 1
    DRAINING = 2
    CLOSING = 3
    CLOSED = 4


class Sit(IntEnum):
    """A sitting's life; it is removed from the state when final."""

    RESERVED = 1
    SEATED = 2
    LEAVING = 3
    CASHING_OUT = 4
    HELD = 5


DISPUTED = "HAND_DISPUTED"
"""Reason of a pause that a disputed hand caused, and that its resolution ends."""

SETTLEMENT_BLOCKED = "SETTLEMENT_BLOCKED"
"""Reason of a pause that the ledger caused, and that it ends when it has booked the hand."""

DEALER_SILENT = "DEALER_SILENT"
"""Reason of a pause that missing cards caused, and that the table ends when they have come or the hand is over."""

CASH_OUT_BLOCKED = "CASH_OUT_BLOCKED"
"""Reason of a pause that a held cash-out caused, and that its payment ends."""


NOT_CONSERVED = "NOT_CONSERVED"
"""Reason of a pause that a decision caused which would have made or lost chips."""

SYSTEM_PAUSES = frozenset({DISPUTED, SETTLEMENT_BLOCKED, CASH_OUT_BLOCKED, DEALER_SILENT, NOT_CONSERVED})
"""Words that only the system uses. An operator's pause has other words, so that nothing but an operator ends it."""


class Phase(IntEnum):
    """What the running hand waits for."""

    ANTES = 1
    DEALING = 2
    BETTING = 3
    SHOWDOWN = 4  # only inside a commit: the shell must follow with a Showdown command
    SHOW_PROMPTS = 5


class S(msgspec.Struct, gc=False):
    """Base of the mutable parts; they form no cycles, so the garbage collector need not look at them."""

    if TYPE_CHECKING:

        def __copy__(self) -> Self: ...  # a shallow copy; msgspec has it in C and its stubs omit it


class Sitting(S, gc=False):
    """One account at one seat, from reservation to cash-out.

    ``pending`` is funded but not playable; ``top_up_no`` counts requests, ``top_up_open`` is the amount of
    the one awaiting the wallet (0 none); ``last_hand`` the last hand dealt in (0 none). Of the last top-up there
    are ``top_up_amount``, why it was refused (empty: it was not), and the balance where that was too small.
    While a player sits out ``out_until_ms`` is when their seat is given up (0 = by no clock), and ``hands_missed``
    counts the hands that were started without them.
    ``hands_played`` counts those it was dealt into, ``time_chips`` what its time bank still has.
    A RESERVED sitting holds its seat; a CASHING_OUT or HELD one has already freed it (``seat`` is then history).
    """

    sitting_no: int
    seat: int
    account: str
    status: Sit
    stack: int
    buy_in: int
    expires_at_ms: int
    auto_post: bool
    muck_losing: bool
    sitting_out: bool = False
    out_reason: OutReason | None = None
    out_until_ms: int = 0
    hands_missed: int = 0
    hands_played: int = 0
    time_chips: int = 0
    pending: int = 0
    top_up_no: int = 0
    top_up_open: int = 0
    last_hand: int = 0
    claim: int | None = None
    top_up_amount: int = 0
    top_up_refused: str = ""
    top_up_balance: int | None = None
    profile: Profile | None = None


class Left(msgspec.Struct, frozen=True, gc=False):
    """What an account took along when it left, and until when it has to bring that back."""

    stack: int
    until_ms: int


class Waiter(msgspec.Struct, frozen=True, gc=False):
    """An account on the waiting list: what it means to sit down with, and the seat that is offered to it (0 = none)
    until ``expires_at_ms``.
    """

    account: str
    amount: int
    seat: int = 0
    expires_at_ms: int = 0


class Prompt(msgspec.Struct, frozen=True, gc=False):
    """An open question to one seat; ``kind`` None is an ante prompt."""

    prompt_id: int
    seat: int
    deadline_ms: int
    kind: PromptKind | None = None


class Hand(S, gc=False):
    """The running hand. ``order`` is deal order; lists are by seat.

    ``bet`` is this street's total, ``paid`` the whole hand's (ante included, uncalled returned) and
    ``awarded`` what the pots have paid out of it, rake included. While antes are collected ``live`` says
    who has posted. ``acted`` means: since the last full wager, so they may no longer raise (B.8).
    ``taken`` is what each did last, and on which street. ``full_level`` is the level of the last full wager; until
    there is one it is the bring-in on third street and 0 later. ``first`` is
    who acts first or, where nobody can bet, who would have. ``extended_ms`` is what the open turn was given beyond its
    clock, ``protected`` the seats that had more time in this hand because their connection was lost.
    """

    hand_no: int
    phase: Phase
    from_version: int
    engine: Engine = Engine.FIRST
    street: int = 0
    deal_no: int = 0
    button: int = 0
    order: tuple[int, ...] = ()
    dealt_in: tuple[DealtIn, ...] = ()
    profiles: tuple[Profile | None, ...] = ()  # of those dealt in, who may leave before the hand is forgotten
    live: list[bool] = msgspec.field(default_factory=lambda: [False] * 9)
    all_in: list[bool] = msgspec.field(default_factory=lambda: [False] * 9)
    acted: list[bool] = msgspec.field(default_factory=lambda: [False] * 9)
    bet: list[int] = msgspec.field(default_factory=lambda: [0] * 9)
    paid: list[int] = msgspec.field(default_factory=lambda: [0] * 9)
    start: list[int] = msgspec.field(default_factory=lambda: [0] * 9)
    up: list[tuple[int, ...]] = msgspec.field(default_factory=lambda: [()] * 9)
    down: list[tuple[DownCard, ...]] = msgspec.field(default_factory=lambda: [()] * 9)
    shown: list[tuple[int, ...]] = msgspec.field(default_factory=lambda: [()] * 9)
    community: int | None = None
    counts: tuple[int, ...] = ()  # players dealt a card on third, fourth … street
    deal: DealRequested | None = None  # the open request, until its cards come
    # betting round
    level: int = 0
    full_level: int = 0
    wagers: int = 0
    locked: bool = False
    pair_option: bool = False
    pair_holders: tuple[int, ...] = ()
    uncapped: bool = False
    first: int = 0  # who acts first on this street
    aggressor: int = 0  # last to bet, complete or raise on this street
    turn_id: int = 0
    turn_seat: int = 0
    to_call: int = 0
    deadline_ms: int = 0
    extended_ms: int = 0
    protected: tuple[int, ...] = ()
    options: tuple[Option, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    awarded: int = 0
    rake: int = 0
    taken: list[tuple[int, ActionTaken] | None] = msgspec.field(default_factory=lambda: [None] * 9)
    # how it ended, for anybody who wants to see it
    uncalled: tuple[UncalledReturned, ...] = ()
    ranks: list[int] = msgspec.field(default_factory=lambda: [0] * 9)
    paid_pots: tuple[PotAwarded, ...] = ()
    refunds: tuple[Refund, ...] | None = None  # what a void gave back; None = it was not voided

    @property
    def pots(self) -> tuple[Pot, ...]:
        """The pots as they would be if this round ended now, main pot first; none once they are paid."""
        return () if self.awarded else build_pots(self.paid, self.live)


class Table(S, gc=False):
    """The whole table. ``version`` is that of the last commit folded in."""

    config: TableConfig | None = None
    version: int = 0
    life: Life = Life.OPEN
    paused: str = ""  # reason, empty when running
    parked: str = ""  # why a message could not be handled, empty when none is parked
    settlement_blocked: bool = False  # whether the ledger could not book a hand
    sittings: dict[int, Sitting] = msgspec.field(default_factory=dict)
    seats: list[int] = msgspec.field(default_factory=lambda: [0] * 9)  # sitting_no by seat, 0 = free
    next_sitting_no: int = 1
    hand: Hand | None = None
    last_hand: Hand | None = None  # how the last one ended, until the next antes
    hand_no: int = 0  # last hand that was started (HandStarted)
    deck_hand_no: int = 0  # hand for which the deck is ready
    commitment: bytes = b""
    button: int = 0
    dealt_button: int = 0  # that of the last hand in which cards were dealt
    from_version: int = 1  # first version of the next hand's range
    ended_hand: int = 0  # last hand ended or voided
    verified_hand: int = 0  # last hand with a final verdict
    disputed_hand: int = 0  # hand in dispute, 0 none
    ended_at_version: int = 0
    hand_start_stacks: tuple[tuple[int, int], ...] = ()  # (sitting_no, stack before the last hand)
    paid_in: int = 0  # bought in and topped up, whole life (conservation)
    paid_out: int = 0
    rake_taken: int = 0
    ended_rake: int = 0  # of it, what the last hand said it took
    waiting: tuple[Waiter, ...] = ()  # the waiting list, whoever waits longest first
    left: dict[str, Left] = msgspec.field(default_factory=dict)  # by account; replaced when it changes

    @property
    def rules(self) -> TableConfig:
        """The table's configuration; LookupError when it was never opened."""
        if self.config is None:
            raise LookupError("this table was never opened")
        return self.config

    @property
    def running(self) -> Hand:
        """The hand being played or anted; LookupError when there is none."""
        if self.hand is None:
            raise LookupError("no hand is running")
        return self.hand

    def at(self, seat: int) -> Sitting:
        """Who holds an occupied seat."""
        return self.sittings[self.seats[seat]]

    def of(self, account: str) -> Sitting | None:
        """The account's sitting that is not final, if any (one per table)."""
        for sitting in self.sittings.values():
            if sitting.account == account:
                return sitting
        return None

    def waiter(self, account: str) -> Waiter | None:
        """The account's place on the waiting list, if any."""
        return next((waiter for waiter in self.waiting if waiter.account == account), None)

    @property
    def standing(self) -> str:
        """Why money keeps a hand from starting, empty when nothing does: no operator resumes over it."""
        if self.disputed_hand:
            return DISPUTED
        if self.settlement_blocked:
            return SETTLEMENT_BLOCKED
        held = any(sitting.status is Sit.HELD for sitting in self.sittings.values())
        return CASH_OUT_BLOCKED if held else ""

    @property
    def stands_for(self) -> str:
        """Why no hand is started; empty when only the gate's own conditions are in the way."""
        if self.parked and self.paused == DEALER_SILENT:
            return self.standing or self.parked  # what the dealer said may be what is parked
        return self.standing or self.paused or self.parked

    @property
    def wants_showdown(self) -> bool:
        """Whether the shell must follow with a ``Showdown`` command in the same commit."""
        return self.hand is not None and self.hand.phase is Phase.SHOWDOWN
