"""A decoder that forgives nothing: what common decoders of other languages lose or refuse is an error here.

Google's parsers merge a singular message field that occurs twice; protobufjs 7, ts-proto 2 and JSON transcoders keep
the last one. So each singular field may occur once, each member of a oneof alone, fields come in the order of their
numbers, every field is known to the contract, and nothing is there that serialising the message would leave out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf import any_pb2
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]

from stud.errors.v1 import details_pb2

_FIXED = {1: 8, 5: 4}
_BYTES = 2
_DETAILS: tuple[type[Message], ...] = (
    error_details_pb2.ErrorInfo,
    details_pb2.LegalActions,
    details_pb2.WrongFields,
)


class NotCanonical(AssertionError):
    """What is wrong with the bytes, and where."""


def check_canonical(kind: type[Message], data: bytes) -> None:
    """Raise NotCanonical for bytes that are not what serialising the message would give; maps may have any order."""
    walk(kind.DESCRIPTOR, data)
    if kind.FromString(data).ByteSize() != len(data):
        raise NotCanonical(f"{kind.DESCRIPTOR.full_name}: not the bytes that serialising gives")


def check_status(data: bytes) -> None:
    """Raise NotCanonical for the value of `grpc-status-details-bin` that a strict client could not read whole."""
    walk(status_pb2.Status.DESCRIPTOR, data)
    for detail in status_pb2.Status.FromString(data).details:
        known = {kind.DESCRIPTOR.full_name: kind for kind in _DETAILS}
        _check_detail(known, detail)


def _check_detail(known: dict[str, type[Message]], detail: any_pb2.Any) -> None:
    name = detail.type_url.rpartition("/")[2]
    if name not in known:
        raise NotCanonical(f"a detail of a kind that the contract does not name: {detail.type_url}")
    walk(known[name].DESCRIPTOR, detail.value)


def walk(message: Any, data: bytes, path: str = "") -> None:
    """Go through a message and all in it."""
    path = path or message.name
    seen: set[str] = set()
    last = 0
    for number, kind, value in _fields(data, path):
        field = message.fields_by_number.get(number)
        if field is None:
            raise NotCanonical(f"{path}: field {number} is not in the contract")
        where = f"{path}.{field.name}"
        if number < last:
            raise NotCanonical(f"{where}: comes behind a field with a greater number")
        last = number
        if not field.is_repeated:
            _once(field, seen, where)
        if kind == _BYTES and field.message_type is not None:
            walk(field.message_type, value, where)


def _once(field: FieldDescriptor, seen: set[str], where: str) -> None:
    name = field.containing_oneof.full_name if field.containing_oneof is not None else field.name
    if name in seen:
        raise NotCanonical(f"{where}: a singular field, and it occurs again")
    seen.add(name)


def _fields(data: bytes, path: str) -> Iterator[tuple[int, int, Any]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at, path)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(data, at, path)
            yield tag >> 3, kind, value
            continue
        if kind == _BYTES:
            size, at = _varint(data, at, path)
        elif kind in _FIXED:
            size = _FIXED[kind]
        else:
            raise NotCanonical(f"{path}: wire type {kind}")
        if at + size > len(data):
            raise NotCanonical(f"{path}: a field is longer than its message")
        yield tag >> 3, kind, data[at : at + size]
        at += size


def _varint(data: bytes, at: int, path: str) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise NotCanonical(f"{path}: a number without an end")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if shift and not byte:
                raise NotCanonical(f"{path}: a number that is longer than it must be")
            return value, at
        shift += 7
