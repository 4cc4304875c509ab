"""`kill -9` of each part in mid-hand: the hand goes on, nothing acknowledged is lost, nothing happens twice."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_client import StudError
from stud_core import events as ev
from stud_topology.services import NAMES
from tests.support.choosing import STAY
from tests.support.playing import Player, Table
from tests.support.proxy import Proxy
from tests.support.system import PATIENCE_S, Live, shared, until

pytestmark = shared("kills")

SERVICES = NAMES
STACK: dict[str, Any] = {}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def proxy(live: Live) -> AsyncIterator[Proxy]:
    """Stands between the table service and the log, and passes everything on unless a test says otherwise."""
    async with Proxy(live.stack.server.port) as between:
        live.stack.only["table"] = {"STUD_REDIS_URL": between.url}
        await live.stack.restart_service("table")
        yield between
        between.heal()
        live.stack.only.clear()


async def finish(table: Table, hands: int = 2) -> None:
    """Play this hand and another one to the end, pay everybody out, and count every chip and every action."""
    for hand_no in range(1, hands + 1):
        await table.play_hand(hand_no)
    await table.verified(hands)
    await table.end()
    await table.check()


async def committed(live: Live, table: Table, request_id: str) -> list[int]:
    """Versions of the commits that carry a request id, read around the proxy."""
    return [version for version, commit in await live.commits(table.id) if commit.meta.request_id == request_id]


async def unheard(
    live: Live, table: Table, proxy: Proxy, request_id: str, send: Callable[[], Awaitable[Any]]
) -> tuple[int, asyncio.Future[Any]]:
    """Holds the log's answers back and sends, until the request is committed and nobody knows: its version, the call.

    Where the table service was just looking for the log anew it takes nothing: then it is let find it, and asked again.
    """
    async with asyncio.timeout(PATIENCE_S):
        while True:
            proxy.replies.hold()
            sending = asyncio.ensure_future(send())
            while not (versions := await committed(live, table, request_id)) and not sending.done():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            if versions:
                return versions[0], sending
            await asyncio.gather(sending, return_exceptions=True)
            proxy.cut()
            proxy.heal()
            await live.ready()


# --- one test for each part -------------------------------------------------------------------------------------------


async def test_the_table_service_is_killed_in_the_middle_of_a_hand(live: Live):
    async with await Table.begin(live, "kill-table") as table:
        player, mine = await table.play_to(street=5)
        deadline, version = table.eye.last.view.turn.deadline_ms, table.eye.last.version
        await live.stack.restart_service("table")
        update = await table.eye.until(lambda u: u.version > version, "a fresh clock")
        assert update.view.turn.turn_id == mine.turn_id
        assert update.view.turn.deadline_ms > deadline
        restarted = await live.events(table.id, ev.ClockRestarted, after=version)
        assert [(e.turn_id, e.reason) for e in restarted] == [(mine.turn_id, "SERVICE_RESTARTED")]
        assert (await player.turn(mine.turn_id)).down == mine.down  # opened again from the log
        await finish(table)


async def test_the_table_service_is_killed_while_it_asks_for_antes(live: Live):
    """Open prompts keep their number and get a fresh clock too."""
    async with await Table.begin(live, "kill-antes", 2, seated=False) as table:
        for player in table.players.values():
            await player.playing.set_preferences(auto_post=False)
        await table.resume()
        asked = await table.eye.until(lambda u: u.view.phase == pb.HAND_PHASE_ANTES, "antes")
        await live.stack.restart_service("table")
        update = await table.eye.until(lambda u: u.version > asked.version, "a fresh clock")
        assert update.view.prompt_deadline_ms > asked.view.prompt_deadline_ms
        for player in table.players.values():
            prompt = (await player.until(lambda u: u.mine.prompts)).mine.prompts[0]
            await player.playing.post_ante(prompt.prompt_id)
        await table.play_hand(1)
        await table.verified(1)
        await table.close()
        await table.check()


async def test_the_dealer_is_killed_in_the_middle_of_a_hand(live: Live):
    """The hand waits for its cards, no clock runs, and they come when the dealer is back."""
    async with await Table.begin(live, "kill-dealer") as table:
        await table.play_to(street=4)
        await live.stack.kill_service("dealer")
        while table.eye.last.view.turn.turn_id:
            await table.step()
            await table.eye.until(lambda u: u.view.turn.turn_id or u.view.phase == pb.HAND_PHASE_DEALING)
        assert table.eye.last.view.phase == pb.HAND_PHASE_DEALING
        await live.stack.start_service("dealer")
        update = await table.eye.until(lambda u: u.view.street == 5 and u.view.turn.turn_id, "cards of fifth street")
        assert {len(seat.up) for seat in update.view.seats if seat.live} == {3}
        await finish(table)


async def test_the_referee_is_killed_in_the_middle_of_a_hand(live: Live):
    """The hand ends without him; the next one waits for his verdict, which comes when he is back."""
    async with await Table.begin(live, "kill-rules") as table:
        await table.play_to(street=5)
        await live.stack.kill_service("rules")
        await table.play_hand(1)
        update = await table.eye.until(lambda u: u.view.waiting_for == "VERIFYING", "verifying")
        assert update.view.verified_hand == 0
        await live.stack.start_service("rules")
        await finish(table)


async def test_the_wallet_is_killed_in_the_middle_of_a_hand(live: Live):
    """Play goes on; who wants to sit down or to leave waits until it is back, and then everybody has what is his."""
    async with await Table.begin(live, "kill-wallet") as table:
        await table.play_to(street=5)
        await live.stack.kill_service("wallet")
        leaver = next(iter(table.players.values()))
        await leaver.playing.leave_seat()
        late = live.people.player(f"p8-{table.id}")
        seat = pb.TakeSeatRequest(table=table.id, amount=10_000, seat=8, request_id="late")
        asked = asyncio.ensure_future(late.tables.TakeSeat(seat, timeout=30))
        await table.play_hand(1)
        await table.verified(1)
        view = (await table.eye.until(lambda u: not u.view.seats[0].account, "his seat is free")).view
        assert view.life == pb.TABLE_LIFE_OPEN
        assert (await asked).outcome == pb.SEAT_OUTCOME_PENDING
        await live.stack.start_service("wallet")
        await table.eye.until(lambda u: u.view.seats[7].account == "", "no account, no seat")
        with pytest.raises(StudError, match="UNKNOWN_ACCOUNT"):
            await late.tables.TakeSeat(seat)
        await finish(table)


async def test_the_server_is_killed_in_the_middle_of_a_hand(live: Live):
    """What was acknowledged is in its file. While it is away nobody is folded and calls are refused as retryable.

    The same request is on its way twice, by a call that gives up and by the stream: whichever the log takes first, it
    is done once, and the stream is told that result.
    """
    async with await Table.begin(live, "kill-redis") as table:
        player, mine = await table.play_to(street=5)
        version = table.eye.last.version
        await live.stack.server.kill()
        option, request_id = table.choose(mine), "sent-twice"
        acting = asyncio.create_task(player.act(option, mine, request_id))
        impatient = player.client.tables.Act(player.request(mine, option, request_id), timeout=1)
        with pytest.raises(StudError) as refused:
            await impatient
        assert refused.value.reason in {"LOG_UNAVAILABLE", "OUTCOME_UNKNOWN", "DEADLINE_EXCEEDED"}
        await live.stack.server.start()
        acknowledged = await acting
        assert acknowledged > version
        taken = await live.events(table.id, ev.ActionTaken)
        assert [e.turn_id for e in taken].count(mine.turn_id) == 1
        assert {e.by for e in taken} == {ev.By.PLAYER}
        await finish(table)


async def test_everything_is_killed_at_once_in_the_middle_of_a_hand(live: Live):
    async with await Table.begin(live, "kill-all") as table:
        player, mine = await table.play_to(street=6)
        for name in SERVICES:
            await live.stack.kill_service(name)
        await live.stack.server.kill()
        await live.stack.server.start()
        await asyncio.gather(*(live.stack.start_service(name) for name in SERVICES))
        assert (await player.turn(mine.turn_id)).down == mine.down
        await finish(table)


# --- in the middle of a command ---------------------------------------------------------------------------------------


async def test_players_act_while_the_table_service_is_killed_again_and_again(live: Live):
    """Commands are on their way at every kill: each is done once, by itself or by its repetition."""
    async with await Table.begin(live, "kill-busy", 4) as table:
        playing = asyncio.create_task(table.play_hand(2, {**STAY, seat_pb2.VERB_FOLD: 1}))
        for _ in range(2):
            version = table.eye.last.version
            await table.eye.until(lambda u, v=version: u.version >= v + 4)  # type: ignore[misc]
            await live.stack.restart_service("table")
        await playing
        await finish(table, hands=2)


async def test_vector_131_the_same_action_sent_twice_is_applied_once_with_the_same_reply(live: Live):
    async with await Table.begin(live, "vector-131") as table:
        player, mine = await table.play_to(street=4)
        request = player.request(mine, table.choose(mine), "twice")
        over_both: list[Any] = [
            player.client.tables.Act(request),
            player.playing.act(mine.turn_id, request.verb, to=request.to, size=request.size, request_id="twice"),
            live.people.player(player.account).tables.Act(request),
        ]
        answers = await asyncio.gather(*over_both)
        (version,) = {answer.version for answer in answers}
        assert await committed(live, table, "twice") == [version]
        await live.stack.restart_service("table")  # remembered by the log, not by the process
        assert (await player.client.tables.Act(request)).version == version
        taken = await live.events(table.id, ev.ActionTaken)
        assert [e.turn_id for e in taken].count(mine.turn_id) == 1
        await finish(table)


@pytest.mark.parametrize("killed", ["table", "server"])
async def test_vector_148_killed_after_the_commit_and_before_the_reply(live: Live, proxy: Proxy, killed: str):
    """The log's answer is held back, so that the action is committed and nobody knows; then the process dies."""
    async with await Table.begin(live, f"vector-148-{killed}") as table:
        player, mine = await table.play_to(street=5)
        option = table.choose(mine)
        version, acting = await unheard(live, table, proxy, "unheard", lambda: player.act(option, mine, "unheard"))
        assert not acting.done()
        if killed == "table":
            await live.stack.kill_service("table")
            proxy.cut()
            proxy.heal()
            await live.stack.start_service("table")
        else:
            await live.stack.server.kill()
            proxy.cut()
            proxy.heal()
            await live.stack.server.start()
        assert await acting == version  # sent again with the same id: the first result
        assert await committed(live, table, "unheard") == [version]
        await finish(table)


