"""StudClient: one caller's view of the services."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar, cast

import grpc

from stud.dealer.v1.dealer_service_pb2_grpc import DealerServiceStub
from stud.rules.v1.rules_service_pb2_grpc import RulesServiceStub
from stud.table.v1 import table_service_pb2 as pb
from stud.table.v1.table_service_pb2_grpc import TableServiceStub
from stud.wallet.v1.wallet_service_pb2_grpc import WalletServiceStub
from stud_client.calling import CallingChannel, Token, open_channel
from stud_client.endpoints import Endpoints
from stud_client.following import Watching
from stud_client.keeping import Account, Lobby, Me
from stud_client.resuming import GIVE_UP_S
from stud_client.session import TableSession
from stud_client.several import SeveralTables

CALL_TIMEOUT_S = 10.0

Stub = TypeVar("Stub")


class StudClient:
    """Calls the services as the subject of `token`, which may be a function that returns a fresh one: it is asked
    before every call and every stream, and a stream that ends because its token ran out is opened again with the next.

    `tables`, `dealer`, `rules` and `wallet` are the generated stubs; `await client.tables.GetTable(request)` adds the
    token, a request id where the field is empty, and a deadline, and repeats the call up to three times with the same
    id while the service is UNAVAILABLE. It raises StudError. To play or watch use `play`, `watch`,
    `lobby`, `me` and `account`, which resume.
    """

    def __init__(
        self,
        endpoints: Endpoints,
        token: str | Callable[[], str],
        *,
        timeout_s: float = CALL_TIMEOUT_S,
        wait_for_ready: bool = False,
        give_up_s: float = GIVE_UP_S,
        channels: dict[str, grpc.aio.Channel] | None = None,
    ) -> None:
        """`timeout_s` is for unary calls that name none. With `wait_for_ready` a call to a service that is not there
        waits for it until its deadline. `give_up_s` bounds how long a stream tries to resume. `channels` shares the
        connections of another client (see `with_token`).
        """
        self.endpoints = endpoints
        self._token: Token = token if callable(token) else lambda: token
        self._timeout_s = timeout_s
        self._wait_for_ready = wait_for_ready
        self._give_up_s = give_up_s
        self._owns_channels = channels is None
        self._channels: dict[str, grpc.aio.Channel] = {} if channels is None else channels
        self._stubs: dict[str, Any] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections, unless they are another client's."""
        if self._owns_channels:
            for channel in self._channels.values():
                await channel.close()
            self._channels.clear()
        self._stubs.clear()

    def with_token(self, token: str | Callable[[], str]) -> StudClient:
        """Returns a client for another caller over the same connections; they stay this client's to close."""
        return StudClient(
            self.endpoints,
            token,
            timeout_s=self._timeout_s,
            wait_for_ready=self._wait_for_ready,
            give_up_s=self._give_up_s,
            channels=self._channels,
        )

    @property
    def tables(self) -> TableServiceStub:
        return self._stub("table", TableServiceStub)

    @property
    def dealer(self) -> DealerServiceStub:
        return self._stub("dealer", DealerServiceStub)

    @property
    def rules(self) -> RulesServiceStub:
        return self._stub("rules", RulesServiceStub)

    @property
    def wallet(self) -> WalletServiceStub:
        return self._stub("wallet", WalletServiceStub)

    def _stub(self, name: str, make: Callable[[grpc.aio.Channel], Stub]) -> Stub:
        stub = self._stubs.get(name)
        if stub is None:
            channel = self._channels.get(name)
            if channel is None:
                channel = self._channels[name] = open_channel(self.endpoints[name], self.endpoints.tls)
            calling = CallingChannel(channel, self._token, self._timeout_s, wait_for_ready=self._wait_for_ready)
            stub = self._stubs[name] = make(cast("grpc.aio.Channel", calling))
        return cast("Stub", stub)

    def play(self, table: str, after_version: int | None = None, head_hash: bytes = b"") -> TableSession:
        """Returns a session at a table, to be entered with `async with`. Without `after_version` it begins with a full
        view, else with the update after that version; `head_hash` is the hash of that version.
        """
        return TableSession(self.tables, table, after_version, head_hash, give_up_s=self._give_up_s, token=self._token)

    def several(self) -> SeveralTables:
        """Returns what has sessions at several tables over one stream, to be entered with `async with`."""
        return SeveralTables(self.tables, give_up_s=self._give_up_s, token=self._token)

    def watch(self, table: str, after_version: int | None = None, head_hash: bytes = b"") -> Watching:
        """Returns a table's updates for a spectator; as `play`, without commands."""
        return Watching(self.tables, table, after_version, head_hash, give_up_s=self._give_up_s, token=self._token)

    def lobby(self, wanted: pb.TableFilter | None = None) -> Lobby:
        """Returns the tables that fit a filter, kept as they are now; to be entered with `async with`."""
        return Lobby(self.tables, wanted, give_up_s=self._give_up_s, token=self._token)

    def me(self) -> Me:
        """Returns the caller's own sittings over all tables, and messages from the house, kept as they are now."""
        return Me(self.tables, give_up_s=self._give_up_s, token=self._token)

    def account(self, currency: str, account: str = "", after_version: int | None = None) -> Account:
        """Returns an account (empty: the caller's own) and its movements, from that version of the ledger on."""
        return Account(self.wallet, currency, account, after_version, give_up_s=self._give_up_s, token=self._token)
