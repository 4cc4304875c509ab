"""What can be set for the edge. What every process of ours is told means the same here; what is the edge's own begins
with ``STUD_EDGE_``. Where the services are is said as to every client: ``STUD_TABLE_ENDPOINT`` and so on.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit

import msgspec

from stud_eventlog.addresses import check_host, check_port
from stud_service.settings import (
    MAX_NAME,
    PREFIX,
    About,
    ServiceSettings,
    SettingsError,
    Variable,
    about,
    build_name,
    folder,
    in_text,
    number,
    read_fields,
)
from stud_topology.services import EDGE, HOST

OURS: Final = about(ServiceSettings)
LISTEN: Final = f"{PREFIX}{EDGE.name.upper()}_LISTEN"
SCHEMES: Final = ("http", "https")


def _origins(text: str) -> tuple[str, ...]:
    """As browsers send them: a page's scheme, host and port, and nothing behind."""
    origins = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    wanted = "want origins such as https://play.example.com, separated by commas, or * for pages from anywhere"
    for origin in origins:
        parts = urlsplit(origin)
        if origin != "*" and (parts.scheme not in SCHEMES or origin != f"{parts.scheme}://{parts.netloc}"):
            raise ValueError(wanted)
        if origin != "*":
            host, _, port = parts.netloc.partition(":")
            check_host(host)
            if port:
                check_port(port)
    return origins


def _file(text: str) -> Path | None:
    if not text.strip():
        return None
    path = folder(text)
    if len(path.name) > MAX_NAME or not path.is_file():
        raise ValueError("want a file that can be read")
    return path


def _pages(text: str) -> Path | None:
    return folder(text) if text.strip() else None


class EdgeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """``EdgeSettings()`` is what holds where nothing is set; `load_settings` reads the environment."""

    listen: Annotated[str, OURS["listen"]] = EDGE.address
    log_level: Annotated[str, OURS["log_level"]] = "info"
    allow_core: Annotated[bool, OURS["allow_core"]] = False
    stop_grace_ms: Annotated[int, OURS["stop_grace_ms"]] = 5_000
    build: Annotated[str, OURS["build"]] = msgspec.field(default_factory=build_name)
    connections: Annotated[int, OURS["connections"]] = 10_000
    streams: Annotated[int, OURS["streams"]] = 20_000
    metrics_port: Annotated[int, OURS["metrics_port"]] = EDGE.metrics_port
    metrics_host: Annotated[str, OURS["metrics_host"]] = HOST
    edge_origins: Annotated[
        tuple[str, ...],
        About("edge: pages of other origins that may call it, with commas; * = any, empty = its own alone", _origins),
    ] = ()
    edge_pages: Annotated[Path | None, About("edge: folder of a page that it serves; empty = none", _pages)] = None
    edge_tls_cert: Annotated[
        Path | None, About("edge: file of its certificate and those between it and the root; empty = no TLS", _file)
    ] = None
    edge_tls_key: Annotated[Path | None, About("edge: file of the certificate's key", _file)] = None
    edge_connections_per_address: Annotated[
        int, About("edge: connections of one address; any more are closed", number(1))
    ] = 256
    edge_calls_per_address: Annotated[int, About("edge: calls and streams of one address at a time", number(1))] = 512
    edge_calls_per_s: Annotated[int, About("edge: calls a second of one address; faster ones wait", number(1))] = 200
    edge_calls_burst: Annotated[int, About("edge: calls of one address at once, after a quiet time", number(1))] = 1_000
    edge_receive_within_ms: Annotated[
        int, About("edge: milliseconds for a request to arrive whole", number(1, 600_000))
    ] = 10_000
    edge_send_within_ms: Annotated[
        int,
        About("edge: milliseconds that one piece of an answer may wait for its reader; then they are cut off",
              number(1, 600_000)),
    ] = 30_000  # fmt: skip


def variables() -> list[Variable]:
    """Returns what the edge alone reads."""
    defaults = EdgeSettings(build="")
    return [
        Variable(PREFIX + name.upper(), field.meaning, in_text(value) if value not in {None, ()} else "none")
        for name, field in about(EdgeSettings).items()
        if name not in OURS
        for value in [getattr(defaults, name)]
    ]


def load_settings(arguments: Sequence[str] = (), environ: Mapping[str, str] | None = None) -> EdgeSettings:
    """Returns the settings from flags and environment. Raises SettingsError. `--help` ends the process."""
    environ = os.environ if environ is None else environ
    flags = _parser().parse_args(list(arguments))
    listen = flags.listen or environ.get(LISTEN) or environ.get(f"{PREFIX}LISTEN") or EDGE.address
    settings = EdgeSettings(**read_fields(about(EdgeSettings), environ, (LISTEN, listen)))
    if (settings.edge_tls_cert is None) != (settings.edge_tls_key is None):
        raise SettingsError("STUD_EDGE_TLS_CERT, STUD_EDGE_TLS_KEY: want both or neither")
    return settings


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m edge_service",
        description="Runs the edge for browsers until SIGTERM or SIGINT. Logs are JSON lines on standard error.",
        epilog="Everything else is set by the environment:\n\n"
        + "\n".join(f"  {PREFIX + name.upper():<36} {field.meaning}" for name, field in about(EdgeSettings).items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--listen", metavar="HOST:PORT", help=f"instead of {LISTEN}")
    return parser
