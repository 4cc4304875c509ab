"""What can be set from outside: environment variables that begin with ``STUD_``, and two flags. Nothing else is read.

`variables` says what there is; ``--help`` of a service and the page for operators are made from it.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from stud_eventlog import keys
from stud_service.tokens import MAX_LIFE_S
from stud_topology.services import BY_PORT, HOST, LOG_PORT, service_called

PREFIX = "STUD_"

MANY = 10_000_000
"""As good as no limit."""

LogLevel = Literal["debug", "info", "warning", "error"]


class SettingsError(ValueError):
    """A setting cannot be used. The text names the variable and what is wanted, one line per setting."""


def build_name() -> str:
    """Returns the version of the installed package, or "dev" when it runs uninstalled."""
    try:
        return metadata.version("stud")
    except metadata.PackageNotFoundError:
        return "dev"


class ServiceSettings(BaseSettings):
    """See the module's docstring. ``ServiceSettings()`` takes the environment; arguments take precedence."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", frozen=True)

    redis_url: str = Field(default=f"redis://{HOST}:{LOG_PORT}/0", description="where the log is")
    listen: str = Field(
        default="127.0.0.1:0", description="where the service listens; STUD_TABLE_LISTEN and so on take precedence"
    )
    keys_dir: Path = Field(default=Path("var/keys"), description="keys for tokens and cards")
    log_level: LogLevel = Field(default="info", description=f"lowest level logged: {', '.join(get_args(LogLevel))}")
    currencies: Annotated[tuple[str, ...], NoDecode] = Field(
        default=("EUR", "USD", "GBP", "CAD", "XTS"), description="currencies that are served"
    )
    allow_volatile: bool = Field(default=False, description="accept a server that may lose commits: for experiments")
    allow_stacked_decks: bool = Field(default=False, description="rehearsals at XTS tables (dealer only)")
    allow_core: bool = Field(
        default=False, description="dumps of the process and debuggers: they show keys that open cards"
    )
    stop_grace_ms: int = Field(
        default=5_000, ge=0, le=600_000, description="milliseconds to finish calls in when stopping"
    )
    call_timeout_ms: int = Field(
        default=15_000, ge=1, le=600_000, description="milliseconds for a call without a deadline"
    )
    jwt_issuer: str = Field(default="stud", description="who must have issued a token")
    jwt_audience: str = Field(default="stud", description="who a token must be for")
    token_max_life_s: int = Field(
        default=MAX_LIFE_S,
        ge=60,
        le=MAX_LIFE_S,
        description="seconds from a token's issue (`iat`, else from now) to its end at most; a year is the most",
    )
    build: str = Field(default_factory=build_name, description="name of the build, noted in every commit")
    calls_per_s: int = Field(
        default=20,
        ge=1,
        le=MANY,
        description="calls a second of an account (staff: fifty times as many); faster ones wait",
    )
    calls_burst: int = Field(default=100, ge=1, le=MANY, description="calls of an account at once, after a quiet time")
    commands_per_s: int = Field(
        default=2,
        ge=1,
        le=MANY,
        description="commands a second of an account at a table that answer no turn and no prompt",
    )
    commands_burst: int = Field(default=20, ge=1, le=MANY, description="such commands at once, after a quiet time")
    streams_per_account: int = Field(
        default=32, ge=1, le=MANY, description="Play and Watch streams of an account (staff: fifty times as many)"
    )
    streams: int = Field(default=20_000, ge=1, le=MANY, description="Play and Watch streams of a process")
    subscribe_within_ms: int = Field(
        default=10_000, ge=1, le=600_000, description="milliseconds until a Play stream must have subscribed"
    )
    connections: int = Field(
        default=10_000,
        ge=1,
        le=MANY,
        description="connections to a process, as far as it may open files; any more are closed",
    )
    calls_per_connection: int = Field(
        default=1_000, ge=1, le=MANY, description="calls and streams at once on a connection; more wait in the client"
    )
    health_watchers: int = Field(default=256, ge=1, le=MANY, description="health streams of a process")
    reflection_streams: int = Field(default=16, ge=1, le=MANY, description="reflection streams of a process")
    heavy_percent: int = Field(
        default=10, ge=1, le=100, description="percent of a process's time for heavy questions, such as old logs"
    )

    @field_validator("redis_url")
    @classmethod
    def _is_redis_url(cls, url: str) -> str:
        if not url.startswith(("redis://", "rediss://", "unix://")):
            raise ValueError("want redis://, rediss:// or unix://")
        return url

    @field_validator("listen")
    @classmethod
    def _has_host_and_port(cls, address: str) -> str:
        host, colon, port = address.rpartition(":")
        if not (host and colon and port.isascii() and port.isdecimal() and int(port) < 65_536):
            raise ValueError("want HOST:PORT, for instance 127.0.0.1:7101")
        return address

    @field_validator("log_level", mode="before")
    @classmethod
    def _any_case(cls, level: object) -> object:
        return level.lower() if isinstance(level, str) else level

    @field_validator("currencies", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            value = tuple(part.strip() for part in value.split(",") if part.strip())
        if isinstance(value, (tuple, list)):
            if not value:
                raise ValueError("want at least one currency")
            return tuple(dict.fromkeys(keys.check_currency(str(currency)) for currency in value))
        return value


class Variable(NamedTuple):
    """A setting, what it is for, and what it is where it is not given."""

    name: str
    meaning: str
    default: str


def variables() -> list[Variable]:
    """Returns all that a service reads from its environment."""
    found = []
    for field, about in ServiceSettings.model_fields.items():
        default = "version of the package" if field == "build" else _in_text(about.default)
        if field == "listen":
            default = f"{BY_PORT[0].address} … {BY_PORT[-1].port}"
        found.append(Variable(PREFIX + field.upper(), about.description or "", default))
    return found


def _in_text(default: object) -> str:
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
    given: dict[str, Any] = {}
    listen = flags.listen or environ.get(f"{PREFIX}{name.upper()}_LISTEN") or environ.get(f"{PREFIX}LISTEN")
    given["listen"] = listen or service_called(name).address
    if flags.allow_stacked_decks:
        given["allow_stacked_decks"] = True
    try:
        return ServiceSettings(**given)
    except ValidationError as error:
        raise SettingsError("; ".join(_in_words(name, problem) for problem in error.errors())) from None


def _in_words(name: str, problem: Any) -> str:
    field = str(problem["loc"][0]) if problem["loc"] else "settings"
    variable = f"{PREFIX}{name.upper()}_LISTEN" if field == "listen" else PREFIX + field.upper()
    # Not the value: a URL may hold a password.
    return f"{variable}: {problem['msg'].removeprefix('Value error, ')}"


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
