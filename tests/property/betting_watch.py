"""Each turn, action and returned bet compared with the oracle of ``tests.support.limit_betting``."""

from __future__ import annotations

from stud_core import events as ev
from stud_core.ruleset import HeadsUp, OpenPair, ShortAllIn, TableConfig
from stud_core.state import Table
from tests.property.purse import Purse
from tests.support import limit_betting as oracle
from tests.support.limit_betting import Move, Page, Round

HEADS_UP = {
    HeadsUp.NEVER: "never",
    HeadsUp.TWO_REMAIN_BEFORE_CAP: "before_cap",
    HeadsUp.ROUND_START: "round",
    HeadsUp.HAND_START: "hand",
}
PAIR = {OpenPair.OFF: "off", OpenPair.HOLDER_ONLY: "holder", OpenPair.ANY: "any"}
SHORT = {ShortAllIn.HALF_BET: "half", ShortAllIn.FULL_BET: "full", ShortAllIn.ANY: "any"}


def page_of(config: TableConfig) -> Page:
    rules = config.ruleset
    return Page(
        config.small_bet, config.big_bet, config.bring_in, rules.max_raises, rules.completion_counts_as_raise,
        HEADS_UP[rules.heads_up], rules.heads_up_counts_all_in, PAIR[rules.open_pair], SHORT[rules.short_all_in],
    )  # fmt: skip


def move_of(event: ev.Option | ev.ActionTaken) -> Move:
    return Move(event.verb.name.lower(), event.to, event.size.name.lower() if event.size else None)


class BettingWatch:
    """The running hand's betting; places are indices of the deal order."""

    def __init__(self, config: TableConfig, purse: Purse) -> None:
        self.config, self.purse, self.page = config, purse, page_of(config)
        self.order: tuple[int, ...] = ()
        self.folded: tuple[bool, ...] = ()
        self.round: Round | None = None
        self.street = self.actions = self.most_actions = 0
        self.returned = (-1, 0)

    def see(self, event: ev.Event, table: Table) -> None:
        match event:
            case ev.HandStarted():
                self._start(event)
            case ev.CardsDealt():
                self._open_round(event, table)
            case ev.TurnStarted():
                self._turn(event, table)
            case ev.ActionTaken():
                self._action(event, table)
            case ev.UncalledReturned():
                assert self.round is not None
                self.returned = (self.order.index(event.seat), event.amount)
                assert self.returned == oracle.uncalled(self.round), event
            case ev.DealRequested() if event.deal_no > 1:
                self._close_round(event)
            case ev.PotAwarded():
                self._close_round(event)
            case _:
                pass

    def _start(self, event: ev.HandStarted) -> None:
        self.order = tuple([player.seat for player in event.dealt_in])
        self.folded = (False,) * len(self.order)
        self.street = 2
        self.actions = 0
        # A wager that counts takes half a bet at least, a short one a whole stack; each is answered by all others.
        chips = sum([self.purse.start[seat] for seat in self.order])
        wagers = 2 * chips // self.page.small + 5 + len(self.order)
        self.most_actions = (wagers + 5) * len(self.order)

    def _open_round(self, event: ev.CardsDealt, table: Table) -> None:
        self.street += 1
        assert event.street == self.street
        common: tuple[int, ...] = ()
        if event.community is not None and self.config.ruleset.community_counts_for_first:
            common = (event.community,)
        boards = [(*table.running.up[seat], *common) for seat in self.order]
        stacks = tuple([self.purse.stack(seat) for seat in self.order])
        self.round = oracle.open_round(self.page, event.street, stacks, self.folded, boards)
        self.returned = (-1, 0)

    def _turn(self, event: ev.TurnStarted, table: Table) -> None:
        assert self.round is not None
        place = oracle.turn(self.round)
        assert place is not None, f"the round is over: {self.round}"
        assert self.order[place] == event.seat, f"it is the turn of {self.order[place]}: {event} {self.round}"
        legal = oracle.moves(self.round)
        assert [move_of(option) for option in event.options] == list(legal), f"{event} {self.round}"
        bet, stack = self.round.bets[place], self.round.stacks[place]
        for option in event.options:
            assert option.amount == option.to - bet or option.verb is ev.Verb.FOLD, option
            assert option.all_in == (option.amount == stack), option
        assert event.to_call == min(max(0, self.round.price - bet), stack)
        assert event.turn_id == table.version

    def _action(self, event: ev.ActionTaken, table: Table) -> None:
        assert self.round is not None
        place = oracle.turn(self.round)
        assert place is not None, f"the round is over: {self.round}"
        assert self.order[place] == event.seat, event
        legal, move = oracle.moves(self.round), move_of(event)
        assert move in legal, f"{event} is none of {legal}"
        assert event.counts == oracle.counts(self.round, move), f"{event} {self.round}"
        if event.by in {ev.By.TIMEOUT, ev.By.LEAVING}:  # B.18, B.21; the knob away_folds_now folds for who is away
            free = next((m for m in legal if m.verb == "check"), legal[0])
            folds = legal[0] if event.by is ev.By.LEAVING and self.config.ruleset.away_folds_now else free
            assert move in {free, folds}, f"{event} was made by itself"
        self.round = oracle.play(self.round, move)
        self.folded = self.round.folded
        self.actions += 1
        assert self.actions <= self.most_actions, "the hand does not come to an end"

    def _close_round(self, event: ev.Event) -> None:
        """Nobody owes a decision and nothing is left that was not called."""
        assert self.round is not None
        assert oracle.turn(self.round) is None, f"{event} before the round is over: {self.round}"
        assert self.returned == oracle.uncalled(self.round), f"not returned: {self.round}"
