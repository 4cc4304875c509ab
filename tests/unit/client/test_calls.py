"""Unary calls of the client against a real server: identity, ids, deadlines, retries, errors."""

import asyncio
import json
import logging
from pathlib import Path

import grpc
import pytest

from stud.dealer.v1 import dealer_service_pb2 as dealer_pb
from stud.dealer.v1 import dealer_service_pb2_grpc as dealer_rpc
from stud.table.v1 import table_service_pb2 as pb
from stud.table.v1 import table_service_pb2_grpc as rpc
from stud_cli.local.ports import Port
from stud_client import Endpoints, StudClient, StudError, calling, load_endpoints, pages
from stud_client.errors import from_rpc
from stud_core.events import Option, Size, Verb
from stud_core.rejection import Problem, Reason, Rejection
from stud_service.identity import caller
from stud_service.refusals import Refused
from stud_topology.services import SERVICES
from stud_wire.codec import from_message
from tests.support.contract import contract_of
from tests.support.runtime import House, serving, token


class Tables(rpc.TableServiceServicer):
    """Fails `fails` times with `reason`, then answers; notes what came."""

    def __init__(self) -> None:
        self.fails = 0
        self.reason = "LOG_UNAVAILABLE"
        self.more: dict[str, str] = {}
        self.ids: list[str] = []
        self.reads = 0

    async def SitOut(self, request, context):
        self.ids.append(request.request_id)
        self._maybe_fail()
        return pb.SitOutResponse(version=len(self.ids))

    async def ListTables(self, request, context):
        self.reads += 1
        self._maybe_fail()
        return pb.ListTablesResponse(tables=[pb.TableSummary(table=caller().account)])

    async def GetTable(self, request, context):
        await asyncio.sleep(60)

    def _maybe_fail(self) -> None:
        if self.fails:
            self.fails -= 1
            raise Refused(self.reason, "not now", hint="later", **self.more)


class Dealer(dealer_rpc.DealerServiceServicer):
    def __init__(self) -> None:
        self.audits = 0

    async def AuditDeck(self, request, context):
        self.audits += 1
        raise Refused("LOG_UNAVAILABLE", "not now")


@pytest.fixture
async def tables():
    return Tables()  # type: ignore[abstract]


@pytest.fixture
async def house(tables):
    async with serving(tables) as running:
        yield running


@pytest.fixture
async def client(house: House):
    async with StudClient(Endpoints(table=house.address), token(), timeout_s=3) as made:
        yield made


async def refused(awaitable) -> StudError:
    with pytest.raises(StudError) as caught:
        await awaitable
    return caught.value


async def test_a_call_carries_the_token(client):
    assert (await client.tables.ListTables(pb.ListTablesRequest())).tables[0].table == "alice"


async def test_a_token_may_be_made_anew_for_every_call(house):
    names = iter(["alice", "bob"])
    async with StudClient(Endpoints(table=house.address), lambda: token(next(names))) as client:
        told = [(await client.tables.ListTables(pb.ListTablesRequest())).tables[0].table for _ in range(2)]
    assert told == ["alice", "bob"]


async def test_callers_may_share_connections(client):
    bob = client.with_token(token("bob"))
    assert (await bob.tables.ListTables(pb.ListTablesRequest())).tables[0].table == "bob"
    await bob.close()
    assert (await client.tables.ListTables(pb.ListTablesRequest())).tables[0].table == "alice"


async def test_every_write_gets_an_id_of_its_own_unless_it_has_one(client, tables):
    request = pb.SitOutRequest(table="t")
    await client.tables.SitOut(request)
    await client.tables.SitOut(request)
    await client.tables.SitOut(pb.SitOutRequest(table="t", request_id="mine"))
    assert request.request_id == ""
    assert len(set(tables.ids)) == 3
    assert tables.ids[2] == "mine"
    assert len(tables.ids[0]) == 36


async def test_unavailable_is_tried_again_with_the_same_id(client, tables):
    tables.fails = 2
    assert (await client.tables.SitOut(pb.SitOutRequest(table="t"))).version == 3
    assert len(tables.ids) == 3
    assert len(set(tables.ids)) == 1


async def test_a_retry_is_told_to_nobody_who_did_not_ask(capfd, caplog):
    """Nobody listens there: what a service of this process says about refusals is not in the way."""
    nowhere = Port()
    async with StudClient(Endpoints(table=nowhere.address), token()) as client:
        with caplog.at_level(logging.DEBUG, "stud_client"):
            assert (await refused(client.tables.ListTables(pb.ListTablesRequest()))).passing
    assert capfd.readouterr() == ("", "")
    told = [(record.name, record.levelname) for record in caplog.records if record.name != "asyncio"]  # a busy machine
    assert told == [("stud_client.calling", "DEBUG")] * 2
    assert "ListTables: UNAVAILABLE, trying again in 0." in caplog.text


