"""The documents tell the truth: their Python runs against the real system, their commands work on its data."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from stud_cli.local.pid_file import write_running
from stud_cli.local.system import LocalSystem
from tests.support.doc_blocks import blocks
from tools.sources import syntax_tree

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
STUD = BIN / "stud"


WITHIN_S = 60.0


async def run_in(directory: Path, *words: str, **more: str) -> tuple[int, str]:
    return await run_within(WITHIN_S, directory, *words, **more)


async def run_within(seconds: float, directory: Path, *words: str, **more: str) -> tuple[int, str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("STUD_")}
    environment |= {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", **more}
    process = await asyncio.create_subprocess_exec(
        *words,
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
    )
    output, _ = await asyncio.wait_for(process.communicate(), seconds)
    return process.returncode or 0, output.decode()


async def generate(directory: Path) -> None:
    """Follow the page: code from the contract, by both of its ways."""
    shutil.copytree(ROOT / "protos", directory / "protos")
    (template,) = blocks("front-end.md", "yaml")
    (directory / "buf.gen.yaml").write_text(template)
    code, output = await run_in(directory, "buf", "generate")
    assert code == 0, output
    assert (directory / "gen/stud/table/v1/table_service_pb2.py").is_file()
    (command,) = [block for block in blocks("front-end.md", "sh") if "grpc_tools" in block]
    code, output = await run_in(directory, "bash", "-c", command)
    assert code == 0, output
    assert (directory / "gen/stud/table/v1/table_service_pb2_grpc.py").is_file()


def imported(source: str) -> set[str]:
    """What a program imports, `from a.b import c` as "a.b"."""
    found: set[str] = set()
    for node in ast.walk(syntax_tree(source)):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def test_the_front_end_examples_import_nothing_of_ours_but_generated_code() -> None:
    hand, lobby, typed = blocks("front-end.md", "python")
    for example, others in ((hand, {"grpc", "google.rpc"}), (lobby, {"grpc"}), (typed, {"stud_client"})):
        foreign = {name for name in imported(example) if name.partition(".")[0] not in sys.stdlib_module_names}
        assert {name for name in foreign if not name.startswith("stud.")} == others


async def test_the_front_end_example_plays_a_hand_and_the_operators_commands_agree(tmp_path: Path) -> None:
    example, lobby, typed = blocks("front-end.md", "python")
    (tmp_path / "example.py").write_text(example)
    (tmp_path / "lobby.py").write_text(lobby)
    (tmp_path / "typed.py").write_text(typed)
    await generate(tmp_path)
    async with LocalSystem(tmp_path / "var") as stack:
        write_running(tmp_path / "var" / "stud.json", stack.running())
        code, output = await run_in(tmp_path, sys.executable, "example.py", PYTHONPATH=str(tmp_path / "gen"))
        assert code == 0, output
        code, output = await run_in(tmp_path, sys.executable, "lobby.py", PYTHONPATH=str(tmp_path / "gen"))
        assert code == 0, output
        assert output.startswith("first: 0 play, buy in for 10000\naverage pot "), output
        assert "first: SEAT_STATUS_SEATED, 10000 chips\n" in output
        assert output.endswith("paid out: 10000\n")
        code, output = await run_in(tmp_path, sys.executable, "typed.py")
        assert code == 0, output
        assert output.startswith("in the lobby: first\n"), output
        assert output.endswith(" movements\n")
        for words in (("verify", "first"), ("audit", "--json"), ("replay", "first"), ("tables",), ("dead", "list")):
            code, output = await run_in(tmp_path, str(STUD), *words)
            assert code == 0, (words, output)
        code, output = await run_in(tmp_path, str(STUD), "replay", "first", "--index", "--json")
        account = json.loads(output.splitlines()[-1])["hands"][0]["players"][0]["account"]
        there = {
            "TABLE": "first",
            "PLAYER": account,
            "7": "1",
            "118": "8",
            "120": "9",
            "2026-03-31T21:05:00": "2099-01-01",
        }
        for line in "".join(blocks("replay.md", "sh")).splitlines():
            asked = [there.get(word, word) for word in shlex.split(line)[1:]]
            code, output = await run_in(tmp_path, str(STUD), *asked)
            assert code == 0, (asked, output)
            assert ("--as" in asked) == (f"{account} has [" in output), (asked, output)
        code, output = await run_in(tmp_path, str(STUD), "tables", "--json")
        assert '"table":"first"' in output
        # From elsewhere, as the compose file's container for operators does.
        elsewhere = {f"STUD_{name.upper()}_ENDPOINT": address for name, address in stack.endpoints.items()}
        (tmp_path / "elsewhere").mkdir()
        code, output = await run_in(
            tmp_path / "elsewhere", str(STUD), "tables", "--json", STUD_KEYS_DIR=str(stack.keys_dir), **elsewhere
        )
        assert (code, '"table":"first"' in output) == (0, True), output
