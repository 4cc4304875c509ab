"""Play and Watch: joining, resuming, commands and their results, and every way a stream ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_service.refusals import Refused
from stud_wire.codec import to_message
from table_service import handlers, hub
from tests.support.choosing import STAY
from tests.support.playing_memory import NAMES, Game
from tests.support.streams import Stream
from tests.support.system_memory import MemorySystem, simulated


@asynccontextmanager
async def started(tmp_path: Path) -> AsyncIterator[Game]:
    """A system with a table at which it is somebody's turn."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn()
        yield game


@simulated
async def test_without_a_version_the_whole_table_comes_first_and_then_every_commit(tmp_path):
    async with started(tmp_path) as game:
        stream = Stream(game, "ada")
        full = await stream.update()
        assert (full.reset, full.version, full.mine.seat) == (True, game.actor.head.version, 1)
        await game.act()
        update = await stream.update()
        assert (update.reset, update.version, update.head_hash) == (False, full.version + 1, game.actor.head.hash)
        assert [event.WhichOneof("body") for event in update.events] == ["action_taken", "turn_started"]
        await stream.close()


@simulated
async def test_who_comes_back_gets_what_they_missed_from_memory_and_then_the_table_as_it_is(tmp_path):
    async with started(tmp_path) as game:
        for watch in (False, True):
            head = game.actor.head
            await game.act()
            await game.until(lambda table: table.running.turn_seat)
            missed_to = game.actor.head.version
            stream = Stream(game, "ada", after_version=head.version, head_hash=head.hash, watch=watch)
            missed = [await stream.update() for _ in range(head.version, missed_to)]
            assert [update.version for update in missed] == list(range(head.version + 1, missed_to + 1))
            assert not any(update.reset or update.current or update.HasField("mine") for update in missed)
            assert all(update.events and update.HasField("view") for update in missed)
            now = await stream.update()
            assert (now.version, now.reset, now.current, len(now.events)) == (missed_to, True, True, 0)
            assert now.mine.seat == 1
            await game.act()
            live = await stream.update()
            assert (live.version, live.reset, live.current) == (missed_to + 1, False, True)
            await game.until(lambda table: table.running.turn_seat)
            await stream.close()


@simulated
async def test_who_missed_nothing_is_told_so_at_once_with_their_own_part(tmp_path):
    async with started(tmp_path) as game:
        head = game.actor.head
        stream = Stream(game, "ada", after_version=head.version, head_hash=head.hash)
        now = await stream.update()
        assert (now.version, now.reset, now.current, len(now.events)) == (head.version, True, True, 0)
        assert now.mine.seat == 1
        await game.act()
        update = await stream.update()
        assert (update.version, update.reset, update.current) == (head.version + 1, False, True)
        await stream.close()


@pytest.mark.parametrize(
    "resume",
    [
        {"after_version": 10_000},
        {"after_version": 3, "head_hash": b"another history".ljust(32)},
        {"after_version": 0},
    ],
)
def test_who_is_ahead_or_has_another_history_or_missed_too_much_gets_the_whole_table(tmp_path, resume):
    @simulated
    async def run() -> None:
        async with started(tmp_path) as game:
            stream = Stream(game, "eve", watch=True, **resume)
            full = await stream.update()
            assert (full.reset, full.version) == (True, game.actor.head.version)
            await stream.close()

    run()


@simulated
async def test_after_a_restart_the_whole_table_comes_since_memory_is_empty(tmp_path):
    async with started(tmp_path) as game:
        head = game.actor.head
        await game.system.crash("table")
        await game.system.start("table")
        stream = Stream(game, "ada", after_version=head.version, head_hash=head.hash)
        assert (await stream.update()).reset
        await stream.close()


@simulated
async def test_commands_are_answered_in_order_on_the_same_stream(tmp_path):
    async with started(tmp_path) as game:
        stream = Stream(game, game.on_turn)
        request = game.act_request(game.choose(STAY))
        request.table, request.request_id = "t-1", "r-1"
        result = await stream.ask(act=request)
        assert (result.request_id, result.version, result.reason) == ("r-1", game.actor.head.version, "")
        assert await stream.ask(act=request) == result
        request.verb = seat_pb2.VERB_RAISE
        assert (await stream.ask(act=request)).reason == "REQUEST_ID_REUSED"
        request.request_id = "r-2"
        refused = await stream.ask(act=request)
        assert (refused.request_id, refused.version, refused.reason) == ("r-2", 0, "NOT_YOUR_TURN")
        await stream.close()


