"""ResolveHand: two operators decide a hand that the referee disputes, or can never judge.

See architecture.md, "A dispute".
"""

from __future__ import annotations

from contextlib import suppress

import msgspec

from rules_service.find_hand import Streams, Trace, currency_of, exists, trace
from rules_service.findings import CannotVerify
from rules_service.referee import Referee
from rules_service.verdicts import TableVerdicts
from stud_core.deck_events import DeckClosed
from stud_core.events import Delta, HandEnded, ResolutionChoice, SeatStack
from stud_core.remembered import name_of
from stud_core.verdict_events import HandResolved, ResolutionProposed, VerdictEvent
from stud_eventlog.types import EventLogError
from stud_service.interests import Interests
from stud_service.refusals import Refused
from stud_service.runtime import Runtime
from stud_wire.commits import Meta, digest


class Request(msgspec.Struct, frozen=True):
    """What an operator asks for."""

    table_id: str
    hand_no: int
    choice: ResolutionChoice
    reason: str
    operator: str
    request_id: str

    @property
    def digest(self) -> bytes:
        """Its content, by which a repeated request_id is recognised."""
        parts = (self.table_id, str(self.hand_no), self.choice.name, self.reason)
        return digest([part.encode() for part in parts])


class Answer(msgspec.Struct, frozen=True):
    """Whether it is final, and the version in the verdict log."""

    decided: bool
    version: int


class _Settlement(msgspec.Struct, frozen=True):
    postings: tuple[Delta, ...] = ()
    rake: int = 0
    stacks: tuple[SeatStack, ...] = ()


class Resolver:
    """Takes decisions about hands."""

    def __init__(self, runtime: Runtime, referee: Referee) -> None:
        self._runtime = runtime
        self._referee = referee
        self._interests = Interests(runtime.log)

    async def resolve(self, request: Request) -> Answer:
        """Propose or decide. Raises Refused; a refused request writes nothing."""
        streams = Streams.of(request.table_id)
        verdicts = self._referee.verdicts[streams.shard]
        book = (await verdicts.for_callers()).table(request.table_id)
        repeated = _repeated(book, request)
        if repeated is not None:
            return repeated
        await self._interested(request, book)
        _refuse_decided(book, request)
        found = await self._over(streams, request, book)
        settlement = await self._settlement(streams, request, found)
        currency = await currency_of(self._runtime.log, streams.table)
        if not currency:
            raise Refused("UNKNOWN_TABLE", "the table's log tells no currency: its data must be restored first")
        interested = await self._interested(request, book)  # again: judging takes long enough to sit down
        meta = Meta(
            self._runtime.clock(), request.operator, request.request_id, request.digest, build=self._runtime.build
        )

        answer: list[Answer] = []

        def make(book: TableVerdicts) -> tuple[VerdictEvent, Meta] | None:
            repeated = _repeated(book, request)
            if repeated is not None:
                answer.append(repeated)
                return None
            _refuse_decided(book, request)
            return _event(book, request, settlement, currency, interested), meta

        version = await verdicts.write(request.table_id, make)
        if version is None:
            return answer[-1]
        decided = verdicts.book.table(request.table_id).final_version == version
        if decided:
            await self._forget(request)
        return Answer(decided, version)

    async def _interested(self, request: Request, book: TableVerdicts) -> frozenset[str]:
        """Return who has an interest in the hand; refuses an operator who is one of them.

        With a damaged log the disputed figures, too, say who was in the hand.
        """
        players = await self._interests.of_hand(request.table_id, request.hand_no)
        if book.disputed is not None and book.disputed.hand_no == request.hand_no:
            figures = (*book.disputed.table_postings, *book.disputed.referee_postings)
            players |= {delta.account for delta in figures}
        if request.operator in players:
            text = f"you sit at table {request.table_id} or were dealt into hand {request.hand_no}"
            raise Refused("OWN_INTEREST", f"{text}: another operator must do it")
        return players

    async def _over(self, streams: Streams, request: Request, book: TableVerdicts) -> Trace:
        """Find the hand's end; only what is over can be decided about."""
        if not (await exists(self._runtime.log, streams.table) or await exists(self._runtime.log, streams.deck)):
            raise Refused("UNKNOWN_TABLE", f"there is no table {request.table_id}")
        found = await trace(self._runtime.log, streams, request.hand_no)
        if not found.is_over:
            if found.begun:
                raise Refused("HAND_NOT_ENDED", f"hand {request.hand_no} is neither ended nor voided")
            raise Refused("UNKNOWN_HAND", f"table {request.table_id} has no hand {request.hand_no}")
        if request.hand_no != book.final_hand + 1:
            # Settled strictly in order: deciding this one first would leave the other without a verdict for ever.
            raise Refused("HAND_NOT_ENDED", f"hand {book.final_hand + 1} has no final verdict yet: decide it first")
        return found

    async def _settlement(self, streams: Streams, request: Request, found: Trace) -> _Settlement:
        if request.choice is ResolutionChoice.TABLE:
            if found.end is None:
                raise Refused("NO_REFEREE_FIGURES", "the table's figures are not in its log any more: choose VOID")
            if isinstance(found.end, HandEnded):
                return _Settlement(found.end.deltas, found.end.rake, found.end.stacks)
            return _Settlement()
        if request.choice is ResolutionChoice.REFEREE:
            return await self._referees_figures(streams, found.closed)
        return _Settlement()

    async def _referees_figures(self, streams: Streams, closed: DeckClosed | None) -> _Settlement:
        try:
            judgement = None if closed is None else await self._referee.judge(streams, closed, known=None)
        except CannotVerify as why:
            raise Refused("NO_REFEREE_FIGURES", f"the hand cannot be judged: {why.obstacle}") from None
        if judgement is None or judgement.figures is None:
            raise Refused("NO_REFEREE_FIGURES", "the referee has no figures for this hand: choose TABLE or VOID")
        figures = judgement.figures
        return _Settlement(figures.deltas, figures.rake, figures.stacks)

    async def _forget(self, request: Request) -> None:
        """The hand is decided: whatever waits for its verification need not wait any more."""
        waiting = self._referee.waiting
        with suppress(EventLogError):  # else it still waits there, and is asked for again
            await waiting.retry(request.table_id)
            waiting.done(request.table_id, request.hand_no)