async def test_three_attempts_are_enough(client, tables):
    tables.fails = 9
    error = await refused(client.tables.SitOut(pb.SitOutRequest(table="t")))
    assert (error.reason, error.code, len(tables.ids)) == ("LOG_UNAVAILABLE", grpc.StatusCode.UNAVAILABLE, 3)
    assert error.metadata == {"hint": "later"}
    assert error.passing


async def test_who_asked_too_often_asks_again_when_they_were_told_to(client, tables):
    tables.fails, tables.reason, tables.more = 4, "RATE_LIMITED", {"retry_after_ms": "250"}
    began = asyncio.get_running_loop().time()
    assert (await client.tables.SitOut(pb.SitOutRequest(table="t"))).version == 5
    assert asyncio.get_running_loop().time() - began >= 4 * 0.25
    assert len(set(tables.ids)) == 1


@pytest.mark.parametrize(("after_ms", "times"), [("60000", 1), ("1", calling.LIMITED_ATTEMPTS), ("soon", 3)])
async def test_who_asked_too_often_gives_up_in_the_end(client, tables, after_ms, times):
    """At once, where he would have to wait for longer than the call may take."""
    tables.fails, tables.reason, tables.more = 99, "RATE_LIMITED", {"retry_after_ms": after_ms}
    error = await refused(client.tables.SitOut(pb.SitOutRequest(table="t")))
    assert (error.reason, error.passing, len(tables.ids)) == ("RATE_LIMITED", True, times)
    assert error.code is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_reads_are_tried_again_too(client, tables):
    tables.fails = 2
    await client.tables.ListTables(pb.ListTablesRequest())
    assert tables.reads == 3


async def test_what_is_legal_and_what_is_wrong_come_as_messages(client, tables, monkeypatch):
    option = Option(Verb.RAISE, 300, 400, Size.HIGH, True)
    problems = [Problem("INVALID_TABLE", "ante", "lies in 0..5", 0, 5), Problem("INVALID_FIELD", "table", "what")]
    refusals = [
        Refused.from_rejection(Rejection(Reason.ILLEGAL_ACTION, "no", "P56", (option,))),
        Refused.of_problems(problems),
        Refused("NO_HAND", "none"),
    ]

    def refuse() -> None:
        raise refusals.pop(0)

    monkeypatch.setattr(tables, "_maybe_fail", refuse)
    errors = [await refused(client.tables.SitOut(pb.SitOutRequest(table="t"))) for _ in range(3)]
    assert [from_message(Option, told) for told in errors[0].legal] == [option]
    assert [(told.reason, told.field, told.text) for told in errors[1].wrong] == [
        ("INVALID_TABLE", "ante", "lies in 0..5"),
        ("INVALID_FIELD", "table", "what"),
    ]
    assert (errors[1].wrong[0].max, errors[1].wrong[1].HasField("max")) == (5, False)
    assert [(error.legal, error.wrong) for error in errors[1:]] == [((), errors[1].wrong), ((), ())]
    assert errors[0].wrong == ()


async def test_pages_are_asked_for_until_there_are_no_more(client, tables, monkeypatch):
    asked: list[pb.ListTablesRequest] = []

    async def listed(request):
        asked.append(pb.ListTablesRequest.FromString(request.SerializeToString()))
        number = len(asked)
        tables = [pb.TableSummary(table=f"t-{number}")]
        return pb.ListTablesResponse(tables=tables, next_page_token=f"after-{number}" if number < 3 else "")

    request = pb.ListTablesRequest(currency="EUR", page_size=1)
    assert [page.tables[0].table async for page in pages(listed, request)] == ["t-1", "t-2", "t-3"]
    assert [(one.currency, one.page_size, one.page_token) for one in asked] == [
        ("EUR", 1, ""),
        ("EUR", 1, "after-1"),
        ("EUR", 1, "after-2"),
    ]
    assert request.page_token == ""
    (only,) = [page async for page in pages(client.tables.ListTables, pb.ListTablesRequest())]
    assert only.tables[0].table == "alice"


