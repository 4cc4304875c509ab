"""The service where things go wrong: disputes, lost replies, faults of ours, restarts.

See architecture.md, "The log" and "Sagas".
"""

import asyncio
from typing import Any

import pytest
import structlog

from stud.events.v1 import ledger_events_pb2 as lpb
from stud.wallet.v1 import wallet_service_pb2 as pb
from stud_core.ledger import commands as cmd
from stud_core.ledger import events as ev
from stud_eventlog import keys
from stud_eventlog.memory import MemoryEventLog, MemoryStore
from stud_eventlog.types import Append, FeedItem, LogUnavailable, VersionConflict
from stud_service.refusals import Refused
from stud_wire.commits import Meta, commit_message, encode_event
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
COVER = [lpb.Posting(account="house:cashier", amount=-100), lpb.Posting(account=f"escrow:{T}:1", amount=100)]


pytestmark = pytest.mark.usefixtures("nobody_looks_again")


def adjustment(request_id: str, postings: Any = COVER) -> pb.AdjustRequest:
    return pb.AdjustRequest(currency="EUR", postings=postings, reference="ticket", request_id=request_id)


async def parked(log: MemoryEventLog, number: int) -> list[str]:
    async def there() -> list[str]:
        letters = await log.dead_list("wallet")
        return [letter.reason for letter in letters] if len(letters) == number else []

    reasons: list[str] = await until(there, f"{number} messages are parked")
    return reasons


# ------------------------------------------------------------------- disputes


@pytest.mark.parametrize("restart", [False, True])
async def test_the_escrow_of_who_was_dealt_into_a_disputed_hand_stays(log: MemoryEventLog, floor: Floor, restart: bool):
    """The table errs or cheats: it says that nobody was dealt in. The referee's log knows better."""
    async with working(log) as office:
        await office.fund(ann=1000, bob=1000, cy=1000)
        await seat_two(floor, T)
        await floor.say(T, buy_in(3, "cy"))
        await floor.judge(disputed(T, 1, *HAND, rake=5))
        await floor.hears(T, *[ev.BuyInFunded] * 3)
        if not restart:
            await _cheat(office, floor)
    if restart:
        async with working(log) as office:
            await _cheat(office, floor)


async def _cheat(office: Office, floor: Floor) -> None:
    await floor.say(T, cash_out(1, "ann", 500, 0), cash_out(2, "bob", None), cash_out(3, "cy", 500, 0))
    kinds = [ev.BuyInFunded] * 3 + [ev.CashOutBlocked, ev.CashOutBlocked, ev.CashedOut]
    await floor.hears(T, *kinds)
    async with office.open_to_callers() as wallet:
        account = await wallet.GetAccount(pb.GetAccountRequest(currency="EUR"), metadata=who("ann"))
        assert [escrow.held for escrow in account.escrows] == [True]
        request = pb.ResolveCashOutRequest(
            currency="EUR", table=T, sitting_no=1, amount=500, reason="r", request_id="r"
        )
        with pytest.raises(Exception, match="disputed"):
            await wallet.ResolveCashOut(request, metadata=who("op-1", "operator"))
    await floor.judge(resolved(T, 1))  # void: ann's claim is right now, bob's must be looked at
    answers = await floor.hears(T, *kinds, ev.CashedOut)
    assert answers[-1] == ev.CashedOut(T, 1, "ann", 500)


async def test_a_held_account_shows_it_before_anybody_leaves(office: Office, floor: Floor):
    await seat_two(floor, T)
    await floor.judge(disputed(T, 1, *HAND))

    async def held() -> bool:
        async with office.open_to_callers() as wallet:
            account = await wallet.GetAccount(pb.GetAccountRequest(currency="EUR"), metadata=who("ann"))
        return account.escrows[0].held

    await until(held, "the dispute holds the escrow")
    await floor.judge(resolved(T, 1, *HAND, rake=5))
    await floor.wrote(ev.HandSettled)
    assert not await held()


