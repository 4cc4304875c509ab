"""Who sits where, and those who watch themselves: each is told of their own sittings over all tables, and of nothing
else.

Nobody has a queue: of what changes while somebody reads, each table waits once, and is told as it is by then. On the
hot path stands one look at whether anybody at the table watches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from stud.table.v1 import table_service_pb2 as pb
from stud_core.events import (
    BuyInRequested,
    CashOutRequested,
    Event,
    PlayerLeft,
    SeatReleased,
    WaitingJoined,
    WaitingLeft,
)
from stud_core.state import Waiter
from stud_service.refusals import Refused
from stud_service.runtime import Runtime
from table_service.actor import TableActor
from table_service.house_messages import HouseMessages
from table_service.me import Facts, facts_of, my_sitting
from table_service.private_views import place_view, waiting_place

COMES_OR_GOES = frozenset({BuyInRequested, SeatReleased, CashOutRequested, PlayerLeft, WaitingJoined, WaitingLeft})
"""Events with which a sitting, or the wait for one, begins or is over."""

Write = Callable[[pb.WatchMeResponse], Awaitable[None]]
Place = tuple[int, Waiter]
"""On a waiting list: the position, and what is kept for whoever has it."""


class _Stream:
    """One who watches: what they were told last of each table, where that may have changed, and what was paid when the
    sitting that they know of was over.
    """

    def __init__(self) -> None:
        self.told: dict[str, Facts] = {}
        self.places: dict[str, Place] = {}
        self.changed: dict[str, None] = {}
        self.paid: dict[str, int] = {}
        self.last_no = 0
        self.news = asyncio.Event()
        self.why: Refused | None = None

    def look(self, table_id: str, facts: Facts | None, place: Place | None, paid: Mapping[int, int]) -> None:
        """Note how sitting and place at a table are now; ``paid`` has what sittings were paid that are over."""
        before = self.told.get(table_id)
        if before is not None and before.sitting_no in paid:
            self.paid[table_id] = paid[before.sitting_no]
        if facts == before and place == self.places.get(table_id):
            self.changed.pop(table_id, None)
        else:
            self.changed[table_id] = None
            self.news.set()


class People:
    """Of one process."""

    def __init__(self, runtime: Runtime, find: Callable[[str], TableActor | None]) -> None:
        self.messages = HouseMessages()
        self._clock = runtime.clock
        self._find = find
        self._at: dict[str, frozenset[str]] = {}
        self._tables: dict[str, set[str]] = {}
        self._streams: dict[str, set[_Stream]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._streams.values()))

    def tables_of(self, account: str) -> list[str]:
        """Return the ids of the tables where an account has a sitting that is not over, or waits for one."""
        return sorted(self._tables.get(account, ()))

    def watching(self, account: str) -> bool:
        """Whether an account watches itself now."""
        return account in self._streams

    # ------------------------------------------------------------ what happens

    def note(self, actor: TableActor, events: Sequence[Event] | None) -> None:
        """A table has moved by these events (None: by whatever, empty: by something that is no event)."""
        gone: frozenset[str] = frozenset()
        if events is None or not COMES_OR_GOES.isdisjoint(map(type, events)):
            gone = self._index(actor)
        if not self._streams:
            return
        paid = {event.sitting_no: event.paid for event in events or () if isinstance(event, PlayerLeft)}
        for account in self._at.get(actor.table_id, gone) | gone:
            if account in self._streams:
                facts, place = _facts(actor, account), waiting_place(actor.table, account)
                for stream in self._streams[account]:
                    stream.look(actor.table_id, facts, place, paid)

    def _index(self, actor: TableActor) -> frozenset[str]:
        """Note who has a sitting at a table, or waits for one; return those who do not any more."""
        table_id = actor.table_id
        table = actor.table
        now = frozenset([s.account for s in table.sittings.values()] + [w.account for w in table.waiting])
        before = self._at.pop(table_id, frozenset())
        if now:
            self._at[table_id] = now
        for account in now - before:
            self._tables.setdefault(account, set()).add(table_id)
        for account in before - now:
            self._tables[account].discard(table_id)
            if not self._tables[account]:
                del self._tables[account]
        return before - now

    def mail(self, accounts: Sequence[str], table: str, text: str, keep_ms: int) -> int:
        """Send a message from the house, and return its number."""
        number = self.messages.send(accounts, table, text, self._clock(), keep_ms)
        for account in accounts:
            for stream in self._streams.get(account, ()):
                stream.news.set()
        return number

    def finish(self, why: Refused) -> None:
        """End every stream with a refusal."""
        for streams in self._streams.values():
            for stream in streams:
                stream.why = why
                stream.news.set()

    # ------------------------------------------------------------ what is told

    def everything(self, account: str) -> pb.GetMeResponse:
        """Return all that there is to tell an account."""
        answer = pb.GetMeResponse(messages=self.messages.of(account, self._clock()), sent_at_ms=self._clock())
        for table_id in self.tables_of(account):
            actor = self._find(table_id)
            facts = None if actor is None else _facts(actor, account)
            if actor is not None and facts is not None:
                answer.sittings.append(my_sitting(actor.table, facts))
            place = None if actor is None else waiting_place(actor.table, account)
            if actor is not None and place is not None:
                answer.waiting.append(_my_waiting(actor, place))
        return answer

    async def serve(self, account: str, write: Write) -> None:
        """Tell an account all, then what changes, until they go away. Raises Refused(STOPPING)."""
        stream = _Stream()
        self._streams.setdefault(account, set()).add(stream)
        stream.changed = dict.fromkeys(self.tables_of(account))
        try:
            await write(self._news(stream, account, first=True))
            while True:
                await stream.news.wait()
                if stream.why is not None:
                    raise stream.why
                news = self._news(stream, account)
                if news.sittings or news.over or news.messages or news.waiting or news.waits_no_more:
                    await write(news)
        finally:
            self._streams[account].discard(stream)
            if not self._streams[account]:
                del self._streams[account]

    def _news(self, stream: _Stream, account: str, *, first: bool = False) -> pb.WatchMeResponse:
        """Return what was not told yet, as it is now."""
        stream.news.clear()
        now_ms = self._clock()
        messages = self.messages.of(account, now_ms, stream.last_no)
        news = pb.WatchMeResponse(reset=first, messages=messages, sent_at_ms=now_ms)
        if news.messages:
            stream.last_no = news.messages[-1].message_no
        changed, stream.changed = stream.changed, {}
        paid, stream.paid = stream.paid, {}
        for table_id in changed:
            actor = self._find(table_id)
            facts = None if actor is None else _facts(actor, account)
            before = stream.told.pop(table_id, None)
            if before is not None and (facts is None or facts.sitting_no != before.sitting_no):
                news.over.add(table=table_id, sitting_no=before.sitting_no, paid=paid.get(table_id))
            if actor is not None and facts is not None:
                stream.told[table_id] = facts
                if facts != before:
                    news.sittings.append(my_sitting(actor.table, facts))
            self._put_waiting(news, stream, table_id, account)
        return news

    def _put_waiting(self, news: pb.WatchMeResponse, stream: _Stream, table_id: str, account: str) -> None:
        actor, before = self._find(table_id), stream.places.pop(table_id, None)
        place = None if actor is None else waiting_place(actor.table, account)
        if actor is not None and place is not None:
            stream.places[table_id] = place
            if place != before:
                news.waiting.append(_my_waiting(actor, place))
        elif before is not None:
            news.waits_no_more.append(table_id)


def _facts(actor: TableActor, account: str) -> Facts | None:
    """Return what an account is told of a table; None where it has no sitting there."""
    sitting = actor.table.of(account)
    if sitting is None:
        return None
    return facts_of(actor.table, sitting, actor.stands_for, is_due=actor.ahead.is_due(account))


def _my_waiting(actor: TableActor, place: Place) -> pb.MyWaiting:
    config = actor.table.rules
    return pb.MyWaiting(
        table=config.table_id, table_name=config.name, currency=config.currency, place=place_view(*place)
    )
