"""The machine's clock is set by an hour while real services play: nobody is folded, and every hand is verified."""

import asyncio
import tempfile
from pathlib import Path

import pytest

from stud_cli.local.system import SERVICES
from stud_core import events as ev
from tests.support.playing import Table
from tests.support.system import Live, shared

pytestmark = shared("clock")
HOUR_MS = 3_600_000
CLOCK_MS = 30_000
ADDED = Path(tempfile.mkdtemp(prefix="stud-clock-")) / "ms"
STACK = {
    "modules": dict.fromkeys(SERVICES, "tests.support.stepped_process"),
    "only": {name: {"STUD_TEST_SERVICE": name, "STUD_TEST_CLOCK": str(ADDED)} for name in SERVICES},
}


@pytest.mark.parametrize("by_ms", [HOUR_MS, -HOUR_MS])
async def test_an_hour_ahead_or_back_in_the_middle_of_a_hand(live: Live, by_ms: int) -> None:
    before_ms = int(ADDED.read_text()) if ADDED.exists() else 0
    async with await Table.begin(live, "clock", preset="playnow", clock_ms=CLOCK_MS) as table:
        await table.play_to(street=4)
        version = table.eye.last.version
        ADDED.write_text(str(before_ms + by_ms))
        update = await table.eye.until(lambda u: u.version > version, "fresh clocks")
        restarted = [event.clock_restarted for event in update.events if event.HasField("clock_restarted")]
        assert [event.reason for event in restarted] == ["CLOCK_SET"]
        left_ms = update.view.turn.deadline_ms - update.sent_at_ms
        assert CLOCK_MS - 5_000 < left_ms <= CLOCK_MS
        await asyncio.sleep(1.5)  # the other services have noticed too
        await table.play_hand(1)
        await table.play_hand(2)
        await table.verified(2)
        await table.end()
        await table.check()
        assert not [e for e in await live.events(table.id, ev.ActionTaken) if e.by is ev.By.TIMEOUT]
        assert not await live.events(table.id, (ev.SatOut, ev.TableHandDisputed))
    lines = [line for line in live.service_log().splitlines() if '"clock_set"' in line]
    assert len(lines) >= len(SERVICES)
