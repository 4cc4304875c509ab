"""Reads the hands that are asked for from a table's log and writes their page."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec

from stud_cli.exit_codes import could_not_run, said_as
from stud_cli.inspect.page.building import page
from stud_cli.inspect.page.scenes import Director, Opened
from stud_cli.inspect.table_history import steps
from stud_cli.local.progress import Waiting
from stud_cli.output import notes
from stud_core.ruleset import TableConfig
from stud_eventlog import keys
from stud_eventlog.log import CommitLog


class Written(msgspec.Struct):
    """What is in the page."""

    hands: int
    steps: int
    bytes: int


def hand_range(text: str) -> tuple[int, int] | None:
    """Return the first and the last hand of ``7`` or ``7-12``; None for nothing, all hands. Raises ValueError."""
    if not text:
        return None
    first, dash, last = text.partition("-")
    if not (first.isdecimal() and (not dash or last.isdecimal())) or not 1 <= int(first) <= int(last or first):
        raise ValueError(f"{text!r}: want a hand such as 7, or a range such as 7-12")
    return int(first), int(last or first)


async def write_page(
    log: CommitLog,
    table_id: str,
    hands: tuple[int, int] | None,
    out: Path,
    *,
    opened: Opened | None = None,
    viewer: str = "",
) -> Written:
    """Write the page of a table's hands. Raises CouldNotRun, EventLogError, WireError, ValueError (no table id)."""
    director = Director(hands, opened)
    config = await _direct(log, table_id, director)
    if config is None:
        could_not_run(f"there is no table {table_id!r} in this log")
    if hands is not None and not director.hands:
        could_not_run(f"table {table_id} has no hand {hands[0]}: it has played {director.last_hand} so far")
    with said_as("{}", ValueError):
        data = page(config, director.hands, viewer)
    with said_as(f"{out} cannot be written: {{}}", OSError):
        _write(out, data)
    return Written(len(director.hands), sum([len(hand.scenes) for hand in director.hands]), len(data))


async def _direct(log: CommitLog, table_id: str, director: Director) -> TableConfig | None:
    """Fold the table's log; what is asked for may be far behind its beginning."""
    stream = keys.table_log(keys.shard_of(keys.check_table_id(table_id)), table_id)
    end = (await log.head(stream)).version
    config: TableConfig | None = None
    with Waiting(notes if notes.is_terminal else None) as waiting:
        async for step in steps(log, table_id):
            director.take(step)
            config = step.table.config
            if director.is_over:
                break
            waiting.show(f"{director.last_hand:,} hands of {table_id} are read", step.stored.version / max(end, 1))
    return config


def _write(out: Path, data: bytes) -> None:
    """Write the whole page or nothing; for its owner's eyes until they send it."""
    half = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
        half.replace(out)
    finally:
        with contextlib.suppress(OSError):
            half.unlink(missing_ok=True)
