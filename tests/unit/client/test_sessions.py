"""Play and watch against a real server that breaks on purpose: nothing missed, nothing twice, nothing left behind."""

import asyncio
import hashlib

import grpc
import pytest

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud.table.v1 import table_service_pb2_grpc as rpc
from stud_cli.local.ports import Port
from stud_client import Endpoints, StudClient, StudError, resuming
from stud_client.session import TableSession
from stud_service.refusals import Refused
from tests.support.runtime import House, serving, token, until


def hash_at(version: int) -> bytes:
    return hashlib.sha256(str(version).encode()).digest()


class Table(rpc.TableServiceServicer):
    """One table that counts versions. It remembers what it was asked, and answers an id a second time as the first."""

    def __init__(self) -> None:
        self.version = 3
        self.writing = asyncio.Lock()
        self.subscribed: list[pb.Subscribe] = []
        self.commands: list[tuple[str, str]] = []
        self.accepted: dict[str, int] = {}
        self.refuse: dict[str, list[str]] = {}
        self.metadata = {"legal": "fold; call 50"}
        self.swallow: set[str] = set()
        self.breaks = 0
        self.cut_with: Refused | None = None
        self.open_streams: list[int] = []
        """After how many breaks each was opened: a client may be back before the last old one has ended."""
        self.reset_at: int | None = None

    async def move(self, count: int = 1) -> None:
        for _ in range(count):
            self.version += 1
            await asyncio.sleep(0)

    async def break_streams(self, how: Refused | None = None) -> None:
        self.cut_with = how
        self.breaks += 1
        await until(lambda: all(born == self.breaks for born in self.open_streams))

    async def _write(self, context, response) -> None:
        """Two tasks write to one stream, and gRPC allows one write at a time."""
        async with self.writing:
            await context.write(response)

    async def Watch(self, request, context) -> None:  # type: ignore[override]
        await self._follow(request.subscribe, lambda update: self._write(context, pb.WatchResponse(update=update)))

    async def Play(self, request_iterator, context) -> None:  # type: ignore[override]
        first = await anext(aiter(request_iterator))
        listening = asyncio.create_task(self._listen(request_iterator, context))
        try:
            await self._follow(first.subscribe, lambda update: self._write(context, pb.PlayResponse(update=update)))
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def _follow(self, subscribe, send) -> None:
        self.subscribed.append(subscribe)
        born = self.breaks
        self.open_streams.append(born)
        try:
            if subscribe.table == "unknown":
                raise Refused("UNKNOWN_TABLE", "there is no such table")
            sent = subscribe.after_version if subscribe.HasField("after_version") else None
            if sent is None or (self.reset_at is not None and sent > self.reset_at):
                sent = self.version
                await send(self._update(sent, reset=True))
            while born == self.breaks:
                while sent < self.version:
                    sent += 1
                    await send(self._update(sent))
                if subscribe.table == "ends":
                    return
                await self._until_moved_or_cut(born)
            if self.cut_with is not None:
                raise self.cut_with
            raise Refused("STOPPING", "cut")
        finally:
            self.open_streams.remove(born)

    async def _until_moved_or_cut(self, born: int) -> None:
        version = self.version
        await until(lambda: version != self.version or born != self.breaks)

    def _update(self, version: int, *, reset: bool = False) -> pb.TableUpdate:
        return pb.TableUpdate(table="t", version=version, head_hash=hash_at(version), reset=reset)

    async def _listen(self, requests, context) -> None:
        async for message in requests:
            name = message.WhichOneof("body")
            request_id = getattr(message, name).request_id
            self.commands.append((name, request_id))
            if name in self.swallow:
                self.swallow.discard(name)
                continue
            if reasons := self.refuse.get(name):
                answer = pb.CommandResult(
                    request_id=request_id,
                    reason=reasons.pop(0),
                    text="no",
                    metadata=self.metadata,
                    legal=[seat_pb2.Option(verb=seat_pb2.VERB_FOLD)],
                )
            else:
                if request_id not in self.accepted:
                    self.version += 1
                    self.accepted[request_id] = self.version
                answer = pb.CommandResult(request_id=request_id, version=self.accepted[request_id])
            await self._write(context, pb.PlayResponse(result=answer))


