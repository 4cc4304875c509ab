"""Waiting for what tells nobody when it changes."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

PATIENCE_S = 20.0


async def until(what: Callable[[], Awaitable[Any]], why: str, patience_s: float = PATIENCE_S) -> Any:
    """Ask until the answer is true; returns it."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(patience_s):
            while not (answer := await what()):  # noqa: ASYNC110  (nobody tells us)
                await asyncio.sleep(0.01)
            return answer
    raise AssertionError(f"it did not come about: {why}")
