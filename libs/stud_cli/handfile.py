"""Recorded hands: one JSON object a line, as in ``tests/golden/hands``.

Reads and checks files; what it accepts makes sense as a hand of seven-card stud, so that nothing behind it has to
ask again. It must not know how a hand is played or judged. Money is integer minor units, seats are the source's own
numbers, ``"??"`` is a card that was never revealed.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from stud_core.cards import parse_card

HIDDEN: Final = "??"
MAX_PLAYERS: Final = 8


class BadHandError(ValueError):
    """A hand that cannot be read; the text says what is wrong and what would be right."""


class Seat(msgspec.Struct, frozen=True):
    """A player who was dealt in; ``stack`` is what he had before the ante."""

    seat: int
    player: str
    stack: int


class _Event(msgspec.Struct, frozen=True, tag_field="type"):
    pass


class Ante(_Event, frozen=True, tag="ante"):
    player: str
    amount: int
    all_in: bool = False


class Deal(_Event, frozen=True, tag="deal"):
    """Third street of one player: two cards down, one up; what a source leaves out is hidden."""

    player: str
    down: tuple[str, ...] = (HIDDEN, HIDDEN)
    up: tuple[str, ...] = (HIDDEN,)


class _Action(_Event, frozen=True):
    """``amount`` is put in by this action; ``to`` is the player's total on the street after it, if stated."""

    player: str
    amount: int = 0
    to: int | None = None
    all_in: bool = False


class BringIn(_Action, frozen=True, tag="bring_in"):
    pass


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
    cards: dict[str, tuple[str, ...]] = {}
    community: tuple[str, ...] | str | None = None


class Uncalled(_Event, frozen=True, tag="uncalled"):
    player: str
    amount: int


class Show(_Event, frozen=True, tag="show"):
    """All the player's cards, or only his best five."""

    player: str
    cards: tuple[str, ...] = ()


class Muck(_Event, frozen=True, tag="muck"):
    player: str


class Award(_Event, frozen=True, tag="award"):
    player: str
    amount: int


Action = BringIn | Complete | Bet | Raise | Call | Check | Fold
ACTIONS: Final = (BringIn, Complete, Bet, Raise, Call, Check, Fold)
Event = Ante | Deal | Action | Street | Uncalled | Show | Muck | Award


class RecordedHand(msgspec.Struct, frozen=True, kw_only=True):
    """One hand. Fields that nothing depends on (``button``, ``notes`` …) are not read."""

    id: str
    small_bet: int
    big_bet: int
    ante: int = 0
    bring_in: int | None = None
    seats: tuple[Seat, ...]
    events: tuple[Event, ...]
    rake: int = 0


class BadLine(msgspec.Struct, frozen=True):
    """A line that is no hand: ``line`` counts from 1; 0 means the file itself could not be read."""

    file: str
    line: int
    why: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.why}"


def verb_of(action: Action) -> str:
    """The action's name in the file: ``"raise"``."""
    return str(type(action).__struct_config__.tag)


def read_hands(path: Path) -> Iterator[tuple[int, RecordedHand | BadLine]]:
    """Yield line number (from 1) and hand of a file in order; a line that is none comes as :class:`BadLine`."""
    try:
        lines = path.read_bytes().removeprefix(BOM_UTF8).split(b"\n")
    except OSError as error:
        yield 0, BadLine(str(path), 0, f"cannot be read ({error.strerror}): wanted a file with one hand a line")
        return
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield number, parse_hand(line)
        except BadHandError as error:
            yield number, BadLine(str(path), number, str(error))


def parse_hand(line: bytes | str) -> RecordedHand:
    """Read one line; raises :class:`BadHandError`."""
    try:
        hand = msgspec.json.decode(line, type=RecordedHand)
    except msgspec.ValidationError as error:
        raise BadHandError(f"{error}; the format stands in tests/golden/hands/README.md") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadHandError(f"not JSON ({error}): wanted one hand as one JSON object") from None
    problems = list(_problems(hand))
    if problems:
        raise BadHandError(f"hand {hand.id}: " + "; ".join(problems))
    return hand


