"""The one error of this client, and the one place that makes it."""

from __future__ import annotations

from collections.abc import Mapping

import grpc
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]

from stud.table.v1 import table_service_pb2 as pb

DETAILS_KEY = "grpc-status-details-bin"

OPERATORS_NEEDED = frozenset({"LOG_BEHIND"})
"""Sent as UNAVAILABLE, but asking again soon is no use."""

PASSING = frozenset({"LOG_UNAVAILABLE", "OUTCOME_UNKNOWN", "STOPPING"})
"""The service cannot answer now; the same request may be sent again."""


class StudError(Exception):
    """A call failed. `reason` is a name of the catalogue, or the gRPC status where a service had no say in it (nobody
    listens: "UNAVAILABLE"; the deadline passed: "DEADLINE_EXCEEDED"; a message too big: "RESOURCE_EXHAUSTED").

    `metadata` is for machines ("legal", "rule", "field", "min", "max"); `text` is for people and may change. `code` is
    None for a command that was refused within a Play stream.
    """

    def __init__(
        self,
        reason: str,
        text: str,
        metadata: Mapping[str, str] | None = None,
        code: grpc.StatusCode | None = None,
    ) -> None:
        super().__init__(f"{reason}: {text}")
        self.reason = reason
        self.text = text
        self.metadata = dict(metadata or {})
        self.code = code

    @property
    def passing(self) -> bool:
        """Whether the same request may succeed in a moment."""
        if self.code is None:
            return self.reason in PASSING
        return self.code is grpc.StatusCode.UNAVAILABLE and self.reason not in OPERATORS_NEEDED


def from_rpc(error: grpc.aio.AioRpcError) -> StudError:
    """Returns what a failed call says, with the ErrorInfo if it brought one."""
    code, text = error.code(), error.details() or ""
    for key, value in error.trailing_metadata() or ():
        if key == DETAILS_KEY:
            info = _error_info(value)
            if info is not None:
                return StudError(info.reason, text, dict(info.metadata), code)
    return StudError(code.name, text or "no answer", None, code)


def _error_info(data: str | bytes) -> error_details_pb2.ErrorInfo | None:
    try:
        status = status_pb2.Status.FromString(data)
    except Exception:  # noqa: BLE001  (somebody between us and the service sends what it likes)
        return None
    info = error_details_pb2.ErrorInfo()
    for detail in status.details:
        if detail.Is(info.DESCRIPTOR) and detail.Unpack(info):
            return info
    return None


def from_result(result: pb.CommandResult) -> StudError:
    """Returns what a refused command of a Play stream says."""
    return StudError(result.reason, result.text, result.metadata)
