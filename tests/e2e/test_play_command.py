"""docs/play.md at a real terminal: each command that it shows is typed, some keys are pressed, and it ends well."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.arch.repository import ROOT, shell_lines
from tests.support.terminal import Terminal
from tests.support.up import stud, up

pytestmark = [pytest.mark.traced, pytest.mark.timeout(400)]

PAGE = [shlex.split(line)[1:] for line in shell_lines(ROOT / "docs/play.md") if "/stud " in line]
ALONE = [words for words in PAGE if words[0] == "play" and "--table" not in words]
QUICK = ["--think-ms", "0"]
LEAVE = "A hand is running"


def leave(terminal: Terminal) -> None:
    """Quit, out of a running hand or between two."""
    before = terminal.press("q")
    if terminal.wait_for(LEAVE, "leaving:", "you left with", "paid out", "replay ", after=before) == LEAVE:
        terminal.press("y")


def last_object(text: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(re.findall(r"\{\"table\".*\}", text)[-1])
    return value


def test_the_page_shows_both_commands():
    assert {words[0] for words in PAGE} == {"play", "watch"}
    assert len(ALONE) >= 3


@pytest.mark.parametrize("words", [words for words in ALONE if words != ["play", "--bots", "3"]], ids=" ".join)
def test_a_newcomer_plays_with_nothing_running_and_every_chip_is_there_afterwards(tmp_path: Path, words: list[str]):
    with Terminal(tmp_path, *words, *QUICK) as terminal:
        terminal.wait_for("third street")
        before = terminal.press("?")
        terminal.wait_for("D dealer button", after=before)
        terminal.press("?")
        leave(terminal)
        assert terminal.end() == 0, terminal.text[-2000:]
        assert "audit    every chip is accounted for, every hand verified" in terminal.text
        (data,) = (tmp_path / "var").iterdir()
        assert f"replay play --data {data.relative_to(tmp_path)}" in terminal.text
    for asked in (["audit"], ["verify"], ["replay", "play", "--print"]):
        assert stud(tmp_path, *asked, "--data", str(data)).exit_code == 0


def test_with_a_token_it_is_the_players_own_money_and_the_seat_may_be_kept(tmp_path: Path):
    with up(tmp_path) as running:
        running.wait_for("ready")
        opened = ["--preset", "william_hill", "--small-bet", "500", "--currency", "EUR", "--as", "olga"]
        assert running.asked("table", "create", "friday", *opened)[0] == 0
        token = tmp_path / "carol.token"
        token.write_text(running.asked("token", "carol")[1]["token"])
        seat = ["play", "--table", "friday", "--token-file", str(token)]
        with Terminal(tmp_path, *seat) as poor:
            assert poor.end() == 2
            assert "INSUFFICIENT_FUNDS" in poor.text
        paid = ["account", "deposit", "carol", "20000", "--currency", "EUR", "--reference", "hi", "--as", "carl"]
        assert running.asked(*paid)[0] == 0
        with Terminal(tmp_path, "play", "--table", "friday", "--bots", "1", "--account", "dan") as refused:
            assert "Deposits in EUR are made up." in refused.wait_for("Go on? [y/N]") + refused.text
            refused.press("n\n")
            assert refused.end() == 2
        bots = ["play", "--table", "friday", "--bots", "1", "--account", "dan", "--yes", *QUICK]
        with Terminal(tmp_path, *seat, "--json") as rich, Terminal(tmp_path, *bots) as others:
            rich.wait_for("third street")
            before = rich.press("q")
            if rich.wait_for("k keep the seat", "paid", after=before) != "paid":
                rich.press("k")
            assert rich.end() == 0, rich.text[-2000:]
            told = last_object(rich.text)
            assert (told["account"], told["made_up"]) == ("carol", 0)
            leave(others)
            assert others.end() == 0, others.text[-2000:]


def test_for_scripts_the_last_line_says_how_it_ended(tmp_path: Path):
    with Terminal(tmp_path, "play", "--bots", "1", "--json", "--data", "mine", "--account", "zoe", *QUICK) as terminal:
        terminal.wait_for("third street")
        leave(terminal)
        assert terminal.end() == 0
        told = last_object(terminal.text)
    assert (told["table"], told["account"], told["currency"], told["problems"]) == ("play", "zoe", "XTS", [])
    assert told["paid"] == 10_000 + told["net"]


def test_a_signal_ends_it_in_order_and_the_terminal_is_as_it_was(tmp_path: Path):
    with Terminal(tmp_path, "play", "--bots", "1", "--data", "mine", *QUICK) as terminal:
        terminal.wait_for("third street")
        terminal.process.terminate()
        assert terminal.end() != 0
        written = bytes(terminal._written)
        assert written.rfind(b"\x1b[?1049l") > written.rfind(b"\x1b[?1049h"), "the screen of before"
    assert stud(tmp_path, "audit", "--data", str(tmp_path / "mine")).exit_code == 0


def test_at_services_that_run_others_sit_down_and_look_on(tmp_path: Path):
    with up(tmp_path) as running:
        running.wait_for("ready")
        with Terminal(tmp_path, "play", "--bots", "3", "--clock", "0", *QUICK) as first:
            first.wait_for("third street")
            code, listed = running.asked("tables")
            (table,) = [line["table"] for line in listed["tables"]]
            assert (code, table.startswith("play-")) == (0, True)
            there = [[word if word != "TABLE" else table for word in words] for words in PAGE if "TABLE" in words]
            assert sorted(words[0] for words in there) == ["play", "watch"]
            playing, watching = sorted(there)
            with Terminal(tmp_path, *playing) as second, Terminal(tmp_path, *watching, size=(130, 30)) as third:
                second.wait_for("+ chips")
                third.wait_for("bob")
                assert "hero" in third.text
                third.press("q")
                assert third.end() == 0, third.text[-2000:]
                assert "hands at" in third.text
                with Terminal(tmp_path, "watch", "nowhere") as nowhere:
                    assert nowhere.end() == 2
                    assert "UNKNOWN_TABLE" in nowhere.text
                leave(second)
                before = first.press("q")
                if first.wait_for(LEAVE, "leaving:", "paid out", after=before) == LEAVE:
                    first.press("y")
                assert second.end() == 0, second.text[-2000:]
                assert first.end() == 0, first.text[-2000:]
        assert running.asked("audit")[0] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["play"], "`stud play --bots 5` starts a system of its own"),
        (["play", "--bots", "2", "--table", "friday"], "so there is no table 'friday'"),
        (["play", "--bots", "2", "--ruleset", "omaha"], "want playnow or william_hill"),
        (["play", "--bots", "2"], "at a terminal, and here is none"),
        (["watch", "t-1"], "at a terminal, and here is none"),
        (["play", "--endpoints", "table=127.0.0.1:1"], "name a table with --table"),
        (["play", "--endpoints", "table=127.0.0.1:1", "--bots", "2", "--data", "x"], "leave it out"),
    ],
)
def test_what_cannot_be_played_says_what_could(tmp_path: Path, words: list[str], said: str):
    ended = stud(tmp_path, *words)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert said in " ".join(ended.stderr.split())
    assert not list(tmp_path.iterdir()), "nothing was started"
