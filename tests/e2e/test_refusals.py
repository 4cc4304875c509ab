"""What nobody may do: each is refused for its reason, changes nothing, and tells nothing of our insides."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import jwt
import pytest
import pytest_asyncio

from stud.common.v1 import ruleset_pb2, seat_pb2
from stud.dealer.v1 import dealer_service_pb2 as dealer
from stud.events.v1 import ledger_events_pb2, table_events_pb2
from stud.rules.v1 import rules_service_pb2 as rules
from stud.table.v1 import table_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_client import StudError
from stud_client.calling import open_channel
from stud_client.errors import from_rpc
from stud_core import events as ev
from stud_service.signing_keys import load_private_key
from stud_service.tokens import mint
from tests.support.playing import BUY_IN, DEPOSIT, Player, Table
from tests.support.system import Live, shared

pytestmark = shared("refusals")

Code = grpc.StatusCode
SERVICE = "/stud.table.v1.TableService/"
INSIDES = ("Traceback", "Error:", "Exception", ".py", "stud_", "redis", "None", "object at", "line ")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def table(live: Live) -> AsyncIterator[Table]:
    """A table on which it is somebody's turn, and nothing happens unless somebody acts."""
    async with await Table.begin(live, "refusals", preset="playnow") as made:
        await made.turn()
        yield made
    lines = live.service_log().splitlines()
    assert [line for line in lines if '"level": "error"' in line or "Traceback" in line] == []  # nothing was our fault


async def refusal(call: Awaitable[Any], reason: str, code: Code | None) -> StudError:
    """Has a call refused for exactly this reason, with this status, in words that are not our code's."""
    with pytest.raises((StudError, grpc.aio.AioRpcError)) as caught:
        await call
    raised: Any = caught.value
    error = raised if isinstance(raised, StudError) else from_rpc(raised)
    assert (error.reason, error.code) == (reason, code), error
    told = " ".join([error.text, *error.metadata.values()])
    assert error.text
    assert [word for word in INSIDES if word in told] == []
    return error


@asynccontextmanager
async def unchanged(table: Table) -> AsyncIterator[None]:
    """The table's log is the same to the byte before and after."""
    before = await table.live.head(table.id)
    yield
    assert await table.live.head(table.id) == before


def action(table: Table, turn_id: int, verb: Any = seat_pb2.VERB_FOLD, **fields: Any) -> pb.ActRequest:
    return pb.ActRequest(table=table.id, turn_id=turn_id, verb=verb, **fields)


async def idle(table: Table) -> Player:
    """A player whose turn it is not."""
    on_turn, _ = await table.turn()
    return next(player for player in table.players.values() if player is not on_turn)


@asynccontextmanager
async def raw(live: Live, token: str | None, *, stream: bool = False) -> AsyncIterator[Any]:
    """Calls as whoever holds a token, with whatever bytes: `call(method, data)`."""
    metadata = [] if token is None else [("authorization", f"Bearer {token}")]
    async with open_channel(live.stack.endpoints["table"]) as channel:

        async def unary(method: str, data: bytes) -> bytes:
            call: Any = channel.unary_unary(SERVICE + method)
            answer: bytes = await call(data, metadata=metadata, timeout=20)
            return answer

        async def streamed(method: str, *messages: bytes) -> None:
            """Sends messages one after the other, each after an answer to the one before; reads to the end.

            A message on its way when the server ends the call hides its status from gRPC's client: then once more.
            """
            opened: Any = channel.stream_stream(SERVICE + method)
            for _ in range(10):
                try:
                    await conversation(opened(metadata=metadata, timeout=20), *messages)
                except grpc.aio.AioRpcError as error:
                    if error.details() != "Internal error from Core":
                        raise

        yield streamed if stream else unary


async def conversation(call: Any, *messages: bytes) -> None:
    for message in messages[:-1]:
        await call.write(message)
        assert await call.read() is not grpc.aio.EOF
    for message in messages[-1:]:
        await call.write(message)
    while await call.read() is not grpc.aio.EOF:
        pass


def token_of(live: Live, account: str, *roles: str) -> str:
    return mint(account, roles or ("player",), 60, load_private_key(live.stack.keys_dir))


# --- turns ------------------------------------------------------------------------------------------------------------


