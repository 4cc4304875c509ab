"""How a refusal reaches a browser: as the services say it, with every detail; Connect and gRPC-Web each have their way
to carry them (the library's matter).

What a service did not say itself, gRPC says, in words that name addresses of ours: those stay here.
"""

from __future__ import annotations

import secrets
from typing import Final

import grpc
import structlog
from connectrpc.code import Code
from connectrpc.errors import ConnectError, ErrorDetail
from google.rpc import status_pb2  # type: ignore[import-untyped]
from protobuf.wkt import Any

from stud_service.refusals import Refused

logger = structlog.get_logger(__name__)

DETAILS: Final = "grpc-status-details-bin"
CODES: Final = {
    status: Code[status.name.replace("CANCELLED", "CANCELED")] for status in grpc.StatusCode if status.value[0]
}

TEXTS: Final = {
    grpc.StatusCode.UNAVAILABLE: "the service cannot be reached now: ask again with the same request_id",
    grpc.StatusCode.DEADLINE_EXCEEDED: "there was no answer within the deadline; it may still come about",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "the message or its metadata are too large",
}
"""Where a service said nothing."""


def of_refused(refused: Refused) -> ConnectError:
    """Returns a refusal of the edge's own."""
    return _of_status(CODES[refused.code], refused.status())


def of_rpc(error: grpc.aio.AioRpcError) -> ConnectError:
    """Returns what a service answered, or why there is no answer."""
    code = CODES[error.code()]
    for name, value in error.trailing_metadata() or ():
        if name == DETAILS and isinstance(value, bytes):
            return _of_status(code, status_pb2.Status.FromString(value))
    return ConnectError(code, TEXTS.get(error.code(), "the service gave no answer"))


def of_fault(fault: Exception) -> ConnectError:
    """Returns what a caller is told of a fault of ours, which is logged: an incident id and no text."""
    incident = secrets.token_hex(8)
    logger.error("incident", incident=incident, exc_info=fault)
    return of_refused(Refused("INTERNAL", f"something unexpected happened, incident {incident}", incident=incident))


def _of_status(code: Code, status: status_pb2.Status) -> ConnectError:
    details = [ErrorDetail(Any(type_url=detail.type_url, value=detail.value)) for detail in status.details]
    return ConnectError(code, status.message, details)
