"""Recorded hands: one JSON object per line, as in ``tests/golden/hands``.

Reads files and checks the format of each line. Whether what a hand says agrees with itself is asked later
(``contradictions``); how a hand is played or judged is not known here. Money is integer minor units, seats are the
source's own numbers, ``"??"`` is a card that was never revealed.
"""

from __future__ import annotations

import re
import sys
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal

import msgspec

from stud_core.amounts import MAX_AMOUNT
from stud_core.cards import parse_card
from stud_hands.lines import whole_values

STDIN: Final = Path("-")
HIDDEN: Final = "??"
MAX_PLAYERS: Final = 8
_LEADING_ID: Final = re.compile(r'\s*\{\s*"id"\s*:\s*"([^"\\]{1,200})"')


class BadHandError(ValueError):
    """A line that is not a hand in the format; the text says what is wrong and what would be right. ``hand_id`` is
    empty where not even that can be read.
    """

    def __init__(self, text: str, hand_id: str = "") -> None:
        super().__init__(text)
        self.hand_id = hand_id


class Seat(msgspec.Struct, frozen=True):
    """A player who was dealt in; ``stack`` is what they had before the ante."""

    seat: int
    player: str
    stack: int


class _Event(msgspec.Struct, frozen=True, tag_field="type"):
    pass


class Ante(_Event, frozen=True, tag="ante"):
    player: str
    amount: int
    all_in: bool


class Deal(_Event, frozen=True, tag="deal"):
    """Third street of one player: two cards down, one up."""

    player: str
    down: tuple[str, ...]
    up: tuple[str, ...]


class BringIn(_Event, frozen=True, tag="bring_in", kw_only=True):
    """The first chips of the street, so that ``to`` says nothing new and may be left out."""

    player: str
    amount: int
    to: int | None = None
    all_in: bool


class _Action(_Event, frozen=True):
    """``amount`` is put in by this action; ``to`` is the player's total on the street after it."""

    player: str
    amount: int
    to: int
    all_in: bool


class Complete(_Action, frozen=True, tag="complete"):
    pass


class Bet(_Action, frozen=True, tag="bet"):
    pass


class Raise(_Action, frozen=True, tag="raise"):
    pass


class Call(_Action, frozen=True, tag="call"):
    pass


class Check(_Action, frozen=True, tag="check"):
    pass


class Fold(_Action, frozen=True, tag="fold"):
    pass


class Street(_Event, frozen=True, tag="street"):
    """Cards of fourth to seventh street by player; ``community`` instead when one card served all."""

    street: int
    cards: dict[str, tuple[str, ...]]
    community: tuple[str, ...] | str | None


class Uncalled(_Event, frozen=True, tag="uncalled"):
    player: str
    amount: int


class Show(_Event, frozen=True, tag="show"):
    """All the player's cards, or only some of them, mostly the best five."""

    player: str
    cards: tuple[str, ...]


class Muck(_Event, frozen=True, tag="muck"):
    player: str


class Award(_Event, frozen=True, tag="award"):
    player: str
    amount: int


Action = BringIn | Complete | Bet | Raise | Call | Check | Fold
ACTIONS: Final = (BringIn, Complete, Bet, Raise, Call, Check, Fold)
Event = Ante | Deal | Action | Street | Uncalled | Show | Muck | Award


class RecordedHand(msgspec.Struct, frozen=True, kw_only=True):
    """One hand. Fields that nothing depends on (``source``, ``site``, ``button``, ``notes``) are not read."""

    id: str
    kind: Literal["cash", "tournament"]
    unit: Literal["cent", "chip"]
    small_bet: int
    big_bet: int
    ante: int
    bring_in: int | None
    seats: tuple[Seat, ...]
    events: tuple[Event, ...]
    pot_total: int
    rake: int


class BadLine(msgspec.Struct, frozen=True):
    """A line that is not a hand: ``line`` counts from 1; 0 means the file itself could not be read, or holds none.
    ``hand_id`` is empty where it cannot be read.
    """

    file: str
    line: int
    why: str
    hand_id: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.why}" if self.line else self.why


def verb_of(action: Action) -> str:
    """The action's name in the file: ``"raise"``."""
    return str(type(action).__struct_config__.tag)


def read_places(path: Path, name: str = "") -> Iterator[tuple[str, RecordedHand | BadLine]]:
    """Yield the hands of a file in order, each with where it stands; what is not one comes as :class:`BadLine`. One
    line is held at a time.

    ``-`` is standard input; ``name`` is what to call the file, if not by its path.
    """
    name = name or str(path)
    empty = True
    try:
        with nullcontext(sys.stdin.buffer) if path == STDIN else path.open("rb") as lines:
            for number, text in whole_values(_not_blank(lines)):
                empty = False
                yield f"{name}:{number}", _read_line(text, name, number)
    except OSError as error:
        yield name, BadLine(name, 0, f"{name}: cannot be read ({error.strerror}): wanted a file with one hand a line")
    else:
        if empty:
            yield name, BadLine(name, 0, f"no hands in {name}")


