"""A wallet over a log in memory, with a floor of tables and a referee that say what a test has them say."""

from collections.abc import AsyncIterator

import pytest

from stud_eventlog.memory import MemoryEventLog
from tests.support.wallet import Floor, Office, working


@pytest.fixture
async def log() -> AsyncIterator[MemoryEventLog]:
    log = MemoryEventLog()
    yield log
    await log.close()


@pytest.fixture
def floor(log: MemoryEventLog) -> Floor:
    return Floor(log)


@pytest.fixture
async def office(log: MemoryEventLog) -> AsyncIterator[Office]:
    """Two accounts with money."""
    async with working(log) as office:
        await office.fund(ann=1000, bob=1000)
        yield office


@pytest.fixture
def nobody_looks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits is settled by what comes, not by looking after it every few seconds."""
    monkeypatch.setattr("wallet_service.app.LAG_S", 3600.0)
