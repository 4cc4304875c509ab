"""Where the services of `stud up` tell Prometheus how they are."""

import asyncio
from pathlib import Path

import pytest

from stud_cli.local.system import LocalSystem, LocalSystemError
from stud_service.settings import load_settings


@pytest.fixture(autouse=True)
def _not_set(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("STUD_METRICS_HOST", raising=False)
    monkeypatch.delenv("STUD_METRICS_PORT", raising=False)


@pytest.mark.parametrize(("host", "told"), [(None, "127.0.0.1"), ("0.0.0.0", "0.0.0.0"), ("::1", "[::1]")])
def test_the_host_is_heeded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, host: str | None, told: str):
    if host is not None:
        monkeypatch.setenv("STUD_METRICS_HOST", host)
    system = LocalSystem(tmp_path, first_port=7300)
    assert system.metrics["table"] == f"{told}:7311"
    settings = load_settings("table", environ=system._environment("table"))
    assert (settings.metrics_host, settings.metrics_port) == (told.strip("[]"), 7311)


def test_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("STUD_METRICS_PORT", "0")
    system = LocalSystem(tmp_path, first_port=7300)
    assert system.metrics == {}
    assert load_settings("table", environ=system._environment("table")).metrics_port == 0


@pytest.mark.parametrize("port", ["7111", "x", "00", "\udcff"])
def test_one_port_is_not_for_four(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, port: str):
    monkeypatch.setenv("STUD_METRICS_PORT", port)
    with pytest.raises(LocalSystemError, match="STUD_METRICS_PORT names one port"):
        asyncio.run(LocalSystem(tmp_path / "data", first_port=7300).start())
    assert not (tmp_path / "data").exists()
