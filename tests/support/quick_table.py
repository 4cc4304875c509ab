"""A table without harness checks, for tests that play thousands of hands and compare them with somebody else's rules.

Decks are given in clear: an order of 52 cards, and the order in which a pool is drawn from at the river. Positions
come from the product's dealer. Every commit is handed to ``seen`` as it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.cards import DECK_SIZE
from stud_core.commands import Context
from stud_core.decide import step
from stud_core.deck import Positions, Stub, take
from stud_core.rejection import Rejection
from stud_core.ruleset import TableConfig
from stud_core.state import Hand, Table

Seen = Callable[[int, int, list[Any]], None]
"""Version, time and events of a commit."""

ROOT = bytes(32)


def unseen(_version: int, _at_ms: int, _events: list[Any]) -> None:
    """For who only looks at the table."""


class QuickTable:
    """Accounts are a1, a2, … at seats 1, 2, …"""

    def __init__(self, config: TableConfig, seen: Seen = unseen) -> None:
        self.state = Table()
        self.seen = seen
        self.now_ms = 1_000_000
        self.order: Sequence[int] = range(DECK_SIZE)
        self.river_rank: Sequence[int] = range(DECK_SIZE)
        self.stub = Stub()
        self.send(cmd.OpenTable(config))

    # --- commits -------------------------------------------------------------

    def send(self, command: cmd.Command) -> list[Any]:
        """Have a command accepted and deal what it asks for; the showdown rides along in its commit."""
        version = self.state.version + 1
        context = Context(self.now_ms, version)
        events, state = self._decided(self.state, command, context)
        if state.wants_showdown:
            hand = state.running
            cards = {seat: self.cards(seat, hand) for seat in hand.order if hand.live[seat]}
            shown, state = self._decided(state, cmd.Showdown(cards), context)
            events = [*events, *shown]
        if events:
            self.state = state
            self.seen(version, self.now_ms, events)
        hand_now = self.state.hand
        if hand_now is not None and hand_now.deal is not None:
            self.deal(hand_now.deal)
        return events

    @staticmethod
    def _decided(state: Table, command: cmd.Command, context: Context) -> tuple[list[Any], Table]:
        answer = step(state, command, context)
        assert not isinstance(answer, Rejection), f"{command}: {answer}"
        return answer

    # --- cards ---------------------------------------------------------------

    def deal(self, request: ev.DealRequested) -> None:
        """Answer as the dealer does."""
        taken = take(self.stub, request, self.river_rank)
        assert isinstance(taken, Positions), taken
        top = max([self.stub.top, *[position + 1 for position in (*taken.dealt, *taken.burns)]])
        self.stub = Stub(top, (*self.stub.burned, *taken.burns))
        up = tuple([ev.UpCard(seat, self.order[position]) for seat, position in taken.up])
        down = tuple([ev.DownCard(seat, position, b"") for seat, position in taken.down])
        community = None if taken.community is None else self.order[taken.community]
        root = ROOT if request.deal_no == 1 else None
        answer = cmd.RecordCards(request.hand_no, request.deal_no, up, down, community, root)
        self.dealt(request, taken, answer)
        self.send(answer)

    def dealt(self, request: ev.DealRequested, taken: Positions, answer: cmd.RecordCards) -> None:
        """Overridden by who keeps what the dealer did."""

    def cards(self, seat: int, hand: Hand | None = None) -> tuple[int, ...]:
        """The clear down cards of a seat."""
        boxes = (hand or self.hand).down[seat]
        return tuple([self.order[box.pos] for box in boxes])

    # --- playing -------------------------------------------------------------

    def sit(self, seats: Mapping[int, int], **preferences: bool) -> None:
        """Seat players with their stacks."""
        wishes = {"auto_post": True, "muck_losing": True, **preferences}
        for seat, stack in seats.items():
            self.send(cmd.TakeSeat(f"a{seat}", seat, stack, **wishes))
            self.send(cmd.RecordFunding(self.state.next_sitting_no - 1, stack))

    def start(self, order: Sequence[int], river_rank: Sequence[int] = range(DECK_SIZE)) -> None:
        """Start a hand with this deck."""
        self.settle()
        self.order, self.river_rank, self.stub = order, river_rank, Stub()
        if self.state.deck_hand_no == self.state.hand_no:  # else an ante round came to nothing
            self.send(cmd.RecordDeck(self.state.hand_no + 1, ROOT))
        self.now_ms += self.state.rules.hand_pause_ms
        self.send(cmd.StartHand())

    def settle(self) -> None:
        """Record the verdict on the last hand, when one is missing."""
        if self.state.ended_hand > self.state.verified_hand:
            self.send(cmd.RecordVerdict(self.state.ended_hand, self.state.ended_hand))

    def act(self, option: ev.Option) -> list[Any]:
        """Whoever is on turn takes an option."""
        hand = self.hand
        account = self.state.at(hand.turn_seat).account
        return self.send(cmd.Act(account, hand.turn_id, option.verb, option.to, option.size))

    def time_out(self) -> None:
        """Let the open turn or prompts run out."""
        deadlines = [prompt.deadline_ms for prompt in self.hand.prompts] or [self.hand.deadline_ms]
        self.now_ms = max(self.now_ms, *deadlines) + 1
        self.send(cmd.Tick())

    @property
    def hand(self) -> Hand:
        return self.state.running

    @property
    def turn(self) -> int:
        """The seat to act, 0 when nobody has to."""
        return self.state.hand.turn_seat if self.state.hand is not None else 0
