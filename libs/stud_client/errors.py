"""The one error of this client, and the one place that makes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

import grpc
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2  # type: ignore[import-untyped]
from grpc_status import rpc_status

from stud.common.v1 import seat_pb2
from stud.errors.v1 import details_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_client.tls import why_not_connected

OPERATORS_NEEDED = frozenset({"LOG_BEHIND"})
"""Sent as UNAVAILABLE, but asking again soon does not help."""

PASSING = frozenset({"LOG_UNAVAILABLE", "OUTCOME_UNKNOWN", "STOPPING", "RATE_LIMITED"})
"""The service cannot answer now; the same request may be sent again."""


class StudError(Exception):
    """A call failed. `reason` is a name of the catalogue, or the gRPC status where a service had no say in it (nobody
    listens: "UNAVAILABLE"; the deadline passed: "DEADLINE_EXCEEDED"; a message too big: "RESOURCE_EXHAUSTED").

    `metadata` is for machines ("rule", "field", "min", "max", "turn_id"), and so are `legal`, the actions that would
    have been legal, and `wrong`, every field that is wrong with what a table was to be opened with. `text` is for
    people and may change. `code` is None for a command that was refused within a Play stream.
    """

    def __init__(
        self,
        reason: str,
        text: str,
        metadata: Mapping[str, str] | None = None,
        code: grpc.StatusCode | None = None,
        *,
        legal: Iterable[seat_pb2.Option] = (),
        wrong: Iterable[details_pb2.WrongField] = (),
    ) -> None:
        super().__init__(f"{reason}: {text}")
        self.reason = reason
        self.text = text
        self.metadata = dict(metadata or {})
        self.code = code
        self.legal = tuple(legal)
        self.wrong = tuple(wrong)

    @property
    def passing(self) -> bool:
        """Whether the same request may succeed in a moment."""
        if self.code is None or self.code is grpc.StatusCode.RESOURCE_EXHAUSTED:
            return self.reason in PASSING
        return self.code is grpc.StatusCode.UNAVAILABLE and self.reason not in OPERATORS_NEEDED

    @property
    def retry_after_s(self) -> float:
        """In how many seconds the service would take the request (RATE_LIMITED); 0 if it does not say."""
        try:
            return max(0, int(self.metadata.get("retry_after_ms", "0"))) / 1000
        except ValueError:
            return 0.0


def from_rpc(error: grpc.aio.AioRpcError) -> StudError:
    """Returns what a failed call says, with its details if it brought them."""
    code, text = error.code(), error.details() or ""
    details = _details(error)
    info = _first(details, error_details_pb2.ErrorInfo)
    if info is None:
        why = why_not_connected(text)
        return StudError(code.name, f"no connection: {why} ({text})" if why else text or "no answer", None, code)
    legal = _first(details, details_pb2.LegalActions) or details_pb2.LegalActions()
    wrong = _first(details, details_pb2.WrongFields) or details_pb2.WrongFields()
    return StudError(info.reason, text, dict(info.metadata), code, legal=legal.options, wrong=wrong.fields)


def _details(error: grpc.aio.AioRpcError) -> Sequence[Any]:
    try:
        status = rpc_status.from_call(cast("grpc.Call", error))
    except (ValueError, DecodeError):  # something between us and the service sends what it likes
        return ()
    return () if status is None else list(status.details)


Detail = TypeVar("Detail", bound=Message)


def _first(details: Iterable[Any], kind: type[Detail]) -> Detail | None:
    """Returns the first detail of a kind; None where there is none."""
    found = kind()
    try:
        return next((found for detail in details if detail.Is(found.DESCRIPTOR) and detail.Unpack(found)), None)
    except DecodeError:
        return None


def from_result(result: pb.CommandResult) -> StudError:
    """Returns what a refused command of a Play stream says."""
    return StudError(result.reason, result.text, result.metadata, legal=result.legal)