async def test_two_clients_at_once_on_one_turn(live: Live, table: Table):
    player, mine = await table.turn()
    twin = live.people.player(player.account)
    legal = table.choose(mine)
    requests = [
        action(table, mine.turn_id, legal.verb, to=legal.to, request_id=f"twin-{number}") for number in range(6)
    ]
    results = await asyncio.gather(*[twin.tables.Act(request) for request in requests], return_exceptions=True)
    accepted = [result for result in results if isinstance(result, pb.ActResponse)]
    refused = {result.reason for result in results if isinstance(result, StudError)}
    assert len(accepted) == 1
    assert refused <= {"NOT_YOUR_TURN", "STALE_TURN"}
    taken = await live.events(table.id, ev.ActionTaken)
    assert [e.turn_id for e in taken].count(mine.turn_id) == 1
    await table.eye.until(lambda u: u.version >= accepted[0].version)


async def test_an_action_out_of_turn(table: Table):
    player = await idle(table)
    turn_id = (await table.turn())[1].turn_id
    async with unchanged(table):
        await refusal(player.client.tables.Act(action(table, turn_id)), "NOT_YOUR_TURN", Code.FAILED_PRECONDITION)
        await refusal(player.playing.act(turn_id, seat_pb2.VERB_FOLD), "NOT_YOUR_TURN", None)


async def test_an_illegal_amount(table: Table):
    player, mine = await table.turn()
    wagers = {seat_pb2.VERB_COMPLETE, seat_pb2.VERB_RAISE, seat_pb2.VERB_BET, seat_pb2.VERB_OPEN}
    option = next(option for option in mine.options if option.verb in wagers)
    async with unchanged(table):
        wrong = action(table, mine.turn_id, option.verb, to=option.to + 1)
        error = await refusal(player.client.tables.Act(wrong), "ILLEGAL_ACTION", Code.FAILED_PRECONDITION)
        assert error.metadata["rule"]
        assert str(option.to) in error.metadata["legal"]
        assert len(error.metadata["legal"].split("; ")) == len(mine.options)
        error = await refusal(player.playing.act(mine.turn_id, option.verb, to=10**9), "ILLEGAL_ACTION", None)
        assert str(option.to) in error.metadata["legal"]
        missing = next(v for v in (seat_pb2.VERB_BET, seat_pb2.VERB_CHECK) if v not in {o.verb for o in mine.options})
        await refusal(player.playing.act(mine.turn_id, missing), "ILLEGAL_ACTION", None)


async def test_a_stale_turn_id(table: Table):
    player, mine = await table.turn()
    async with unchanged(table):
        for turn_id in (mine.turn_id - 1, mine.turn_id + 1, 0):
            call = player.client.tables.Act(action(table, turn_id))
            await refusal(call, "STALE_TURN", Code.FAILED_PRECONDITION)


async def test_an_unknown_verb_and_size(table: Table):
    player, mine = await table.turn()
    async with unchanged(table):
        for wrong in (action(table, mine.turn_id, 99), action(table, mine.turn_id, size=7)):
            await refusal(player.client.tables.Act(wrong), "INVALID_FIELD", Code.INVALID_ARGUMENT)


async def test_answers_that_nobody_asked_for(table: Table):
    player, _ = await table.turn()
    async with unchanged(table):
        post = pb.PostAnteRequest(table=table.id, prompt_id=1)
        await refusal(player.client.tables.PostAnte(post), "NO_PROMPT", Code.FAILED_PRECONDITION)
        show = pb.ChooseShowRequest(table=table.id, prompt_id=1, show=True)
        await refusal(player.client.tables.ChooseShow(show), "NO_PROMPT", Code.FAILED_PRECONDITION)


# --- request ids ------------------------------------------------------------------------------------------------------


