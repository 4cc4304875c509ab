"""Facts of the other services -> commands for a table (architecture.md, R1: one trigger each)."""

from __future__ import annotations

from typing import Any

import msgspec
import structlog

from stud_core import deck_events as de
from stud_core import verdict_events as ve
from stud_core.commands import (
    Command,
    PauseTable,
    RecordCards,
    RecordCashOut,
    RecordCashOutBlocked,
    RecordDeck,
    RecordDispute,
    RecordFunding,
    RecordFundingDeclined,
    RecordResolution,
    RecordSettlement,
    RecordTopUp,
    RecordTopUpDeclined,
    RecordVerdict,
)
from stud_core.ledger import events as le
from stud_core.state import SETTLEMENT_BLOCKED
from stud_eventlog import keys
from stud_eventlog.log import CommitLog
from stud_eventlog.types import FeedEntry
from stud_service.entry_check import is_original, lately
from stud_wire.codec import WireError
from stud_wire.commits import decode_commit, decode_event

logger = structlog.get_logger(__name__)

UNREADABLE = "unreadable"
"""Whose line a ledger's answer joins if the copy does not say."""


class Inbound(msgspec.Struct, frozen=True):
    """One fact for one table."""

    table_id: str
    event: Any
    version: int


def read_entry(entry: FeedEntry) -> list[Inbound]:
    """Decode a feed entry by its copy; raises WireError. Verdict logs carry whole commits, feeds single events."""
    name = keys.parse_stream(entry.stream)
    if name is not None and name.kind == "verdicts":
        events = decode_commit(entry.event).events
        return [Inbound(event.table, event, entry.version) for event in events if type(event) in _COMMANDS]
    event = decode_event(entry.event)
    if event is None:
        return []
    if name is not None and name.table_id:
        return [Inbound(name.table_id, event, entry.version)]
    return [Inbound(event.table, event, entry.version)]


async def facts_of(log: CommitLog, entry: FeedEntry) -> tuple[list[Inbound], bool]:
    """Return what an entry tells, and whether that is told again because the copy differs from the ledger's log: then
    it is all that the ledger has answered lately (ADR 0005). Cards need no such care: the referee compares them with
    the deck before anything is paid. Raises WireError, EventLogError.
    """
    feed = keys.parse_stream(entry.feed)
    if feed is None or feed.kind != "ledger-feed":
        facts = read_entry(entry)
        module = ve.__name__ if feed is not None and feed.kind == "verdicts" else de.__name__
        if any(type(fact.event).__module__ != module for fact in facts):
            logger.critical("not_of_its_feed", feed=entry.feed, entry=entry.entry_id, stream=entry.stream)
            return [], False
        return facts, False
    if await is_original(log, entry):
        return read_entry(entry), False
    told = await lately(log, keys.ledger_log(str(feed.currency)), _ANSWERS)
    return [Inbound(e.table, e, version) for version, e in told if keys.shard_of(e.table) == feed.shard], True


def seen_by_sender(fact: Inbound) -> de.LogRef | None:
    """Return how much of the table's log its sender had seen; None = it does not say."""
    event = fact.event
    if isinstance(event, de.DeckCardsDealt):
        return event.request
    return event.table_ref if isinstance(event, ve.HandVerified | ve.HandDisputed) else None


def table_of(entry: FeedEntry) -> str | None:
    """Return the table an entry is for; None when it is for nobody. Raises WireError, but not for a ledger's answer:
    its log tells whose it is.
    """
    feed = keys.parse_stream(entry.feed)
    if feed is None or feed.kind != "ledger-feed":
        found = read_entry(entry)
        return found[0].table_id if found else None
    try:
        return keys.check_table_id(read_entry(entry)[0].table_id)
    except (WireError, AttributeError, IndexError, ValueError):
        return UNREADABLE


def command_for(fact: Inbound) -> Command | None:
    """Return the command that records a fact; None when the table has nothing to record."""
    make = _COMMANDS.get(type(fact.event))
    return None if make is None else make(fact.event, fact.version)


def _cards(event: de.DeckCardsDealt, _: int) -> Command:
    return RecordCards(event.hand_no, event.deal_no, event.up, event.down, event.community, event.root)


def _dispute(event: ve.HandDisputed, version: int) -> Command:
    return RecordDispute(event.hand_no, version, tuple(f.code for f in event.findings))


def _resolution(event: ve.HandResolved, version: int) -> Command:
    return RecordResolution(event.hand_no, version, event.choice, event.stacks)


_COMMANDS: dict[type, Any] = {
    de.DeckCommitted: lambda e, _: RecordDeck(e.hand_no, e.commitment),
    de.DeckCardsDealt: _cards,
    ve.HandVerified: lambda e, v: RecordVerdict(e.hand_no, v),
    ve.HandDisputed: _dispute,
    ve.HandResolved: _resolution,
    le.BuyInFunded: lambda e, _: RecordFunding(e.sitting_no, e.amount),
    le.BuyInDeclined: lambda e, _: RecordFundingDeclined(e.sitting_no, e.reason, e.balance),
    le.TopUpFunded: lambda e, _: RecordTopUp(e.sitting_no, e.top_up_no, e.amount),
    le.TopUpDeclined: lambda e, _: RecordTopUpDeclined(e.sitting_no, e.top_up_no, e.reason, e.balance),
    le.CashedOut: lambda e, _: RecordCashOut(e.sitting_no, e.amount),
    le.CashOutBlocked: lambda e, _: RecordCashOutBlocked(e.sitting_no, "CLAIM_MISMATCH"),
    le.SettlementBlocked: lambda _e, _v: PauseTable(SETTLEMENT_BLOCKED, ""),
    le.HandSettled: lambda _e, _v: RecordSettlement(),
}
_ANSWERS = tuple(kind for kind in _COMMANDS if kind.__module__ == le.__name__)


def harmless(reason: str) -> bool:
    """Whether a refusal only says that the fact was recorded before, or no longer matters."""
    return reason in {"ALREADY_DONE", "TABLE_PAUSED"}
