"""What a key does to a turn: the options that the server sent, each with its key and its words. Pure.

Small letters act, capitals choose ahead of the turn, so that a key that comes too late never chooses anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core.events import Option, Size, Verb
from stud_replay.words.betting import option_words

FOLD: Final = "f"
STAY: Final = "c"
WAGER: Final = "b"
HIGHER: Final = "h"
ALL_IN: Final = "a"
CLEAR: Final = "x"
CALL_ANY: Final = "A"
ACTING: Final = (FOLD, STAY, WAGER, HIGHER, ALL_IN)
_STAYING: Final = frozenset({seat_pb2.VERB_CHECK, seat_pb2.VERB_CALL, seat_pb2.VERB_BRING_IN})


class Button(msgspec.Struct, frozen=True):
    """A key, what it does in words, and the option behind it as it was sent."""

    key: str
    words: str
    option: seat_pb2.Option
    any_price: bool = False

    def __str__(self) -> str:
        return f"{self.key} {self.words}"


def of_turn(options: Sequence[seat_pb2.Option]) -> list[Button]:
    """Return the buttons of a turn: fold, check or call, a wager, its higher size where there are two, all-in."""
    found = [Button(FOLD, words(option), option) for option in options if option.verb == seat_pb2.VERB_FOLD]
    found += [Button(STAY, words(option), option) for option in options if option.verb in _STAYING]
    wagers = sorted((option for option in options if _is_wager(option)), key=lambda option: (option.to, option.size))
    found += [Button(key, words(option), option) for key, option in zip((WAGER, HIGHER), wagers, strict=False)]
    last_chip = [option for option in options if option.all_in]
    if last_chip:
        most = max(last_chip, key=lambda option: option.to)
        found.append(Button(ALL_IN, words(most), most))
    return found


def ahead(
    options: Sequence[seat_pb2.Option], chosen: pb.PreAction | None = None, *, any_price: bool = False
) -> list[Button]:
    """Return the buttons of a player whose turn it is not; the one that is ``chosen`` already says so. ``any_price``:
    the table has Call Any too.
    """
    out = []
    for button in of_turn(options):
        if button.key != ALL_IN:
            stands = " (chosen)" if _is(button.option, chosen) else ""
            out.append(Button(button.key.upper(), _ahead_words(button.option) + stands, button.option))
    if any_price and any(option.verb in _STAYING for option in options):
        stands = " (chosen)" if chosen is not None and chosen.any_price else ""
        call = seat_pb2.Option(verb=seat_pb2.VERB_CALL)
        out.append(Button(CALL_ANY, f"call whatever it costs{stands}", call, any_price=True))
    return out


def pressed(buttons: Sequence[Button], key: str) -> Button | None:
    """Return what a key does now; None where it does nothing."""
    return next((button for button in buttons if button.key == key), None)


def words(option: seat_pb2.Option) -> str:
    """Return an option as it is spoken: ``raise to 15``."""
    size = Size(option.size) if option.size else None
    return option_words(Option(Verb(option.verb), option.amount, option.to, size, option.all_in))


def can_check(options: Sequence[seat_pb2.Option]) -> bool:
    """Whether staying in costs nothing."""
    return any(option.verb == seat_pb2.VERB_CHECK for option in options)


def _ahead_words(option: seat_pb2.Option) -> str:
    return "fold, or check if that is free" if option.verb == seat_pb2.VERB_FOLD else words(option)


def _is_wager(option: seat_pb2.Option) -> bool:
    return option.verb not in _STAYING and option.verb != seat_pb2.VERB_FOLD


def _is(option: seat_pb2.Option, chosen: pb.PreAction | None) -> bool:
    """Whether that is the choice that stands; completing is a raise there."""
    verb = seat_pb2.VERB_RAISE if option.verb == seat_pb2.VERB_COMPLETE else option.verb
    return chosen is not None and not chosen.any_price and chosen.verb == verb and chosen.size in {0, option.size}