async def test_a_repeated_request_id(table: Table):
    """By a call or over the stream, it is the same request; other content under the id is refused."""
    player, mine = await table.turn()
    legal = table.choose(mine)
    request = player.request(mine, legal, "repeated")
    first = await player.client.tables.Act(request)
    async with unchanged(table):
        assert await player.client.tables.Act(request) == first
        repeated = await player.playing.act(
            mine.turn_id, legal.verb, to=legal.to, size=legal.size, request_id="repeated"
        )
        assert repeated.version == first.version
        request.verb = seat_pb2.VERB_FOLD
        await refusal(player.client.tables.Act(request), "REQUEST_ID_REUSED", Code.ALREADY_EXISTS)
        fold = player.playing.act(mine.turn_id, seat_pb2.VERB_FOLD, request_id="repeated")
        await refusal(fold, "REQUEST_ID_REUSED", None)
        await refusal(player.playing.sit_out(request_id="repeated"), "REQUEST_ID_REUSED", None)
    await table.eye.until(lambda u: u.version >= first.version)


async def test_a_missing_request_id(live: Live, table: Table):
    player, mine = await table.turn()
    leave = pb.LeaveSeatRequest(table=table.id)
    async with unchanged(table), raw(live, token_of(live, player.account)) as call:
        for request_id in ("", "x" * 65, "a\nb"):
            request = action(table, mine.turn_id, request_id=request_id)
            await refusal(call("Act", request.SerializeToString()), "REQUEST_ID_REQUIRED", Code.INVALID_ARGUMENT)
        await refusal(call("LeaveSeat", leave.SerializeToString()), "REQUEST_ID_REQUIRED", Code.INVALID_ARGUMENT)


# --- seats ------------------------------------------------------------------------------------------------------------


def seat(table: Table, **fields: Any) -> pb.TakeSeatRequest:
    return pb.TakeSeatRequest(table=table.id, **{"amount": BUY_IN, **fields})


async def test_a_ninth_player(live: Live):
    async with await Table.begin(live, "full", 8, seated=False) as table:
        await table.deposit("ninth")
        ninth = live.people.player("ninth").tables
        async with unchanged(table):
            await refusal(ninth.TakeSeat(seat(table)), "TABLE_FULL", Code.RESOURCE_EXHAUSTED)
            await refusal(ninth.TakeSeat(seat(table, seat=3)), "SEAT_TAKEN", Code.ALREADY_EXISTS)
            for number in (9, -1):
                call = ninth.TakeSeat(seat(table, seat=number))
                told = await refusal(call, "SEAT_OUT_OF_RANGE", Code.INVALID_ARGUMENT)
                assert (told.metadata["min"], told.metadata["max"]) == ("1", "8")


async def test_the_same_account_twice(table: Table):
    player = await idle(table)
    async with unchanged(table):
        await refusal(player.client.tables.TakeSeat(seat(table, seat=8)), "ALREADY_SEATED", Code.ALREADY_EXISTS)


@pytest.mark.parametrize(
    ("amount", "reason", "code"),
    [
        (4_999, "BUY_IN_TOO_SMALL", Code.OUT_OF_RANGE),
        (20_001, "BUY_IN_TOO_LARGE", Code.OUT_OF_RANGE),
        (0, "INVALID_FIELD", Code.INVALID_ARGUMENT),
        (-5, "INVALID_FIELD", Code.INVALID_ARGUMENT),
    ],
)
async def test_a_buy_in_outside_the_limits(live: Live, table: Table, amount: int, reason: str, code: Code):
    await table.deposit("newcomer")
    async with unchanged(table):
        told = await refusal(live.people.player("newcomer").tables.TakeSeat(seat(table, amount=amount)), reason, code)
    limits = {"min": "5000", "max": "20000"} if amount > 0 else {"min": "1"}
    assert limits.items() <= told.metadata.items()


async def test_a_buy_in_above_the_balance(live: Live, table: Table):
    """The wallet declines: the seat is free again, no chip has moved. A declined call is judged afresh."""
    await table.deposit("poor", 6_000)
    poor = live.people.player("poor")
    request = seat(table, seat=7, amount=6_001, request_id="too much")
    declined = await refusal(poor.tables.TakeSeat(request), "INSUFFICIENT_FUNDS", Code.FAILED_PRECONDITION)
    assert declined.metadata["balance"] == "6000"
    view = (await poor.tables.GetTable(pb.GetTableRequest(table=table.id))).update.view
    assert view.seats[6].account == ""
    answer = await poor.wallet.GetAccount(wallet.GetAccountRequest(currency="EUR"))
    assert (answer.balance, list(answer.escrows)) == (6_000, [])
    declined = await refusal(poor.tables.TakeSeat(request), "INSUFFICIENT_FUNDS", Code.FAILED_PRECONDITION)
    assert declined.metadata["balance"] == "6000"


