"""Who has an interest decides nothing: every deciding call by every kind of interest, on the real services.

One account holds a seat, or did, and a token with every role there is. Whatever it asks for where it has an interest is
refused with OWN_INTEREST and writes nothing; where it has none, and from anybody else, the same call is judged as ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dealer_service.servicer import DealerServicer
from rules_service.servicer import RulesServicer
from stud.dealer.v1 import dealer_service_pb2 as dealer
from stud.events.v1 import ledger_events_pb2, table_events_pb2
from stud.rules.v1 import rules_service_pb2 as rules
from stud.table.v1 import table_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_core import commands as cmd
from stud_core.events import Delta
from stud_core.ledger import commands as money
from stud_core.state import Sit
from stud_service.refusals import Refused
from stud_topology.services import SERVICES
from table_service.servicer import TableServicer
from tests.support.choosing import STAY
from tests.support.contract import contract_of
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, simulated
from wallet_service.servicer import WalletServicer

ADA, EVE = "ada", "eve"
"""Who has, or had, a seat at t-1; and who has one at another table only."""

ROLES = ("player", "operator", "cashier", "auditor")
DONE = "done"
DECK: Any = range(1, 53)
VOID = table_events_pb2.RESOLUTION_CHOICE_VOID


class Call(NamedTuple):
    """A deciding call. ``hand``: it is about a hand, not only about the table."""

    service: str
    request: Callable[[], Any]
    hand: bool = False


def adjust(name: str) -> Callable[[], wallet.AdjustRequest]:
    lines = [
        ledger_events_pb2.Posting(account="house:cashier", amount=-5),
        ledger_events_pb2.Posting(account=name, amount=5),
    ]
    return lambda: wallet.AdjustRequest(currency="EUR", reference="ticket", postings=lines)


def cash_out(sitting_no: int) -> Callable[[], wallet.ResolveCashOutRequest]:
    return lambda: wallet.ResolveCashOutRequest(
        currency="EUR", table="t-1", sitting_no=sitting_no, amount=1, reason="a test"
    )


CARDS_OF_ADA: dict[str, Any] = {"table": "t-1", "hand_no": 1, "account": ADA, "reason": "a test"}
ABOUT_THE_TABLE = {
    "VoidHand": Call("table", lambda: pb.VoidHandRequest(table="t-1", hand_no=1, reason="a test"), hand=True),
    "PauseTable": Call("table", lambda: pb.PauseTableRequest(table="t-1", reason="a test")),
    "ResumeTable": Call("table", lambda: pb.ResumeTableRequest(table="t-1")),
    "DrainTable": Call("table", lambda: pb.DrainTableRequest(table="t-1")),
    "CloseTable": Call("table", lambda: pb.CloseTableRequest(table="t-1")),
    "SendHouseMessage": Call("table", lambda: pb.SendHouseMessageRequest(table="t-1", text="a test")),
    "StackDeck": Call("dealer", lambda: dealer.StackDeckRequest(table="t-1", hand_no=2, cards=DECK)),
    "AuditDeck": Call("dealer", lambda: dealer.AuditDeckRequest(table="t-1", hand_no=1, reason="a test"), hand=True),
    "AuditDownCards": Call("dealer", lambda: dealer.AuditDownCardsRequest(**CARDS_OF_ADA), hand=True),
    "ResolveHand": Call(
        "rules", lambda: rules.ResolveHandRequest(table="t-1", hand_no=1, choice=VOID, reason="a test"), hand=True
    ),
    "ResolveCashOut": Call("wallet", cash_out(2)),
    "ResolveCashOut, his own": Call("wallet", cash_out(1)),
    "Adjust an escrow": Call("wallet", adjust("escrow:t-1:2")),
    "Adjust an escrow, his own": Call("wallet", adjust("escrow:t-1:1")),
}


def about_account(account: str) -> dict[str, Call]:
    of = {"currency": "EUR", "account": account}
    return {
        "Deposit": Call("wallet", lambda: wallet.DepositRequest(**of, amount=5)),
        "Withdraw": Call("wallet", lambda: wallet.WithdrawRequest(**of, amount=5)),
        "FreezeAccount": Call("wallet", lambda: wallet.FreezeAccountRequest(**of, reason="a test")),
        "UnfreezeAccount": Call("wallet", lambda: wallet.UnfreezeAccountRequest(**of, reason="a test")),
        "Adjust": Call("wallet", adjust(f"player:{account}")),
    }


class House:
    """A table with ada at it, eve at another one, and everybody's calls."""

    def __init__(self, system: MemorySystem) -> None:
        self.system = system
        self.game = Game(system)
        self.other = Game(system, "t-2")
        self._ids = 0

    async def open(self) -> None:
        await self.other.open()
        await self.other.operate(pb.PauseTableRequest(reason="seating"))
        await self.other.seat(EVE)
        await self.game.open()
        await self.game.operate(pb.PauseTableRequest(reason="seating"))

    def servicer(self, service: str) -> Any:
        app = self.system.service(service)
        runtime = self.system.runtimes[service]
        match service:
            case "table":
                return TableServicer(app.registry, app.streams)
            case "dealer":
                return DealerServicer(runtime, app._seeds, app.shoes)
            case "rules":
                return RulesServicer(runtime, app.referee, app.resolver)
        return WalletServicer(runtime.log, app.books, app)

    async def answer(self, name: str, call: Call, account: str) -> str:
        """Has somebody call, and returns DONE or why it was refused."""
        self._ids += 1
        request = call.request()
        if not name.startswith("Audit"):
            request.request_id = f"own-{self._ids}"
        method = name.split(maxsplit=1)[0].rstrip(",")
        try:
            await self.system.calls(self.servicer(call.service), method, request, account, ROLES)
        except Refused as refused:
            told = refused.reason != "OWN_INTEREST" or "another" in refused.text
            return refused.reason if told else refused.text
        return DONE

    def written(self) -> dict[str, int]:
        return {stream: len(rows) for stream, rows in self.system.store.data.logs.items()}

    async def refuses(self, name: str, call: Call, account: str = ADA) -> None:
        """It is refused for the caller's interest, and nothing is written."""
        before = self.written()
        assert await self.answer(name, call, account) == "OWN_INTEREST", name
        assert self.written() == before, name


