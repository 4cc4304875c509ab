"""Tests that share a running system run on one worker; how they are marked stands in tests/support/system.py."""

import os

import pytest


@pytest.mark.xdist_group("together")
@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="one process has no groups")
def test_groups_have_an_effect(request: pytest.FixtureRequest):
    """Without it each worker starts every system, and nothing else would say so."""
    assert request.node.nodeid.endswith("@together")
