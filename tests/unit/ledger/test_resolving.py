"""Cash-outs that two operators decide, and those whose request was dropped with a table's parked line."""

from pathlib import Path
from typing import Any

import pytest

from stud.table.v1 import table_service_pb2 as tpb
from stud.wallet.v1 import wallet_service_pb2 as pb
from stud_core import events as te
from stud_core.ledger import commands as cmd
from stud_core.ledger import events as ev
from stud_core.state import Sit
from stud_eventlog import keys
from stud_eventlog.memory import MemoryEventLog
from stud_eventlog.types import StoredCommit
from stud_service.refusals import Refused
from stud_service.retrying import Poison
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, simulated
from tests.support.waiting import until
from tests.support.wallet import (
    Floor,
    Office,
    buy_in,
    cash_out,
    disputed,
    resolved,
    seat_two,
    top_up,
    verified,
    who,
)
from wallet_service import app as module
from wallet_service.servicer import WalletServicer
from wallet_service.table_requests import requests_of

T = "t-1"
SHARD = keys.shard_of(T)
FUNDED = [ev.BuyInFunded] * 2
HAND = ((1, "ann", -100), (2, "bob", 100))


@pytest.fixture
async def office(office: Office, floor: Floor) -> Office:
    """Both sit."""
    await seat_two(floor, T)
    return office


async def resolve(office: Office, operator: str, amount: int, sitting_no: int = 1) -> bool:
    """One operator's call; whether it decided. The reason of a refusal is in what is raised."""
    request = pb.ResolveCashOutRequest(
        currency="EUR",
        table=T,
        sitting_no=sitting_no,
        amount=amount,
        reason="seen",
        request_id=f"{sitting_no}-{amount}",
    )
    async with office.open_to_callers() as wallet:
        return (await wallet.ResolveCashOut(request, metadata=who(operator, "operator"))).decided


async def drop(log: MemoryEventLog, floor: Floor, *events: Any) -> None:
    """The table says something that can never be handled, and this behind it; an operator drops the line."""
    await floor.say(T, buy_in(99, "ann", currency="JPY"), *events)

    async def parked() -> bool:
        return len(await log.dead_list("wallet")) == 1 + len(events)

    await until(parked, "the line is parked")
    await log.dead_discard("wallet", SHARD, T)


# ------------------------------------------------------------------ what comes first


async def test_nothing_is_paid_out_of_a_hand_whose_settlement_is_blocked(office: Office, floor: Floor):
    await floor.judge(verified(T, 1, (1, "ann", -600), (2, "bob", 600)))
    await floor.say(T, cash_out(2, "bob", 1100, 1))
    kinds = [*FUNDED, ev.SettlementBlocked, ev.CashOutBlocked]
    await floor.hears(T, *kinds)
    with pytest.raises(Exception, match="hand 1 of sitting 2 is not settled"):
        await resolve(office, "op-1", 500, 2)
    cover = (ev.Posting("house:cashier", -100), ev.Posting(f"escrow:{T}:1", 100))
    for operator in ("op-1", "op-2"):
        await office.submit(cmd.Adjust(cover, operator, "ticket", "r"))
    with pytest.raises(Exception, match="sitting 2 is paid"):  # by the settlement, which the call has tried again
        await resolve(office, "op-1", 1100, 2)
    assert (await floor.hears(T, *kinds, ev.HandSettled, ev.CashedOut))[-1].amount == 1100


async def test_a_sitting_that_a_blocked_hand_does_not_concern_is_resolved_all_the_same(office: Office, floor: Floor):
    await floor.judge(verified(T, 1, (1, "ann", -600), (2, "bob", 600)))
    await floor.wrote(ev.SettlementBlocked)
    await floor.say(T, buy_in(3, "bob", 100), cash_out(3, "bob", 101))
    await floor.hears(T, *FUNDED, ev.SettlementBlocked, ev.BuyInFunded, ev.CashOutBlocked)
    assert [await resolve(office, operator, 100, 3) for operator in ("op-1", "op-2")] == [False, True]


async def test_nothing_is_paid_out_of_a_hand_in_dispute(office: Office, floor: Floor):
    await floor.say(T, cash_out(1, "ann", 400, 1))
    await floor.hears(T, *FUNDED, ev.CashOutBlocked)
    await floor.judge(disputed(T, 1, *HAND))
    with pytest.raises(Exception, match="disputed hand"):  # the call itself reads what the referee has said
        await resolve(office, "op-1", 400)
    await floor.judge(resolved(T, 1, *HAND))
    await floor.hears(T, *FUNDED, ev.CashOutBlocked, ev.CashedOut)


# ------------------------------------------------------------------ lines that were dropped


async def test_a_cash_out_that_was_dropped_is_asked_for_again_and_paid(
    log: MemoryEventLog, office: Office, floor: Floor
):
    await floor.judge(verified(T, 1, *HAND))
    await floor.wrote(ev.HandSettled)
    await drop(log, floor, cash_out(1, "ann", 400, 1), cash_out(2, "bob", 600, 1))
    assert not [event for event in await floor.entries() if isinstance(event, ev.CashedOut)]
    for sitting_no, amount in ((1, 400), (2, 600)):
        with pytest.raises(Exception, match=f"sitting {sitting_no} is paid"):
            await resolve(office, "op-1", amount, sitting_no)
    answers = await floor.hears(T, *FUNDED, ev.CashedOut, ev.CashedOut)
    assert [answer.amount for answer in answers[2:]] == [400, 600]
    assert await floor.balances() == {"player:ann": 900, "player:bob": 1100, "house:cashier": -2000}