@pytest.fixture
async def table():
    return Table()  # type: ignore[abstract]


@pytest.fixture
async def house(table):
    async with serving(table) as running:
        yield running


@pytest.fixture
async def client(house: House):
    async with StudClient(Endpoints(table=house.address), token(), give_up_s=5) as made:
        yield made


async def nobody_left(table: Table) -> None:
    await until(lambda: not table.open_streams)


async def versions(updates, count: int) -> list[int]:
    found: list[int] = []
    async with asyncio.timeout(10):
        while len(found) < count:
            found.append((await anext(updates)).version)
    return found


# Watching


async def test_a_watcher_gets_the_full_view_first_and_every_step_after_it(client, table):
    async with client.watch("t") as updates:
        first = await anext(updates)
        assert (first.version, first.reset) == (3, True)
        await table.move(2)
        assert await versions(updates, 2) == [4, 5]
        assert updates.last.version == 5
    await nobody_left(table)
    assert not table.subscribed[0].HasField("after_version")


async def test_it_may_begin_after_a_version(client, table):
    async with client.watch("t", 1, hash_at(1)) as updates:
        assert await versions(updates, 2) == [2, 3]
    assert (table.subscribed[0].after_version, table.subscribed[0].head_hash) == (1, hash_at(1))


@pytest.mark.parametrize("way", ["break", "exception", "cancel"])
async def test_leaving_in_any_way_ends_the_stream_at_the_server(client, table, way):
    entered = asyncio.Event()

    async def watch() -> None:
        async with client.watch("t") as updates:
            async for _ in updates:
                entered.set()
                if way == "break":
                    break
                if way == "exception":
                    raise KeyError

    task = asyncio.create_task(watch())
    await entered.wait()
    if way == "cancel":
        task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await nobody_left(table)


async def test_a_broken_stream_is_resumed_where_it_was(client, table):
    async with client.watch("t") as updates:
        assert await versions(updates, 1) == [3]
        await table.break_streams()
        await table.move(3)
        assert await versions(updates, 3) == [4, 5, 6]
        await table.break_streams(Refused("RESUME_FROM_VERSION", "too slow"))
        await table.move()
        assert await versions(updates, 1) == [7]
        assert updates.resumed == 2
    assert [(s.after_version, s.head_hash) for s in table.subscribed[1:]] == [(3, hash_at(3)), (6, hash_at(6))]


async def test_it_survives_the_death_of_the_server(table):
    port = Port()
    async with StudClient(Endpoints(table=port.address), token()) as client:
        async with serving(table, address=port.address) as house:
            watching = client.watch("t")
            updates = await watching.__aenter__()
            assert await versions(updates, 1) == [3]
            await house.server.stop(0)
        await table.move(2)
        async with serving(table, address=port.address):
            assert await versions(updates, 2) == [4, 5]
            await watching.close()
            await nobody_left(table)


async def test_as_long_as_nothing_is_heard_it_says_why(table):
    port = Port()
    async with StudClient(Endpoints(table=port.address), token()) as client:
        async with serving(table, address=port.address) as house:
            watching = client.watch("t")
            updates = await watching.__aenter__()
            await versions(updates, 1)
            assert updates.trouble is None
            await house.server.stop(0)
        await until(lambda: updates.trouble is not None)
        assert getattr(updates.trouble, "reason", "") in {"UNAVAILABLE", "CANCELLED"}
        async with serving(table, address=port.address):
            await table.move()
            await until(lambda: updates.trouble is None)
            await watching.close()


async def test_a_client_ahead_of_the_log_is_reset(client, table):
    async with client.watch("t", 9, hash_at(9)) as updates:
        table.reset_at = 3
        await asyncio.sleep(0.02)
        await table.break_streams()
        update = await anext(updates)
        assert (update.version, update.reset) == (3, True)


