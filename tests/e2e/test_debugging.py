"""The way from an incident to a failing test, gone as docs/debugging.md says, word by word."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stud.table.v1 import table_service_pb2 as pb
from stud_cli.local.pid_file import write_running
from stud_client import StudError
from tests.e2e.test_docs import BIN, ROOT, run_in
from tests.support import system_faulty
from tests.support.doc_blocks import blocks
from tests.support.playing import Table
from tests.support.system import Live, LiveStack


def commands() -> list[str]:
    """The page's commands in their order, as they are typed."""
    return [line for block in blocks("debugging.md", "sh") for line in block.splitlines()]


async def typed(directory: Path, command: str, **filled: str) -> tuple[int, str]:
    for name, value in filled.items():
        command = command.replace(name, value)
    command = command.replace(".venv/bin/", f"{BIN}/")
    return await run_in(directory, "bash", "-c", command, PYTHONPATH=str(ROOT))


async def test_an_incident_leads_to_a_test_that_fails_for_the_same_reason(tmp_path: Path):
    grep, replay, events, verify, keep, run, *_ = commands()
    async with LiveStack(tmp_path / "var", modules={"table": "tests.support.system_faulty"}) as stack:
        live = Live(stack)
        await live.open()
        write_running(tmp_path / "var" / "stud.json", stack.running())
        try:
            async with await Table.begin(live, "faulty", 2) as table:
                _, mine = await table.turn()
                account = next(name for name, player in table.players.items() if player.last.mine.seat == mine.seat)
                with pytest.raises(StudError) as refused:
                    await table.players[account].client.tables.SitOut(pb.SitOutRequest(table=table.id))
                assert refused.value.reason == "INTERNAL"

                code, output = await typed(tmp_path, grep, INCIDENT=refused.value.metadata["incident"])
                assert code == 0
                (line,) = map(json.loads, output.splitlines())
                assert (line["event"], line["table"], line["account"]) == ("command_failed", table.id, account)
                assert line["exception"][0]["frames"][-1]["name"] == "sit_out"

                filled = {"TABLE": table.id, "VERSION": str(line["version"])}
                for command, shown in [(replay, account), (events, f"{line['version']} "), (verify, ""), (keep, "")]:
                    code, output = await typed(tmp_path, command, **filled)
                    assert (code, shown in output) == (0, True), (command, output)
        finally:
            await live.close()

    (test,) = blocks("debugging.md", "python")
    (tmp_path / "test_incident.py").write_text(test.replace("alice", account))
    code, output = await typed(tmp_path, f"{run} -p no:cacheprovider -p tests.support.system_faulty")
    assert (code, system_faulty.TEXT in output) == (1, True), output
    code, output = await typed(tmp_path, f"{run} -p no:cacheprovider")  # as after it was mended
    assert code == 0, output
