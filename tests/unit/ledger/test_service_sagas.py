"""The wallet between tables and the referee: buy-in, top-up, hand, leave, dispute (architecture.md, "Sagas")."""

import asyncio

import pytest

from stud.events.v1 import ledger_events_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2 as rpc
from stud_core import events as te
from stud_core.ledger import commands as cmd
from stud_core.ledger import events as ev
from stud_eventlog import keys
from stud_eventlog.memory import MemoryEventLog, MemoryStore
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
    working,
)

T = "t-1"
HAND = ((1, "ann", -100), (2, "bob", 95))


async def test_an_evening_at_a_table(office: Office, floor: Floor):
    await seat_two(floor, T)
    await floor.say(T, top_up(1, 1, "ann"))
    await floor.judge(verified(T, 1, *HAND, rake=5))
    await floor.judge(verified(T, 2))
    await floor.wrote(ev.HandSettled, 2)
    await floor.say(T, cash_out(1, "ann", 500, 2), cash_out(2, "bob", 595, 2))
    answers = await floor.hears(T, ev.BuyInFunded, ev.BuyInFunded, ev.TopUpFunded, ev.CashedOut, ev.CashedOut)
    assert answers[3:] == [ev.CashedOut(T, 1, "ann", 500), ev.CashedOut(T, 2, "bob", 595)]
    assert await floor.balances() == {
        "player:ann": 900, "player:bob": 1095, "house:rake": 5, "house:cashier": -2000,
    }  # fmt: skip


async def test_what_the_wallet_will_not_fund_is_answered_with_the_reason(office: Office, floor: Floor):
    await office.submit(cmd.OpenAccount("cy", "r"))
    await office.submit(cmd.FreezeAccount("bob", "op", "why"))
    await floor.say(T, buy_in(1, "ann", 1001))
    await floor.say(T, buy_in(2, "ghost"))
    await floor.say(T, buy_in(3, "bob"))
    await floor.say(T, buy_in(4, "ann", expires_at_ms=office.now_ms))
    answers = await floor.hears(T, *[ev.BuyInDeclined] * 4)
    reasons = ["INSUFFICIENT_FUNDS", "UNKNOWN_ACCOUNT", "ACCOUNT_FROZEN", "RESERVATION_EXPIRED"]
    assert [answer.reason for answer in answers] == reasons


async def test_a_late_funding_is_paid_back_by_the_message_behind_it(office: Office, floor: Floor):
    release = (te.SeatReleased(1, 1, "RESERVATION_EXPIRED"), cash_out(1, "ann", None))
    await floor.say(T, buy_in(1, "ann"))
    await floor.say(T, *release)
    await floor.hears(T, ev.BuyInFunded, ev.CashedOut)
    assert (await floor.balances())["player:ann"] == 1000


async def test_who_never_sat_is_paid_even_when_they_were_declined(office: Office, floor: Floor):
    await floor.say(T, buy_in(1, "ghost"))
    await floor.say(T, cash_out(1, "ghost", None))
    answers = await floor.hears(T, ev.BuyInDeclined, ev.CashedOut)
    assert answers[1].amount == 0


@pytest.mark.parametrize(
    ("currency", "allowed", "kind"),
    [("XTS", True, ev.BuyInFunded), ("XTS", False, ev.BuyInDeclined), ("EUR", True, ev.BuyInDeclined)],
)
async def test_stacked_tables_are_for_rehearsals_only(
    log: MemoryEventLog, floor: Floor, currency: str, allowed: bool, kind: type
):
    async with working(log, stacked=allowed) as office:
        await office.submit(cmd.OpenAccount("ann", "r"), currency)
        await office.submit(cmd.Deposit("ann", 1000, "", "d", "cash"), currency)
        await floor.say(T, buy_in(1, "ann", currency=currency, stacked=True))
        (answer,) = await floor.hears(T, kind, currency=currency)
        assert kind is ev.BuyInFunded or answer.reason == "STACKED_NOT_ALLOWED"


async def test_verdicts_are_drained_before_a_cash_out_is_paid(log: MemoryEventLog, floor: Floor):
    """Table feeds are read before verdicts, so the cash-out of the last commit comes first in the batch."""
    async with working(log) as office:
        await office.fund(ann=1000, bob=1000)
        await seat_two(floor, T)
    await floor.judge(verified(T, 1, *HAND, rake=5), verified(T, 2, (1, "ann", 20), (2, "bob", -20)))
    await floor.say(T, cash_out(1, "ann", 420, 2))
    async with working(log):
        answers = await floor.hears(T, ev.BuyInFunded, ev.BuyInFunded, ev.CashedOut)
        assert answers[-1].amount == 420
        settled = await floor.wrote(ev.HandSettled, 2)
        assert [hand.hand_no for hand in settled] == [1, 2]


async def test_claim_and_escrow_must_agree(office: Office, floor: Floor):
    await seat_two(floor, T)
    await floor.say(T, cash_out(1, "ann", 501))
    answers = await floor.hears(T, ev.BuyInFunded, ev.BuyInFunded, ev.CashOutBlocked)
    assert answers[-1] == ev.CashOutBlocked(T, 1, "ann", 501, 500)
    for operator in ("op-1", "op-2"):
        await office.submit(cmd.ResolveCashOut(T, 1, 501, operator, "table was right"))
    answers = await floor.hears(T, ev.BuyInFunded, ev.BuyInFunded, ev.CashOutBlocked, ev.CashedOut)
    assert answers[-1].amount == 501