async def test_a_disputed_hand_that_is_called_verified_is_blocked_until_operators_end_the_dispute(
    office: Office, floor: Floor
):
    await seat_two(floor, T)
    await floor.judge(disputed(T, 1, *HAND, rake=5), verified(T, 1, *HAND, rake=5))
    answers = await floor.hears(T, ev.BuyInFunded, ev.BuyInFunded, ev.SettlementBlocked)
    assert answers[-1].reason == "HAND_DISPUTED"
    await floor.judge(resolved(T, 1), verified(T, 2))
    settled = await floor.wrote(ev.HandSettled, 2)
    assert [(hand.hand_no, hand.postings) for hand in settled] == [(1, ()), (2, ())]


async def test_a_dispute_over_a_hand_that_is_final_is_passed_over(office: Office, floor: Floor):
    await seat_two(floor, T)
    await floor.judge(verified(T, 1, *HAND, rake=5), disputed(T, 1, *HAND, rake=5))
    await floor.say(T, cash_out(1, "ann", 400, 1))
    await floor.hears(T, ev.BuyInFunded, ev.BuyInFunded, ev.CashedOut)


# -------------------------------------------------------------- blocked settlements


async def test_a_cash_out_behind_a_blocked_settlement_is_paid_when_it_is_settled(office: Office, floor: Floor):
    await seat_two(floor, T)
    await floor.judge(verified(T, 1, (1, "ann", -600), (2, "bob", 600)))
    await floor.say(T, cash_out(2, "bob", 1100, 0))
    kinds = (ev.BuyInFunded, ev.BuyInFunded, ev.SettlementBlocked, ev.CashOutBlocked)
    await floor.hears(T, *kinds)
    async with office.open_to_callers() as wallet:
        for operator in ("op-1", "op-2"):
            await wallet.Adjust(adjustment("r"), metadata=who(operator, "operator"))
    answers = await floor.hears(T, *kinds, ev.HandSettled, ev.CashedOut)  # the settlement ends the table's pause
    assert answers[-1].amount == 1100


async def test_a_top_up_that_covers_the_lack_settles_the_hand(office: Office, floor: Floor):
    await seat_two(floor, T)
    await floor.judge(verified(T, 1, (1, "ann", -600), (2, "bob", 600)))
    await floor.hears(T, ev.BuyInFunded, ev.BuyInFunded, ev.SettlementBlocked)
    await floor.say(T, top_up(1, 1, "ann", 100))
    await floor.wrote(ev.HandSettled)


async def test_a_crash_between_correction_and_settlement_is_made_good_at_the_start(log: MemoryEventLog, floor: Floor):
    async with working(log) as office:
        await office.fund(ann=1000, bob=1000)
        await seat_two(floor, T)
        await floor.judge(verified(T, 1, (1, "ann", -600), (2, "bob", 600)), verified(T, 2))
        await floor.wrote(ev.SettlementBlocked)
        await asyncio.sleep(0.05)
        lines = tuple(ev.Posting(line.account, line.amount) for line in COVER)
        for operator in ("op-1", "op-2"):  # straight to the book: nobody tries the settlement again
            await office.submit(cmd.Adjust(lines, operator, "ticket", "r"))
    assert not [event for event in await floor.entries() if isinstance(event, ev.HandSettled)]
    async with working(log):
        assert [hand.hand_no for hand in await floor.wrote(ev.HandSettled, 2)] == [1, 2]


# ------------------------------------------------------------------ repeated calls


async def test_operators_whose_replies_were_lost_repeat_their_calls(office: Office, floor: Floor):
    gift = [lpb.Posting(account="house:cashier", amount=-5), lpb.Posting(account="player:ann", amount=5)]

    async def call(operator: str) -> pb.AdjustResponse:
        async with office.open_to_callers() as wallet:
            return await wallet.Adjust(adjustment("r", gift), metadata=who(operator, "operator"))

    first = [await call(operator) for operator in ("op-1", "op-1", "op-2", "op-2", "op-1")]
    assert [answer.decided for answer in first] == [False, False, True, True, False]
    assert len({answer.version for answer in first}) == 2
    assert (await floor.balances())["player:ann"] == 1005


