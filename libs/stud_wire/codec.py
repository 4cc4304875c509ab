"""Core structs <-> protobuf messages, by name.

A core struct and the message of the same name have the same field names, so one pair of functions is
compiled for each class when it is first used; there is no hand-written mapping that could drift. What
differs is settled here once: cards are 0..51 in the core and 1..52 on the wire, an absent value is None
in the core and "not set" on the wire, lists are tuples. Compiled source instead of closures: a commit is
decoded for every rebuilt version, and this is four times as fast.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from enum import IntEnum
from functools import lru_cache
from typing import Any

import msgspec
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from stud.common.v1 import ruleset_pb2, seat_pb2
from stud.events.v1 import deck_events_pb2, ledger_events_pb2, table_events_pb2, verdict_events_pb2
from stud_wire.shallow import LEFT_AS_BYTES

_CARD = "stud.common.v1.Card"
_MODULES = (table_events_pb2, deck_events_pb2, verdict_events_pb2, ledger_events_pb2, seat_pb2, ruleset_pb2)


class WireError(ValueError):
    """Bytes or a message that this build cannot read: unknown event, unknown enum value, missing part."""


class UnknownEventError(WireError):
    """Written by a newer build: an event that is not marked ignorable, or a newer format. Waiting for an upgrade helps,
    whereas other faults of the bytes stay.
    """


T = typing.TypeVar("T", bound=msgspec.Struct)
Decoder = Callable[[Any], Any]
Encoder = Callable[[Any, Any], None]

_decoders: dict[type, Decoder] = {}
_encoders: dict[type, Encoder] = {}


def message_class(cls: type[msgspec.Struct]) -> type[Message]:
    """Return the protobuf class with the name of a core struct."""
    for module in _MODULES:
        found = getattr(module, cls.__name__, None)
        if found is not None:
            return typing.cast("type[Message]", found)
    raise WireError(f"no message is called {cls.__name__}")


def to_message(value: msgspec.Struct) -> Any:
    """Encode a core struct into a new message of its name."""
    message = message_class(type(value))()
    encoder(type(value))(value, message)
    return message


def from_message(cls: type[T], message: Any) -> T:
    """Decode a message into a core struct; raises WireError on an unknown enum value."""
    try:
        return typing.cast("T", decoder(cls)(message))
    except (ValueError, IndexError) as error:
        raise WireError(f"{cls.__name__}: {error}") from error


def decoder(cls: type) -> Decoder:
    """Return the function message -> struct of a class, compiled once."""
    found = _decoders.get(cls)
    if found is None:
        found = _decoders[cls] = _compile_decoder(cls)
    return found


def shallow_decoder(cls: type) -> Decoder:
    """Return the same for the messages of `shallow`: compiled anew at each call."""
    left = frozenset(name for message, name in LEFT_AS_BYTES if message == cls.__name__)
    return _compile_decoder(cls, left) if left else decoder(cls)


def encoder(cls: type) -> Encoder:
    """Return the function (struct, empty message) -> None of a class, compiled once."""
    found = _encoders.get(cls)
    if found is None:
        found = _encoders[cls] = _compile_encoder(cls)
    return found


class _Field(typing.NamedTuple):
    name: str
    kind: Any  # int, str, bytes, bool, an IntEnum, or a struct class
    many: bool
    optional: bool
    card: bool


def _fields(cls: type) -> list[_Field]:
    hints = typing.get_type_hints(cls)
    descriptor = message_class(cls).DESCRIPTOR
    return [_field(cls, name, hints[name], descriptor) for name in cls.__struct_fields__]  # type: ignore[attr-defined]


def _field(cls: type, name: str, hint: Any, descriptor: Any) -> _Field:
    wire: FieldDescriptor | None = descriptor.fields_by_name.get(name)
    if wire is None:
        raise WireError(f"message {descriptor.full_name} has no field {name!r} of {cls.__name__}")
    optional = many = False
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        (hint,) = [part for part in typing.get_args(hint) if part is not type(None)]
        optional = True
    if typing.get_origin(hint) is tuple:
        hint, many = typing.get_args(hint)[0], True
    card = wire.enum_type is not None and wire.enum_type.full_name == _CARD
    return _Field(name, hint, many, optional, card)


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, IntEnum)


# ``[:]``: a repeated field is copied into a list at once, which takes half as long as walking through it.


def _compile_decoder(cls: type, left_as_bytes: frozenset[str] = frozenset()) -> Decoder:
    scope: dict[str, Any] = {"cls": cls}
    parts = []
    for field in _fields(cls):
        value = _decode_expression(field, scope, left_as_bytes=field.name in left_as_bytes)
        parts.append(value if field.name in cls.__match_args__ else f"{field.name}={value}")  # type: ignore[attr-defined]
    source = f"lambda m: cls({', '.join(parts)})"
    return typing.cast("Decoder", eval(source, scope))  # noqa: S307 - source is made of our own field names only


def _decode_expression(field: _Field, scope: dict[str, Any], *, left_as_bytes: bool) -> str:
    read = f"m.{field.name}"
    if field.card:
        scope["card"] = _CARDS
        if field.many:
            return f"tuple([card[c] for c in {read}[:]])"
        return f"(card[c] if (c := {read}) else None)" if field.optional else f"card[{read}]"
    if _is_struct(field.kind):
        scope[f"d_{field.name}"] = decoder(field.kind)
        if left_as_bytes:
            scope[f"d_{field.name}"] = _recurring(field.kind)
            return f"d_{field.name}(tuple({read}[:]))"
        if field.many:
            return f"tuple([d_{field.name}(x) for x in {read}[:]])"
        call = f"d_{field.name}({read})"
        return f"({call} if m.HasField({field.name!r}) else None)" if field.optional else call
    if _is_enum(field.kind):
        scope[f"e_{field.name}"] = known = _Known({int(value): value for value in field.kind}, field.kind.__name__)
        if field.optional:
            known[0] = None
        return f"e_{field.name}[{read}]"
    if field.many:
        return f"tuple({read}[:])"
    return f"({read} if m.HasField({field.name!r}) else None)" if field.optional else read


def _recurring(kind: Any) -> Callable[[tuple[bytes, ...]], tuple[Any, ...]]:
    """A list of structs from the bytes of their messages: what was met lately is not decoded again."""
    parse, decode = message_class(kind).FromString, decoder(kind)

    @lru_cache(maxsize=4096)
    def known(parts: tuple[bytes, ...]) -> tuple[Any, ...]:
        return tuple([decode(parse(part)) for part in parts])

    return known


class _Known(dict[int, Any]):
    """Values by their number on the wire: looking one up costs a fraction of a call. Another number is a WireError."""

    def __init__(self, values: dict[int, Any], name: str) -> None:
        super().__init__(values)
        self._name = name

    def __missing__(self, number: int) -> Any:
        raise WireError(f"{self._name} has no value {number}: want one of {sorted(filter(None, self))}")


_CARDS: typing.Final = _Known({card + 1: card for card in range(52)}, "Card")


def _compile_encoder(cls: type) -> Encoder:
    scope: dict[str, Any] = {}
    lines = ["def encode(v, m):", "    pass"]
    for field in _fields(cls):
        lines += [f"    {line}" for line in _encode_lines(field, scope)]
    exec("\n".join(lines), scope)  # noqa: S102 - source is made of our own field names only
    return typing.cast("Encoder", scope["encode"])


def _encode_lines(field: _Field, scope: dict[str, Any]) -> list[str]:
    name, read = field.name, f"v.{field.name}"
    guard = f"if {read} is not None: " if field.optional else ""
    if field.card:
        if field.many:
            return [f"m.{name}.extend([c + 1 for c in {read}])"]
        return [f"{guard}m.{name} = {read} + 1"]
    if _is_struct(field.kind):
        scope[f"s_{name}"] = encoder(field.kind)
        if field.many:
            return [f"for x in {read}: s_{name}(x, m.{name}.add())"]
        if field.optional:
            return [f"if {read} is not None:", f"    m.{name}.SetInParent()", f"    s_{name}({read}, m.{name})"]
        return [f"m.{name}.SetInParent()", f"s_{name}({read}, m.{name})"]
    if field.many:
        return [f"m.{name}.extend({read})"]
    return [f"{guard}m.{name} = {read}"]
