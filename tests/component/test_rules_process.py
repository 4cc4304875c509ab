"""The real referee on a real server: it verifies, disputes, waits, is killed and restarted, and answers operators."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import redis.asyncio

from stud.events.v1 import table_events_pb2
from stud.rules.v1 import rules_service_pb2 as pb
from stud_cli.local.log_server import EmbeddedServer
from stud_client.errors import from_rpc
from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.verdict_events import HandDisputed, HandResolved, HandVerified
from stud_eventlog import keys
from tests.support.referee_court import CALLS, codes, steal_from_the_winner
from tests.support.referee_hands import Rig
from tests.support.rules_process import RulesProcess, judging
from tests.support.waiting import until


@pytest.fixture
async def referee(valkey_server: EmbeddedServer, tmp_path: Path) -> AsyncIterator[RulesProcess]:
    async with judging(valkey_server.url, tmp_path / "rules") as process:
        yield process


async def hand(referee: RulesProcess, rig: Rig) -> Any:
    """Play a hand, have it judged, and let the table know when it is verified."""
    await rig.play_hand(mischief=0)
    version, verdict = await referee.verdict(rig)
    if isinstance(verdict, HandVerified):
        await rig.verdict(version)
    return verdict


async def cannot_verify(referee: RulesProcess, table_id: str) -> list[str]:
    async with referee.calling() as stub:
        listed = await stub.ListVerdicts(pb.ListVerdictsRequest(table=table_id), metadata=referee.who("auditor"))
    return [finding.code for finding in listed.cannot_verify]


async def test_hands_are_verified_and_can_be_asked_about(referee: RulesProcess):
    await referee.start()
    rigs = [await referee.table(f"t-{n}", n) for n in range(4)]
    for _ in range(2):
        verdicts = await asyncio.gather(*[hand(referee, rig) for rig in rigs])
        assert all(isinstance(verdict, HandVerified) for verdict in verdicts), verdicts
    async with referee.calling() as stub:
        who = referee.who("operator")
        listed = await stub.ListVerdicts(pb.ListVerdictsRequest(table="t-1"), metadata=who)
        assert [line.verified.hand_no for line in listed.verdicts] == [1, 2]
        again = await stub.AdjudicateHand(pb.AdjudicateHandRequest(table="t-1", hand_no=1), metadata=who)
        assert again.adjudication == pb.ADJUDICATION_VERIFIED
        assert list(again.postings) == list(listed.verdicts[0].verified.postings)
        rules = await stub.ListRulesets(pb.ListRulesetsRequest(), metadata=referee.who("player"))
        assert [ruleset.name for ruleset in rules.rulesets] == ["playnow", "william_hill"]
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.ListVerdicts(pb.ListVerdictsRequest(table="t-1"), metadata=referee.who("player"))
        assert from_rpc(caught.value).reason == "ROLE_NOT_ALLOWED"
    assert await referee.end() == 0


async def test_killed_after_the_append_and_before_the_cursor_it_says_it_once(referee: RulesProcess):
    """The cursor's key is made unusable, so that verdicts are appended and nothing is noted; then comes kill -9."""
    cursor = keys.cursor("rules", keys.dealer_feed(keys.shard_of("t-1")))
    await referee.start()
    rig = await referee.table("t-1")
    async with redis.asyncio.Redis.from_url(referee.url) as client:
        await client.delete(cursor)
        await client.hset(cursor, "no", "cursor")
        for _ in range(2):
            assert isinstance(await hand(referee, rig), HandVerified)
        await referee.kill()
        await client.delete(cursor)
    await rig.play_hand(mischief=0)
    await referee.start()
    _, verdict = await referee.verdict(rig)
    assert isinstance(verdict, HandVerified)
    assert [event.hand_no for _, event in await referee.verdicts("t-1")] == [1, 2, 3]


async def test_killed_at_any_moment_every_hand_gets_one_verdict(referee: RulesProcess):
    await referee.start()
    rigs = [await referee.table(f"t-{n}", n) for n in range(6)]

    async def kill_and_restart() -> None:
        for pause_s in (0.02, 0.3, 0.11):
            await asyncio.sleep(pause_s)
            await referee.kill()
            await referee.start()

    async def play(rig: Rig) -> None:
        for _ in range(3):
            assert isinstance(await hand(referee, rig), HandVerified)

    await asyncio.gather(kill_and_restart(), *[play(rig) for rig in rigs])
    for rig in rigs:
        numbers = Counter(event.hand_no for _, event in await referee.verdicts(rig.config.table_id))
        assert numbers == {1: 1, 2: 1, 3: 1}


