"""The channel options of every server of ours. A name that the library does not know is ignored without a word, so
tests look for each of them in it.
"""

from __future__ import annotations

import resource

import structlog

from stud_service.settings import ServiceSettings

MAX_REQUEST_BYTES = 64 * 1024

FILES_OF_OUR_OWN = 256
"""Files that are left for the log, keys and libraries, however many connect: some 60 are used."""

logger = structlog.get_logger(__name__)

SERVER_OPTIONS: list[tuple[str, int]] = [
    # Two servers on one port would share the calls at random; better that the second one fails to start.
    ("grpc.so_reuseport", 0),
    # Bigger messages end as RESOURCE_EXHAUSTED before they are read.
    ("grpc.max_receive_message_length", MAX_REQUEST_BYTES),
    # Clients may ping every 5 s, with calls or without: a second less is asked for, since their timers and the network
    # bunch pings up. By default a server treats more than one ping in 5 minutes as abuse. An eleventh ping that comes
    # too early, with nothing sent by us in between, ends the connection.
    ("grpc.http2.min_ping_interval_without_data_ms", 4_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_ping_strikes", 10),
    # A client that vanished without a word is noticed within a minute, and its streams end. One that is only busy (an
    # event loop that stands, a tab in the background) has 50 s to answer a ping, or its next call would fail: the
    # library ends such a connection with ENHANCE_YOUR_CALM, which JavaScript clients report as RESOURCE_EXHAUSTED, as
    # if they had asked for too much. The keepalive timeout is for a connection that takes no bytes any more (a full
    # pipe); one that takes pings and does not answer is ended by the ping timeout.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 50_000),
    ("grpc.http2.ping_timeout_ms", 50_000),
    ("grpc.http2.max_pings_without_data", 0),
]


def server_options(settings: ServiceSettings) -> list[tuple[str, int]]:
    """Returns the options of a server, with the limits that are settings."""
    return [
        *SERVER_OPTIONS,
        # One connection more is closed as soon as it is made. What an idle one costs is memory alone.
        ("grpc.max_allowed_incoming_connections", connections_that_fit(settings.connections)),
        # One call more waits in its client until another has ended.
        ("grpc.max_concurrent_streams", settings.calls_per_connection),
    ]


def connections_that_fit(wanted: int) -> int:
    """Let this process open as many files as that many connections need, as far as the system allows; return for how
    many there is room. Without it, whoever opens connections would keep us from our own log.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted + FILES_OF_OUR_OWN if hard == resource.RLIM_INFINITY else hard
    files = max(soft, min(wanted + FILES_OF_OUR_OWN, allowed))
    if soft not in {files, resource.RLIM_INFINITY}:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    if soft == resource.RLIM_INFINITY or files >= wanted + FILES_OF_OUR_OWN:
        return wanted
    fit = max(1, files - FILES_OF_OUR_OWN)
    logger.warning("connections_capped", wanted=wanted, connections=fit, files=files)
    return fit
