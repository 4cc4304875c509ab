"""Questions about the past read what they show and no more, and let others have their turn."""

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Awaitable, Callable
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
from stud_service.pages import make_token
from stud_service.refusals import Refused
from tests.support.wallet import Office, working
from wallet_service.account_index import AccountIndex, runs, touched
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


async def test_pages_of_transfers_follow_one_another_by_their_tokens():
    """Of any size, from any beginning: what one long page would show; a new entry in between comes at the end."""
    log = Spied()
    async with working(log) as office:
        await busy(office, 300)
        whole = (await ask(office, "ListTransfers", pb.ListTransfersRequest(currency="EUR", limit=1000))).transfers
        assert len(whole) > 20
        usual = pb.ListTransfersRequest(currency="EUR")
        assert list((await ask(office, "ListTransfers", usual)).transfers) == list(whole)[:100]
        for size, after in ((1, 0), (7, 0), (7, whole[4].version), (len(whole), 0), (1000, 0)):
            request = pb.ListTransfersRequest(currency="EUR", after_version=after, page_size=size, limit=3)
            shown: list[pb.Transfer] = []
            while True:
                page = await ask(office, "ListTransfers", request)
                assert len(page.transfers) <= size
                shown += page.transfers
                if not page.next_page_token:
                    break
                request.page_token = page.next_page_token
                request.after_version = 10**6  # not looked at
            assert shown == [entry for entry in whole if entry.version > after]
        first = await ask(office, "ListTransfers", pb.ListTransfersRequest(currency="EUR", page_size=len(whole) - 1))
        await office.submit(cmd.Deposit("ann", 9, "", "late", "cash"))
        rest = pb.ListTransfersRequest(currency="EUR", page_token=first.next_page_token)
        last = (await ask(office, "ListTransfers", rest)).transfers
        assert [entry.version for entry in last] == [whole[-1].version, office.app.books["EUR"].head.version]
    await log.close()


async def test_a_token_reads_nobody_elses_entries():
    log = Spied()
    async with working(log) as office:
        await busy(office, 100)
        bobs = pb.ListTransfersRequest(currency="EUR", account="bob", page_size=1)
        token = (await ask(office, "ListTransfers", bobs, "auditor")).next_page_token
        for account, reason in (("", "INVALID_FIELD"), ("ann", "INVALID_FIELD"), ("bob", "ROLE_NOT_ALLOWED")):
            stolen = pb.ListTransfersRequest(currency="EUR", account=account, page_token=token)
            with pytest.raises(Refused) as refused:
                await ask(office, "ListTransfers", stolen)
            assert refused.value.reason == reason
        other = pb.ListTransfersRequest(currency="XTS", account="bob", page_token=token)
        with pytest.raises(Refused) as refused:
            await ask(office, "ListTransfers", other, "auditor")
        assert refused.value.metadata == {"field": "page_token"}
    await log.close()


async def whole_balance(office: Office, size: int, between: Callable[[], Awaitable[Any]]) -> list[Any]:
    """The pages of a trial balance, with something going on between them."""
    answers, request = [], pb.GetTrialBalanceRequest(currency="EUR", page_size=size)
    while True:
        answers.append(await ask(office, "GetTrialBalance", request, "auditor"))
        if not answers[-1].next_page_token:
            return answers
        request.page_token = answers[-1].next_page_token
        await between()


async def test_all_pages_of_a_trial_balance_are_of_one_moment():
    """Although money moves, accounts come and others are emptied meanwhile."""
    log = Spied()
    async with working(log) as office:
        await office.fund(**{f"p{number:02}": 10 + number for number in range(23)})
        numbers = itertools.count()

        async def move() -> None:
            number = next(numbers)
            await office.fund(**{f"a{number}": 5, f"z{number}": 5})
            if number < 20:
                await office.submit(cmd.Withdraw(f"p{22 - number:02}", 32 - number, "", f"w-{number}", "cash"))

        async def busy_elsewhere() -> None:
            await office.submit(cmd.Deposit("p00", 1, "", f"d-{next(numbers)}", "cash"))

        (whole,) = await whole_balance(office, 0, move)
        for size in (1, 5, 24, 1000):
            (before,) = await whole_balance(office, 1000, move)
            answers = await whole_balance(office, size, move if size > 1 else busy_elsewhere)
            lines = [line for answer in answers for line in answer.balances]
            assert lines == list(before.balances)
            assert all(len(answer.balances) <= size for answer in answers)
            head = {(answer.version, answer.sum, answer.liabilities) for answer in answers}
            assert head == {(before.version, 0, before.liabilities)}
        assert len(whole.balances) == 24
    await log.close()


async def test_a_trial_balance_takes_no_token_but_its_own():
    log = Spied()
    async with working(log) as office:
        await office.fund(ann=5, bob=5)
        request = pb.GetTrialBalanceRequest(currency="EUR", page_size=1)
        token = (await ask(office, "GetTrialBalance", request, "auditor")).next_page_token
        ahead = make_token(("balances", "EUR"), (10**6, "player:ann"))
        for currency, other in (("XTS", token), ("EUR", token[:-1]), ("EUR", "x"), ("EUR", ahead)):
            wrong = pb.GetTrialBalanceRequest(currency=currency, page_token=other)
            with pytest.raises(Refused) as refused:
                await ask(office, "GetTrialBalance", wrong, "auditor")
            assert (refused.value.reason, refused.value.metadata) == ("INVALID_FIELD", {"field": "page_token"})
        stolen = pb.GetTrialBalanceRequest(currency="EUR", page_token=token)
        with pytest.raises(Refused, match="ROLE_NOT_ALLOWED"):
            await ask(office, "GetTrialBalance", stolen)
    await log.close()


@pytest.mark.parametrize("size", [-1, 1001, -(2**31)])
async def test_a_page_that_is_too_long_says_how_long_it_may_be(size: int):
    log = Spied()
    async with working(log) as office:
        await office.fund(ann=5)
        for method, request in (
            ("ListTransfers", pb.ListTransfersRequest(currency="EUR", page_size=size)),
            ("GetTrialBalance", pb.GetTrialBalanceRequest(currency="EUR", page_size=size)),
        ):
            with pytest.raises(Refused) as refused:
                await ask(office, method, request, "auditor")
            assert refused.value.metadata == {"field": "page_size", "min": "0", "max": "1000"}
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
        entries, all_versions = AccountIndex(), []
        for version in range(1, rng.randrange(2, 30)):
            number = rng.choice((0, 1, 1, 2, 3))
            entries.add([ev.Deposited("ann", 1, "", "r", "c")] * number, version)
            all_versions += [version] * bool(number)
        limit, after, seen = rng.randrange(1, 5), 0, []
        while page := entries.page("ann", after, limit):
            seen += page
            after = page[-1]
        assert seen == all_versions
    assert AccountIndex().page("nobody", 0, 5) == []


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
