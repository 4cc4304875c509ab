"""The loop that services run on, and how often their garbage is collected."""

import asyncio
import gc
import sys

import pytest
import uvloop

from stud_service import garbage
from stud_service.event_loop import new_event_loop
from stud_service.garbage import settle_memory


def test_services_run_on_uvloop_where_it_is():
    loop = new_event_loop()
    assert isinstance(loop, uvloop.Loop)
    loop.close()


def test_and_on_the_loop_of_the_standard_library_where_it_is_not(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "uvloop", None)
    loop = new_event_loop()
    assert isinstance(loop, asyncio.SelectorEventLoop)
    loop.close()


def test_what_was_there_at_the_start_is_left_out_and_cycles_are_still_found():
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    try:
        settle_memory()
        assert gc.get_freeze_count() > frozen
        collections = gc.get_stats()[0]["collections"]
        for _ in range(2 * garbage.YOUNG):
            cycle: list[object] = []
            cycle.append(cycle)
        assert gc.get_stats()[0]["collections"] > collections
        assert sum(gc.get_count()) < 2 * garbage.YOUNG
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