async def test_a_wrong_figure_that_would_overdraw_moves_nothing_until_operators_cover_it(office: Office, floor: Floor):
    await seat_two(floor, T)
    await floor.judge(verified(T, 1, (1, "ann", -600), (2, "bob", 600)))
    answers = await floor.hears(T, ev.BuyInFunded, ev.BuyInFunded, ev.SettlementBlocked)
    assert (answers[-1].hand_no, answers[-1].reason) == (1, "ESCROW_OVERDRAWN")
    await floor.judge(verified(T, 2, (1, "ann", 10), (2, "bob", -10)))
    cover = [pb.Posting(account="house:cashier", amount=-100), pb.Posting(account=f"escrow:{T}:1", amount=100)]
    async with office.open_to_callers() as wallet:
        for number, operator in enumerate(("op-1", "op-2")):
            assert not [event for event in await floor.entries() if isinstance(event, ev.HandSettled)]
            request = rpc.AdjustRequest(currency="EUR", postings=cover, reference="ticket", request_id=f"r-{number}")
            answer = await wallet.Adjust(request, metadata=who(operator, "operator"))
            assert answer.decided == (operator == "op-2")
    settled = await floor.wrote(ev.HandSettled, 2)
    assert [hand.hand_no for hand in settled] == [1, 2]
    balances = await floor.balances()
    assert (balances[f"escrow:{T}:1"], balances[f"escrow:{T}:2"]) == (10, 1090)


async def test_a_disputed_hand_moves_nothing_until_it_is_resolved(office: Office, floor: Floor):
    await seat_two(floor, T)
    await floor.judge(disputed(T, 1, *HAND, rake=5))
    await floor.judge(verified("t-9", 1))
    await floor.wrote(ev.HandSettled)  # the other table's: the reader has passed the dispute, if they share a shard
    assert (await floor.balances())[f"escrow:{T}:1"] == 500
    await floor.judge(resolved(T, 1, *HAND, rake=5))
    await floor.wrote(ev.HandSettled, 2)
    await floor.say(T, cash_out(1, "ann", 400, 1))
    await floor.hears(T, ev.BuyInFunded, ev.BuyInFunded, ev.CashedOut)


async def test_a_resolution_as_void_pays_everybody_what_they_had(office: Office, floor: Floor):
    await seat_two(floor, T)
    await floor.judge(disputed(T, 1, *HAND, rake=5), resolved(T, 1))
    await floor.say(T, cash_out(1, "ann", 500, 1), cash_out(2, "bob", 500, 1))
    await floor.hears(T, ev.BuyInFunded, ev.BuyInFunded, ev.CashedOut, ev.CashedOut)
    assert await floor.balances() == {"player:ann": 1000, "player:bob": 1000, "house:cashier": -2000}


async def test_a_currency_that_is_not_served_parks_its_table_and_no_other(office: Office, floor: Floor):
    await floor.say("t-2", buy_in(1, "ann", currency="JPY"))
    await floor.say("t-2", buy_in(2, "ann"))
    await seat_two(floor, T)

    async def parked() -> list[str]:
        letters = await office.log.dead_list("wallet")
        return [letter.reason for letter in letters] if len(letters) == 2 else []

    reasons = await until(parked, "both messages of the table are parked")
    assert "JPY" in reasons[0]
    assert await floor.told("t-2") == []


async def test_other_facts_of_tables_and_the_referee_are_passed_over(office: Office, floor: Floor):
    await floor.say(T, te.HandEnded(1, 1, (), (), 0))
    await seat_two(floor, T)
    assert await office.log.dead_list() == []


async def test_everything_read_again_changes_nothing(log: MemoryEventLog, floor: Floor):
    """As after a crash between append and cursor: every message of the evening comes a second time."""
    async with working(log) as office:
        await office.fund(ann=1000, bob=1000)
        await seat_two(floor, T)
        await floor.say(T, top_up(1, 1, "ann"))
        await floor.judge(verified(T, 1, *HAND, rake=5), disputed(T, 2), resolved(T, 2))
        await floor.say(T, cash_out(1, "ann", 500, 2), cash_out(2, "bob", 600, 2))
        kinds = (ev.BuyInFunded, ev.BuyInFunded, ev.TopUpFunded, ev.CashedOut, ev.CashOutBlocked)
        await floor.hears(T, *kinds)
    before = await floor.entries()
    log.store.data.cursors.clear()
    async with working(log):
        await floor.say("t-2", cash_out(1, "ann", None))
        await floor.hears("t-2", ev.CashedOut)
        await asyncio.sleep(0.05)
        await floor.hears(T, *kinds)
    after = await floor.entries()
    assert [event for event in after if getattr(event, "table", T) == T] == before


async def test_messages_of_many_tables_share_one_pipeline():
    """A batch costs a round trip, not one for each message."""
    sizes: list[int] = []

    class Counting(MemoryEventLog):
        async def append_many(self, appends):
            if appends and appends[0].stream == keys.ledger_log("EUR"):
                sizes.append(len(appends))
            return await super().append_many(appends)

    store = MemoryStore()
    log = Counting(store)
    floor = Floor(log)
    office = Office(log)
    for book in office.app.books.values():
        await book.start()
    await office.fund(ann=200_000)
    tables = [f"t-{number}" for number in range(200)]
    for table in tables:
        await floor.say(table, buy_in(1, "ann", 500))
    sizes.clear()
    async with working(log):
        await floor.wrote(ev.BuyInFunded, 200)
    assert sum(sizes) == 200
    assert len(sizes) <= 3, sizes
    await office.close()
    await log.close()
