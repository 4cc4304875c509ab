"""The command that is printed where nobody knows what became of a call: it is the same call, whenever it runs."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from stud_cli.main import app
from stud_cli.operate import desk as desks
from stud_cli.operate.common import Asked
from stud_client import StudError
from stud_service.keyring import ensure_dev_keys

NOBODY = ["--endpoints", "table=127.0.0.1:1,rules=127.0.0.1:1,wallet=127.0.0.1:1"]
EURO = ["--currency", "EUR"]
WHY = ["--reason", "it's late; --yes"]


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("STUD_")]:
        monkeypatch.delenv(name)
    ensure_dev_keys(tmp_path / "var/keys")
    (tmp_path / "t.toml").write_text('currency = "EUR"\nsmall_bet = 500\n')


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Asked, dict[str, Any]]]:
    """What each command that runs has read of its words."""
    seen: list[tuple[Asked, dict[str, Any]]] = []
    answer = desks.Desk.answer

    async def noted(self: Any, work: Any, *words: Any, **given: Any) -> Any:
        seen.append((self._asked, given))
        return await answer(self, work, *words, **given)

    decide = desks.Desk.decide

    async def in_vain(self: Any, _: Any, request: Any) -> Any:
        async def unheard(_: Any) -> Any:
            raise StudError("UNAVAILABLE", "nobody listens")

        assert self.client is not None
        return await decide(self, unheard, request)

    monkeypatch.setattr(desks.Desk, "answer", noted)
    monkeypatch.setattr(desks.Desk, "decide", in_vain)
    return seen


DECIDE = [
    ["table", "create", "t-1", "--preset", "playnow", *EURO, "--small-bet", "500", "--set", "max_raises=4", "--set",
     "burns=yes", "--stacked"],
    ["table", "create", "t-1", "--from", "t.toml", "--preset=playnow", "--name", "-- a table --"],
    ["table", "pause", "t-1", *WHY],
    ["table", "resume", "--", "t-1"],
    ["table", "drain", "t-1"],
    ["table", "close", "-y", "t-1"],
    ["table", "message", "t-1", "a break at ten", "--hours", "2"],
    ["account", "message", "--", "ada", "-- your papers --"],
    ["hand", "void", "t-1", "7", *WHY, "--yes"],
    ["hand", "resolve", "t-1", "7", "--by", "referee", *WHY, "--yes"],
    ["cashout", "resolve", "t-1", "3", "12500", *WHY, *EURO, "--yes"],
    ["account", "open", "ada", *EURO],
    ["account", "freeze", "ada", *EURO, "--reason", "-5"],
    ["account", "unfreeze", "ada", *EURO, *WHY],
    ["account", "deposit", *EURO, "--reference", "wire 1", "--", "ada", "700"],
    ["account", "withdraw", *EURO, "--", "ada", "-5"],
    ["account", "adjust", *EURO, "--reference", "ticket", "--yes", "--", "player:ada=-5", "house:cashier=5"],
]  # fmt: skip


@pytest.mark.parametrize("words", DECIDE, ids=lambda words: " ".join(words[:2]))
@pytest.mark.parametrize(
    ("name", "as_env"), [([], False), (["--request-id=r 7"], True), (["--request-id", "r-7"], False)]
)
def test_every_printed_command_reads_the_same_and_has_the_id(
    read: list[tuple[Asked, dict[str, Any]]], words: list[str], name: list[str], *, as_env: bool
):
    own = [*NOBODY, *name, *([] if as_env else ["--as", "olga"])]
    first = CliRunner().invoke(app, [*words[:2], *own, *words[2:]], env={"STUD_AS": "olga"} if as_env else {})
    assert (first.exit_code, "nobody knows" in first.stderr) == (2, True), first.output
    again = shlex.split(first.stderr.splitlines()[-1])[1:]
    second = CliRunner().invoke(app, again)
    assert "nobody knows" in second.stderr, second.output
    (asked, given), (asked_again, given_again) = read
    assert given_again == given
    assert asked_again.request_id == (asked.request_id or asked_again.request_id) != ""
    assert asked_again == msgspec.structs.replace(asked, as_name="olga", request_id=asked_again.request_id)
    assert second.stderr.splitlines()[-1] == first.stderr.splitlines()[-1]


def test_every_command_that_decides_is_among_them():
    """So that a new one is tried too: those that have a request id."""
    found = set()
    root: Any = get_command(app)
    for group in ("table", "hand", "cashout", "account"):
        ctx = root.make_context("stud", [group, "show"])
        under = root.get_command(ctx, group)
        for name, command in under.commands.items():
            if any(parameter.name == "request_id" for parameter in command.params):
                found.add((group, name))
    assert found == {(words[0], words[1]) for words in DECIDE}
    assert len(found) > 10


def test_a_named_call_names_its_hand():
    words = ["hand", "void", "t-1", *WHY, "--yes", "--as", "olga", *NOBODY]
    said = CliRunner().invoke(app, [*words, "--request-id", "V1"])
    assert said.exit_code == 2
    assert "a call with --request-id names its hand" in " ".join(said.stderr.split())
