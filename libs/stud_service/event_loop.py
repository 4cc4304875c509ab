"""The event loop of a service process."""

from __future__ import annotations

import asyncio


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a loop of uvloop, which carries a tenth more messages of gRPC; where it cannot be had, asyncio's own."""
    try:
        import uvloop  # noqa: PLC0415 - there may be none
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