async def test_a_buy_in_without_an_account(live: Live, table: Table):
    nobody = live.people.player("nobody")
    await refusal(nobody.tables.TakeSeat(seat(table, seat=7)), "UNKNOWN_ACCOUNT", Code.NOT_FOUND)


async def test_a_top_up_outside_the_limits(table: Table):
    player = await idle(table)
    async with unchanged(table):
        most = pb.AddChipsRequest(table=table.id, amount=DEPOSIT)
        told = await refusal(player.client.tables.AddChips(most), "TOP_UP_OUT_OF_LIMITS", Code.OUT_OF_RANGE)
        assert 1 <= int(told.metadata["min"]) <= int(told.metadata["max"]) < DEPOSIT
        none = pb.AddChipsRequest(table=table.id, amount=0)
        await refusal(player.client.tables.AddChips(none), "INVALID_FIELD", Code.INVALID_ARGUMENT)


async def test_a_foreign_seat(live: Live, table: Table):
    """A request names no account: with somebody else's turn, prompt or seat one only ever acts for oneself."""
    _, mine = await table.turn()
    neighbour, stranger = (await idle(table)).client.tables, live.people.player("stranger").tables
    async with unchanged(table):
        act = action(table, mine.turn_id)
        await refusal(neighbour.Act(act), "NOT_YOUR_TURN", Code.FAILED_PRECONDITION)
        await refusal(stranger.Act(act), "NOT_SEATED", Code.FAILED_PRECONDITION)
        for method, request in (
            ("LeaveSeat", pb.LeaveSeatRequest(table=table.id)),
            ("SitOut", pb.SitOutRequest(table=table.id)),
            ("SitIn", pb.SitInRequest(table=table.id)),
            ("AddChips", pb.AddChipsRequest(table=table.id, amount=500)),
            ("SetPreferences", pb.SetPreferencesRequest(table=table.id, auto_post=False)),
        ):
            await refusal(getattr(stranger, method)(request), "NOT_SEATED", Code.FAILED_PRECONDITION)
        update = (await stranger.GetTable(pb.GetTableRequest(table=table.id))).update
        assert not update.HasField("mine")
        theirs = (await neighbour.GetTable(pb.GetTableRequest(table=table.id))).update.mine
        assert theirs.down
        assert not set(theirs.down) & set(mine.down)


# --- tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nowhere", "", "No Such Table", "x" * 100, "../t", "t\x00"])
async def test_an_unknown_table(live: Live, name: str):
    player, operator = live.people.player("lost"), live.people.operator.tables
    for call in (
        player.tables.GetTable(pb.GetTableRequest(table=name)),
        player.tables.Act(pb.ActRequest(table=name, verb=seat_pb2.VERB_FOLD)),
        player.tables.TakeSeat(pb.TakeSeatRequest(table=name, amount=500)),
        operator.CloseTable(pb.CloseTableRequest(table=name)),
    ):
        await refusal(call, "UNKNOWN_TABLE", Code.NOT_FOUND)
    for session in (player.watch(name), player.play(name)):
        async with session:
            await refusal(anext(session), "UNKNOWN_TABLE", Code.NOT_FOUND)


async def test_a_table_that_cannot_be_opened(live: Live, table: Table):
    operator = live.people.operator.tables

    def create(**fields: Any) -> Any:
        basic = {"table": "odd", "currency": "EUR", "preset": "playnow", "small_bet": 500}
        return operator.CreateTable(pb.CreateTableRequest(**{**basic, **fields}))

    bad = Code.INVALID_ARGUMENT
    wrong = await refusal(create(small_bet=0), "INVALID_TABLE", bad)
    assert "small_bet" in wrong.metadata["field"]
    await refusal(create(table="Odd Name"), "INVALID_FIELD", bad)
    await refusal(create(currency="JPY"), "UNKNOWN_CURRENCY", bad)
    await refusal(create(preset="", ruleset=None), "INVALID_RULESET", bad)
    await refusal(create(preset="whist"), "UNKNOWN_RULESET", Code.NOT_FOUND)
    unnamed = await refusal(create(ruleset=ruleset_pb2.Ruleset(rake_bps=500)), "INVALID_FIELD", bad)
    assert unnamed.metadata["field"] == "override_fields"
    await refusal(create(stacked=True), "INVALID_TABLE", bad)
    async with unchanged(table):
        await refusal(create(table=table.id), "TABLE_EXISTS", Code.ALREADY_EXISTS)
    get = live.people.player("lost").tables.GetTable(pb.GetTableRequest(table="odd"))
    await refusal(get, "UNKNOWN_TABLE", Code.NOT_FOUND)


