"""The real wallet on a real server: killed at the worst moments, late, contradicted, and decided about by operators."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import redis.asyncio

from stud.events.v1 import ledger_events_pb2 as lpb
from stud.wallet.v1 import wallet_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2_grpc as rpc
from stud_cli.local.log_server import EmbeddedServer
from stud_client.errors import from_rpc
from stud_core import events as te
from stud_core.ledger import events as ev
from stud_eventlog import keys
from stud_eventlog.redis_streams import RedisEventLog
from tests.support.proxy import Proxy
from tests.support.waiting import until
from tests.support.wallet import Floor, buy_in, cash_out, disputed, resolved, top_up, verified
from tests.support.wallet_process import WalletProcess, banking

T = "t-1"
HAND = ((1, "ann", -100), (2, "bob", 95))
Setup = tuple[WalletProcess, RedisEventLog, Floor]


@pytest.fixture
async def setup(valkey_server: EmbeddedServer, tmp_path: Path) -> AsyncIterator[Setup]:
    async with banking(valkey_server.url, tmp_path / "wallet") as (wallet, log):
        yield wallet, log, Floor(log)


async def fund(wallet: WalletProcess, **players: int) -> None:
    cashier = wallet.who("cashier")
    async with wallet.calling() as stub:
        for name, money in players.items():
            opening = pb.OpenAccountRequest(currency="EUR", account=name, request_id=f"open-{name}")
            await stub.OpenAccount(opening, metadata=cashier)
            await stub.Deposit(booking(name, money, f"first-{name}"), metadata=cashier)


def booking(account: str, amount: int, request_id: str) -> pb.DepositRequest:
    return pb.DepositRequest(currency="EUR", account=account, amount=amount, reference="card", request_id=request_id)


async def refused(reason: str, call: Any) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    assert from_rpc(caught.value).reason == reason


async def seated(floor: Floor, table: str = T) -> None:
    await floor.say(table, buy_in(1, "ann"))
    await floor.say(table, buy_in(2, "bob"))
    await floor.hears(table, ev.BuyInFunded, ev.BuyInFunded)


async def noted(log: RedisEventLog, feed: str) -> None:
    """Wait until the wallet's cursor is at the feed's end: nothing of it is left to do."""

    async def at_its_end() -> bool:
        return (await log.load_cursors("wallet", [feed]))[feed] == await log.last_id(feed)

    await until(at_its_end, f"the cursor of {feed}")


async def test_money_goes_round(setup: Setup):
    wallet, _, floor = setup
    await wallet.start()
    await fund(wallet, ann=1000, bob=1000)
    await seated(floor)
    await floor.say(T, top_up(1, 1, "ann"))
    await floor.judge(verified(T, 1, *HAND, rake=5))
    await floor.say(T, cash_out(1, "ann", 500, 1), cash_out(2, "bob", 595, 1))
    await floor.hears(T, ev.BuyInFunded, ev.BuyInFunded, ev.TopUpFunded, ev.CashedOut, ev.CashedOut)
    async with wallet.calling() as stub:
        request = pb.GetTrialBalanceRequest(currency="EUR")
        answer = await stub.GetTrialBalance(request, metadata=wallet.who("auditor"))
    assert {line.account: line.balance for line in answer.balances} == {
        "player:ann": 900, "player:bob": 1095, "house:rake": 5, "house:cashier": -2000,
    }  # fmt: skip
    assert (answer.sum, answer.liabilities) == (0, 1995)
    assert await wallet.end() == 0


async def test_killed_between_append_and_cursor_nothing_is_doubled(setup: Setup):
    """The cursors' keys are made unusable, so that everything is appended and nothing noted; then comes kill -9."""
    wallet, log, floor = setup
    feeds = [keys.table_feed(keys.shard_of(T)), keys.verdicts(keys.shard_of(T))]
    cursors = [keys.cursor("wallet", feed) for feed in feeds]
    await wallet.start()
    await fund(wallet, ann=1000, bob=1000)
    async with redis.asyncio.Redis.from_url(wallet.url) as client:
        for cursor in cursors:
            await client.hset(cursor, "no", "cursor")
        await seated(floor)
        await floor.say(T, top_up(1, 1, "ann"))
        await floor.judge(verified(T, 1, *HAND, rake=5), disputed(T, 2), resolved(T, 2))
        await floor.wrote(ev.HandSettled, 2)
        await floor.say(T, cash_out(1, "ann", 500, 2))
        await floor.wrote(ev.CashedOut)
        await wallet.kill()
        before = Counter(map(repr, await floor.entries()))
        await client.delete(*cursors)
    assert set((await log.load_cursors("wallet", feeds)).values()) == {"0-0"}
    await wallet.start()
    await floor.say(T, cash_out(2, "bob", 595, 2))
    await floor.wrote(ev.CashedOut, 2)
    for feed in feeds:
        await noted(log, feed)
    after = Counter(map(repr, await floor.entries()))
    assert after - before == Counter([repr(ev.CashedOut(T, 2, "bob", 595))])
    assert not before - after