# --- ada's interest: what she has at t-1 when she calls ---------------------------------------------------------------


async def reserved(house: House) -> None:
    """The wallet does not answer: she has a reservation."""
    await house.game.deposit(ADA, 100_000)
    await house.system.stop("wallet")
    await house.game.send(ADA, pb.TakeSeatRequest(amount=10_000))


async def seated(house: House) -> None:
    for account in (ADA, "bea"):
        await house.game.seat(account)


async def sitting_out(house: House) -> None:
    await seated(house)
    await house.game.send(ADA, pb.SitOutRequest())


async def playing(house: House) -> None:
    await seated(house)
    await house.game.seat("cleo")
    await house.game.operate(pb.ResumeTableRequest())
    await house.game.until_turn()


async def leaving(house: House) -> None:
    await playing(house)
    await house.game.send(ADA, pb.LeaveSeatRequest())


async def cashing_out(house: House) -> None:
    """The wallet does not answer: her seat is free, and the money on its way."""
    await seated(house)
    await house.system.stop("wallet")
    await house.game.send(ADA, pb.LeaveSeatRequest())
    assert sitting_of_ada(house) is Sit.CASHING_OUT


async def held(house: House) -> None:
    """Table and ledger differ about what she is owed."""
    await seated(house)
    book = house.system.service("wallet").books["EUR"]
    await book.submit(money.SettleHand("t-1", 1, 1, (Delta(1, ADA, -7), Delta(2, "bea", 7)), 0))
    await house.game.send(ADA, pb.LeaveSeatRequest())
    await house.game.until(lambda table: table.sittings[1].status is Sit.HELD)


