"""Modules are loaded without collecting, whatever comes of it."""

import gc

import pytest

from stud_service.quick_load import nothing_collected


def test_nothing_is_collected_while_modules_load_and_what_is_loaded_is_not_looked_at_again():
    try:
        with nothing_collected():
            assert not gc.isenabled()
            assert gc.get_freeze_count() == 0
        assert gc.isenabled()
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_a_module_that_cannot_be_loaded_leaves_the_collector_on():
    try:
        with pytest.raises(ImportError), nothing_collected():
            raise ImportError
        assert gc.isenabled()
    finally:
        gc.unfreeze()
