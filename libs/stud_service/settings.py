"""What can be set from outside: environment variables that begin with ``STUD_``, and two flags. Nothing else is read.

`variables` says what there is; ``--help`` of a service and the page for operators are made from it.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, get_type_hints

import msgspec

from stud_eventlog import keys
from stud_eventlog.addresses import check_address, check_text, check_url
from stud_topology.services import BY_PORT, HOST, LOG_PORT, service_called

PREFIX = "STUD_"

MANY = 10_000_000
"""As good as no limit."""

CURRENCIES = ("EUR", "USD", "GBP", "CAD", "XTS")
LOG_LEVELS = ("debug", "info", "warning", "error")

MAX_PATH, MAX_NAME = 4_000, 255
"""Of a directory and of a name in it, in bytes: Linux has no longer ones."""

DIGITS = re.compile("[0-9]{1,10}")

MAX_LIFE_S = 365 * 86_400
"""Of a token, at most."""

YES, NO = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})


class SettingsError(ValueError):
    """A setting cannot be used. The text names the variable and what is wanted, all of them in one line."""


def build_name() -> str:
    """Returns the version of the installed package, or "dev" when it runs uninstalled."""
    from importlib import metadata  # noqa: PLC0415 - seldom asked for, and slow to load

    try:
        return metadata.version("stud")
    except metadata.PackageNotFoundError:
        return "dev"


def _switch(text: str) -> bool:
    word = text.strip().lower()
    if word in YES or word in NO:
        return word in YES
    raise ValueError("want 1 or 0")


def _text(most: int) -> Callable[[str], str]:
    def read(text: str) -> str:
        if not text.strip() or len(text) > most:
            raise ValueError(f"want 1 to {most} printable characters")
        return text

    return read


def folder(text: str) -> Path:
    """Reads the path of a directory: what no file system has a name for is none that may still come."""
    if not text.strip():
        raise ValueError("want a directory, such as var/keys; . is the current one")
    if len(text.encode()) > MAX_PATH or any(len(part.encode()) > MAX_NAME for part in Path(text).parts):
        raise ValueError(f"want a path of at most {MAX_PATH} bytes, and {MAX_NAME} for each name in it")
    return Path(text)


def _file(text: str) -> Path:
    if not text.strip():
        raise ValueError("want the path of a file")
    return folder(text)


def _web_address(text: str) -> str:
    from stud_service.fetching import check_web_address  # noqa: PLC0415 - seldom asked for, and slow to load

    return check_web_address(text)


def _listen(address: str) -> str:
    return check_address(address, least_port=0)


def _host(host: str) -> str:
    from ipaddress import ip_address  # noqa: PLC0415 - seldom asked for, and slow to load

    try:
        return str(ip_address(host))
    except ValueError:
        raise ValueError("want an address such as 127.0.0.1, or 0.0.0.0 for all of this machine's") from None


def _log_level(level: str) -> str:
    if level.lower() not in LOG_LEVELS:
        raise ValueError(f"want one of {', '.join(LOG_LEVELS)}")
    return level.lower()


def number(least: int, most: int = MANY) -> Callable[[str], int]:
    """Returns what reads a whole number within bounds."""

    def read(text: str) -> int:
        if not DIGITS.fullmatch(text) or not least <= int(text) <= most:
            raise ValueError(f"want a whole number from {least} to {most}")
        return int(text)

    return read


def _currencies(text: str) -> tuple[str, ...]:
    named = [part.strip() for part in text.split(",") if part.strip()]
    if not named:
        raise ValueError("want at least one currency")
    return tuple(dict.fromkeys(keys.check_currency(currency) for currency in named))


class About(NamedTuple):
    """What a setting is for, and how its text, which is printable, becomes its value (raises ValueError saying what is
    wanted).
    """

    meaning: str
    read: Callable[[str], Any]


class ServiceSettings(msgspec.Struct, frozen=True, kw_only=True):
    """See the module's docstring. ``ServiceSettings()`` is what holds where nothing is set; `load_settings` reads the
    environment.
    """

    redis_url: Annotated[str, About("where the log is", check_url)] = f"redis://{HOST}:{LOG_PORT}/0"
    listen: Annotated[str, About("where the service listens; STUD_TABLE_LISTEN and so on take precedence", _listen)] = (
        "127.0.0.1:0"
    )
    keys_dir: Annotated[Path, About("keys for tokens and cards", folder)] = Path("var/keys")
    log_level: Annotated[str, About(f"lowest level logged: {', '.join(LOG_LEVELS)}", _log_level)] = "info"
    currencies: Annotated[tuple[str, ...], About("currencies that are served", _currencies)] = CURRENCIES
    allow_volatile: Annotated[bool, About("accept a server that may lose commits: for experiments", _switch)] = False
    allow_stacked_decks: Annotated[bool, About("rehearsals at XTS tables (dealer only)", _switch)] = False
    allow_core: Annotated[
        bool, About("dumps of the process and debuggers: they show keys that open cards", _switch)
    ] = False
    stop_grace_ms: Annotated[int, About("milliseconds to finish calls in when stopping", number(0, 600_000))] = 5_000
    call_timeout_ms: Annotated[int, About("milliseconds for a call without a deadline", number(1, 600_000))] = 15_000
    jwt_issuer: Annotated[str, About("who must have issued a token", _text(256))] = "stud"
    jwt_audience: Annotated[str, About("who a token must be for", _text(256))] = "stud"
    jwks_url: Annotated[
        str, About("https address of the issuer's keys (JWKS), chosen among by `kid`", _web_address)
    ] = ""
    jwks_ca: Annotated[
        Path | None, About("certificates (PEM) of the CA of that address, beside the system's", _file)
    ] = None
    jwks_refresh_s: Annotated[int, About("seconds between two looks at that address", number(10, 86_400))] = 300
    jwks_file: Annotated[
        Path | None, About("file of keys (JWKS); else `jwks.json` among the keys, if there is one", _file)
    ] = None
    revoked_file: Annotated[
        Path | None, About("list of revoked tokens; else `revoked.txt` among the keys, if there is one", _file)
    ] = None
    tls_certificate: Annotated[
        Path | None, About("certificate chain (PEM): with it the service speaks TLS alone", _file)
    ] = None
    tls_key: Annotated[Path | None, About("its private key (PEM)", _file)] = None
    tls_client_ca: Annotated[
        Path | None, About("CA (PEM) of client certificates: with it nobody connects without one", _file)
    ] = None
    token_max_life_s: Annotated[
        int,
        About(
            "seconds from a token's issue (`iat`, else from now) to its end at most; a year is the most",
            number(60, MAX_LIFE_S),
        ),
    ] = MAX_LIFE_S
    build: Annotated[str, About("name of the build, noted in every commit: 1 to 64 characters", _text(64))] = (
        msgspec.field(default_factory=build_name)
    )
    calls_per_s: Annotated[
        int, About("calls a second of an account (staff: fifty times as many); faster ones wait", number(1))
    ] = 20
    calls_burst: Annotated[int, About("calls of an account at once, after a quiet time", number(1))] = 100
    calls_at_once: Annotated[
        int, About("calls of an account that wait or are answered at a time (staff: fifty times as many)", number(1))
    ] = 250
    connection_calls_per_s: Annotated[
        int, About("calls a second of a connection, whoever makes them; faster ones wait", number(1))
    ] = 5_000
    connection_calls_burst: Annotated[int, About("calls of a connection at once, after a quiet time", number(1))] = (
        20_000
    )
    strangers_per_host: Annotated[
        int, About("calls without a good token at a time from one host: health, reflection, wrong tokens", number(1))
    ] = 1_000
    strangers: Annotated[int, About("such calls of a process", number(1))] = 10_000
    commands_per_s: Annotated[
        int, About("commands a second of an account at a table that answer no turn and no prompt", number(1))
    ] = 2
    commands_burst: Annotated[int, About("such commands at once, after a quiet time", number(1))] = 20
    streams_per_account: Annotated[
        int, About("streams of an account at a service (staff: fifty times as many)", number(1))
    ] = 32
    streams: Annotated[int, About("streams of a process", number(1))] = 20_000
    lobby_streams_per_account: Annotated[
        int, About("streams of an account that watch the lobby (staff: fifty times as many)", number(1))
    ] = 4
    lobby_streams: Annotated[int, About("streams of a process that watch the lobby", number(1))] = 2_000
    lobby_interval_ms: Annotated[
        int, About("milliseconds between two messages about changes to who watches the lobby", number(50, 60_000))
    ] = 500
    subscribe_within_ms: Annotated[
        int, About("milliseconds until a Play stream must have subscribed", number(1, 600_000))
    ] = 10_000
    connections: Annotated[
        int, About("connections to a process, as far as it may open files; any more are closed", number(1))
    ] = 10_000
    calls_per_connection: Annotated[
        int, About("calls and streams at once on a connection; more wait in the client", number(1))
    ] = 1_000
    health_watchers: Annotated[int, About("health streams of a process", number(1))] = 256
    reflection_streams: Annotated[int, About("reflection streams of a process", number(1))] = 16
    heavy_percent: Annotated[
        int, About("percent of a process's time for heavy questions, such as old logs", number(1, 100))
    ] = 10
    metrics_port: Annotated[
        int, About("port for Prometheus (`GET /metrics`), one for each process; 0 = none", number(0, 65_535))
    ] = 0
    metrics_host: Annotated[
        str, About("address of this machine for that port; nobody is asked for a token there", _host)
    ] = HOST


class Variable(NamedTuple):
    """A setting, what it is for, and what it is where it is not given."""

    name: str
    meaning: str
    default: str


def variables() -> list[Variable]:
    """Returns all that a service reads from its environment."""
    defaults, found = ServiceSettings(build=""), []
    for name, field in about(ServiceSettings).items():
        default = "version of the package" if name == "build" else in_text(getattr(defaults, name))
        if name == "listen":
            default = f"{BY_PORT[0].address} … {BY_PORT[-1].port}"
        if name == "metrics_port":
            default = f"{BY_PORT[0].metrics_port} … {BY_PORT[-1].metrics_port}"
        found.append(Variable(PREFIX + name.upper(), field.meaning, default))
    return found


@lru_cache
def about(settings: type[msgspec.Struct]) -> Mapping[str, About]:
    """Returns what each field of a process's settings is for."""
    hints = get_type_hints(settings, include_extras=True)
    return MappingProxyType({name: hints[name].__metadata__[0] for name in settings.__struct_fields__})