async def left(house: House) -> None:
    """She was dealt into the last hand, and has been paid."""
    await playing(house)
    await house.game.send(ADA, pb.LeaveSeatRequest())
    while house.game.table.verified_hand < 1:
        await house.game.step(STAY)
    await house.game.operate(pb.PauseTableRequest(reason="the end"))
    await house.game.until(lambda table: table.of(ADA) is None)


def sitting_of_ada(house: House) -> Sit:
    sitting = house.game.table.of(ADA)
    assert sitting is not None
    return sitting.status


SITS = (reserved, seated, sitting_out, playing, leaving, cashing_out, held)
Begin = Callable[[House], Awaitable[None]]


def matrix(test: Any) -> Any:
    return pytest.mark.parametrize("begin", SITS, ids=lambda begin: begin.__name__)(test)


@matrix
@simulated
async def test_whoever_sits_at_a_table_decides_nothing_about_it(tmp_path: Path, begin: Begin):
    async with MemorySystem(tmp_path) as system:
        house = House(system)
        await house.open()
        await begin(house)
        reachable = {name: call for name, call in ABOUT_THE_TABLE.items() if call.service in system.apps}
        assert len(reachable) == len(ABOUT_THE_TABLE) - 4 * (begin in {reserved, cashing_out})
        for name, call in reachable.items():
            await house.refuses(name, call)
        for name, call in reachable.items():
            assert await house.answer(name, call, EVE) != "OWN_INTEREST", name


