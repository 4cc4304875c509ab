"""Questions about the past read what they show and no more, and let others have their turn."""

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest

from stud.wallet.v1 import wallet_service_pb2 as pb
from stud_core.events import Delta
from stud_core.ledger import commands as cmd
from stud_core.ledger import events as ev
from stud_eventlog import keys
from stud_eventlog.memory import MemoryEventLog
from stud_eventlog.types import StoredCommit
from stud_service.identity import Caller, set_caller
from tests.support.wallet import Office, working
from wallet_service.entries import Entries, runs, touched
from wallet_service.servicer import TAKE_TURNS, WalletServicer

LEDGER = keys.ledger_log("EUR")


class Spied(MemoryEventLog):
    """Counts the entries of the ledger that are read, one by one and since somebody else had a turn."""

    def __init__(self) -> None:
        super().__init__()
        self.read_one_by_one = self.in_a_row = self.longest = 0

    async def read(self, stream: str, after: int = 0, limit: int = 500) -> list[StoredCommit]:
        page = await super().read(stream, after, limit)
        self.read_one_by_one += len(page) * (stream == LEDGER)
        return page

    async def read_all(self, stream: str, after: int = 0) -> AsyncIterator[StoredCommit]:
        async for stored in super().read_all(stream, after):
            self.in_a_row += 1
            self.longest = max(self.longest, self.in_a_row)
            yield stored


async def ask(office: Office, method: str, request: Any, *roles: str) -> Any:
    """As a caller would, without the network."""

    async def call() -> Any:
        set_caller(Caller("ann", frozenset(roles or ("player",))))
        return await getattr(WalletServicer(office.log, office.app.books, office.app), method)(request, None)

    return await asyncio.get_running_loop().create_task(call())


async def busy(office: Office, entries: int) -> None:
    """A ledger in which ann has one entry in ten, some of them side by side."""
    rng = random.Random(5)
    await office.fund(ann=100, bob=100)
    for number in range(entries):
        account = "ann" if rng.random() < 0.1 else "bob"
        await office.submit(cmd.Deposit(account, 1 + number, "", f"d-{number}", "cash"))


async def test_a_page_of_transfers_reads_the_entries_that_it_shows():
    log = Spied()
    async with working(log) as office:
        await busy(office, 600)
        after, shown = 0, []
        while True:
            log.read_one_by_one = 0
            request = pb.ListTransfersRequest(currency="EUR", after_version=after, limit=7)
            page = (await ask(office, "ListTransfers", request)).transfers
            assert log.read_one_by_one <= len(page)
            assert log.longest == 0
            if not page:
                break
            assert len(page) <= 7
            shown += list(page)
            after = page[-1].version
        assert sum(line.amount for entry in shown for line in entry.postings if line.account == "player:ann") == (
            office.app.books["EUR"].state.balance("player:ann")
        )
        assert [entry.version for entry in shown] == sorted({entry.version for entry in shown})
    await log.close()


async def test_the_index_is_the_same_after_a_restart():
    log = MemoryEventLog()
    async with working(log) as office:
        await busy(office, 50)
        before = office.app.books["EUR"].entries
    async with working(log) as office:
        assert vars(office.app.books["EUR"].entries) == vars(before)
    await log.close()


async def test_a_trial_balance_lets_others_have_their_turn():
    log = Spied()
    async with working(log) as office:
        await busy(office, 5 * TAKE_TURNS)

        async def others() -> None:
            while True:
                log.in_a_row = 0
                await asyncio.sleep(0)

        task = asyncio.create_task(others())
        log.longest = 0
        answer = await ask(office, "GetTrialBalance", pb.GetTrialBalanceRequest(currency="EUR"), "auditor")
        task.cancel()
        assert answer.sum == 0
        assert answer.version == office.app.books["EUR"].head.version
        assert 0 < log.longest <= TAKE_TURNS + 1
    await log.close()


def test_pages_of_any_length_show_every_entry_once_and_no_commit_twice():
    rng = random.Random(6)
    for _ in range(300):
        entries, all_versions = Entries(), []
        for version in range(1, rng.randrange(2, 30)):
            number = rng.choice((0, 1, 1, 2, 3))
            entries.add([ev.Deposited("ann", 1, "", "r", "c")] * number, version)
            all_versions += [version] * bool(number)
        limit, after, seen = rng.randrange(1, 5), 0, []
        while page := entries.page("ann", after, limit):
            seen += page
            after = page[-1]
        assert seen == all_versions
    assert Entries().page("nobody", 0, 5) == []


@pytest.mark.parametrize(
    ("event", "accounts"),
    [
        (ev.AccountOpened("ann", "r"), set()),
        (ev.Withdrawn("ann", 5, "", "r", "cash"), {"ann"}),
        (ev.BuyInDeclined("t", 1, "ann", "why"), set()),
        (ev.CashedOut("t", 1, "ann", 0), set()),
        (ev.HandSettled("t", 1, 1, (Delta(1, "ann", 0), Delta(2, "bob", 0)), 0), {"ann", "bob"}),
        (ev.Adjusted("k", (ev.Posting("house:cashier", -5), ev.Posting("player:ann", 5)), ("a", "b"), ""), {"ann"}),
    ],
)
def test_whom_an_entry_concerns(event: Any, accounts: set[str]):
    assert touched(event) == accounts


def test_versions_that_follow_one_another_are_one_read():
    assert runs([3, 4, 5, 9, 11, 12]) == [(3, 3), (9, 1), (11, 2)]
    assert runs([]) == []
