"""What people write for a knob of the house rules -> the core's value; what is wrong is said with what would be right.

``--set knob=value`` and a table's TOML file take the same words: a number, yes or no, a choice by its name, ``none``
for what may be absent, and for a buy-in limit an amount in minor units or a number of small bets (``20x``).
"""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import Any, Final, get_type_hints

from stud_core.rejection import Problem, Reason
from stud_core.ruleset import BuyInLimit, Ruleset

KNOBS: Final[dict[str, Any]] = get_type_hints(Ruleset)
"""Every knob and its type."""

YES, NO = frozenset({"true", "yes", "on"}), frozenset({"false", "no", "off"})
MAX_INT: Final = 2**31 - 1
INVALID_FIELD: Final = "INVALID_FIELD"
AMOUNTS: Final = frozenset({"rake_cap"})
"""Knobs that hold an amount, which may be greater than other numbers."""


class WrongValue(ValueError):
    """No value of a knob; the text says what would be."""


def pairs(settings: Iterable[str]) -> tuple[dict[str, str], list[Problem]]:
    """Return ``knob=value`` words as a mapping, and what is wrong with them."""
    found: dict[str, str] = {}
    problems = []
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals:
            problems.append(Problem(INVALID_FIELD, text[:64], "want --set KNOB=VALUE"))
        else:
            found[name.strip()] = value.strip()
    return found, problems


def overrides(given: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """Return the core values of knobs as people wrote them, and everything that is wrong."""
    values: dict[str, Any] = {}
    problems = []
    for name, value in given.items():
        try:
            values[name] = value_of(name, value)
        except WrongValue as why:
            problems.append(Problem(Reason.INVALID_RULESET, name[:64], str(why)))
    return values, problems


def value_of(name: str, value: Any) -> Any:
    """Return the core value of one knob. Raises WrongValue."""
    if name not in KNOBS:
        raise WrongValue(f"there is no such knob{nearly(name, KNOBS)}")
    kind = KNOBS[name]
    optional = isinstance(kind, types.UnionType) and types.NoneType in typing.get_args(kind)
    if optional:
        if str(value).lower() == "none":
            return None
        kind = next(part for part in typing.get_args(kind) if part is not types.NoneType)
    more = ", or none" if optional else ""
    if issubclass(kind, IntEnum):
        return _choice(kind, value)
    if kind is int:
        return _number(value, 10**15 if name in AMOUNTS else MAX_INT, more)
    return _READERS[kind](value, more)


def wanted(name: str) -> list[str]:
    """Return values of a knob that completion may offer."""
    kind = KNOBS.get(name)
    if isinstance(kind, type) and issubclass(kind, IntEnum):
        return [choice.name.lower() for choice in kind]
    if kind is bool:
        return ["yes", "no"]
    return ["none"] if isinstance(kind, types.UnionType) else []


def nearly(word: str, known: Iterable[str]) -> str:
    """Return ``: did you mean …?`` where a word is nearly a known one; empty otherwise."""
    close = difflib.get_close_matches(word, list(known), 1)
    return f": did you mean {close[0]}?" if close else ""


def _choice(kind: type[IntEnum], value: Any) -> IntEnum:
    found = kind.__members__.get(str(value).upper())
    if found is None:
        raise WrongValue(f"{str(value)[:64]!r}: want {', '.join(choice.name.lower() for choice in kind)}")
    return found


def _switch(value: Any, _: str) -> bool:
    word = str(value).lower()
    if word not in YES | NO:
        raise WrongValue(f"{str(value)[:64]!r}: want yes or no")
    return word in YES


def _number(value: Any, most: int, more: str) -> int:
    number = whole(value)
    if number is None or not -most <= number <= most:
        raise WrongValue(no_number(value, most, more))
    return number


def no_number(value: Any, most: int, more: str = "") -> str:
    """Say what would have been a number; ``most`` where it is one, and only too great."""
    bound = f" of at most {most}" if str(value).strip().removeprefix("-").isdecimal() else ""
    return f"{str(value)[:64]!r}: want a whole number{bound}{more}"


def whole(value: Any) -> int | None:
    """Return a whole number that somebody wrote; None where it is none."""
    text = str(value).strip().removeprefix("-")
    if isinstance(value, bool | float) or len(text) > 18 or not (text.isascii() and text.isdecimal()):
        return None
    return int(value)


def _limit(value: Any, more: str) -> BuyInLimit:
    wanted = f"an amount in minor units, such as 5000, or a number of small bets, such as 20x{more}"
    wrong = WrongValue(f"{str(value)[:64]!r}: want {wanted}")
    if isinstance(value, Mapping):
        numbers = {name: whole(number) for name, number in value.items()}
        if not numbers.keys() <= {"amount", "small_bets"} or None in numbers.values():
            raise wrong
        return BuyInLimit(**numbers)
    text = str(value)
    number = whole(text.removesuffix("x"))
    if number is None:
        raise wrong
    return BuyInLimit(small_bets=number) if text.endswith("x") else BuyInLimit(amount=number)


def _text(value: Any, _: str) -> str:
    return str(value)


_READERS: Final[Mapping[type, Callable[[Any, str], Any]]] = {bool: _switch, BuyInLimit: _limit, str: _text}
