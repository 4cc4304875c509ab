"""The harness of the core with a judge beside it: after every commit everything must hold that holds at any table.

Checked are ``decide``, ``evolve`` and ``step``, which must agree and change nothing that they were given; the chips,
after every single event; the cards, each of which lies where the dealer put it; and the table rebuilt from the log.
It must not know a rule of poker: what is legal, due or won is what the tests are about.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from stud_core import events as ev
from stud_core.commands import Command, Context
from stud_core.conservation import check
from stud_core.decide import decide, step
from stud_core.evolve import apply, evolve, fold
from stud_core.rejection import Rejection
from stud_core.ruleset import TableConfig
from stud_core.state import Hand, Table
from tests.support.core_table import CoreTable, DealsCards, Stepped, commit_of
from tests.support.deep import QUICK


class CountsCards(DealsCards, Protocol):
    """A dealer that knows where each card is."""

    def check(self, hand: Hand, /) -> None: ...


def checked_step(state: Table, command: Command, ctx: Context) -> Stepped:
    """Decide and fold; ``step`` must say the same, and the table given must be as it was."""
    photo = msgspec.msgpack.encode(state)
    answer = decide(state, command, ctx)
    result = answer if isinstance(answer, Rejection) else (answer, evolve(state, answer, ctx.version))
    assert step(state, command, ctx) == result, "step differs from decide and evolve"
    if isinstance(answer, Rejection):
        assert answer.text, "a refusal says nothing"
    what = "a refusal" if isinstance(answer, Rejection) else "decide or evolve"
    assert msgspec.msgpack.encode(state) == photo, f"{what} changed the state it was given: {command}"
    return result


class CheckedTable(CoreTable):
    """``mirror`` is rebuilt beside the live table, event by event, from nothing but what is in the log.

    The whole log is folded again after every commit, in a quick run only where a hand has ended; ``refold`` False
    never does.
    """

    dealer: CountsCards

    def __init__(
        self, config: TableConfig, dealer: CountsCards, now_ms: int = 1_000_000, *, refold: bool = True
    ) -> None:
        self.mirror = Table()
        self.refold = refold
        super().__init__(config, dealer, now_ms)

    def decision(self, command: Command) -> Stepped:
        return commit_of(self.state, command, self.ctx(), self.clear_cards, checked_step)

    def reject(self, command: Command) -> Rejection:
        """Have a command refused, and nothing changed by it."""
        answer = checked_step(self.state, command, self.ctx())
        assert isinstance(answer, Rejection), f"accepted {command}: {answer}"
        return answer

    def written(self, version: int, events: list[ev.Event]) -> None:
        self.mirror.version = version
        for event in events:
            apply(self.mirror, event)
            assert check(self.mirror) is None, f"{check(self.mirror)} after {event}"
            self.see(event)
        assert self.mirror == self.state, "the rebuilt table differs from the live one"
        self.check()

    def see(self, event: ev.Event) -> None:
        """Told of every event when the mirror has folded it and those before."""

    def check(self) -> None:
        """What must hold after every commit, whatever was played."""
        assert check(self.state) is None, check(self.state)
        assert self.state.version == self.log[-1][0]
        assert not self.state.wants_showdown
        for sitting in self.state.sittings.values():
            assert sitting.stack >= 0, sitting
        hand = self.state.hand
        if hand is not None and not self.dealt_ahead:
            self.dealer.check(hand)
        if self.refold and (hand is None or not QUICK):
            assert fold(self.log) == self.state, "the table folded from its log differs from the live one"
