"""The running system for the tests of this folder; how it is made stands in tests/support/system.py."""

from tests.support.system import live  # noqa: F401  (fixture)