@simulated
async def test_an_illegal_action_says_the_rule_and_what_would_be_legal(tmp_path):
    async with started(tmp_path) as game:
        stream = Stream(game, game.on_turn)
        act = pb.ActRequest(
            table="t-1", turn_id=game.hand.turn_id, verb=seat_pb2.VERB_BRING_IN, to=9_999, request_id="r-1"
        )
        refused = await stream.ask(act=act)
        assert refused.reason == "ILLEGAL_ACTION"
        assert refused.metadata["rule"]
        assert "bring in 250" in refused.metadata["legal"]
        await stream.close()


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ({"act": pb.ActRequest(table="t-2", request_id="r")}, "INVALID_FIELD"),
        ({"act": pb.ActRequest(table="t-1", request_id="r")}, "INVALID_FIELD"),
        ({"act": pb.ActRequest(table="t-1", verb=seat_pb2.VERB_FOLD, size=9, request_id="r")}, "INVALID_FIELD"),  # type: ignore[arg-type]
        ({"act": pb.ActRequest(table="t-1", verb=seat_pb2.VERB_FOLD)}, "REQUEST_ID_REQUIRED"),
        ({"sit_out": pb.SitOutRequest(table="t-1", request_id="x" * 65)}, "REQUEST_ID_REQUIRED"),
        ({"add_chips": pb.AddChipsRequest(table="t-1", request_id="r", amount=0)}, "INVALID_FIELD"),
        ({"post_ante": pb.PostAnteRequest(table="t-1", request_id="r", prompt_id=1)}, "NO_PROMPT"),
        ({"choose_show": pb.ChooseShowRequest(table="t-1", request_id="r", prompt_id=1, show=True)}, "NO_PROMPT"),
        ({"sit_in": pb.SitInRequest(table="t-1", request_id="r")}, "NOT_SITTING_OUT"),
        ({"subscribe": pb.Subscribe(table="t-1")}, "INVALID_FIELD"),
        ({}, "INVALID_FIELD"),
    ],
)
def test_a_refused_command_is_answered_and_the_stream_goes_on(tmp_path, command, reason):
    @simulated
    async def run() -> None:
        async with started(tmp_path) as game:
            stream, head = Stream(game, game.on_turn), game.actor.head
            assert (await stream.ask(**command)).reason == reason
            assert game.actor.head == head
            await game.act()
            assert (await stream.update()).version == head.version + 1
            await stream.close()

    run()


@simulated
async def test_no_answer_keeps_more_than_the_beginning_of_what_a_client_sent(tmp_path):
    """They wait in memory for a client that reads nothing; he sends what he likes."""
    async with started(tmp_path) as game:
        who = game.on_turn
        stream = Stream(game, who)
        for name in pb.PlayRequest.DESCRIPTOR.fields_by_name:
            if name in {"subscribe", "unsubscribe"}:
                continue
            for table in (game.id, "t" * 60_000):
                body = type(getattr(pb.PlayRequest(), name))(table=table, request_id="\u20ac" * 20_000)
                result = await stream.ask(**{name: body})
                assert result.reason in {"REQUEST_ID_REQUIRED", "INVALID_FIELD"}
                assert result.request_id == "\u20ac" * 64
                assert result.ByteSize() < 1000
        await stream.close()


@simulated
async def test_a_fault_in_one_command_is_an_incident_without_its_text(tmp_path, monkeypatch):
    async with started(tmp_path) as game:

        def broken(*_: Any) -> Any:
            raise ZeroDivisionError("the card is 51")

        monkeypatch.setitem(handlers.COMMANDS, "sit_out", broken)
        stream = Stream(game, "ada")
        with capture_logs() as lines:
            result = await stream.ask(sit_out=pb.SitOutRequest(table="t-1", request_id="r"))
        assert (result.reason, result.text) == ("INTERNAL", "something unexpected happened")
        assert result.metadata["incident"] in {line.get("incident") for line in lines}
        assert (await stream.ask(leave_seat=pb.LeaveSeatRequest(table="t-1", request_id="r"))).version
        await stream.close()


