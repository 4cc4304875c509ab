"""Operators' commands at a house that answers: what they say to people and to scripts, and what is refused."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from stud_cli.main import app
from stud_cli.operate import desk as desks
from stud_client import StudError
from stud_core.ledger import events as ev
from tests.support.open_house import OpenHouse, event_log
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem
from tests.support.wallet import Floor, buy_in, cash_out, disputed

EURO = ["--currency", "EUR"]
OPENED = ["--preset", "playnow", *EURO, "--small-bet", "500"]


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("STUD_")]:
        monkeypatch.delenv(name)


class Desk:
    """Commands at a house."""

    def __init__(self, house: OpenHouse) -> None:
        self.house = house

    def run(self, *words: str, env: dict[str, str] | None = None) -> Result:
        return CliRunner().invoke(app, list(words), env={**self.house.environ, "COLUMNS": "200", **(env or {})})

    def ask(self, *words: str) -> dict[str, Any]:
        done = self.run(*words, "--json")
        assert done.exit_code == 0, (words, done.stderr, done.exception)
        value: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return value

    def shows(self, *words: str) -> str:
        done = self.run(*words)
        assert done.exit_code == 0, (words, done.stderr, done.exception)
        return done.stdout

    def refused(self, *words: str) -> str:
        done = self.run(*words)
        assert (done.exit_code, done.stdout) == (2, ""), (words, done.stdout)
        return " ".join(done.stderr.split())


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenHouse]:
    with OpenHouse(tmp_path_factory.mktemp("house")) as house:
        yield house


@pytest.fixture
def desk(house: OpenHouse) -> Desk:
    return Desk(house)


# ------------------------------------------------------------------- tables


def test_a_table_from_its_opening_to_its_end(desk: Desk):
    made = desk.ask("table", "create", "t-1", *OPENED, "--set", "max_raises=4", "--as", "olga", "--request-id", "r-1")
    assert (made["table"], made["request_id"], made["config"]["ruleset"]["max_raises"]) == ("t-1", "r-1", 4)
    assert "t-1 is open" in desk.shows("table", "create", "t-1", *OPENED, "--set", "max_raises=4", "--as", "olga",
                                       "--request-id", "r-1")  # fmt: skip
    assert "REQUEST_ID_REUSED" in desk.refused("table", "create", "t-1", *OPENED, "--as", "olga", "--request-id", "r-1")
    assert "TABLE_EXISTS" in desk.refused("table", "create", "t-1", *OPENED, "--as", "olga")
    assert [line["table"] for line in desk.ask("tables")["tables"] if line["table"] == "t-1"] == ["t-1"]
    assert "The cap" in desk.shows("rules", "--table", "t-1")
    for words, said in (
        (["pause", "t-1", "--reason", "fire drill"], "t-1 is paused: the running hand goes on, none follows"),
        (["resume", "t-1"], "t-1 goes on"),
        (["drain", "t-1"], "t-1 is drained: the running hand is its last one"),
    ):
        assert desk.shows("table", *words, "--as", "olga").strip() == said
    sent = desk.ask("table", "message", "t-1", "a break", "--as", "olga", "--request-id", "m-1")
    assert (sent["accounts"], sent["watching"], sent["request_id"]) == (0, 0, "m-1")
    again = desk.ask("table", "message", "t-1", "a break", "--as", "olga", "--request-id", "m-1")
    assert again["message_no"] == sent["message_no"]
    said = desk.shows("account", "message", "ada", "your papers", "--hours", "1", "--as", "olga")
    assert said.strip() == "sent to 1 account, of which 0 see it now"
    shown = desk.ask("table", "show", "t-1")
    assert (shown["view"]["life"], shown["version"] > 3) == ("TABLE_LIFE_DRAINING", True)
    assert "waiting: DRAINING" in desk.shows("table", "show", "t-1")
    closed = desk.ask("table", "close", "t-1", "--as", "olga", "--yes")
    assert set(closed) == {"table", "version", "request_id"}
    assert "closes" in desk.shows(
        "table", "close", "t-1", "--as", "olga", "--yes", "--request-id", closed["request_id"]
    )
    assert "UNKNOWN_TABLE" in desk.refused("table", "show", "nowhere")


def test_the_service_tells_everything_that_is_wrong_at_once(desk: Desk):
    words = ["--preset", "playnow", "--currency", "ZZZ", "--small-bet", "1", "--set", "max_raises=99"]
    said = desk.refused("table", "create", "t-1", *words, "--as", "olga")
    assert "UNKNOWN_CURRENCY: 3 things are wrong" in said
    for what in ("currency: 'ZZZ' is not served", "small_bet: lies in 2..", "max_raises: lies in 1..10"):
        assert what in said


def test_roles_and_keys_that_do_not_fit_are_told(desk: Desk, tmp_path: Path):
    desk.ask("table", "create", "roles", *OPENED, "--as", "olga")
    player = json.loads(desk.run("token", "ada", "--json").stdout)["token"]
    (tmp_path / "ada.token").write_text(player)
    said = desk.refused("table", "pause", "roles", "--reason", "why", "--token-file", "ada.token")
    assert "ROLE_NOT_ALLOWED" in said
    assert "(asked as ada)" in said
    assert desk.ask("table", "show", "roles", "--token-file", "ada.token")["table"] == "roles"
    other = desk.run("table", "show", "roles", env={"STUD_KEYS_DIR": str(made_elsewhere(tmp_path))})
    assert "the token is not of this system" in " ".join(other.stderr.split())


def made_elsewhere(folder: Path) -> Path:
    CliRunner().invoke(app, ["token", "eve"], env={"STUD_KEYS_DIR": str(folder / "elsewhere")})
    return folder / "elsewhere"


def test_a_shell_completes_the_tables_of_the_house(desk: Desk):
    desk.ask("table", "create", "completed", *OPENED, "--as", "olga")
    env = {"_STUD_COMPLETE": "complete_bash", "COMP_WORDS": "stud table pause comp", "COMP_CWORD": "3"}
    shown = CliRunner().invoke(app, [], env={**desk.house.environ, **env}, prog_name="stud")
    assert shown.stdout.split() == ["completed"]


# ------------------------------------------------------------------- hands


def test_a_running_hand_is_shown_and_void(desk: Desk):
    async def begin(system: MemorySystem) -> None:
        game = Game(system, "running")
        await game.begin()
        await game.until_turn()

    desk.house.do(begin)
    assert "it has not ended" in desk.shows("hand", "show", "running", "1")
    assert "OWN_INTEREST" in desk.refused("table", "pause", "running", "--reason", "why", "--as", "ada")
    assert "UNKNOWN_HAND" in desk.refused("hand", "show", "running", "9")
    voided = desk.ask("hand", "void", "running", "--reason", "a card was seen", "--as", "olga", "--yes")
    assert (voided["table"], voided["hand_no"]) == ("running", 1)
    assert "say --yes" in desk.refused("hand", "void", "running", "1", "--reason", "why", "--as", "olga")


def test_a_void_whose_answer_was_lost_is_asked_again_for_the_same_hand(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    """Later another hand runs: the printed command must not void that one."""
    games: list[Game] = []

    async def begin(system: MemorySystem) -> None:
        games.append(Game(system, "lost"))
        await games[0].begin()
        await games[0].until_turn()

    async def go_on(_: MemorySystem) -> None:
        await games[0].until_turn(hand_no=2)

    decide = desks.Desk.decide

    async def lost(self: Any, call: Any, request: Any) -> Any:
        async def cut(asked: Any) -> Any:
            await call(asked)
            raise StudError("OUTCOME_UNKNOWN", "the answer was lost", {})

        return await decide(self, cut, request)

    desk.house.do(begin)
    with monkeypatch.context() as cut:
        cut.setattr(desks.Desk, "decide", lost)
        said = desk.run("hand", "void", "lost", "--reason", "a card was seen", "--as", "olga", "--yes").stderr
    again = shlex.split(said.splitlines()[-1])[1:]
    assert again[:4] == ["hand", "void", "lost", "1"]
    desk.house.do(go_on)
    assert desk.ask("table", "show", "lost")["view"]["hand_no"] == "2"
    first, second = desk.ask(*again), desk.ask(*again)
    assert (first, first["hand_no"]) == (second, 1)
    assert "it has not ended" in desk.shows("hand", "show", "lost", "2")


def test_a_hand_that_was_verified_is_shown_with_its_figures(desk: Desk):
    async def played(system: MemorySystem) -> None:
        game = Game(system, "played")
        await game.begin()
        await game.play(1)
        await game.operate(pause())

    desk.house.do(played)
    value = desk.ask("hand", "show", "played", "1")
    assert (value["adjudication"], value["findings"], len(value["verdicts"])) == ("verified", [], 1)
    shown = desk.shows("hand", "show", "played", "1")
    assert "the referee finds it right" in shown
    assert "Figures" in shown


def pause() -> Any:
    from stud.table.v1 import table_service_pb2 as pb

    return pb.PauseTableRequest(reason="enough")


@pytest.fixture(scope="module")
def court(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenHouse]:
    """A table whose first hand the referee's log has in dispute, before the referee could judge it."""

    async def dispute(system: MemorySystem) -> None:
        for name in ("wallet", "dealer", "table"):
            await system.start(name)
        game = Game(system)
        await game.begin()
        while game.table.ended_hand < 1:
            await game.step()
        await Floor(event_log(system)).judge(disputed("t-1", 1, (1, "ada", 5), (2, "bea", -5)))

    with OpenHouse(tmp_path_factory.mktemp("court"), prepare=dispute) as house:
        yield house


