"""Pots, their winners, odd units and the rake, computed beside the engine from chips paid and clear cards."""

from __future__ import annotations

from stud_core import events as ev
from stud_core.ruleset import OddUnits, TableConfig
from stud_core.state import Table
from tests.property.betting_watch import BettingWatch
from tests.property.purse import Purse
from tests.property.shuffled import ShuffledDealer
from tests.support import limit_betting as oracle

ODD = {
    OddUnits.ONE_EACH_FROM_LEFT: "one_each",
    OddUnits.ALL_TO_FIRST_LEFT: "all_to_first",
    OddUnits.HIGH_CARD_BY_SUIT: "high_card",
}

Awards = list[tuple[int, int, int, dict[int, int]]]  # number, amount, rake, shares by seat


class PotWatch:
    def __init__(self, config: TableConfig, purse: Purse, betting: BettingWatch, dealer: ShuffledDealer) -> None:
        self.config, self.purse, self.betting, self.dealer = config, purse, betting, dealer
        self.due: Awards | None = None
        self.must_show: set[int] = set()
        self.shown: set[int] = set()

    def see(self, event: ev.Event, table: Table) -> None:
        match event:
            case ev.HandStarted():
                self.due, self.must_show, self.shown = None, set(), set()
            case ev.HandShown():
                self.shown.add(event.seat)
            case ev.PotAwarded():
                if self.due is None:
                    self.due = self._awards(table)
                shares = {share.seat: share.amount for share in event.shares}
                assert (event.pot_no, event.amount, event.rake, shares) == self.due.pop(0), event
            case ev.HandEnded():
                assert not self.due, f"never paid: {self.due}"
                assert self.must_show <= self.shown, f"winners who were not shown: {self.must_show - self.shown}"
            case _:
                pass
        if table.hand is not None and table.hand.order and not table.hand.awarded:
            pots = [(amount, {order.index(s) for s in seats}) for amount, seats in table.hand.pots
                    if (order := table.hand.order)]  # fmt: skip
            assert pots == [(amount, set(places)) for amount, places in self.layers()]

    def layers(self) -> list[tuple[int, tuple[int, ...]]]:
        paid = [self.purse.paid[seat] for seat in self.betting.order]
        return oracle.layers(paid, self.betting.folded)

    def _awards(self, table: Table) -> Awards:
        """Last side pot first; an uncontested hand is paid from the main pot on (B.14)."""
        order, hand = self.betting.order, table.running
        pots = self.layers()
        rakes = self._rakes([amount for amount, _ in pots])
        contested = self.betting.folded.count(False) > 1
        common = () if hand.community is None else (hand.community,)
        own = [(*hand.up[seat], *self.dealer.open(hand.down[seat])) for seat in order]
        high = [max(cards, default=0) for cards in own]
        awards: Awards = []
        for number, (amount, places) in enumerate(pots):
            winners = list(places)
            if contested:
                keys = {place: oracle.hand_key((*own[place], *common)) for place in places}
                winners = [place for place in places if keys[place] == max(keys.values())]
                self.must_show |= {order[place] for place in winners if len(places) > 1}
            split = oracle.shares(amount - rakes[number], winners, ODD[self.config.ruleset.odd_units], high)
            awards.append((number, amount, rakes[number], {order[place]: share for place, share in split.items()}))
        return awards[::-1] if contested else awards

    def _rakes(self, pots: list[int]) -> list[int]:
        """Basis points of what was called, no more than the cap, main pot first; none before fourth (B.14, B.21)."""
        rules = self.config.ruleset
        if rules.no_rake_before_fourth and self.betting.street < 4:
            return [0] * len(pots)
        second, first = sorted(self.purse.paid.values())[-2:]
        left = (sum(pots) - (first - second)) * rules.rake_bps // 10_000
        left = left if rules.rake_cap is None else min(left, rules.rake_cap)
        rakes = []
        for pot in pots:
            rakes.append(min(left, pot))
            left -= rakes[-1]
        return rakes
