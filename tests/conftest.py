"""Settings for every kind of test. Fixtures live in the folder that needs them."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# In CI the examples are the same in every run: a red build must be reproducible.
# Deadlines are off everywhere, since two workers share two cores.
_SLOW_IS_FINE = [HealthCheck.too_slow]
settings.register_profile("dev", deadline=None, suppress_health_check=_SLOW_IS_FINE)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True, suppress_health_check=_SLOW_IS_FINE)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

# What commands print depends on the terminal; here it is as wide everywhere, for the commands that tests start too.
os.environ["COLUMNS"] = "80"

SEARCHING = [Path(__file__).parent / name for name in ("property", "exhaustive", "oracle")]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what searches. What a search happens to reach is no coverage, since the next one may not reach it."""
    for item in items:
        drawn = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        if drawn or any(folder in item.path.parents for folder in SEARCHING):
            item.add_marker("search")