async def test_a_dropped_claim_that_is_wrong_is_held_for_two_operators(
    log: MemoryEventLog, office: Office, floor: Floor
):
    await drop(log, floor, cash_out(1, "ann", 501))
    assert [await resolve(office, operator, 500) for operator in ("op-1", "op-2")] == [False, True]
    answers = await floor.hears(T, *FUNDED, ev.CashOutBlocked, ev.CashedOut)
    assert answers[-1].amount == 500


async def test_who_has_not_asked_for_their_money_is_not_paid(office: Office, floor: Floor):
    for operator in ("op-1", "op-2"):
        with pytest.raises(Exception, match="no blocked cash-out"):
            await resolve(office, operator, 500)
    with pytest.raises(Exception, match="no blocked cash-out"):
        await resolve(office, "op-1", 0, sitting_no=7)
    assert (await floor.balances())[f"escrow:{T}:1"] == 500


async def test_a_dropped_buy_in_and_a_dropped_top_up_are_answered(log: MemoryEventLog, office: Office, floor: Floor):
    late = buy_in(3, "bob", 100, expires_at_ms=office.now_ms)
    await drop(log, floor, top_up(1, 1, "ann", 50), late, cash_out(3, "bob", None), cash_out(1, "ann", 550))
    with pytest.raises(Exception, match="sitting 1 is paid"):
        await resolve(office, "op-1", 550)
    with pytest.raises(Exception, match="sitting 3 is paid"):
        await resolve(office, "op-1", 0, sitting_no=3)
    answers = await floor.hears(T, *FUNDED, ev.TopUpFunded, ev.CashedOut, ev.BuyInDeclined, ev.CashedOut)
    assert [answers[3].amount, answers[5].amount] == [550, 0]


async def test_a_dropped_cash_out_waits_for_its_hand_like_any_other(log: MemoryEventLog, office: Office, floor: Floor):
    await drop(log, floor, cash_out(1, "ann", 400, 1))
    await floor.judge(disputed(T, 1, *HAND))
    with pytest.raises(Exception, match="disputed hand"):
        await resolve(office, "op-1", 400)
    await floor.judge(resolved(T, 1, *HAND))
    answers = await floor.hears(T, *FUNDED, ev.CashOutBlocked, ev.CashedOut)
    assert answers[-1].amount == 400


async def test_requests_are_looked_for_from_the_end_and_no_further_than_the_buy_in():
    class Counting(MemoryEventLog):
        commits = 0

        async def read(self, stream: str, after: int = 0, limit: int = 500) -> list[StoredCommit]:
            page = await super().read(stream, after, limit)
            self.commits += len(page)
            return page

    log = Counting()
    floor = Floor(log)
    for number in range(1, 1400):
        await floor.say(T, te.SatOut(1, 1, te.OutReason.REQUESTED))
        if number in (700, 800, 1300):
            await floor.say(T, {700: buy_in(5, "ann"), 800: top_up(5, 1, "ann"), 1300: cash_out(5, "ann", 1)}[number])
    found = [event for _, event in await requests_of(log, T, 5)]
    assert found == [buy_in(5, "ann"), top_up(5, 1, "ann"), cash_out(5, "ann", 1)]
    assert log.commits == 1000
    assert await requests_of(log, "t-unknown", 1) == []
    await log.close()


# ------------------------------------------------------------------ with the table itself


@simulated
async def test_the_table_takes_the_answer_to_a_request_that_was_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def broken(table: str, event: Any, *, allow_stacked: bool) -> Any:
        raise Poison("a bug")

    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.play(1)
        await game.operate(tpb.PauseTableRequest(reason="enough"))
        while game.table.verified_hand < game.table.hand_no:
            await game.step()
        sitting = game.table.of("ada")
        assert sitting is not None
        log = system.runtimes["wallet"].log
        with monkeypatch.context() as patch:
            patch.setattr(module, "command_for", broken)
            await game.send("ada", tpb.LeaveSeatRequest())
            await until(lambda: log.dead_list("wallet"), "the cash-out is parked")
        await log.dead_discard("wallet", keys.shard_of(game.id), game.id)
        assert game.table.sittings[sitting.sitting_no].status is Sit.CASHING_OUT
        app = system.service("wallet")
        request = pb.ResolveCashOutRequest(
            currency="EUR", table=game.id, sitting_no=sitting.sitting_no, amount=1, reason="dropped", request_id="r"
        )
        with pytest.raises(Refused, match="is paid"):
            await system.calls(WalletServicer(log, app.books, app), "ResolveCashOut", request, "olga", ("operator",))
        await game.until(lambda table: sitting.sitting_no not in table.sittings)
        paid = game.table.paid_out
        assert paid == sitting.stack + sitting.pending
        await game.operate(tpb.ResumeTableRequest())
        await game.close()


@simulated
async def test_the_table_goes_on_when_a_blocked_settlement_is_booked(tmp_path: Path):
    """An escrow was robbed by a fault of ours: the loser's hand cannot be booked until operators make it good."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(2)
        book = system.service("wallet").books["EUR"]
        robbed = {f"escrow:{game.id}:{n}": book.state.balances.pop(f"escrow:{game.id}:{n}") for n in (1, 2)}
        await game.play(1)
        table = await game.until(lambda table: table.settlement_blocked)
        assert table.standing == "SETTLEMENT_BLOCKED"
        with pytest.raises(Refused, match="settlement is blocked"):
            await game.operate(tpb.ResumeTableRequest())
        book.state.balances.update(robbed)
        await system.service("wallet").settle_from_log(game.id)
        await game.until(lambda table: not table.paused)
        await game.play(game.table.verified_hand + 2)
        await game.close()
