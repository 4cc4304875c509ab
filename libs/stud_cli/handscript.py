"""What a recorded hand says, in the terms of a table: who was in, who paid what, what must come out.

``course_of`` derives the facts, ``table_config`` the table to play them at, ``Script`` puts both together with a deck;
``compare`` tells an expected outcome from what was played. Nothing here depends on how the hand is driven:
``stud adjudicate`` plays a script through the core, ``stud rehearse`` over gRPC. Seats are renumbered 1..n in the
source's order; money is integer minor units.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

import msgspec

from stud_cli.handfile import (
    HIDDEN,
    Action,
    Ante,
    Award,
    BadHandError,
    BringIn,
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
from stud_core.cards import DECK_SIZE, parse_card
from stud_core.events import Option, Size, Verb
from stud_core.presets import PLAYNOW
from stud_core.ruleset import (
    BringInKind,
    BuyInLimit,
    DealOrigin,
    HeadsUp,
    OddUnits,
    OpenPair,
    RiverShortage,
    Ruleset,
    ShortAllIn,
    TableConfig,
)

CURRENCY: Final = "XTS"  # the only one in which decks are stacked and clocks may stand still
WAGERS: Final = frozenset({Verb.OPEN, Verb.COMPLETE, Verb.BET, Verb.RAISE})
_WAGER_NAMES: Final = frozenset({"complete", "bet", "raise"})
_STREETS: Final = range(3, 8)


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
        return self.verb if self.verb in {"fold", "check"} else f"{self.verb} {self.amount} (to {self.to})"


class StreetFacts(msgspec.Struct, frozen=True):
    """Who was dealt a card on a street, which of them had no chips left, and who acted first (None nobody).

    ``common``: the river is one card for all. ``high_wager``: fourth street saw a wager that takes an open pair.
    ``declined``: on third street the first to act folded, which only he may who sits behind an all-in low card.
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
    cards that a player showed and that must be among his hidden ones; ``best_five`` is set when he showed only those.
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


class Script(msgspec.Struct, frozen=True):
    """A hand to play: sit everybody down with his stack, stack the deck, make the moves, answer the prompts.

    ``deck`` is the order of all 52 cards; ``shows`` are the seats that answer a show prompt with yes.
    """

    course: Course
    config: TableConfig
    deck: tuple[int, ...]
    moves: tuple[Move, ...]

    @property
    def shows(self) -> frozenset[int]:
        return self.course.shows


# --- facts --------------------------------------------------------------------


class _Reader:
    """Walks through the events once."""

    def __init__(self, hand: RecordedHand) -> None:
        seats = sorted(hand.seats, key=lambda s: s.seat)
        playing = {e.player for e in hand.events if not isinstance(e, Street)}
        seats = [s for s in seats if s.player in playing]  # some sources list who was not dealt in
        self.hand = hand
        self.seat_of = {s.player: number for number, s in enumerate(seats, 1)}
        self.stacks = {number: s.stack for number, s in enumerate(seats, 1)}
        self.live = list(self.stacks)
        self.antes: dict[int, int] = {}
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
                self.antes[self.seat_of[event.player]] = event.amount
            elif isinstance(event, Deal):
                seat = self.seat_of[event.player]
                self.down[seat] = [_card(name) for name in (*event.down, HIDDEN, HIDDEN)[:2]]
                self.up[seat] = [_card(name) for name in (*event.up, HIDDEN)[:1]]
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
                self._street(Street(street=street))

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
        if action.to is not None and action.to != to:
            raise BadHandError(
                f"hand {self.hand.id}: {action.player} puts in {action.amount} on top of {before} "
                f"on street {facts.street}, wanted to = {to}, not {action.to}"
            )
        self.on_street[seat] = to
        self.paid[seat] += action.amount
        self.moves.append(Move(seat, facts.street, verb_of(action), action.amount, to, action.all_in))
        if isinstance(action, Fold) and seat in self.live:
            self.live.remove(seat)


def course_of(hand: RecordedHand) -> Course:
    """Derive the facts of a hand; raises :class:`BadHandError` where they contradict each other."""
    reader = _Reader(hand)
    reader.read()
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


def _shown_cards(reader: _Reader) -> tuple[dict[int, tuple[int, ...]], dict[int, tuple[int, ...]]]:
    """Cards shown that were not dealt openly: they must be among the player's hidden ones."""
    forced: dict[int, tuple[int, ...]] = {}
    best_five: dict[int, tuple[int, ...]] = {}
    of_others = {c: s for s in reader.down for c in (*reader.down[s], *reader.up[s]) if c is not None}
    for seat, shown in reader.shown.items():
        own = {*reader.down[seat], *reader.up[seat], reader.community}
        extra = tuple(card for card in shown if card not in own)
        hidden = sum(card is None for card in (*reader.down[seat], *reader.up[seat]))
        name = next(player for player, number in reader.seat_of.items() if number == seat)
        if any(card in of_others for card in extra):
            raise BadHandError(f"hand {reader.hand.id}: {name} shows a card that another player was dealt")
        if len(extra) > hidden:
            raise BadHandError(f"hand {reader.hand.id}: {name} shows a card that he was not dealt")
        if extra:
            forced[seat] = extra
            of_others |= dict.fromkeys(extra, seat)
        if len(shown) == 5 and hidden > len(extra):
            best_five[seat] = shown
    return forced, best_five


