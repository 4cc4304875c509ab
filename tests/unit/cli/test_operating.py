"""Operators' commands before anybody is asked: what is typed and read, what is wrong with it, who asks, and whether
they are sure.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner, Result

from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_cli.main import app
from stud_cli.operate import desk as desks
from stud_cli.operate.common import Asked
from stud_cli.operate.completing import knobs, presets
from stud_cli.operate.identity import read_claims, span
from stud_cli.operate.knobs import KNOBS, WrongValue, value_of, wanted
from stud_cli.operate.opening import planned
from stud_core.house_rules import page
from stud_core.presets import PLAYNOW, WILLIAM_HILL, table_config
from stud_core.ruleset import BuyInLimit, HeadsUp
from stud_service.keyring import ensure_dev_keys
from stud_service.signing_keys import load_private_key
from stud_service.tokens import mint

NOBODY = ["--endpoints", "table=127.0.0.1:1,rules=127.0.0.1:1,wallet=127.0.0.1:1"]
GOOD: dict[str, Any] = {"table": "t-1", "preset": "playnow", "currency": "EUR", "small_bet": 500}
PAUSE = ["table", "pause", "t-1", "--reason", "a test"]
CLOSE = ["table", "close", "t-1", "--as", "olga"]


def run(*words: str, env: dict[str, str] | None = None, typed: str | None = None) -> Result:
    return CliRunner().invoke(app, list(words), env=env, input=typed)


def told(ended: Result) -> str:
    assert (ended.exit_code, ended.stdout) == (2, ""), ended.output
    return " ".join(ended.stderr.split())


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("STUD_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    ensure_dev_keys(tmp_path / "var/keys")
    return tmp_path / "var/keys"


# ------------------------------------------------------------------- knobs


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("max_raises", "4", 4),
        ("max_raises", 4, 4),
        ("heads_up", "Never", HeadsUp.NEVER),
        ("burns", "yes", True),
        ("burns", False, False),
        ("min_buy_in", "20x", BuyInLimit(small_bets=20)),
        ("min_buy_in", 5000, BuyInLimit(amount=5000)),
        ("min_buy_in", {"small_bets": 7}, BuyInLimit(small_bets=7)),
        ("max_buy_in", "none", None),
        ("rake_cap", "None", None),
        ("rake_cap", "300", 300),
        ("name", "friday rules", "friday rules"),
    ],
)
def test_what_people_write_for_a_knob(name: str, text: Any, value: Any):
    assert value_of(name, text) == value


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("max_raise", "4", "there is no such knob: did you mean max_raises?"),
        ("max_raises", "four", "want a whole number"),
        ("max_raises", 4.5, "want a whole number"),
        ("max_raises", "9" * 30, "want a whole number of at most 2147483647"),
        ("max_raises", str(2**31), "want a whole number of at most 2147483647"),
        ("burns", "perhaps", "want yes or no"),
        ("heads_up", "sometimes", "want never, two_remain_before_cap, round_start, hand_start"),
        ("min_buy_in", "none", "want an amount in minor units, such as 5000, or a number of small bets, such as 20x"),
        ("max_buy_in", "x", "or none"),
        ("min_buy_in", {"small_bets": "many"}, "such as 20x"),
    ],
)
def test_a_value_that_no_knob_has_is_told_with_what_would_be_right(name: str, text: Any, why: str):
    with pytest.raises(WrongValue) as wrong:
        value_of(name, text)
    assert why in str(wrong.value)


@pytest.mark.parametrize("knob", KNOBS)
@pytest.mark.parametrize("preset", [PLAYNOW, WILLIAM_HILL], ids=lambda preset: preset.name)
def test_every_knob_can_be_set_to_what_a_preset_has(knob: str, preset: Any):
    value = getattr(preset, knob)
    text: Any = getattr(value, "name", value)
    if isinstance(value, BuyInLimit):
        text = f"{value.small_bets}x"
    plan = planned(GOOD, {}, [f"{knob}={text}".replace("=None", "=none")], ["EUR"])
    assert plan.problems == []
    assert list(plan.request.override_fields) == [knob]


# ------------------------------------------------------------------- a table that is to be opened


def test_options_win_over_the_file_and_settings_over_its_knobs():
    file = {**GOOD, "ante": 25, "rules": {"max_raises": 5, "burns": False}}
    plan = planned({"table": "t-2", "ante": 30, "name": None}, file, ["max_raises=4"], ["EUR"])
    assert (plan.problems, plan.request.table, plan.request.ante) == ([], "t-2", 30)
    assert sorted(plan.request.override_fields) == ["burns", "max_raises"]
    assert plan.config is not None
    assert (plan.config.ruleset.max_raises, plan.config.ruleset.burns) == (4, False)


def test_the_dry_run_prints_what_players_will_read():
    shown = run("table", "create", "t-1", "--preset", "playnow", "--currency", "EUR", "--small-bet", "500", "--dry-run")
    assert shown.exit_code == 0, shown.stderr
    assert shown.stdout == page(table_config(PLAYNOW, table_id="t-1"))
    words = ["--preset", "playnow", "--currency", "EUR", "--small-bet", "500", "--set", "max_raises=5"]
    value = json.loads(run("table", "create", "t-1", *words, "--dry-run", "--json").stdout)
    assert (value["dry_run"], value["table"], value["ruleset"]) == (True, "t-1", "playnow")
    assert value["changed"]
    assert {"headline", "sections"} < value.keys()


def test_a_table_comes_from_a_file(tmp_path: Path):
    (tmp_path / "table.toml").write_text(
        'table = "t-1"\npreset = "william_hill"\ncurrency = "EUR"\nsmall_bet = 1000\n[rules]\nseats = 6\n'
    )
    shown = run("table", "create", "--from", "table.toml", "--dry-run")
    assert "Two to six players" in shown.stdout
    assert "10/20 EUR" in shown.stdout


WRONG_FILE = """
tabel = "t-1"
preset = "razz"
currency = "ZZZ"
small_bet = "five"
ante = 3.5
stacked = "yes"
name = 7
[rules]
max_raise = 4
burns = "perhaps"
max_raises = 99
"""


def test_everything_that_is_wrong_is_told_at_once(tmp_path: Path):
    (tmp_path / "wrong.toml").write_text(WRONG_FILE)
    words = ["--from", "wrong.toml", "--set", "heads_up=sometimes", "--set", "seats"]
    text = told(run("table", "create", *words, "--dry-run"))
    for why in (
        "tabel: a table has no such field: did you mean table?",
        "preset: there is no preset 'razz'",
        "currency: 'ZZZ' is not served",
        "small_bet: 'five': want a whole number",
        "ante: '3.5': want a whole number",
        "stacked: want true or false",
        "name: '7': want a text",
        "max_raise: there is no such knob: did you mean max_raises?",
        "burns: 'perhaps': want yes or no",
        "heads_up: 'sometimes': want never",
        "seats: want --set KNOB=VALUE",
        "table: want 1 to 64",
    ):
        assert why in text, why
    assert "12 things are wrong" in text  # none of them twice


def test_what_cannot_even_be_asked_for_is_told_without_asking():
    """There is nobody to ask, and no key: neither is looked for."""
    assert "preset: want one of playnow, william_hill" in told(run("table", "create", "t-1", "--small-bet", "500"))
    assert "small_bet: lies in 2.." in told(run("table", "create", "t-1", "--preset", "playnow", "--dry-run"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("= 7", "table.toml cannot be read (Invalid"),
        (None, "table.toml cannot be read (No such file or directory"),
        ("rules = 4", "rules: want a part of its own"),
    ],
)
def test_what_is_no_file_of_a_table(tmp_path: Path, text: str | None, why: str):
    if text is not None:
        (tmp_path / "table.toml").write_text(text)
    assert why in told(run("table", "create", "--from", "table.toml"))


# ------------------------------------------------------------------- who asks


def test_whoever_decides_has_a_name(keys: Path):
    assert "say who you are, since the log notes who decides" in told(run(*PAUSE))
    assert "UNAVAILABLE" in told(run("table", "show", "t-1", *NOBODY))  # who only looks need not be anybody
    for words, env in ((["--as", "olga"], {}), ([], {"STUD_AS": "olga"})):
        assert "UNAVAILABLE" in told(run(*PAUSE, *words, *NOBODY, env=env))


def test_without_key_and_token_nobody_can_ask():
    assert "there is no jwt-private.pem" in (said := told(run(*PAUSE, "--as", "olga")))
    assert "--token-file FILE or STUD_TOKEN" in said


def token(keys: Path, name: str, life_s: int) -> str:
    return mint(name, ["operator"], life_s, load_private_key(keys))


def test_a_token_that_has_expired_is_told_with_when(keys: Path, tmp_path: Path):
    (tmp_path / "olga.token").write_text(token(keys, "olga", -180) + "\n")
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(time.time() - 180))
    for words, env in ((["--token-file", "olga.token"], {}), ([], {"STUD_TOKEN": token(keys, "olga", -180)})):
        said = told(run(*PAUSE, *words, *NOBODY, env=env))
        assert f"expired at {when}" in said
        assert "UTC, 3 minutes ago: get a new one" in said
        assert "the token of olga" in said


def test_a_token_speaks_for_one_person(keys: Path):
    env = {"STUD_TOKEN": token(keys, "olga", 60)}
    assert "speaks for olga, not for otto" in told(run(*PAUSE, "--as", "otto", *NOBODY, env=env))
    assert "UNAVAILABLE" in told(run(*PAUSE, "--as", "olga", *NOBODY, env=env))


@pytest.mark.parametrize("text", ["", "no token", "a.b.c", "a.e30.c", "a.W10.c", "a." + "A" * 9 + ".c"])
def test_what_is_no_token(text: str, tmp_path: Path):
    (tmp_path / "token").write_text(text)
    assert read_claims(text) is None
    assert "holds no token" in told(run(*PAUSE, "--token-file", "token", *NOBODY))
    assert "cannot be read" in told(run(*PAUSE, "--token-file", "nowhere", *NOBODY))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "0 seconds"), (1, "1 second"), (59, "59 seconds"), (60, "1 minute"), (7200, "2 hours"), (90_000, "1 day")],
)
def test_a_span_is_told_in_its_greatest_unit(seconds: int, text: str):
    assert span(seconds) == text


def test_endpoints_are_named_or_told_how(keys: Path):
    said = told(run(*PAUSE, "--as", "olga", "--endpoints", "nonsense"))
    assert "want names of services and addresses" in said
    assert "which are" in told(run(*PAUSE, "--as", "olga", "--endpoints", "kitchen=127.0.0.1:1"))


# ------------------------------------------------------------------- whether they are sure


def test_without_a_terminal_nobody_is_sure(keys: Path):
    said = told(run(*CLOSE, *NOBODY))
    assert "This cannot be undone. There is no terminal to ask at: say --yes" in said
    assert "UNAVAILABLE" in told(run(*CLOSE, "--yes", *NOBODY))


@pytest.mark.parametrize(
    ("typed", "said"), [("n\n", "nothing was done"), ("\n", "nothing was done"), ("y\n", "UNAVAILABLE")]
)
def test_at_a_terminal_they_are_asked(keys: Path, monkeypatch: pytest.MonkeyPatch, typed: str, said: str):
    monkeypatch.setattr(desks, "at_a_terminal", lambda: True)
    text = told(run(*CLOSE, *NOBODY, typed=typed))
    assert "Close t-1: everybody is cashed out after the running hand. This cannot be undone. Go on?" in text
    assert said in text


# ------------------------------------------------------------------- when nobody knows


def test_an_unknown_outcome_is_told_with_the_command_that_asks_again(keys: Path):
    said = run("table", "pause", "t-1", "--reason", "it's late", "--as", "olga", *NOBODY).stderr
    lines = said.splitlines()
    assert "nobody knows whether it was done: ask again with the same request id, which does it once" in lines[-2]
    again = lines[-1]
    assert "table pause t-1 --reason 'it'\"'\"'s late' --as olga" in again
    assert " --request-id " in again
    own = run(*PAUSE, "--as", "olga", "--request-id", "r-7", *NOBODY).stderr.splitlines()[-1]
    assert own.count("--request-id") == 1
    assert "--request-id r-7" in own


def read(*words: str) -> Any:
    """The context of a command that was read, and not run."""
    under: Any = get_command(app)
    ctx = under.make_context("stud", list(words))
    for place, name in enumerate(words[:2], 1):
        under = under.get_command(ctx, name)
        ctx = under.make_context(name, list(words[place:]), parent=ctx)
    return ctx


async def test_a_call_that_is_interrupted_says_how_to_ask_again(capsys: pytest.CaptureFixture[str]):
    asked = asyncio.Event()

    async def never_answered(_: Any) -> None:
        asked.set()
        await asyncio.Event().wait()

    request = wallet.DepositRequest(account="ada")
    where = read("account", "deposit", "ada", "5", "--currency", "EUR")
    desk = desks.Desk(Asked(as_name="carl", request_id="r-7"), ["cashier"], decides=True, ctx=where)
    call = asyncio.create_task(desk.decide(never_answered, request))
    await asked.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert request.request_id == "r-7"
    said = capsys.readouterr().err
    assert "nobody knows whether it was done" in said
    assert "account deposit ada 5 --currency EUR --request-id r-7" in said


def test_what_only_looks_has_no_outcome(keys: Path):
    said = told(run("table", "show", "t-1", *NOBODY))
    assert "nobody knows" not in said
    assert "start the system with `stud up`" in said


# ------------------------------------------------------------------- names that complete


def completed(*words: str) -> list[str]:
    env = {"_STUD_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(["stud", *words]), "COMP_CWORD": str(len(words))}
    return CliRunner().invoke(app, [], env=env, prog_name="stud").stdout.split()


def test_a_shell_completes_commands_presets_and_knobs():
    assert completed("ta") == ["tables", "table"]
    assert completed("table", "re") == ["resume"]
    assert set(completed("cashout", "")) >= {"list", "resolve"}
    assert completed("table", "create", "t-1", "--preset", "p") == ["playnow"]
    assert completed("table", "create", "t-1", "--set", "max_r") == ["max_raises="]
    assert presets("") == ["playnow", "william_hill"]
    assert knobs("heads_up=n") == ["heads_up=never"]
    assert wanted("burns") == ["yes", "no"]
    assert wanted("no such knob") == []


def test_where_nobody_can_be_asked_no_table_is_offered(keys: Path):
    assert completed("table", "show", "") == []


def test_the_shell_is_taught(monkeypatch: pytest.MonkeyPatch):
    assert "--install-completion" in run("--help").stdout
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")  # else it is the shell of whoever runs this
    for shell in ("bash", "zsh", "fish"):
        shown = CliRunner().invoke(app, ["--show-completion", shell], prog_name="stud")
        assert (shown.exit_code, f"_STUD_COMPLETE=complete_{shell}" in shown.stdout) == (0, True), shown.output