async def test_what_has_come_already_is_not_given_twice(client, table):
    async with client.watch("t") as updates:
        await versions(updates, 1)
        table.version = 1  # a server that sends what was asked for only roughly
        updates._receive(pb.TableUpdate(version=2))
        assert not updates._waiting


@pytest.mark.parametrize("reason", ["UNKNOWN_TABLE", "LOG_BEHIND", "TOKEN_EXPIRED", "TOKEN_REVOKED"])
async def test_an_answer_is_not_taken_for_a_broken_stream(client, table, reason):
    async with client.watch("unknown" if reason == "UNKNOWN_TABLE" else "t") as updates:
        if reason != "UNKNOWN_TABLE":
            await versions(updates, 1)
            await table.break_streams(Refused(reason, "no"))
        with pytest.raises(StudError) as caught:
            await anext(updates)
        assert caught.value.reason == reason
        with pytest.raises(StudError):
            await anext(updates)


async def test_a_stream_whose_token_ran_out_goes_on_with_the_next_one(house: House, table):
    tokens = [token(ttl_s=60 + number) for number in range(3)]
    now = 0
    async with StudClient(Endpoints(table=house.address), lambda: tokens[now], give_up_s=5) as client:
        async with client.play("t") as session:
            await versions(session, 1)
            for now in (1, 2):
                await table.break_streams(Refused(("TOKEN_EXPIRED", "TOKEN_REVOKED")[now - 1], "ask for a new one"))
                await session.sit_out()
                await table.move()
                await versions(session, 2)
            assert session.resumed == 2
            assert table.subscribed[-1].HasField("after_version")
            await table.break_streams(Refused("TOKEN_EXPIRED", "ask for a new one"))  # and there is no other
            with pytest.raises(StudError) as caught:
                await anext(session)
        assert caught.value.reason == "TOKEN_EXPIRED"


async def test_what_grpc_itself_refuses_is_an_answer_too(house: House):
    """A message above the server's limit never reaches our code, so that no ErrorInfo can be added."""
    async with StudClient(Endpoints(table=house.address), token()) as client:
        async with client.watch("t" * 100_000) as updates:
            with pytest.raises(StudError) as caught:
                await anext(updates)
        assert (caught.value.reason, caught.value.passing) == ("RESOURCE_EXHAUSTED", False)


async def test_it_gives_up_in_the_end():
    port = Port()
    nowhere = Endpoints(table=port.address)
    async with StudClient(nowhere, token(), give_up_s=0.2) as client, client.watch("t") as updates:
        with pytest.raises(StudError) as caught:
            await anext(updates)
        assert caught.value.code is grpc.StatusCode.UNAVAILABLE


async def test_a_stream_that_the_server_ends_properly_is_over(client):
    async with client.watch("ends") as updates:
        assert [update.version async for update in updates] == [3]


async def test_after_leaving_there_is_nothing_more(client):
    async with client.watch("t") as updates:
        await versions(updates, 1)
    assert [update async for update in updates] == []
    await client.watch("t").close()  # never entered


async def test_who_takes_nothing_loses_the_oldest_and_keeps_the_last(client, table, monkeypatch):
    monkeypatch.setattr(resuming, "MAX_WAITING", 5)
    async with client.watch("t") as updates:
        await versions(updates, 1)
        await table.move(20)
        await until(lambda: updates.last.version == 23)
        assert updates.dropped == 15
        assert await versions(updates, 5) == [19, 20, 21, 22, 23]


# Playing


async def test_every_command_goes_out_and_its_result_comes_back(client, table):
    async with client.play("t") as session:
        await versions(session, 1)
        assert (await session.act(7, seat_pb2.VERB_CALL, to=100, size=seat_pb2.SIZE_LOW)).version == 4
        await session.post_ante(3, decline=True)
        await session.choose_show(4, show=True)
        await session.sit_out()
        await session.sit_in()
        await session.set_preferences(auto_post=True)
        await session.add_chips(500)
        assert (await session.leave_seat(request_id="mine")).request_id == "mine"
    names = ["act", "post_ante", "choose_show", "sit_out", "sit_in", "set_preferences", "add_chips", "leave_seat"]
    assert [name for name, _ in table.commands] == names
    assert len({request_id for _, request_id in table.commands}) == len(names)
    await nobody_left(table)


