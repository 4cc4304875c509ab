"""How a command that started something ends when it is told to: once, in order, whatever else it is told meanwhile.

Without this only Ctrl-C would be heard, and a second one would cut off the stop that the first one began.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Coroutine
from types import FrameType, TracebackType
from typing import Any, Final, Self, TypeVar

T = TypeVar("T")
NewLoop = Callable[[], asyncio.AbstractEventLoop]
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class OneStop:
    """The first INT, TERM or HUP interrupts what is done inside, as Ctrl-C does; later ones change nothing, until the
    process has ended as the first one wanted it to.
    """

    def __init__(self) -> None:
        self._over = False
        self._interrupted = False
        self._task: asyncio.Task[Any] | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is not threading.main_thread():
            return self  # signals are for whatever runs this beside other things
        for number in SIGNALS:
            if number is signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
                continue  # started with nohup: it is to outlive its terminal
            self._before[number] = signal.signal(number, self._signalled)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_IGN if self._interrupted else handler)

    def run(self, work: Coroutine[Any, Any, T], new_loop: NewLoop | None = None) -> T:
        """Run a coroutine to its end, on a loop of asyncio or of ``new_loop``. Raises KeyboardInterrupt when it was
        interrupted, and has cleaned up.
        """
        try:
            with asyncio.Runner(loop_factory=new_loop) as runner:
                return runner.run(self._held(work))
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None

    async def _held(self, work: Coroutine[Any, Any, T]) -> T:
        self._task = asyncio.current_task()
        try:
            return await work
        finally:
            self._task, self._over = None, True  # what follows is the clean-up

    def _signalled(self, _number: int, _frame: FrameType | None) -> None:
        if self._over or self._interrupted:
            return
        self._interrupted = True
        if self._task is None:
            raise KeyboardInterrupt
        self._task.get_loop().call_soon_threadsafe(self._task.cancel)  # it may wait for something, and must wake up


def run_with_one_stop(work: Coroutine[Any, Any, T], new_loop: NewLoop | None = None) -> T:
    """Run a coroutine that starts something, and that stops it even when interrupted."""
    with OneStop() as stop:
        return stop.run(work, new_loop)


def run_until_stopped(work: Coroutine[Any, Any, None]) -> None:
    """The same for what runs until told to end: then it has done what it should."""
    with contextlib.suppress(KeyboardInterrupt):
        run_with_one_stop(work)


async def to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Await what must not be left half done: a caller that is cancelled meanwhile hears of it afterwards."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    result = task.result()
    if cancelled:
        raise asyncio.CancelledError
    return result
