"""Imperatives a table may refuse. Accounts come from the caller's identity, never from a request.

Commands named ``Record…`` bring a fact of another service; they are idempotent by the numbers in the
table's state (architecture.md, R3): one that was already recorded is refused with ALREADY_DONE.
"""

from __future__ import annotations

import msgspec

from stud_core.events import ENGINE, DownCard, Engine, Profile, ResolutionChoice, SeatStack, Size, UpCard, Verb
from stud_core.ruleset import TableConfig


class C(msgspec.Struct, frozen=True, gc=False):
    """Base of all commands."""


class OpenTable(C, frozen=True, gc=False):
    config: TableConfig
    operator: str = ""


class TakeSeat(C, frozen=True, gc=False):
    """``seat`` None = any free seat; preferences None = the ruleset's default."""

    account: str
    seat: int | None
    amount: int
    auto_post: bool | None = None
    muck_losing: bool | None = None
    profile: Profile | None = None


class RecordFunding(C, frozen=True, gc=False):
    sitting_no: int
    amount: int


class RecordFundingDeclined(C, frozen=True, gc=False):
    """``balance``: the account's, where that was too small."""

    sitting_no: int
    reason: str
    balance: int | None = None


class AddChips(C, frozen=True, gc=False):
    account: str
    amount: int


class RecordTopUp(C, frozen=True, gc=False):
    sitting_no: int
    top_up_no: int
    amount: int


class RecordTopUpDeclined(C, frozen=True, gc=False):
    """``balance``: the account's, where that was too small."""

    sitting_no: int
    top_up_no: int
    reason: str
    balance: int | None = None


class SitOut(C, frozen=True, gc=False):
    account: str


class SitIn(C, frozen=True, gc=False):
    account: str


class SetPreferences(C, frozen=True, gc=False):
    """None leaves a preference as it is."""

    account: str
    auto_post: bool | None = None
    muck_losing: bool | None = None


class LeaveSeat(C, frozen=True, gc=False):
    account: str


class JoinWaitingList(C, frozen=True, gc=False):
    """``amount``: what the account means to sit down with."""

    account: str
    amount: int


class LeaveWaitingList(C, frozen=True, gc=False):
    account: str


class RecordCashOut(C, frozen=True, gc=False):
    sitting_no: int
    amount: int


class RecordCashOutBlocked(C, frozen=True, gc=False):
    sitting_no: int
    reason: str


class RecordSettlement(C, frozen=True, gc=False):
    """The ledger has booked the hand whose settlement was blocked."""


class RecordDeck(C, frozen=True, gc=False):
    hand_no: int
    commitment: bytes


class StartHand(C, frozen=True, gc=False):
    """Open the antes when the gate is open (architecture.md, "A hand"); otherwise refused with HAND_NOT_STARTABLE."""


class PostAnte(C, frozen=True, gc=False):
    """Answer the ante prompt; ``post`` False declines (sits out)."""

    account: str
    prompt_id: int
    post: bool = True


class RecordCards(C, frozen=True, gc=False):
    hand_no: int
    deal_no: int
    up: tuple[UpCard, ...]
    down: tuple[DownCard, ...]
    community: int | None = None
    root: bytes | None = None


class Act(C, frozen=True, gc=False):
    """``to`` None = the only legal amount of that verb (and size); otherwise it must match exactly."""

    account: str
    turn_id: int
    verb: Verb
    to: int | None = None
    size: Size | None = None
    by_pre_action: bool = False


class UseTimeChip(C, frozen=True, gc=False):
    """Take longer over one's turn, for a chip of the time bank."""

    account: str
    turn_id: int


class ProtectTurn(C, frozen=True, gc=False):
    """The table's own: the clock of this turn has run out, and its player's connection is lost."""

    turn_id: int


class Showdown(C, frozen=True, gc=False):
    """Clear down cards of every live seat, opened by the shell's vault; only legal when ``state.wants_showdown``."""

    cards: dict[int, tuple[int, ...]]


class ChooseShow(C, frozen=True, gc=False):
    """Answer a show prompt; ``cards`` are the seat's clear down cards (needed when ``show``)."""

    account: str
    prompt_id: int
    show: bool
    cards: tuple[int, ...] = ()


class Tick(C, frozen=True, gc=False):
    """Take every timeout due at ``ctx.now_ms``: turn, ante and show prompts, seat reservations."""


class RestartClocks(C, frozen=True, gc=False):
    """Give the open turn and every open prompt a fresh full deadline."""

    reason: str


class RecordVerdict(C, frozen=True, gc=False):
    hand_no: int
    verdict_version: int


class RecordDispute(C, frozen=True, gc=False):
    hand_no: int
    verdict_version: int
    findings: tuple[str, ...]


class RecordResolution(C, frozen=True, gc=False):
    """``stacks`` empty for a void: everybody gets back what they had before the hand."""

    hand_no: int
    verdict_version: int
    choice: ResolutionChoice
    stacks: tuple[SeatStack, ...]


class PauseTable(C, frozen=True, gc=False):
    reason: str
    operator: str


class ResumeTable(C, frozen=True, gc=False):
    """With a ``reason`` only a pause for that reason ends."""

    operator: str
    reason: str = ""


class DrainTable(C, frozen=True, gc=False):
    operator: str


class CloseTable(C, frozen=True, gc=False):
    operator: str


class VoidHand(C, frozen=True, gc=False):
    hand_no: int
    reason: str
    operator: str


class Context(msgspec.Struct, frozen=True, gc=False):
    """What the shell knows and the core must not ask for: time and the version of the commit being made.

    ``engine`` is for a hand that begins; one that runs has its own. One other than today's is for judging past hands.
    """

    now_ms: int
    version: int
    build: str = "dev"
    engine: Engine = ENGINE


Command = (
    OpenTable
    | TakeSeat
    | RecordFunding
    | RecordFundingDeclined
    | AddChips
    | RecordTopUp
    | RecordTopUpDeclined
    | SitOut
    | SitIn
    | SetPreferences
    | LeaveSeat
    | JoinWaitingList
    | LeaveWaitingList
    | RecordCashOut
    | RecordCashOutBlocked
    | RecordSettlement
    | RecordDeck
    | StartHand
    | PostAnte
    | RecordCards
    | Act
    | UseTimeChip
    | ProtectTurn
    | Showdown
    | ChooseShow
    | Tick
    | RestartClocks
    | RecordVerdict
    | RecordDispute
    | RecordResolution
    | PauseTable
    | ResumeTable
    | DrainTable
    | CloseTable
    | VoidHand
)
