"""TLS of a real service with certificates of a real CA: who gets in, who is told what, and what a renewal does."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stud.table.v1 import table_service_pb2 as pb
from stud_cli.local.pid_file import write_running
from stud_cli.local.ports import Port
from stud_cli.local.system import LocalSystem
from stud_client import Endpoints, StudClient, StudError
from stud_client.tls import Tls
from tests.support.certificates import Issued, issue
from tests.support.runtime import token
from tests.support.runtime_process import Running, log_url, start
from tests.support.scrape import scrape, value_of
from tests.support.valkey import fresh_server, session_server, valkey_server

__all__ = ["fresh_server", "log_url", "session_server", "start", "valkey_server"]

OURS, OTHERS = issue("the casino's CA"), issue("another CA")


class Files(NamedTuple):
    """What a service is given, and what a client needs."""

    folder: Path
    certificate: Path
    key: Path
    ca: Path

    def environ(self, *, mutual: bool = False) -> dict[str, str]:
        given = {"STUD_TLS_CERTIFICATE": str(self.certificate), "STUD_TLS_KEY": str(self.key)}
        return {**given, "STUD_TLS_CLIENT_CA": str(self.ca)} if mutual else given

    def client(self, issued: Issued | None = None, ca: Issued | None = None, name: str = "") -> Tls:
        trusted = (ca or OURS).write(self.folder, "trusted")[0]
        if issued is None:
            return Tls(trusted, name=name)
        return Tls(trusted, *issued.write(self.folder, "client"), name)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    folder = tmp_path / "tls"
    return Files(folder, *issue("table", OURS).write(folder, "table"), OURS.write(folder, "ca")[0])


async def ask(service: Running, tls: Tls, scheme: str = "grpcs://") -> str:
    """Who the service says we are; raises StudError."""
    endpoints = Endpoints(table=f"{scheme}{service.address}").trusting(tls)
    async with StudClient(endpoints, token(), timeout_s=5) as client:
        return (await client.tables.GetTable(pb.GetTableRequest(table="t"))).update.table


async def refused(service: Running, tls: Tls, scheme: str = "grpcs://") -> str:
    with pytest.raises(StudError) as caught:
        await ask(service, tls, scheme)
    assert caught.value.reason == "UNAVAILABLE"
    return caught.value.text


async def test_tls(start: Callable[..., Running], log_url: str, files: Files):
    """One service, everybody who may knock."""
    port = Port()
    service = start(log_url, STUD_METRICS_PORT=str(port.number), **files.environ())
    service.until_serving()
    assert await ask(service, files.client()) == "t"
    assert await ask(service, files.client(issue("any", OTHERS))) == "t"  # nobody asked for it
    assert "no CA that is trusted here: set STUD_TLS_CA" in await refused(service, files.client(ca=OTHERS))
    assert "another name: set STUD_TLS_NAME" in await refused(service, files.client(name="wallet.casino.example"))
    assert "want grpcs:// in front of its address" in await refused(service, files.client(), scheme="")
    told = service.line("tls")
    assert told["client_certificates"] is False
    assert 29 < told["days_left"] <= 30
    assert 29 < value_of(scrape(port.address), "stud_certificate_days_left") <= 30


async def test_a_client_of_tls_at_a_service_without_it(start: Callable[..., Running], log_url: str, files: Files):
    service = start(log_url)
    service.until_serving()
    assert "it speaks plain text, not TLS" in await refused(service, files.client())
    assert await ask(service, files.client(), scheme="grpc://") == "t"


async def test_clients_show_a_certificate_of_the_right_ca_or_stay_outside(
    start: Callable[..., Running], log_url: str, files: Files
):
    service = start(log_url, **files.environ(mutual=True))
    service.until_serving()  # the health check shows the service's own
    assert await ask(service, files.client(issue("lobby", OURS))) == "t"
    for bad in (None, issue("lobby", OTHERS), issue("lobby", OURS, days=-1)):
        assert "it wants a client certificate of its own CA" in await refused(service, files.client(bad))
    assert "want grpcs://" in await refused(service, files.client(), scheme="")
    assert service.line("tls")["client_certificates"] is True


async def test_renewed_certificates_are_taken_without_a_restart(
    start: Callable[..., Running], log_url: str, files: Files
):
    """An expired one at first; then half of a renewal, which changes nothing; then all of it. What is open stays so."""
    issue("table", OURS, days=-1).write(files.folder, "table")
    service = start(log_url, STUD_METRICS_PORT="0", **files.environ())
    service.until(lambda: "started" in service.events())
    assert "its certificate has expired" in await refused(service, files.client())
    assert service.line("certificate_expired")["level"] == "error"
    renewed = issue("table", OURS, days=90)
    files.key.write_bytes(renewed.key_pem)
    assert "is not the key of the first certificate" in service.line("trust_is_stale")["why"]
    assert "its certificate has expired" in await refused(service, files.client())
    files.certificate.write_bytes(renewed.pem)
    assert service.line("certificate_renewed")["days_left"] > 80
    endpoints = Endpoints(table=f"grpcs://{service.address}").trusting(files.client())
    async with StudClient(endpoints, token(), timeout_s=5) as client, client.watch("t"):
        assert (await client.tables.GetTable(pb.GetTableRequest(table="t"))).update.table == "t"
        OTHERS.write(files.folder, "ca")
        issue("table", OTHERS, days=60).write(files.folder, "table")
        service.until(lambda: service.events().count("certificate_renewed") == 2)
        assert (await client.tables.GetTable(pb.GetTableRequest(table="t"))).update.table == "t"
    assert await ask(service, files.client(ca=OTHERS)) == "t"
    assert "no CA that is trusted here" in await refused(service, files.client())
    assert service.stop() == 0


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        ({"STUD_TLS_KEY": None}, "want both"),
        ({"STUD_TLS_CERTIFICATE": None}, "want both"),
        ({"STUD_TLS_CERTIFICATE": "/nonexistent"}, "STUD_TLS_CERTIFICATE: /nonexistent cannot be read"),
        ({"STUD_TLS_KEY": "ca.pem"}, "STUD_TLS_KEY: .* cannot be read as a private key"),
        ({"STUD_TLS_CERTIFICATE": "table.key"}, "holds no certificate"),
        ({"STUD_TLS_CERTIFICATE": "ca.pem"}, "is not the key of the first certificate"),
        ({"STUD_TLS_CLIENT_CA": "table.key"}, "STUD_TLS_CLIENT_CA: .* holds no certificate"),
    ],
)
def test_files_that_cannot_be_meant_keep_it_from_starting(
    start: Callable[..., Running], files: Files, spoil: dict[str, str | None], problem: str
):
    environ: dict[str, Any] = {**files.environ(mutual=True), **spoil}
    for name, value in list(environ.items()):
        if value is None:
            del environ[name]
        elif not value.startswith("/"):
            environ[name] = str(files.folder / value)
    service = start("redis://127.0.0.1:1/0", **environ)
    assert service.end() == 2
    assert re.search(problem, service.line("cannot_start")["why"])


async def test_whoever_fails_in_the_handshake_writes_no_lines(
    start: Callable[..., Running], log_url: str, files: Files
):
    """They need no token, and the log is on a disk."""
    service = start(log_url, **files.environ(mutual=True))
    service.until_serving()
    before = service.err.read_text()
    for _ in range(2):
        await refused(service, files.client(issue("lobby", OTHERS)))
    assert service.err.read_text() == before


async def test_a_whole_system_speaks_tls_and_its_commands_find_it(tmp_path: Path, files: Files):
    """Clients must show certificates; the services' own, here for another name than 127.0.0.1, do for commands."""
    issue("stud", OURS, names=("stud.casino.example",)).write(files.folder, "table")
    system = LocalSystem(tmp_path / "var", environ={**files.environ(mutual=True), "STUD_METRICS_PORT": "0"})
    async with system:
        assert {address.partition("//")[0] for address in system.endpoints.values()} == {"grpcs:"}
        write_running(tmp_path / "var/stud.json", system.running())
        found = await stud(tmp_path, "tables", "--json")
        assert (found.returncode, found.stdout) == (0, '{"tables":[]}\n')
        at = ",".join(f"{name}={address}" for name, address in system.endpoints.items())
        other = OTHERS.write(files.folder, "other")[0]
        wrong = await stud(tmp_path, "--tls-ca", str(other), "tables", "--endpoints", at)
        assert wrong.returncode == 2
        assert "no CA that is trusted here" in " ".join(wrong.stderr.split())
        plain = await stud(tmp_path, "tables", "--endpoints", at.replace("grpcs://", ""))
        assert plain.returncode == 2
        assert "want grpcs://" in " ".join(plain.stderr.split())
        missing = await stud(tmp_path, "--tls-key", "/nonexistent", "tables")
        assert missing.returncode == 2
        assert "STUD_TLS_CLIENT_CERTIFICATE and STUD_TLS_CLIENT_KEY: want both" in " ".join(missing.stderr.split())


async def stud(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a command beside `var/stud.json`."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("STUD_", "GRPC_"))}
    call = [str(Path(sys.executable).parent / "stud"), *words]
    return await asyncio.to_thread(
        subprocess.run, call, cwd=folder, env={**environ, "COLUMNS": "200"}, capture_output=True, text=True, check=False
    )
