"""What the edge offers: every call that a player may make and a browser can. Nothing is listed here by hand: which
calls there are, and which of them stream, the services' descriptors say, and who may make them the contract's comments.

A browser sends one request and receives one answer or many. So `Play`, on which a client goes on sending, is for native
clients; here everything on it is a call of its own beside `Watch`.
"""

from __future__ import annotations

import importlib
from typing import NamedTuple

from google.protobuf import descriptor_pool

from edge_service.player_calls import PLAYER_CALLS
from stud_topology.services import SERVICES


class Method(NamedTuple):
    """A call, and which service answers it."""

    service: str
    path: str
    streams: bool


def offered() -> list[Method]:
    """Returns all of them, in the order of the contract."""
    found = []
    for service in SERVICES:
        importlib.import_module(f"stud.{service.name}.v1.{service.name}_service_pb2")
        described = descriptor_pool.Default().FindServiceByName(service.grpc_name)
        found += [
            Method(service.name, path, method.server_streaming)
            for method in described.methods
            if (path := f"/{service.grpc_name}/{method.name}") in PLAYER_CALLS and not method.client_streaming
        ]
    return found
