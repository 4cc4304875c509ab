"""A table's log up to a version, in a file: `python -m tests.support.kept_log TABLE VERSION > FILE`.

It is taken from where the commands take theirs (STUD_REDIS_URL, else the running `stud up`). Each line is a commit as
it was written; down cards are sealed in it, accounts are not.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from stud_cli.inspect.log import open_log
from stud_cli.inspect.table_history import steps
from stud_core.evolve import fold
from stud_core.state import Table
from stud_wire.commits import DecodedCommit, decode_commit


async def lines(table_id: str, version: int) -> list[str]:
    """Read the log from the running system. Raises NoLog, and what a broken log does."""
    found = []
    async with open_log(None) as opened:
        async for step in steps(opened.log, table_id):
            body = base64.b64encode(step.stored.body).decode()
            found.append(json.dumps({"version": step.stored.version, "body": body}))
            if step.stored.version == version:
                return found
    raise SystemExit(f"table {table_id} has {len(found)} versions, not {version}")


def commits_in(path: Path) -> Iterator[tuple[int, DecodedCommit]]:
    for line in path.read_text().splitlines():
        commit = json.loads(line)
        yield commit["version"], decode_commit(base64.b64decode(commit["body"]))


def table_in(path: Path) -> tuple[Table, int]:
    """The table after the last commit of a file, and when that was made (milliseconds since the epoch)."""
    commits = list(commits_in(path))
    return fold((version, commit.events) for version, commit in commits), commits[-1][1].meta.at_ms


if __name__ == "__main__":
    sys.stdout.write("\n".join(asyncio.run(lines(sys.argv[1], int(sys.argv[2])))) + "\n")
