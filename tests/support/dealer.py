"""A dealer around any event log, and tables that say what a table service says: events by hand, the real log's hashes.

``Tables`` writes table logs with their feeds; ``House`` is the dealer's inside without a process, for unit tests.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dealer_service.listening import Listener
from dealer_service.seeds import Seeds
from dealer_service.servicer import DealerServicer
from dealer_service.shoe import CAPACITY, Shoes
from stud_core import events as ev
from stud_core.clear_deck import ClearDeck
from stud_core.deck_events import DeckCardsDealt, DeckClosed, DeckCommitted, LogRef
from stud_core.presets import PLAYNOW, table_config
from stud_eventlog import keys
from stud_eventlog.log import EventLog
from stud_eventlog.types import START, Append, FeedEntry, FeedItem, Head
from stud_service.identity import Caller, set_caller
from stud_service.keyring import KeyRing
from stud_service.runtime import Runtime
from stud_service.sealing import hand_key, open_down, open_order, open_seed
from stud_service.settings import ServiceSettings
from stud_wire.commits import DecodedCommit, Meta, decode_commit, decode_event, encode_commit, encode_event

RING = KeyRing({"dealer": b"D" * 32, "down": b"W" * 32, "referee": b"R" * 32})

FED = (ev.TableOpened, ev.BuyInRequested, ev.DealRequested, ev.HandEnded, ev.HandVoided)


def opened(table: str, currency: str = "EUR", *, stacked: bool = False) -> ev.TableOpened:
    return ev.TableOpened(table_config(PLAYNOW, table_id=table, currency=currency, stacked=stacked))


def started(hand_no: int, targets: Sequence[int] = (1, 2, 3)) -> ev.HandStarted:
    """Accounts are p1, p2, … at seats 1, 2, …"""
    return ev.HandStarted(hand_no, 1, "test", 0, tuple([ev.DealtIn(seat, seat, f"p{seat}", 100) for seat in targets]))


def deal(
    hand_no: int,
    deal_no: int,
    targets: Sequence[int] = (1, 2, 3),
    mode: ev.DealMode = ev.DealMode.NORMAL,
    *,
    burn: bool = False,
) -> ev.DealRequested:
    return ev.DealRequested(hand_no, deal_no, deal_no + 2, mode, burn, tuple(targets))


class Tables:
    """Table logs and their feed, as the table service would write them."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.heads: dict[str, Head] = {}
        self.range_from: dict[str, int] = {}

    async def say(self, table: str, *events: Any) -> Head:
        """One commit; what belongs into the feed is in its outbox."""
        shard = keys.shard_of(table)
        stream, feed = keys.table_log(shard, table), keys.table_feed(shard)
        head = self.heads.get(table, Head())
        body = encode_commit(events, Meta(at_ms=1))
        outbox = tuple(FeedItem(feed, encode_event(event)) for event in events if isinstance(event, FED))
        head = await self.log.append(Append(stream, head.version, head.hash, os.urandom(16), body, outbox))
        self.heads[table] = head
        return head

    async def open(self, table: str, currency: str = "EUR", *, stacked: bool = False) -> Head:
        return await self.say(table, opened(table, currency, stacked=stacked))

    async def end(self, table: str, hand_no: int) -> Head:
        return await self._over(table, lambda first: ev.HandEnded(hand_no, first, (), (), 0))

    async def void(self, table: str, hand_no: int) -> Head:
        return await self._over(table, lambda first: ev.HandVoided(hand_no, first, (), "test", "op"))

    async def _over(self, table: str, make: Callable[[int], Any]) -> Head:
        head = await self.say(table, make(self.range_from.get(table, 1)))
        self.range_from[table] = head.version + 1
        return head

    async def play(self, table: str, hand_no: int, targets: Sequence[int] = (1, 2, 3)) -> Head:
        """All five streets and the end of a hand; burns as in the ruleset playnow."""
        await self.say(table, started(hand_no, targets), deal(hand_no, 1, targets))
        for deal_no in range(2, 6):
            await self.say(table, deal(hand_no, deal_no, targets, burn=True))
        return await self.end(table, hand_no)


class House:
    """The dealer's listener, shoes and servicer; ``read`` does what the feed reader does, without its cursor."""

    def __init__(
        self,
        log: EventLog,
        *,
        ring: KeyRing = RING,
        stacked: bool = True,
        capacity: int = CAPACITY,
        draw: Callable[[], bytes] | None = None,
        wait_s: float = 0.2,
    ) -> None:
        settings = ServiceSettings(allow_stacked_decks=stacked, keys_dir=Path("none"))
        self.log = log
        self.ring = ring
        self.runtime = Runtime("dealer", settings, log, clock=lambda: 1_700_000_000_000)
        self.seeds = Seeds(ring) if draw is None else Seeds(ring, draw)
        self.shoes = Shoes(self.runtime, self.seeds, capacity)
        self.listener = Listener(self.runtime, self.seeds, self.shoes)
        self.servicer = DealerServicer(self.runtime, self.seeds, self.shoes, wait_s)

    async def entries(self, *tables: str) -> list[FeedEntry]:
        feeds = {keys.table_feed(keys.shard_of(table)) for table in tables}
        return [entry for feed in sorted(feeds) for entry in await self.log.read_feeds({feed: START}, 10_000, 0)]

    async def read(self, *tables: str) -> None:
        """Handle everything that the tables ever said, from the start."""
        for table in tables:
            mine = keys.table_log(keys.shard_of(table), table)
            await self.listener.handle([entry for entry in await self.entries(table) if entry.stream == mine])


async def commits(log: EventLog, table: str) -> list[DecodedCommit]:
    """The deck log of a table, its chain checked."""
    stream = keys.deck_log(keys.shard_of(table), table)
    return [decode_commit(stored.body) async for stored in log.read_all(stream)]


async def deck_events(log: EventLog, table: str) -> list[Any]:
    return [event for commit in await commits(log, table) for event in commit.events]


async def told(log: EventLog, table: str) -> list[Any]:
    """What the dealer's feed says about a table."""
    feed, stream = keys.dealer_feed(keys.shard_of(table)), keys.deck_log(keys.shard_of(table), table)
    entries = await log.read_feeds({feed: START}, 10_000, 0)
    return [decode_event(entry.event) for entry in entries if entry.stream == stream]


def opened_by_referee(table: str, closed: DeckClosed, committed: DeckCommitted, ring: KeyRing = RING) -> ClearDeck:
    """What the referee does with a closed deck: he holds no other key."""
    key = ring.key("referee")
    seed = open_seed(key, closed.seed, table, closed.hand_no, committed.commitment)
    order = None
    if committed.stacked:
        order = open_order(key, closed.stacked_order, table, closed.hand_no, committed.commitment)
    return ClearDeck(table, closed.hand_no, seed, order, committed.shuffle_version)


def opened_by_table(table: str, dealt: DeckCardsDealt, commitment: bytes, ring: KeyRing = RING) -> list[int]:
    """What the table's vault does with the down cards of a deal."""
    key = hand_key(ring.key("down"), commitment)
    return [open_down(key, table, dealt.hand_no, card.seat, card.pos, card.sealed) for card in dealt.down]


def as_caller(*roles: str, account: str = "someone") -> None:
    set_caller(Caller(account, frozenset(roles)))


async def table_ref(log: EventLog, table: str, first: int, last: int) -> LogRef:
    """A range of a table's log as it is stored."""
    stream = keys.table_log(keys.shard_of(table), table)
    return LogRef(stream, first, last, (await log.read(stream, after=last - 1, limit=1))[0].hash)
