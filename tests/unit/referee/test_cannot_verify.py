"""What the referee lacks makes him wait and alarm, never dispute; and what comes back is judged after all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

import rules_service.unjudged as waiting_module
from rules_service.findings import CannotVerify, Obstacle
from rules_service.unjudged import SERVICE, Unjudged, parse_reason, reason_of
from stud.events.v1 import commit_pb2
from stud_core import commands as cmd
from stud_core.deck_events import DeckCommitted
from stud_core.verdict_events import HandVerified
from stud_eventlog.types import Append
from stud_service.feeds import FeedReader, Poison
from stud_service.keyring import Key
from tests.support.referee_court import Court, change_first, with_fields


@pytest.fixture
async def court() -> Court:
    court = Court()
    await court.open()
    await court.hand()
    return court


async def until(what: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not what():  # noqa: ASYNC110  (the reader does not tell)
            await asyncio.sleep(0.02)


async def waits(court: Court, obstacle: Obstacle) -> None:
    """The hand waits for that reason, and there is no verdict on it."""
    last = court.book.final_hand
    with pytest.raises(Poison, match=f"^CANNOT_VERIFY {last + 1} {obstacle} "):
        await court.hear()
    assert court.referee.waiting.tables["t-1"].finding.code == obstacle
    assert court.book.final_hand == last
    assert court.book.disputed is None


@pytest.mark.parametrize("which", ["table", "deck"])
@pytest.mark.parametrize("place", ["first", "middle", "last"])
async def test_a_missing_commit(court: Court, which: str, place: str):
    await court.rig.play_hand(mischief=0)
    _, closed = await court.rig.notice(2)
    ref = getattr(closed, which)
    version = {"first": ref.from_version, "middle": ref.from_version + 2, "last": ref.to_version}[place]
    kept = court.rows(ref.stream)[:]
    if place == "last":
        del court.rows(ref.stream)[version - 1 :]
    else:
        del court.rows(ref.stream)[version - 1]
    await waits(court, Obstacle.MISSING_LOG)
    court.log.store.data.logs[ref.stream][:] = kept
    assert isinstance(await court.hear(), HandVerified)
    assert court.referee.waiting.tables == {}


async def test_a_log_that_lost_its_beginning(court: Court):
    await court.rig.play_hand(mischief=0)
    court.appoint()
    await court.referee.load()
    court.heard = "0-0"
    kept = court.rows(court.rig.table_stream)[:]
    del court.rows(court.rig.table_stream)[:5]
    await waits(court, Obstacle.MISSING_LOG)
    court.log.store.data.logs[court.rig.table_stream][:] = kept
    assert isinstance(await court.hear(), HandVerified)


async def test_a_log_that_ends_before_the_hand_begins(court: Court):
    await court.rig.play_hand(mischief=0)
    court.appoint()
    await court.referee.load()
    entry, closed = await court.rig.notice(2)
    late = msgspec.structs.replace(closed.table, from_version=5000, to_version=5001)
    from dataclasses import replace

    from stud_wire.commits import encode_event

    with pytest.raises(Poison):
        await court.referee.handle([replace(entry, event=encode_event(msgspec.structs.replace(closed, table=late)))])


async def write_unknown(court: Court, **commit: Any) -> None:
    """A newer build writes something that this one does not know."""
    rig = court.rig
    event = commit_pb2.Event()
    event.MergeFromString(b"\xc2\x3e\x00")  # field 1000, empty
    body = commit_pb2.Commit(events=[event], at_ms=rig.now_ms, **{"write_version": 1, **commit}).SerializeToString()
    append = Append(rig.table_stream, rig.head.version, rig.head.hash, rig.rng.randbytes(16), body)
    rig.head = await court.log.append(append)


async def test_an_unknown_event(court: Court):
    await write_unknown(court)
    await court.rig.play_hand(mischief=0)
    await waits(court, Obstacle.UNKNOWN_EVENT)


async def test_an_unknown_format(court: Court):
    await write_unknown(court, write_version=99)
    await court.rig.play_hand(mischief=0)
    await waits(court, Obstacle.UNKNOWN_EVENT)


async def test_an_unknown_engine(court: Court):
    """A newer build begins hands by rules that this one does not have."""
    rig = court.rig
    event = commit_pb2.Event()
    event.antes_opened.hand_no, event.antes_opened.engine = 1, 9  # type: ignore[assignment]
    body = commit_pb2.Commit(events=[event], at_ms=rig.now_ms, write_version=1).SerializeToString()
    append = Append(rig.table_stream, rig.head.version, rig.head.hash, rig.rng.randbytes(16), body)
    rig.head = await court.log.append(append)
    await court.rig.play_hand(mischief=0)
    await waits(court, Obstacle.UNKNOWN_EVENT)


async def test_an_unknown_event_that_may_be_skipped_is_no_obstacle(court: Court):
    rig = court.rig
    event = commit_pb2.Event(ignorable=True)
    event.MergeFromString(b"\xc2\x3e\x00")
    body = commit_pb2.Commit(events=[event], at_ms=rig.now_ms, write_version=1).SerializeToString()
    append = Append(rig.table_stream, rig.head.version, rig.head.hash, rig.rng.randbytes(16), body)
    rig.head = await court.log.append(append)
    await court.hand()


async def test_a_key_that_is_not_the_referees(court: Court):
    await court.rig.play_hand(mischief=0)
    court.appoint(Key("referee", b"x" * 32))
    await court.referee.load()
    court.heard = "0-0"
    await waits(court, Obstacle.WRONG_KEY)
    court.appoint()
    await court.referee.load()
    assert isinstance(await court.hear(), HandVerified)


async def test_a_box_that_does_not_open(court: Court):
    rig = court.rig
    seal = rig.reseal_seed

    def broken(place: tuple[str, int, bytes]) -> Any:
        sealed = seal(place)
        return msgspec.structs.replace(sealed, box=sealed.box[:-1] + bytes([sealed.box[-1] ^ 1]))

    rig.reseal_seed = broken  # type: ignore[method-assign]
    await rig.play_hand(mischief=0)
    await waits(court, Obstacle.BROKEN_BOX)


async def test_an_unknown_shuffle():
    court = Court()
    court.rig.forge_deck = change_first(DeckCommitted, with_fields(shuffle_version=2))
    await court.open()
    await court.rig.play_hand(mischief=0)
    await waits(court, Obstacle.UNKNOWN_SHUFFLE)


async def test_a_fault_of_the_referee_is_no_dispute(court: Court, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: Any) -> Any:
        raise RuntimeError("the ace of spades")

    await court.rig.play_hand(mischief=0)
    monkeypatch.setattr("rules_service.referee.judge", fail)
    await waits(court, Obstacle.REFEREE_FAULT)
    monkeypatch.undo()
    assert isinstance(await court.hear(), HandVerified)


async def test_an_engine_that_fails_alone_is_no_dispute(court: Court, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: Any) -> Any:
        raise KeyError(3)

    await court.rig.play_hand(mischief=0)
    monkeypatch.setattr("rules_service.judge.redecide", fail)
    await waits(court, Obstacle.REFEREE_FAULT)


async def test_a_waiting_hand_holds_up_its_own_table_only_and_is_tried_again(
    court: Court, monkeypatch: pytest.MonkeyPatch
):
    """Through the real reader: parked, retried by itself, judged when the log is whole again."""
    monkeypatch.setattr(waiting_module, "FIRST_RETRY_S", 0.05)
    monkeypatch.setattr(waiting_module, "LOOK_S", 0.02)
    monkeypatch.setattr("stud_service.parking.LOOK_EVERY_S", 0.02)
    rig = court.rig
    await rig.play_hand(mischief=0)
    kept = court.rows(rig.table_stream)[:]
    del court.rows(rig.table_stream)[-3:]  # the end of the hand, and the deck of the next one behind it
    from rules_service.referee import table_of

    reader = FeedReader(court.runtime, court.referee.handle, table_of, feeds=[rig.feed], block_ms=20)
    tasks = [asyncio.create_task(reader.run()), asyncio.create_task(court.referee.waiting.retry_on())]
    try:
        await until(lambda: any(w.attempts > 1 for w in court.referee.waiting.tables.values()))
        await until(lambda: bool(reader.parked))
        assert reader.parked == {"t-1"}
        (letter,) = await court.log.dead_list(SERVICE)
        assert letter.reason.startswith("CANNOT_VERIFY 2 MISSING_LOG ")
        # A referee that starts now knows of it.
        room = Unjudged(court.log, lambda *_: False)
        await room.load()
        assert room.tables["t-1"].hand_no == 2
        court.log.store.data.logs[rig.table_stream][:] = kept
        await until(lambda: court.book.final_hand == 2 and not reader.parked)
        assert court.referee.waiting.tables == {}
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def test_the_reason_of_a_dead_letter_can_be_read_again():
    why = CannotVerify(Obstacle.WRONG_KEY, "{s01}:deck:x", 7, "a text")
    waiting = parse_reason(reason_of(3, why))
    assert waiting is not None
    assert (waiting.hand_no, waiting.finding.code, waiting.finding.stream, waiting.finding.version) == (
        3, "WRONG_KEY", "{s01}:deck:x", 7,
    )  # fmt: skip
    assert parse_reason("behind a parked message") is None


async def test_retries_stop_while_the_log_is_away(court: Court, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(waiting_module, "LOOK_S", 0.01)
    room = court.referee.waiting
    room.add("t-1", 2, CannotVerify(Obstacle.MISSING_LOG, "s", 1))
    room.tables["t-1"].retry_at = 0.0
    court.log.store.stop()
    task = asyncio.create_task(room.retry_on())
    await asyncio.sleep(0.05)
    assert room.tables["t-1"].retry_at == 0.0
    court.log.store.start()
    await asyncio.sleep(0.05)
    assert room.tables["t-1"].retry_at > 0.0
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_hand_that_operators_decided_is_not_judged_later(court: Court):
    from rules_service.resolving import Request, Resolver
    from stud_core.events import ResolutionChoice

    await court.rig.play_hand(mischief=0)
    kept = court.rows(court.rig.deck_stream)[:]
    del court.rows(court.rig.deck_stream)[-3:-1]
    await waits(court, Obstacle.MISSING_LOG)
    resolver = Resolver(court.runtime, court.referee)
    for operator in ("op-1", "op-2"):
        await resolver.resolve(Request("t-1", 2, ResolutionChoice.VOID, "lost", operator, "r"))
    assert court.referee.waiting.tables == {}
    court.log.store.data.logs[court.rig.deck_stream][:] = kept
    before = len(await court.verdicts())
    await court.hear()
    assert len(await court.verdicts()) == before
    resolved = (await court.verdicts())[-1]
    await court.rig.send(cmd.RecordResolution(2, court.book.final_version, resolved.choice, resolved.stacks))
    await court.hand()


async def test_a_decision_whose_operator_went_away_ends_the_waiting_too(court: Court, monkeypatch: pytest.MonkeyPatch):
    """His call ended before the log had answered; the table must not wait for the next attempt, a minute later."""
    from rules_service.resolving import Request, Resolver
    from stud_core.events import ResolutionChoice

    monkeypatch.setattr(waiting_module, "LOOK_S", 0.01)
    await court.rig.play_hand(mischief=0)
    del court.rows(court.rig.deck_stream)[-3:-1]
    await waits(court, Obstacle.MISSING_LOG)
    resolver = Resolver(court.runtime, court.referee)

    def resolve(operator: str) -> Any:
        return resolver.resolve(Request("t-1", 2, ResolutionChoice.VOID, "lost", operator, "r"))

    await resolve("op-1")
    append_many, go_on = court.log.append_many, asyncio.Event()

    async def late(appends: Any) -> Any:
        written = await append_many(appends)
        await go_on.wait()
        return written

    monkeypatch.setattr(court.log, "append_many", late)
    deciding = asyncio.create_task(resolve("op-2"))
    await asyncio.sleep(0.05)
    deciding.cancel()
    await asyncio.gather(deciding, return_exceptions=True)
    go_on.set()
    await until(lambda: court.book.final_hand == 2)
    task = asyncio.create_task(court.referee.waiting.retry_on())
    await until(lambda: court.referee.waiting.tables == {})
    assert await court.log.retry_requests(SERVICE, court.rig.shard) == {"t-1"}
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
