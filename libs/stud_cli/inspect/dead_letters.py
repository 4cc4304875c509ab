"""``stud dead``: messages a service could not handle, and the lines of tables that wait behind them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from stud_cli.exit_codes import FINE, FOUND, could_not_run, said_as
from stud_cli.inspect.log import open_log
from stud_cli.local.stopping import run_with_one_stop
from stud_cli.output import DataDir, JsonFlag, console, last_line, table_of
from stud_eventlog import keys
from stud_eventlog.log import DeadLetters
from stud_eventlog.types import DeadLetter, EventLogError
from stud_topology import services

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Messages that could not be handled. Example: stud dead list"
)


Service = StrEnum("Service", list(services.NAMES))  # type: ignore[misc]  # its members are for typer alone

ServiceName = Annotated[Service, typer.Argument(help="Whose messages.")]
T = TypeVar("T")
TableId = Annotated[str, typer.Argument(help="Table id.")]


@app.command("list")
def list_letters(data: DataDir = None, json_output: JsonFlag = False) -> None:
    """List parked messages, oldest first. Exit code 1 when there are any.

    Example: stud dead list
    """
    letters = _run(data, lambda log: log.dead_list())
    if json_output:
        last_line(
            {
                "dead": [
                    {
                        "service": x.service,
                        "table": x.table_id,
                        "stream": x.entry.stream,
                        "version": x.entry.version,
                        "reason": x.reason,
                    }
                    for x in letters
                ]
            }
        )
    else:
        rows = [(x.service, x.table_id, x.entry.stream, x.entry.version, x.reason) for x in letters]
        console.print(table_of("Parked messages", ("service", "table", "stream", "version", "reason"), rows))
    raise typer.Exit(FOUND if letters else FINE)


@app.command()
def retry(service: ServiceName, table: TableId, data: DataDir = None, json_output: JsonFlag = False) -> None:
    """Hand a table's parked messages to the service again, in order.

    Example: stud dead retry wallet demo-playnow
    """
    shard = _shard(table)
    _run(data, lambda log: _retry(log, service, shard, table))
    _done({"service": service, "table": table, "retry": True}, f"{service} will retry {table}", json_output)


@app.command()
def discard(
    service: ServiceName,
    table: TableId,
    first: Annotated[bool, typer.Option("--first", help="Only the first, which holds up the others.")] = False,
    answers: Annotated[
        bool, typer.Option("--answers", help="Also what the wallet or the referee answered a table.")
    ] = False,
    data: DataDir = None,
    json_output: JsonFlag = False,
) -> None:
    """Throw a table's parked messages away; what they said is lost for that service. What the wallet or the referee
    answered a table is sent once: chips may be stuck without it, so mend the service and let it retry.

    Example: stud dead discard wallet demo-playnow
    """
    shard = _shard(table)

    async def work(log: DeadLetters) -> int:
        line = await log.dead_take(service, shard, table)
        chosen = line[:1] if first else line
        if not chosen:
            could_not_run(_nothing(service, table))
        for letter in chosen:
            if _is_an_answer(letter) and not answers:
                could_not_run(_needed(letter))
        return await log.dead_discard(service, shard, table, up_to=chosen[-1].number)

    count = _run(data, work)
    _done({"service": service, "table": table, "discarded": count}, f"{count} messages discarded", json_output)


def _is_an_answer(letter: DeadLetter) -> bool:
    """Whether money may wait at the table for this message."""
    feed = keys.parse_stream(letter.entry.feed)
    return letter.service == "table" and feed is not None and feed.kind in {"ledger-feed", "verdicts"}


def _needed(letter: DeadLetter) -> str:
    table, entry = letter.table_id, letter.entry
    return (
        f"version {entry.version} of {entry.stream} answers {table} and is sent once: chips may be stuck without it. "
        f"Mend the table service, then `stud dead retry table {table}`; what the dealer sent before it is dropped with "
        "--first, and with --answers answers too"
    )


async def _retry(log: DeadLetters, service: str, shard: int, table: str) -> None:
    if not any((letter.service, letter.table_id) == (service, table) for letter in await log.dead_list()):
        could_not_run(_nothing(service, table))
    await log.request_retry(service, shard, table)


def _nothing(service: str, table: str) -> str:
    return f"nothing of {table} is parked at {service}: `stud dead list` shows what is"


def _shard(table: str) -> int:
    with said_as("{}", ValueError):
        return keys.shard_of(keys.check_table_id(table))


def _done(value: dict[str, object], text: str, json_output: bool) -> None:
    if json_output:
        last_line(value)
    else:
        console.print(text)


def _run(data: Path | None, work: Callable[[DeadLetters], Awaitable[T]]) -> T:
    async def opened() -> T:
        async with open_log(data) as found:
            return await work(found.log)

    with said_as("{}", EventLogError, ValueError):
        return run_with_one_stop(opened())
