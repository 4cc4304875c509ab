"""Addresses of servers as text: what can never be one is refused before anybody waits for it.

Every check returns what it was given, or raises ValueError saying what is wanted; the value is not quoted, since a URL
may hold a password. No name is looked up.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

MAX_TEXT: Final = 2_000
MAX_HOST: Final = 253
MAX_PORT: Final = 65_535
MAX_DATABASE: Final = 2**31 - 1
"""More than any server can be set to."""

MAX_SOCKET_PATH: Final = 107
"""Bytes: what Linux has room for."""

SECURE: Final = "grpcs://"
PLAIN: Final = "grpc://"

_WHERE = re.compile(r"(\[[^\[\]]+\]|[^\[\]:]+)(?::([0-9]+))?")
_LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_TLS = frozenset(
    {
        "ssl_ca_certs",
        "ssl_ca_path",
        "ssl_certfile",
        "ssl_keyfile",
        "ssl_password",
        "ssl_cert_reqs",
        "ssl_check_hostname",
    }
)
"""What may follow the question mark. All else of a connection is the log's own to choose: it keeps commits safe."""

_CERT_REQS = frozenset({"none", "optional", "required"})
_FLAGS = frozenset({"true", "false", "1", "0", "yes", "no"})


def check_text(text: str, most: int = MAX_TEXT) -> str:
    """Text that can be encoded, printed in a line, and kept."""
    if not text.isprintable():
        raise ValueError("want printable text in UTF-8")
    if len(text) > most:
        raise ValueError(f"want at most {most} characters")
    return text


def check_host(host: str) -> str:
    """A host name or an address; one of version 6 stands in brackets."""
    if host.startswith("[") and host.endswith("]"):
        if not _is_number(host[1:-1], 6):
            raise ValueError("want an address of version 6 in the brackets, such as [::1]")
        return host
    labels = host.removesuffix(".").split(".")
    if len(host) > MAX_HOST or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError(
            "want a host name or an address: letters, digits, '-' and '_' in parts of 1 to 63 characters, an address "
            "of version 6 in brackets"
        )
    if labels[-1].isdecimal() and not _is_number(host, 4):
        raise ValueError("want a host name, or an address such as 127.0.0.1")
    return host


def _is_number(text: str, version: int) -> bool:
    from ipaddress import ip_address  # noqa: PLC0415 - seldom asked for, and slow to load

    try:
        return ip_address(text).version == version
    except ValueError:
        return False


def check_port(port: str, least: int = 1) -> int:
    """A port in ASCII digits."""
    if not re.fullmatch(r"[0-9]{1,5}", port) or not least <= int(port) <= MAX_PORT:
        raise ValueError(f"want a port from {least} to {MAX_PORT}")
    return int(port)


def check_address(address: str, *, least_port: int = 1) -> str:
    """HOST:PORT; port 0, where it is allowed, is any that is free."""
    check_text(address)
    found = _WHERE.fullmatch(address)
    if found is None or found[2] is None:
        port = f"a port from {least_port} to {MAX_PORT}"
        raise ValueError(f"want HOST:PORT, for instance 127.0.0.1:7101 or [::1]:7101, with {port}")
    check_host(found[1])
    check_port(found[2], least_port)
    return address


def check_endpoint(address: str) -> str:
    """[grpc://|grpcs://]HOST:PORT, with TLS where it begins with grpcs://."""
    check_address(host_port(address))
    return address


def host_port(endpoint: str) -> str:
    """What is behind the scheme of an endpoint, if it has one."""
    return endpoint.removeprefix(SECURE).removeprefix(PLAIN)


def check_url(url: str) -> str:
    """redis://[user:password@]host[:port][/database], the same with rediss:// for TLS, or unix:///path[?db=database]."""
    if not url.startswith(("redis://", "rediss://", "unix://")):
        raise ValueError("want redis://, rediss:// or unix://")
    check_text(url)
    if "#" in url or " " in url:
        raise ValueError("want '#' and spaces written as %23 and %20")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ValueError("want an address of version 6 in brackets, such as [::1]") from None
    login, _, where = parts.netloc.rpartition("@")
    for part in login.split(":", 1):
        _decoded(part)
    options = _options(parts.query, secure=parts.scheme == "rediss")
    if parts.scheme == "unix":
        _check_socket(where, _decoded(parts.path))
    else:
        _check_server(where, parts.path, options)
    return url


def _check_socket(where: str, path: str) -> None:
    if where or not path.startswith("/") or path.endswith("/"):
        raise ValueError("want the path of a socket from the root on, such as unix:///run/log.sock")
    if len(path.encode()) > MAX_SOCKET_PATH:
        raise ValueError(f"want a path of at most {MAX_SOCKET_PATH} bytes to a socket")


def _check_server(where: str, path: str, options: dict[str, str]) -> None:
    found = _WHERE.fullmatch(where)
    if found is None:
        raise ValueError(f"want a host, and a port from 1 to {MAX_PORT}")
    check_host(found[1])
    if found[2] is not None:
        check_port(found[2])
    if path not in {"", "/"}:
        if "db" in options:
            raise ValueError("want the database once: after the host or as db=")
        _check_database(path[1:])


def _check_database(text: str) -> None:
    if not re.fullmatch(r"[0-9]{1,10}", text) or int(text) > MAX_DATABASE:
        raise ValueError(f"want a database as a number from 0 to {MAX_DATABASE}, such as /0 after the host")


def _options(query: str, *, secure: bool) -> dict[str, str]:
    allowed = {"db", *(_TLS if secure else ())}
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query), errors="strict")
    except ValueError:
        raise ValueError("want name=value after the question mark") from None
    options = dict(pairs)
    if len(options) < len(pairs) or not options.keys() <= allowed:
        raise ValueError(f"want nothing after the question mark but, once, {', '.join(sorted(allowed))}")
    for name, value in options.items():
        if not value or not value.isprintable():
            raise ValueError(f"want {name} to be printable text")
    if "db" in options:
        _check_database(options["db"])
    if options.get("ssl_cert_reqs", "required") not in _CERT_REQS:
        raise ValueError(f"want ssl_cert_reqs to be one of {', '.join(sorted(_CERT_REQS))}")
    if options.get("ssl_check_hostname", "true").lower() not in _FLAGS:
        raise ValueError("want ssl_check_hostname to be true or false")
    return options


def _decoded(part: str) -> str:
    """What is meant by %20 and the like."""
    try:
        text = unquote(part, errors="strict")
    except ValueError:
        text = "\n"
    if not text.isprintable():
        raise ValueError("want what % stands for to be printable text in UTF-8")
    return text