def test_two_operators_decide_a_dispute(court: OpenHouse, monkeypatch: pytest.MonkeyPatch):
    desk = Desk(court)
    assert "it is disputed" not in desk.shows("hand", "show", "t-1", "1")
    assert "disputed (WRONG_AWARD)" in desk.shows("hand", "show", "t-1", "1")
    resolve = ["hand", "resolve", "t-1", "1", "--by", "void", "--reason", "looked at"]
    assert "This proposes it; a second operator decides. This cannot be undone." in desk.refused(
        *resolve, "--as", "olga"
    )
    assert "OWN_INTEREST" in desk.refused(*resolve, "--as", "ada", "--yes")
    assert desk.ask(*resolve, "--as", "olga", "--yes")["decided"] is False
    assert "SECOND_OPERATOR_REQUIRED" in desk.refused(*resolve, "--as", "olga", "--yes")
    assert "This proposes it" in desk.refused(*resolve, "--as", "olga")  # their own proposal decides nothing
    (waiting,) = desk.ask("proposals")["proposals"]
    assert (waiting["kind"], waiting["operator"], waiting["reason"], waiting["counts"]) == (
        *("hand", "olga", "looked at", None),
    )
    assert waiting["agree"] == ["stud", *resolve, "--as", "NAME"]
    assert waiting["waiting_s"] >= 0
    shown = desk.shows("proposals")
    assert "hand: hand 1 of t-1 by void" in shown
    assert "hand resolve t-1 1 --by void --reason 'looked at' --as NAME" in shown
    assert "olga proposes to decide it" in desk.shows("hand", "show", "t-1", "1")
    assert "olga proposed it" in (said := desk.refused(*resolve, "--as", "otto"))
    assert "ago, so this decides it" in said
    decided = desk.shows(*resolve, "--as", "otto", "--yes")
    assert "hand 1 of t-1 is decided by giving everybody back what they had before it" in decided
    assert "nothing waits for a second operator" in desk.shows("proposals")
    assert "olga and otto decided it" in desk.shows("hand", "show", "t-1", "1")


