"""Fields, callers, tasks."""

import asyncio
import contextlib
import contextvars
import functools
import resource

import pytest
import structlog

from stud_eventlog.memory import MemoryEventLog
from stud_service import runtime as runtime_module
from stud_service.checks import require_request_id, require_text
from stud_service.identity import Caller, caller, require, set_caller
from stud_service.refusals import Refused
from stud_service.runtime import Runtime, for_ever
from stud_service.server_options import connections_that_fit
from stud_service.settings import ServiceSettings
from tests.support.runtime import logged


def reason(work, *args) -> str:
    with pytest.raises(Refused) as caught:
        work(*args)
    return caught.value.reason


@pytest.mark.parametrize("bad", ["", "x" * 65, "a\x00b", "a\nb"])
def test_a_request_id_has_1_to_64_printable_characters(bad):
    assert reason(require_request_id, bad) == "REQUEST_ID_REQUIRED"
    assert require_request_id("x" * 64) == "x" * 64


@pytest.mark.parametrize("bad", ["", "   ", "x" * 11, "a\tb"])
def test_a_text_is_printable_and_within_its_length(bad):
    with pytest.raises(Refused) as caught:
        require_text(bad, "name", 10)
    assert (caught.value.reason, caught.value.metadata) == ("INVALID_FIELD", {"field": "name", "min": "1", "max": "10"})
    assert require_text("späte Runde", "name", 64) == "späte Runde"


def test_outside_of_a_call_there_is_no_caller():
    # In a context of its own: a test that names a caller outside of any task leaves him in that of the whole run.
    assert contextvars.Context().run(reason, caller) == "UNAUTHENTICATED"


async def test_roles_are_asked_for():
    await asyncio.create_task(_asks_for_roles())


async def _asks_for_roles() -> None:
    set_caller(Caller("olga", frozenset({"operator"})))
    assert require("cashier", "operator").account == "olga"
    assert reason(require, "player") == "ROLE_NOT_ALLOWED"
    assert (await asyncio.create_task(_who())) == "olga"


async def _who() -> str:
    return caller().account


# The runtime


@pytest.fixture
async def runtime():
    return Runtime("table", ServiceSettings(build="b-1"), MemoryEventLog())


async def test_a_runtime_needs_little(runtime: Runtime):
    assert runtime.build == "b-1"
    assert runtime.keys_dir == runtime.settings.keys_dir
    assert len(runtime.new_id()) == 16
    assert runtime.new_id() != runtime.new_id()
    assert runtime.clock() > 1_700_000_000_000


async def test_a_task_of_the_service_knows_nothing_of_the_call_that_started_it(runtime: Runtime):
    told: list[object] = []

    async def work() -> None:
        told.append(structlog.contextvars.get_contextvars())
        with pytest.raises(Refused):
            caller()

    async def call() -> None:
        set_caller(Caller("olga", frozenset({"operator"})))
        with structlog.contextvars.bound_contextvars(account="olga", method="/CreateTable", request_id="r-1"):
            await runtime.spawn(work(), "table t-1", may_end=True)

    await asyncio.create_task(call())
    assert told == [{}]
    assert runtime.tasks.fault is None


async def test_a_crash_is_noted_once_and_other_ends_are_none(runtime: Runtime):
    async def crash(text: str) -> None:
        raise RuntimeError(text)

    fine = runtime.spawn(asyncio.sleep(0), "fine", may_end=True)
    long = runtime.spawn(asyncio.sleep(60), "long")
    await fine
    long.cancel()
    await asyncio.gather(long, return_exceptions=True)
    assert not runtime.tasks.crashed.is_set()
    runtime.spawn(crash("first"), "first")
    await runtime.tasks.crashed.wait()
    runtime.spawn(crash("second"), "second")
    await asyncio.sleep(0.01)
    assert str(runtime.tasks.fault) == "first"


async def meets_a_cancellation() -> None:
    """What it waits for is cancelled, not the task."""
    future = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.cancel)
    await future


async def swallows_its_own() -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(60)


