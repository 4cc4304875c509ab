"""Virtual time decides what hundreds of tests of services see: it passes only by waiting, and never for nothing."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.system_memory import EPOCH_MS, Stuck, VirtualLoop, simulated, virtual_ms


def now() -> float:
    return asyncio.get_running_loop().time()


def test_hours_of_waiting_take_no_time():
    began = time.monotonic()

    @simulated
    async def run() -> None:
        await asyncio.sleep(10 * 3600)
        assert now() == pytest.approx(36_000)
        assert virtual_ms() == EPOCH_MS + 36_000_000

    run()
    assert time.monotonic() - began < 10


@simulated
async def test_whoever_is_due_first_comes_first_and_sees_their_time():
    seen: list[tuple[str, float]] = []

    async def wait(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        seen.append((name, now()))

    await asyncio.gather(wait("late", 3), wait("soon", 0.001), wait("middle", 0.5), wait("as late", 3))
    assert seen == [("soon", 0.001), ("middle", 0.5), ("late", 3), ("as late", 3)]


@simulated
async def test_time_stands_still_while_there_is_work():
    timer = asyncio.get_running_loop().call_later(1e-5, int)
    for _ in range(10_000):
        await asyncio.sleep(0)
        assert now() == 0
    timer.cancel()


@simulated
async def test_a_timer_that_was_cancelled_holds_nobody_and_moves_no_time():
    asyncio.get_running_loop().call_later(5, int).cancel()
    await asyncio.sleep(7)
    assert now() == 7


@simulated
async def test_a_time_limit_runs_out_where_nothing_comes():
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(60):
            await asyncio.Event().wait()
    assert now() == 60


@simulated
async def test_what_comes_in_time_is_not_too_late():
    event = asyncio.Event()
    asyncio.get_running_loop().call_later(59.999, event.set)
    async with asyncio.timeout(60):
        await event.wait()
    assert now() == 59.999


def test_waiting_for_what_never_comes_fails_at_once():
    @simulated
    async def run() -> None:
        await asyncio.Event().wait()

    with pytest.raises(Stuck):
        run()


@simulated
async def test_time_that_is_skipped_passes_at_once_and_who_was_due_is_late():
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    due = asyncio.ensure_future(asyncio.sleep(5, "late"))
    await asyncio.sleep(1)
    loop.skip(100)
    assert now() == 101
    assert await due == "late"
    assert now() == 101


def test_each_test_has_a_loop_and_a_time_of_its_own():
    times: list[float] = []

    @simulated
    async def run(first: Callable[[float], Any], *, then: float) -> None:
        first(now())
        await asyncio.sleep(then)

    run(times.append, then=9)
    run(times.append, then=9)
    assert times == [0, 0]


def test_a_failure_comes_out():
    @simulated
    async def run() -> None:
        await asyncio.sleep(1)
        raise AssertionError("seen")

    with pytest.raises(AssertionError, match="seen"):
        run()
