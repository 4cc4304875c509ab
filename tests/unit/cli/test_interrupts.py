"""Ctrl-C ends a command in silence, however early it comes."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from stud_cli.interrupts import ended_by_ctrl_c

PRESSED = """
import os, signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {when!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
from stud_cli.main import main
sys.argv = ["stud", "audit", "--data", "/nowhere"]
main()
"""


@pytest.mark.process
@pytest.mark.parametrize(
    "when",
    [
        "typer",
        "stud_cli.loading",
        "rich.console",
        "stud_service.dumps",
        "msgspec",
        "stud_cli.inspect.audit",
        "redis",
        "stud_eventlog.redis_wire",
    ],
)
def test_ctrl_c_while_modules_are_loaded(when: str):
    ended = subprocess.run(
        [sys.executable, "-c", PRESSED.format(when=when)], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


@pytest.mark.process
def test_ctrl_c_before_a_command_begins():
    code = (
        "import sys, stud_cli.main as m\ndef pressed(): raise KeyboardInterrupt\nm._forbid_dumps = pressed\nm.main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


def test_afterwards_ctrl_c_is_what_it_was():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with ended_by_ctrl_c():
            assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_whoever_ignores_ctrl_c_goes_on_ignoring_it():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with ended_by_ctrl_c():
            os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_load_without_it():
    done: list[bool] = []

    def load() -> None:
        with ended_by_ctrl_c():
            done.append(True)

    thread = threading.Thread(target=load)
    thread.start()
    thread.join()
    assert done == [True]
