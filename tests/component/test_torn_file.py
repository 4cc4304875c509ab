"""A file that ends in the middle of a write: only that write is cut, and nothing before a copy is kept."""

import asyncio
import re
import subprocess
from pathlib import Path

import pytest

from stud_cli.local.log_server import EmbeddedServer, EmbeddedServerError, TornFileError, find_server
from stud_cli.local.torn_file import Cut, cut_torn_tail
from tests.support.valkey import ENVIRON, command

LAST = b"*3\r\n$3\r\nSET\r\n$4\r\nlast\r\n$5\r\nvalue\r\n"
TRANSACTION = b"*1\r\n$5\r\nMULTI\r\n" + LAST


@pytest.fixture
def server(tmp_path: Path) -> EmbeddedServer:
    """Stopped, with one key that was acknowledged."""

    async def filled() -> EmbeddedServer:
        async with EmbeddedServer(tmp_path / "redis", environ=ENVIRON) as made:
            await command(made.url, "SET", "key", "value")
        return made

    return asyncio.run(filled())


@pytest.fixture
def file(server: EmbeddedServer) -> Path:
    (found,) = (server.data_dir / "appendonlydir").glob("*.incr.aof")
    return found


async def cut(server: EmbeddedServer) -> Cut:
    with pytest.raises(TornFileError) as torn:
        await server.start()
    return await cut_torn_tail(torn.value, server.data_dir)


@pytest.mark.parametrize("tail", [LAST[:1], LAST[:-1], LAST[:19], TRANSACTION, TRANSACTION[:-4]])
async def test_a_write_that_never_ended_is_cut_and_a_copy_kept(server: EmbeddedServer, file: Path, tail: bytes):
    whole = file.read_bytes()
    file.write_bytes(whole + tail)
    done = await cut(server)
    assert done == Cut(file, len(tail), server.data_dir / f"{file.name}.torn-1")
    assert (file.read_bytes(), done.copy.read_bytes()) == (whole, whole + tail)
    async with server:
        assert await command(server.url, "GET", "key") == b"value"
        assert await command(server.url, "GET", "last") is None
        found = await command(server.url, "CONFIG", "GET", "aof-load-truncated")
        assert found == {b"aof-load-truncated": b"no"}


async def test_the_program_that_operators_are_told_to_use_cuts_the_same(
    server: EmbeddedServer, file: Path, tmp_path: Path
):
    """Also where the base file is one of Valkey's own, which it cannot read."""
    async with server:
        await command(server.url, "BGREWRITEAOF")
        while file.exists():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        await command(server.url, "SET", "key", "value")
    (file,) = (server.data_dir / "appendonlydir").glob("*.incr.aof")
    whole = file.read_bytes()
    file.write_bytes(whole + TRANSACTION)
    page = (Path(__file__).parents[2] / "docs" / "runbook.md").read_text()
    (told,) = re.findall(r"^\$ redis-check-aof --fix (/data/appendonlydir/\S+)$", page, re.MULTILINE)
    named = re.sub(r"aof\.\d+\.", f"aof.{file.name.split('.')[2]}.", Path(told).name)
    checker = tmp_path / "valkey-check-aof"  # the server is that too, under this name
    checker.symlink_to(find_server(ENVIRON["PATH"]))
    process = await asyncio.create_subprocess_exec(
        *(checker, "--fix", file.parent / named), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    said, _ = await process.communicate(b"y\n")
    assert process.returncode == 0, said
    assert f"with {len(TRANSACTION)} bytes".encode() in said
    assert file.read_bytes() == whole
    async with server:
        assert await command(server.url, "GET", "key") == b"value"


async def test_no_copy_takes_the_place_of_another(server: EmbeddedServer, file: Path):
    copies = []
    for tail in (LAST[:5], LAST[:9]):
        file.write_bytes(file.read_bytes() + tail)
        copies.append((await cut(server)).copy)
    assert [path.suffix for path in copies] == [".torn-1", ".torn-2"]
    assert [path.read_bytes()[-5:] for path in copies] == [LAST[:5], LAST[4:9]]


async def test_where_no_copy_can_be_kept_nothing_is_cut(
    server: EmbeddedServer, file: Path, monkeypatch: pytest.MonkeyPatch
):
    torn = file.read_bytes() + LAST[:7]
    file.write_bytes(torn)
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        await cut(server)
    assert file.read_bytes() == torn
    assert list(server.data_dir.glob("*.torn-*")) == []


async def test_a_server_that_still_runs_there_is_not_cut_under(server: EmbeddedServer, file: Path):
    async with server:
        with pytest.raises(EmbeddedServerError, match="in use by another server"):
            await cut_torn_tail(TornFileError(file), server.data_dir)
