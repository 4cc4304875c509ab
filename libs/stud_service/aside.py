"""Work that may block for ever (a file system that is away, a server that stops in the middle of an answer), done
beside the event loop in a thread of its own that keeps nobody from stopping.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


def aside(work: Callable[[], T], name: str) -> asyncio.Future[T]:
    """Begins the work and returns its outcome to come. Whoever gives it up has a thread that goes on: they begin no
    second one before the first has ended.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, fault: Exception | None) -> None:
        if outcome.done():
            return
        if fault is not None:
            outcome.set_exception(fault)
        else:
            outcome.set_result(value)  # type: ignore[arg-type]  # it is a T where there is no fault

    def run() -> None:
        value: T | None = None
        fault: Exception | None = None
        try:
            value = work()
        except Exception as why:  # noqa: BLE001  (goes to whoever waits)
            fault = why
        with suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits
            loop.call_soon_threadsafe(settle, value, fault)

    threading.Thread(target=run, name=name, daemon=True).start()
    return outcome