# --- who is it --------------------------------------------------------------------------------------------------------


async def test_no_token_or_a_bad_one(live: Live, table: Table):
    key = load_private_key(live.stack.keys_dir)
    good = token_of(live, "eve")
    claims = jwt.decode(good, options={"verify_signature": False})
    tokens = [
        None,
        "",
        "hello",
        good[:-20] + "A" * 20,
        jwt.encode(claims, "", algorithm="none"),
        jwt.encode(claims, "x" * 32, algorithm="HS256"),
        jwt.encode({**claims, "aud": "elsewhere"}, key, algorithm="EdDSA"),
        jwt.encode({k: v for k, v in claims.items() if k != "sub"}, key, algorithm="EdDSA"),
        jwt.encode({k: v for k, v in claims.items() if k != "exp"}, key, algorithm="EdDSA"),
    ]
    request = pb.GetTableRequest(table=table.id).SerializeToString()
    async with unchanged(table):
        for token in tokens:
            async with raw(live, token) as call:
                await refusal(call("GetTable", request), "UNAUTHENTICATED", Code.UNAUTHENTICATED)
            async with raw(live, token, stream=True) as call:
                await refusal(call("Play"), "UNAUTHENTICATED", Code.UNAUTHENTICATED)


async def test_an_expired_token(live: Live, table: Table):
    player, mine = await table.turn()
    key = load_private_key(live.stack.keys_dir)
    claims = jwt.decode(token_of(live, player.account), options={"verify_signature": False})
    expired = jwt.encode({**claims, "exp": claims["iat"] - 600, "iat": claims["iat"] - 1200}, key, algorithm="EdDSA")
    async with unchanged(table), raw(live, expired) as call:
        request = action(table, mine.turn_id, request_id="late").SerializeToString()
        await refusal(call("Act", request), "TOKEN_EXPIRED", Code.UNAUTHENTICATED)


async def test_the_wrong_role(live: Live, table: Table):
    player, mine = await table.turn()
    no = Code.PERMISSION_DENIED
    plain, operator = player.client, live.people.operator
    mine_own = pb.CreateTableRequest(table="mine", preset="playnow", currency="EUR", small_bet=500)
    async with unchanged(table):
        for call in (
            plain.tables.CreateTable(mine_own),
            plain.tables.CloseTable(pb.CloseTableRequest(table=table.id)),
            plain.tables.PauseTable(pb.PauseTableRequest(table=table.id, reason="no")),
            plain.tables.DrainTable(pb.DrainTableRequest(table=table.id)),
            plain.tables.VoidHand(pb.VoidHandRequest(table=table.id, hand_no=1, reason="no")),
            plain.wallet.Deposit(wallet.DepositRequest(currency="EUR", account=player.account, amount=5)),
            operator.tables.Act(action(table, mine.turn_id)),
            operator.tables.TakeSeat(seat(table, seat=8)),
            live.people.cashier.tables.LeaveSeat(pb.LeaveSeatRequest(table=table.id)),
        ):
            await refusal(call, "ROLE_NOT_ALLOWED", no)
        async with operator.play(table.id) as session:
            await refusal(anext(session), "ROLE_NOT_ALLOWED", no)
        # The player's own name under another role: a name is not a right.
        namesake = live.people.client(player.account, "operator").tables
        await refusal(namesake.Act(action(table, mine.turn_id)), "ROLE_NOT_ALLOWED", no)


