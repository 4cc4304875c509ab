"""``stud up``: everything on this machine, until Ctrl-C, SIGTERM or SIGHUP."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import IO, Annotated

import typer
from rich.console import Console

from stud_cli.exit_codes import could_not_run
from stud_cli.local.pid_file import orphans, read_running, write_running
from stud_cli.local.stopping import run_until_stopped
from stud_cli.local.supervisor import keep
from stud_cli.local.system import FIRST_PORT, PORTS, ROW, LocalSystem
from stud_cli.output import JsonFlag, console, last_line, notes
from stud_service.lines import Lines
from stud_topology.services import EDGE, METRICS_ABOVE, RUNNING

PAGES = "STUD_EDGE_PAGES"
BUILT_PAGE = Path("examples/web/dist")
"""What `make web` makes, in the folder that this is run in: a clone of the repository."""

ENDING_S = 20.0
"""What an earlier `stud up` started ends by itself when that was killed; a service has a grace of some seconds."""


def up(
    data: Annotated[Path, typer.Option("--data", help="Where logs, keys and the server's files are kept.")] = Path(
        "var"
    ),
    allow_stacked_decks: Annotated[
        bool, typer.Option(help="Let operators stack decks at XTS tables (rehearsals).")
    ] = False,
    cut_torn_tail: Annotated[
        bool,
        typer.Option(
            "--cut-torn-tail",
            help="Cut a write that a power failure tore off the end of the log's file; a copy is kept.",
        ),
    ] = False,
    port: Annotated[
        int,
        typer.Option(
            help=f"First of {len(PORTS)} ports in a row: {', '.join(PORTS)}. The metrics of a service are "
            f"{METRICS_ABOVE} above it; the edge is {EDGE.port - FIRST_PORT} above the first.",
            min=1024,
            max=65536 - ROW,
        ),
    ] = FIRST_PORT,
    web: Annotated[
        bool, typer.Option("--web", help="Start the edge for browsers too, with the page of examples/web where it is.")
    ] = False,
    json_output: JsonFlag = False,
) -> None:
    """Start the log's server and all services, start again what dies, stop them in order on Ctrl-C.

    Example: stud up --data var --web
    """
    for path in (RUNNING, data / RUNNING.name):
        running = read_running(path)
        if running is not None:
            could_not_run(f"already up (process {running.pid}): stop it first, or use its endpoints in {path}")
        _wait_for_the_last_of(path)
    out = notes if json_output else console
    system = LocalSystem(
        data,
        first_port=port,
        allow_stacked_decks=allow_stacked_decks,
        cut_torn_tail=cut_torn_tail,
        web=web,
        environ=_page(out) if web else None,
        report=lambda text: out.print(text, markup=False, soft_wrap=True),
        console=out,
    )
    run_until_stopped(_up(system, out.file, json_output))


def _page(out: Console) -> dict[str, str]:
    """Return what tells the edge where its page is; what is set in the environment stands."""
    if PAGES in os.environ:
        return {}
    if not (BUILT_PAGE / "index.html").is_file():
        out.print(f"no page: {BUILT_PAGE} is made by `make web`; the edge serves calls alone", soft_wrap=True)
        return {}
    return {PAGES: str(BUILT_PAGE.resolve())}


def _wait_for_the_last_of(path: Path) -> None:
    """Wait until everything has ended that an earlier, killed `stud up` started."""
    give_up_at = time.monotonic() + ENDING_S
    while left := orphans(path):
        if time.monotonic() > give_up_at:
            names = ", ".join(f"{name} {pid}" for name, pid in left.items())
            could_not_run(
                f"an earlier `stud up` was killed and what it started runs on ({names}): "
                f"end them with `kill {' '.join(map(str, left.values()))}`"
            )
        time.sleep(0.1)


async def _up(system: LocalSystem, out: IO[str], json_output: bool) -> None:
    """Once everything runs, messages go through a thread: what watches over the processes must not wait until they are
    read, nor end because they cannot be written.
    """
    lines: Lines | None = None
    paths = {RUNNING, system.data_dir / RUNNING.name}
    written: set[Path] = set()

    def say_where() -> None:
        for path in paths:
            try:
                write_running(path, system.running())
                written.add(path)
            except OSError as error:
                system.report(f"{path} cannot be written ({error.strerror}): other commands may not find this system")

    try:
        await system.start()
        say_where()
        if PAGES in system.environ:
            system.report(f"page     http://{system.web}/")
        system.report(f"ready    {RUNNING} names the endpoints; Ctrl-C stops")
        if json_output:
            where = {"endpoints": system.endpoints, "metrics": system.metrics, "redis_url": system.redis_url}
            last_line({"ready": True, **where, **({"web": system.web} if system.web else {})})
        lines = Lines(os.dup(out.fileno()), "up")
        system.report = lines.put
        await keep(system, changed=say_where)
    finally:
        try:
            if system.server.running:
                system.report("stopping")
        finally:  # even where nobody reads reports any more
            await system.stop()
            for path in written:
                path.unlink(missing_ok=True)
            if lines is not None:
                lines.close()
