"""What differs between two versions of a table, per seat and for the table, from what everybody saw of it."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from google.protobuf.message import Message

from stud.table.v1 import table_service_pb2 as pb
from stud_core.cards import card_name
from stud_core.house_rules.saying import money
from stud_replay.times import iso

_MONEY: Final = frozenset({"stack", "pending", "bet", "paid", "pot_total", "to_call", "amount", "to", "rake", "won"})
_CARD: Final = "stud.common.v1.Card"
_MESSAGE: Final = 11
"""A message, by the number of field types in protobuf's own descriptors."""
_LEFT_OUT: Final = frozenset({"TableView.seats", "SeatView.seat"})


class Change(msgspec.Struct, frozen=True):
    """One thing that differs. ``seat`` 0 = it is the table's; ``field`` is its path in ``TableView`` or ``SeatView``;
    ``before`` and ``after`` are for people, empty = nothing there.
    """

    seat: int
    account: str
    field: str
    before: str
    after: str

    @property
    def words(self) -> str:
        """The change as a line: ``ada (seat 3): stack 100 -> 87.50``."""
        where = f"{self.account} (seat {self.seat})" if self.account else f"seat {self.seat}" if self.seat else "table"
        return f"{where}: {self.field.replace('_', ' ')} {self.before or 'nothing'} -> {self.after or 'nothing'}"


def difference(before: pb.TableView, after: pb.TableView) -> tuple[Change, ...]:
    """Return what differs, seats first; nothing that was not in both views can be in it."""
    found: list[Change] = []
    old = {seat.seat: seat for seat in before.seats}
    new = {seat.seat: seat for seat in after.seats}
    for seat in sorted({*old, *new}):
        was, now = old.get(seat, pb.SeatView()), new.get(seat, pb.SeatView())
        account = now.account or was.account
        found += [Change(seat, account, *changed) for changed in _fields(was, now)]
    return (*found, *[Change(0, "", *changed) for changed in _fields(before, after)])


def _fields(before: Message, after: Message, path: str = "") -> list[tuple[str, str, str]]:
    """Path, value before, value after of every field that differs."""
    found: list[tuple[str, str, str]] = []
    for field in before.DESCRIPTOR.fields:
        if f"{before.DESCRIPTOR.name}.{field.name}" in _LEFT_OUT:
            continue
        name = f"{path}{field.name}"
        was, now = getattr(before, field.name), getattr(after, field.name)
        if was == now:
            continue
        if field.type == _MESSAGE and not field.is_repeated:
            found += _fields(was, now, f"{name}.")
        else:
            found.append((name, _words(field, was), _words(field, now)))
    return found


def _words(field: Any, value: Any) -> str:
    """A value as people read it; empty where there is none."""
    if field.is_repeated:
        return " ".join([_word(field, item) for item in value])
    return _word(field, value) if value else ""


def _word(field: Any, value: Any) -> str:
    if isinstance(value, Message):
        parts = [f"{inner.name} {_words(inner, getattr(value, inner.name))}" for inner in value.DESCRIPTOR.fields]
        return f"({', '.join(parts)})"
    if field.enum_type is not None:
        if field.enum_type.full_name == _CARD:
            return card_name(value - 1)
        number = field.enum_type.values_by_number.get(value)
        return str(value) if number is None else number.name.lower()
    if isinstance(value, bytes):
        return value.hex()[:16] + "…"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if field.name in _MONEY:
        return money(value)
    return iso(value) if field.name.endswith("_ms") and field.name != "hand_pause_ms" else str(value)