def _not_blank(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(lines, 1):
        text = line.removeprefix(BOM_UTF8) if number == 1 else line
        if text.strip():
            yield number, text


def count_hands(paths: Iterable[Path]) -> int | None:
    """How many lines will be read, as far as files tell it beforehand; None with standard input."""
    total = 0
    for path in paths:
        if path == STDIN or path.is_fifo():
            return None
        try:
            with path.open("rb") as lines:
                total += sum(not line.isspace() for line in lines)
        except OSError:
            continue  # told when it is read
    return total


def _read_line(line: bytes, file: str, number: int) -> RecordedHand | BadLine:
    lines = line.strip().count(b"\n") + 1
    if lines > 1:
        what = f"one JSON value over {lines} lines: wanted one hand a line, as `jq -c` writes it"
        return BadLine(file, number, what, _id_of(line))
    try:
        return parse_hand(line)
    except BadHandError as error:
        return BadLine(file, number, str(error), error.hand_id)


def parse_hand(line: bytes | str) -> RecordedHand:
    """Read one line; raises :class:`BadHandError`."""
    try:
        hand = msgspec.json.decode(line, type=RecordedHand)
    except msgspec.ValidationError as error:
        raise BadHandError(f"{error}; the format stands in tests/golden/hands/README.md", _id_of(line)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadHandError(f"not JSON ({error}): wanted one hand as one JSON object", _id_of(line)) from None
    except RecursionError:
        raise BadHandError("nested too deeply: wanted one hand as one JSON object", _id_of(line)) from None
    problems = said_once(_problems(hand))
    if problems:
        raise BadHandError(problems, hand.id)
    return hand


def said_once(texts: Iterable[str]) -> str:
    """Join what is wrong, each thing once however often it is found; empty where nothing is."""
    return "; ".join(dict.fromkeys(texts))


def _id_of(line: bytes | str) -> str:
    """The id that a line begins with though it is not a hand, so that whoever looks for it finds it."""
    text = line if isinstance(line, str) else line.decode(errors="replace")
    found = _LEADING_ID.match(text)
    return found[1] if found else ""


def known(card: str) -> bool:
    """Whether a card was revealed."""
    return card != HIDDEN


def common_card(street: Street) -> str | None:
    """The community card of a street, None when everybody got their own."""
    if street.community is None or isinstance(street.community, str):
        return street.community
    return street.community[0] if street.community else None


# --- what a line must be ------------------------------------------------------


def _problems(hand: RecordedHand) -> Iterator[str]:
    """Everything that is wrong, not only the first thing."""
    yield from _header_problems(hand)
    yield from _money_problems(hand)
    for event in hand.events:
        yield from _event_problems(event)


def _header_problems(hand: RecordedHand) -> Iterator[str]:
    if not 2 <= len(hand.seats) <= MAX_PLAYERS:
        yield f"{len(hand.seats)} seats, wanted 2 to {MAX_PLAYERS} (only players dealt in)"
    for name, values in (("seat", [s.seat for s in hand.seats]), ("player", [s.player for s in hand.seats])):
        yield from (f"{name} {value} is there twice" for value, n in Counter(values).items() if n > 1)
    if any(one.seat > other.seat for one, other in pairwise(hand.seats)):
        yield "the seats are not in seat order"
    yield from (f"{s.player} has a stack of {s.stack}, wanted more than 0" for s in hand.seats if s.stack <= 0)
    if not 2 <= hand.small_bet <= hand.big_bet:
        yield f"bets {hand.small_bet}/{hand.big_bet}, wanted 2 <= small_bet <= big_bet (a bring-in is smaller)"
    if hand.ante < 0 or hand.rake < 0:
        yield "ante and rake must not be negative"
    if hand.bring_in is not None and not 0 < hand.bring_in < hand.small_bet:
        yield f"bring_in {hand.bring_in}, wanted null or 0 < bring_in < small_bet ({hand.small_bet})"
    players = {s.player for s in hand.seats}
    for event in hand.events:
        names = event.cards if isinstance(event, Street) else (event.player,)
        yield from (f"{name!r} acts but has no seat" for name in names if name not in players)


def _money_problems(hand: RecordedHand) -> Iterator[str]:
    """Amounts that are invalid, or that no ledger books at once."""
    amounts = [("small_bet", hand.small_bet), ("big_bet", hand.big_bet), ("ante", hand.ante), ("rake", hand.rake)]
    amounts += [("pot_total", hand.pot_total)]
    amounts += [(f"the stack of {seat.player}", seat.stack) for seat in hand.seats]
    for event in hand.events:
        if not isinstance(event, Deal | Street | Show | Muck):
            amounts.append((f"an amount of {event.player}", event.amount))
            if event.amount < 0:
                yield f"{event.player} has an amount of {event.amount}, wanted 0 or more"
    yield from (
        f"{name} is {amount}, more than {MAX_AMOUNT} is not booked" for name, amount in amounts if amount > MAX_AMOUNT
    )


def _event_problems(event: Event) -> Iterator[str]:
    """Cards that do not exist, and too many or too few in one place."""
    for card in cards_of(event):
        try:
            _ = parse_card(card) if known(card) else None
        except ValueError as error:
            yield f"{error}, or {HIDDEN!r} if hidden"
    if isinstance(event, Deal) and (len(event.down), len(event.up)) != (2, 1):
        yield f"{event.player} is dealt {len(event.down)} down and {len(event.up)} up, wanted 2 and 1 ('??' if hidden)"
    elif isinstance(event, Street):
        if not 4 <= event.street <= 7:
            yield f"street {event.street}, wanted 4 to 7"
        for player, cards in event.cards.items():
            if len(cards) != 1:
                yield f"street {event.street} has {len(cards)} cards for {player}, wanted one"
        if event.community is not None:
            if event.street != 7:
                yield f"street {event.street} has a community card, only street 7 can"
            if event.cards:
                yield "the river has a community card and cards of players too"
            if isinstance(event.community, tuple) and len(event.community) != 1:
                yield f"{len(event.community)} community cards, wanted one or null"


def cards_of(event: Event) -> tuple[str, ...]:
    """Every card that an event names, hidden ones too."""
    match event:
        case Deal():
            return (*event.down, *event.up)
        case Street():
            community = common_card(event)
            own = tuple(card for cards in event.cards.values() for card in cards)
            return own if community is None else (*own, community)
        case Show():
            return event.cards
        case _:
            return ()