async def test_answers_to_operators_outlive_the_process(log: MemoryEventLog):
    command = cmd.FreezeAccount("ann", "op-1", "why", "r")
    async with working(log) as office:
        await office.fund(ann=0)
        first = await office.submit(command)
        await office.submit(cmd.UnfreezeAccount("ann", "op-1", "why", "s"))
    async with working(log) as office:
        again = await office.submit(command)
        assert (again.events, again.version) == ((), first.version)
        assert not office.app.books["EUR"].state.frozen


# ------------------------------------------------------------- order and durability


async def test_nothing_is_shown_before_it_is_durable():
    store = MemoryStore()
    log = MemoryEventLog(store)
    async with working(log) as office:
        await office.fund(ann=100)
        book = office.app.books["EUR"]
        store.stop()
        call = asyncio.create_task(book.submit(cmd.Deposit("ann", 7, "", "d", "cash")))
        await asyncio.sleep(0.02)
        with pytest.raises(Refused) as refused:
            await book.read(lambda state: state.balance("player:ann"), within_s=0.05)
        assert refused.value.reason == "OUTCOME_UNKNOWN"
        store.start()
        assert (await call).balance == 107
        assert await book.read(lambda state: state.balance("player:ann")) == 107
    await log.close()


async def test_a_cash_out_is_never_decided_without_the_settlement_before_it():
    """The settlement's append is refused; what follows it in the table's line must fail with it, not be blocked."""

    class Moody(MemoryEventLog):
        refusals = 0

        async def append_many(self, appends):
            if self.refusals and appends and appends[0].stream == keys.ledger_log("EUR"):
                self.refusals -= 1
                raise LogUnavailable("refused for now")
            return await super().append_many(appends)

    log = Moody()
    floor = Floor(log)
    async with working(log) as office:
        await office.fund(ann=1000, bob=1000)
        await seat_two(floor, T)
        log.refusals = 3
        await floor.judge(verified(T, 1, *HAND, rake=5))
        await floor.say(T, top_up(1, 1, "ann"), cash_out(1, "ann", 500, 1))
        await floor.hears(T, ev.BuyInFunded, ev.BuyInFunded, ev.TopUpFunded, ev.CashedOut)
        assert log.refusals == 0
    await log.close()


async def test_a_line_of_one_table_shares_one_pipeline():
    sizes: list[int] = []

    class Counting(MemoryEventLog):
        async def append_many(self, appends):
            if appends and appends[0].stream == keys.ledger_log("EUR"):
                sizes.append(len(appends))
            return await super().append_many(appends)

    log = Counting()
    floor = Floor(log)
    async with working(log) as office:
        await office.fund(ann=200_000)
        await floor.say(T, buy_in(1, "ann", 500))
        await floor.hears(T, ev.BuyInFunded)
    sizes.clear()
    for number in range(1, 101):
        await floor.say(T, top_up(1, number, "ann", 5))
    async with working(log):
        await floor.wrote(ev.TopUpFunded, 100)
    assert (sum(sizes), len(sizes)) == (100, 1)
    await log.close()


async def test_nothing_overtakes_a_message_that_is_parked(office: Office, floor: Floor):
    await seat_two(floor, T)
    await floor.say(T, buy_in(3, "ann", currency="JPY"), top_up(1, 1, "ann"), cash_out(1, "ann", 500))
    reasons = await parked(office.log, 3)  # type: ignore[arg-type]
    assert "JPY" in reasons[0]
    assert len(await floor.told(T)) == 2


