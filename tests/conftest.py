"""Settings for every kind of test. Fixtures live in the folder that needs them."""

import gc
import os
from collections.abc import Generator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from tests.support.deep import QUICK, is_quick
from tests.support.processes import WITH_PROCESSES, none_started

# In CI the examples are the same in every run: a red build must be reproducible.
# Deadlines are off everywhere, since two workers share two cores.
_SLOW_IS_FINE = [HealthCheck.too_slow]
settings.register_profile("dev", deadline=None, suppress_health_check=_SLOW_IS_FINE)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True, suppress_health_check=_SLOW_IS_FINE)
settings.register_profile("quick", settings.get_profile("dev"), max_examples=25)
settings.load_profile("ci" if os.environ.get("CI") else "quick" if QUICK else "dev")

# What commands print depends on the terminal; here it is as wide everywhere, for the commands that tests start too.
os.environ["COLUMNS"] = "80"

# What services say inside a test is read where it fails: drawing it with colours and sources takes a tenth of the time.
_plainly = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
structlog.configure(processors=[*structlog.get_config()["processors"][:-1], _plainly])

HERE = Path(__file__).parent
SEARCHING = {"property", "exhaustive", "oracle"}
SYSTEM = "e2e"
UNTRACED = {*SEARCHING, SYSTEM, "arch"}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out of a quick run what it is too short for."""
    return True if QUICK and collection_path.is_relative_to(HERE) and not is_quick(collection_path) else None


def pytest_report_header() -> list[str]:
    """Say that a quick run is not all."""
    return ["quick: searches, and tests that play at services, are left out (tests/support/deep.py)"] if QUICK else []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what searches, what may start processes, and what is not traced for coverage, which would double its time:
    what a search happens to reach the next one may not, what the whole system does smaller tests show too (where none
    does, a test is marked `traced`), and who looks at the repository runs nothing of it. The system's tests take
    longest, so they begin first.
    """
    folders = {path: path.relative_to(HERE).parts[0] for path in {item.path for item in items}}
    for item in items:
        folder = folders[item.path]
        if folder in SEARCHING or getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("search")
        apart = folder in UNTRACED and not item.get_closest_marker("traced")
        if apart or item.get_closest_marker("search"):
            item.add_marker("untraced")
        if folder in WITH_PROCESSES:
            item.add_marker("process")
    items.sort(key=lambda item: folders[item.path] != SYSTEM)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What tests are made of stays to the end, some 300,000 objects: looking for cycles among them, while they come and
    then again and again, takes a fifth of the time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    if item.get_closest_marker("process"):
        return (yield)
    with none_started(item.nodeid):
        return (yield)
