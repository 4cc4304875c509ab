"""The loop that services run on."""

import asyncio
import sys

import pytest
import uvloop

from stud_service.event_loop import new_event_loop


def test_services_run_on_uvloop_where_it_is():
    loop = new_event_loop()
    assert isinstance(loop, uvloop.Loop)
    loop.close()


def test_and_on_the_loop_of_the_standard_library_where_it_is_not(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "uvloop", None)
    loop = new_event_loop()
    assert isinstance(loop, asyncio.SelectorEventLoop)
    loop.close()
