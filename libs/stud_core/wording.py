"""How an action is worded for people, everywhere the same: refusals, tools, reports. Amounts are minor units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from stud_core.events import Option, Size, Verb

_SIZES: Final = {Size.LOW: "small", Size.HIGH: "big"}


def phrase(option: Option, among: Sequence[Option] = ()) -> str:
    """An option as a player would say it: ``call 1500``, ``raise to 2500``; its size where the amount does not tell."""
    name = word(option.verb)
    if option.verb in {Verb.FOLD, Verb.CHECK}:
        return name
    all_in = " all-in" if option.all_in else ""
    if option.verb in {Verb.CALL, Verb.BRING_IN}:
        return f"{name} {option.amount}{all_in}"
    twins = [other for other in among if other.verb is option.verb and other.to == option.to]
    size = f" ({_SIZES[option.size]})" if option.size is not None and len(twins) > 1 else ""
    return f"{name} to {option.to}{size}{all_in}"


def request(verb: Verb, to: int | None, size: Size | None) -> str:
    """What a player has asked for, legal or not."""
    asked = word(verb)
    if to is not None:
        asked += f" {to}" if verb is Verb.BRING_IN else f" to {to}"
    return asked if size is None else f"{asked} ({_SIZES[size]})"


def word(verb: Verb) -> str:
    """A verb as it is said: ``bring in``."""
    return verb.name.lower().replace("_", " ")
