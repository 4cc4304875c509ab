"""A cancellation that something on the way has swallowed."""

import asyncio


def stop_if_cancelled() -> None:
    """Raises CancelledError when this task was cancelled and something on the way swallowed it.

    `asyncio.wait_for` does so before Python 3.12 when what it waits for happens in the same moment, and the client
    library sends by it. A loop that has no other end would go on for ever, and a timeout that was swallowed does not
    come again.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