async def test_a_fault_of_ours_stops_one_table_and_not_the_ledger(
    office: Office, floor: Floor, monkeypatch: pytest.MonkeyPatch
):
    import wallet_service.book as module

    def broken(state, command, now_ms):
        if getattr(command, "table", "") == "t-2":
            raise KeyError("a bug")
        return real(state, command, now_ms)

    real = vars(module)["decide"]
    monkeypatch.setattr(module, "decide", broken)
    await floor.say("t-2", buy_in(1, "ann"))
    await parked(office.log, 1)  # type: ignore[arg-type]
    await seat_two(floor, T)


async def test_money_made_by_a_fault_of_ours_is_not_written(
    office: Office, floor: Floor, monkeypatch: pytest.MonkeyPatch
):
    import wallet_service.book as module

    before = await floor.entries()
    monkeypatch.setattr(module, "decide", lambda *_: [ev.CashedOut(T, 1, "ann", 5)])
    with pytest.raises(module.Unsound, match="escrow:t-1:1"):
        await office.submit(cmd.Deposit("ann", 5, "", "r", "cash"))
    assert await floor.entries() == before


async def test_a_table_that_changes_its_currency_in_one_batch_keeps_its_order(log: MemoryEventLog, floor: Floor):
    async with working(log) as office:
        await office.fund(ann=1000)
    await floor.say(T, buy_in(1, "ann"))
    await floor.say(T, buy_in(2, "ann", currency="XTS"))
    async with working(log):
        await floor.hears(T, ev.BuyInFunded)
        (declined,) = await floor.hears(T, ev.BuyInDeclined, currency="XTS")
        assert declined.reason == "UNKNOWN_ACCOUNT"


# ------------------------------------------------------------------------ the rest


async def say_unknown(log: MemoryEventLog, stream: str, outbox: tuple[FeedItem, ...] = ()) -> None:
    """A commit with an event of a newer build."""
    message = commit_message([ev.AccountOpened("x", "y")], Meta(at_ms=1))
    message.write_version = 99
    head = await log.head(stream)
    await log.append(Append(stream, head.version, head.hash, b"u" * 16, message.SerializeToString(), outbox))


async def test_a_verdict_of_a_newer_build_stalls_its_shard_and_is_no_reason_not_to_start(
    log: MemoryEventLog, floor: Floor
):
    await say_unknown(log, keys.verdicts(keys.shard_of(T)))
    other = next(f"t-{n}" for n in range(99) if keys.shard_of(f"t-{n}") != keys.shard_of(T))
    async with working(log) as office:
        await office.fund(ann=1000)
        await floor.say(other, buy_in(1, "ann"))
        await floor.hears(other, ev.BuyInFunded)
        await floor.say(T, buy_in(1, "ann"))
        await floor.say(T, cash_out(1, "ann", 500))
        await floor.hears(T, ev.BuyInFunded)
        await asyncio.sleep(0.05)
        assert len(await floor.told(T)) == 1
        assert await log.dead_list() == []


async def test_verdicts_that_cannot_be_booked_do_not_keep_the_wallet_from_starting(log: MemoryEventLog, floor: Floor):
    await floor.judge(verified("t-2", 1, currency="JPY"), verified("t-3", 2))
    async with working(log) as office:
        await office.fund(ann=1000)
        await floor.say(T, buy_in(1, "ann"))
        await floor.hears(T, ev.BuyInFunded)


async def test_a_page_of_transfers_is_never_longer_than_asked_for(office: Office, floor: Floor):
    await seat_two(floor, T)
    await floor.say(T, cash_out(1, "ann", 499))
    await floor.wrote(ev.CashOutBlocked)
    for operator in ("op-1", "op-2"):
        await office.submit(cmd.ResolveCashOut(T, 1, 499, operator, "r", "r"))
    gift = (ev.Posting("player:bob", -5), ev.Posting("player:ann", 5))
    for operator in ("op-1", "op-2"):
        await office.submit(cmd.Adjust(gift, operator, "ticket", "s"))
    async with office.open_to_callers() as wallet:
        request = pb.ListTransfersRequest(currency="EUR", limit=3)
        page = (await wallet.ListTransfers(request, metadata=who("ann"))).transfers
        assert [entry.kind for entry in page] == ["Deposited", "BuyInFunded", "CashedOut"]
        request.after_version = page[-1].version
        (last,) = (await wallet.ListTransfers(request, metadata=who("ann"))).transfers
        assert [line.account for line in last.postings] == ["player:(another)", "player:ann"]
        request.account = "ann"
        (whole,) = (await wallet.ListTransfers(request, metadata=who("eve", "auditor"))).transfers
        assert [line.account for line in whole.postings] == ["player:bob", "player:ann"]


