"""The documents tell the truth: their Python runs against the real system, their commands work on its data."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from stud_cli.stack import Stack, write_running

ROOT = Path(__file__).resolve().parents[2]
STUD = Path(sys.executable).with_name("stud")


def python_blocks(document: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / document).read_text(), re.DOTALL)


async def run_in(directory: Path, *words: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *words,
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={key: value for key, value in os.environ.items() if not key.startswith("STUD_")},
    )
    output, _ = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode or 0, output.decode()


@pytest.mark.xdist_group("system")
async def test_the_front_end_example_plays_a_hand_and_the_operators_commands_agree(tmp_path: Path) -> None:
    (example,) = python_blocks("front-end.md")
    (tmp_path / "example.py").write_text(example)
    async with Stack(tmp_path / "var") as stack:
        write_running(tmp_path / "var" / "stud.json", stack.running())
        code, output = await run_in(tmp_path, sys.executable, "example.py")
        assert code == 0, output
        for words in (("verify", "first"), ("audit", "--json"), ("replay", "first"), ("tables",), ("dead", "list")):
            code, output = await run_in(tmp_path, str(STUD), *words)
            assert code == 0, (words, output)
        code, output = await run_in(tmp_path, str(STUD), "tables", "--json")
        assert '"table":"first"' in output


def test_one_bet_names_ten_stops_that_exist() -> None:
    text = (ROOT / "docs" / "one-bet.md").read_text()
    assert len(re.findall(r"^\d+\. \*\*", text, re.MULTILINE)) == 10
    links = re.findall(r"\]\((\.\./[^)#]+)", text)
    assert len(links) >= 10
    assert [link for link in links if not (ROOT / "docs" / link).resolve().is_file()] == []
