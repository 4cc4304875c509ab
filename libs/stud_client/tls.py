"""TLS towards the services: how an address says that it wants it, what is trusted, and who we say we are.

grpcs://host:port    TLS; the certificate is checked against STUD_TLS_CA, else against the CAs that gRPC brings
host:port            plain text, also as grpc://host:port
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import grpc

from stud_eventlog.addresses import SECURE, host_port

CA, CERTIFICATE, KEY, NAME = "STUD_TLS_CA", "STUD_TLS_CLIENT_CERTIFICATE", "STUD_TLS_CLIENT_KEY", "STUD_TLS_NAME"


class Tls(NamedTuple):
    """Files in PEM, and the name that the services' certificates must have where it is not the address's."""

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    name: str = ""

    def credentials(self) -> grpc.ChannelCredentials:
        """Reads the files. Raises ValueError naming one that cannot be read, and where half of a pair is missing."""
        if (self.certificate is None) != (self.key is None):
            raise ValueError(f"{CERTIFICATE} and {KEY}: want both or neither")
        return grpc.ssl_channel_credentials(
            _read(CA, self.ca), _read(KEY, self.key), _read(CERTIFICATE, self.certificate)
        )


def _read(setting: str, path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        return path.read_bytes()
    except OSError as why:
        raise ValueError(f"{setting}: {path} cannot be read ({why.strerror})") from None


def tls_of(environ: Mapping[str, str] | None = None, told: Mapping[str, str] | None = None) -> Tls:
    """Returns what the environment says, else what a running system told of itself (`ca`, `name`, `certificate`,
    `key`).
    """
    environ, told = os.environ if environ is None else environ, told or {}

    def path(variable: str, other: str = "") -> Path | None:
        text = environ.get(variable) or other
        return Path(text) if text else None

    pair = (
        ("", "") if environ.get(CERTIFICATE) or environ.get(KEY) else (told.get("certificate", ""), told.get("key", ""))
    )
    name = environ.get(NAME) or told.get("name", "")
    return Tls(path(CA, told.get("ca", "")), path(CERTIFICATE, pair[0]), path(KEY, pair[1]), name)


def channel_to(address: str, options: Iterable[tuple[str, Any]], tls: Tls | None = None) -> grpc.aio.Channel:
    """Returns a channel to an address; nothing is connected before the first call. Without `tls` the environment says
    what is trusted. Raises ValueError where a file cannot be read.
    """
    options = list(options)
    if not address.startswith(SECURE):
        return grpc.aio.insecure_channel(host_port(address), options=options)
    tls = tls_of() if tls is None else tls
    if tls.name:
        options.append(("grpc.ssl_target_name_override", tls.name))
    return grpc.aio.secure_channel(host_port(address), tls.credentials(), options=options)


REASONS: Final = {
    "WRONG_VERSION_NUMBER": "it speaks plain text, not TLS: want no grpcs:// in front of its address, or TLS there",
    "certificate has expired": "its certificate has expired",
    "CERTIFICATE_VERIFY_FAILED": "its certificate is of no CA that is trusted here: set STUD_TLS_CA to the right one",
    "Hostname Verification Check failed": "its certificate is for another name: set STUD_TLS_NAME to the one it has",
    "Secure read failed": (
        f"it closed the connection in the handshake: it wants a client certificate of its own CA ({CERTIFICATE}, {KEY})"
    ),
    "Socket closed": "it closed the connection at once: where it speaks TLS, want grpcs:// in front of its address",
}
"""What gRPC says where a connection was not made, and what that means; the first that fits."""


def why_not_connected(text: str) -> str:
    """Returns in words why there is no connection, where TLS may have to do with it; else nothing."""
    if "failed to connect" not in text:
        return ""
    return next((meaning for sign, meaning in REASONS.items() if sign in text), "")
