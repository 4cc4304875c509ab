"""What a sentence about an event is made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from stud_core.cards import card_name
from stud_core.house_rules.saying import money
from stud_core.state import Table


class Told(msgspec.Struct, frozen=True, gc=False):
    """An event in words: ``why`` it was legal or due, and the ``rules`` that say so; ``seat`` 0 = nobody's."""

    what: str
    why: str = ""
    rules: tuple[str, ...] = ()
    seat: int = 0


def at_seat(state: Table, seat: int) -> str:
    """Who sits there: ``ada (seat 3)``; the seat alone where nobody does any more."""
    number = state.seats[seat] if 0 < seat < len(state.seats) else 0
    return f"{state.sittings[number].account} (seat {seat})" if number in state.sittings else f"seat {seat}"


def of_sitting(state: Table, sitting_no: int) -> tuple[str, int]:
    """Whose sitting it is, and at which seat; 0 where it is gone or never had one."""
    sitting = state.sittings.get(sitting_no)
    if sitting is None:
        return f"sitting {sitting_no}", 0
    return (f"{sitting.account} (seat {sitting.seat})" if sitting.seat else sitting.account), sitting.seat


def cards(codes: Iterable[int]) -> str:
    """Cards of the core by name: ``Ah Td``."""
    return " ".join([card_name(code) for code in codes])


def chips(amount: int, *, all_in: bool = False) -> str:
    """An amount as it is spoken, and whether it is the last of it."""
    return f"{money(amount)}, all-in" if all_in else money(amount)


def listed(parts: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
