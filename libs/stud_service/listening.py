"""Why nobody can listen on an address."""

from __future__ import annotations

import errno
import socket


def why_cannot_listen(address: str) -> str:
    """Returns the reason for HOST:PORT where gRPC, which tells none, could not listen."""
    host, _, port = address.rpartition(":")
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, ValueError) as why:
        return f"{host} cannot be resolved ({why.strerror if isinstance(why, OSError) else 'no name'})"
    reasons = [reason for family, kind, _, _, at in found if (reason := _why_not(family, kind, at, host))]
    return reasons[-1] if reasons else "it was in use a moment ago"


def _why_not(family: int, kind: int, at: object, host: str) -> str:
    """Returns nothing where one can."""
    try:
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(at)  # type: ignore[arg-type]
            probe.listen()
    except OSError as why:
        if why.errno == errno.EADDRINUSE:
            return "it is in use"
        if why.errno == errno.EADDRNOTAVAIL:
            return f"{host} is no address of this machine"
        return (why.strerror or type(why).__name__).lower()
    return ""
