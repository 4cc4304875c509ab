"""The edge as a process of its own: settings, signals, metrics, and why it cannot start."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from stud_cli.local.ports import Port
from stud_service.healthcheck import check
from stud_service.metrics import METRICS
from tests.support.scrape import leaks, scrape, told, value_of

WITHIN_S = 60


class Running:
    def __init__(self, folder: Path, *words: str, **environ: str) -> None:
        self.log = folder / "edge.log"
        ours = {name: value for name, value in os.environ.items() if not name.startswith("STUD_")}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "edge_service", *words], cwd=folder, env={**ours, **environ}, stderr=log
            )

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def until(self, event: str) -> dict[str, Any]:
        give_up_at = time.monotonic() + WITHIN_S
        while time.monotonic() < give_up_at:
            found = [line for line in self.lines() if line["event"] == event]
            if found:
                return found[0]
            assert self.process.poll() in {None, 0}, self.lines()
            time.sleep(0.05)
        raise AssertionError(self.lines())

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(WITHIN_S)


@contextmanager
def started(folder: Path, *words: str, **environ: str) -> Iterator[Running]:
    running = Running(folder, *words, **{"STUD_METRICS_PORT": "0", **environ})
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
            running.process.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_told_to_stop(tmp_path: Path, number: int):
    port, metrics = Port(), Port()
    words = {"STUD_METRICS_PORT": str(metrics.number), "STUD_EDGE_SEND_WITHIN_MS": "500"}
    with started(tmp_path, "--listen", f"127.0.0.1:{port.number}", **words) as edge:
        assert edge.until("started")["port"] == port.number
        assert check(f"127.0.0.1:{port.number}", "stud.edge.v1.EdgeService", timeout_s=20) is None
        text = scrape(f"127.0.0.1:{metrics.number}")
        families = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE stud_")}
        assert families == told("edge")
        assert {metric.name for metric in METRICS if metric.of == ("edge",)} <= families
        assert value_of(text, "stud_serving") == 1
        assert leaks(text, []) == []
        assert edge.end(number) == 0
        assert [line["event"] for line in edge.lines()][-2:] == ["stopping", "stopped"]
        assert {line["service"] for line in edge.lines()} == {"edge"}


def test_a_kept_connection_does_not_hold_up_the_stop(tmp_path: Path):
    port = Port()
    words = {"STUD_STOP_GRACE_MS": "300"}
    with started(tmp_path, "--listen", f"127.0.0.1:{port.number}", **words) as edge, socket.socket() as idle:
        edge.until("started")
        idle.connect(("127.0.0.1", port.number))
        idle.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        assert idle.recv(64).startswith(b"HTTP/1.1 404")
        assert edge.end() == 0


@pytest.mark.parametrize(
    ("environ", "why"),
    [
        ({"STUD_EDGE_ORIGINS": "here"}, "STUD_EDGE_ORIGINS: want origins"),
        ({"STUD_TABLE_ENDPOINT": "nowhere"}, "STUD_TABLE_ENDPOINT"),
        ({"STUD_EDGE_TLS_CERT": "no.pem", "STUD_EDGE_TLS_KEY": "no.pem"}, "no certificate and its key in PEM"),
        ({"STUD_TABLE_ENDPOINT": "grpcs://t:1", "STUD_TLS_CA": "none.pem"}, "STUD_TLS_CA: none.pem cannot be read"),
        ({"STUD_EDGE_LISTEN": "192.0.2.1:7109"}, "Set STUD_EDGE_LISTEN"),
        ({"STUD_EDGE_LISTEN": "127.0.0.1:0", "STUD_METRICS_PORT": "1", "STUD_METRICS_HOST": "192.0.2.1"}, "metrics"),
    ],
)
def test_why_it_cannot_start_is_one_line(tmp_path: Path, environ: dict[str, str], why: str):
    (tmp_path / "no.pem").write_text("no certificate")
    with started(tmp_path, **environ) as edge:
        assert edge.process.wait(WITHIN_S) == 2
        (line,) = edge.lines()
        assert line["event"] == "cannot_start"
        assert why in line["why"]