async def test_a_call_that_comes_when_stopping_is_told_so(log: MemoryEventLog):
    office = Office(log)
    await office.app.start()
    await office.close()
    with pytest.raises(Refused) as refused:
        await office.submit(cmd.OpenAccount("ann", "r"))
    assert refused.value.reason == "STOPPING"


async def test_an_ignorable_event_of_a_newer_build_is_passed_over(office: Office, floor: Floor):
    from stud.events.v1 import commit_pb2

    feed = keys.table_feed(keys.shard_of(T))
    stream = keys.table_log(keys.shard_of(T), T)
    unknown = commit_pb2.Event(ignorable=True).SerializeToString()
    items = (FeedItem(feed, unknown), FeedItem(feed, encode_event(buy_in(1, "ann"))))
    log: Any = office.log
    message = commit_message([buy_in(1, "ann")], Meta(at_ms=1))
    await log.append(Append(stream, 0, bytes(32), b"i" * 16, message.SerializeToString(), items))
    await floor.hears(T, ev.BuyInFunded)


async def test_a_long_ledger_says_how_far_it_is_loaded(log: MemoryEventLog, monkeypatch: pytest.MonkeyPatch):
    import wallet_service.book as module

    async with working(log) as office:
        await office.fund(ann=1000)
    monkeypatch.setattr(module, "PROGRESS_EVERY_S", -1.0)
    with structlog.testing.capture_logs() as lines:
        async with working(log):
            pass
    assert [line["version"] for line in lines if line["event"] == "ledger_loading"] == [1, 2]


async def test_what_is_still_queued_when_stopping_is_told_so():
    store = MemoryStore()
    log = MemoryEventLog(store)
    office = Office(log)
    await office.app.start()
    await office.fund(ann=0)
    store.stop()
    calls = []
    for number in range(2):  # the second waits behind the first, whose append gets no answer
        calls.append(asyncio.create_task(office.submit(cmd.Deposit("ann", 5, "", f"d-{number}", "cash"))))
        await asyncio.sleep(0.02)
    await office.close()
    for call in calls:
        with pytest.raises(Refused) as refused:
            await call
        assert refused.value.reason == "STOPPING"
    await log.close()


async def test_a_ledger_that_somebody_keeps_changing_gives_up_for_now(log: MemoryEventLog):
    class Contested(MemoryEventLog):
        async def append_many(self, appends):
            return [VersionConflict(append.stream, append.expected_version, 99) for append in appends]

    async with working(Contested(log.store)) as office:
        with pytest.raises(Refused) as refused:
            await office.submit(cmd.OpenAccount("ann", "r"))
        assert refused.value.reason == "LOG_UNAVAILABLE"


async def test_a_correction_stands_even_if_the_settlement_still_cannot_be_booked(office: Office, floor: Floor):
    await seat_two(floor, T)
    await floor.judge(verified(T, 1, (1, "ann", -600), (2, "bob", 600)))
    await floor.wrote(ev.SettlementBlocked)
    await floor.judge(verified(T, 3))  # a hand is missing in between
    async with office.open_to_callers() as wallet:
        calls = [wallet.Adjust(adjustment("r"), metadata=who(name, "operator")) for name in ("op-1", "op-2")]
        assert [(await call).decided for call in calls].count(True) == 1
    assert [hand.hand_no for hand in await floor.wrote(ev.HandSettled)] == [1]
