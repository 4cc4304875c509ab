"""Callers who mean no good, for `benches/hostile.py`: what six tokens of players (and one of an auditor) can ask for.

Each attack is a loop that is run by several tasks of every caller at once, as fast as answers come. What comes back is
counted by its reason, an empty one for what was answered.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from stud.common.v1 import seat_pb2
from stud.dealer.v1 import dealer_service_pb2 as dealer
from stud.dealer.v1 import dealer_service_pb2_grpc as dealer_rpc
from stud.rules.v1 import rules_service_pb2 as rules
from stud.rules.v1 import rules_service_pb2_grpc as rules_rpc
from stud.table.v1 import table_service_pb2 as pb
from stud.table.v1 import table_service_pb2_grpc as table_rpc
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud.wallet.v1 import wallet_service_pb2_grpc as wallet_rpc
from stud_client.errors import from_rpc
from stud_service.signing_keys import PrivateKey
from stud_service.tokens import mint

CURRENCY = "EUR"
HOLD_S = 20.0
"""How long a stream is kept that nothing is read from."""

MANY_STREAMS = 40
MANY_CALLS = 40
Metadata = tuple[tuple[str, str], ...]


class Caller:
    """One token on one connection to each service."""

    def __init__(self, name: str, role: str, endpoints: Mapping[str, str], key: PrivateKey, targets: Targets) -> None:
        self.name = name
        self.targets = targets
        self.metadata: Metadata = (("authorization", f"Bearer {mint(name, [role], 3600, key)}"),)
        options = [("grpc.use_local_subchannel_pool", 1)]
        self.channels = {at: grpc.aio.insecure_channel(where, options) for at, where in endpoints.items()}
        self.tables: Any = table_rpc.TableServiceStub(self.channels["table"])
        self.dealer: Any = dealer_rpc.DealerServiceStub(self.channels["dealer"])
        self.rules: Any = rules_rpc.RulesServiceStub(self.channels["rules"])
        self.wallet: Any = wallet_rpc.WalletServiceStub(self.channels["wallet"])
        self.health: Any = health_pb2_grpc.HealthStub(self.channels["table"])
        self.mirror: Any = reflection_pb2_grpc.ServerReflectionStub(self.channels["table"])  # type: ignore[arg-type]
        self.rng = random.Random(name)
        self.counts: Counter[str] = Counter()
        self._numbers = itertools.count()

    async def ask(self, call: Callable[..., Any], request: Any) -> None:
        await self.count(call(request, metadata=self.metadata, timeout=10))

    async def count(self, answer: Awaitable[Any]) -> None:
        """Wait for an answer and count it, or why there is none."""
        try:
            await answer
        except grpc.aio.AioRpcError as error:
            self.counts[from_rpc(error).reason] += 1
        except (asyncio.InvalidStateError, grpc.aio.UsageError):
            self.counts["CUT"] += 1
        else:
            self.counts[""] += 1

    def any_closed(self) -> str:
        return self.rng.choice(self.targets.closed)

    def any_live(self) -> str:
        return self.rng.choice(self.targets.live)

    @property
    def turn(self) -> int:
        """A number that goes up."""
        return next(self._numbers)

    async def close(self) -> None:
        for channel in self.channels.values():
            await channel.close()


class Targets:
    """Tables to be asked for."""

    def __init__(self, live: Sequence[str], closed: Sequence[str], own: str) -> None:
        self.live, self.closed, self.own = live, closed, own


def new_id() -> str:
    return str(uuid.uuid4())


async def closed_tables(me: Caller) -> None:
    """Look at what is over, in every way there is, and ask again for seats there."""
    table = me.any_closed()
    ways: list[Callable[[], Awaitable[Any]]] = [
        lambda: me.ask(me.tables.GetTable, pb.GetTableRequest(table=table)),
        lambda: me.count(me.tables.Watch(_subscribed(table), metadata=me.metadata).read()),
        lambda: me.ask(me.tables.LeaveSeat, pb.LeaveSeatRequest(table=table, request_id=new_id())),
        lambda: me.ask(me.tables.TakeSeat, pb.TakeSeatRequest(table=table, amount=4_000, request_id=new_id())),
        lambda: me.ask(me.tables.SitOut, pb.SitOutRequest(table=table, request_id=new_id())),
    ]
    await ways[me.turn % len(ways)]()


async def lobby(me: Caller) -> None:
    """List everything, a thousand lines at a time."""
    await me.ask(me.tables.ListTables, pb.ListTablesRequest(page_size=1000, include_closed=True))


async def writing(me: Caller) -> None:
    """Have the log grow: preferences, presence, seats, at a table where nothing else happens; and act out of turn."""
    table, number = me.targets.own, me.turn
    ways: list[tuple[Any, Any]] = [
        (me.tables.SetPreferences, pb.SetPreferencesRequest(auto_post=bool(number % 2))),
        (me.tables.SitOut, pb.SitOutRequest()),
        (me.tables.SitIn, pb.SitInRequest()),
        (me.tables.TakeSeat, pb.TakeSeatRequest(amount=4_000)),
        (me.tables.LeaveSeat, pb.LeaveSeatRequest()),
        (me.tables.Act, pb.ActRequest(turn_id=1, verb=seat_pb2.VERB_FOLD)),
        (me.tables.SetPreAction, pb.SetPreActionRequest(verb=seat_pb2.VERB_FOLD)),
    ]
    call, request = ways[0] if number % 2 else ways[(number // 2) % len(ways)]
    request.table, request.request_id = table, new_id()
    await me.ask(call, request)


async def streams(me: Caller) -> None:
    """Hold as many streams as there are, read nothing, and begin Play without a word."""
    held: list[Any] = []
    for number in range(MANY_STREAMS):
        if number % 4:
            call = me.tables.Watch(_subscribed(me.any_live()), metadata=me.metadata)
            await me.count(call.read())
        else:
            call = me.tables.Play(metadata=me.metadata)
        held.append(call)
    await asyncio.sleep(me.rng.random() * HOLD_S)
    for call in held:
        call.cancel()


async def anonymous(me: Caller) -> None:
    """Ask what needs no token, and with tokens that are none."""
    number = me.turn
    if number % 8 == 0:
        watch = me.health.Watch(health_pb2.HealthCheckRequest())
        await me.count(watch.read())
    elif number % 8 == 1:
        await me.count(me.mirror.ServerReflectionInfo(iter([_reflected()])).read())
    elif number % 8 == 2:
        wrong = (("authorization", f"Bearer {me.metadata[0][1][7:-8]}{number:08}"),)
        await me.count(me.tables.GetTable(pb.GetTableRequest(table=me.any_live()), metadata=wrong, timeout=10))
    elif number % 8 == 3:
        nothing: Any = me.channels["table"].unary_unary("/stud.table.v1.TableService/Nothing")
        await me.count(nothing(b"", timeout=10))
    else:
        await me.count(me.health.Check(health_pb2.HealthCheckRequest(), timeout=10))


async def big_pages(me: Caller) -> None:
    """Ask every service for the longest answer it has, and for the oldest."""
    ways: list[tuple[Any, Any]] = [
        (me.wallet.ListTransfers, wallet.ListTransfersRequest(currency=CURRENCY, page_size=1000)),
        (me.wallet.GetTrialBalance, wallet.GetTrialBalanceRequest(currency=CURRENCY, page_size=1000)),
        (me.rules.ListVerdicts, rules.ListVerdictsRequest(table=me.any_live(), limit=1000)),
        (me.rules.AdjudicateHand, rules.AdjudicateHandRequest(table=me.any_live(), hand_no=10**9)),
        (me.dealer.GetCommitment, dealer.GetCommitmentRequest(table=me.any_live(), hand_no=1)),
        (me.rules.GetRuleset, rules.GetRulesetRequest(table=me.any_live())),
        (me.tables.GetTable, pb.GetTableRequest(table=me.any_live())),
    ]
    await me.ask(*ways[me.turn % len(ways)])


async def all_at_once(me: Caller) -> None:
    """Have many calls under way, about nothing: a table that is none, and somebody else's turn."""
    request_id = new_id()
    ways: list[tuple[Any, Any]] = [
        (me.tables.GetTable, pb.GetTableRequest(table="none")),
        (me.tables.Act, pb.ActRequest(table="none", turn_id=1, verb=seat_pb2.VERB_FOLD, request_id=request_id)),
    ]
    await asyncio.gather(*[me.ask(*ways[number % 2]) for number in range(MANY_CALLS)])


