"""Tables of any ruleset with anything that can happen at them, legal and not; see ``watched_table`` for the checks."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from stud_core import commands as cmd
from stud_core.ruleset import Ruleset
from stud_core.state import Life
from tests.property.illegal import illegal_commands
from tests.property.moves import Moves
from tests.property.strategies import DRAWN, PRESETS, configs, one_chip_up
from tests.property.waits import Awaited
from tests.support.deep import either

BYTE = st.integers(0, 255)
MOVES = st.binary(min_size=1, max_size=20)
PLAYERS = st.integers(2, 8).flatmap(lambda number: st.lists(BYTE, min_size=number, max_size=number))


class TableMachine(RuleBasedStateMachine):
    """``rulesets`` is set by the classes below."""

    rulesets: st.SearchStrategy[Ruleset]
    table: Moves

    @initialize(data=st.data(), seed=st.integers(0, 2**32 - 1), players=PLAYERS)
    def open(self, data: st.DataObject, seed: int, players: list[int]) -> None:
        self.table = Moves(data.draw(configs(self.rulesets)), seed)
        for player in players:
            self.table.join(player, player // 12)

    @rule(moves=MOVES)
    def play(self, moves: bytes) -> None:
        for n in moves:
            self.table.move(n)

    @rule(seed=st.integers(0, 2**32 - 1), moves=st.integers(1, 60))
    def play_on(self, seed: int, moves: int) -> None:
        """Play at length: more than Hypothesis would choose move by move."""
        self.play(Random(seed).randbytes(moves))

    @rule(moves=MOVES, kind=BYTE, n=BYTE)
    def be_disturbed(self, moves: bytes, kind: int, n: int) -> None:
        self.table.disturb(kind, n)
        self.play(moves)

    @rule(n=BYTE, funded=st.booleans())
    def join(self, n: int, funded: bool) -> None:
        self.table.join(n, n // 12, funded=funded)

    @rule(n=BYTE)
    def top_up(self, n: int) -> None:
        """Chips that come in the middle of a hand, as a rule, and must wait (B.19, vector 136)."""
        self.table.top_up(n)

    @rule(n=BYTE)
    def answer_wallet(self, n: int) -> None:
        self.table.answer_wallet(n)

    @rule(late_ms=st.sampled_from([0, 1, 600_000]))
    def time_out(self, late_ms: int) -> None:
        self.table.time_out(late_ms)

    @rule()
    def refuse_everything_illegal(self) -> None:
        for command in illegal_commands(self.table):
            self.table.reject(command)

    def teardown(self) -> None:
        """Every table can be wound up: the hand ends, everybody is paid, and the log gives the same table."""
        table = getattr(self, "table", None)
        if table is None or not table.sound:
            return
        for _ in range(20_000):
            if table.awaited is Awaited.NOTHING:
                break
            if table.state.hand is None and table.state.life in {Life.OPEN, Life.DRAINING}:
                table.commit(cmd.CloseTable("op"))
            table.move(9)
        assert table.state.life is Life.CLOSED, "the table does not come to an end"
        assert table.state.paid_in - table.state.paid_out == table.state.rake_taken == table.purse.rake
        table.check_rebuild()


class PageMachine(TableMachine):
    rulesets = PRESETS


class FreeStacksMachine(TableMachine):
    """The two pages with stacks from one chip up."""

    rulesets = PRESETS.map(one_chip_up)


class KnobsMachine(TableMachine):
    rulesets = DRAWN


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("machine", "examples"), [(PageMachine, 12), (FreeStacksMachine, 36), (KnobsMachine, 36)])
def test_nothing_breaks_a_table(machine: type[TableMachine], examples: int):
    chosen: dict[str, Any] = {"max_examples": either(examples, 20 * examples, examples // 4), "stateful_step_count": 16}
    run_state_machine_as_test(machine, settings=settings(settings(), **chosen))
