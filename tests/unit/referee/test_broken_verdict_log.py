"""The referee's log of one shard cannot be trusted: its tables wait for operators, everybody else's play on."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from rules_service.servicer import RulesServicer
from stud.events.v1 import table_events_pb2
from stud.rules.v1 import rules_service_pb2 as rules
from stud.table.v1 import table_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_core.state import Life
from stud_eventlog import keys
from stud_eventlog.types import NO_HASH, Append, StoredCommit
from stud_service.refusals import Refused
from tests.support.playing_memory import DEPOSIT, Game
from tests.support.system_memory import MemorySystem, simulated
from wallet_service.servicer import WalletServicer

Broken = Callable[[StoredCommit, bytes], tuple[StoredCommit, bytes]]
HURT, SOUND, LATER = "t-1", "t-2", "t-3"


def stream_of(table: str) -> str:
    return keys.verdicts(keys.shard_of(table))


async def seated(game: Game, *names: str) -> None:
    await game.open()
    await game.operate(pb.PauseTableRequest(reason="seating"))
    for name in names:
        await game.seat(name)
    await game.operate(pb.ResumeTableRequest())


def balances(system: MemorySystem, *accounts: str) -> int:
    state = system.service("wallet").books["EUR"].state
    return sum(state.balance(f"player:{account}") for account in accounts)


async def reasons(system: MemorySystem) -> set[str]:
    """What operators are told who ask about the hurt table."""
    referee, desk = system.service("rules"), system.service("wallet")
    judge = RulesServicer(system.runtimes["rules"], referee.referee, referee.resolver)
    cashier = WalletServicer(system.runtimes["wallet"].log, desk.books, desk)
    choice = table_events_pb2.RESOLUTION_CHOICE_VOID
    calls = (
        (judge, "ListVerdicts", rules.ListVerdictsRequest(table=HURT)),
        (judge, "AdjudicateHand", rules.AdjudicateHandRequest(table=HURT, hand_no=1)),
        (
            judge,
            "ResolveHand",
            rules.ResolveHandRequest(table=HURT, hand_no=2, choice=choice, reason="r", request_id="1"),
        ),
        (
            cashier,
            "ResolveCashOut",
            wallet.ResolveCashOutRequest(
                currency="EUR", table=HURT, sitting_no=1, amount=1, reason="r", request_id="2"
            ),
        ),
    )
    told = set()
    for servicer, method, request in calls:
        with pytest.raises(Refused) as refused:
            await system.calls(servicer, method, request, "olga", ("operator",))
        told.add(refused.value.reason)
    return told


def flipped(commit: StoredCommit, stored_hash: bytes) -> tuple[StoredCommit, bytes]:
    """One byte is another one; the hashes tell."""
    return replace(commit, body=commit.body[:-1] + bytes([commit.body[-1] ^ 1])), stored_hash


def garbage(commit: StoredCommit, _: bytes) -> tuple[StoredCommit, bytes]:
    """Nothing that anybody can read, under a sound hash."""
    written = Append(commit.stream, 0, NO_HASH, commit.commit_id, b"\xff\xffgarbage")
    return replace(commit, body=written.body), written.head.hash


@pytest.mark.parametrize("broken", [flipped, garbage])
def test_one_shards_verdicts_that_cannot_be_trusted_hold_up_its_own_tables_only(tmp_path: Path, broken: Broken):
    play(tmp_path, broken)


@simulated
async def play(tmp_path: Path, broken: Broken):
    assert len({keys.shard_of(table) for table in (HURT, SOUND, LATER)}) == 3
    async with MemorySystem(tmp_path) as system:
        hurt, sound, later = (Game(system, table) for table in (HURT, SOUND, LATER))
        await seated(hurt, "ada", "bea", "cleo")
        await seated(sound, "dora", "emil", "fred")
        await hurt.play(1)
        await sound.play(1)
        await system.crash("wallet")
        await system.crash("rules")
        rows = system.store.data.logs[stream_of(HURT)]
        honest = rows[0]
        assert len(rows) == 1
        rows[0] = broken(*honest)
        with capture_logs() as lines:
            await system.start("wallet")
            await system.start("rules")
        told = [line["log_level"] for line in lines if line["event"] == "verdicts_broken"]
        assert told == ["critical", "critical"]

        await sound.play(3)
        await sound.close()
        assert sound.table.life is Life.CLOSED
        assert balances(system, "dora", "emil", "fred") == 3 * DEPOSIT
        await seated(later, "gus", "hal")
        assert len([seat for seat in later.table.sittings.values() if seat.stack]) == 2

        while hurt.table.hand is not None or hurt.table.hand_no < 2:
            await hurt.step()
        await hurt.operate(pb.CloseTableRequest())
        await asyncio.sleep(120)
        assert (hurt.table.verified_hand, hurt.table.life is Life.CLOSED) == (1, False)
        assert await reasons(system) == {"LOG_BROKEN"}
        assert balances(system, "ada") == DEPOSIT - 10_000

        rows[0] = honest
        async with asyncio.timeout(600):
            while hurt.table.life is not Life.CLOSED:
                await hurt.step()
        assert hurt.table.verified_hand == 2
        assert balances(system, "ada", "bea", "cleo") == 3 * DEPOSIT
