"""Who may make which call: every call of every service, by everybody, about what is theirs, somebody else's, and
nobody's; over gRPC and over the edge. A call that has no row here fails.

A row says which roles may, whosever it is, and which may where it is their own. Everybody else is refused for their
role alone, before anything is looked at: nothing is written, and the words do not tell what is there from what is not.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from stud.table.v1 import table_service_pb2 as pb
from stud_service.signing_keys import load_private_key
from stud_service.tokens import ROLES, mint
from stud_topology.services import SERVICES
from tests.support.contract import contract_of
from tests.support.open_house import OpenHouse
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem
from tests.support.transports import NOT_THERE, TRANSPORTS, Outcome, Transport, path_of

ADA, EVE, NOBODY = "ada", "eve", "nobody"
"""Who has an account and a seat at t-1; who has an account and no seat; and whom there is not."""

NO_ROLE, NO_TOKEN, WRONG_TOKEN = "a token without a role", "no token", "a wrong token"
CALLERS = (*sorted(ROLES), NO_ROLE, NO_TOKEN, WRONG_TOKEN)

ANY = frozenset(ROLES)
WHOEVER = ANY | {NO_ROLE}
NONE: frozenset[str] = frozenset()
PLAYER, OPERATOR, CASHIER = frozenset({"player"}), frozenset({"operator"}), frozenset({"cashier"})
AUDITOR = frozenset({"auditor"})
STAFF = OPERATOR | CASHIER | AUDITOR


class Row(NamedTuple):
    """`may`: whosever it is. `own`: where it is their own. `decides`: whoever has an interest is refused for that."""

    may: frozenset[str]
    own: frozenset[str] = NONE
    decides: bool = False


MATRIX: dict[str, Row] = {
    "TableService.ListTables": Row(WHOEVER),
    "TableService.GetTable": Row(WHOEVER),
    "TableService.WatchLobby": Row(WHOEVER),
    "TableService.GetMe": Row(WHOEVER),
    "TableService.WatchMe": Row(WHOEVER),
    "TableService.ListHands": Row(WHOEVER),
    "TableService.GetHand": Row(WHOEVER),
    "TableService.TakeSeat": Row(PLAYER),
    "TableService.AddChips": Row(PLAYER),
    "TableService.LeaveSeat": Row(PLAYER),
    "TableService.SitOut": Row(PLAYER),
    "TableService.SitIn": Row(PLAYER),
    "TableService.SetPreferences": Row(PLAYER),
    "TableService.PostAnte": Row(PLAYER),
    "TableService.Act": Row(PLAYER),
    "TableService.UseTimeChip": Row(PLAYER),
    "TableService.JoinWaitingList": Row(PLAYER),
    "TableService.LeaveWaitingList": Row(PLAYER),
    "TableService.SetPreAction": Row(PLAYER),
    "TableService.ClearPreAction": Row(PLAYER),
    "TableService.ChooseShow": Row(PLAYER),
    "TableService.Play": Row(PLAYER),
    "TableService.Watch": Row(WHOEVER),
    "TableService.CreateTable": Row(OPERATOR),
    "TableService.CloseTable": Row(OPERATOR, decides=True),
    "TableService.PauseTable": Row(OPERATOR, decides=True),
    "TableService.ResumeTable": Row(OPERATOR, decides=True),
    "TableService.DrainTable": Row(OPERATOR, decides=True),
    "TableService.VoidHand": Row(OPERATOR, decides=True),
    "TableService.SendHouseMessage": Row(OPERATOR),
    "DealerService.GetCommitment": Row(WHOEVER),
    "DealerService.StackDeck": Row(OPERATOR),
    "DealerService.AuditDeck": Row(AUDITOR),
    "DealerService.AuditDownCards": Row(AUDITOR),
    "RulesService.ListRulesets": Row(ANY),
    "RulesService.GetRuleset": Row(ANY),
    "RulesService.GetLegalActions": Row(ANY),
    "RulesService.RankHand": Row(ANY),
    "RulesService.AdjudicateHand": Row(OPERATOR | AUDITOR),
    "RulesService.ListVerdicts": Row(OPERATOR | AUDITOR),
    "RulesService.ResolveHand": Row(OPERATOR),
    "RulesService.ListProposals": Row(OPERATOR | AUDITOR),
    "WalletService.OpenAccount": Row(OPERATOR | CASHIER, own=PLAYER),
    "WalletService.GetAccount": Row(STAFF, own=WHOEVER),
    "WalletService.WatchAccount": Row(STAFF, own=WHOEVER),
    "WalletService.Deposit": Row(CASHIER, decides=True),
    "WalletService.Withdraw": Row(CASHIER, decides=True),
    "WalletService.ListTransfers": Row(STAFF, own=WHOEVER),
    "WalletService.GetTrialBalance": Row(STAFF),
    "WalletService.FreezeAccount": Row(OPERATOR, decides=True),
    "WalletService.UnfreezeAccount": Row(OPERATOR, decides=True),
    "WalletService.ResolveCashOut": Row(OPERATOR),
    "WalletService.Adjust": Row(OPERATOR),
    "WalletService.ListHeldCashOuts": Row(OPERATOR | AUDITOR),
    "WalletService.ListProposals": Row(OPERATOR | AUDITOR),
}


def methods() -> dict[str, MethodDescriptor]:
    """Every call of the contract by its short name."""
    contracts = [contract_of(service) for service in SERVICES]
    return {f"{contract.name}.{method.name}": method for contract in contracts for method in contract.methods}


METHODS = methods()


def test_every_call_has_its_row():
    assert set(MATRIX) == set(METHODS)


class About(NamedTuple):
    """Who calls, and about what."""

    caller: str
    table: str
    account: str


ABOUT = {
    "own": About(ADA, "t-1", ADA),
    "other": About(EVE, "t-1", ADA),
    "none": About(EVE, "t-9", NOBODY),
}
IDS = itertools.count(1)


def request_of(method: MethodDescriptor, about: About) -> Message:
    """A request about that, whose other fields have values that mostly do."""
    values: dict[str, Any] = {
        "table": about.table,
        "account": about.account,
        "request_id": f"matrix-{next(IDS)}",
        "currency": "EUR",
        "reason": "a test",
        "reference": "a test",
        "text": "a test",
        "preset": "playnow",
        "name": "playnow",
        "hand_no": 1,
        "sitting_no": 1,
        "amount": 2_000,
        "subscribe": pb.Subscribe(table=about.table),
    }
    if method.name == "CreateTable":
        values["table"] = f"new-{next(IDS)}"
    if method.name == "GetRuleset":
        del values["table"]
    kind: Any = GetMessageClass(method.input_type)
    fields = method.input_type.fields_by_name
    request: Message = kind(**{name: value for name, value in values.items() if name in fields})
    return request


class Cell(NamedTuple):
    """One call by somebody about something."""

    role: str
    whose: str

    def may(self, row: Row) -> bool:
        return self.role in row.may or (self.whose == "own" and self.role in row.own)


def cells(row: Row) -> Iterator[Cell]:
    """Those that are refused first: the others change what there is."""
    found = [Cell(role, whose) for whose in ABOUT for role in CALLERS]
    return iter(sorted(found, key=lambda cell: (cell.may(row), found.index(cell))))


async def furnish(system: MemorySystem) -> None:
    """Ada sits at a table that stands still; eve only has an account."""
    for name in system.names:
        await system.start(name)
    game = Game(system)
    await game.open(preset="playnow")
    await game.operate(pb.PauseTableRequest(reason="seating"))
    await game.seat(ADA)
    await game.deposit(EVE, 100_000)


@pytest.fixture(scope="module", params=list(TRANSPORTS))
def transport(request: pytest.FixtureRequest) -> Callable[[str], Any]:
    """A way to make calls to an address."""
    found: Callable[[str], Any] = TRANSPORTS[request.param]
    return found


class Asking:
    """Makes the calls of a row at a house."""

    def __init__(self, house: OpenHouse, way: Transport, method: MethodDescriptor) -> None:
        self._house, self._way, self._method = house, way, method
        self._key = load_private_key(house.system.keys_dir)

    async def outcome(self, cell: Cell) -> Outcome:
        about = ABOUT[cell.whose]
        roles = [cell.role] if cell.role in ROLES else []
        token = mint(about.caller, roles, 600, self._key)
        token = {NO_TOKEN: "", WRONG_TOKEN: token[:-8] + "AAAAAAAA"}.get(cell.role, token)
        return await self._way.call(self._method, request_of(self._method, about), token)

    def written(self) -> dict[str, int]:
        return {stream: len(rows) for stream, rows in self._house.system.store.data.logs.items()}


@pytest.mark.parametrize("name", MATRIX)
async def test_who_may_call(name: str, transport: Callable[[str], Any], tmp_path: Path):
    row, method = MATRIX[name], METHODS[name]
    with OpenHouse(tmp_path, prepare=furnish) as house:
        async with transport(house.address) as way:
            asking, told = Asking(house, way, method), dict[Cell, Outcome]()
            before = asking.written()
            for cell in cells(row):
                if told and cell.may(row):
                    assert asking.written() == before, "what was refused has been written"
                    before = asking.written()
                outcome = told[cell] = await asking.outcome(cell)
                if cell.may(row):
                    before = asking.written()
                if not way.offers(path_of(method)):
                    assert outcome.reason == NOT_THERE, (cell, outcome)
                elif cell.role in {NO_TOKEN, WRONG_TOKEN}:
                    assert outcome.reason == "UNAUTHENTICATED", (cell, outcome)
                elif not cell.may(row):
                    assert outcome.reason == "ROLE_NOT_ALLOWED", (cell, outcome)
                elif row.decides and cell.whose == "own":
                    assert outcome.reason == "OWN_INTEREST", (cell, outcome)
                else:
                    wrong = {"UNAUTHENTICATED", "ROLE_NOT_ALLOWED", "INTERNAL", NOT_THERE, "OWN_INTEREST"}
                    assert outcome.reason not in wrong or (cell.whose, outcome.reason) == ("own", "OWN_INTEREST")
            for role in CALLERS:
                other, none = told[Cell(role, "other")], told[Cell(role, "none")]
                if not Cell(role, "other").may(row):
                    assert other == none, f"a {role} learns whether there is such a thing"
