"""What operators do with the documents alone: a table from a file, bots, a pause, a void hand, a planted dispute that
two decide, a cash-out that is held, a correction, an audit; all of it by `stud`, at a system of this machine and at one
that runs as docker-compose.yml has it.
"""

from __future__ import annotations

import asyncio
import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from stud_cli.local.pid_file import write_running
from tests.component.acl_cases import SERVICES, url_of
from tests.support.confined import healthy, log_server, made_keys, mount_keys, started
from tests.support.system import LiveStack

pytestmark = [pytest.mark.process, pytest.mark.timeout(600)]

STUD = Path(sys.executable).with_name("stud")
CHEAT = "tests.support.system_cheat"
PLANTED = {"STUD_TEST_SERVICE": "table", "PYTHONPATH": os.pathsep.join(sys.path)}
WITHIN_S = 90.0

FILE = """
table = "cheat-award-1"
name = "A table that cheats"
currency = "EUR"
preset = "william_hill"
small_bet = 500

[rules]
max_raises = 4
min_buy_in = "20x"
max_buy_in = "none"
"""


class Shell:
    """A directory in which somebody types `stud …`."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self.folder = folder
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("STUD_", "PYTHON"))}
        self._environ = {**ours, **environ, "COLUMNS": "200"}

    def run(self, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [STUD, *words],
            cwd=self.folder,
            env={**self._environ, **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )

    def ask(self, *words: str) -> dict[str, Any]:
        """The object on the last line of a command that does what it should."""
        done = self.run(*words, "--json")
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        value: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return value

    def refused(self, *words: str, **environ: str) -> str:
        done = self.run(*words, **environ)
        assert (done.returncode, done.stdout) == (2, ""), (words, done.stdout, done.stderr)
        return done.stderr

    def answering(self, answer: str, *words: str) -> tuple[int, str]:
        """At a terminal, with what is typed there: the exit code, and what was asked."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [STUD, *words],
            cwd=self.folder,
            env=self._environ,
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        os.write(ours, answer.encode())
        _, asked = process.communicate(timeout=WITHIN_S)
        for end in (ours, theirs):
            os.close(end)
        return process.returncode, asked

    def until(self, what: Callable[[dict[str, Any]], Any], *words: str) -> dict[str, Any]:
        """Ask until the answer is so."""
        give_up_at = time.monotonic() + WITHIN_S
        while not what(answer := self.ask(*words)):
            assert time.monotonic() < give_up_at, (words, answer)
            time.sleep(1)
        return answer

    @contextmanager
    def bots(self, table: str, *words: str, think_ms: int = 0) -> Iterator[subprocess.Popen[bytes]]:
        """Bots that play beside; whoever uses them has seen to it that they can leave."""
        all_words = ["bots", table, "--players", "3", "--yes", "--think-ms", str(think_ms), *words]
        with (self.folder / f"{table}.bots").open("w") as said:
            process = subprocess.Popen([STUD, *all_words], cwd=self.folder, env=self._environ, stdout=said, stderr=said)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.wait(WITHIN_S)


def a_table_is_opened(stud: Shell) -> None:
    (stud.folder / "table.toml").write_text(FILE)
    page = stud.run("table", "create", "--from", "table.toml", "--dry-run")
    assert (page.returncode, "one bet and four raises" in page.stdout) == (0, True), page.stderr
    assert stud.ask("tables") == {"tables": []}  # nothing was opened
    made = stud.ask("table", "create", "--from", "table.toml", "--as", "olga", "--request-id", "r-1")
    assert (made["table"], made["request_id"]) == ("cheat-award-1", "r-1")
    assert stud.ask("table", "create", "--from", "table.toml", "--as", "olga", "--request-id", "r-1") == made
    assert "TABLE_EXISTS" in stud.refused("table", "create", "--from", "table.toml", "--as", "olga")
    wrong = stud.refused(
        *("table", "create", "t-9", "--preset", "playnow", "--currency", "ZZZ", "--small-bet", "1", "--as", "olga"),
        *("--set", "max_raises=99"),
    )
    for what in ("3 things are wrong", "currency: 'ZZZ' is not served", "small_bet: lies in", "max_raises: lies in"):
        assert what in wrong