async def test_who_has_an_interest_decides_nothing(live: Live, table: Table):
    """A player's token with every role there is: about the table he plays at, his hand and his account he decides
    nothing. Another operator does.
    """
    player, mine = await table.turn()
    token = token_of(live, player.account, "player", "operator", "cashier", "auditor")
    async with player.client.with_token(token) as own:
        hand_no = table.eye.last.view.hand_no
        here: Any = {"table": table.id}
        hand: Any = {**here, "hand_no": hand_no, "reason": "I lost"}
        account: Any = {"currency": "EUR", "account": player.account}
        sitting: Any = {"currency": "EUR", **here, "sitting_no": mine.sitting_no}
        lines = [
            ledger_events_pb2.Posting(account=f"player:{player.account}", amount=5),
            ledger_events_pb2.Posting(account="house:cashier", amount=-5),
        ]
        calls = (
            own.tables.VoidHand(pb.VoidHandRequest(**hand)),
            own.tables.PauseTable(pb.PauseTableRequest(**here, reason="I lose")),
            own.tables.ResumeTable(pb.ResumeTableRequest(**here)),
            own.tables.DrainTable(pb.DrainTableRequest(**here)),
            own.tables.CloseTable(pb.CloseTableRequest(**here)),
            own.rules.ResolveHand(rules.ResolveHandRequest(**hand, choice=table_events_pb2.RESOLUTION_CHOICE_VOID)),
            own.dealer.AuditDeck(dealer.AuditDeckRequest(**hand)),
            own.wallet.ResolveCashOut(wallet.ResolveCashOutRequest(**sitting, amount=10_000, reason="mine")),
            own.wallet.Adjust(wallet.AdjustRequest(currency="EUR", postings=lines, reference="mine")),
            own.wallet.Deposit(wallet.DepositRequest(**account, amount=10_000)),
            own.wallet.Withdraw(wallet.WithdrawRequest(**account, amount=10)),
            own.wallet.FreezeAccount(wallet.FreezeAccountRequest(**account, reason="mine")),
            own.wallet.UnfreezeAccount(wallet.UnfreezeAccountRequest(**account, reason="mine")),
        )
        async with unchanged(table):
            for call in calls:
                told = await refusal(call, "OWN_INTEREST", Code.PERMISSION_DENIED)
                assert "another" in told.text
    other = live.people.second_operator.tables
    await other.PauseTable(pb.PauseTableRequest(**here, reason="looked into"))
    await other.ResumeTable(pb.ResumeTableRequest(**here))


# --- bytes ------------------------------------------------------------------------------------------------------------


async def test_malformed_bytes(live: Live, table: Table):
    player, _ = await table.turn()
    token = token_of(live, player.account)
    subscribe = pb.PlayRequest(subscribe=pb.Subscribe(table=table.id)).SerializeToString()
    first = pb.PlayRequest(sit_out=pb.SitOutRequest(table=table.id, request_id="x")).SerializeToString()
    async with unchanged(table):
        async with raw(live, token) as call:
            for data in (b"\xff\xff\xff\xff", b"\x0a\x7fabc", bytes(range(200, 256))):
                await refusal(call("Act", data), "MALFORMED_MESSAGE", Code.INVALID_ARGUMENT)
        async with raw(live, token, stream=True) as call:
            await refusal(call("Play", b"\xff\xff\xff"), "MALFORMED_MESSAGE", Code.INVALID_ARGUMENT)
            await refusal(call("Play", subscribe, b"\xff\xff\xff"), "MALFORMED_MESSAGE", Code.INVALID_ARGUMENT)
            await refusal(call("Play", first), "INVALID_FIELD", Code.INVALID_ARGUMENT)


async def test_an_oversized_message(live: Live, table: Table):
    player, mine = await table.turn()
    token = token_of(live, player.account)
    act = action(table, mine.turn_id, request_id="x" * 70_000)
    subscribe = pb.PlayRequest(subscribe=pb.Subscribe(table=table.id)).SerializeToString()
    async with unchanged(table):
        async with raw(live, token) as call:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call("Act", act.SerializeToString())
            assert caught.value.code() is Code.RESOURCE_EXHAUSTED
        async with raw(live, token, stream=True) as call:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call("Play", subscribe, pb.PlayRequest(act=act).SerializeToString())
            assert caught.value.code() is Code.RESOURCE_EXHAUSTED
    await player.client.tables.GetTable(pb.GetTableRequest(table=table.id))  # the service is none the worse for it