# ------------------------------------------------------------------- money


@pytest.fixture
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenHouse]:
    """A wallet with a cash-out that is held: ann's, whose table claims 30 too little."""
    with OpenHouse(tmp_path_factory.mktemp("bank"), "wallet", "rules") as house:
        desk = Desk(house)
        for account in ("ann", "bob"):
            desk.ask("account", "open", account, *EURO, "--as", "carl")
            desk.ask("account", "deposit", account, "1000", *EURO, "--as", "carl")

        async def hold(system: MemorySystem) -> None:
            floor = Floor(event_log(system))
            await floor.say("t-1", buy_in(1, "ann", 100))
            await floor.wrote(ev.BuyInFunded)
            await floor.say("t-1", cash_out(1, "ann", 70))
            await floor.wrote(ev.CashOutBlocked)

        house.do(hold)
        yield house


def test_two_operators_pay_a_held_cash_out(bank: OpenHouse):
    desk = Desk(bank)
    assert desk.ask("cashout", "list", "--currency", "EUR") == {
        "held": [
            {
                "currency": "EUR",
                "table": "t-1",
                "sitting_no": 1,
                "account": "ann",
                "claim": 70,
                "escrow": 100,
                "waits_for": "",
            }
        ]
    }
    shown = desk.shows("cashout", "list", "--table", "t-1")
    assert all(words in shown for words in ("0.70 EUR", "1.00 EUR", "two operators"))
    assert "At tables" in desk.shows("account", "show", "ann", *EURO)
    resolve = ["cashout", "resolve", "t-1", "1", "90", "--reason", "seen", *EURO]
    said = desk.refused(*resolve, "--as", "olga")
    assert "The table claims 0.70 for ann, the escrow has 1.00. 0.90 EUR is paid for sitting 1 of t-1" in said
    assert "OWN_INTEREST" in desk.refused(*resolve, "--as", "ann", "--yes")
    assert "proposed" in desk.shows(*resolve, "--as", "olga", "--yes")
    (waiting,) = desk.ask("proposals", *EURO)["proposals"]
    assert (waiting["kind"], waiting["what"], waiting["counts"]) == ("cash-out", "0.90 EUR for sitting 1 of t-1", True)
    words = ["otto" if word == "NAME" else word for word in waiting["agree"][1:]]
    assert "sitting 1 of t-1 is paid 0.90 EUR" in desk.shows(*words, "--yes")
    assert desk.ask("cashout", "list") == {"held": []}
    assert "NOTHING_BLOCKED" in desk.refused(*resolve, "--as", "olga", "--yes")