def a_dispute_is_decided_by_two(stud: Shell) -> None:
    table = "cheat-award-1"
    with stud.bots(table, "--hands", "1", "--passive") as bots:
        view = stud.until(lambda told: told["view"].get("paused"), "table", "show", table)["view"]
        assert view["paused"] == "HAND_DISPUTED"
        assert "TABLE_PAUSED" in stud.refused("table", "resume", table, "--as", "olga")
        found = stud.ask("hand", "show", table, "1")
        assert (found["adjudication"], found["verdicts"][0].keys() >= {"disputed"}) == ("disputed", True)
        assert "WRONG_AWARD" in {finding["code"] for finding in found["findings"]}
        assert "card" not in json.dumps(found).lower()

        resolve = ["hand", "resolve", table, "1", "--by", "referee", "--reason", "it's in the log"]
        assert "say --yes" in stud.refused(*resolve, "--as", "olga")
        assert stud.ask("proposals")["proposals"] == []
        dealt_in = found["verdicts"][0]["disputed"]["table_postings"][0]["account"]
        assert "OWN_INTEREST" in stud.refused(*resolve, "--as", dealt_in, "--yes")
        assert stud.ask(*resolve, "--as", "olga", "--yes")["decided"] is False
        assert "SECOND_OPERATOR_REQUIRED" in stud.refused(*resolve, "--as", "olga", "--yes")
        agreed = agree(stud, "hand", "otto", by="olga")
        assert agreed["decided"] is True
        assert stud.ask("proposals")["proposals"] == []
        assert "ALREADY_DECIDED" in stud.refused(*resolve, "--as", "olga", "--yes")
        assert bots.wait(WITHIN_S) == 0
    closed(stud, table)


def agree(stud: Shell, kind: str, name: str, *, by: str) -> dict[str, Any]:
    """Run the command that `stud proposals` prints, as a second operator."""
    (waiting,) = stud.ask("proposals")["proposals"]
    assert (waiting["kind"], waiting["operator"]) == (kind, by)
    words = [name if word == "NAME" else word for word in waiting["agree"]]
    shown = stud.run("proposals").stdout
    assert f"proposed by {by}" in shown
    assert words[0] == "stud"
    return stud.ask(*words[1:], "--yes")


def closed(stud: Shell, table: str) -> None:
    stud.ask("table", "close", table, "--as", "olga", "--yes")
    stud.until(lambda told: told["view"]["life"] == "TABLE_LIFE_CLOSED", "table", "show", table)


def a_held_cash_out_is_paid_by_two(stud: Shell) -> None:
    table = "cheat-claim-1"
    opened = ["--preset", "playnow", "--currency", "EUR", "--small-bet", "500", "--hand-pause-ms", "5000"]
    stud.ask("table", "create", table, *opened, "--as", "olga")
    with stud.bots(table, "--hands", "1") as bots:
        (held,) = stud.until(lambda told: told["held"], "cashout", "list", "--table", table)["held"]
        assert (held["table"], held["sitting_no"], held["waits_for"]) == (table, 1, "")
        assert held["claim"] == held["escrow"] + 1_000
        assert stud.ask("account", "show", held["account"], "--currency", "EUR")["escrows"][0]["held"] is True
        assert bots.wait(WITHIN_S) == 0
        amount = str(held["escrow"])
        resolve = ["cashout", "resolve", table, "1", amount, "--reason", "claim is not what was won"]
        assert "OWN_INTEREST" in stud.refused(*resolve, "--as", held["account"], "--yes")
        assert stud.ask(*resolve, "--as", "olga", "--yes")["decided"] is False
        assert agree(stud, "cash-out", "otto", by="olga")["decided"] is True
        assert stud.ask("cashout", "list") == {"held": []}
        assert "NOTHING_BLOCKED" in stud.refused(*resolve, "--as", "olga", "--yes")
    closed(stud, table)


