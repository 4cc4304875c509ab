"""Where commands put things, and what they say where that is not possible: one line, exit code 2, nothing started."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner, Result

from stud_cli import output
from stud_cli.local import demo as demo_module
from stud_cli.local import up as up_module
from stud_cli.local.demo import _that_fit, new_directory
from stud_cli.local.pid_file import RunningSystem, mark_of, orphans, read_running, write_running
from stud_cli.local.system import LocalSystem, LocalSystemError
from stud_cli.main import app
from stud_cli.output import console
from tests.support.up import free_ports


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def one_line(ended: Result) -> str:
    assert (ended.exit_code, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith("error ")
    return line


@pytest.mark.parametrize("words", [("up", "--data"), ("demo", "--hands", "1", "--data")])
def test_a_file_is_no_data_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    for path in ("file", "file/below"):
        line = one_line(run(*words, path))
        assert f"{path} " in line
        assert "name another one" in line


def test_a_directory_with_something_in_it_is_not_played_in(tmp_path: Path):
    (tmp_path / "something").touch()
    assert "is not empty: name a new directory" in one_line(run("demo", "--data", str(tmp_path)))


def test_two_demos_at_once_have_two_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    made = {new_directory(None) for _ in range(5)}
    assert len(made) == 5
    assert all(path.is_dir() for path in made)


async def test_a_port_of_the_row_that_is_taken_is_named(tmp_path: Path):
    first = free_ports()
    with socket.create_server(("127.0.0.1", first + 2)):
        stack = LocalSystem(tmp_path, first_port=first)
        with pytest.raises(LocalSystemError, match=rf"port {first + 2} for dealer is in use: .* --port"):
            await stack.start()
        assert not stack.server.running


@pytest.mark.process
@pytest.mark.parametrize("build", ["this", "an earlier one"])
def test_services_that_outlived_their_starter_are_named(build: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(up_module, "ENDING_S", 0.1)
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "wallet_service"
    script.write_text("import sys; print(flush=True); sys.stdin.read()")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with subprocess.Popen([sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as wallet:
        assert wallet.stdin is not None
        assert wallet.stdout is not None
        wallet.stdout.readline()
        pids = {"wallet": wallet.pid, "table": ended.pid, "rules": os.getpid()}
        running = RunningSystem("redis://", {}, "var", "var/keys", ended.pid, pids)
        if build == "an earlier one":
            Path("var").mkdir()
            Path("var/stud.json").write_bytes(msgspec.json.encode(running))
        else:
            marks = {"up": "gone", "wallet": mark_of(wallet.pid), "rules": "of an earlier process"}
            write_running(Path("var/stud.json"), msgspec.structs.replace(running, marks=marks))
        assert read_running(Path("var/stud.json")) is None
        assert orphans(Path("var/stud.json")) == {"wallet": wallet.pid}
        line = one_line(run("up"))
        assert f"end them with `kill {wallet.pid}`" in line
        wallet.stdin.close()
    assert orphans(Path("var/stud.json")) == {}


@pytest.mark.process
@pytest.mark.parametrize("url", ["redis://127.0.0.1:7199/0", "redis://127.0.0.1:7198/0"])
def test_a_server_that_an_earlier_build_started_is_known_by_where_it_listens(url: str, tmp_path: Path):
    script = tmp_path / "script"
    script.write_text("import sys; print(flush=True); sys.stdin.read()")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    title = "valkey-server 127.0.0.1:7199"
    with subprocess.Popen(
        [sys.executable, str(script), title], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdout is not None
        server.stdout.readline()
        running = RunningSystem(url, {}, "var", "var/keys", ended.pid, {"redis": server.pid})
        (tmp_path / "a.json").write_bytes(msgspec.json.encode(running))
        assert orphans(tmp_path / "a.json") == ({"redis": server.pid} if "7199" in url else {})
        running.pids = {"redis": os.getpid()}
        (tmp_path / "b.json").write_bytes(msgspec.json.encode(running))
        assert orphans(tmp_path / "b.json") == {}
        server.communicate()


def test_the_services_of_a_living_starter_are_no_orphans(tmp_path: Path):
    running = RunningSystem("redis://", {}, "var", "var/keys", os.getpid(), {"wallet": os.getpid()})
    write_running(tmp_path / "stud.json", running)
    assert orphans(tmp_path / "stud.json") == {}
    marks = dict.fromkeys(("up", "wallet"), mark_of(os.getpid()))
    assert read_running(tmp_path / "stud.json") == msgspec.structs.replace(running, marks=marks)
    assert orphans(tmp_path / "nothing.json") == {}


@pytest.mark.process
@pytest.mark.parametrize("why", ["another one has the number", "after a restart of the machine", "an earlier build"])
def test_a_process_is_known_by_more_than_its_number(why: str, tmp_path: Path):
    path = tmp_path / "stud.json"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        boot, started = mark_of(stranger.pid).split()
        marks = {
            "another one has the number": {"up": mark_of(os.getpid())},
            "after a restart of the machine": {"up": f"0{boot[1:]}0 {started}"},
            "an earlier build": {},
        }[why]
        running = RunningSystem("redis://", {}, "var", "var/keys", stranger.pid, {"wallet": stranger.pid}, marks)
        path.write_bytes(msgspec.json.encode(running))
        assert (read_running(path), orphans(path)) == (None, {})
        stranger.communicate(b"\n")


@pytest.mark.process
@pytest.mark.parametrize("build", ["this", "an earlier one"])
def test_a_stud_up_that_was_killed_and_not_buried_yet_is_gone(build: str, tmp_path: Path):
    stud_up = tmp_path / "stud"
    stud_up.write_text("print('here', flush=True)\ninput()")
    path = tmp_path / "stud.json"
    words = [sys.executable, str(stud_up)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"here\n"  # a moment earlier its command line is empty
        marks = {"up": mark_of(process.pid)} if build == "this" else {}
        running = RunningSystem("redis://", {}, "var", "var/keys", process.pid, {}, marks)
        path.write_bytes(msgspec.json.encode(running))
        assert read_running(path) == running
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert read_running(path) is None


def test_a_token_speaks_for_somebody():
    assert "speak for nobody" in one_line(run("token", " "))


def test_printed_commands_work_in_the_shell_they_are_printed_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    beside = tmp_path / ".venv" / "bin" / "stud"
    beside.parent.mkdir(parents=True)
    beside.touch()
    monkeypatch.setattr(sys, "executable", str(beside.with_name("python")))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.chdir(tmp_path)
    assert output.command() == ".venv/bin/stud"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert output.command() == str(beside)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    assert output.command() == "stud"


def test_tables_take_turns_where_the_terminal_is_low(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(console, "_height", demo_module.TABLE_LINES * 2)
    assert _that_fit(["a", "b"], 0.0) == ["a", "b"]
    monkeypatch.setattr(console, "_height", demo_module.TABLE_LINES)
    seen = [_that_fit(["a", "b"], second * demo_module.TURN_S) for second in range(3)]
    assert seen == [["a"], ["b"], ["a"]]


@pytest.mark.parametrize("more", [("playnow",), ("--small-bet", "200"), ("--ante", "0")])
def test_a_table_has_its_own_rules_and_stakes(more: tuple[str, ...]):
    assert "want --table alone" in one_line(run("rules", "--table", "t-1", *more))