async def test_commands_may_be_given_while_taking_updates(client, table):
    seen = []
    async with client.play("t") as session:
        async for update in session:
            seen.append(update.version)
            if len(seen) == 5:
                break
            await session.sit_out()
    assert seen == [3, 4, 5, 6, 7]


async def test_many_commands_at_once_find_their_own_results(client, table):
    async with client.play("t") as session:
        results = await asyncio.gather(*(session.sit_out(request_id=f"r{n}") for n in range(50)))
    assert [result.request_id for result in results] == [f"r{n}" for n in range(50)]


async def test_a_refused_command_is_an_error_with_its_metadata_and_the_session_goes_on(client, table):
    table.refuse["act"] = ["NOT_YOUR_TURN"]
    async with client.play("t") as session:
        with pytest.raises(StudError) as caught:
            await session.act(1, seat_pb2.VERB_FOLD)
        assert (caught.value.reason, caught.value.metadata, caught.value.code) == (
            "NOT_YOUR_TURN",
            {"legal": "fold; call 50"},
            None,
        )
        assert [option.verb for option in caught.value.legal] == [seat_pb2.VERB_FOLD]
        await session.act(1, seat_pb2.VERB_FOLD)
    assert len(table.commands) == 2


async def test_a_service_that_cannot_answer_now_is_asked_again_with_the_same_id(client, table):
    table.refuse["sit_out"] = ["LOG_UNAVAILABLE", "OUTCOME_UNKNOWN"]
    async with client.play("t") as session:
        await session.sit_out()
    assert len(table.commands) == 3
    assert len(set(table.commands)) == 1
    table.refuse["sit_in"] = ["LOG_UNAVAILABLE"] * 9
    async with client.play("t") as session:
        with pytest.raises(StudError) as caught:
            await session.sit_in()
    assert caught.value.passing
    assert len(table.commands) == 6


async def test_a_command_too_many_is_sent_again_when_it_will_be_taken(client, table):
    table.refuse["sit_out"], table.metadata = ["RATE_LIMITED"] * 4, {"retry_after_ms": "200"}
    async with client.play("t") as session:
        began = asyncio.get_running_loop().time()
        await session.sit_out()
    assert asyncio.get_running_loop().time() - began >= 4 * 0.2
    assert (len(table.commands), len(set(table.commands))) == (5, 1)


async def test_a_stream_too_many_is_opened_when_there_is_a_place(client, table):
    async with client.watch("t") as updates:
        await versions(updates, 1)
        await table.break_streams(Refused("RATE_LIMITED", "no place", retry_after_ms="300"))
        began = asyncio.get_running_loop().time()
        await table.move()
        await versions(updates, 1)
        assert asyncio.get_running_loop().time() - began >= 0.25
    assert len(table.subscribed) == 2


async def test_what_was_unanswered_when_the_stream_broke_is_sent_again_with_its_id(client, table):
    table.swallow = {"sit_out", "add_chips"}
    async with client.play("t") as session:
        await versions(session, 1)
        asked = [asyncio.ensure_future(session.sit_out()), asyncio.ensure_future(session.add_chips(5))]
        await until(lambda: len(table.commands) == 2)
        await table.break_streams()
        first, second = await asyncio.gather(*asked)
        assert (first.version, second.version) == (4, 5)
    assert table.commands[:2] == table.commands[2:4]
    assert len(table.commands) == 4


async def test_a_command_given_while_the_stream_is_broken_waits_for_the_next(table):
    port = Port()
    async with StudClient(Endpoints(table=port.address), token()) as client, client.play("t") as session:
        asked = asyncio.ensure_future(session.sit_out())
        await asyncio.sleep(0.2)
        async with serving(table, address=port.address):
            assert (await asked).version == 4
            await session.close()