ATTACKS: Mapping[str, Callable[[Caller], Awaitable[None]]] = {
    "closed tables": closed_tables,
    "lobby": lobby,
    "preferences and seats": writing,
    "streams": streams,
    "health": anonymous,
    "big pages": big_pages,
    "all at once": all_at_once,
}
STAFF = {"big pages": "auditor"}
"""Every second caller of these attacks has another role."""


def _subscribed(table: str) -> pb.WatchRequest:
    return pb.WatchRequest(subscribe=pb.Subscribe(table=table))


def _reflected() -> reflection_pb2.ServerReflectionRequest:
    return reflection_pb2.ServerReflectionRequest(file_containing_symbol="stud.table.v1.TableService")


async def attack(callers: Sequence[Caller], name: str, seconds: float, tasks_each: int) -> Counter[str]:
    """Run one attack; return how often which answer came."""

    async def loop(me: Caller) -> None:
        while True:
            await ATTACKS[name](me)

    for me in callers:
        me.counts.clear()
    tasks = [asyncio.create_task(loop(me)) for me in callers for _ in range(tasks_each)]
    _, still = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    for task in still:
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    for why in ended:
        if why is not None and not isinstance(why, asyncio.CancelledError):
            raise RuntimeError(f"the attack on {name} broke off") from why
    total: Counter[str] = Counter()
    for me in callers:
        total.update(me.counts)
    return total
