"""Ask a service whether it serves, for container health checks: `python -m stud_service.healthcheck HOST:PORT`.

Exit code 0 means SERVING; 1 means anything else, with the reason on standard error. Containers have no
grpc_health_probe, and this needs nothing that a service does not need itself. Where the environment has the service
speak TLS, this does too: it trusts the service's own certificate, and shows it where clients must show one.
"""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import grpc
from grpc_health.v1 import health_pb2

from stud_service.health import COMMITS_KEY, STALE_KEY

# Below the interval at which a container runtime asks again, so that probes do not pile up.
TIMEOUT_S = 2.0

CHANNEL_OPTIONS = (
    # A probe talks to its own container; a proxy from the environment has no business between them.
    ("grpc.enable_http_proxy", 0),
    # Who waits for a service to start hears of it at once: by default gRPC looks again only after a second, then 1.6.
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 50),
)


class Answer(NamedTuple):
    """``problem``: what is wrong, None when the service serves. ``commits``: how many it has read and written so far,
    where it does not serve and says so.
    """

    problem: str | None
    commits: int = 0
    stale: tuple[str, ...] = ()


def check(
    address: str, service: str = "", *, timeout_s: float = TIMEOUT_S, tls: Mapping[str, str] | None = None
) -> str | None:
    """Returns None when the service answers SERVING, else what is wrong."""
    return asked(address, service, timeout_s=timeout_s, tls=tls).problem


def asked(
    address: str, service: str = "", *, timeout_s: float = TIMEOUT_S, tls: Mapping[str, str] | None = None
) -> Answer:
    """Returns what a service answers. `tls`: what is needed to trust it (`tls.for_clients`), nothing = plain text."""
    with _channel(address, tls or {}) as channel:
        ask = channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        try:
            answer, call = ask.with_call(
                health_pb2.HealthCheckRequest(service=service), timeout=timeout_s, wait_for_ready=True
            )
            trailing = list(call.trailing_metadata() or ())
        except grpc.RpcError as error:
            return Answer(f"{address}: {error.code().name}")
    commits = dict(trailing).get(COMMITS_KEY, "")
    status = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    problem = None if status == "SERVING" else f"{address}: {status}"
    stale = tuple(str(value) for name, value in trailing if name == STALE_KEY)
    return Answer(problem, int(commits) if str(commits).isdecimal() else 0, stale)


def _channel(address: str, tls: Mapping[str, str]) -> grpc.Channel:
    if not tls:
        return grpc.insecure_channel(address, options=CHANNEL_OPTIONS)
    ca, key, certificate = (
        Path(tls[name]).read_bytes() if name in tls else None for name in ("ca", "key", "certificate")
    )
    options = [*CHANNEL_OPTIONS, *([("grpc.ssl_target_name_override", tls["name"])] if "name" in tls else [])]
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(ca, key, certificate), options=options)


def _own_tls() -> Mapping[str, str]:
    if not os.environ.get("STUD_TLS_CERTIFICATE"):
        return {}
    from stud_service.tls import for_clients  # noqa: PLC0415 - slow to load, and seldom needed

    return for_clients(os.environ)


def say(text: str) -> None:
    """Past `sys.stderr`, which would try again at the end and change the exit code if that fails."""
    with suppress(OSError):
        os.write(2, text.encode() + b"\n")


def main(arguments: list[str]) -> int:
    if not 1 <= len(arguments) <= 2:
        say("usage: python -m stud_service.healthcheck HOST:PORT [SERVICE]")
        return 2
    try:
        answer = asked(*arguments, tls=_own_tls())
    except OSError as why:
        answer = Answer(f"{why.filename}: {why.strerror}")
    if answer.problem:
        say(answer.problem)
    for source in answer.stale:
        say(f"{arguments[0]}: {source} is out of reach; what it said last is good meanwhile")
    return 1 if answer.problem else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
