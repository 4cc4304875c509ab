"""The real dealer on a real server: it deals, is killed and restarted, parks what contradicts itself, answers calls."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import redis.asyncio

from stud.dealer.v1 import dealer_service_pb2 as pb
from stud_cli.local.log_server import EmbeddedServer
from stud_client.errors import from_rpc
from stud_core.deck_events import DeckAudited, DeckCardsDealt, DeckClosed, DeckCommitted
from stud_eventlog import keys
from stud_eventlog.redis_streams import RedisEventLog
from stud_service.sealing import open_seed
from tests.support.dealer import (
    Tables,
    commits,
    deal,
    deck_events,
    opened_by_referee,
    opened_by_table,
    started,
    told,
)
from tests.support.dealer_process import DealerProcess, dealing
from tests.support.waiting import until

T = "t-1"
Setup = tuple[DealerProcess, RedisEventLog]


@pytest.fixture
async def setup(valkey_server: EmbeddedServer, tmp_path: Path) -> AsyncIterator[Setup]:
    async with dealing(valkey_server.url, tmp_path / "dealer") as made:
        yield made


async def head_reaches(log: RedisEventLog, version: int, table: str = T) -> None:
    async def reached() -> bool:
        return (await log.head(keys.deck_log(keys.shard_of(table), table))).version >= version

    await until(reached, f"version {version} of the deck log of {table}")


def deals(events: list[Any]) -> Counter[tuple[int, int]]:
    return Counter((event.hand_no, event.deal_no) for event in events if isinstance(event, DeckCardsDealt))


async def test_hands_are_dealt_and_handed_to_the_referee(setup: Setup):
    dealer, log = setup
    await dealer.start()
    tables = Tables(log)
    names = [f"t-{n}" for n in range(5)]
    for name in names:
        await tables.open(name)
        for hand_no in (1, 2):
            await tables.play(name, hand_no)
    for name in names:
        await head_reaches(log, 13, name)
        events = await deck_events(log, name)
        committed = [event for event in events if isinstance(event, DeckCommitted)]
        closed = [event for event in events if isinstance(event, DeckClosed)]
        for its_commitment, end in zip(committed, closed, strict=False):
            clear = opened_by_referee(name, end, its_commitment, dealer.ring)
            for dealt in (e for e in events if isinstance(e, DeckCardsDealt) and e.hand_no == end.hand_no):
                assert [card.card for card in dealt.up] == [
                    clear.cards[pos] for pos in dealt.positions[: len(dealt.up)]
                ]
                down = opened_by_table(name, dealt, clear.commitment, dealer.ring)
                assert down == [clear.cards[card.pos] for card in dealt.down]
        kinds = (DeckCommitted, DeckCardsDealt, DeckClosed)
        assert [type(e) for e in await told(log, name)] == [type(e) for e in events if isinstance(e, kinds)]
    assert await dealer.end() == 0


async def test_killed_after_the_append_and_before_the_cursor_it_deals_once(setup: Setup):
    """The cursor's key is made unusable, so that everything is appended and nothing noted; then comes kill -9."""
    dealer, log = setup
    feed = keys.table_feed(keys.shard_of(T))
    cursor = keys.cursor("dealer", feed)
    await dealer.start()
    async with redis.asyncio.Redis.from_url(dealer.url) as client:
        await client.hset(cursor, "no", "cursor")
        tables = Tables(log)
        await tables.open(T)
        await tables.play(T, 1)
        await tables.say(T, deal(2, 1))
        await head_reaches(log, 8)
        await dealer.kill()
        before = await commits(log, T), await told(log, T)
        await client.delete(cursor)
    assert await log.load_cursors("dealer", [feed]) == {feed: "0-0"}
    await dealer.start()
    await tables.say(T, deal(2, 2, burn=True))
    await head_reaches(log, 9)
    after = await commits(log, T), await told(log, T)
    assert (after[0][:8], after[1][: len(before[1])]) == before
    assert set(deals(await deck_events(log, T)).values()) == {1}

    async def noted() -> bool:
        return (await log.load_cursors("dealer", [feed]))[feed] == await log.last_id(feed)

    await until(noted, "the cursor is stored")


