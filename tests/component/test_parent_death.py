"""What is bound to who started it hears of his end, however he ended; else it is what was to be started."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stud_cli.local.parent_death import bound_to_us

CHILD = """
import pathlib, signal, sys, time
def told(*_):
    pathlib.Path(sys.argv[1]).write_text("told")
    sys.exit()
signal.signal(signal.SIGTERM, told)
print(flush=True)
time.sleep(60)
"""
PARENT = """
import subprocess, sys, time
from stud_cli.local.parent_death import bound_to_us
child = subprocess.Popen(bound_to_us([sys.executable, "-c", sys.argv[2], sys.argv[1]]), stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(60)
"""


def test_it_is_told_when_its_parent_is_killed(tmp_path: Path):
    told = tmp_path / "told"
    with subprocess.Popen([sys.executable, "-c", PARENT, told, CHILD], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        int(parent.stdout.readline())
        parent.kill()
    give_up_at = time.monotonic() + 10
    while not told.exists():
        assert time.monotonic() < give_up_at
        time.sleep(0.01)


def test_it_is_the_program_that_was_meant_with_its_number_and_its_signals(tmp_path: Path):
    says = "import os, signal; print(os.getpid(), signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, os.getcwd())"
    program = [sys.executable, "-c", says]
    unbound = subprocess.run(program, capture_output=True, text=True, check=True).stdout.split()
    with subprocess.Popen(bound_to_us(program), stdout=subprocess.PIPE, cwd=tmp_path, text=True) as process:
        said, _ = process.communicate()
    assert said.split() == [str(process.pid), unbound[1], str(tmp_path)]
    ended = subprocess.run(bound_to_us(["/bin/sh", "-c", "kill -PIPE $$; exit 3"]), check=False)
    assert ended.returncode == -signal.SIGPIPE


def test_whose_parent_is_gone_before_it_could_ask_does_not_begin(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "getpid", lambda: 1)
    command = bound_to_us([sys.executable, "-c", "print('begun')"])
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", "whoever started this is gone\n")


def test_elsewhere_it_is_started_as_it_is(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert bound_to_us(["program", "word"]) == ["program", "word"]
