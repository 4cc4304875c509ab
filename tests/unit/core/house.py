"""A checked table for tests of the core: commands in, events out, each commit of the dealer and of the showdown to see.

Cards are stacked: ``cards`` names them by seat, all others are the lowest that nobody named. Unlike the table driver
it deals only where a test says so, or takes a turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.decide import step
from stud_core.presets import PLAYNOW, table_config
from stud_core.rejection import Rejection
from stud_core.ruleset import Ruleset
from stud_core.state import Hand, Phase, Sitting, Table
from tests.support.checked_table import CheckedTable
from tests.support.core_table import STACK
from tests.support.table_dealer import Dealer

DOORS = {1: "2c", 2: "5d", 3: "9h", 4: "Js", 5: "8c", 6: "Td", 7: "4h", 8: "6s"}


class LowestFirst(Dealer):
    """Deals the lowest card that is left where no card was named."""

    def pick(self, free: list[int]) -> int:
        return free[0]


class House(CheckedTable):
    """A table at 5/10, ante 0.50."""

    auto_deal = False

    def __init__(
        self,
        ruleset: Ruleset = PLAYNOW,
        stacks: Mapping[int, int] | Iterable[int] = (),
        *,
        up: Mapping[int, str] | None = None,
        down: Mapping[int, str] | None = None,
        community: str | None = None,
        rng: Random | None = None,
        **parameters: object,
    ) -> None:
        """With ``rng`` cards that are not named are random."""
        kind = LowestFirst if rng is None else Dealer
        dealer = kind(ruleset.burns, DOORS if up is None else up, down or {}, community, rng or Random(0))
        super().__init__(table_config(ruleset, **{"currency": "XTS", **parameters}), dealer)  # type: ignore[arg-type]
        chips = stacks if isinstance(stacks, Mapping) else dict.fromkeys(stacks, STACK)
        self.sit_all(chips)

    def after(self, command: cmd.Command) -> Table:
        """The table as it would be after a command alone, before the showdown that may ride along."""
        answer = step(self.state, command, self.ctx())
        assert not isinstance(answer, Rejection), answer
        return answer[1]

    # --- a hand --------------------------------------------------------------

    def ready_deck(self) -> None:
        """What the next hand waits for, and no time passes."""
        self.settle()
        super().ready_deck()

    def start(self) -> list[ev.Event]:
        """Open the antes of the next hand and deal third street when they are in."""
        self.ready_deck()
        events = self.send(cmd.StartHand())
        self.deal_on()
        return events

    def clear(self, hand: Hand, seat: int) -> tuple[int, ...]:
        return self.dealer.open(hand.down[seat])

    def act(self, seat: int, verb: str, to: int | None = None, size: ev.Size | None = None) -> list[ev.Event]:
        """Take the turn and have the dealer answer."""
        assert self.hand.turn_seat == seat, f"the turn is at {self.hand.turn_seat}"
        events = self.send(self.command(verb, to, size))
        self.deal_on()
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
        self.deal_on()
        return events

    # --- looking -------------------------------------------------------------

    def at(self, seat: int) -> Sitting:
        return self.state.at(seat)
