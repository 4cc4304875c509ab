"""A table to play on in the words of the vectors: given cards and stacks, when these actions, then this is legal.

What is checked after every commit stands in ``checked_table``; cards that a test names come from ``table_dealer``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any, TypeVar, overload

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.presets import WILLIAM_HILL, table_config
from stud_core.rejection import Reason, Rejection
from stud_core.ruleset import BuyInLimit, Ruleset
from stud_core.state import Phase, Sitting, Table
from tests.support.checked_table import CheckedTable
from tests.support.core_table import STACK, account, describe, knobs, only, the
from tests.support.table_dealer import Dealer

T = TypeVar("T")

WAGERS = {ev.Verb.OPEN, ev.Verb.COMPLETE, ev.Verb.BET, ev.Verb.RAISE}

# S1 holds the low door, so that by default it brings in and S2 is next.
DOORS = {1: "2c", 2: "7d", 3: "9h", 4: "Js", 5: "8c", 6: "Td", 7: "5h", 8: "6s"}


class TableDriver(CheckedTable):
    """One table and its whole log. ``deal`` below is the usual way to get one in the middle of a hand."""

    def __init__(
        self,
        rules: Ruleset,
        stacks: Mapping[int, int],
        *,
        limits: tuple[int, int] = (500, 1000),
        ante: int = 50,
        bring_in: int | None = None,
        up: Mapping[int, str] | None = None,
        down: Mapping[int, str] | None = None,
        community: str | None = None,
        prompted: Iterable[int] = (),
        showing: Iterable[int] = (),
        strict_buy_in: bool = False,
        rebuild: bool = True,
        seed: int = 0,
    ) -> None:
        """Open the table and seat everybody.

        ``up`` and ``down`` are cards by seat in the order they will come (random where nothing is said);
        ``prompted`` seats are asked for their ante, ``showing`` seats do not muck losing hands by themselves;
        ``strict_buy_in`` keeps the ruleset's buy-in limits; ``rebuild`` False skips the fold from nothing.
        """
        if not strict_buy_in:
            rules = knobs(rules, min_buy_in=BuyInLimit(amount=1), max_buy_in=None)
        self.rules = rules
        self.prompted, self.showing_seats = set(prompted), set(showing)
        self.dealer: Dealer = Dealer(rules.burns, DOORS if up is None else up, down or {}, community, Random(seed))
        self.pots: list[tuple[int, set[int]]] = []
        if bring_in is None and rules.name != WILLIAM_HILL.name:
            bring_in = 200
        small, big = limits
        config = table_config(
            rules, table_id="t-1", name="Vectors", currency="XTS",
            small_bet=small, big_bet=big, ante=ante, bring_in=bring_in,
        )  # fmt: skip
        super().__init__(config, self.dealer, refold=rebuild)
        self.sit_all(stacks)

    def clear_cards(self, state: Table) -> dict[int, tuple[int, ...]]:
        """The vault is asked at the showdown: the pots are those of which it says who won."""
        hand = the(state.hand)
        self.pots = [(amount, set(seats)) for amount, seats in hand.pots] or self.pots
        return super().clear_cards(state)

    # --- given ---------------------------------------------------------------

    def sit(self, seat: int | None, stack: int = STACK, **preferences: bool) -> Sitting:
        """Take a seat and have it paid."""
        wishes = {"auto_post": seat not in self.prompted, "muck_losing": seat not in self.showing_seats}
        return super().sit(seat, stack, **wishes | preferences)

    def start(self) -> list[ev.Event]:
        self.pots = []
        return super().start()

    def void(self) -> list[ev.Event]:
        """An operator voids the running hand."""
        return self.send(cmd.VoidHand(self.hand.hand_no, "test", "op-1"))

    def move_button(self, seat: int) -> None:
        """Void hands after third street (which costs nobody anything) until the button is at ``seat``."""
        self.auto_deal = False
        for _ in range(9):
            self.start()
            if self.hand.button == seat:
                self.auto_deal = True
                self.deal_on()
                return
            self.commit(self.answer())
            self.void()
        raise AssertionError(f"the button never came to seat {seat}")

    # --- when ----------------------------------------------------------------

    def play(self, *actions: str) -> list[ev.Event]:
        """Play ``"2 raise 1000"`` (seat, verb, total; ``high``/``low`` where the size must be declared).

        The verb ``all_in`` stands for whichever wager reaches that total. Returns the last commit's own events.
        """
        events: list[ev.Event] = []
        for action in actions:
            assert self.turn == int(action.split()[0]), f"{action!r}: the turn is at {self.turn}, {self.street_name()}"
            events = self.send(self.parse(action))
        return events

    def refuse(self, action: str, rule: str, william_hill: str = "") -> Rejection:
        """Have an action refused as illegal; the refusal must name this rule and what would have been legal.

        ``william_hill`` is the statement of that page, where it has one of its own.
        """
        rejection = self.reject(self.parse(action))
        assert rejection.reason is Reason.ILLEGAL_ACTION, rejection
        expected = william_hill if william_hill and self.rules.name == WILLIAM_HILL.name else rule
        assert rejection.rule == expected, rejection
        assert f"({expected})" in rejection.text, rejection
        assert set(rejection.legal) == set(self.hand.options), rejection
        return rejection

    def parse(self, action: str) -> cmd.Act:
        words = action.split()
        seat, verb_name, rest = int(words[0]), words[1], words[2:]
        size = {"high": ev.Size.HIGH, "low": ev.Size.LOW}.get(rest[-1]) if rest else None
        totals = [int(word) for word in rest if word.isdigit()]
        total = totals[0] if totals else None
        if verb_name == "all_in":
            options = [o for o in self.hand.options if o.verb in WAGERS and o.to == total and size in {None, o.size}]
            assert len(options) == 1, f"{action!r}: {sorted(self.legal())}"
            assert options[0].all_in, options[0]
            return cmd.Act(account(seat), self.hand.turn_id, options[0].verb, total, options[0].size)
        if size is None and total is not None:
            sizes = {o.size for o in self.hand.options if o.verb.name.lower() == verb_name and o.to == total}
            size = sizes.pop() if len(sizes) == 1 else None
        return cmd.Act(account(seat), self.hand.turn_id, ev.Verb[verb_name.upper()], total, size)

    def passively_to(self, street: int) -> None:
        """Bring in, call and check until ``street`` has been dealt."""
        while self.running and self.hand.street < street:
            self.passive()

    def passively_to_the_end(self) -> None:
        """Bring in, call and check to the showdown; show prompts time out."""
        while self.running:
            if self.hand.phase is Phase.SHOW_PROMPTS:
                self.timeout()
            else:
                self.passive()

    def passive(self) -> None:
        verbs = {option.verb for option in self.hand.options}
        verb = next(v for v in (ev.Verb.CHECK, ev.Verb.BRING_IN, ev.Verb.CALL) if v in verbs)
        self.play(f"{self.turn} {verb.name.lower()}")

    def choose(self, seat: int, *, show: bool) -> list[ev.Event]:
        """Answer a show prompt."""
        prompt = next(p for p in self.hand.prompts if p.seat == seat)
        return self.send(self.showing(prompt, show=show))

    # --- then ----------------------------------------------------------------

    def legal(self, seat: int | None = None) -> set[str]:
        """What the player to act may do (and, given ``seat``, that it is this one's turn)."""
        if seat is not None:
            assert self.turn == seat, f"the turn is at {self.turn}, not {seat}"
        told = [e for e in self.history() if isinstance(e, ev.TurnStarted)][-1]
        assert told.options == self.hand.options, "the players were told something else"
        names = [describe(option) for option in self.hand.options]
        return set(names)

    def bets(self) -> dict[int, int]:
        """Totals of this street by seat."""
        return {seat: self.hand.bet[seat] for seat in self.hand.order if self.hand.bet[seat]}

    def stack(self, seat: int) -> int:
        """Chips in front of a seat."""
        return next(s.stack for s in self.state.sittings.values() if s.seat == seat)

    def stacks(self) -> dict[int, int]:
        return {s.seat: s.stack for s in self.state.sittings.values()}

    @overload
    def events(self) -> list[Any]: ...
    @overload
    def events(self, kind: type[T], /) -> list[T]: ...
    @overload
    def events(self, kind: type[T], other: type, /, *kinds: type) -> list[Any]: ...
    def events(self, *kinds: type) -> list[Any]:
        """Events of the last or running hand, of these kinds (all when none is given)."""
        every = self.history()
        start = max(i for i, event in enumerate(every) if isinstance(event, ev.AntesOpened))
        return [event for event in every[start:] if not kinds or isinstance(event, kinds)]

    def awarded(self) -> list[tuple[int, int, dict[int, int]]]:
        """Pots in the order they were paid: number, amount, shares by seat."""
        return [(p.pot_no, p.amount, {s.seat: s.amount for s in p.shares}) for p in self.events(ev.PotAwarded)]

    def won(self) -> dict[int, int]:
        """Chips won by seat, over all pots."""
        total: dict[int, int] = {}
        for _, _, shares in self.awarded():
            for seat, amount in shares.items():
                total[seat] = total.get(seat, 0) + amount
        return total

    def returned(self) -> dict[int, int]:
        """Uncalled chips given back by seat."""
        return {e.seat: e.amount for e in self.events(ev.UncalledReturned)}

    def showdown(self) -> list[tuple[str, int]]:
        """What happened to hands, in order: ("shown" | "mucked" | "asked", seat)."""
        names: dict[type, str] = {ev.HandShown: "shown", ev.HandMucked: "mucked", ev.ShowPrompted: "asked"}
        return [(names[type(e)], e.seat) for e in self.events(ev.HandShown, ev.HandMucked, ev.ShowPrompted)]

    def dealt_in(self) -> tuple[int, ...]:
        """Seats of the last hand in deal order."""
        return tuple(d.seat for d in only(self.events(), ev.HandStarted).dealt_in)

    def street_name(self) -> str:
        return f"street {self.state.hand.street} {self.state.hand.phase.name}" if self.state.hand else "no hand"


def deal(
    rules: Ruleset,
    seats: int | Sequence[int] | None = None,
    *,
    stacks: Mapping[int, int] | None = None,
    button: int | None = None,
    **options: Any,
) -> TableDriver:
    """A table with its third street dealt and the first player to act.

    ``seats`` is a number of players (S1..Sn) or seat numbers; left out, everybody with an ``up`` card plays, else
    S1 to S3.
    ``stacks`` before the ante, 10000 unless said; ``options`` are those of :class:`TableDriver`.
    """
    if seats is None:
        named = options.get("up", {1: "", 2: "", 3: ""})
        assert isinstance(named, Mapping)
        seats = sorted(named)
    numbers = range(1, seats + 1) if isinstance(seats, int) else seats
    chips = dict.fromkeys(numbers, STACK) | dict(stacks or {})
    table = TableDriver(rules, chips, **options)
    if button is None:
        table.start()
    else:
        table.move_button(button)
    return table