def a_table_stands_and_a_hand_is_void(stud: Shell) -> None:
    table = "friday"
    opened = ["--preset", "playnow", "--currency", "EUR", "--small-bet", "500", "--hand-pause-ms", "500"]
    stud.ask("table", "create", table, *opened, "--as", "olga")
    with stud.bots(table, "--passive", think_ms=700):
        view = stud.until(lambda told: told["view"].get("street"), "table", "show", table)["view"]
        hand_no = view["hand_no"]
        voided = stud.ask("hand", "void", table, hand_no, "--reason", "a card was seen", "--as", "olga", "--yes")
        assert str(voided["hand_no"]) == hand_no
        assert "HAND_ALREADY_ENDED" in (
            said := stud.refused("hand", "void", table, hand_no, "--reason", "again", "--as", "olga", "--yes")
        ) or ("NO_HAND" in said)
        stud.ask("table", "pause", table, "--reason", "fire drill", "--as", "olga")
        assert stud.ask("table", "show", table)["view"]["paused"] == "fire drill"
        assert "OWN_INTEREST" in stud.refused("table", "resume", table, "--as", f"bot-1-{table}")
        stud.ask("table", "resume", table, "--as", "olga")
        stud.ask("table", "drain", table, "--as", "olga")
    verdict = stud.until(lambda told: told["verdicts"], "hand", "show", table, hand_no)
    assert verdict["adjudication"] == "verified"
    code, asked = stud.answering("n\n", "table", "close", table, "--as", "olga")
    assert (code, "This cannot be undone. Go on? [y/N]" in asked, "nothing was done" in asked) == (2, True, True)
    assert stud.ask("table", "show", table)["view"]["life"] == "TABLE_LIFE_DRAINING"
    assert stud.answering("y\n", "table", "close", table, "--as", "olga")[0] == 0
    stud.until(lambda told: told["view"]["life"] == "TABLE_LIFE_CLOSED", "table", "show", table)


def money_is_booked_corrected_and_counted(stud: Shell) -> None:
    euro = ["--currency", "EUR"]
    stud.ask("account", "open", "ada", *euro, "--as", "carl")
    wire = ["account", "deposit", "ada", "200000", *euro, "--reference", "wire 4711", "--as", "carl"]
    booked = stud.ask(*wire, "--request-id", "r-1")
    assert (booked["balance"], stud.ask(*wire, "--request-id", "r-1")) == (200_000, booked)
    stud.ask("account", "open", "carl", *euro, "--as", "olga")
    assert "OWN_INTEREST" in stud.refused("account", "deposit", "carl", "5", *euro, "--as", "carl")
    frozen = stud.ask("account", "freeze", "ada", *euro, "--reason", "asked by the bank", "--as", "olga")
    assert frozen["account"] == "ada"
    assert "ACCOUNT_FROZEN" in stud.refused("account", "withdraw", "ada", "5", *euro, "--as", "carl")
    assert stud.ask("account", "show", "ada", *euro)["frozen"] is True
    stud.ask("account", "unfreeze", "ada", *euro, "--reason", "cleared", "--as", "olga")
    adjust = ["account", "adjust", "player:ada=-500", "house:cashier=500", *euro, "--reference", "ticket 12"]
    assert stud.ask(*adjust, "--as", "olga", "--yes")["decided"] is False
    assert agree(stud, "adjustment", "otto", by="olga")["decided"] is True
    assert stud.ask("account", "withdraw", "ada", "199500", *euro, "--as", "carl")["balance"] == 0
    told = stud.ask("account", "transfers", "ada", *euro, "--limit", "2")
    assert ([entry["kind"] for entry in told["transfers"]], told["more"]) == (["Deposited", "Adjusted"], True)
    audit = stud.ask("audit")
    assert (audit["ok"], audit["ledger_sum"], audit["disputed"]) == (True, 0, 0)
    assert stud.ask("verify")["ok"] is True


def a_day(stud: Shell) -> None:
    a_table_is_opened(stud)
    a_dispute_is_decided_by_two(stud)
    a_held_cash_out_is_paid_by_two(stud)
    a_table_stands_and_a_hand_is_void(stud)  # every step at both: what compose gives is not what `stud up` gives
    money_is_booked_corrected_and_counted(stud)


