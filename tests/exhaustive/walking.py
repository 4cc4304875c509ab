"""The same trees walked by the engine: every option of every turn, one by one, with nothing remembered."""

from __future__ import annotations

from stud_core import commands as cmd
from stud_core.events import DealRequested, DownCard, UpCard
from stud_core.presets import RULESETS
from stud_core.rejection import Rejection
from stud_core.state import Phase, Table
from tests.exhaustive.counting import Tally, cards_of, of_leaf
from tests.exhaustive.scenarios import ANTE, BIG, PAGES, SMALL, Scenario
from tests.support.core_table import commit_of
from tests.support.table_driver import TableDriver

NOW_MS = 1_000_000


class Walk:
    """One scenario; ``tally`` is that of :mod:`tests.exhaustive.counting`."""

    def __init__(self, scenario: Scenario) -> None:
        self.up = [cards_of(text) for text in scenario.cards.up]
        self.down = [cards_of(text) for text in scenario.cards.down]
        self.players = range(1, len(scenario.stacks) + 1)
        self.tally = Tally()
        table = TableDriver(
            RULESETS[scenario.page], dict(zip(self.players, scenario.stacks, strict=True)),
            limits=(SMALL, BIG), ante=ANTE, bring_in=PAGES[scenario.page].bring_in,
        )  # fmt: skip
        table.auto_deal = False
        table.start()
        assert table.hand.order == tuple(self.players)
        self.visit(self.send(table.state), 0)

    def visit(self, state: Table, depth: int) -> None:
        hand = state.hand
        if hand is None or hand.phase is Phase.SHOW_PROMPTS:  # the pot is paid, the question changes nothing
            end = "showdown" if hand is None else "fold"
            self.tally.update(of_leaf(end, [state.at(seat).stack for seat in self.players]))
            return
        self.tally["street", hand.street] += 1
        self.tally["depth", depth] += 1
        account = state.at(hand.turn_seat).account
        for option in hand.options:
            act = cmd.Act(account, hand.turn_id, option.verb, option.to, option.size)
            self.visit(self.send(state, act), depth + 1)

    def send(self, state: Table, command: cmd.Command | None = None) -> Table:
        """Have a command accepted and the dealer and the vault do their part."""
        while True:
            if command is not None:
                answer = commit_of(state, command, cmd.Context(NOW_MS, state.version + 1), self.open_cards)
                assert not isinstance(answer, Rejection), f"{command}: {answer}"
                state = answer[1]
            if state.hand is None or state.hand.deal is None:
                return state
            command = self.deal(state.hand.deal)

    def deal(self, request: DealRequested) -> cmd.RecordCards:
        """Positions are made up: a row of the deck for each seat."""
        first, last = {3: (0, 2), 7: (2, 3)}.get(request.street, (0, 0))
        down = [DownCard(seat, 10 * seat + n, b"box") for n in range(first, last) for seat in request.targets]
        up = [UpCard(seat, self.up[seat - 1][request.street - 3]) for seat in request.targets if request.street < 7]
        root = b"root" if request.deal_no == 1 else None
        return cmd.RecordCards(request.hand_no, request.deal_no, tuple(up), tuple(down), None, root)

    def open_cards(self, state: Table) -> dict[int, tuple[int, ...]]:
        hand = state.running
        return {seat: self.down[seat - 1] for seat in hand.order if hand.live[seat]}