def in_text(default: object) -> str:
    """Returns a default as one would write it."""
    if default is None or default == "":
        return "none"
    if isinstance(default, bool):
        return str(int(default))
    return ",".join(default) if isinstance(default, tuple) else str(default)


def load_settings(
    name: str, arguments: Sequence[str] = (), environ: Mapping[str, str] | None = None
) -> ServiceSettings:
    """Returns the settings of the service `name` from its flags and the environment. Raises SettingsError.

    `--help` prints the flags and ends the process, as an unknown flag does (SystemExit, code 2).
    """
    environ = os.environ if environ is None else environ
    flags = _parser(name).parse_args(list(arguments))
    variable_of_listen = f"{PREFIX}{name.upper()}_LISTEN"
    listen = flags.listen or environ.get(variable_of_listen) or environ.get(f"{PREFIX}LISTEN")
    given: dict[str, Any] = {"metrics_port": service_called(name).metrics_port}
    given |= read_fields(about(ServiceSettings), environ, (variable_of_listen, listen or service_called(name).address))
    if flags.allow_stacked_decks:
        given["allow_stacked_decks"] = True
    return ServiceSettings(**given)


def read_fields(fields: Mapping[str, About], environ: Mapping[str, str], listen: tuple[str, str]) -> dict[str, Any]:
    """Returns the value of each field that is given; `listen` names the variable of that field, and its text. Raises
    SettingsError, which names every variable that cannot be used.
    """
    given: dict[str, Any] = {}
    problems: list[str] = []
    for field, described in fields.items():
        variable = PREFIX + field.upper()
        text = environ.get(variable)
        if field == "listen":
            variable, text = listen
        if text is None:
            continue
        try:
            given[field] = described.read(check_text(text, MAX_PATH))
        except ValueError as wanted:  # which does not quote the value: a URL may hold a password
            problems.append(f"{variable}: {wanted}")
    if problems:
        raise SettingsError("; ".join(problems))
    return given


def load_keys_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Returns where the environment says that keys are, whatever else it says. Raises SettingsError."""
    text = (os.environ if environ is None else environ).get(f"{PREFIX}KEYS_DIR")
    try:
        return ServiceSettings(build="").keys_dir if text is None else folder(check_text(text, MAX_PATH))
    except ValueError as wanted:
        raise SettingsError(f"{PREFIX}KEYS_DIR: {wanted}") from None


def _parser(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {name}_service",
        description=f"Runs the {name} service until SIGTERM or SIGINT. Logs are JSON lines on standard error.",
        epilog="Everything else is set by the environment:\n\n"
        + "\n".join(f"  {v.name:<26} {v.meaning} [{v.default}]" for v in variables()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--listen", metavar="HOST:PORT", help=f"instead of {PREFIX}{name.upper()}_LISTEN")
    parser.add_argument(
        "--allow-stacked-decks",
        action="store_true",
        help="dealer only: rehearsal tables in currency XTS may have their decks stacked",
    )
    return parser
