"""`stud up --web`: the edge beside the services, found by the others, started again when it dies."""

from __future__ import annotations

import os
import signal
import time
import urllib.request
from pathlib import Path

import pytest

from stud_service.healthcheck import check
from stud_topology.services import EDGE, LOG_PORT
from tests.support.up import listens, up

pytestmark = pytest.mark.timeout(240)


def test_browsers_find_an_edge_and_the_page_where_it_is_built(tmp_path: Path):
    page = tmp_path / "examples/web/dist"
    page.mkdir(parents=True)
    (page / "index.html").write_text("<p>here is the page")
    with up(tmp_path, "--web") as running:
        address = f"127.0.0.1:{running.first_port + EDGE.port - LOG_PORT}"
        assert running.running["web"] == address
        assert EDGE.name not in running.running["endpoints"]
        assert f"page     http://{address}/" in running.said
        with urllib.request.urlopen(f"http://{address}/", timeout=10) as answer:
            assert answer.read() == b"<p>here is the page"
        died = running.running["pids"][EDGE.name]
        os.kill(died, signal.SIGKILL)
        running.wait_for("edge is back")
        assert check(address, EDGE.grpc_name, timeout_s=20) is None
        assert running.running["pids"][EDGE.name] != died
        assert running.end() == 0
        give_up_at = time.monotonic() + 20
        while listens(running.first_port + EDGE.port - LOG_PORT):
            assert time.monotonic() < give_up_at
            time.sleep(0.1)


def test_without_a_page_it_serves_calls_alone_and_says_so(tmp_path: Path):
    with up(tmp_path, "--web") as running:
        assert "no page: examples/web/dist is made by `make web`" in running.said
        assert check(running.running["web"], EDGE.grpc_name, timeout_s=20) is None
    with up(tmp_path) as running:
        assert running.running["web"] == ""
        assert not listens(running.first_port + EDGE.port - LOG_PORT)
