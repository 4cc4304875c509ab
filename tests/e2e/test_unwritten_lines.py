"""The system whose log lines cannot be written: hands are played, judged and settled as ever, and it stops in order."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from stud_cli.local.system import SERVICES
from tests.support.playing import Table
from tests.support.system import Live, LiveStack

pytestmark = pytest.mark.timeout(300)


@contextmanager
def on_a_full_disk(path: Path) -> Iterator[None]:
    path.symlink_to("/dev/full")
    yield
    path.unlink()


@contextmanager
def through_a_pipe_nobody_reads(path: Path) -> Iterator[None]:
    os.mkfifo(path)
    held = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    with suppress(BlockingIOError):
        while os.write(held, b"x" * 4096):
            pass
    yield
    os.close(held)
    path.unlink()


class Mute(Live):
    def service_log(self, *names: str) -> str:
        return f"{names}: not to be had"


@pytest.mark.parametrize("way", [on_a_full_disk, through_a_pipe_nobody_reads])
async def test_hands_are_played_judged_and_settled(tmp_path: Path, way):
    (tmp_path / "logs").mkdir()
    stack = LiveStack(tmp_path, environ={"STUD_LOG_LEVEL": "debug"})
    with ExitStack() as unwritten:
        for name in SERVICES:
            unwritten.enter_context(way(stack.log_path(name)))
        async with stack:
            live = Mute(stack)
            await live.open()
            async with await Table.begin(live, "mute") as table:
                for hand_no in (1, 2):
                    await table.play_hand(hand_no)
                await table.verified(2)
                await table.end()
                await table.check()
            await live.close()
            processes = {name: stack.processes[name] for name in SERVICES}
        assert {name: process.returncode for name, process in processes.items()} == dict.fromkeys(SERVICES, 0)