def what_nobody_answers_is_asked_again(stud: Shell, wallet: int) -> None:
    """The wallet is frozen while it is asked: the command that is then printed does it once, whatever became of it."""
    euro = ["--currency", "EUR"]
    stud.ask("account", "open", "dora", *euro, "--as", "carl")
    os.kill(wallet, signal.SIGSTOP)
    try:
        said = stud.refused("account", "deposit", "dora", "700", *euro, "--reference", "it's late", "--as", "carl")
    finally:
        os.kill(wallet, signal.SIGCONT)
    assert "nobody knows whether it was done" in said
    again = shlex.split(said.splitlines()[-1])
    assert again[-2] == "--request-id"
    for _ in range(2):
        assert stud.ask(*again[1:])["balance"] == 700
    assert stud.ask("account", "show", "dora", *euro)["balance"] == 700


def whoever_has_only_a_token(desk: Shell, endpoints: Mapping[str, str]) -> None:
    """They have no key: what they are given is a token, for a while."""
    (desk.folder / "elsewhere").mkdir()
    stud = Shell(desk.folder / "elsewhere", endpoints)
    made = desk.run("token", "olga", "--role", "operator", "--ttl", "600")
    (stud.folder / "olga.token").write_text(made.stdout)
    opened = ["--preset", "playnow", "--currency", "EUR", "--small-bet", "500"]
    assert stud.ask("table", "create", "by-token", *opened, "--token-file", "olga.token")["table"] == "by-token"
    given = {"STUD_TOKEN": made.stdout.strip()}
    assert stud.run("table", "pause", "by-token", "--reason", "why", **given).returncode == 0
    assert "ROLE_NOT_ALLOWED" in stud.refused(
        "account", "deposit", "ada", "5", "--currency", "EUR", "--token-file", "olga.token"
    )
    assert "speaks for olga, not for otto" in stud.refused("proposals", "--token-file", "olga.token", "--as", "otto")
    assert "there is no jwt-private.pem" in stud.refused("table", "resume", "by-token", "--as", "olga")
    short = desk.run("token", "olga", "--role", "operator", "--ttl", "1").stdout.strip()
    time.sleep(1.5)
    assert "expired at" in stud.refused("table", "resume", "by-token", STUD_TOKEN=short)


async def test_operators_have_their_day_at_a_system_of_this_machine(tmp_path: Path):
    async with LiveStack(tmp_path / "var", modules={"table": CHEAT}, only={"table": PLANTED}) as stack:
        write_running(tmp_path / "var" / "stud.json", stack.running())
        stud = Shell(tmp_path, {})
        await asyncio.to_thread(a_day, stud)
        await asyncio.to_thread(what_nobody_answers_is_asked_again, stud, stack.processes["wallet"].pid)


async def test_operators_have_their_day_with_what_the_compose_file_gives_them(tmp_path: Path):
    """They have what the container for operators has: all keys, the log's operator, and where the services are."""
    all_keys = made_keys(tmp_path)
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(log_server(tmp_path))
        environ = {"STUD_REDIS_URL": url_of("operator", server.port), "STUD_KEYS_DIR": str(all_keys / "keys")}
        for name in SERVICES:
            planted: dict[str, Any] = {"module": CHEAT, "more": PLANTED} if name == "table" else {}
            keys = mount_keys(name, all_keys, tmp_path / name)
            output = tmp_path / f"{name}.output"
            address = await stack.enter_async_context(started(name, server, keys, output, **planted))
            await healthy(address, output)
            environ[f"STUD_{name.upper()}_ENDPOINT"] = address
        (tmp_path / "desk").mkdir()
        desk = Shell(tmp_path / "desk", environ)
        await asyncio.to_thread(a_day, desk)
        endpoints = {name: value for name, value in environ.items() if name.endswith("_ENDPOINT")}
        await asyncio.to_thread(whoever_has_only_a_token, desk, endpoints)