def known(card: str) -> bool:
    """Whether a card was revealed."""
    return card != HIDDEN


def common_card(street: Street) -> str | None:
    """The community card of a street, None when everybody got his own."""
    if street.community is None or isinstance(street.community, str):
        return street.community
    return street.community[0] if street.community else None


# --- what a hand must be ------------------------------------------------------


def _problems(hand: RecordedHand) -> Iterator[str]:
    """Everything that is wrong, not only the first thing."""
    yield from _seat_problems(hand)
    yield from _card_problems(hand)
    yield from _course_problems(hand)


def _seat_problems(hand: RecordedHand) -> Iterator[str]:
    if not 2 <= len(hand.seats) <= MAX_PLAYERS:
        yield f"{len(hand.seats)} seats, wanted 2 to {MAX_PLAYERS} (only players dealt in)"
    for name, values in (("seat", [s.seat for s in hand.seats]), ("player", [s.player for s in hand.seats])):
        yield from (f"{name} {value} is there twice" for value, n in Counter(values).items() if n > 1)
    yield from (f"{s.player} has a stack of {s.stack}, wanted more than 0" for s in hand.seats if s.stack <= 0)
    if not 0 < hand.small_bet <= hand.big_bet:
        yield f"bets {hand.small_bet}/{hand.big_bet}, wanted 0 < small_bet <= big_bet"
    if hand.ante < 0 or hand.rake < 0:
        yield "ante and rake must not be negative"
    if hand.bring_in is not None and not 0 < hand.bring_in < hand.small_bet:
        yield f"bring_in {hand.bring_in}, wanted null or 0 < bring_in < small_bet ({hand.small_bet})"
    players = {s.player for s in hand.seats}
    for event in hand.events:
        names = event.cards if isinstance(event, Street) else (event.player,)
        yield from (f"{name!r} acts but has no seat" for name in names if name not in players)
        if not isinstance(event, Deal | Street | Show | Muck) and event.amount < 0:
            yield f"{event.player} has an amount of {event.amount}, wanted 0 or more"


def _card_problems(hand: RecordedHand) -> Iterator[str]:
    """Cards that do not exist, or are dealt twice; what is shown was dealt before and repeats it."""
    dealt: Counter[str] = Counter()
    for event in hand.events:
        for card in _cards_of(event):
            if not known(card):
                continue
            try:
                parse_card(card)
            except ValueError as error:
                yield f"{error}, or {HIDDEN!r} if hidden"
            if not isinstance(event, Show):
                dealt[card] += 1
    yield from (f"the card {card} is dealt {n} times" for card, n in dealt.items() if n > 1)


def _cards_of(event: Event) -> tuple[str, ...]:
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


def _course_problems(hand: RecordedHand) -> Iterator[str]:
    """Deals and streets: each once, in order, to players who are still in."""
    deals = Counter(e.player for e in hand.events if isinstance(e, Deal))
    yield from (f"{player} is dealt in {n} times" for player, n in deals.items() if n > 1)
    folded: set[str] = set()
    street = 3
    for event in hand.events:
        if isinstance(event, Deal) and (len(event.down) > 2 or len(event.up) > 1):
            dealt = f"{len(event.down)} down and {len(event.up)} up"
            yield f"{event.player} is dealt {dealt}, wanted 2 and 1 ('??' if hidden)"
        elif isinstance(event, Fold):
            folded.add(event.player)
        elif isinstance(event, Street):
            if event.street != street + 1 or event.street > 7:
                yield f"street {event.street} follows street {street}, wanted {min(street + 1, 7)}"
            street = event.street
            for player, cards in event.cards.items():
                if player in folded:
                    yield f"street {street} has a card for {player}, who has folded"
                if len(cards) > 1:
                    yield f"street {street} has {len(cards)} cards for {player}, wanted one"
            if common_card(event) and street != 7:
                yield f"street {street} has a community card, only street 7 can"
    if not any(isinstance(e, Award) for e in hand.events):
        yield "nobody is paid, wanted at least one award"
