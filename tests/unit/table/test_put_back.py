"""A log that is put back to an older one under connections that stay: what is idle tells it too, or mends it."""

import asyncio
import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from stud.table.v1 import table_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_eventlog import keys
from stud_eventlog.writing import HELD_PER_STREAM
from stud_service.refusals import Refused
from tests.support.choosing import STAY
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, simulated
from wallet_service.servicer import WalletServicer

NOTICED_S = 3
LEDGER = keys.ledger_log("EUR")


async def ask_wallet(game: Game, method: str, **fields: Any) -> None:
    app = game.system.service("wallet")
    kind: Any = getattr(wallet, f"{method}Request")
    servicer = WalletServicer(app._runtime.log, app.books, app)
    await game.system.calls(servicer, method, kind(currency="EUR", **fields), "carl", ("cashier", "auditor"))


@asynccontextmanager
async def put_back(tmp_path: Path, commits: int) -> AsyncIterator[Game]:
    """A table and a ledger that lost so many commits each, after which nobody does anything."""
    system = MemorySystem(tmp_path)
    system.watching = True
    async with system:
        game = Game(system)
        await game.begin(3, hand_pause_ms=1000)
        await game.play(1, STAY)
        await game.operate(pb.PauseTableRequest(reason="idle"))
        await asyncio.sleep(5)
        older = copy.deepcopy(system.store.data)
        for number in range(commits):
            await game.operate_wallet("Deposit", account="ada", amount=5)
            await game.send("ada", pb.SetPreferencesRequest(auto_post=bool(number % 2)))
        newer = system.store.data
        system.store.data = older
        yield game
        if commits <= HELD_PER_STREAM:
            for stream in (game.actor.stream, LEDGER):
                assert older.logs[stream] == newer.logs[stream]


def test_what_is_idle_says_that_it_is_behind(tmp_path):
    @simulated
    async def run() -> None:
        async with put_back(tmp_path, HELD_PER_STREAM + 2) as game:
            await asyncio.sleep(NOTICED_S)
            view = (await game.system.call("GetTable", pb.GetTableRequest(table="t-1"), "eve")).update.view
            (line,) = (await game.system.call("ListTables", pb.ListTablesRequest(), "eve")).tables
            assert (view.paused, line.paused) == ("LOG_BEHIND", "LOG_BEHIND")
            for method, fields in (
                ("GetAccount", {"account": "ada"}),
                ("ListTransfers", {"account": "ada"}),
                ("GetTrialBalance", {}),
                ("Deposit", {"account": "ada", "amount": 5, "request_id": "late"}),
            ):
                with pytest.raises(Refused) as refused:
                    await ask_wallet(game, method, **fields)
                assert refused.value.reason == "LOG_BEHIND", method

    run()


def test_what_is_held_is_written_again_though_nobody_acts(tmp_path):
    @simulated
    async def run() -> None:
        async with put_back(tmp_path, HELD_PER_STREAM):
            await asyncio.sleep(NOTICED_S)

    run()
