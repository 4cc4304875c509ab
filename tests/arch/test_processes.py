"""A test that starts a process is never part of `make quick`, whoever wrote it: it fails until it is marked."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.arch.repository import ROOT
from tests.support.valkey import running_server

PYTHON = [sys.executable, "-c", ""]


async def start() -> None:
    await asyncio.create_subprocess_exec(*PYTHON)


WAYS: list[Callable[[], Any]] = [
    lambda: subprocess.run(PYTHON, check=True),
    lambda: asyncio.run(start()),
    lambda: os.system("true"),
    lambda: os.posix_spawn(sys.executable, PYTHON, {}),
    lambda: os.waitpid(os.fork(), 0),
]


@pytest.mark.parametrize("way", WAYS, ids=["subprocess", "asyncio", "system", "spawn", "fork"])
def test_where_a_test_that_starts_a_process_belongs_is_said(way: Callable[[], Any], request: pytest.FixtureRequest):
    with pytest.raises(pytest.fail.Exception, match=r"(?s)starts a process: .*tests/component.*tests/e2e") as failed:
        way()
    assert str(failed.value).startswith(request.node.nodeid)


def test_a_server_is_a_process(tmp_path):
    with pytest.raises(pytest.fail.Exception, match="starts a process: "), running_server(tmp_path):
        raise AssertionError("it must not run")


def test_files_are_listed_all_the_same():
    assert subprocess.run(["git", "--version"], check=True, capture_output=True).stdout


@pytest.mark.process
def test_whoever_says_so_may():
    subprocess.run(PYTHON, check=True)


def test_the_folders_say_it_for_their_tests(request: pytest.FixtureRequest):
    for item in request.session.items:
        if item.path.is_relative_to(ROOT / "tests/component") or item.path.is_relative_to(ROOT / "tests/e2e"):
            assert item.get_closest_marker("process"), item.nodeid


def test_quick_leaves_out_what_starts_processes():
    recipe = (ROOT / "Makefile").read_text().partition("\nquick:")[2].partition("\n.PHONY")[0]
    assert '-m "not process"' in recipe