# --- how streams end --------------------------------------------------------------------------------------------------


@simulated
async def test_a_slow_viewer_is_told_to_resume_and_the_others_are_not_held_up(tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "QUEUE_LIMIT", 4)
    monkeypatch.setattr(hub.Viewer.__init__, "__defaults__", (4,))
    async with started(tmp_path) as game:
        slow, quick = Stream(game, "eve", watch=True), Stream(game, "adam", watch=True)
        seen = await slow.update()
        slow.blocked.clear()
        await quick.update()
        for _ in range(8):
            await game.step(STAY)
            await asyncio.sleep(0.001)
        slow.blocked.set()
        assert (await slow.end()).reason == "RESUME_FROM_VERSION"
        got = [(await quick.update()).version for _ in range(game.actor.head.version - seen.version)]
        assert got == list(range(seen.version + 1, game.actor.head.version + 1))
        while not slow.answers.empty():
            seen = await slow.update()
        again = Stream(game, "eve", watch=True, after_version=seen.version, head_hash=seen.head_hash)
        assert (await again.update()).version in {seen.version + 1, game.actor.head.version}
        await again.close()
        await quick.close()


@simulated
async def test_a_stream_that_does_not_begin_with_subscribe_is_refused(tmp_path):
    async with started(tmp_path) as game:
        for first in (pb.PlayRequest(sit_out=pb.SitOutRequest()), None):
            stream = Stream(game, "ada")
            stream.requests.get_nowait()
            stream.requests.put_nowait(first)
            assert (await stream.end()).reason == "INVALID_FIELD"


@simulated
async def test_a_stream_of_an_unknown_table_is_refused(tmp_path):
    async with started(tmp_path) as game:
        game.id = "nowhere"
        for watch in (True, False):
            assert (await Stream(game, "ada", watch=watch).end()).reason == "UNKNOWN_TABLE"
        game.id = "t-1"


@simulated
async def test_what_is_no_message_ends_the_stream_that_brought_it(tmp_path):
    async with started(tmp_path) as game:
        stream, other = Stream(game, "ada"), Stream(game, "bea")
        await stream.update()
        stream.requests.put_nowait(Refused("MALFORMED_MESSAGE", "the bytes are not a message of this type"))
        assert (await stream.end()).reason == "MALFORMED_MESSAGE"
        await other.update()
        await game.act()
        await other.update()
        await other.close()


@simulated
async def test_who_stops_sending_still_watches(tmp_path):
    async with started(tmp_path) as game:
        stream = Stream(game, "ada")
        await stream.update()
        stream.requests.put_nowait(None)
        await game.act()
        assert (await stream.update()).version == game.actor.head.version
        await stream.close()


@simulated
async def test_a_client_that_goes_away_is_not_served_any_more(tmp_path):
    async with started(tmp_path) as game:
        streams = [Stream(game, "ada"), Stream(game, "eve", watch=True)]
        for stream in streams:
            await stream.update()
        assert len(game.actor.hub) == 2
        for stream in streams:
            await stream.close()
        assert len(game.actor.hub) == 0


@simulated
async def test_when_the_service_stops_every_stream_says_so(tmp_path):
    async with started(tmp_path) as game:
        streams = [Stream(game, "ada"), Stream(game, "eve", watch=True)]
        for stream in streams:
            await stream.update()
        await game.system.stop("table")
        for stream in streams:
            assert (await stream.end()).reason == "STOPPING"
        await game.system.start("table")


@simulated
async def test_who_subscribes_when_the_service_is_stopping_already_is_told_at_once(tmp_path):
    """His call was let in before: he would wait for updates of a table that has said its last word."""
    async with started(tmp_path) as game:
        late = Stream(game, "ada")
        subscribe = late.requests.get_nowait()
        await asyncio.sleep(1)
        await game.system.tables.stop()
        late.requests.put_nowait(subscribe)
        for stream in (late, Stream(game, "eve", watch=True)):
            assert (await stream.end()).reason == "STOPPING"
            assert stream.answers.empty()


