"""Every command explains itself and speaks to scripts; what cannot work says why and ends with 2."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import msgspec
import pytest
import typer
from typer.testing import CliRunner, Result

from stud_cli.local.pid_file import RunningSystem, read_running, write_running
from stud_cli.main import app


def commands(of: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command below one, with its name."""
    below = getattr(of, "commands", {})
    if not below or of.invoke_without_command:
        yield " ".join(path), of
    for name, command in below.items():
        yield from commands(command, (*path, name))


COMMANDS = dict(commands(typer.main.get_command(app)))


def run(*words: str, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(app, list(words), env=env)


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty directory, and no system that could be meant."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("STUD_")]:
        monkeypatch.delenv(name)


def test_there_are_the_commands_that_the_documents_promise():
    promised = (
        "up demo load load-compare load-merge load-html bench rules tables token hands replay verify audit adjudicate "
        "rehearse init dead-list dead-retry dead-discard table-create table-show table-pause table-resume table-drain "
        "table-close table-message account-message "
        "hand-show hand-void hand-resolve cashout-list cashout-resolve account-open account-show "
        "account-freeze account-unfreeze account-deposit account-withdraw account-adjust account-transfers bots "
        "proposals keys-show keys-rotate keys-revoke play watch"
    )
    assert set(COMMANDS) == {name.replace("-", " ") for name in promised.split()}


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_an_example_of_this_very_command(name: str):
    shown = run(*name.split(), "--help")
    assert shown.exit_code == 0
    assert f"Example: stud {name}" in " ".join(shown.output.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_speaks_to_scripts(name: str):
    assert "--json" in {option for parameter in COMMANDS[name].params for option in parameter.opts}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_and_argument_is_explained(name: str):
    for parameter in COMMANDS[name].params:
        assert getattr(parameter, "help", "told"), (name, parameter.name)


def test_nothing_asked_shows_the_commands():
    shown = run()
    assert all(name.split()[0] in shown.output for name in COMMANDS)


# ------------------------------------------------------------------- could not run


@pytest.mark.parametrize(
    "words", [["replay", "t-1"], ["verify"], ["audit"], ["dead", "list"], ["dead", "retry", "wallet", "t-1"]]
)
def test_without_a_log_it_says_how_to_name_one(words: list[str]):
    ended = run(*words, "--json")
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "--data DIR or STUD_REDIS_URL" in " ".join(ended.stderr.split())


def test_a_directory_without_a_log_is_none(tmp_path: Path):
    ended = run("audit", "--data", str(tmp_path))
    assert ended.exit_code == 2
    assert "there is no log in" in " ".join(ended.stderr.split())


@pytest.mark.parametrize("words", [["verify"], ["audit"], ["dead", "list"], ["replay", "t-1"]])
def test_a_server_that_is_not_there_cannot_be_read(words: list[str]):
    ended = run(*words, env={"STUD_REDIS_URL": "redis://127.0.0.1:1/0"})
    assert ended.exit_code == 2
    assert "cannot be read" in " ".join(ended.stderr.split())


def test_a_server_that_is_not_there_cannot_be_initialised():
    assert run("init", "--redis-url", "redis://127.0.0.1:1/0").exit_code == 2


def test_the_password_of_a_log_is_not_told():
    ended = run("audit", env={"STUD_REDIS_URL": "redis://operator:secret@127.0.0.1:1/0"})
    assert "redis://127.0.0.1:1/0 cannot be read" in " ".join(ended.stderr.split())
    assert "secret" not in ended.output


NO_URLS = ["notaurl", "http://somewhere", "redis://h:port", "redis://h:99999", "redis://[::1", "redis://h?what=1"]
URL_COMMANDS = [
    *(["audit"], ["verify"], ["replay", "t-1"], ["dead", "list"], ["dead", "retry", "wallet", "t-1"]),
    *(["dead", "discard", "wallet", "t-1"], ["up"], ["init"]),
]


@pytest.mark.parametrize("words", URL_COMMANDS)
def test_what_is_no_address_of_a_log_is_told_with_one_that_is(words: list[str]):
    for url in NO_URLS:
        ended = run(*words, "--json", env={"STUD_REDIS_URL": url})
        assert (ended.exit_code, ended.stdout) == (2, ""), url
        assert "want redis://[user:password@]host:port" in " ".join(ended.stderr.split())
        assert "Traceback" not in ended.stderr


def test_a_name_that_no_table_can_have():
    ended = run("dead", "discard", "wallet", "Not A Table")
    assert ended.exit_code == 2
    assert "table id" in ended.stderr


ASKING = [["tables"], ["rules", "--table", "t-1"], ["rehearse", "--endpoints", "hands.jsonl"]]


@pytest.mark.parametrize("words", ASKING)
def test_without_a_system_there_is_nobody_to_ask(words: list[str]):
    assert "there is no jwt-private.pem" in told_on_one_line(run(*words, "--json"))


GARBLED = ["garbage", "{}", "[]", '{"endpoints": 5}', "[" * 100_000, "\0", '{"endpoints": {}, "pid": -1}']


@pytest.mark.parametrize("words", [*ASKING, ["token", "alice"]])
def test_what_no_system_wrote_does_not_say_where_one_is(words: list[str]):
    run("token", "alice")  # makes the keys
    Path("var/stud.json").write_text("")
    for text in GARBLED[:-1] if words[0] != "token" else GARBLED:
        Path("var/stud.json").write_text(text)
        assert "var/stud.json: not what `stud up` writes" in told_on_one_line(run(*words, "--json")), text[:9]
    Path("var/stud.json").unlink()
    Path("var/stud.json").mkdir()
    assert "var/stud.json: not what `stud up` writes" in told_on_one_line(run(*words, "--json"))


def told_on_one_line(ended: Result) -> str:
    assert (ended.exit_code, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    return line


@pytest.mark.parametrize("words", [["tables"], ["rehearse", "--endpoints", "hands.jsonl"]])
def test_services_that_are_not_there_cannot_be_asked(words: list[str], tmp_path: Path):
    run("token", "alice")  # makes the keys
    (tmp_path / "hands.jsonl").write_text("")
    environ = {f"STUD_{name}_ENDPOINT": "127.0.0.1:1" for name in ("TABLE", "DEALER", "RULES", "WALLET")}
    ended = run(*words, env=environ)
    assert ended.exit_code == 2
    assert ended.stderr


def test_the_demo_plays_no_ruleset_that_it_does_not_know():
    ended = run("demo", "--ruleset", "razz")
    assert ended.exit_code == 2
    assert "want playnow or william_hill" in " ".join(ended.stderr.split())


def test_the_demo_wants_a_new_directory(tmp_path: Path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "file").touch()
    ended = run("demo", "--data", str(tmp_path / "data"))
    assert ended.exit_code == 2
    assert "name a new directory" in " ".join(ended.stderr.split())


def test_nothing_is_started_twice():
    write_running(Path("var/stud.json"), RunningSystem("redis://there", {}, "var", "var/keys", os.getpid(), {}))
    ended = run("up")
    assert ended.exit_code == 2
    assert f"already up (process {os.getpid()})" in " ".join(ended.stderr.split())


# ------------------------------------------------------------------- tokens


def claims(token: str) -> dict[str, Any]:
    value: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
    return value


def test_a_token_speaks_for_an_account():
    made = run("token", "alice")
    assert made.exit_code == 0
    told = claims(made.stdout.strip())
    assert (told["sub"], told["roles"]) == ("alice", ["player"])
    assert Path("var/keys").is_dir()


def test_a_token_may_have_several_roles_and_a_short_life():
    made = run("token", "olga", "--role", "operator", "--role", "auditor", "--ttl", "60", "--json")
    value = json.loads(made.stdout)
    assert (value["sub"], value["roles"]) == ("olga", ["operator", "auditor"])
    told = claims(value["token"])
    assert told["exp"] - told["iat"] == 60


def test_a_role_that_does_not_exist_is_refused():
    ended = run("token", "alice", "--role", "king")
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "unknown role king" in ended.stderr


WRONG_TOKENS = [
    (["a" * 65], "1 to 64"),
    (["a\nb"], "printable"),
    (["\udcff"], "printable"),
    *((["--", name], "account: want 1 to 64 letters, digits and _ . @ -") for name in ("a b", "Zoë", "-a", "a/b", "é")),
]


@pytest.mark.parametrize(("words", "told"), WRONG_TOKENS)
def test_a_token_that_no_service_takes_is_not_made(words: list[str], told: str):
    line = told_on_one_line(run("token", "--json", *words))
    assert "no service would take such a token" in line
    assert told in line
    assert run("token", "a" * 64).exit_code == 0


@pytest.mark.parametrize("role", ["operator", "cashier", "auditor", "service"])
def test_who_has_no_account_may_be_called_otherwise(role: str):
    assert run("token", "Zoë Smith", "--role", role).exit_code == 0


@pytest.mark.parametrize("seconds", ["31536001", "9" * 400], ids=["a year", "ages"])
def test_a_token_does_not_last_for_ever(seconds: str):
    assert "want --ttl 1 to 31536000" in told_on_one_line(run("token", "alice", "--ttl", seconds, "--json"))
    assert run("token", "alice", "--ttl", "31536000").exit_code == 0


def test_a_token_lasts_no_longer_than_services_take_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STUD_TOKEN_MAX_LIFE_S", "3600")
    made = claims(run("token", "alice").stdout.strip())
    assert made["exp"] - made["iat"] == 3600
    assert "want --ttl 1 to 3600 (STUD_TOKEN_MAX_LIFE_S)" in told_on_one_line(run("token", "alice", "--ttl", "3601"))
    monkeypatch.setenv("STUD_TOKEN_MAX_LIFE_S", "31536001")
    assert "STUD_TOKEN_MAX_LIFE_S" in told_on_one_line(run("token", "alice"))


def test_the_same_role_twice_is_one():
    assert claims(run("token", "olga", *["--role", "operator"] * 900).stdout.strip())["roles"] == ["operator"]


@pytest.mark.parametrize("place", ["/dev/null", "/proc/nope", "file"])
def test_where_no_keys_can_be_kept_no_token_is_made(place: str):
    Path("file").touch()
    line = told_on_one_line(run("token", "alice", "--json", env={"STUD_KEYS_DIR": place}))
    assert f"{place} cannot hold keys" in line
    assert "name a directory with STUD_KEYS_DIR" in line


@pytest.mark.parametrize("left", [True, False])
def test_what_is_no_key_is_named(left: bool):
    run("token", "alice")
    Path("var/keys/jwt-private.pem").write_text("no key")
    if not left:
        Path("var/keys/jwt-public.pem").unlink()
    for words in (["token", "alice"], ["up", "--port", "20000"]) if not left else (["token", "alice"],):
        assert "var/keys/jwt-private.pem: cannot be read as a private key" in told_on_one_line(run(*words, "--json"))


def test_the_token_of_a_running_system_is_made_with_its_keys(tmp_path: Path):
    keys = tmp_path / "elsewhere"
    write_running(Path("var/stud.json"), RunningSystem("redis://there", {}, "data", str(keys), os.getpid(), {}))
    assert run("token", "alice").exit_code == 0
    assert keys.is_dir()
    assert not Path("var/keys").exists()


# ------------------------------------------------------------------- what runs


def test_what_runs_is_read_back():
    running = RunningSystem("redis://there", {"table": "127.0.0.1:1"}, "data", "keys", os.getpid(), {"table": 7})
    write_running(Path("a/stud.json"), running)
    found = read_running(Path("a/stud.json"))
    assert found is not None
    assert msgspec.structs.replace(found, marks={}) == running


@pytest.mark.parametrize("text", [None, "{", '{"pid": 1}'])
def test_what_cannot_be_read_does_not_run(text: str | None):
    if text is not None:
        Path("stud.json").write_text(text)
    assert read_running(Path("stud.json")) is None


def test_what_has_ended_does_not_run():
    """No process has this number: it is above what any system gives."""
    write_running(Path("stud.json"), RunningSystem("redis://there", {}, "data", "keys", 2**22 + 1, {}))
    assert read_running(Path("stud.json")) is None