async def test_an_append_whose_answer_is_held_back_is_one_commit(live: Live, proxy: Proxy):
    """The caller hears that the outcome is unknown or nothing at all; meanwhile the table decides nothing else; in
    the end there is one commit, and his retry gets its result.
    """
    async with await Table.begin(live, "held-back") as table:
        player, mine = await table.play_to(street=5)
        request = player.request(mine, table.choose(mine), "held")
        tables = player.client.tables
        version, acting = await unheard(live, table, proxy, "held", lambda: tables.Act(request, timeout=2))
        other = next(p for p in table.players.values() if p is not player)
        sitting_out = other.client.tables.SitOut(pb.SitOutRequest(table=table.id), timeout=2)
        told = await asyncio.gather(acting, sitting_out, return_exceptions=True)
        reasons = [error.reason for error in told if isinstance(error, StudError)]
        assert len(reasons) == 2
        assert set(reasons) <= {"OUTCOME_UNKNOWN", "LOG_UNAVAILABLE", "DEADLINE_EXCEEDED"}
        assert (await live.head(table.id)).version == version
        proxy.cut()
        proxy.heal()
        answer = await until_answered(player, request)
        assert answer.version == version
        assert await committed(live, table, "held") == [version]
        taken = await live.events(table.id, ev.ActionTaken)
        assert [e.turn_id for e in taken].count(mine.turn_id) == 1
        await finish(table)


async def until_answered(player: Player, request: pb.ActRequest) -> pb.ActResponse:
    """Asks again with the same request_id until there is an answer, as a front end does."""

    async def ask() -> pb.ActResponse | None:
        try:
            answer: pb.ActResponse = await player.client.tables.Act(request)
        except StudError as error:
            if not error.passing:
                raise
            return None
        return answer

    result: pb.ActResponse = await until(ask, "an answer")
    return result
