"""The machinery behind an append, without a server: group commit, what is remembered, availability, repeats."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from stud_eventlog import keys
from stud_eventlog.availability import Availability
from stud_eventlog.group_commit import MAX_REPEATING, Again, GroupCommit, Outcome
from stud_eventlog.lua import APPEND
from stud_eventlog.memory import MemoryEventLog, MemoryStore
from stud_eventlog.redis_streams import RedisBackend
from stud_eventlog.redis_wire import Command, Lost, Refusal
from stud_eventlog.types import Append, Head, LogBehind, LogUnavailable
from stud_eventlog.writing import HELD_PER_STREAM, Acknowledged
from tests.support.eventlogs import an_append, write

STREAM = keys.table_log(7, "t-1")
FEED = keys.table_feed(7)


def chain(count: int, size: int = 4, stream: str = STREAM) -> list[Append]:
    appends: list[Append] = []
    for _ in range(count):
        appends.append(an_append(stream, appends[-1].head if appends else Head(), bytes(size)))
    return appends


class Sender:
    """Plays the store of a group commit: answers when told, as told."""

    def __init__(self) -> None:
        self.batches: list[list[Append]] = []
        self.answers: dict[str, list[Outcome]] = {}
        self.gate = asyncio.Event()
        self.gate.set()

    async def send(self, appends: Sequence[Append]) -> list[Outcome]:
        self.batches.append(list(appends))
        await self.gate.wait()
        return [self.answers[a.stream].pop(0) if self.answers.get(a.stream) else a.head for a in appends]


class TestGroupCommit:
    async def test_what_arrives_in_one_tick_shares_a_pipeline(self):
        sender = Sender()
        group = GroupCommit(sender.send)
        appends = [an_append(keys.table_log(1, f"t-{n}")) for n in range(30)]
        futures = [group.submit([append])[0] for append in appends]
        assert [await future for future in futures] == [append.head for append in appends]
        assert sender.batches == [appends]
        assert group.submit([]) == []

    async def test_a_stream_has_one_pipeline_at_a_time_and_keeps_its_order(self):
        sender = Sender()
        group = GroupCommit(sender.send, max_in_flight=3)
        first, second, third = chain(3)
        other = an_append(keys.table_log(7, "t-2"))
        sender.gate.clear()
        futures = group.submit([first])
        await asyncio.sleep(0)
        futures += group.submit([second, other])  # a unit: waits as a whole
        futures += group.submit([third])  # must not overtake the second
        await asyncio.sleep(0.01)
        assert sender.batches == [[first]]
        sender.gate.set()
        await asyncio.gather(*futures)
        assert sender.batches == [[first], [second, other, third]]

    async def test_the_same_append_is_repeated_until_it_is_settled(self):
        sender = Sender()
        group = GroupCommit(sender.send, jitter=lambda: 0.0)
        append = an_append(STREAM)
        sender.answers[STREAM] = [Again("no answer", doubtful=True)] * 3
        assert await group.submit([append])[0] == append.head
        assert sender.batches == [[append]] * 4

    async def test_a_refusal_is_told_when_nothing_can_have_been_written(self):
        sender = Sender()
        group = GroupCommit(sender.send)
        no = Again("no", doubtful=False, refused="OOM")
        sender.answers[STREAM] = [Again("not sent", doubtful=False), no]
        with pytest.raises(LogUnavailable, match="OOM"):
            await group.submit([an_append(STREAM)])[0]

    async def test_a_refusal_settles_nothing_when_something_may_have_been_written(self):
        sender = Sender()
        group = GroupCommit(sender.send, jitter=lambda: 0.0)
        no = Again("no", doubtful=False, refused="OOM")
        sender.answers[STREAM] = [Again("no answer", doubtful=True), no, no]
        append = an_append(STREAM)
        assert await group.submit([append])[0] == append.head
        assert len(sender.batches) == 4

    async def test_after_a_chunk_without_answer_the_rest_waits_too(self):
        sender = Sender()
        group = GroupCommit(sender.send, jitter=lambda: 0.0)
        appends = chain(1030)
        sender.answers[STREAM] = [*(append.head for append in appends[:1000]), Again("cut", doubtful=True)]
        futures = group.submit(appends)
        assert (await asyncio.gather(*futures))[-1] == appends[-1].head
        assert [len(batch) for batch in sender.batches] == [1024, 7]
        assert sender.batches[1] == [appends[1000], *appends[1024:]]

    async def test_batches_that_repeat_are_bounded_and_give_way(self):
        sender = Sender()
        group = GroupCommit(sender.send, max_in_flight=1)
        futures = []
        for n in range(MAX_REPEATING + 3):
            stream = keys.table_log(7, f"t-{n}")
            sender.answers[stream] = [Again("away", doubtful=True)]
            futures += group.submit([an_append(stream)])
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        assert len(await asyncio.gather(*futures)) == MAX_REPEATING + 3

    async def test_a_fault_of_ours_is_not_swallowed(self, caplog: pytest.LogCaptureFixture):
        async def broken(appends: Sequence[Append]) -> list[Outcome]:
            raise ZeroDivisionError

        group = GroupCommit(broken)
        with pytest.raises(LogUnavailable, match="may or may not"):
            await group.submit([an_append(STREAM)])[0]
        assert "which is a bug" in caplog.text

    async def test_closing_without_grace_lets_go_at_once(self):
        sender = Sender()
        group = GroupCommit(sender.send)
        sender.gate.clear()
        sent = group.submit([an_append(STREAM)])[0]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waits = group.submit([an_append(STREAM)])[0]
        await group.close(0)
        with pytest.raises(LogUnavailable, match="may or may not"):
            await sent
        with pytest.raises(LogUnavailable, match="is not written"):
            await waits
        with pytest.raises(LogUnavailable, match="is closed"):
            await group.submit([an_append(STREAM)])[0]


class TestAcknowledged:
    def recorded(self, appends: Sequence[Append], **limits: int) -> Acknowledged:
        known = Acknowledged(**limits)
        for append in appends:
            known.record(append, append.head)
        return known

    def test_the_last_commits_lead_from_what_was_found_to_what_was_acknowledged(self):
        appends = chain(10)
        known = self.recorded(appends, held_per_stream=4)
        assert known.head(STREAM) == appends[-1].head
        assert known.tail(STREAM, appends[7].head) == appends[8:]
        assert known.tail(STREAM, appends[5].head) == appends[6:]
        assert known.tail(STREAM, appends[4].head) is None  # not held any more
        assert known.tail(STREAM, Head(7, b"other" * 6 + b"xx")) is None  # another history
        assert known.tail(STREAM, appends[-1].head) is None
        assert known.tail(keys.table_log(7, "t-2"), Head()) is None

    def test_an_older_acknowledgement_changes_nothing(self):
        appends = chain(3)
        known = self.recorded([*appends, appends[0]])
        assert known.head(STREAM) == appends[2].head

    def test_commits_of_others_in_between_break_the_tail(self):
        appends = chain(5)
        known = self.recorded([appends[0], appends[1], appends[4]])
        assert known.tail(STREAM, appends[0].head) is None
        assert known.tail(STREAM, appends[3].head) == [appends[4]]

    def test_bytes_are_bounded_over_all_streams_and_heads_are_not_lost(self):
        known, last = Acknowledged(held_per_stream=4, held_bytes=1000), {}
        for n in range(20):
            stream = keys.table_log(7, f"t-{n}")
            for append in chain(2, size=100, stream=stream):
                known.record(append, append.head)
                last[stream] = append.head
        assert known.bytes_held <= 1000
        assert {stream: known.head(stream) for stream in last} == last
        assert known.tail(keys.table_log(7, "t-0"), Head()) is None
        assert known.tail(keys.table_log(7, "t-19"), Head()) is not None

    def test_a_commit_bigger_than_all_that_is_held_is_not_held(self):
        known = self.recorded(chain(1, size=500), held_bytes=100)
        assert known.bytes_held == 0
        assert known.head(STREAM) is not None

    def test_lost_means_less_than_acknowledged_or_something_else(self):
        appends = chain(3)
        known = self.recorded(appends)
        assert known.lost(STREAM, 2, appends[1].head.hash)
        assert known.lost(STREAM, 3, b"x" * 32)
        assert not known.lost(STREAM, 3, appends[2].head.hash)
        assert not known.lost(STREAM, 3, None)
        assert not known.lost(STREAM, 4, b"x" * 32)
        assert not known.lost(keys.table_log(7, "t-2"), 0, None)


class TestAvailability:
    async def test_it_is_back_only_after_verifying(self):
        tries: list[int] = []

        async def verify() -> None:
            tries.append(1)
            if len(tries) < 3:
                raise LogUnavailable("not yet")
            if len(tries) == 3:
                there.lost("again, while verifying")

        there = Availability(verify)
        before = there.up
        there.lost("gone")
        there.lost("still gone")
        assert (before, there.up) == (True, False)
        await asyncio.wait_for(there.wait(), 5)
        assert len(tries) == 4
        await there.close()
        there.lost("closed: nobody cares")
        assert there.up

    @pytest.mark.parametrize("fault", [LogUnavailable("away"), OSError("reset"), RuntimeError("a fault of ours")])
    async def test_whatever_a_look_ends_with_there_is_another_one(self, fault: Exception):
        tries: list[int] = []

        async def verify() -> None:
            tries.append(1)
            if len(tries) < 3:
                raise fault

        there = Availability(verify)
        there.lost("gone")
        await asyncio.wait_for(there.wait(), 5)
        assert len(tries) == 3
        await there.close()

    async def test_closing_ends_the_probe(self):
        async def verify() -> None:
            raise LogUnavailable("never")

        there = Availability(verify)
        there.lost("gone")
        await asyncio.sleep(0.01)
        await there.close()
        assert not there.up


class CannedWire:
    """Answers commands from a list."""

    def __init__(self, *replies: Any) -> None:
        self.generation = 0
        self.replies = list(replies)
        self.sent: list[Command] = []

    async def pipeline(self, commands: Sequence[Command], timeout_s: float | None = None) -> list[Any]:
        self.sent += commands
        return [self.replies.pop(0) for _ in commands]


class TestAnswersOfTheServer:
    """What each kind of reply means for an append."""

    async def answer(self, *replies: Any) -> Any:
        append = an_append(STREAM)
        (answer,) = await RedisBackend(CannedWire(*replies)).write([append])
        return answer

    @pytest.mark.parametrize("code", ["LOADING", "BUSY", "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN"])
    async def test_a_passing_refusal_means_again(self, code: str):
        assert await self.answer(Refusal(code, "wait")) == Again(f"{code} wait", doubtful=False)

    @pytest.mark.parametrize("code", ["OOM", "MISCONF", "READONLY", "NOPERM", "WRONGTYPE", "ERR"])
    async def test_any_other_refusal_is_a_no(self, code: str):
        assert await self.answer(Refusal(code, "no")) == Again("no", doubtful=False, refused=code)

    async def test_no_reply_leaves_a_doubt_only_if_it_was_sent(self):
        assert await self.answer(Lost(sent=True, why="cut")) == Again("cut", doubtful=True)
        assert await self.answer(Lost(sent=False, why="refused")) == Again("refused", doubtful=False)

    async def test_noscript_is_loaded_and_sent_again(self):
        wire = CannedWire(Refusal("NOSCRIPT", ""), b"sha", 1)
        append = an_append(STREAM)
        assert await RedisBackend(wire).write([append]) == [append.head]
        assert [command[0] for command in wire.sent] == ["EVALSHA", "SCRIPT", "EVALSHA"]
        assert wire.sent[1][2] == APPEND.source

    async def test_noscript_where_loading_is_refused_is_that_refusal(self):
        no = Refusal("NOPERM", "no permission to load")
        answer = await self.answer(Refusal("NOSCRIPT", ""), no, Refusal("NOSCRIPT", ""))
        assert answer == Again("no permission to load", doubtful=False, refused="NOPERM")

    async def test_a_head_whose_entry_was_trimmed_away_is_told(self):
        info = {b"last-generated-id": b"5-0", b"last-entry": None}
        backend = RedisBackend(CannedWire(info, info))
        assert (await backend.where(STREAM)).hash is None
        with pytest.raises(Exception, match="must stay in it"):
            await backend.head(STREAM)


class TestMemoryFaults:
    """The faults that a simulation plays with."""

    async def test_an_outage_fails_reads_and_lets_appends_wait(self):
        log = MemoryEventLog()
        head = await write(log, STREAM, b"1", feed=FEED)
        log.store.stop()
        for failing in (
            log.head(STREAM),
            log.read(STREAM),
            log.read_feeds({FEED: "0-0"}),
            log.ping(),
            log.lobby(7),
            log.trouble("table"),
            log.initialise(),
        ):
            with pytest.raises(LogUnavailable):
                await failing
        call = asyncio.create_task(log.append(an_append(STREAM, head, b"2")))
        await asyncio.sleep(0.02)
        assert (call.done(), log.available) == (False, False)
        log.store.start()
        assert (await call).version == 2
        await asyncio.wait_for(log.wait_available(), 5)
        await log.close()

    async def test_an_outage_wakes_a_waiting_reader(self):
        log = MemoryEventLog()
        waiting = asyncio.create_task(log.read_feeds({FEED: "0-0"}, block_ms=60_000))
        await asyncio.sleep(0.01)
        log.store.stop()
        with pytest.raises(LogUnavailable):
            await waiting
        await log.close()

    async def test_an_older_store_gets_back_what_is_held(self):
        log = MemoryEventLog()
        await write(log, STREAM, b"1", feed=FEED)
        older = log.store.snapshot()
        await write(log, STREAM, b"2", b"3", feed=FEED)
        log.store.restore(older)
        await asyncio.wait_for(log.wait_available(), 5)
        assert [commit.body async for commit in log.read_all(STREAM)] == [b"1", b"2", b"3"]
        assert [entry.event for entry in await log.read_feeds({FEED: "0-0"})] == [b"1", b"2", b"3"]
        await log.close()

    async def test_a_store_that_lost_too_much_is_told_to_its_writer_and_its_readers(self):
        store = MemoryStore()
        behind: list[Any] = []
        ahead: list[Any] = []
        log = MemoryEventLog(store, on_log_behind=lambda *what: behind.append(what))
        reader = MemoryEventLog(store, on_cursor_ahead=lambda *what: ahead.append(what))
        found = await write(log, STREAM, b"1", feed=FEED)
        older = store.snapshot()
        acknowledged = await write(log, STREAM, *(b"%d" % n for n in range(2, 9)), feed=FEED)
        cursor = await reader.last_id(FEED)
        assert await reader.read_feeds({FEED: cursor}, block_ms=0) == []
        store.restore(older)
        await asyncio.wait_for(log.wait_available(), 5)
        assert behind == [(STREAM, acknowledged, found)]
        with pytest.raises(LogBehind):
            await log.append(an_append(STREAM, acknowledged))
        assert [entry.event for entry in await reader.read_feeds({FEED: cursor})] == [b"1"]
        assert ahead == [(FEED, cursor, await reader.last_id(FEED))]
        started_again = MemoryEventLog(store)
        assert (await started_again.append(an_append(STREAM, found))).version == 2
        await started_again.close()
        await log.close()
        await reader.close()

    async def test_a_restore_that_fails_half_way_is_tried_again(self):
        store = MemoryStore()
        log = MemoryEventLog(store)
        head = await write(log, STREAM, b"1")
        older = store.snapshot()
        head = await write(log, STREAM, b"2")
        store.data = older  # unnoticed: no connection was lost
        real, failures = store.write, [Again("busy", doubtful=False)] * 2

        def sometimes(append: Append) -> Any:
            return failures.pop() if append.expected_version == 1 and failures else real(append)

        store.write = sometimes  # type: ignore[method-assign]
        assert (await log.append(an_append(STREAM, head, b"3"))).version == 3
        assert failures == []
        await log.close()

    async def test_a_store_that_goes_away_while_restoring_is_verified_again(self):
        store = MemoryStore()
        log = MemoryEventLog(store)
        await write(log, STREAM, b"1")
        older = store.snapshot()
        await write(log, STREAM, b"2")
        real, answers = store.write, [Again("away", doubtful=True), Again("away", doubtful=True)]

        def sometimes(append: Append) -> Any:
            return answers.pop() if answers else real(append)

        store.write = sometimes  # type: ignore[method-assign]
        store.restore(older)
        await asyncio.wait_for(log.wait_available(), 5)
        assert [commit.body async for commit in log.read_all(STREAM)] == [b"1", b"2"]
        await log.close()

    async def test_what_an_append_has_restored_meanwhile_is_not_called_lost(self, monkeypatch: pytest.MonkeyPatch):
        """Who verifies has seen the older log, and waits; by the time he goes on the writer is far beyond that."""
        store = MemoryStore()
        behind: list[Any] = []
        log = MemoryEventLog(store, on_log_behind=lambda *what: behind.append(what))
        await log.initialise()
        await log.require_initialised()
        await write(log, STREAM, b"1")
        older = store.snapshot()
        head = await write(log, STREAM, b"2")
        asked: list[None] = []
        waits, go_on = asyncio.Event(), asyncio.Event()

        mark = await log._backend.mark()

        async def slow_for_who_verifies() -> bytes | None:
            asked.append(None)
            if len(asked) == 2:
                waits.set()
                await go_on.wait()
            return mark

        monkeypatch.setattr(log._backend, "mark", slow_for_who_verifies)
        store.restore(older)
        await waits.wait()
        bodies = [b"%d" % n for n in range(3, 3 + HELD_PER_STREAM + 1)]
        for body in bodies:
            head = await log.append(an_append(STREAM, head, body))
        go_on.set()
        await asyncio.wait_for(log.wait_available(), 5)
        assert behind == []
        assert (await log.append(an_append(STREAM, head))).version == head.version + 1
        await log.close()

    async def test_memory_use_is_what_the_test_says(self):
        log = MemoryEventLog()
        log.store.used_ratio = 0.9
        trouble = await log.trouble("table")
        assert trouble is not None
        assert (trouble.code, trouble.refuses) == ("LOG_MEMORY", False)
        await log.close()