@pytest.mark.parametrize("work", [functools.partial(asyncio.sleep, 0), meets_a_cancellation])
async def test_a_task_that_must_live_and_ends_is_a_crash_however_it_ends(runtime: Runtime, work):
    task = runtime.spawn(work(), "worker")
    await asyncio.wait([task])
    await asyncio.sleep(0)
    assert runtime.tasks.crashed.is_set()
    assert "worker ended" in str(runtime.tasks.fault)


@pytest.mark.parametrize("work", [functools.partial(asyncio.sleep, 60), swallows_its_own])
async def test_a_task_that_was_told_to_end_may(runtime: Runtime, work):
    task = runtime.spawn(work(), "worker")
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    await asyncio.sleep(0)
    assert not runtime.tasks.crashed.is_set()


@pytest.mark.parametrize("work", [functools.partial(asyncio.sleep, 0), meets_a_cancellation])
async def test_of_a_group_too_none_may_end(work):
    async def group() -> None:
        async with asyncio.timeout(5), asyncio.TaskGroup() as together:
            together.create_task(for_ever(functools.partial(asyncio.sleep, 60), "other"))
            together.create_task(for_ever(work, "worker"))

    with pytest.raises(ExceptionGroup) as caught:
        await group()
    assert [str(fault) for fault in caught.value.exceptions] == ["worker ended, and must not"]


async def test_who_cancels_a_group_ends_it():
    async def group() -> None:
        async with asyncio.TaskGroup() as together:
            together.create_task(for_ever(functools.partial(asyncio.sleep, 60), "worker"))

    task = asyncio.create_task(group())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


async def test_a_crash_is_acted_upon_before_it_is_told(runtime: Runtime):
    """And told without what was bound for the call that had started the task."""
    told: list[tuple[bool, dict[str, object]]] = []

    def broken(_: object, __: str, event: dict[str, object]) -> dict[str, object]:
        told.append((runtime.tasks.crashed.is_set(), structlog.contextvars.get_contextvars()))
        raise RuntimeError

    with logged(), structlog.contextvars.bound_contextvars(account="olga"):
        structlog.get_config()["processors"].insert(0, broken)
        task = runtime.spawn(asyncio.sleep(0), "worker")
        await asyncio.wait([task])
        await asyncio.sleep(0)
    assert told == [(True, {})]


async def test_cancel_all_waits_for_the_end(runtime: Runtime):
    ended = []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
            ended.append(True)

    runtime.spawn(work(), "work")
    await asyncio.sleep(0)
    await runtime.tasks.cancel_all()
    assert ended == [True]
    assert not runtime.tasks.running


async def test_a_task_that_swallows_its_cancellation_is_cancelled_again(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(runtime_module, "CANCEL_WAIT_S", 0.02)

    async def stubborn(times: int) -> None:
        for _ in range(times):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(60)
        await asyncio.sleep(60)

    runtime.spawn(stubborn(1), "stubborn")
    await asyncio.sleep(0)
    await runtime.tasks.cancel_all()
    assert not runtime.tasks.running
    hopeless = runtime.spawn(stubborn(3), "hopeless")
    await asyncio.sleep(0)
    with structlog.testing.capture_logs() as lines:
        await runtime.tasks.cancel_all()
    assert [line["tasks"] for line in lines] == [["hopeless"]]
    hopeless.cancel()
    await asyncio.gather(hopeless, return_exceptions=True)


# Connections


@pytest.mark.parametrize(
    ("files", "wanted", "fit", "raised"),
    [
        ((1024, 1024), 10_000, 768, None),
        ((1024, 20_000), 10_000, 10_000, (10_256, 20_000)),
        ((1024, 4_000), 10_000, 3_744, (4_000, 4_000)),
        ((20_000, 20_000), 10_000, 10_000, None),
        ((100, 100), 10, 1, None),
        ((1024, resource.RLIM_INFINITY), 10_000, 10_000, (10_256, resource.RLIM_INFINITY)),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), 10_000, 10_000, None),
    ],
)
def test_connections_leave_files_for_ourselves(monkeypatch, files, wanted, fit, raised):
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: files)
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: asked.append(limits))
    assert connections_that_fit(wanted) == fit
    assert asked == ([] if raised is None else [raised])
