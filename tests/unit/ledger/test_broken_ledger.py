"""One currency's ledger cannot be trusted: its money waits for operators, the other currencies' does not."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from stud.wallet.v1 import wallet_service_pb2 as pb
from stud_core.state import Life
from stud_eventlog import keys
from stud_service.refusals import Refused
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, simulated
from wallet_service.servicer import WalletServicer


async def call(system: MemorySystem, method: str, who: str, role: str, **fields) -> object:
    app = system.service("wallet")
    request = getattr(pb, f"{method}Request")(**fields)
    return await system.calls(WalletServicer(app._runtime.log, app.books, app), method, request, who, (role,))


@simulated
async def test_a_ledger_that_was_edited_holds_up_its_currency_only(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        euros, play_money = Game(system, "t-1"), Game(system, "t-2")
        await euros.begin(3)
        await euros.play(1)
        await system.crash("wallet")
        rows = system.store.data.logs[keys.ledger_log("EUR")]
        honest = rows[2]
        rows[2] = replace(honest[0], body=honest[0].body[:-1] + bytes([honest[0].body[-1] ^ 1])), honest[1]
        with capture_logs() as lines:
            await system.start("wallet")
        told = [line for line in lines if line["event"] == "ledger_needs_operators"]
        assert {(line["currency"], line["log_level"]) for line in told} == {("EUR", "critical")}

        await play_money.begin(3, currency="XTS")
        await play_money.play(1)
        await play_money.close()
        assert play_money.table.life is Life.CLOSED

        for method, who, role, fields in (
            ("GetAccount", "ada", "player", {}),
            ("Deposit", "carl", "cashier", {"account": "ada", "amount": 1, "request_id": "1"}),
            ("FreezeAccount", "olga", "operator", {"account": "ada", "reason": "r", "request_id": "2"}),
        ):
            with pytest.raises(Refused) as refused:
                await call(system, method, who, role, currency="EUR", **fields)
            assert (method, refused.value.reason) == (method, "LOG_BROKEN")

        rows[2] = honest
        before = (await call(system, "GetAccount", "ada", "player", currency="EUR")).balance  # type: ignore[attr-defined]
        await call(system, "Deposit", "carl", "cashier", currency="EUR", account="ada", amount=1, request_id="1")
        after = (await call(system, "GetAccount", "ada", "player", currency="EUR")).balance  # type: ignore[attr-defined]
        assert after == before + 1
        for letter in await system.runtimes["wallet"].log.dead_list("wallet"):  # as `stud dead retry` does
            await system.runtimes["wallet"].log.request_retry("wallet", letter.shard, letter.table_id)
        async with asyncio.timeout(600):
            await euros.close()