def test_accounts_are_frozen_corrected_and_listed(bank: OpenHouse):
    desk = Desk(bank)
    assert "5.00 EUR came in" in desk.shows(
        "account", "deposit", "bob", "500", *EURO, "--reference", "wire", "--as", "carl"
    )
    assert "1.00 EUR went out" in desk.shows("account", "withdraw", "bob", "100", *EURO, "--as", "carl")
    assert "bob is frozen" in desk.shows("account", "freeze", "bob", *EURO, "--reason", "why", "--as", "olga")
    assert "frozen: no withdrawal, no buy-in" in desk.shows("account", "show", "bob", *EURO)
    assert "ACCOUNT_FROZEN" in desk.refused("account", "withdraw", "bob", "1", *EURO, "--as", "carl")
    assert "bob is free" in desk.shows("account", "unfreeze", "bob", *EURO, "--reason", "cleared", "--as", "olga")
    adjust = ["account", "adjust", "player:bob=-5", "house:cashier=5", *EURO, "--reference", "ticket 12"]
    assert "Book player:bob -0.05, house:cashier 0.05 EUR" in desk.refused(*adjust, "--as", "olga")
    assert "proposed" in desk.shows(*adjust, "--as", "olga", "--yes")
    (waiting,) = desk.ask("proposals")["proposals"]
    assert waiting["agree"] == ["stud", *adjust[:4], *EURO, "--reference", "ticket 12", "--as", "NAME"]
    assert "booked: player:bob -0.05, house:cashier 0.05 EUR" in desk.shows(*adjust, "--as", "otto", "--yes")
    said = "'ticket 12' was booked already, at version"
    assert said in desk.refused(*adjust, "--as", "otto")
    twice = desk.run("account", "adjust", *adjust[3:1:-1], *EURO, "--reference", "ticket 12 ", "--as", "otto", "--yes")
    assert (twice.exit_code, said in twice.stderr, "proposed" in twice.stdout) == (0, True, True)
    assert "booked already" not in desk.refused(*adjust[:-1], "ticket 13", "--as", "otto")
    assert "INVALID_ADJUSTMENT" in desk.refused(*adjust[:3], *adjust[4:], "--as", "olga", "--yes")
    assert "want LEDGER_ACCOUNT=AMOUNT" in desk.refused(
        "account", "adjust", "bob", *adjust[3:], "--as", "olga", "--yes"
    )
    told = desk.ask("account", "transfers", "bob", *EURO, "--limit", "2")
    assert ([entry["kind"] for entry in told["transfers"]], told["more"]) == (["Deposited", "Deposited"], True)
    shown = desk.shows("account", "transfers", "bob", *EURO, "--limit", "2")
    assert "there are more: --after" in shown
    assert "UNKNOWN_ACCOUNT" in desk.refused("account", "show", "nobody", *EURO)
    assert "UNKNOWN_CURRENCY" in desk.refused("account", "show", "bob", "--currency", "ZZZ")


# ------------------------------------------------------------------- bots


def test_bots_play_at_a_table_and_leave(desk: Desk):
    desk.ask("table", "create", "rehearsal", *OPENED, "--hand-pause-ms", "50", "--as", "olga")
    bots = ["bots", "rehearsal", "--players", "2", "--hands", "1", "--think-ms", "0"]
    assert "Deposits in EUR are made up for them. There is no terminal to ask at" in desk.refused(*bots)
    assert desk.ask(*bots, "--yes", "--passive") == {"table": "rehearsal", "bots": 2, "hands": 1}
    assert [seat.get("account", "") for seat in desk.ask("table", "show", "rehearsal")["view"]["seats"]] == [""] * 8
    assert "2 bots played 1 hands at rehearsal and left" in desk.shows(*bots, "--yes")
    assert "UNKNOWN_TABLE" in desk.refused("bots", "nowhere", "--yes")
    without = desk.run(*bots, "--yes", env={"STUD_KEYS_DIR": "nowhere"})
    assert "bots need the key that tokens are made with" in " ".join(without.stderr.split())


def test_the_demo_plays_at_a_house_that_is_there(desk: Desk):
    value = desk.ask("demo", "--running", "--hands", "1", "--players", "2")
    assert (value["hands"], value["verified"], value["disputed"], value["ledger_sum"]) == (2, 2, 0, 0)
    where = f"table={desk.house.address}"
    shown = desk.shows("demo", "--endpoints", where, "--hands", "1", "--players", "2", "--ruleset", "playnow")
    assert "won or lost" in shown
    assert "NO" not in shown.split("won or lost")[1]
