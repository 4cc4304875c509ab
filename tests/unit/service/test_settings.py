"""One port and environment scheme."""

from importlib import metadata
from pathlib import Path

import pytest

from stud_client import Endpoints, load_endpoints
from stud_eventlog.redis_wire import RedisWire
from stud_eventlog.types import UnusableUrl
from stud_service import settings as module
from stud_service.settings import ServiceSettings, SettingsError, load_keys_dir, load_settings, variables


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


# What no setting may be, whatever it is for

NO_TEXTS = ["\udcff", "a\udcffb", "a\nb", "a\x00b", "\x1b[31m", "\x7f", "a\u2028b", "\u202e", "\ud800"]
FIELDS = [field.upper() for field in ServiceSettings.__struct_fields__] + ["TABLE_LISTEN"]


@pytest.mark.parametrize("text", NO_TEXTS)
@pytest.mark.parametrize("field", FIELDS)
def test_no_setting_takes_what_is_no_text(field: str, text: str):
    for value in (text, f"127.0.0.1{text}:1", f"redis://{text}:1/0", f"redis://:{text}@h:1/0", f"b{text}"):
        with pytest.raises(SettingsError, match=rf"STUD_(TABLE_)?{field}: want") as refused:
            load_settings("table", environ={f"STUD_{field}": value})
        assert str(refused.value).isprintable()


@pytest.mark.parametrize("field", FIELDS)
def test_no_setting_takes_text_without_end(field: str):
    for text in ("a" * 5_000, "1" * 5_000, "é" * 5_000, "a/" * 5_000, "EUR," * 5_000, f"redis://{'h' * 5_000}/0"):
        with pytest.raises(SettingsError, match="want"):
            load_settings("table", environ={f"STUD_{field}": text})


@pytest.mark.parametrize("field", [f for f in FIELDS if f not in {"LISTEN", "TABLE_LISTEN"}])
@pytest.mark.parametrize("text", ["", " "])
def test_no_setting_is_empty(field: str, text: str):
    with pytest.raises(SettingsError, match=f"STUD_{field}: want"):
        load_settings("table", environ={f"STUD_{field}": text})


@pytest.mark.parametrize(
    "field",
    [name.upper() for name in ServiceSettings.__struct_fields__ if type(getattr(ServiceSettings(), name)) is int],
)
@pytest.mark.parametrize("text", ["1_0", "٧٠", "७0", "+70", "-70", "70.0", "7e1", "0x46", " 70", "²", "70 ", "７０"])
def test_a_number_is_ascii_digits(field: str, text: str):
    assert getattr(load_settings("table", environ={f"STUD_{field}": "70"}), field.lower()) == 70
    with pytest.raises(SettingsError, match=f"STUD_{field}: want a whole number from"):
        load_settings("table", environ={f"STUD_{field}": text})


@pytest.mark.parametrize(("field", "most"), [("BUILD", 64), ("JWT_ISSUER", 256), ("JWT_AUDIENCE", 256)])
def test_a_name_is_as_long_as_may_be_kept(field: str, most: int):
    assert getattr(load_settings("table", environ={f"STUD_{field}": "é" * most}), field.lower()) == "é" * most
    with pytest.raises(SettingsError, match=f"STUD_{field}: want 1 to {most} printable characters"):
        load_settings("table", environ={f"STUD_{field}": "é" * (most + 1)})


def test_a_directory_is_one_that_may_come():
    for text in (".", "/", "a" * 255, "/".join(["a" * 200] * 19), "mit Leerzeichen/é"):
        assert load_settings("table", environ={"STUD_KEYS_DIR": text}).keys_dir == Path(text)
        assert load_keys_dir({"STUD_KEYS_DIR": text}) == Path(text)
    for text in ("", " ", "a" * 256, "é" * 128, "/x/" + "a" * 5000, "/".join(["a" * 200] * 20), "\udcff"):
        with pytest.raises(SettingsError, match="STUD_KEYS_DIR: want"):
            load_settings("table", environ={"STUD_KEYS_DIR": text})
        with pytest.raises(SettingsError, match="STUD_KEYS_DIR: want"):
            load_keys_dir({"STUD_KEYS_DIR": text})
    assert load_keys_dir({}) == Path("var/keys")


@pytest.mark.parametrize("text", ["foo:1", "[::]:0", "a_b-c.example.:65535", "0.0.0.0:7101", "[fe80::1%lo]:9"])
def test_where_one_may_listen(text: str):
    assert load_settings("table", environ={"STUD_TABLE_LISTEN": text}).listen == text


