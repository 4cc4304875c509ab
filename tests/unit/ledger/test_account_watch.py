"""An account as a stream: as it is, after each change, with every entry behind it, for those who may see it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from stud.table.v1 import table_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_core.ledger.names import escrow, player
from stud_service.refusals import Refused
from tests.support.choosing import STAY
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, simulated
from tests.support.watchers import AccountWatcher, wallet_servicer
from wallet_service import account_watch


def kinds(watcher: AccountWatcher) -> list[str]:
    return [transfer.kind for message in watcher.said for transfer in message.transfers]


async def house(system: MemorySystem) -> Game:
    game = Game(system)
    await game.open()
    return game


@simulated
async def test_the_account_comes_first_and_then_what_moves_it_and_nothing_else(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = await house(system)
        await game.deposit("ada", 50_000)
        await game.deposit("bea", 50_000)
        watcher = AccountWatcher(system, "ada")
        await watcher.until(len)
        first = watcher.said[0]
        assert (first.account.balance, len(first.transfers), first.version) == (50_000, 0, first.account.version)
        await game.operate_wallet("Deposit", account="bea", amount=7)
        await asyncio.sleep(1)
        assert len(watcher.said) == 1
        await game.operate_wallet("Deposit", account="ada", amount=7, reference="a gift")
        await watcher.until(lambda said: len(said) == 2)
        then = watcher.said[1]
        assert (then.account.balance, [t.reference for t in then.transfers]) == (50_007, ["a gift"])
        assert then.version == then.transfers[-1].version == then.account.version
        await watcher.close()


@simulated
async def test_a_seat_hands_and_the_way_home_are_movements(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = await house(system)
        await game.deposit("ada", 50_000)
        watcher = AccountWatcher(system, "ada")
        await watcher.until(len)
        await game.seat("ada", deposit=0)
        await game.seat("bea")
        await game.play(2, STAY)
        await game.send("ada", pb.LeaveSeatRequest())
        await game.until(lambda table: table.of("ada") is None)
        await watcher.until(lambda said: said[-1].HasField("account") and not said[-1].account.escrows)
        told = kinds(watcher)
        assert told[0] == "BuyInFunded"
        assert told[-1] == "CashedOut"
        assert told.count("HandSettled") >= 2
        assert watcher.said[1].account.escrows[0].balance == 10_000
        mine = {player("ada"), escrow("t-1", 1)}
        others = {p.account for m in watcher.said for t in m.transfers for p in t.postings} - mine
        assert not [name for name in others if name.startswith(player("")) and name != player("(another)")]
        moved = sum(
            p.amount for m in watcher.said for t in m.transfers for p in t.postings if p.account == player("ada")
        )
        assert watcher.said[-1].account.balance == 50_000 + moved
        await watcher.close()


@simulated
async def test_who_comes_back_is_told_every_entry_they_missed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(account_watch, "PAGE", 3)
    async with MemorySystem(tmp_path) as system:
        game = await house(system)
        await game.deposit("ada", 1)
        watcher = AccountWatcher(system, "ada")
        await watcher.until(len)
        seen = watcher.said[-1].version
        await watcher.close()
        for number in range(8):
            await game.operate_wallet("Deposit", account="ada", amount=1, reference=f"n{number}")
        again = AccountWatcher(system, "ada", after_version=seen)
        await again.until(lambda said: said and said[-1].HasField("account"))
        assert [t.reference for m in again.said for t in m.transfers] == [f"n{n}" for n in range(8)]
        assert [(len(m.transfers), m.HasField("account")) for m in again.said] == [(3, False), (3, False), (2, True)]
        await again.close()
        whole = AccountWatcher(system, "ada", after_version=0)
        await whole.until(lambda said: said and said[-1].HasField("account"))
        listed = await system.calls(
            wallet_servicer(system), "ListTransfers", wallet.ListTransfersRequest(currency="EUR"), "ada"
        )
        assert [t for m in whole.said for t in m.transfers] == list(listed.transfers)
        await whole.close()


@simulated
async def test_who_reads_slowly_misses_no_entry(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = await house(system)
        await game.deposit("ada", 1)
        watcher = AccountWatcher(system, "ada")
        await watcher.until(len)
        watcher.reads.clear()
        for number in range(20):
            await game.operate_wallet("Deposit", account="ada", amount=1, reference=f"n{number}")
            await asyncio.sleep(0.01)
        watcher.reads.set()
        await watcher.until(lambda said: said[-1].account.balance == 21)
        assert [t.reference for m in watcher.said for t in m.transfers] == [f"n{n}" for n in range(20)]
        assert len(watcher.said) <= 4
        await watcher.close()


@simulated
async def test_a_frozen_account_is_told_without_an_entry(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = await house(system)
        await game.deposit("ada", 1)
        watcher = AccountWatcher(system, "ada")
        await watcher.until(len)
        await game.operate_wallet("FreezeAccount", account="ada", reason="a test")
        await watcher.until(lambda said: said[-1].account.frozen)
        assert not watcher.said[-1].transfers
        await game.operate_wallet("UnfreezeAccount", account="ada", reason="a test")
        await watcher.until(lambda said: not said[-1].account.frozen)
        assert len(watcher.said) == 3
        await watcher.close()


@simulated
async def test_only_the_house_watches_others(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = await house(system)
        await game.deposit("ada", 5)
        refused = await AccountWatcher(system, "bea", account="ada").end()
        assert refused.reason == "ROLE_NOT_ALLOWED"
        for role in ("cashier", "operator", "auditor"):
            watcher = AccountWatcher(system, "carl", role, account="ada")
            await watcher.until(len)
            assert watcher.said[0].account.balance == 5
            await watcher.close()
        assert (await AccountWatcher(system, "nobody").end()).reason == "UNKNOWN_ACCOUNT"
        assert (await AccountWatcher(system, "ada", currency="ZZZ").end()).reason == "UNKNOWN_CURRENCY"
        assert (await AccountWatcher(system, "ada", after_version=-1).end()).reason == "INVALID_FIELD"


@simulated
async def test_a_wallet_that_stops_says_so_and_one_that_starts_again_goes_on(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = await house(system)
        await game.deposit("ada", 5)
        watcher = AccountWatcher(system, "ada")
        await watcher.until(len)
        await system.stop("wallet")
        assert (await watcher.end()).reason == "STOPPING"
        await system.start("wallet")
        await game.operate_wallet("Deposit", account="ada", amount=1)
        again = AccountWatcher(system, "ada", after_version=watcher.said[-1].version)
        await again.until(len)
        assert (again.said[0].account.balance, len(again.said[0].transfers)) == (6, 1)
        await again.close()


@simulated
async def test_nothing_is_told_before_it_is_durable(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = await house(system)
        await game.deposit("ada", 5)
        watcher = AccountWatcher(system, "ada")
        await watcher.until(len)
        system.store.stop()
        request = wallet.DepositRequest(currency="EUR", account="ada", amount=9, request_id="r")
        with pytest.raises(Refused):
            await system.calls(wallet_servicer(system), "Deposit", request, "carl", ("cashier",))
        assert [message.account.balance for message in watcher.said] == [5]
        await watcher.close()
        system.store.start()
