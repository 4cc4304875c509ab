"""The log for commands that only read it.

In this order: ``--data DIR`` starts the embedded server on that directory; else ``STUD_REDIS_URL``; else
``var/stud.json`` of a running ``stud up``. A log that is not there is not made, and one that lost everything is not
read as an empty one.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import msgspec

from stud_cli.exit_codes import CouldNotRun, said_as
from stud_cli.local.log_server import EmbeddedServer, EmbeddedServerError, holds_log
from stud_cli.local.pid_file import read_running
from stud_cli.local.progress import Waiting
from stud_cli.local.system import with_way_out
from stud_cli.output import notes
from stud_eventlog.log import EventLog
from stud_eventlog.redis_streams import RedisEventLog
from stud_eventlog.types import EventLogError, UnusableUrl
from stud_service.settings import SettingsError, load_keys_dir
from stud_topology.services import RUNNING

VAR: Final = RUNNING.parent
"""The data directory of whoever names none."""


class NoLog(CouldNotRun):
    """There is no log to read; the text says how to name one."""


class Opened(msgspec.Struct):
    """A log and, where they are on this machine, its keys. What a tool keeps beside the log goes below ``data_dir``,
    which need not exist.
    """

    log: EventLog
    keys_dir: Path | None
    where: str
    data_dir: Path = VAR


@contextlib.asynccontextmanager
async def open_log(data: Path | None) -> AsyncIterator[Opened]:
    """Open the log to read; raises NoLog when there is none."""
    async with contextlib.AsyncExitStack() as stack:
        url, keys_dir, data_dir = await _find(data, stack)
        try:
            log = await RedisEventLog.connect(url, allow_volatile=True)
            stack.push_async_callback(log.close)
            await log.require_initialised()
        except UnusableUrl as error:
            raise NoLog(str(error)) from error
        except EventLogError as error:
            place = f"at {_without_password(url)}" if data is None else f"in {data}"
            raise NoLog(f"the log {place} cannot be read: {error}") from error
        yield Opened(log, keys_dir if keys_dir is not None and keys_dir.is_dir() else None, url, data_dir)


async def _find(data: Path | None, stack: contextlib.AsyncExitStack) -> tuple[str, Path | None, Path]:
    if data is not None:
        return await _start_on(data, stack), data / "keys", data
    url = os.environ.get("STUD_REDIS_URL")
    if url:
        with said_as("{}", SettingsError):
            return url, load_keys_dir(), VAR
    running = read_running(RUNNING)
    if running is not None:
        return running.redis_url, Path(running.keys_dir), Path(running.data_dir)
    raise NoLog("no log: name one with --data DIR or STUD_REDIS_URL, or start the system with `stud up`")


async def _start_on(data: Path, stack: contextlib.AsyncExitStack) -> str:
    running = read_running(data / "stud.json")
    if running is not None:
        return running.redis_url
    if not holds_log(data / "redis"):
        raise NoLog(f"there is no log in {data}: want a directory as `stud up --data` or `stud demo` leaves it")
    server = EmbeddedServer(data / "redis", environ={"PATH": os.environ.get("PATH", "")})
    try:
        with Waiting(notes if notes.is_terminal else None) as waiting:
            await server.start(loading=lambda share: waiting.show(f"the log in {data} is read", share))
    except EmbeddedServerError as error:
        raise NoLog(f"the log in {data} cannot be opened: {with_way_out(error, data)}") from error
    except OSError as error:
        raise NoLog(f"the log in {data} cannot be opened: {error.strerror} ({error.filename})") from error
    stack.push_async_callback(server.stop)
    return server.url


def _without_password(url: str) -> str:
    return re.sub(r"//[^/]*@", "//", url)
