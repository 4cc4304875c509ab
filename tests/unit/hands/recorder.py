"""Makes recorded hands: plays random ones through the core and writes them down as a hand history would.

What real sources did not give us comes from here: split pots, odd units, all-in antes, community rivers, hidden door
cards, seats with gaps.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from random import Random
from typing import Any

from stud_core import events as ev
from stud_core.amounts import TEST_CURRENCY
from stud_core.cards import card_name, parse_cards
from stud_core.ranks import rank_best
from stud_core.ruleset import OddUnits, TableConfig
from stud_core.state import Phase
from stud_hands.record import HIDDEN
from stud_hands.script import recorded_rules
from tests.support.choosing import choose
from tests.support.clear_dealer import ClearDealer
from tests.support.core_table import CoreTable

NAMES = {ev.Verb.OPEN: "complete"}
WEIGHTS = {ev.Verb.CHECK: 5, ev.Verb.CALL: 6, ev.Verb.BRING_IN: 4, ev.Verb.OPEN: 1}


class Recorder(CoreTable):
    """One random hand. ``deck`` is dealt from the top; players are P1.. in seat order, seats have gaps."""

    def __init__(self, rng: Random, stacks: list[int], deck: list[int], odd_units: OddUnits, rake: int = 0) -> None:
        self.rng = rng
        config = TableConfig(
            table_id="rec", name="", currency=TEST_CURRENCY, ruleset=recorded_rules(rake, odd_units),
            small_bet=100, big_bet=200, ante=20, bring_in=rng.choice([10, 25, 50, 75]), hand_pause_ms=0,
        )  # fmt: skip
        self.rake = rake
        self.seats = sorted(rng.sample(range(12), len(stacks)))
        self.stacks = stacks
        self.weights = {**WEIGHTS, ev.Verb.FOLD: rng.choice([0.2, 1.0, 2.0])}
        self.dealer: ClearDealer = ClearDealer()
        self.dealer.bring(deck)
        super().__init__(config, self.dealer, now_ms=0)

    def record(self, hand_id: str) -> dict[str, Any]:
        """Play the hand to its end and return it with every card open."""
        self.sit_all(dict(enumerate(self.stacks, 1)), muck_losing=False)
        self.start()
        while self.running:
            self._go_on()
        self.down = {seat: self._down(seat) for seat in range(1, len(self.stacks) + 1)}
        seats = [
            {"seat": seat, "player": f"P{number}", "stack": stack}
            for number, (seat, stack) in enumerate(zip(self.seats, self.stacks, strict=True), 1)
        ]
        return {
            "id": hand_id, "source": "made up", "site": "core", "kind": "cash", "unit": "chip",
            "small_bet": 100, "big_bet": 200, "ante": 20, "bring_in": self.config.bring_in, "seats": seats,
            "button": 1, "events": self._events(), "pot_total": self._pot(), "rake": self._raked(), "notes": [],
        }  # fmt: skip

    def _pot(self) -> int:
        paid = sum(e.amount for e in self.history() if isinstance(e, ev.AntePosted | ev.ActionTaken))
        return paid - sum(e.amount for e in self.history() if isinstance(e, ev.UncalledReturned))

    def _raked(self) -> int:
        return sum(e.rake for e in self.history() if isinstance(e, ev.PotAwarded))

    def _go_on(self) -> None:
        if self.hand.phase is Phase.SHOW_PROMPTS:
            self.send(self.showing(self.hand.prompts[0], show=self.rng.random() < 0.5))
        else:
            self.take(choose(self.rng, self.hand.options, self.weights))

    def _down(self, seat: int) -> list[int]:
        """The down cards that a seat was ever dealt."""
        dealt = [box for event in self.happened(ev.CardsDealt) for box in event.down if box.seat == seat]
        return list(self.dealer.open(tuple(dealt)))

    def _events(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for event in self.history():
            match event:
                case ev.AntePosted():
                    found.append(_of("ante", event.seat, amount=event.amount, all_in=event.all_in))
                case ev.CardsDealt():
                    found += self._dealt(event)
                case ev.ActionTaken():
                    name = NAMES.get(event.verb, event.verb.name.lower())
                    found.append(_of(name, event.seat, amount=event.amount, to=event.to, all_in=event.all_in))
                case ev.UncalledReturned():
                    found.append(_of("uncalled", event.seat, amount=event.amount))
                case ev.HandShown():
                    up = [
                        u.card
                        for e in self.history()
                        if isinstance(e, ev.CardsDealt)
                        for u in e.up
                        if u.seat == event.seat
                    ]
                    found.append(_of("show", event.seat, cards=[card_name(c) for c in (*self.down[event.seat], *up)]))
                case ev.HandMucked():
                    found.append(_of("muck", event.seat))
                case ev.PotAwarded():
                    found += [_of("award", share.seat, amount=share.amount) for share in event.shares if share.amount]
        antes = [e for e in found if e["type"] == "ante"]
        self.rng.shuffle(antes)
        return antes + [e for e in found if e["type"] != "ante"]

    def _dealt(self, event: ev.CardsDealt) -> list[dict[str, Any]]:
        if event.street == 3:
            return [
                _of("deal", up.seat, down=[card_name(c) for c in self.down[up.seat][:2]], up=[card_name(up.card)])
                for up in event.up
            ]
        cards = {f"P{up.seat}": [card_name(up.card)] for up in event.up}
        cards |= {f"P{box.seat}": [card_name(self.down[box.seat][2])] for box in event.down}
        community = None if event.community is None else [card_name(event.community)]
        return [{"type": "street", "street": event.street, "cards": cards, "community": community}]


def _of(kind: str, seat: int, **fields: object) -> dict[str, Any]:
    return {"type": kind, "player": f"P{seat}", **fields}


def random_hand(number: int, rng: Random, *, tied: bool = False, rake: int | None = None) -> dict[str, Any]:
    """A random hand of 2 to 8 players, some of them short; ``tied`` stacks the deck for a split pot."""
    players = rng.randint(2, 8)
    stacks = [rng.choice([5, 20, 30, 77, 130, 333, 2000, 2000, 5000, 5000]) for _ in range(players)]
    deck = list(range(52))
    rng.shuffle(deck)
    if tied:
        _stack_a_tie(deck, players, rng)
    return Recorder(
        rng, stacks, deck, rng.choice(list(OddUnits)), rng.choice([0, 0, 7]) if rake is None else rake
    ).record(f"made-{number}")


def _stack_a_tie(deck: list[int], players: int, rng: Random) -> None:
    """Give two players tens to aces of mixed suits on third to fifth street: a straight each, mostly a tie."""
    first, second = rng.sample(range(players), 2)
    for seat, suits in ((first, (0, 1, 2, 3, 0)), (second, (1, 2, 3, 0, 1))):
        cards = [4 * (8 + i) + suit for i, suit in enumerate(suits)]
        rng.shuffle(cards)
        for position, card in zip((seat, players + seat, 2 * players + seat), cards, strict=False):
            at = deck.index(card)
            deck[at], deck[position] = deck[position], deck[at]
        for card in cards[3:]:
            deck.remove(card)
        for street, card in enumerate(cards[3:]):
            deck.insert(min(3 * players + street * players + seat, len(deck)), card)


def hide(hand: dict[str, Any], rng: Random, *, doors: bool) -> dict[str, Any]:
    """Hide what a history would: down cards of those who did not show, and with ``doors`` some up cards."""
    shown = {e["player"] for e in hand["events"] if e["type"] == "show"}
    if rng.random() < 0.3:
        shown = set()
    keep_show = rng.random() < 0.7
    events = []
    for event in hand["events"]:
        kind = event["type"]
        if kind == "deal":
            down = event["down"] if event["player"] in shown and not keep_show else [HIDDEN, HIDDEN]
            up = [HIDDEN] if doors and rng.random() < 0.4 else event["up"]
            events.append({**event, "down": down, "up": up})
        elif kind == "street":
            cards = {
                player: [HIDDEN]
                if (event["street"] == 7 and player not in shown) or (doors and rng.random() < 0.2)
                else dealt
                for player, dealt in event["cards"].items()
            }
            events.append({**event, "cards": cards})
        elif kind not in {"show", "muck"} or (kind == "show" and keep_show and event["player"] in shown):
            events.append(event)
    return {**hand, "events": events}


def ranked(cards: Iterable[str]) -> int:
    return rank_best(parse_cards(" ".join(cards)))


def five_shown(hand: dict[str, Any], rng: Random) -> dict[str, Any]:
    """What a history has of which only shows are known: five cards of each, the best ones, and up cards.

    Some show other five, where their up cards tell that these are not the best.
    """
    hidden = hide(hand, rng, doors=False)
    up: dict[str, list[str]] = {}
    events = []
    for event in hidden["events"]:
        kind = event["type"]
        if kind == "deal":
            up[event["player"]] = event["up"]
            events.append({**event, "down": [HIDDEN, HIDDEN]})
        elif kind == "street" and event["street"] == 7:
            events.append({**event, "cards": {player: [HIDDEN] for player in event["cards"]}})
        elif kind == "show" and len(event["cards"]) > 5:
            best = min(combinations(event["cards"], 5), key=ranked)
            any_five = rng.sample(event["cards"], 5)
            told = set(any_five) | set(up[event["player"]])
            is_best = ranked(any_five) == ranked(told)
            events.append({**event, "cards": list(best) if is_best or rng.random() < 0.7 else any_five})
        else:
            if kind == "street":
                up |= {player: up[player] + cards for player, cards in event["cards"].items()}
            events.append(event)
    return {**hidden, "events": events}