@simulated
async def test_when_the_table_is_closed_every_stream_gets_the_last_update_and_ends_well(tmp_path):
    async with started(tmp_path) as game:
        streams = [Stream(game, "ada"), Stream(game, "eve", watch=True)]
        await game.close()
        registry = game.system.tables.registry
        for stream in streams:
            await asyncio.wait_for(stream.task, 30)  # no refusal
            last = None
            while not stream.answers.empty():
                last = await stream.update()
            assert last is not None
            assert last.view.life == pb.TABLE_LIFE_CLOSED
        await asyncio.sleep(2)
        assert registry.all() == []
        for watch in (True, False):  # who comes later
            late = Stream(game, "eve", watch=watch)
            assert (await late.update()).view.life == pb.TABLE_LIFE_CLOSED
            await asyncio.wait_for(late.task, 30)
        await asyncio.sleep(2)
        assert registry.all() == []


@pytest.mark.parametrize("resume", [{"after_version": -5}, {"after_version": 3, "head_hash": b"x" * 9000}])
@pytest.mark.parametrize("watch", [True, False])
@simulated
async def test_nobody_resumes_from_what_no_update_says(tmp_path, resume, watch):
    async with started(tmp_path) as game:
        assert (await Stream(game, "eve", watch=watch, **resume).end()).reason == "INVALID_FIELD"


@simulated
async def test_what_would_have_been_legal_is_told_alike_by_a_call_and_on_a_stream(tmp_path):
    """Whatever is asked for on a turn that does not allow it, now or ahead: the same options, as messages."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        for street in (3, 4, 6):
            who = await game.until_turn(street)
            stream = Stream(game, who)
            mine = (await stream.update()).mine
            wrong = pb.ActRequest(table=game.id, turn_id=mine.turn_id, verb=seat_pb2.VERB_RAISE, to=7, request_id="no")
            result = await stream.ask(act=wrong)
            with pytest.raises(Refused) as refused:
                await game.send(who, wrong)
            assert (result.reason, list(result.legal)) == ("ILLEGAL_ACTION", list(mine.options))
            assert [to_message(option) for option in refused.value.legal] == list(mine.options)
            assert result.metadata == refused.value.metadata
            await stream.close()
        waiting = next(name for name in NAMES[:3] if name != game.on_turn)
        stream = Stream(game, waiting)
        mine = (await stream.update()).mine
        ahead = pb.SetPreActionRequest(
            table=game.id, hand_no=1, street=6, price=mine.price, verb=seat_pb2.VERB_OPEN, request_id="no"
        )
        result = await stream.ask(set_pre_action=ahead)
        assert (result.reason, list(result.legal)) == ("ILLEGAL_ACTION", list(mine.pre_options))
        assert result.legal
        late = pb.ActRequest(table=game.id, turn_id=1, verb=seat_pb2.VERB_FOLD, request_id="late")
        assert not (await stream.ask(act=late)).legal
        await stream.close()


@simulated
async def test_who_comes_too_late_is_told_what_is_open_now(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        for name in NAMES[:2]:
            await game.seat(name, auto_post=False)
        await game.until(lambda table: table.hand is not None and len(table.hand.prompts) == 2)
        prompt = game.hand.prompts[0]
        with pytest.raises(Refused) as refused:
            await game.send("ada", pb.PostAnteRequest(prompt_id=prompt.prompt_id - 1))
        open_now = {"prompt_id": str(prompt.prompt_id)}
        assert (refused.value.reason, refused.value.metadata) == ("STALE_PROMPT", open_now)
        for name in NAMES[:2]:
            await game.send(name, pb.PostAnteRequest(prompt_id=prompt.prompt_id))
        who = await game.until_turn()
        stream = Stream(game, who)
        act = pb.ActRequest(table=game.id, turn_id=1, verb=seat_pb2.VERB_FOLD, request_id="old")
        result = await stream.ask(act=act)
        assert (result.reason, dict(result.metadata)) == ("STALE_TURN", {"turn_id": str(game.hand.turn_id)})
        await stream.close()