@pytest.mark.parametrize("reason", ["NOT_YOUR_TURN", "LOG_BEHIND", "TABLE_FULL", "CALL_DEADLINE", "INTERNAL"])
async def test_other_refusals_are_final(client, tables, reason):
    tables.fails, tables.reason = 1, reason
    error = await refused(client.tables.SitOut(pb.SitOutRequest(table="t")))
    assert (error.reason, error.text, len(tables.ids)) == (reason, "not now", 1)
    assert str(error) == f"{reason}: not now"
    assert not error.passing


async def test_a_write_without_an_id_is_never_repeated():
    dealer = Dealer()  # type: ignore[abstract]
    async with (
        serving(dealer, add=dealer_rpc.add_DealerServiceServicer_to_server) as house,
        StudClient(Endpoints(dealer=house.address), token()) as client,
    ):
        await refused(client.dealer.AuditDeck(dealer_pb.AuditDeckRequest(table="t", hand_no=1)))
    assert dealer.audits == 1


async def test_a_deadline_of_its_own_and_that_of_the_client(client):
    for timeout in (0.1, None):
        client._timeout_s = 0.1
        error = await refused(client.tables.GetTable(pb.GetTableRequest(table="t"), timeout=timeout or 0.1))
        assert (error.reason, error.code) == ("DEADLINE_EXCEEDED", grpc.StatusCode.DEADLINE_EXCEEDED)


async def test_nobody_listens():
    nowhere = Port()
    async with StudClient(Endpoints(table=nowhere.address), token()) as client:
        error = await refused(client.tables.ListTables(pb.ListTablesRequest()))
    assert (error.reason, error.code) == ("UNAVAILABLE", grpc.StatusCode.UNAVAILABLE)


async def test_a_service_that_comes_up_late_may_be_waited_for(tables):
    port = Port()
    async with StudClient(Endpoints(table=port.address), token(), timeout_s=10, wait_for_ready=True) as client:
        call = asyncio.ensure_future(client.tables.ListTables(pb.ListTablesRequest()))
        await asyncio.sleep(0.3)
        async with serving(tables, address=port.address):
            assert (await call).tables[0].table == "alice"


async def test_it_reconnects_within_moments(tables):
    port = Port()
    async with StudClient(Endpoints(table=port.address), token(), wait_for_ready=True) as client:
        for _ in range(2):
            async with serving(tables, address=port.address):
                async with asyncio.timeout(5):
                    await client.tables.ListTables(pb.ListTablesRequest())


async def test_an_answer_that_is_none_of_ours_is_told_by_its_status(client, monkeypatch):
    class Strange:
        def code(self):
            return grpc.StatusCode.UNAVAILABLE

        def details(self):
            return ""

        def trailing_metadata(self):
            return (("grpc-status-details-bin", b"\xff\xff"), ("other", "x"))

    error = from_rpc(Strange())  # type: ignore[arg-type]
    assert (error.reason, error.text) == ("UNAVAILABLE", "no answer")


def test_what_is_read_only_is_told_by_its_name():
    for service in SERVICES:
        for method in contract_of(service).methods:
            has_id = "request_id" in method.input_type.fields_by_name
            streams = method.client_streaming or method.server_streaming
            reads = method.name.startswith(calling.READS)
            assert [has_id, streams, reads, method.name.startswith("Audit")].count(True) == 1, method.name


# Endpoints


def test_where_endpoints_come_from(tmp_path: Path):
    path = tmp_path / "stud.json"
    assert load_endpoints(path, {}) == Endpoints()
    assert Endpoints()["wallet"] == "127.0.0.1:7104"
    path.write_text(json.dumps({"endpoints": {"table": "h:1", "dealer": "h:2"}, "pid": 7}))
    assert load_endpoints(path, {}) == Endpoints(table="h:1", dealer="h:2")
    environ = {"STUD_TABLE_ENDPOINT": "e:1", "STUD_RULES_ENDPOINT": "e:3"}
    assert load_endpoints(path, environ) == Endpoints(table="e:1", dealer="h:2", rules="e:3")
    assert load_endpoints(path, environ, table="a:1")["table"] == "a:1"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"endpoints": 7}'])
def test_a_file_that_is_none_of_ours_is_named(tmp_path: Path, text: str):
    path = tmp_path / "stud.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"stud\.json"):
        load_endpoints(path, {})


async def test_every_service_has_a_stub():
    async with StudClient(Endpoints(), "token") as client:
        assert {
            hasattr(client.dealer, "StackDeck"),
            hasattr(client.rules, "RankHand"),
            hasattr(client.wallet, "Deposit"),
        }
        assert client.wallet is client.wallet