@simulated
async def test_whoever_was_dealt_into_a_hand_decides_nothing_about_that_hand(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        house = House(system)
        await house.open()
        await left(house)
        about_hand = {name: call for name, call in ABOUT_THE_TABLE.items() if call.hand}
        assert set(about_hand) == {"VoidHand", "AuditDeck", "AuditDownCards", "ResolveHand"}
        for name, call in about_hand.items():
            await house.refuses(name, call)
        answers = {name: await house.answer(name, call, EVE) for name, call in about_hand.items()}
        assert answers == {
            "VoidHand": "HAND_ALREADY_ENDED",
            "ResolveHand": "ALREADY_DECIDED",
            "AuditDeck": DONE,
            "AuditDownCards": DONE,
        }
        others = {name: call for name, call in ABOUT_THE_TABLE.items() if not call.hand and "own" not in name}
        for name, call in others.items():
            assert await house.answer(name, call, ADA) != "OWN_INTEREST", name


@simulated
async def test_a_hand_of_long_ago_is_not_audited_by_who_was_in_it(tmp_path: Path):
    """By the hand's own range: bea was in both hands, cleo in the first, dora in the second only; all have left."""
    async with MemorySystem(tmp_path) as system:
        house = House(system)
        await house.open()
        game = house.game
        for account in ("bea", "cleo", "emil"):
            await game.seat(account)
        await game.operate(pb.ResumeTableRequest())
        await game.until_turn()
        await game.send("cleo", pb.LeaveSeatRequest())
        while game.table.verified_hand < 1:
            await game.step(STAY)
        await game.operate(pb.PauseTableRequest(reason="seating"))
        await game.seat("dora")
        await game.operate(pb.ResumeTableRequest())
        while game.table.verified_hand < 2:
            await game.step(STAY)
        await game.close()

        async def audit(hand_no: int, account: str) -> str:
            request = dealer.AuditDeckRequest(table="t-1", hand_no=hand_no, reason="a test")
            return await house.answer("AuditDeck", Call("dealer", lambda: request), account)

        for hand_no, players in ((1, {"bea", "cleo", "emil"}), (2, {"bea", "dora", "emil"})):
            for account in ("bea", "cleo", "dora", "emil", EVE):
                assert await audit(hand_no, account) == ("OWN_INTEREST" if account in players else DONE)


@simulated
async def test_nobody_decides_about_their_own_account(tmp_path: Path):
    """Wherever he sits; and everybody may about another's, also one who sits beside him."""
    async with MemorySystem(tmp_path) as system:
        house = House(system)
        await house.open()
        await seated(house)
        for account in (ADA, EVE):
            for name, call in about_account(account).items():
                await house.refuses(name, call, account)
        answers = {name: await house.answer(name, call, ADA) for name, call in about_account("bea").items()}
        assert answers == dict.fromkeys(about_account("bea"), DONE)
        opening = Call("wallet", lambda: wallet.OpenAccountRequest(currency="EUR", account=ADA))
        assert await house.answer("OpenAccount", opening, ADA) == DONE


@simulated
async def test_somebody_else_decides_as_ever(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        house = House(system)
        await house.open()
        await playing(house)
        calls = ("VoidHand", "PauseTable", "ResumeTable", "DrainTable", "CloseTable")
        assert [await house.answer(name, ABOUT_THE_TABLE[name], EVE) for name in calls] == [DONE] * 5


@simulated
async def test_it_is_judged_when_it_is_decided_not_when_it_is_asked(tmp_path: Path):
    """Ada's seat and her pause wait in the table's mailbox together; whoever comes first, comes first."""
    async with MemorySystem(tmp_path) as system:
        house = House(system)
        await house.open()
        await house.game.deposit(ADA, 100_000)
        actor = house.game.actor
        sits = cmd.TakeSeat(ADA, None, 10_000)
        resumes, pauses = cmd.ResumeTable(ADA), cmd.PauseTable("a test", ADA)
        waiting = [actor.submit(command, actor=ADA) for command in (resumes, sits, pauses)]
        answers = await asyncio.gather(*waiting, return_exceptions=True)
        assert [getattr(answer, "reason", DONE) for answer in answers] == [DONE, DONE, "OWN_INTEREST"]


@simulated
async def test_what_was_decided_before_they_sat_down_is_answered_again_as_it_was(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        house = House(system)
        await house.open()
        requests: list[tuple[str, Any]] = [
            ("table", pb.ResumeTableRequest(table="t-1", request_id="r-1")),
            ("wallet", wallet.FreezeAccountRequest(currency="EUR", account=EVE, reason="a test", request_id="r-2")),
        ]

        async def ask() -> list[int]:
            names = [(service, type(request).__name__.removesuffix("Request")) for service, request in requests]
            answers = [
                await system.calls(house.servicer(service), name, request, ADA, ROLES)
                for (service, name), (_, request) in zip(names, requests, strict=True)
            ]
            return [answer.version for answer in answers]

        first = await ask()
        await seated(house)
        assert await ask() == first


DECIDES_NOTHING_ABOUT_OTHERS = {
    "CreateTable", "OpenAccount",  # nobody has an interest in what is not there yet
    "ListTables", "GetTable", "Watch", "GetCommitment", "ListRulesets", "GetRuleset", "GetLegalActions", "RankHand",
    "AdjudicateHand", "ListVerdicts", "GetAccount", "ListTransfers", "GetTrialBalance",  # only look, and see no card
    "ListHeldCashOuts", "ListProposals", "WatchLobby", "GetMe", "WatchMe", "WatchAccount",
    "ListHands", "GetHand",  # one's own, and what everybody could see
    "Play", "TakeSeat", "AddChips", "LeaveSeat", "SitOut", "SitIn", "SetPreferences", "PostAnte", "Act",
    "JoinWaitingList", "LeaveWaitingList", "UseTimeChip", "SetPreAction", "ClearPreAction",
    "ChooseShow",  # a player's own
}  # fmt: skip


def test_every_call_of_the_contract_is_in_the_matrix_or_decides_nothing():
    """A new call has to say which of the two it is."""
    calls = {method.name for service in SERVICES for method in contract_of(service).methods}
    tried = {name.split(maxsplit=1)[0].rstrip(",") for name in (*ABOUT_THE_TABLE, *about_account(ADA))}
    assert tried | DECIDES_NOTHING_ABOUT_OTHERS == calls
    assert not tried & DECIDES_NOTHING_ABOUT_OTHERS
