"""``stud up``: everything on this machine, until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from pathlib import Path
from typing import Annotated

import typer

from stud_cli.offline import RUNNING
from stud_cli.output import JsonFlag, console, could_not_run, last_line
from stud_cli.stack import Stack, StackError, read_running, write_running


def up(
    data: Annotated[Path, typer.Option("--data", help="Where logs, keys and the server's files are kept.")] = Path(
        "var"
    ),
    allow_stacked_decks: Annotated[
        bool, typer.Option(help="Let operators stack decks at XTS tables (rehearsals).")
    ] = False,
    json_output: JsonFlag = False,
) -> None:
    """Start the log's server and the four services, watch them, stop them in order on Ctrl-C.

    Example: stud up --data var
    """
    running = read_running(RUNNING)
    if running is not None:
        could_not_run(f"already up (process {running.pid}): stop it first, or use its endpoints in {RUNNING}")
    code = asyncio.run(_up(data, allow_stacked_decks, json_output))
    raise typer.Exit(code)


async def _up(data: Path, allow_stacked: bool, json_output: bool) -> int:
    def say(text: str) -> None:
        if not json_output:
            console.print(text)

    stack = Stack(data, fixed_ports=True, allow_stacked_decks=allow_stacked, report=say)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    try:
        await stack.start()
        for path in {RUNNING, data / "stud.json"}:
            write_running(path, stack.running())
        say(f"ready    {RUNNING} names the endpoints; Ctrl-C stops")
        if json_output:
            last_line({"ready": True, "endpoints": stack.endpoints, "redis_url": stack.redis_url})
        watcher = asyncio.create_task(stack.watch())
        await stop.wait()
        watcher.cancel()
        await asyncio.gather(watcher, return_exceptions=True)
    except StackError as error:
        console.print(f"[red]error[/red] {error}")
        return 2
    finally:
        say("stopping")
        await stack.stop()
        for path in {RUNNING, data / "stud.json"}:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
    return 0
