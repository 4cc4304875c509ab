"""How a process that a command started is ended."""

from __future__ import annotations

import asyncio
import contextlib


async def end(process: asyncio.subprocess.Process, within_s: float) -> None:
    """Tell a process to stop (SIGTERM), and kill it where it has not after so many seconds; return when it is over."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(within_s):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
