"""A `MemorySystem` whose table is called over real gRPC, and whose clock goes on only when it is told to.

Sockets are real, time is made up: it goes on by itself while nobody at any table is asked for anything (pauses between
hands), and stands still while a player is on turn, however slow the machine is. ``run_to`` is how a clock runs out.
"""

from __future__ import annotations

import asyncio
import functools
import selectors
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Self

import grpc

from stud.table.v1 import table_service_pb2 as pb
from stud_client.client import StudClient
from stud_client.endpoints import Endpoints
from stud_service.interceptors import Interceptor
from stud_service.limits import Limits
from stud_service.server_options import server_options
from stud_service.settings import ServiceSettings
from stud_service.signing_keys import load_private_key, load_public_key
from stud_service.tokens import Verifier, mint
from table_service.clocks import asks_somebody
from tests.support.system_memory import MemorySystem, virtual_ms

LOOK_S = 0.02
"""How long the loop waits for its sockets before it looks round again."""

STEP_S = 0.05
"""What passes at once while nobody is asked."""


class DrivenLoop(asyncio.SelectorEventLoop):
    """Waits for sockets as any loop does; its time is made up."""

    def __init__(self) -> None:
        selector = selectors.DefaultSelector()
        look = selector.select

        def select(timeout: float | None = None) -> Any:
            return look(0 if timeout is not None and timeout <= 0 else LOOK_S)

        selector.select = select  # type: ignore[method-assign]
        self._driven_s = 0.0
        super().__init__(selector)

    def time(self) -> float:
        return self._driven_s

    def skip(self, seconds: float) -> None:
        """Let time pass."""
        self._driven_s += seconds


def driven(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Runs a coroutine test on such a loop."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        with asyncio.Runner(loop_factory=DrivenLoop) as runner:
            runner.run(test(*args, **kwargs))

    return run


async def pause() -> None:
    """Let sockets and services do what they have to do; no time passes."""
    await asyncio.get_running_loop().run_in_executor(None, time.sleep, 0.005)


class DrivenSystem(MemorySystem):
    """Raises StudError for what is refused, as a client sees it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, commands_per_s=1_000, commands_burst=1_000)
        self._client: StudClient | None = None
        self._people: dict[tuple[str, ...], StudClient] = {}
        self._server: grpc.aio.Server | None = None
        self._flow: asyncio.Task[None] | None = None
        self._streams: list[Any] = []

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        await self.listen()
        self._flow = asyncio.create_task(self._goes_on())
        return self

    async def __aexit__(self, *why: object) -> None:
        assert self._flow is not None
        self._flow.cancel()
        await self.hang_up()
        await super().__aexit__(*why)

    async def listen(self) -> None:
        """Serve the table at a port of its own."""
        settings = ServiceSettings(keys_dir=self.keys_dir)
        verifier = Verifier(load_public_key(self.keys_dir))
        server = grpc.aio.server(
            interceptors=[Interceptor(verifier, lambda: None, 60.0, Limits(settings))], options=server_options(settings)
        )
        self.tables.register(server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        self._server = server
        self._client = StudClient(Endpoints(table=f"127.0.0.1:{port}"), "", timeout_s=60.0)

    async def hang_up(self) -> None:
        """The table's process is gone, as far as its clients can tell."""
        assert self._client is not None
        assert self._server is not None
        for call in self._streams:
            call.cancel()
        self._streams, self._people = [], {}
        await self._client.close()
        await self._server.stop(None)

    def who(self, account: str, *roles: str) -> StudClient:
        """The client of somebody."""
        assert self._client is not None
        key = (account, *(roles or ("player",)))
        if key not in self._people:
            token = mint(account, key[1:], 3_600, load_private_key(self.keys_dir))
            self._people[key] = self._client.with_token(token)
        return self._people[key]

    async def call(self, method: str, request: Any, account: str, *roles: str) -> Any:
        return await getattr(self.who(account, *roles).tables, method)(request)

    async def connect(self, table: str, *accounts: str) -> None:
        """Open a stream for each, that stays open."""
        for account in accounts:
            call = self.who(account).tables.Watch(pb.WatchRequest(subscribe=pb.Subscribe(table=table)))
            self._streams.append(call)
            await anext(aiter(call))

    # Time

    async def _goes_on(self) -> None:
        while True:
            await pause()
            if "table" in self.apps and not any(asks_somebody(actor.table) for actor in self.tables.registry.all()):
                asyncio.get_running_loop().skip(STEP_S)  # type: ignore[attr-defined]

    async def run_to(self, at_ms: int) -> None:
        """Go on to this moment at once, and let come of it what does."""
        asyncio.get_running_loop().skip((at_ms - virtual_ms()) / 1000)  # type: ignore[attr-defined]
        await pause()

    async def until(self, what: Callable[[], Any]) -> None:
        """Wait until it is so; a few milliseconds pass, for services that read now and then."""
        while not what():
            await pause()
            asyncio.get_running_loop().skip(0.005)  # type: ignore[attr-defined]
