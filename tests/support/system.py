"""The whole system as processes, for tests that play at it, break it and look into its log.

One `Live` serves all tests of a module (`STACK` in the module says what is special about it); each test opens tables of
its own. Tests that share one run on one worker: `SHARED` marks them.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest
import pytest_asyncio

from stud_cli.inspect.audit import audit_log
from stud_cli.inspect.findings import Verification
from stud_cli.inspect.verdicts import read_verdicts
from stud_cli.inspect.verify import verify_table
from stud_cli.local.callers import Callers
from stud_cli.local.children import end
from stud_cli.local.log_server import EmbeddedServer
from stud_cli.local.system import SERVICES, STOP_WITHIN_S, LocalSystem
from stud_client import StudClient
from stud_eventlog import keys
from stud_eventlog.redis_streams import RedisEventLog
from stud_eventlog.types import Head, LogUnavailable
from stud_service.healthcheck import check
from stud_service.keyring import KeyRing, ensure_dev_keys
from stud_service.tokens import mint
from stud_wire.commits import DecodedCommit, decode_commit
from tests.support.strict_channel import StrictClient
from tests.support.valkey import ENVIRON

T = TypeVar("T")

PATIENCE_S = 60.0
"""For whatever comes about some time: two workers and five processes each share two cores."""


def shared(name: str) -> list[pytest.MarkDecorator]:
    """Marks of a module whose tests share one `Live`: one event loop, one worker."""
    return [
        pytest.mark.process,
        pytest.mark.asyncio(loop_scope="module"),
        pytest.mark.xdist_group(name),
        pytest.mark.timeout(180),
    ]


class LiveStack(LocalSystem):
    """A stack whose services start together; any of them may be another module or have an environment of its own."""

    def __init__(
        self,
        data_dir: Path,
        *,
        modules: Mapping[str, str] | None = None,
        only: Mapping[str, Mapping[str, str]] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(data_dir, **options)
        self.server = EmbeddedServer(data_dir / "redis", environ=ENVIRON)  # never one that somebody else uses
        self.modules = dict(modules or {})
        self.only = {name: dict(environ) for name, environ in (only or {}).items()}

    def _environment(self, name: str) -> dict[str, str]:
        ours = {"PYTHONPATH": os.pathsep.join(sys.path)}
        return {**super()._environment(name), **ours, **self.only.get(name, {})}

    def _module(self, name: str) -> str:
        return self.modules.get(name, super()._module(name))

    async def start(self) -> None:
        (self.data_dir / "logs").mkdir(parents=True, exist_ok=True)
        ensure_dev_keys(self.keys_dir)
        await self.server.start()
        await self._initialise()
        await asyncio.gather(*(self.start_service(name) for name in self.names))
        self._is_up = True

    async def stop(self) -> None:
        self.stopping = True
        ended = [process for process in self.processes.values() if process.returncode is None]
        self.processes.clear()
        await asyncio.gather(*(end(process, STOP_WITHIN_S) for process in ended))
        await self.server.stop()

    async def restart_service(self, name: str) -> None:
        await self.kill_service(name)
        await self.start_service(name)


class PatientCallers(Callers):
    """Callers who wait for a service that is not there yet, and who read every answer with the strict decoder."""

    def client(self, name: str, role: str) -> StudClient:
        found = self._clients.get((name, role))
        if found is None:
            token = mint(name, [role], 3600, self._key)
            found = StrictClient(self._endpoints, token, timeout_s=30, wait_for_ready=True)
            self._clients[name, role] = found
        return found


class Live:
    """A running stack, its people, and a log of the tests' own."""

    def __init__(self, stack: LiveStack) -> None:
        self.stack = stack
        self.people = PatientCallers(stack.endpoints, stack.keys_dir)
        self.log: RedisEventLog = None  # type: ignore[assignment]  # connected in `open`
        self._numbers = itertools.count(1)

    async def open(self) -> None:
        self.log = await RedisEventLog.connect(self.stack.redis_url)

    async def close(self) -> None:
        await self.people.close()
        await self.log.close()

    async def ready(self) -> None:
        """Waits until every service serves: after a kill some still look for the log."""
        for name in SERVICES:
            problem: str | None = "not asked"
            try:
                async with asyncio.timeout(PATIENCE_S):
                    while problem:
                        problem = await asyncio.to_thread(check, self.stack.endpoints[name], timeout_s=1.0)
            except TimeoutError:
                raise AssertionError(f"{name} does not serve: {problem}; {self.troubles()}") from None

    def troubles(self) -> str:
        """What the services said lately that is more than news, and who is gone; for messages of failing tests."""
        said = []
        for name in SERVICES:
            process = self.stack.processes.get(name)
            state = (
                "gone" if process is None else "runs" if process.returncode is None else f"ended {process.returncode}"
            )
            lines = [line for line in self.service_log(name).splitlines() if '"level": "info"' not in line]
            said.append(f"{name} {state}: " + " | ".join(line[:300] for line in lines[-3:]))
        return "; ".join(said)

    def new_id(self, prefix: str) -> str:
        """A table id that was not used before."""
        return f"{prefix}-{next(self._numbers)}"

    # Looking into the log

    async def commits(self, table: str, after: int = 0) -> list[tuple[int, DecodedCommit]]:
        """A table's commits; raises ChainBroken."""
        stream = keys.table_log(keys.shard_of(table), table)

        async def read() -> list[tuple[int, DecodedCommit]]:
            return [(stored.version, decode_commit(stored.body)) async for stored in self.log.read_all(stream, after)]

        return await self._patiently(read)

    async def _patiently(self, read: Callable[[], Awaitable[T]]) -> T:
        """Reads again where the server had been killed under our connection."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    return await read()
                except LogUnavailable:
                    await self.log.wait_available()

    async def events(self, table: str, kind: type | tuple[type, ...], after: int = 0) -> list[Any]:
        return [e for _, commit in await self.commits(table, after) for e in commit.events if isinstance(e, kind)]

    async def head(self, table: str) -> Head:
        stream = keys.table_log(keys.shard_of(table), table)
        return await self._patiently(lambda: self.log.head(stream))

    async def audit(self, table: str, *, accounts: Mapping[str, int] | None = None) -> None:
        """Chains, decks, verdicts, ledger: all of it must agree, and each account have its deposit and its results."""
        found, ledgers = await self._patiently(lambda: audit_log(self.log))
        verdicts = await read_verdicts(self.log)
        key = KeyRing.load(self.stack.keys_dir, "referee").key("referee")
        verified = Verification()
        await verify_table(self.log, table, verdicts, key, verified)
        assert verified.problems == []
        assert (found.problems, found.ledger_sum, found.unsettled) == ([], 0, 0)
        balances = dict(next(ledger for ledger in ledgers if ledger.currency == "EUR").players())
        expected = dict(accounts or {})
        for verdict in verdicts.final[table].values():
            for posting in verdict.postings:
                expected[posting.account] += posting.delta
        assert {account: balances[account] for account in expected} == expected

    def service_log(self, *names: str) -> str:
        return "\n".join(self.stack.log_path(name).read_text() for name in names or SERVICES)


async def until(what: Callable[[], Awaitable[Any]], why: str, within_s: float = PATIENCE_S) -> Any:
    """Asks until the answer is true, for what tells nobody when it changes."""
    try:
        async with asyncio.timeout(within_s):
            while not (answer := await what()):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            return answer
    except TimeoutError:
        raise AssertionError(f"it did not come about: {why}") from None


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def live(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Live]:
    """The system, for all tests of a module."""
    options = getattr(request.module, "STACK", {})
    async with LiveStack(tmp_path_factory.mktemp("live"), **options) as stack:
        running = Live(stack)
        await running.open()
        yield running
        await running.close()