async def test_a_disputed_hand_is_decided_by_two_operators(referee: RulesProcess):
    await referee.start()
    rig = await referee.table("t-1")
    await hand(referee, rig)
    rig.forge_table = steal_from_the_winner
    await rig.start()
    await rig.play_out(weights=CALLS)
    _, verdict = await referee.verdict(rig)
    rig.forge_table = None
    assert isinstance(verdict, HandDisputed)
    assert "WRONG_AWARD" in codes(verdict)

    async def alarm() -> bool:
        return any(line["event"] == "disputed" and line["alarm"] for line in referee.lines())

    await until(alarm, "an alarm")  # told after the verdict is in the log
    choice = table_events_pb2.RESOLUTION_CHOICE_REFEREE
    async with referee.calling() as stub:

        async def resolve(operator: str, role: str = "operator") -> pb.ResolveHandResponse:
            request = pb.ResolveHandRequest(table="t-1", hand_no=2, choice=choice, reason="so", request_id=operator)
            return await stub.ResolveHand(request, metadata=referee.who(role, account=operator))

        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await resolve("a1", "player")
        assert from_rpc(caught.value).reason == "ROLE_NOT_ALLOWED"
        assert not (await resolve("op-1")).decided
        await referee.kill()
        await referee.start()
        answer = await resolve("op-2")
        assert answer.decided
        assert (await resolve("op-2")) == answer
    version, resolved = (await referee.verdicts("t-1"))[-1]
    assert isinstance(resolved, HandResolved)
    await rig.send(cmd.RecordResolution(2, version, resolved.choice, resolved.stacks))
    assert isinstance(await hand(referee, rig), HandVerified)


async def test_a_hand_without_its_log_waits_and_the_other_tables_go_on(referee: RulesProcess):
    await referee.start()
    lost, other = await referee.table("t-1"), await referee.table("t-2")
    await hand(referee, lost)
    await lost.start()
    lost.auto = False
    while lost.state.hand is not None and lost.state.hand.deal is None:
        await lost.step(dict.fromkeys(ev.Verb, 1) | {ev.Verb.FOLD: 9})
    if lost.state.hand is not None:
        await lost.send(cmd.VoidHand(2, "test", "op"), actor="op")
    ended = next(e for e in lost.commits[-1][1] if isinstance(e, ev.HandEnded | ev.HandVoided))
    async with redis.asyncio.Redis.from_url(referee.url) as client:
        away = "{" + keys.shard_name(lost.shard) + "}:away"
        await client.rename(lost.table_stream, away)
        lost.record = nothing  # type: ignore[method-assign]
        await lost.tell_dealer(ended)

        async def waiting() -> bool:
            return await cannot_verify(referee, "t-1") == ["MISSING_LOG"]

        await until(waiting, "the hand waits")
        assert isinstance(await hand(referee, other), HandVerified)
        assert [event.hand_no for _, event in await referee.verdicts("t-1")] == [1]
        await client.rename(away, lost.table_stream)
    assert isinstance((await referee.verdict(lost))[1], HandVerified)


async def nothing(event: Any) -> None:
    """The table does not hear the dealer."""


async def test_with_another_key_it_waits_until_it_gets_its_own(referee: RulesProcess):
    referee.give_key(b"x" * 32)
    await referee.start()
    rig = await referee.table("t-1")
    await rig.play_hand(mischief=0)

    async def waiting() -> bool:
        return await cannot_verify(referee, "t-1") == ["WRONG_KEY"]

    await until(waiting, "the hand waits")
    assert await referee.verdicts("t-1") == []
    await referee.kill()
    await referee.start()
    assert await cannot_verify(referee, "t-1") == ["WRONG_KEY"]
    await referee.end()
    from tests.support.referee_hands import REFEREE_KEY

    referee.give_key(bytes(REFEREE_KEY))
    await referee.start()
    _, verdict = await referee.verdict(rig)
    assert isinstance(verdict, HandVerified)

    async def nothing_waits() -> bool:
        return await cannot_verify(referee, "t-1") == []

    await until(nothing_waits, "nothing waits any more")


async def test_without_its_key_it_does_not_start(referee: RulesProcess):
    (referee.keys_dir / "referee.key").unlink()
    with pytest.raises(AssertionError, match=r"referee\.key"):
        await referee.start()
    assert await referee.end() == 2
