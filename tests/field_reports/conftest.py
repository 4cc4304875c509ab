"""The running system for the reports that need the wire; how it is made stands in tests/support/system.py."""

from tests.support.system import live  # noqa: F401  (fixture)
