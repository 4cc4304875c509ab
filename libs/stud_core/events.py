"""Facts of a table's log, in the past tense; nothing here can be refused.

Every event holds outcomes (cards, amounts, resulting stacks), never an instruction. Field names equal
those of ``stud/events/v1/table_events.proto``, which documents units; the codec relies on it. Seats are
1..8, amounts minor currency units, times milliseconds since the epoch, 0 = no deadline.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import msgspec

from stud_core.ruleset import TableConfig


class Verb(IntEnum):
    """What a player does on a turn. OPEN is opening for the full lower limit instead of the bring-in."""

    FOLD = 1
    CHECK = 2
    CALL = 3
    BRING_IN = 4
    OPEN = 5
    COMPLETE = 6
    BET = 7
    RAISE = 8


class Size(IntEnum):
    """Declared size of a wager: by the lower or by the higher limit."""

    LOW = 1
    HIGH = 2


class By(IntEnum):
    """Who or what made the action."""

    PLAYER = 1
    TIMEOUT = 2
    PRE_ACTION = 3
    LEAVING = 4


class DealMode(IntEnum):
    """Where the cards of a deal come from (B.12)."""

    NORMAL = 1
    RECYCLE = 2
    COMMUNITY = 3


class PromptKind(IntEnum):
    """Why a player is asked to show: they won uncalled (P42) or lost at showdown (P45)."""

    UNCALLED_WINNER = 1
    LOSER = 2


class Engine(IntEnum):
    """What is decided differently from before; a hand is played and judged by the one its antes were opened with.

    FIRST: the button moves after every hand that was started, and preferences are for later questions only.
    SECOND: a hand voided before it has a card leaves the button where it was (B.21), and a preference that is switched
    on answers the question that is open at that moment (P6, P44).
    """

    FIRST = 1
    SECOND = 2


ENGINE: Final = Engine.SECOND
"""The engine with which hands are begun now."""


class OutReason(IntEnum):
    """Why a player sits out."""

    REQUESTED = 1
    MISSED_ACTION = 2
    MISSED_BRING_IN = 3
    MISSED_ANTE = 4
    NO_CHIPS = 5


class Extension(IntEnum):
    """Why a turn has more time."""

    TIME_CHIP = 1
    RECONNECT = 2


class ResolutionChoice(IntEnum):
    """Whose figures settle a disputed hand."""

    TABLE = 1
    REFEREE = 2
    VOID = 3


class E(msgspec.Struct, frozen=True, gc=False):
    """Base of all events; equality is by type and content."""


class Option(E, frozen=True, gc=False):
    """One legal action: ``amount`` chips put in now, ``to`` = the player's total on this street after it."""

    verb: Verb
    amount: int
    to: int
    size: Size | None
    all_in: bool


class DealtIn(E, frozen=True, gc=False):
    """One player of a hand; ``stack`` is what is left behind after the ante, ``time_chips`` what they have for it, None
    where the house has no time bank.
    """

    seat: int
    sitting_no: int
    account: str
    stack: int
    time_chips: int | None = None


class UpCard(E, frozen=True, gc=False):
    seat: int
    card: int


class DownCard(E, frozen=True, gc=False):
    """A sealed card: ``pos`` is its index in the deck, ``sealed`` opaque bytes only a vault can open."""

    seat: int
    pos: int
    sealed: bytes


class SeatStack(E, frozen=True, gc=False):
    seat: int
    sitting_no: int
    stack: int


class Delta(E, frozen=True, gc=False):
    """Net result of a hand for one sitting (sum over all + rake = 0)."""

    sitting_no: int
    account: str
    delta: int


class Share(E, frozen=True, gc=False):
    """Part of a pot; ``stack`` is the winner's stack after it."""

    seat: int
    amount: int
    stack: int


class Refund(E, frozen=True, gc=False):
    """A contribution given back; ``stack`` is the stack after it."""

    seat: int
    amount: int
    stack: int


class TableOpened(E, frozen=True, gc=False):
    config: TableConfig


class Profile(E, frozen=True, gc=False):
    """How a player is called at a table: a public id, a name and the key of a picture (empty: none). Names that look
    alike have the same ``name_key``.
    """

    player: str
    name: str = ""
    avatar: str = ""
    name_key: str = ""


class BuyInRequested(E, frozen=True, gc=False):
    currency: str
    stacked: bool
    sitting_no: int
    seat: int
    account: str
    amount: int
    expires_at_ms: int
    auto_post: bool
    muck_losing: bool
    profile: Profile | None = None