def _repeated(book: TableVerdicts, request: Request) -> Answer | None:
    """The first answer to a repeated request; refuses the same id with other content."""
    first = book.answered.get(name_of(request.operator, request.request_id))
    if first is None:
        return None
    if not first.repeats(request.digest):
        raise Refused("REQUEST_ID_REUSED", "this request_id was used for something else", field="request_id")
    return Answer(bool(first.number), first.version)


def _refuse_decided(book: TableVerdicts, request: Request) -> None:
    if request.hand_no <= book.final_hand:
        raise Refused("ALREADY_DECIDED", f"hand {request.hand_no} has a final verdict")


def _event(
    book: TableVerdicts, request: Request, settlement: _Settlement, currency: str, interested: frozenset[str]
) -> VerdictEvent:
    first = book.proposal
    if (
        first is None
        or (first.hand_no, first.choice) != (request.hand_no, request.choice)
        or first.operator in interested
    ):
        # Another choice is a new proposal, which replaces the one before; one by somebody with an interest never
        # counted.
        return ResolutionProposed(request.table_id, request.hand_no, request.choice, request.operator, request.reason)
    if first.operator == request.operator:
        raise Refused(
            "SECOND_OPERATOR_REQUIRED", "you proposed this yourself: another operator must make the same call"
        )
    return HandResolved(
        table=request.table_id,
        hand_no=request.hand_no,
        currency=currency,
        choice=request.choice,
        postings=settlement.postings,
        rake=settlement.rake,
        stacks=settlement.stacks,
        operators=(first.operator, request.operator),
        reason=_reasons(first, request),
    )


def _reasons(first: ResolutionProposed, request: Request) -> str:
    return first.reason if first.reason == request.reason else f"{first.reason} / {request.reason}"
