"""What a recorded hand says, in the terms of a table: who was in, who paid what, what must come out.

Facts only; how the hand is judged or driven is not known here. Seats are renumbered 1..n in the source's order; money
is integer minor units.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

import msgspec

from stud_core.cards import DECK_SIZE, card_name, parse_card
from stud_core.events import Size
from stud_hands.contradictions import unplayable
from stud_hands.record import (
    Action,
    Ante,
    Award,
    Deal,
    Fold,
    Muck,
    RecordedHand,
    Show,
    Street,
    Uncalled,
    common_card,
    known,
    verb_of,
)

HAND: Final = 7
"""Cards of a player at the river, the one for all among them."""


class ContradictionError(ValueError):
    """No facts can be derived, since the record contradicts itself; the arguments say where."""


class Move(msgspec.Struct, frozen=True):
    """One recorded action. ``size`` is set once it is known that it must be declared."""

    seat: int
    street: int
    verb: str
    amount: int
    to: int
    all_in: bool
    size: Size | None = None

    def __str__(self) -> str:
        chips = "" if self.verb in {"fold", "check"} and not self.amount else f" {self.amount} (to {self.to})"
        return self.verb + chips + (" all-in" if self.all_in else "")


class StreetFacts(msgspec.Struct, frozen=True):
    """Who was dealt a card on a street, which of them had no chips left, and who acted first (None nobody).

    ``common``: the river is one card for all. ``high_wager``: fourth street saw a wager that takes an open pair.
    ``declined``: on third street the first to act folded, which only a player behind an all-in low card may do.
    """

    street: int
    dealt: tuple[int, ...]
    all_in: frozenset[int]
    first: int | None
    common: bool = False
    high_wager: bool = False
    declined: bool = False


class Outcome(msgspec.Struct, frozen=True):
    """What can be compared: totals by seat in minor units; zero entries are left out."""

    antes: dict[int, int]
    moves: tuple[Move, ...]
    uncalled: dict[int, int]
    awards: dict[int, int]


class Course(msgspec.Struct, frozen=True):
    """A hand's facts. ``paid`` is by seat (index 0 unused), without what came back uncalled.

    ``down`` and ``up`` are cards by seat in the order dealt, None = hidden; the river counts as down. ``forced`` are
    cards that a player showed and that must be among their hidden ones; ``best_five`` is set if they showed only those.
    """

    hand_id: str
    names: dict[int, str]
    stacks: dict[int, int]
    streets: tuple[StreetFacts, ...]
    live: tuple[int, ...]
    paid: tuple[int, ...]
    down: dict[int, tuple[int | None, ...]]
    up: dict[int, tuple[int | None, ...]]
    community: int | None
    forced: dict[int, tuple[int, ...]]
    best_five: dict[int, tuple[int, ...]]
    shows: frozenset[int]
    mucked: frozenset[int]
    expected: Outcome

    @property
    def common(self) -> bool:
        """Whether the river was one card for all."""
        return any(facts.common for facts in self.streets)


# --- facts --------------------------------------------------------------------


class _Reader:
    """Walks through the events once."""

    def __init__(self, hand: RecordedHand) -> None:
        self.hand = hand
        self.seat_of = {s.player: number for number, s in enumerate(hand.seats, 1)}
        self.stacks = {number: s.stack for number, s in enumerate(hand.seats, 1)}
        self.live = list(self.stacks)
        self.antes: dict[int, int] = defaultdict(int)
        self.paid = [0] * 9
        self.on_street: dict[int, int] = {}
        self.moves: list[Move] = []
        self.streets: list[StreetFacts] = []
        self.uncalled: dict[int, int] = defaultdict(int)
        self.awards: dict[int, int] = defaultdict(int)
        self.down: dict[int, list[int | None]] = {seat: [None, None] for seat in self.stacks}
        self.up: dict[int, list[int | None]] = {seat: [None] for seat in self.stacks}
        self.community: int | None = None
        self.shown: dict[int, tuple[int, ...]] = {}
        self.mucked: set[int] = set()

    def read(self) -> None:
        """Third street begins when the antes are in: at the first event that is neither ante nor deal."""
        for event in self.hand.events:
            if isinstance(event, Ante):
                self.antes[self.seat_of[event.player]] += event.amount
            elif isinstance(event, Deal):
                seat = self.seat_of[event.player]
                self.down[seat] = [_card(name) for name in event.down]
                self.up[seat] = [_card(name) for name in event.up]
            elif isinstance(event, Street):
                self._street(event)
            elif isinstance(event, Uncalled):
                self.uncalled[self.seat_of[event.player]] += event.amount
            elif isinstance(event, Award):
                self.awards[self.seat_of[event.player]] += event.amount
            elif isinstance(event, Show):
                cards = tuple(parse_card(name) for name in event.cards if known(name))
                self.shown[self.seat_of[event.player]] = cards
            elif isinstance(event, Muck):
                self.mucked.add(self.seat_of[event.player])
            else:
                self._move(event)
        self._begin_third()
        if len(self.live) > 1:
            for street in range(self.streets[-1].street + 1, 8):
                self._street(Street(street=street, cards={}, community=None))

    def _begin_third(self) -> None:
        if self.streets:
            return
        for seat, stack in self.stacks.items():
            self.paid[seat] = self.antes.get(seat, min(self.hand.ante, stack))
        self._begin(3, common=False)

    def _begin(self, street: int, *, common: bool) -> None:
        self.on_street = {}
        all_in = frozenset(s for s in self.live if self.paid[s] >= self.stacks[s])
        self.streets.append(StreetFacts(street, tuple(self.live), all_in, None, common))

    def _street(self, event: Street) -> None:
        self._begin_third()
        common = common_card(event)
        undealt = DECK_SIZE - sum(len(self.down[s]) + len(self.up[s]) for s in self.down)
        shared = common is not None or (event.street == 7 and not event.cards and undealt < len(self.live))
        if common is not None:
            self.community = _card(common)
        self._begin(event.street, common=shared)
        cards = {self.seat_of[player]: dealt for player, dealt in event.cards.items()}
        if not shared:
            for seat in self.live:
                card = _card(cards[seat][0]) if cards.get(seat) else None
                (self.down if event.street == 7 else self.up)[seat].append(card)

    def _move(self, action: Action) -> None:
        self._begin_third()
        seat = self.seat_of[action.player]
        facts = self.streets[-1]
        before = self.on_street.get(seat, 0)
        to = before + action.amount
        price = max(self.on_street.values(), default=0)
        self.streets[-1] = msgspec.structs.replace(
            facts,
            first=facts.first or seat,
            declined=facts.declined or (facts.first is None and facts.street == 3 and isinstance(action, Fold)),
            high_wager=facts.high_wager or (facts.street == 4 and to - price > self.hand.small_bet),
        )
        self.on_street[seat] = to
        self.paid[seat] += action.amount
        self.moves.append(Move(seat, facts.street, verb_of(action), action.amount, to, action.all_in))
        if isinstance(action, Fold) and seat in self.live:
            self.live.remove(seat)


def course_of(hand: RecordedHand) -> Course:
    """Derive the facts of a hand; raises :class:`ContradictionError` where there are none."""
    broken = unplayable(hand)
    if broken:
        raise ContradictionError(*broken)
    reader = _Reader(hand)
    reader.read()
    _enough_cards(reader)
    uncalled = {seat: amount for seat, amount in reader.uncalled.items() if amount}
    for seat, amount in uncalled.items():
        reader.paid[seat] -= amount
    forced, best_five = _shown_cards(reader)
    return Course(
        hand_id=hand.id,
        names={seat: player for player, seat in reader.seat_of.items()},
        stacks=reader.stacks,
        streets=tuple(reader.streets),
        live=tuple(reader.live),
        paid=tuple(reader.paid),
        down={seat: tuple(cards) for seat, cards in reader.down.items()},
        up={seat: tuple(cards) for seat, cards in reader.up.items()},
        community=reader.community,
        forced=forced,
        best_five=best_five,
        shows=frozenset(reader.shown),
        mucked=frozenset(reader.mucked),
        expected=Outcome(
            antes={seat: amount for seat, amount in reader.antes.items() if amount},
            moves=tuple(reader.moves),
            uncalled=uncalled,
            awards={seat: amount for seat, amount in reader.awards.items() if amount},
        ),
    )


def _enough_cards(reader: _Reader) -> None:
    """Raise ContradictionError where more cards were dealt than there are, told or not."""
    needed = sum(len(reader.down[seat]) + len(reader.up[seat]) for seat in reader.stacks)
    needed += any(facts.common for facts in reader.streets)
    if needed > DECK_SIZE:
        streets = f"streets 3 to {reader.streets[-1].street} of {len(reader.stacks)} players"
        raise ContradictionError(f"{streets} need {needed} cards, more than the {DECK_SIZE} there are")


def _shown_cards(reader: _Reader) -> tuple[dict[int, tuple[int, ...]], dict[int, tuple[int, ...]]]:
    """Cards shown that were not dealt openly: they must be among the player's hidden ones."""
    _find_river(reader)
    forced: dict[int, tuple[int, ...]] = {}
    best_five: dict[int, tuple[int, ...]] = {}
    of_others = {c: s for s in reader.down for c in (*reader.down[s], *reader.up[s]) if c is not None}
    for seat, shown in reader.shown.items():
        own = {*reader.down[seat], *reader.up[seat], reader.community}
        extra = tuple(card for card in shown if card not in own)
        hidden = sum(card is None for card in (*reader.down[seat], *reader.up[seat]))
        name = reader.hand.seats[seat - 1].player
        for card in extra:
            if card in of_others:
                other = reader.hand.seats[of_others[card] - 1].player
                raise ContradictionError(f"{name} shows {card_name(card)}, which {other} was dealt")
        if len(extra) > hidden:
            cards = ", ".join(card_name(card) for card in extra)
            known = f"only {hidden} of their cards are unknown" if hidden else "which they were not dealt"
            raise ContradictionError(f"{name} shows {cards}, {known}")
        if extra:
            forced[seat] = extra
            of_others |= dict.fromkeys(extra, seat)
        if len(shown) == 5 and hidden > len(extra):
            best_five[seat] = shown
    return forced, best_five


def _find_river(reader: _Reader) -> None:
    """A hidden river for all, known because somebody who shows has no other place for so many cards."""
    if reader.community is not None or not any(facts.common for facts in reader.streets):
        return
    whole = [set(cards) for cards in reader.shown.values() if len(cards) == HAND]
    for seat, shown in reader.shown.items():
        dealt = [*reader.down[seat], *reader.up[seat]]
        extra = [card for card in shown if card not in dealt]
        if len(extra) > dealt.count(None):
            reader.community = next((card for card in extra if all(card in cards for cards in whole)), None)
            return


def _card(name: str) -> int | None:
    return parse_card(name) if known(name) else None
