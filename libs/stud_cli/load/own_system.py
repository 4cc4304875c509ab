"""What ended or fills up under the system that a load run started itself: nobody else is there to say it."""

from __future__ import annotations

import asyncio

from stud_cli.local.disk import full_disk
from stud_cli.local.system import LocalSystem
from stud_eventlog.redis_streams import RedisEventLog
from stud_eventlog.types import EventLogError


async def troubles_of(system: LocalSystem) -> list[str]:
    """Return a sentence for each thing that keeps it from playing on, worst first; none for a system that is well."""
    found = []
    if not system.server.running:
        found.append(f"the log's server died: {await asyncio.to_thread(system.server.why_it_ended)}")
    elif problem := await asyncio.to_thread(full_disk, system.data_dir):
        found.append(problem)
    for name, process in system.processes.items():
        if process.returncode is not None:
            found.append(f"{name} ended with {process.returncode}: {await asyncio.to_thread(system.last_words, name)}")
    if system.server.running and (why := await _of_the_log(system.redis_url)):
        found.append(why)
    return found


async def _of_the_log(url: str) -> str | None:
    """Return why the log takes nothing more, or would lose what it takes."""
    try:
        log = await RedisEventLog.connect(url, allow_volatile=True)
        try:
            trouble = await log.trouble("table")
        finally:
            await log.close()
    except EventLogError as error:
        return f"the log cannot be asked how it is: {error}"
    return None if trouble is None else f"the log is in trouble, {trouble.code}: {trouble.why}: {trouble.help}"