class PlayerSeated(E, frozen=True, gc=False):
    sitting_no: int
    seat: int
    stack: int


class SeatReleased(E, frozen=True, gc=False):
    """A reservation ended without a seat: ``reason`` is a refusal reason's name, ``balance`` the account's where that
    was too small.
    """

    sitting_no: int
    seat: int
    reason: str
    balance: int | None = None


class TopUpRequested(E, frozen=True, gc=False):
    currency: str
    stacked: bool
    sitting_no: int
    top_up_no: int
    account: str
    amount: int


class TopUpPending(E, frozen=True, gc=False):
    sitting_no: int
    top_up_no: int
    amount: int
    pending: int


class TopUpRefused(E, frozen=True, gc=False):
    """``reason`` is a refusal reason's name, ``balance`` the account's where that was too small."""

    sitting_no: int
    top_up_no: int
    reason: str
    balance: int | None = None


class ChipsAdded(E, frozen=True, gc=False):
    sitting_no: int
    seat: int
    amount: int
    pending: int
    stack: int


class SatOut(E, frozen=True, gc=False):
    """``leaves_at_ms``: when the seat is given up if they are not back by then, 0 = by no clock."""

    sitting_no: int
    seat: int
    reason: OutReason
    leaves_at_ms: int = 0


class SatIn(E, frozen=True, gc=False):
    sitting_no: int
    seat: int


class PreferencesSet(E, frozen=True, gc=False):
    sitting_no: int
    seat: int
    auto_post: bool
    muck_losing: bool


class LeaveRequested(E, frozen=True, gc=False):
    """``idle``: not they asked for it, they sat out too long."""

    sitting_no: int
    seat: int
    idle: bool = False


class CashOutRequested(E, frozen=True, gc=False):
    """``claim`` is absent when the sitting never sat (the wallet then pays what its escrow holds). Until
    ``back_until_ms`` the account has to bring the claim back if it sits down here again; 0 = it need not.
    """

    currency: str
    sitting_no: int
    account: str
    claim: int | None
    after_hand: int
    back_until_ms: int = 0


class PlayerLeft(E, frozen=True, gc=False):
    sitting_no: int
    paid: int


class CashOutHeld(E, frozen=True, gc=False):
    sitting_no: int
    reason: str


class WaitingJoined(E, frozen=True, gc=False):
    """Last on the waiting list; ``amount`` is what the account means to sit down with."""

    account: str
    amount: int


class WaitingLeft(E, frozen=True, gc=False):
    """Off the waiting list: by the account's own wish, or because an offer ``expired``."""

    account: str
    expired: bool = False


class SeatOffered(E, frozen=True, gc=False):
    """The seat is the account's to take until then, and nobody else's; said again, with a new time."""

    account: str
    seat: int
    expires_at_ms: int


class DeckReady(E, frozen=True, gc=False):
    hand_no: int
    commitment: bytes


class AntesOpened(E, frozen=True, gc=False):
    """``prompted`` seats must answer until ``deadline_ms``; ``posting`` seats post automatically.

    ``engine`` None is the first one, which did not say so.
    """

    hand_no: int
    prompt_id: int
    deadline_ms: int
    prompted: tuple[int, ...]
    posting: tuple[int, ...]
    engine: Engine | None = None


class AntePosted(E, frozen=True, gc=False):
    hand_no: int
    seat: int
    amount: int
    all_in: bool
    stack: int


class AnteMissed(E, frozen=True, gc=False):
    hand_no: int
    seat: int


class AntesReturned(E, frozen=True, gc=False):
    hand_no: int
    refunds: tuple[Refund, ...]
    reason: str


class HandStarted(E, frozen=True, gc=False):
    """``button`` is 0 with a fixed dealer; ``dealt_in`` stands in deal order."""

    hand_no: int
    rules_version: int
    build: str
    button: int
    dealt_in: tuple[DealtIn, ...]


class DealRequested(E, frozen=True, gc=False):
    hand_no: int
    deal_no: int
    street: int
    mode: DealMode
    burn: bool
    targets: tuple[int, ...]


class CardsDealt(E, frozen=True, gc=False):
    """``root`` (deck Merkle root) comes with deal 1 only."""

    hand_no: int
    deal_no: int
    street: int
    up: tuple[UpCard, ...]
    down: tuple[DownCard, ...]
    community: int | None
    root: bytes | None


