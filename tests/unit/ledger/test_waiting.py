"""What waits for operators in the wallet can be listed, page by page, after a restart too."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from stud.events.v1 import ledger_events_pb2
from stud.wallet.v1 import wallet_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2_grpc as rpc
from stud_core.ledger import commands as cmd
from stud_core.ledger import events as ev
from stud_eventlog.memory import MemoryEventLog
from tests.support.ledger import Till
from tests.support.wallet import Floor, Office, buy_in, cash_out, disputed, who, working

OPERATOR, SECOND, AUDITOR = who("op-1", "operator"), who("op-2", "operator"), who("eve", "auditor")
T, U = "t-1", "t-2"
AT_MS = 5_000


@pytest.fixture
async def wallet(office: Office, floor: Floor) -> AsyncIterator[rpc.WalletServiceStub]:
    """Three sittings whose claims are wrong: two at one table, one at another."""
    for table, account, number in ((T, "ann", 1), (T, "bob", 2), (U, "ann", 1)):
        await floor.say(table, buy_in(number, account, 100))
    await floor.wrote(ev.BuyInFunded, 3)
    for table, account, number in ((T, "ann", 1), (T, "bob", 2), (U, "ann", 1)):
        await floor.say(table, cash_out(number, account, 70 + number))
    await floor.wrote(ev.CashOutBlocked, 3)
    office.now_ms = AT_MS
    async with office.open_to_callers() as stub:
        yield stub


async def held(wallet: rpc.WalletServiceStub, metadata: Any = OPERATOR, **fields: Any) -> pb.ListHeldCashOutsResponse:
    return await wallet.ListHeldCashOuts(pb.ListHeldCashOutsRequest(**fields), metadata=metadata)


async def proposed(wallet: rpc.WalletServiceStub, metadata: Any = OPERATOR, **fields: Any) -> pb.ListProposalsResponse:
    return await wallet.ListProposals(pb.ListProposalsRequest(**fields), metadata=metadata)


def place(line: pb.HeldCashOut) -> tuple[str, int]:
    return line.table, line.sitting_no


async def resolve(wallet: rpc.WalletServiceStub, metadata: Any, amount: int, sitting_no: int = 1) -> bool:
    about: dict[str, Any] = {
        "currency": "EUR",
        "table": T,
        "sitting_no": sitting_no,
        "amount": amount,
        "reason": "seen",
    }
    request = pb.ResolveCashOutRequest(**about, request_id=f"r-{amount}-{sitting_no}-{metadata is SECOND}")
    return (await wallet.ResolveCashOut(request, metadata=metadata)).decided


async def adjust(wallet: rpc.WalletServiceStub, metadata: Any, amount: int, account: str = "player:bob") -> bool:
    lines = [
        ledger_events_pb2.Posting(account=account, amount=-amount),
        ledger_events_pb2.Posting(account="house:cashier", amount=amount),
    ]
    request = pb.AdjustRequest(currency="EUR", postings=lines, reference="ticket", request_id=f"a-{amount}")
    return (await wallet.Adjust(request, metadata=metadata)).decided


async def test_held_cash_outs_are_listed_with_both_figures(wallet: rpc.WalletServiceStub):
    answer = await held(wallet, AUDITOR)
    assert [place(line) for line in answer.held] == [(T, 1), (T, 2), (U, 1)]
    first = answer.held[0]
    assert (first.currency, first.account, first.claim, first.escrow, first.waits_for) == ("EUR", "ann", 71, 100, "")
    assert [place(line) for line in (await held(wallet, currency="EUR", table=U)).held] == [(U, 1)]
    assert not (await held(wallet, currency="XTS")).held
    assert not (await held(wallet, table="t-9")).held


async def test_pages_of_held_cash_outs_go_on_where_the_last_one_ended(wallet: rpc.WalletServiceStub):
    found, token = [], ""
    for _ in range(3):
        answer = await held(wallet, page_size=1, page_token=token)
        found += [place(line) for line in answer.held]
        token = answer.next_page_token
    assert (found, token) == ([(T, 1), (T, 2), (U, 1)], "")
    for wrong in ({"page_size": 1001}, {"page_token": "made-up"}, {"table": "No Table"}):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await held(wallet, **wrong)
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_held_cash_out_says_what_has_to_be_decided_before_it(wallet: rpc.WalletServiceStub, floor: Floor):
    await floor.judge(disputed(T, 1, (1, "ann", 5), (2, "bob", -5)))
    with pytest.raises(grpc.aio.AioRpcError):  # has the wallet read on what the referee has said
        await resolve(wallet, OPERATOR, 100)
    assert [line.waits_for for line in (await held(wallet, table=T)).held] == ["HAND_DISPUTED"] * 2


async def test_what_waits_for_a_second_operator_is_listed_oldest_first(wallet: rpc.WalletServiceStub):
    assert not await resolve(wallet, OPERATOR, 90)
    assert not await adjust(wallet, OPERATOR, 5)
    first, second = (await proposed(wallet, AUDITOR)).proposals
    assert (first.currency, first.table, first.sitting_no, first.amount) == ("EUR", T, 1, 90)
    assert (first.operator, first.reference, first.at_ms, first.counts) == ("op-1", "seen", AT_MS, True)
    assert [(line.account, line.amount) for line in first.postings] == [("house:cashier", 10), ("escrow:t-1:1", -10)]
    assert (second.table, second.amount, second.reference) == ("", 0, "ticket")
    assert [(line.account, line.amount) for line in second.postings] == [("player:bob", -5), ("house:cashier", 5)]
    pages = await proposed(wallet, page_size=1)
    assert [line.version for line in pages.proposals] == [first.version]
    more = await proposed(wallet, page_size=1, page_token=pages.next_page_token)
    assert ([line.version for line in more.proposals], more.next_page_token) == ([second.version], "")
    assert not (await proposed(wallet, currency="XTS")).proposals


async def test_what_is_decided_waits_no_more(wallet: rpc.WalletServiceStub):
    """Nor does any other amount that was proposed for the same sitting."""
    for amount in (90, 80):
        assert not await resolve(wallet, OPERATOR, amount)
    assert not await resolve(wallet, OPERATOR, 60, sitting_no=2)
    assert await resolve(wallet, SECOND, 90)
    assert [(line.sitting_no, line.amount) for line in (await proposed(wallet)).proposals] == [(2, 60)]
    assert [place(line) for line in (await held(wallet)).held] == [(T, 2), (U, 1)]


async def test_a_proposal_of_somebody_with_an_interest_counts_for_nothing(
    wallet: rpc.WalletServiceStub, office: Office, floor: Floor
):
    assert not await resolve(wallet, OPERATOR, 90)
    await office.fund(**{"op-1": 500})
    await floor.say(T, buy_in(9, "op-1", 100))
    await floor.wrote(ev.BuyInFunded, 4)
    assert [line.counts for line in (await proposed(wallet)).proposals] == [False]


async def test_a_restart_forgets_nothing(wallet: rpc.WalletServiceStub, log: MemoryEventLog):
    assert not await resolve(wallet, OPERATOR, 90)
    before = (await proposed(wallet)).proposals, (await held(wallet)).held
    async with working(log) as again, again.open_to_callers() as stub:
        assert ((await proposed(stub)).proposals, (await held(stub)).held) == before


async def test_who_plays_or_books_is_told_of_neither(wallet: rpc.WalletServiceStub):
    for metadata in (who("ann"), who("cash", "cashier")):
        for call in (held, proposed):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await call(wallet, metadata)
            assert refused.value.code() is grpc.StatusCode.PERMISSION_DENIED


def test_the_amount_of_a_proposal_is_that_of_its_time():
    """Lines that bring an escrow to an amount are right for the balance that it had then."""
    till = Till(ann=500)
    till.seat(1, "ann", 500)
    till.leave(1, "ann", 400)
    till.gives(cmd.ResolveCashOut(T, 1, 450, "op-1", "seen"))
    (known,) = till.state.proposals.values()
    assert (known.amount, known.version) == (450, till.state.version)
    till.gives(cmd.ResolveCashOut(T, 1, 500, "op-1", "seen"))
    assert [known.amount for known in till.state.proposals.values()] == [450, 500]