NO_HOSTS = [
    "h\xff",
    "é",
    f"{'a' * 64}",
    ".".join(["a" * 60] * 5),
    "a..b",
    ".a",
    "-a",
    "a-",
    "a b",
    "999.1.1.1",
    "1.2.3",
]
NO_HOSTS += [
    "[::1",
    "::1",
    "[]",
    "[g::1]",
    "[127.0.0.1]",
    "a/b",
    "a%41",
    "unix:a",
    "*",
    "",
    "a@b@c:",
    "1",
    "a?b",
    "_ _",
]


@pytest.mark.parametrize("host", NO_HOSTS)
def test_what_can_never_be_a_host(host: str):
    with pytest.raises(SettingsError, match="STUD_TABLE_LISTEN: want"):
        load_settings("table", environ={"STUD_TABLE_LISTEN": f"{host}:1"})
    with pytest.raises(ValueError, match="STUD_TABLE_ENDPOINT: want"):
        load_endpoints(Path("/nowhere"), {"STUD_TABLE_ENDPOINT": f"{host}:1"})
    with pytest.raises(ValueError, match="table: want"):
        Endpoints(table=f"{host}:1")


@pytest.mark.parametrize("port", ["99999", "65536", "0", "-1", "1_0", "٧", "", "a", "+1", " 1", "1" * 5_000, "000001"])
def test_what_can_never_be_a_port_of_somebody_else(port: str):
    with pytest.raises(
        ValueError, match=r"STUD_TABLE_ENDPOINT: want.* from 1 to 65535|STUD_TABLE_ENDPOINT: want at most"
    ):
        load_endpoints(Path("/nowhere"), {"STUD_TABLE_ENDPOINT": f"127.0.0.1:{port}"})
    with pytest.raises(SettingsError, match="STUD_REDIS_URL: want"):
        load_settings("table", environ={"STUD_REDIS_URL": f"redis://127.0.0.1:{port or '0'}/0"})


# Where the log is

URLS = [
    "redis://h",
    "redis://h/",
    "redis://h:1/15",
    "redis://u:p%C3%A9@h:1/0",
    "redis://:p@[::1]:1/0",
    "redis://h?db=3",
]
URLS += ["rediss://h/0?ssl_cert_reqs=none&ssl_ca_certs=/etc/ca.pem", "unix:///run/log.sock?db=2", "unix://u:p@/s"]


@pytest.mark.parametrize("url", URLS)
def test_an_address_of_the_log(url: str):
    assert load_settings("table", environ={"STUD_REDIS_URL": url}).redis_url == url
    assert isinstance(_wire(url), RedisWire)


NO_URLS = [
    f"redis://h:1/0?{option}" for option in ("protocol=9", "protocol=2", "db=1", "timeout=0", "x", "=", "&", "db")
]
NO_URLS += [
    f"redis://h:1/{database}" for database in ("abc", "-1", "1_0", "٣", "0/0", "/0", "0/", "2147483648", "%30", "+1")
]
NO_URLS += [f"redis://{host}:1/0" for host in NO_HOSTS if host not in {"a@b@c:", "a/b", "a?b"}]
NO_URLS += [
    "redis:///0",
    "redis://",
    "redis://:1/0",
    "redis://h:1#0",
    "redis://u:p#w@h:1/0",
    "redis://%FF:p@h/0",
    "REDIS://h",
]
NO_URLS += [
    "redis://:%00@h/0",
    "redis://:%0A@h/0",
    "redis://h?db=",
    "redis://h?db=1&db=2",
    "redis://h?db=x",
    "redis://h?db=%FF",
]
NO_URLS += ["rediss://h?ssl_cert_reqs=perhaps", "rediss://h?ssl_min_version=5", "rediss://h?ssl_check_hostname=x"]
NO_URLS += [
    "redis://h?ssl_ca_certs=x",
    "redis://h?socket_timeout=0",
    "redis://h?decode_responses=1",
    "redis://h?host=x",
]
NO_URLS += [
    "unix://",
    "unix://a/b",
    "unix:///",
    f"unix:///{'a' * 107}",
    "unix:///%00",
    "unix:///s?db=x",
    "unix:///s?path=/t",
]


@pytest.mark.parametrize("url", NO_URLS)
def test_what_can_never_be_an_address_of_the_log(url: str):
    with pytest.raises(SettingsError, match="STUD_REDIS_URL: want") as refused:
        load_settings("table", environ={"STUD_REDIS_URL": url})
    assert url in {"unix://", "unix:///"} or url not in str(refused.value)
    with pytest.raises(UnusableUrl, match="want"):
        _wire(url)


def _wire(url: str) -> RedisWire:
    return RedisWire(url, connections=1, timeout_s=1, connect_timeout_s=1, client_name="x")
