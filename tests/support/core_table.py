"""The harness of the core: one table without a clock, a log or a wire. All that play hands on the rules alone have it.

Commands are decided and folded, a showdown rides along in its commit, a dealer answers, players act and time out.
Nothing is checked here but that what a test wants accepted is: thousands of hands are played for other judges.

    core_table      decides, folds, deals, plays          the oracles of tests/oracle, the twins, recorded hands
      checked_table   and checks every commit             tests/unit/core, tests/property
        table_driver    in the words of the vectors       tests/vectors, tests/field_reports
      referee_hands   seals, appends to a log, forges     tests/unit/referee

Amounts are minor units, seats 1..8, times milliseconds; accounts are a1, a2, … at seats 1, 2, …
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.commands import Command, Context
from stud_core.decide import step
from stud_core.rejection import Rejection
from stud_core.ruleset import BuyInLimit, Ruleset, TableConfig
from stud_core.state import Hand, Phase, Sitting, Table

T = TypeVar("T")

STACK = 10_000

Stepped = tuple[list[ev.Event], Table] | Rejection
"""What became of a command: the events and the table after them, or why it was refused."""

Step = Callable[[Table, Command, Context], Stepped]
OpenCards = Callable[[Table], dict[int, tuple[int, ...]]]

FREE: Mapping[str, Any] = {"min_buy_in": BuyInLimit(amount=1), "max_buy_in": None}
"""Knobs with which anybody may sit down with any stack."""


class Refused(AssertionError):
    """A command was refused that the test wanted accepted."""

    def __init__(self, command: object, rejection: Rejection) -> None:
        legal = sorted(describe(option) for option in rejection.legal)
        super().__init__(f"{command} -> {rejection.reason}: {rejection.text} [{rejection.rule}]; legal {legal}")
        self.rejection = rejection


class DealsCards(Protocol):
    """One deck at a time, and boxes that it can open."""

    def new_deck(self) -> None: ...
    def answer(self, request: ev.DealRequested, /) -> cmd.RecordCards: ...
    def open(self, down: tuple[ev.DownCard, ...], /) -> tuple[int, ...]: ...


def knobs(rules: Ruleset, **changes: object) -> Ruleset:
    """The ruleset with some knobs turned."""
    return msgspec.structs.replace(rules, **changes)


def account(seat: int) -> str:
    """Who sits at a seat, in every test."""
    return f"a{seat}"


def describe(option: ev.Option) -> str:
    """An option as the vectors write it: calls by what they cost, wagers by the total they reach."""
    match option.verb:
        case ev.Verb.FOLD | ev.Verb.CHECK:
            return option.verb.name.lower()
        case ev.Verb.CALL | ev.Verb.BRING_IN:
            return f"{option.verb.name.lower()} {option.amount}"
        case ev.Verb.RAISE | ev.Verb.COMPLETE:
            return f"{option.verb.name.lower()} to {option.to}"
        case _:
            return f"{option.verb.name.lower()} {option.to}"


def commit_of(state: Table, command: Command, ctx: Context, open_cards: OpenCards, step: Step = step) -> Stepped:
    """Everything that one command writes: its own events and those of the showdown that rides along with them."""
    stepped = step(state, command, ctx)
    if isinstance(stepped, Rejection) or not stepped[1].wants_showdown:
        return stepped
    events, after = stepped
    showdown = cmd.Showdown(open_cards(after))
    shown = step(after, showdown, ctx)
    if isinstance(shown, Rejection):
        raise Refused(showdown, shown)
    return [*events, *shown[0]], shown[1]


class Core:
    """The table as it is, and what may be sent to it; how a commit is made and kept is for who builds on this."""

    build = "test"

    def __init__(self, config: TableConfig, now_ms: int) -> None:
        self.config = config
        self.now_ms = now_ms
        self.state = Table()

    def ctx(self) -> Context:
        return Context(self.now_ms, self.state.version + 1, self.build)

    def decision(self, command: Command) -> Stepped:
        """What a command leads to; nothing is done yet."""
        return commit_of(self.state, command, self.ctx(), self.clear_cards)

    # --- cards -------------------------------------------------------------------------------------------------------

    def cards_of(self, state: Table, seat: int) -> tuple[int, ...]:
        """The clear down cards of a seat."""
        raise NotImplementedError

    def clear_cards(self, state: Table) -> dict[int, tuple[int, ...]]:
        """The vault: down cards of the live seats."""
        hand = state.running
        return {seat: self.cards_of(state, seat) for seat in hand.order if hand.live[seat]}

    # --- what players send -------------------------------------------------------------------------------------------

    def acting(self, option: ev.Option) -> cmd.Act:
        """Whoever is on turn takes an option."""
        return cmd.Act(self.on_turn, self.hand.turn_id, option.verb, option.to, option.size)

    def running_out(self) -> cmd.Tick:
        """Let the clock of the open turn or of all prompts run out."""
        deadlines = [prompt.deadline_ms for prompt in self.hand.prompts] or [self.hand.deadline_ms]
        self.now_ms = max(self.now_ms, *deadlines) + 1
        return cmd.Tick()

    def showing(self, prompt: Any, *, show: bool) -> cmd.ChooseShow:
        """Whoever is asked shows, or does not."""
        cards = self.cards_of(self.state, prompt.seat) if show else ()
        return cmd.ChooseShow(self.state.at(prompt.seat).account, prompt.prompt_id, show, cards)

    # --- looking -----------------------------------------------------------------------------------------------------

    @property
    def hand(self) -> Hand:
        return self.state.running

    @property
    def running(self) -> bool:
        return self.state.hand is not None

    @property
    def turn(self) -> int | None:
        """The seat to act, None when nobody has to."""
        hand = self.state.hand
        return hand.turn_seat if hand is not None and hand.phase is Phase.BETTING else None

    @property
    def on_turn(self) -> str:
        """The account to act."""
        return self.state.at(self.hand.turn_seat).account


class CoreTable(Core):
    """A table at which everything happens at once. ``log`` has versions and events of all commits.

    With ``auto_deal`` the dealer answers as soon as cards are asked for.
    """

    auto_deal = True
    dealer: DealsCards

    def __init__(self, config: TableConfig, dealer: DealsCards, now_ms: int = 1_000_000) -> None:
        super().__init__(config, now_ms)
        self.dealer = dealer
        self.log: list[tuple[int, tuple[ev.Event, ...]]] = []
        self._answered: tuple[ev.DealRequested, cmd.RecordCards] | None = None
        self.send(cmd.OpenTable(config))

    # --- the shell ---------------------------------------------------------------------------------------------------

    def offer(self, command: Command) -> list[ev.Event] | Rejection:
        """One command, one commit at most; nothing is committed when it is refused, or when nothing came of it."""
        decided = self.decision(command)
        if isinstance(decided, Rejection):
            return decided
        events, after = decided
        if events:
            self.write(events, after)
        return events

    def write(self, events: list[ev.Event], after: Table) -> None:
        """Take a commit over."""
        self.state = after
        self.log.append((after.version, tuple(events)))
        self.written(after.version, events)

    def written(self, version: int, events: list[ev.Event]) -> None:
        """Told of every commit; for who checks or compares."""

    def commit(self, command: Command) -> list[ev.Event]:
        """Have a command accepted."""
        answer = self.offer(command)
        if isinstance(answer, Rejection):
            raise Refused(command, answer)
        return answer

    def send(self, command: Command) -> list[ev.Event]:
        """Have a command accepted, answer the dealer, and return the events of its own commit."""
        events = self.commit(command)
        if self.auto_deal:
            self.deal_on()
        return events

    # --- the dealer --------------------------------------------------------------------------------------------------

    def deal_on(self) -> None:
        """Answer the dealer's requests until there is none."""
        while self.state.hand is not None and self.state.hand.deal is not None:
            self.commit(self.answer())

    def answer(self) -> cmd.RecordCards:
        """The dealer's answer to the open request; it deals once, however often it is asked."""
        request = the(self.hand.deal)
        if self._answered is None or self._answered[0] != request:
            self._answered = request, self.dealer.answer(request)
            self.dealt(*self._answered)
        return self._answered[1]

    def dealt(self, request: ev.DealRequested, answer: cmd.RecordCards) -> None:
        """Told what the dealer did, before the table records it."""

    @property
    def dealt_ahead(self) -> bool:
        """Whether the dealer has dealt what the table does not know yet."""
        hand = self.state.hand
        return hand is not None and self._answered is not None and hand.deal == self._answered[0]

    def cards_of(self, state: Table, seat: int) -> tuple[int, ...]:
        return self.dealer.open(state.running.down[seat])

    # --- given -------------------------------------------------------------------------------------------------------

    def sit(self, seat: int | None, stack: int = STACK, **preferences: bool) -> Sitting:
        """Take a seat and have it paid."""
        name = account(seat) if seat else f"x{self.state.next_sitting_no}"
        wishes: dict[str, Any] = {"auto_post": True, "muck_losing": True} | preferences
        asked = only(self.send(cmd.TakeSeat(name, seat, stack, **wishes)), ev.BuyInRequested)
        self.send(cmd.RecordFunding(asked.sitting_no, stack))
        return self.state.sittings[asked.sitting_no]

    def sit_all(self, stacks: Mapping[int, int], **preferences: bool) -> None:
        """Seat players with their stacks."""
        for seat, stack in stacks.items():
            self.sit(seat, stack, **preferences)

    def settle(self) -> None:
        """Record the verdict on the last hand, when one is missing."""
        if self.state.ended_hand > self.state.verified_hand:
            self.send(cmd.RecordVerdict(self.state.ended_hand, verdict_version=self.state.ended_hand))

    def ready_deck(self) -> None:
        """The deck of the next hand; one of which no card was dealt is there still."""
        if self.state.deck_hand_no == self.state.hand_no:
            number = self.state.hand_no + 1
            self.dealer.new_deck()
            self.send(cmd.RecordDeck(number, b"commitment-%02d" % number))

    def start(self) -> list[ev.Event]:
        """Give the table what the next hand waits for (verdict, deck, pause) and open the antes."""
        self.settle()
        self.ready_deck()
        self.now_ms += self.config.hand_pause_ms
        return self.send(cmd.StartHand())

    # --- when --------------------------------------------------------------------------------------------------------

    def take(self, option: ev.Option) -> list[ev.Event]:
        """Whoever is on turn takes an option."""
        return self.send(self.acting(option))

    def timeout(self) -> list[ev.Event]:
        """Let the open turn or prompts run out."""
        return self.send(self.running_out())

    # --- then --------------------------------------------------------------------------------------------------------

    def history(self) -> list[ev.Event]:
        """Every event of the log."""
        return [event for _, events in self.log for event in events]

    def happened(self, kind: type[T]) -> list[T]:
        return [event for event in self.history() if isinstance(event, kind)]


def the(value: T | None) -> T:
    """A value that must be there."""
    assert value is not None
    return value


def only(events: Iterable[object], kind: type[T]) -> T:
    """The single event of a kind."""
    found = [event for event in events if isinstance(event, kind)]
    assert len(found) == 1, f"{len(found)} x {kind.__name__} in {list(events)}"
    return found[0]


def none(events: Iterable[object], *kinds: type) -> bool:
    """Whether no event is of these kinds."""
    return not any(isinstance(event, kinds) for event in events)


def kinds(events: Sequence[object]) -> list[str]:
    """Names of events, to compare."""
    return [type(event).__name__ for event in events]