async def test_killed_at_any_time_every_request_is_booked_once(setup: Setup):
    """Cashiers repeat what was not answered; tables' messages are read on from the cursor."""
    wallet, log, floor = setup
    rng = random.Random(7)
    await wallet.start()
    await fund(wallet, ann=1000)
    tables = [f"t-{number}" for number in range(12)]

    async def until_answered(number: int) -> None:
        while True:
            try:
                async with wallet.calling() as stub:
                    request = booking("ann", 1000 + number, f"d-{number}")
                    await stub.Deposit(request, metadata=wallet.who("cashier"), timeout=2)
                return
            except grpc.aio.AioRpcError as error:
                if error.code() not in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}:
                    raise
                await asyncio.sleep(0.1)

    cashiers = [asyncio.create_task(until_answered(number)) for number in range(30)]
    for crash in range(3):
        for table in tables[crash * 4 : crash * 4 + 4]:
            await floor.say(table, buy_in(1, "ann", 1))
            await floor.say(table, cash_out(1, "ann", None))
        await asyncio.sleep(rng.random() * 0.03)
        await wallet.kill()
        await wallet.start()
    await asyncio.gather(*cashiers)
    for table in tables:
        await noted(log, keys.table_feed(keys.shard_of(table)))
        answers = await floor.told(table)
        assert [type(answer) for answer in answers] == [ev.BuyInFunded, ev.CashedOut]
    booked = Counter(event.request_id for event in await floor.entries() if isinstance(event, ev.Deposited))
    assert booked == Counter({f"d-{number}": 1 for number in range(30)} | {"first-ann": 1})
    assert (await floor.balances())["player:ann"] == 1000 + sum(1000 + number for number in range(30))


async def test_a_funding_that_comes_too_late_is_paid_back_by_the_message_behind_it(setup: Setup):
    """The wallet was away: one reservation has expired by its clock, the other only by the table's."""
    wallet, _, floor = setup
    await wallet.start()
    await fund(wallet, ann=1000, bob=1000)
    assert await wallet.end() == 0
    release = te.SeatReleased(1, 1, "RESERVATION_EXPIRED")
    await floor.say(T, buy_in(1, "ann", expires_at_ms=int(time.time() * 1000)))
    await floor.say(T, release, cash_out(1, "ann", None))
    await floor.say("t-2", buy_in(1, "bob"))
    await floor.say("t-2", release, cash_out(1, "bob", None))
    await wallet.start()
    declined, nothing = await floor.hears(T, ev.BuyInDeclined, ev.CashedOut)
    assert (declined.reason, nothing.amount) == ("RESERVATION_EXPIRED", 0)
    funded, back = await floor.hears("t-2", ev.BuyInFunded, ev.CashedOut)
    assert funded.amount == back.amount == 500
    assert await floor.balances() == {"player:ann": 1000, "player:bob": 1000, "house:cashier": -2000}