async def test_killed_at_any_time_it_goes_on_where_it_was(setup: Setup):
    dealer, log = setup
    rng = random.Random(4)
    tables = Tables(log)
    names = [f"t-{n}" for n in range(4)]
    for name in names:
        await tables.open(name)
    await dealer.start()
    for round_no in range(1, 4):
        for name in names:
            await tables.play(name, round_no)
        await asyncio.sleep(rng.random() * 0.05)
        await dealer.kill()
        await dealer.start()
    for name in names:
        await head_reaches(log, 19, name)
        events = await deck_events(log, name)
        assert deals(events) == {(hand, number): 1 for hand in (1, 2, 3) for number in range(1, 6)}
        assert [e.hand_no for e in events if isinstance(e, DeckCommitted)] == [1, 2, 3, 4]
        assert [e.hand_no for e in events if isinstance(e, DeckClosed)] == [1, 2, 3]
        assert deals(await told(log, name)) == deals(events)


async def test_a_changed_question_parks_its_table_and_no_other(setup: Setup):
    dealer, log = setup
    await dealer.start()
    tables = Tables(log)
    for name in (T, "t-2"):
        await tables.open(name)
        await tables.say(name, deal(1, 1))
        await head_reaches(log, 2, name)
    await tables.say(T, deal(1, 1, (1, 2)))
    await tables.say(T, deal(1, 2))
    await tables.say("t-2", deal(1, 2))
    await head_reaches(log, 3, "t-2")

    async def parked() -> list[Any]:
        letters = await log.dead_list("dealer")
        return letters if len(letters) == 2 else []

    letters = await until(parked, "two parked messages")
    assert {letter.table_id for letter in letters} == {T}
    assert "REQUEST_CHANGED" in letters[0].reason
    assert deals(await deck_events(log, T)) == {(1, 1): 1}
    # Operators drop the bad one; what stood behind it is answered.
    await log.dead_discard("dealer", keys.shard_of(T), T, up_to=letters[0].number)
    await log.request_retry("dealer", keys.shard_of(T), T)
    await head_reaches(log, 3)
    assert deals(await deck_events(log, T)) == {(1, 1): 1, (1, 2): 1}


async def test_a_server_that_goes_away_is_waited_for(fresh_server: EmbeddedServer, tmp_path: Path):
    async with dealing(fresh_server.url, tmp_path / "dealer") as (dealer, log):
        await dealer.start()
        tables = Tables(log)
        await tables.open(T)
        await tables.say(T, deal(1, 1))
        await head_reaches(log, 2)
        await fresh_server.kill()
        await fresh_server.start()
        await log.wait_available()
        await tables.say(T, deal(1, 2))
        await head_reaches(log, 3)
        assert set(deals(await deck_events(log, T)).values()) == {1}
        await until(dealer.is_serving, "serving again")


async def test_no_key_no_dealer(setup: Setup):
    dealer, _ = setup
    (dealer.keys_dir / "dealer.key").unlink()
    await dealer.start(ready=False)
    assert await dealer.process.wait() == 2  # type: ignore[union-attr]
    (line,) = [line for line in dealer.lines() if line["event"] == "cannot_start"]
    assert "dealer.key" in line["why"]


# Calls


async def refused(call: Any, code: grpc.StatusCode, reason: str) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    assert (caught.value.code(), from_rpc(caught.value).reason) == (code, reason)


async def test_the_calls_of_a_rehearsal(setup: Setup):
    """StackDeck comes while the dealer has not heard of the table yet, as right after CreateTable."""
    dealer, log = setup
    await dealer.start("--allow-stacked-decks")
    order = [*range(20, 53), *range(1, 20)]
    request = pb.StackDeckRequest(table=T, hand_no=1, cards=order, request_id="r-1")
    operator, auditor = dealer.who("operator"), dealer.who("auditor", account="aud-1")
    tables = Tables(log)
    async with dealer.calling() as dealer_api:
        asked = dealer_api.StackDeck(request, metadata=operator)
        await asyncio.sleep(0.05)
        await tables.open(T, "XTS", stacked=True)
        commitment = (await asked).commitment
        assert (await dealer_api.StackDeck(request, metadata=operator)).commitment == commitment
        changed = pb.StackDeckRequest(table=T, hand_no=1, cards=order[::-1], request_id="r-1")
        await refused(
            dealer_api.StackDeck(changed, metadata=operator), grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED"
        )
        audit = pb.AuditDeckRequest(table=T, hand_no=1, reason="to see it")
        await refused(
            dealer_api.AuditDeck(audit, metadata=auditor), grpc.StatusCode.FAILED_PRECONDITION, "HAND_RUNNING"
        )
        await tables.say(T, started(1), deal(1, 1))
        await tables.void(T, 1)
        await head_reaches(log, 4)
        shown = await dealer_api.GetCommitment(
            pb.GetCommitmentRequest(table=T, hand_no=1), metadata=dealer.who("player")
        )
        assert (shown.commitment, shown.stacked, shown.closed) == (commitment, True, True)
        for roles in ("player", "operator"):
            await refused(
                dealer_api.AuditDeck(audit, metadata=dealer.who(roles)),
                grpc.StatusCode.PERMISSION_DENIED,
                "ROLE_NOT_ALLOWED",
            )
        opened = await dealer_api.AuditDeck(audit, metadata=auditor)
        assert (list(opened.cards), opened.proven) == (order, True)
    assert (await deck_events(log, T))[-1] == DeckAudited(1, "aud-1", "to see it")


