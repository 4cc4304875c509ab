"""Facts of dealer, referee and wallet as they reach a table: which command each becomes, and that twice is once."""

import asyncio
from typing import Any

import pytest

from stud.table.v1 import table_service_pb2 as pb
from stud_core import commands as cmd
from stud_core import deck_events as de
from stud_core import verdict_events as ve
from stud_core.events import Delta, ResolutionChoice
from stud_core.ledger import events as le
from stud_eventlog import keys
from stud_eventlog.types import FeedEntry
from stud_service.feeds import Poison
from stud_service.refusals import CODES, Refused
from stud_service.retrying import poisons
from stud_topology.services import followed_by, service_called
from stud_wire.codec import UnknownEventError
from stud_wire.commits import Meta, encode_commit, encode_event
from table_service import inbound
from table_service.actor import TableActor
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, simulated

SHARD = keys.shard_of("t-1")
REF = de.LogRef("stream", 1, 2, bytes(32))


def entry(stream: str, event: bytes, version: int = 3, feed: str = "") -> FeedEntry:
    return FeedEntry(feed or stream, "1-0", stream, version, 0, bytes(32), event)


def deck_fact(event: Any) -> FeedEntry:
    return entry(keys.deck_log(SHARD, "t-1"), encode_event(event), feed=keys.dealer_feed(SHARD))


def ledger_fact(event: Any) -> FeedEntry:
    return entry(keys.ledger_log("EUR"), encode_event(event), feed=keys.ledger_feed("EUR", SHARD))


def verdict(*events: Any) -> FeedEntry:
    return entry(keys.verdicts(SHARD), encode_commit(events, Meta(0)), 9)


VERIFIED = ve.HandVerified("t-1", 4, de.HandOutcome.ENDED, "EUR", REF, REF, (Delta(1, "ada", 0),), 0, "test")
PROPOSED = ve.ResolutionProposed("t-1", 4, ResolutionChoice.VOID, "olga", "why")
RESOLVED = ve.HandResolved("t-1", 4, "EUR", ResolutionChoice.VOID, (), 0, (), ("olga", "otto"), "why")
DISPUTED = ve.HandDisputed(
    table="t-1",
    hand_no=4,
    currency="EUR",
    table_ref=REF,
    deck_ref=REF,
    findings=(ve.Finding("WRONG_AWARD", "stream", 2),),
    table_postings=(),
    table_rake=0,
    referee_postings=(),
    referee_rake=0,
    referee_has_figures=False,
    build="test",
)


@pytest.mark.parametrize(
    ("fact", "command"),
    [
        (deck_fact(de.DeckCommitted(4, b"c", de.SealedSeed("", b""), 1, False, b"")), cmd.RecordDeck(4, b"c")),
        (verdict(VERIFIED), cmd.RecordVerdict(4, 9)),
        (verdict(DISPUTED), cmd.RecordDispute(4, 9, ("WRONG_AWARD",))),
        (verdict(RESOLVED), cmd.RecordResolution(4, 9, ResolutionChoice.VOID, ())),
        (ledger_fact(le.BuyInFunded("t-1", 2, "ada", 500)), cmd.RecordFunding(2, 500)),
        (ledger_fact(le.BuyInDeclined("t-1", 2, "ada", "X")), cmd.RecordFundingDeclined(2, "X")),
        (ledger_fact(le.TopUpFunded("t-1", 2, 3, "ada", 500)), cmd.RecordTopUp(2, 3, 500)),
        (ledger_fact(le.TopUpDeclined("t-1", 2, 3, "ada", "X")), cmd.RecordTopUpDeclined(2, 3, "X")),
        (ledger_fact(le.CashedOut("t-1", 2, "ada", 500)), cmd.RecordCashOut(2, 500)),
        (ledger_fact(le.SettlementBlocked("t-1", 4, 9, "X")), cmd.PauseTable("SETTLEMENT_BLOCKED", "")),
        (ledger_fact(le.HandSettled("t-1", 4, 9, (), 0)), cmd.RecordSettlement()),
    ],
)
def test_every_fact_becomes_its_command(fact: FeedEntry, command: cmd.Command):
    assert inbound.table_of(fact) == "t-1"
    assert [inbound.command_for(found) for found in inbound.read_entry(fact)] == [command]


def test_what_a_table_has_nothing_to_record_of_is_nothing():
    assert inbound.table_of(verdict(PROPOSED)) is None
    assert inbound.read_entry(verdict(PROPOSED)) == []
    (fact,) = inbound.read_entry(deck_fact(de.DeckSealed(4, bytes(32))))
    assert inbound.command_for(fact) is None


def test_an_event_of_a_newer_build_stalls_unless_it_may_be_ignored():
    stream = keys.deck_log(SHARD, "t-1")
    with pytest.raises(UnknownEventError):
        inbound.read_entry(entry(stream, b""))
    from stud.events.v1 import commit_pb2

    assert inbound.read_entry(entry(stream, commit_pb2.Event(ignorable=True).SerializeToString())) == []


@simulated
async def test_every_message_may_come_twice(tmp_path):
    """All that was ever said to a table is said again: nothing changes, nothing is parked."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.send("ada", pb.AddChipsRequest(amount=500))
        await game.play(2)
        await game.close()
        await asyncio.sleep(1)
        log, head = system.runtimes["table"].log, (await system.actor("t-1")).head
        feeds = followed_by(service_called("table"), ["EUR", "XTS"], [SHARD])
        everything = await log.read_feeds(dict.fromkeys(feeds, "0-0"), 10_000, 0)
        assert len(everything) > 15
        await system.tables.handle([e for e in everything if inbound.table_of(e) == "t-1"])
        assert (await system.actor("t-1")).head == head
        assert await log.dead_list("table") == []


@pytest.mark.parametrize("reason", sorted(CODES))
def test_a_refusal_is_done_poison_or_a_reason_to_try_again(tmp_path, monkeypatch, reason):
    """Whatever reason there is, it is one of the three; and what needs operators makes nobody else wait."""

    async def refuse(*_: Any, **__: Any) -> None:
        raise Refused(reason, "because")

    async def nothing_new(_: TableActor) -> None:
        pass

    monkeypatch.setattr(TableActor, "submit", refuse)
    monkeypatch.setattr(TableActor, "catch_up", nothing_new)
    expected: type[Exception] | None = Poison
    if reason in {"ALREADY_DONE", "TABLE_PAUSED"}:
        expected = None
    elif reason in {"LOG_UNAVAILABLE", "OUTCOME_UNKNOWN", "STOPPING"}:
        expected = Refused

    @simulated
    async def run() -> None:
        async with MemorySystem(tmp_path, "table") as system:
            system.tables.registry._tables["t-1"] = TableActor(system.runtimes["table"], "t-1", bytes(32), bool)
            if expected is None:
                await system.tables.handle([verdict(VERIFIED)])
            else:
                with pytest.raises(expected) as raised:
                    await system.tables.handle([verdict(VERIFIED)])
                assert isinstance(poisons("t-1")(raised.value, 1), Poison) is (expected is Poison)

    run()