async def test_no_answer_within_its_time(client, table):
    table.swallow = {"sit_out"}
    async with client.play("t") as session:
        with pytest.raises(StudError) as caught:
            await session.sit_out(timeout_s=0.1)
        assert caught.value.reason == "CALL_DEADLINE"
        assert session._unanswered == {}
        await session.sit_out()


async def test_a_cancelled_command_does_not_end_the_session(client, table):
    table.swallow = {"sit_out"}
    async with client.play("t") as session:
        await versions(session, 1)
        asked = asyncio.ensure_future(session.sit_out())
        await until(lambda: bool(table.commands))
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        await session.sit_in()
        assert session.resumed == 0


async def test_an_id_under_way_cannot_be_used_again_yet(client, table):
    table.swallow = {"sit_out"}
    async with client.play("t") as session:
        asked = asyncio.ensure_future(session.sit_out(request_id="x"))
        await asyncio.sleep(0)
        with pytest.raises(ValueError, match="under way"):
            await session.sit_out(request_id="x")
        asked.cancel()


async def test_outside_of_a_session_there_are_no_commands(client, table):
    session = client.play("t")
    with pytest.raises(StudError, match="not open"):
        await session.sit_out()
    table.swallow = {"sit_out"}
    async with session:
        asked = asyncio.ensure_future(session.sit_out())
        await until(lambda: bool(table.commands))
    with pytest.raises(StudError) as caught:
        await asked
    assert caught.value.reason == "STOPPING"


async def test_a_final_answer_of_the_stream_is_that_of_its_commands(client, table):
    table.swallow = {"sit_out"}
    async with client.play("t") as session:
        asked = asyncio.ensure_future(session.sit_out())
        await until(lambda: bool(table.commands))
        await table.break_streams(Refused("TOKEN_EXPIRED", "no"))
        with pytest.raises(StudError) as caught:
            await asked
        assert caught.value.reason == "TOKEN_EXPIRED"
        with pytest.raises(StudError) as caught:
            await session.sit_in()
        assert caught.value.reason == "TOKEN_EXPIRED"


async def test_a_result_that_nobody_waits_for_is_ignored(client, table):
    async with client.play("t") as session:
        session._answer(pb.CommandResult(request_id="nobody"))
        await session.sit_out()


async def test_a_hundred_sessions_leave_nothing_behind(client, table):
    async def sit() -> None:
        async with client.play("t") as session:
            await anext(session)
            await session.sit_out()

    await asyncio.gather(*(sit() for _ in range(100)))
    await nobody_left(table)
    names = {task.get_name() for task in asyncio.all_tasks()}
    assert not [name for name in names if name.startswith(("follow", "play"))]


class Breaking:
    """A stub whose stream breaks, and what is to happen in that moment."""

    def __init__(self, then) -> None:
        self.then = then
        self.opened = 0

    def Play(self):
        self.opened += 1
        return self

    async def write(self, request) -> None:
        await asyncio.Event().wait()

    def cancel(self) -> None:
        pass

    def __aiter__(self):
        return self

    async def __anext__(self):
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_soon(self.then)
        raise grpc.aio.AioRpcError(grpc.StatusCode.UNAVAILABLE, grpc.aio.Metadata(), grpc.aio.Metadata(), "gone")


@pytest.mark.parametrize("ticks", range(5))
async def test_who_closes_a_session_in_the_moment_in_which_its_stream_breaks_has_closed_it(ticks):
    """However few ticks lie between the two: the stream must not be opened again behind his back."""
    closing = []

    def close(left: int) -> None:
        if left:
            asyncio.get_running_loop().call_soon(close, left - 1)
        else:
            closing.append(asyncio.ensure_future(session.close()))

    stub = Breaking(lambda: close(ticks))
    session = TableSession(stub, "t", None, b"", give_up_s=60, token=lambda: "")  # type: ignore[arg-type]
    await session.__aenter__()
    await until(lambda: bool(closing))
    await asyncio.wait_for(closing[0], 2)
    assert stub.opened == 1
