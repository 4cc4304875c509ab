"""Modules are loaded without collecting, whatever comes of it; then cycles are looked for, but less often."""

import gc
from collections.abc import Iterator

import pytest

from stud_service import garbage
from stud_service.garbage import nothing_collected, settle_memory


@pytest.fixture(autouse=True)
def as_in_a_new_process() -> Iterator[None]:
    """What the tests' own start has left out is looked at again, and afterwards left out again."""
    gc.unfreeze()
    yield
    gc.unfreeze()
    gc.freeze()


def test_nothing_is_collected_while_modules_load_and_what_is_loaded_is_not_looked_at_again():
    with nothing_collected():
        assert not gc.isenabled()
        assert gc.get_freeze_count() == 0
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0


def test_a_module_that_cannot_be_loaded_leaves_the_collector_on():
    with pytest.raises(ImportError), nothing_collected():
        raise ImportError
    assert gc.isenabled()


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
        gc.set_threshold(*before)
