"""What a quick run leaves out is there, and left out."""

from pathlib import Path

import pytest

from tests import conftest
from tests.support.deep import NOT_QUICK

TESTS = Path(conftest.__file__).parent


@pytest.mark.parametrize("name", NOT_QUICK)
def test_what_is_left_out_is_there(name: str):
    assert (TESTS / name).exists()


@pytest.mark.parametrize("quick", [True, False])
def test_a_quick_run_leaves_it_out_and_no_other_does(quick: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(conftest, "QUICK", quick)
    assert {conftest.pytest_ignore_collect(TESTS / name) for name in NOT_QUICK} == {True if quick else None}
    plays_at_services = TESTS / "unit/table/test_streams.py"
    assert conftest.pytest_ignore_collect(plays_at_services) is (True if quick else None)
    plain = TESTS / "unit/table/test_names.py"
    for kept in (TESTS, TESTS / "unit", TESTS / "unit/table", plain, TESTS / "vectors", TESTS.parent):
        assert conftest.pytest_ignore_collect(kept) is None
    assert bool(conftest.pytest_report_header()) is quick
