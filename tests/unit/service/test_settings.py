"""One port and environment scheme."""

from importlib import metadata
from pathlib import Path

import pytest

from stud_service import settings as module
from stud_service.settings import ServiceSettings, SettingsError, load_settings, variables


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch):
    import os

    for name in list(os.environ):
        if name.startswith("STUD_"):
            monkeypatch.delenv(name)


def test_defaults():
    settings = load_settings("dealer")
    assert settings.listen == "127.0.0.1:7102"
    assert settings.redis_url == "redis://127.0.0.1:7100/0"
    assert settings.keys_dir == Path("var/keys")
    assert settings.currencies == ("EUR", "USD", "GBP", "CAD", "XTS")
    assert (settings.allow_volatile, settings.allow_stacked_decks) == (False, False)
    assert settings.build


def test_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STUD_CURRENCIES", " XTS, EUR ,XTS")
    monkeypatch.setenv("STUD_ALLOW_STACKED_DECKS", "0")
    monkeypatch.setenv("STUD_ALLOW_VOLATILE", "1")
    monkeypatch.setenv("STUD_LOG_LEVEL", "DEBUG")
    monkeypatch.setenv("STUD_BUILD", "b-7")
    settings = load_settings("table")
    assert settings.currencies == ("XTS", "EUR")
    assert (settings.allow_volatile, settings.allow_stacked_decks, settings.log_level) == (True, False, "debug")
    assert settings.build == "b-7"


def test_where_it_listens(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STUD_LISTEN", "0.0.0.0:7001")
    assert load_settings("table").listen == "0.0.0.0:7001"
    monkeypatch.setenv("STUD_TABLE_LISTEN", "[::1]:7002")
    assert load_settings("table").listen == "[::1]:7002"
    assert load_settings("wallet").listen == "0.0.0.0:7001"
    assert load_settings("table", ["--listen", "127.0.0.1:9"]).listen == "127.0.0.1:9"


def test_the_flag_for_stacked_decks():
    assert load_settings("dealer", ["--allow-stacked-decks"]).allow_stacked_decks


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("STUD_TABLE_LISTEN", "7101"),
        ("STUD_TABLE_LISTEN", "host:70000"),
        ("STUD_REDIS_URL", "localhost"),
        ("STUD_CURRENCIES", ""),
        ("STUD_CURRENCIES", "EURO"),
        ("STUD_STOP_GRACE_MS", "-1"),
        ("STUD_ALLOW_VOLATILE", "perhaps"),
        ("STUD_ALLOW_CORE", "perhaps"),
        ("STUD_LOG_LEVEL", "loud"),
        ("STUD_TOKEN_MAX_LIFE_S", "59"),
        ("STUD_TOKEN_MAX_LIFE_S", "31536001"),
    ],
)
def test_what_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch, variable: str, value: str):
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError, match=variable):
        load_settings("table")


def test_all_that_cannot_be_used_is_named_at_once_and_values_are_not_quoted():
    environ = {"STUD_STREAMS": "many", "STUD_REDIS_URL": "http://:secret@host", "STUD_ALLOW_CORE": "2"}
    with pytest.raises(SettingsError) as refused:
        load_settings("table", environ=environ)
    assert str(refused.value) == (
        "STUD_REDIS_URL: want redis://, rediss:// or unix://; STUD_ALLOW_CORE: want 1 or 0; "
        "STUD_STREAMS: want a whole number from 1 to 10000000"
    )


@pytest.mark.parametrize("word", ["1", "true", "TRUE", "Yes", " on "])
def test_words_for_yes(word: str):
    assert load_settings("table", environ={"STUD_ALLOW_CORE": word}).allow_core


@pytest.mark.parametrize("word", ["0", "false", "No", "OFF"])
def test_words_for_no(word: str):
    assert not load_settings("table", environ={"STUD_ALLOW_CORE": word}).allow_core


def test_without_an_installed_package_the_build_is_dev(monkeypatch: pytest.MonkeyPatch):
    def missing(_: str) -> str:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "version", missing)
    assert module.build_name() == "dev"


def test_every_setting_says_what_it_is_for_and_help_lists_them(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        load_settings("dealer", ["--help"])
    told = capsys.readouterr().out
    assert {v.name for v in variables()} == {f"STUD_{field.upper()}" for field in ServiceSettings.__struct_fields__}
    for variable in variables():
        assert variable.meaning
        assert f"  {variable.name} " in told
        assert f"{variable.meaning} [{variable.default}]" in told
