"""One table without a shell, for tests of the core: commands in, events out, every invariant after every commit.

Cards are stacked: ``cards`` names them by seat, all others come from a fixed deck. Unlike ``tests.support`` this
harness hides nothing: a test sees each commit of the dealer and of the showdown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.cards import parse_cards
from stud_core.conservation import check
from stud_core.decide import decide, step
from stud_core.evolve import apply, evolve
from stud_core.presets import PLAYNOW, table_config
from stud_core.rejection import Rejection
from stud_core.ruleset import BuyInLimit, Ruleset
from stud_core.state import Hand, Phase, Sitting, Table

T = TypeVar("T")

FREE = {"min_buy_in": BuyInLimit(amount=1), "max_buy_in": None}
DOORS = {1: "2c", 2: "5d", 3: "9h", 4: "Js", 5: "8c", 6: "Td", 7: "4h", 8: "6s"}


def knobs(ruleset: Ruleset, **changes: object) -> Ruleset:
    return msgspec.structs.replace(ruleset, **changes)


class House:
    """A table at 5/10, ante 0.50; accounts are a1, a2, … at seats 1, 2, …"""

    def __init__(
        self,
        ruleset: Ruleset = PLAYNOW,
        stacks: Mapping[int, int] | Iterable[int] = (),
        *,
        up: Mapping[int, str] | None = None,
        down: Mapping[int, str] | None = None,
        community: str | None = None,
        **parameters: object,
    ) -> None:
        self.state = Table()
        self.mirror = Table()
        self.log: list[tuple[int, tuple[ev.Event, ...]]] = []
        self.now_ms = 1_000_000
        self.up = {seat: list(parse_cards(text)) for seat, text in (DOORS if up is None else up).items()}
        self.down = {seat: list(parse_cards(text)) for seat, text in (down or {}).items()}
        self.community = list(parse_cards(community)) if community else []
        self.new_deck()
        self.send(cmd.OpenTable(table_config(ruleset, **{"currency": "XTS", **parameters})))  # type: ignore[arg-type]
        chips = stacks if isinstance(stacks, Mapping) else dict.fromkeys(stacks, 10_000)
        for seat, stack in chips.items():
            self.sit(seat, stack)

    # --- sending -------------------------------------------------------------

    def send(self, command: cmd.Command) -> list[ev.Event]:
        """Have a command accepted, showdown included; check what must hold after every commit."""
        ctx = self.ctx()
        photo = msgspec.msgpack.encode(self.state)
        answer = decide(self.state, command, ctx)
        assert not isinstance(answer, Rejection), f"{command}: {answer}"
        events = list(answer)
        state = evolve(self.state, events, ctx.version)
        assert step(self.state, command, ctx) == (events, state), "step differs from decide and evolve"
        if state.wants_showdown:
            hand = state.running
            show = cmd.Showdown({s: self.clear(hand, s) for s in hand.order if hand.live[s]})
            more = decide(state, show, ctx)
            assert not isinstance(more, Rejection), more
            state = evolve(state, more, ctx.version)
            events += more
        assert msgspec.msgpack.encode(self.state) == photo, "the state given was changed"
        if events:
            self.state = state
            self.log.append((ctx.version, tuple(events)))
            assert not state.wants_showdown
            self._mirror(ctx.version, events)
        return events

    def after(self, command: cmd.Command) -> Table:
        """The table as it would be after a command alone, before the showdown that may ride along."""
        answer = step(self.state, command, self.ctx())
        assert not isinstance(answer, Rejection), answer
        return answer[1]

    def _mirror(self, version: int, events: list[ev.Event]) -> None:
        """Rebuild beside the live table, event by event: chips are conserved at each, both agree after all."""
        self.mirror.version = version
        for event in events:
            apply(self.mirror, event)
            assert check(self.mirror) is None, f"{check(self.mirror)} after {event}"
        assert self.mirror == self.state, "the rebuilt table differs"

    def refuse(self, command: cmd.Command) -> Rejection:
        """Have a command refused without an effect."""
        photo = msgspec.msgpack.encode(self.state)
        answer = decide(self.state, command, self.ctx())
        assert isinstance(answer, Rejection), f"accepted: {answer}"
        assert step(self.state, command, self.ctx()) == answer
        assert msgspec.msgpack.encode(self.state) == photo
        assert answer.text
        return answer

    def ctx(self) -> cmd.Context:
        return cmd.Context(self.now_ms, self.state.version + 1, "test")

    # --- sitting -------------------------------------------------------------

    def sit(self, seat: int | None, stack: int = 10_000, **preferences: bool) -> Sitting:
        account = f"a{seat}" if seat else f"x{self.state.next_sitting_no}"
        wishes = {"auto_post": True, "muck_losing": True} | preferences
        asked = only(self.send(cmd.TakeSeat(account, seat, stack, **wishes)), ev.BuyInRequested)
        self.send(cmd.RecordFunding(asked.sitting_no, stack))
        return self.state.sittings[asked.sitting_no]

    # --- a hand --------------------------------------------------------------

    def new_deck(self) -> None:
        named = {card for cards in (*self.up.values(), *self.down.values(), self.community) for card in cards}
        self.deck = [card for card in range(52) if card not in named][::-1]
        self.queue_up = {seat: list(cards) for seat, cards in self.up.items()}
        self.queue_down = {seat: list(cards) for seat, cards in self.down.items()}
        self.boxes: dict[int, int] = {}

    def ready_deck(self) -> None:
        if self.state.ended_hand > self.state.verified_hand:
            self.send(cmd.RecordVerdict(self.state.ended_hand, 1))
        number = self.state.hand_no + 1
        if self.state.deck_hand_no < number:
            self.send(cmd.RecordDeck(number, b"deck"))
            self.new_deck()

    def start(self) -> list[ev.Event]:
        """Open the antes of the next hand and deal third street when they are in."""
        self.ready_deck()
        events = self.send(cmd.StartHand())
        self.deal()
        return events

    def answer(self) -> cmd.RecordCards:
        """The dealer's answer to the open request."""
        request = self.hand.deal
        assert request is not None
        down = tuple(self._box(seat) for _ in range({3: 2, 7: 1}.get(request.street, 0)) for seat in request.targets)
        up: tuple[ev.UpCard, ...] = ()
        if request.street < 7:
            up = tuple(ev.UpCard(seat, self._card(self.queue_up.get(seat))) for seat in request.targets)
        community = self._card(self.community.copy()) if request.mode is ev.DealMode.COMMUNITY else None
        root = b"root" if request.deal_no == 1 else None
        return cmd.RecordCards(request.hand_no, request.deal_no, up, down, community, root)

    def deal(self) -> None:
        while self.state.hand is not None and self.state.hand.deal is not None:
            self.send(self.answer())

    def _card(self, named: list[int] | None) -> int:
        return named.pop(0) if named else self.deck.pop()

    def _box(self, seat: int) -> ev.DownCard:
        position = len(self.boxes)
        self.boxes[position] = self._card(self.queue_down.get(seat))
        return ev.DownCard(seat, position, b"sealed-%d" % position)

    def clear(self, hand: Hand, seat: int) -> tuple[int, ...]:
        return tuple(self.boxes[box.pos] for box in hand.down[seat])

    def act(self, seat: int, verb: str, to: int | None = None, size: ev.Size | None = None) -> list[ev.Event]:
        """Take the turn and have the dealer answer."""
        assert self.hand.turn_seat == seat, f"the turn is at {self.hand.turn_seat}"
        events = self.send(self.command(verb, to, size))
        self.deal()
        return events

    def command(self, verb: str, to: int | None = None, size: ev.Size | None = None) -> cmd.Act:
        account = self.state.at(self.hand.turn_seat).account
        return cmd.Act(account, self.hand.turn_id, ev.Verb[verb.upper()], to, size)

    def play(self, text: str) -> list[ev.Event]:
        """Several actions: ``"1 bring_in, 2 raise 1000"``."""
        events: list[ev.Event] = []
        for action in text.split(","):
            seat, verb, *to = action.split()
            events = self.act(int(seat), verb, int(to[0]) if to else None)
        return events

    def passive(self, street: int = 8) -> None:
        """Bring in, check and call until a street is dealt, or to the end of the betting."""
        while self.state.hand is not None and self.hand.phase is Phase.BETTING and self.hand.street < street:
            verbs = {option.verb for option in self.hand.options}
            verb = next(v for v in (ev.Verb.CHECK, ev.Verb.BRING_IN, ev.Verb.CALL) if v in verbs)
            self.act(self.hand.turn_seat, verb.name)

    def tick(self, after_ms: int = 0) -> list[ev.Event]:
        self.now_ms += after_ms
        events = self.send(cmd.Tick())
        self.deal()
        return events

    # --- looking -------------------------------------------------------------

    @property
    def hand(self) -> Hand:
        return self.state.running

    def at(self, seat: int) -> Sitting:
        return self.state.at(seat)

    def happened(self, kind: type[T]) -> list[T]:
        return [event for _, events in self.log for event in events if isinstance(event, kind)]


def only(events: Iterable[object], kind: type[T]) -> T:
    found = [event for event in events if isinstance(event, kind)]
    assert len(found) == 1, f"{len(found)} {kind.__name__} in {events}"
    return found[0]


def kinds(events: Iterable[object]) -> list[str]:
    return [type(event).__name__ for event in events]