async def test_without_the_flag_nothing_is_stacked(setup: Setup):
    dealer, log = setup
    await dealer.start()
    await Tables(log).open(T, "XTS", stacked=True)
    request = pb.StackDeckRequest(table=T, hand_no=1, cards=range(1, 53), request_id="r-1")  # type: ignore[arg-type]
    async with dealer.calling() as dealer_api:
        await refused(
            dealer_api.StackDeck(request, metadata=dealer.who("operator")),
            grpc.StatusCode.FAILED_PRECONDITION,
            "STACKED_DECKS_OFF",
        )
        await refused(
            dealer_api.GetCommitment(pb.GetCommitmentRequest(table=T, hand_no=1)),
            grpc.StatusCode.UNAUTHENTICATED,
            "UNAUTHENTICATED",
        )


# Secrets


async def every_value(url: str) -> list[bytes]:
    """All that the server holds, as bytes."""
    values: list[bytes] = []
    async with redis.asyncio.Redis.from_url(url) as client:
        reads: dict[bytes, Any] = {
            b"stream": client.xrange,
            b"string": client.get,
            b"hash": client.hgetall,
            b"set": client.smembers,
        }
        async for key in client.scan_iter():
            kind: Any = await client.type(key)
            values += flat(await reads[kind](key))
    return values


def flat(content: Any) -> list[bytes]:
    if isinstance(content, bytes):
        return [content]
    if isinstance(content, dict):
        return [value for pair in content.items() for part in pair for value in flat(part)]
    return [value for part in content for value in flat(part)] if isinstance(content, list | tuple | set) else []


async def test_nothing_on_the_server_or_in_the_log_lines_is_a_secret(setup: Setup):
    dealer, log = setup
    await dealer.start()
    tables = Tables(log)
    await tables.open(T)
    await tables.play(T, 1)
    await tables.say(T, deal(2, 1))
    await tables.say(T, deal(2, 1, (1, 2)))  # a fault, so that there is a traceback, too
    await head_reaches(log, 8)
    await until(lambda: log.dead_list("dealer"), "parked")
    async with dealer.calling() as dealer_api:
        request = pb.AuditDeckRequest(table=T, hand_no=1, reason="a complaint")
        opened = await dealer_api.AuditDeck(request, metadata=dealer.who("auditor"))
    assert await dealer.end() == 0
    ring = dealer.ring
    secrets = [bytes(ring.key(name)) for name in ("dealer", "down", "referee")]
    committed = [event for event in await deck_events(log, T) if isinstance(event, DeckCommitted)]
    secrets += [open_seed(ring.key("dealer"), event.seed, T, event.hand_no, event.commitment) for event in committed]
    values = await every_value(dealer.url)
    assert len(values) > 30
    cards = bytes(card - 1 for card in opened.cards)
    for value in values:
        assert not any(secret[:8] in value for secret in [*secrets, cards, bytes(opened.cards)])
    lines = dealer.stderr.read_text()
    assert "poison" in lines
    assert "deck_audited" in lines
    for secret in secrets:
        for form in (secret.hex(), repr(bytes(secret))[2:-1], str(list(secret))[1:-1]):
            assert form[:24] not in lines
    for order in (list(cards), list(opened.cards), list(opened.river_rank)):
        assert str(order)[1:24] not in lines
