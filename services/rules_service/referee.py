"""The referee at work: from the dealer's notice that a hand is over to a verdict in the log.

See architecture.md, "The end of a hand".

Judging itself is in :mod:`rules_service.judge` and touches nothing; here are the reads before and the append after it.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

import structlog

from rules_service.before_hand import BeforeHand, fold_before, nothing
from rules_service.find_hand import Streams, currency_of
from rules_service.findings import CannotVerify
from rules_service.judge import Case, Judgement, judge, recorded_end
from rules_service.ranges import Broken, read_range
from rules_service.unjudged import Unjudged, fault, reason_of
from rules_service.verdict_check import Known
from rules_service.verdict_log import VerdictLog
from stud.events.v1 import commit_pb2
from stud_core.deck_events import DeckClosed, HandOutcome
from stud_core.verdict_events import Finding, HandDisputed, HandVerified, VerdictEvent
from stud_eventlog import keys
from stud_eventlog.types import EventLogError, FeedEntry
from stud_service.feeds import Poison
from stud_service.keyring import Key
from stud_service.metrics import UNVERIFIED, VERDICTS
from stud_service.runtime import Runtime
from stud_wire.codec import UnknownEventError
from stud_wire.commits import Meta, decode_event, read_event

CAPACITY = 10_000
"""Tables whose base is kept; any other is folded from its log when a hand of it ends."""

log = structlog.get_logger("rules")


def table_of(entry: FeedEntry) -> str | None:
    """Return the table whose hand is over; None for what the referee does not read."""
    message = commit_pb2.Event.FromString(entry.event)
    which = message.WhichOneof("body")
    if which == "deck_closed":
        name = keys.parse_stream(entry.stream)
        return name.table_id if name is not None else None
    if which is None:
        read_event(message)  # raises unless it may be skipped
    return None


class Referee:
    """Judges hands of all tables and keeps where each stood."""

    def __init__(self, runtime: Runtime, key: Key) -> None:
        self._runtime = runtime
        self._key = key
        self._bases: OrderedDict[str, BeforeHand] = OrderedDict()
        self.verdicts = [VerdictLog(shard, runtime) for shard in range(keys.SHARDS)]
        self.waiting = Unjudged(runtime.log, self._is_decided)
        self._said = runtime.meters.counter(VERDICTS)
        runtime.meters.source(lambda: {UNVERIFIED: len(self.waiting.tables)})

    async def load(self) -> None:
        """Fold what was said so far. Raises EventLogError."""
        await asyncio.gather(*[verdicts.load_if_sound() for verdicts in self.verdicts])
        await self.waiting.load()

    async def close(self) -> None:
        await asyncio.gather(*[verdicts.close() for verdicts in self.verdicts])

    def _is_decided(self, table_id: str, hand_no: int) -> bool:
        return hand_no <= self.verdicts[keys.shard_of(table_id)].book.table(table_id).final_hand

    async def handle(self, entries: Sequence[FeedEntry]) -> None:
        """Judge the finished hands of one table; returns when the verdicts are durable. Raises Poison for a hand that
        must wait.
        """
        for entry in entries:
            closed = decode_event(entry.event)
            name = keys.parse_stream(entry.stream)
            if isinstance(closed, DeckClosed) and name is not None and name.table_id:
                await self._take(Streams.of(name.table_id), closed, (entry.stream, entry.version))

    async def _take(self, streams: Streams, closed: DeckClosed, cause: tuple[str, int]) -> None:
        table_id = streams.table_id
        try:
            await self._settle(streams, closed, cause)
        except CannotVerify as why:
            self.waiting.add(table_id, closed.hand_no, why)
            raise Poison(reason_of(closed.hand_no, why)) from why
        except (EventLogError, OSError, UnknownEventError, Poison):
            raise
        except Exception as bug:
            log.exception("referee_fault", table=table_id, hand_no=closed.hand_no)
            failed = fault(closed.table.stream, bug)
            self.waiting.add(table_id, closed.hand_no, failed)
            raise Poison(reason_of(closed.hand_no, failed)) from bug
        self.waiting.done(table_id, closed.hand_no)

    async def _settle(self, streams: Streams, closed: DeckClosed, cause: tuple[str, int]) -> None:
        """Judge the hand and write the verdict, unless there is one."""
        verdicts = self.verdicts[streams.shard]
        book = (await verdicts.sound()).table(streams.table_id)
        if book.is_judged(closed.hand_no):
            return
        judgement = await self.judge(streams, closed, book.known(), self._bases.pop(streams.table_id, None))
        event = await self._verdict(streams, closed, judgement)
        meta = Meta(self._runtime.clock(), cause=cause, build=self._runtime.build)
        version = await verdicts.write(
            streams.table_id, lambda book: None if book.is_judged(closed.hand_no) else (event, meta)
        )
        if judgement.after is not None:
            self._bases[streams.table_id] = judgement.after
            if len(self._bases) > CAPACITY:
                self._bases.popitem(last=False)
        if version is not None:
            self._said["VERIFIED" if judgement.verified else "DISPUTED"] += 1
        if version is not None and not judgement.verified:
            codes = sorted({finding.code for finding in judgement.findings})
            log.error("disputed", alarm=True, table=streams.table_id, hand_no=closed.hand_no, codes=codes)

    async def judge(
        self, streams: Streams, closed: DeckClosed, known: Known | None, base: BeforeHand | None = None
    ) -> Judgement:
        """Read what the hand left and judge it; raises CannotVerify."""
        upto = closed.table.from_version - 1
        foreign = [
            Finding("WRONG_RANGE", ref.stream, ref.from_version)
            for ref, stream in ((closed.table, streams.table), (closed.deck, streams.deck))
            if ref.stream != stream
        ]
        if foreign:
            return Judgement(tuple(foreign))
        try:
            table, deck = await asyncio.gather(
                read_range(self._runtime.log, closed.table), read_range(self._runtime.log, closed.deck)
            )
        except Broken as why:
            return Judgement((Finding(why.code, why.stream, why.version),))
        if base is None or base.version != upto:
            try:
                base = await fold_before(self._runtime.log, streams.table, upto) if upto else nothing()
            except Broken as why:
                return Judgement((Finding(why.code, why.stream, why.version),), table_ended=recorded_end(table))
        return judge(Case(closed, table, deck, base, known), self._key)

    async def _verdict(self, streams: Streams, closed: DeckClosed, judgement: Judgement) -> VerdictEvent:
        figures = judgement.figures
        build = self._runtime.build
        if judgement.verified and judgement.after is not None:
            currency = judgement.after.state.rules.currency
            postings = figures.deltas if figures is not None else ()
            rake = figures.rake if figures is not None else 0
            refs = (closed.table, closed.deck)
            return HandVerified(
                streams.table_id, closed.hand_no, closed.outcome, currency, *refs, postings, rake, build
            )
        ended = judgement.table_ended
        return HandDisputed(
            table=streams.table_id,
            hand_no=closed.hand_no,
            currency=await currency_of(self._runtime.log, streams.table),
            table_ref=closed.table,
            deck_ref=closed.deck,
            findings=judgement.findings,
            table_postings=ended.deltas if ended is not None else (),
            table_rake=ended.rake if ended is not None else 0,
            referee_postings=figures.deltas if figures is not None else (),
            referee_rake=figures.rake if figures is not None else 0,
            referee_has_figures=figures is not None and closed.outcome is HandOutcome.ENDED,
            build=build,
        )