class TurnStarted(E, frozen=True, gc=False):
    """``turn_id`` is the version of the commit that gives the turn."""

    turn_id: int
    seat: int
    to_call: int
    deadline_ms: int
    options: tuple[Option, ...]


class ClockRestarted(E, frozen=True, gc=False):
    """A fresh full deadline for an open turn, a prompt or a sitting that sits out, after a fault of ours; exactly one
    of the three is set.
    """

    turn_id: int | None
    prompt_id: int | None
    deadline_ms: int
    reason: str
    sitting_no: int | None = None


class ClockExtended(E, frozen=True, gc=False):
    """The open turn has until ``deadline_ms``; ``time_chips`` is what its player has left."""

    turn_id: int
    seat: int
    deadline_ms: int
    reason: Extension
    time_chips: int


class ActionTaken(E, frozen=True, gc=False):
    """``counts``: a full wager, one step towards the cap, reopens the betting (B.7, B.8)."""

    turn_id: int
    seat: int
    verb: Verb
    amount: int
    to: int
    size: Size | None
    all_in: bool
    counts: bool
    stack: int
    by: By


class UncalledReturned(E, frozen=True, gc=False):
    seat: int
    amount: int
    stack: int


class ShowPrompted(E, frozen=True, gc=False):
    prompt_id: int
    seat: int
    kind: PromptKind
    deadline_ms: int


class HandShown(E, frozen=True, gc=False):
    """``cards`` are the down cards; ``rank`` 1 (royal flush) … 7462, 0 when nothing was ranked."""

    seat: int
    cards: tuple[int, ...]
    rank: int


class HandMucked(E, frozen=True, gc=False):
    seat: int


class PotAwarded(E, frozen=True, gc=False):
    """``pot_no`` 0 is the main pot; ``amount`` includes ``rake``."""

    pot_no: int
    amount: int
    rake: int
    shares: tuple[Share, ...]


class HandEnded(E, frozen=True, gc=False):
    """``from_version``: the version after the previous HandEnded/HandVoided, so that ranges tile the log."""

    hand_no: int
    from_version: int
    stacks: tuple[SeatStack, ...]
    deltas: tuple[Delta, ...]
    rake: int


class HandVoided(E, frozen=True, gc=False):
    hand_no: int
    from_version: int
    refunds: tuple[Refund, ...]
    reason: str
    operator: str


class TableHandVerified(E, frozen=True, gc=False):
    """The verdict as this table read it; opens the gate for the next hand (architecture.md, R4)."""

    hand_no: int
    verdict_version: int


class TableHandDisputed(E, frozen=True, gc=False):
    hand_no: int
    verdict_version: int
    findings: tuple[str, ...]


class TableHandResolved(E, frozen=True, gc=False):
    hand_no: int
    verdict_version: int
    choice: ResolutionChoice
    stacks: tuple[SeatStack, ...]


class TablePaused(E, frozen=True, gc=False):
    reason: str
    operator: str


class TableResumed(E, frozen=True, gc=False):
    """``reason``: what the system had paused for, if only that is over."""

    operator: str
    reason: str = ""


class TableDraining(E, frozen=True, gc=False):
    operator: str


class TableClosing(E, frozen=True, gc=False):
    operator: str


class TableClosed(E, frozen=True, gc=False):
    pass


Event = (
    TableOpened
    | BuyInRequested
    | PlayerSeated
    | SeatReleased
    | TopUpRequested
    | TopUpPending
    | TopUpRefused
    | ChipsAdded
    | SatOut
    | SatIn
    | PreferencesSet
    | LeaveRequested
    | CashOutRequested
    | PlayerLeft
    | CashOutHeld
    | WaitingJoined
    | WaitingLeft
    | SeatOffered
    | DeckReady
    | AntesOpened
    | AntePosted
    | AnteMissed
    | AntesReturned
    | HandStarted
    | DealRequested
    | CardsDealt
    | TurnStarted
    | ClockRestarted
    | ClockExtended
    | ActionTaken
    | UncalledReturned
    | ShowPrompted
    | HandShown
    | HandMucked
    | PotAwarded
    | HandEnded
    | HandVoided
    | TableHandVerified
    | TableHandDisputed
    | TableHandResolved
    | TablePaused
    | TableResumed
    | TableDraining
    | TableClosing
    | TableClosed
)
