"""Servers for the tests of this folder; how they are made stands in tests/support/valkey.py."""

from tests.support.valkey import fresh_server, server_with, session_server, valkey_server  # noqa: F401  (fixtures)