async def test_a_planted_figure_that_would_overdraw_moves_nothing(setup: Setup):
    wallet, _, floor = setup
    await wallet.start()
    await fund(wallet, ann=1000, bob=1000)
    await seated(floor)
    before = await floor.balances()
    await floor.judge(verified(T, 1, (1, "ann", -501), (2, "bob", 501)))
    answers = await floor.hears(T, ev.BuyInFunded, ev.BuyInFunded, ev.SettlementBlocked)
    assert (answers[-1].hand_no, answers[-1].reason) == (1, "ESCROW_OVERDRAWN")
    await floor.judge(verified(T, 2, (1, "ann", 1), (2, "bob", -1)))
    await floor.judge(verified("t-9", 1))
    await floor.wrote(ev.HandSettled)
    assert await floor.balances() == before
    # The house covers what is missing; what waited behind it follows.
    lines = [lpb.Posting(account="house:cashier", amount=-1), lpb.Posting(account=f"escrow:{T}:1", amount=1)]
    async with wallet.calling() as stub:
        for number, operator in enumerate(("op-1", "op-2")):
            request = pb.AdjustRequest(currency="EUR", postings=lines, reference="ticket", request_id=f"r-{number}")
            await stub.Adjust(request, metadata=wallet.who("operator", account=operator))
    hands = [event.hand_no for event in await floor.wrote(ev.HandSettled, 3) if event.table == T]
    assert hands == [1, 2]
    assert (await floor.balances())[f"escrow:{T}:1"] == 1


async def resolve(stub: rpc.WalletServiceStub, wallet: WalletProcess, operator: str, request_id: str) -> bool:
    request = pb.ResolveCashOutRequest(
        currency="EUR", table=T, sitting_no=1, amount=550, reason="the table was right", request_id=request_id
    )
    answer = await stub.ResolveCashOut(request, metadata=wallet.who("operator", account=operator))
    return answer.decided


async def test_a_claim_that_differs_is_blocked_until_two_operators_decide(setup: Setup):
    wallet, _, floor = setup
    await wallet.start()
    await fund(wallet, ann=1000, bob=1000)
    await seated(floor)
    await floor.say(T, cash_out(1, "ann", 550))
    answers = await floor.hears(T, ev.BuyInFunded, ev.BuyInFunded, ev.CashOutBlocked)
    assert (answers[-1].claim, answers[-1].escrow) == (550, 500)
    async with wallet.calling() as stub:
        assert not await resolve(stub, wallet, "op-1", "a")
        await refused("SECOND_OPERATOR_REQUIRED", resolve(stub, wallet, "op-1", "b"))
        await wallet.kill()
        await wallet.start()  # a proposal outlives the process
        await refused("SECOND_OPERATOR_REQUIRED", resolve(stub, wallet, "op-1", "c"))
        assert await resolve(stub, wallet, "op-2", "d")
        await refused("NOTHING_BLOCKED", resolve(stub, wallet, "op-3", "e"))
    answers = await floor.hears(T, ev.BuyInFunded, ev.BuyInFunded, ev.CashOutBlocked, ev.CashedOut)
    assert answers[-1].amount == 550
    balances = await floor.balances()
    assert (balances["player:ann"], balances["house:cashier"]) == (1050, -2050)


async def test_an_append_whose_answer_is_lost_ends_as_one_commit(valkey_server: EmbeddedServer, tmp_path: Path):
    """The server has written and nobody hears of it: the same append is repeated until it answers."""
    async with Proxy(valkey_server.port) as proxy, banking(valkey_server.url, tmp_path / "wallet") as (wallet, log):
        floor = Floor(log)
        wallet.url = proxy.url
        await wallet.start()
        await fund(wallet, ann=1000)
        async with wallet.calling() as stub:

            async def deposit() -> pb.DepositResponse:
                return await stub.Deposit(booking("ann", 7, "d-1"), metadata=wallet.who("cashier"), timeout=15)

            proxy.replies.drop()
            call = asyncio.create_task(deposit())
            await floor.wrote(ev.Deposited, 2)
            proxy.heal()
            proxy.cut()
            first = await call

            async def once_more() -> pb.DepositResponse | None:
                try:
                    return await deposit()
                except grpc.aio.AioRpcError as error:  # connections are still being made anew
                    if error.code() is not grpc.StatusCode.UNAVAILABLE:
                        raise
                    return None

            again = await until(once_more, "the repeated call is answered")
        assert (first.balance, first.version) == (again.balance, again.version) == (1007, 3)
        assert (await log.head(keys.ledger_log("EUR"))).version == 3
