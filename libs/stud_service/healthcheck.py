"""Ask a service whether it serves, for container health checks: `python -m stud_service.healthcheck HOST:PORT`.

Exit code 0 means SERVING; 1 means anything else, with the reason on standard error. Containers have no
grpc_health_probe, and this needs nothing that a service does not need itself.
"""

import os
import sys
from contextlib import suppress
from typing import NamedTuple

import grpc
from grpc_health.v1 import health_pb2

from stud_service.health import COMMITS_KEY

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


def check(address: str, service: str = "", *, timeout_s: float = TIMEOUT_S) -> str | None:
    """Returns None when the service answers SERVING, else what is wrong."""
    return asked(address, service, timeout_s=timeout_s).problem


def asked(address: str, service: str = "", *, timeout_s: float = TIMEOUT_S) -> Answer:
    """Returns what a service answers."""
    with grpc.insecure_channel(address, options=CHANNEL_OPTIONS) as channel:
        ask = channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        try:
            answer, call = ask.with_call(
                health_pb2.HealthCheckRequest(service=service), timeout=timeout_s, wait_for_ready=True
            )
            commits = dict(call.trailing_metadata() or ()).get(COMMITS_KEY, "")
        except grpc.RpcError as error:
            return Answer(f"{address}: {error.code().name}")
    status = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    problem = None if status == "SERVING" else f"{address}: {status}"
    return Answer(problem, int(commits) if str(commits).isdecimal() else 0)


def say(text: str) -> None:
    """Past `sys.stderr`, which would try again at the end and change the exit code if that fails."""
    with suppress(OSError):
        os.write(2, text.encode() + b"\n")


def main(arguments: list[str]) -> int:
    if not 1 <= len(arguments) <= 2:
        say("usage: python -m stud_service.healthcheck HOST:PORT [SERVICE]")
        return 2
    problem = check(*arguments)
    if problem:
        say(problem)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