def _card(name: str) -> int | None:
    return parse_card(name) if known(name) else None


# --- the table ----------------------------------------------------------------


def recorded_rules(rake: int, odd_units: OddUnits = OddUnits.ONE_EACH_FROM_LEFT) -> Ruleset:
    """The rules that all recorded hands were played by; the rake is taken as stated, from whatever was called."""
    return msgspec.structs.replace(
        PLAYNOW,
        name="recorded",
        deal_origin=DealOrigin.FIXED,
        burns=False,
        bring_in=BringInKind.PARAMETER,
        max_raises=3,
        heads_up=HeadsUp.NEVER,
        open_pair=OpenPair.ANY,
        short_all_in=ShortAllIn.HALF_BET,
        river_shortage=RiverShortage.COMMUNITY,
        river_burn_reserve=0,
        odd_units=odd_units,
        action_clock_ms=0,
        ante_clock_ms=0,
        show_clock_ms=0,
        auto_post_default=True,
        muck_losing_default=False,
        min_buy_in=BuyInLimit(amount=1),
        max_buy_in=None,
        rake_bps=10_000,
        rake_cap=rake,
        no_rake_before_fourth=False,
    )


def table_config(hand: RecordedHand, odd_units: OddUnits = OddUnits.ONE_EACH_FROM_LEFT) -> TableConfig:
    """The table of one hand. Where everybody opened in full the bring-in is not known and does not matter."""
    posted = [e.amount for e in hand.events if isinstance(e, BringIn) and not e.all_in]
    bring_in = hand.bring_in or (posted[0] if posted else max(1, hand.small_bet // 2))
    return TableConfig(
        table_id=f"recorded-{hand.id}",
        name=hand.id,
        currency=CURRENCY,
        ruleset=recorded_rules(hand.rake, odd_units),
        small_bet=hand.small_bet,
        big_bet=hand.big_bet,
        ante=hand.ante,
        bring_in=bring_in,
        hand_pause_ms=0,
        stacked=True,
    )


def matching_options(move: Move, options: tuple[Option, ...]) -> list[Option]:
    """The legal actions that a recorded one can mean.

    Sources name wagers differently (opening, completing and raising), so only the kind and the total count. More
    than one is left where an all-in wager could have been declared low or high.
    """
    if move.verb in _WAGER_NAMES:
        wagers = [o for o in options if o.verb in WAGERS and o.to == move.to]
        return [o for o in wagers if move.size in {None, o.size}]
    if move.verb in {"bring_in", "call"}:
        return [o for o in options if o.verb in {Verb.BRING_IN, Verb.CALL} and o.to == move.to]
    return [o for o in options if o.verb.name.lower() == move.verb]


def literal_verb(move: Move, options: tuple[Option, ...]) -> Verb:
    """The verb to try an action with that matches none: the wager that is possible, so that its amount is judged."""
    possible = {o.verb for o in options}
    if move.verb in _WAGER_NAMES and possible & WAGERS:
        return min(possible & WAGERS)
    if move.verb in {"bring_in", "call"} and possible & {Verb.BRING_IN, Verb.CALL}:
        return min(possible & {Verb.BRING_IN, Verb.CALL})
    return Verb[move.verb.upper()]


def describe(option: Option) -> str:
    """A legal action for people: ``"raise to 8800"``."""
    name = option.verb.name.lower().replace("_", " ")
    if option.verb in WAGERS:
        return f"{name} to {option.to}"
    return name if option.verb in {Verb.FOLD, Verb.CHECK} else f"{name} {option.amount}"


# --- the verdict --------------------------------------------------------------


def compare(expected: Outcome, actual: Outcome, names: dict[int, str], *, awards: bool = True) -> list[str]:
    """Say everything that differs; an empty list is a match. ``awards`` False leaves those to somebody else."""
    differences = [
        f"{names[seat]} posted {amount}, played {actual.antes.get(seat, 0)}"
        for seat, amount in expected.antes.items()
        if actual.antes.get(seat, 0) != amount
    ]
    for number, (want, got) in enumerate(zip(expected.moves, actual.moves, strict=False), 1):
        if (want.seat, want.amount, want.to) != (got.seat, got.amount, got.to):
            differences.append(
                f"action {number}, street {want.street}: recorded {names[want.seat]} {want}, "
                f"played {names[got.seat]} {got}"
            )
            break
    if len(actual.moves) != len(expected.moves):
        differences.append(f"{len(expected.moves)} actions recorded, {len(actual.moves)} played")
    differences += _totals("uncalled", expected.uncalled, actual.uncalled, names)
    if awards:
        differences += _totals("awards", expected.awards, actual.awards, names)
    return differences


def _totals(what: str, expected: dict[int, int], actual: dict[int, int], names: dict[int, str]) -> list[str]:
    return [
        f"{what} of {names[seat]}: recorded {expected.get(seat, 0)}, played {actual.get(seat, 0)}"
        for seat in sorted(expected.keys() | actual.keys())
        if expected.get(seat, 0) != actual.get(seat, 0)
    ]
