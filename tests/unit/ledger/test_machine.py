"""Random lives of a ledger against a model of a few lines (compliance E.5: conservation, idempotence, rebuild).

The model knows what each player owns, at home and at the table, and nothing of how the ledger keeps it. Every message
that was ever given may come again at any time, in any order: it must change nothing.
"""

from collections import defaultdict
from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from stud_core.events import Delta
from stud_core.ledger import commands as cmd
from stud_core.ledger import events as ev
from stud_core.ledger.evolve import fold
from stud_core.rejection import Rejection
from tests.support.ledger import NEVER, Till

PLAYERS = ("ann", "bob", "cy")
TABLES = ("t-1", "t-2")
Sitting = tuple[str, int]


class Wallet(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.till = Till(**dict.fromkeys(PLAYERS, 0))
        self.home: dict[str, int] = dict.fromkeys(PLAYERS, 0)
        self.at_table: dict[Sitting, int] = {}
        self.owner: dict[Sitting, str] = {}
        self.top_ups: dict[Sitting, int] = defaultdict(int)
        self.hands: dict[str, int] = dict.fromkeys(TABLES, 0)
        self.blocked: dict[str, cmd.SettleHand] = {}
        self.outside = self.rake = 0
        self.sittings = self.requests = 0
        self.said: list[cmd.Command] = []

    def say(self, command: cmd.Command) -> list[Any] | Rejection:
        answer = self.till.answer(command)
        if not isinstance(answer, Rejection):
            self.said.append(command)
        return answer

    # What happens

    @rule(account=st.sampled_from(PLAYERS), amount=st.integers(1, 2000))
    def deposit(self, account: str, amount: int) -> None:
        self.requests += 1
        assert len(self.say(cmd.Deposit(account, amount, "", f"d-{self.requests}", "cash"))) == 1  # type: ignore[arg-type]
        self.home[account] += amount
        self.outside += amount

    @rule(account=st.sampled_from(PLAYERS), amount=st.integers(1, 1500))
    def withdraw(self, account: str, amount: int) -> None:
        self.requests += 1
        answer = self.say(cmd.Withdraw(account, amount, "", f"w-{self.requests}", "cash"))
        if amount <= self.home[account]:
            assert isinstance(answer, list)
            self.home[account] -= amount
            self.outside -= amount
        else:
            assert isinstance(answer, Rejection)
            assert answer.reason == "INSUFFICIENT_FUNDS"

    @rule(account=st.sampled_from(PLAYERS), table=st.sampled_from(TABLES), amount=st.integers(1, 800))
    def buy_in(self, account: str, table: str, amount: int) -> None:
        self.sittings += 1
        place = (table, self.sittings)
        answer = self.say(cmd.FundBuyIn(*place, account, amount, NEVER))
        if amount <= self.home[account]:
            assert answer == [ev.BuyInFunded(*place, account, amount)]
            self.home[account] -= amount
            self.at_table[place], self.owner[place] = amount, account
        else:
            assert answer == [ev.BuyInDeclined(*place, account, "INSUFFICIENT_FUNDS", self.home[account])]

    @precondition(lambda self: self.at_table)
    @rule(data=st.data(), amount=st.integers(1, 400))
    def top_up(self, data: st.DataObject, amount: int) -> None:
        place = data.draw(st.sampled_from(sorted(self.at_table)))
        if place[0] in self.blocked:
            return
        account = self.owner[place]
        self.top_ups[place] += 1
        answer = self.say(cmd.FundTopUp(*place, self.top_ups[place], account, amount))
        assert isinstance(answer, list)
        if amount <= self.home[account]:
            assert isinstance(answer[0], ev.TopUpFunded)
            self.home[account] -= amount
            self.at_table[place] += amount
        else:
            assert isinstance(answer[0], ev.TopUpDeclined)
            assert answer[0].balance == self.home[account]

    def _players(self, table: str) -> list[Sitting]:
        return sorted(place for place in self.at_table if place[0] == table)

    def _hand(self, data: st.DataObject, table: str, most: int) -> cmd.SettleHand | None:
        """A verdict: one loses up to `most`, another wins it less the rake."""
        players = self._players(table)
        if len(players) < 2:
            return None
        loser, winner = data.draw(st.permutations(players))[:2]
        lost = data.draw(st.integers(0, most))
        rake = data.draw(st.integers(0, lost // 10))
        deltas = (
            Delta(loser[1], self.owner[loser], -lost),
            Delta(winner[1], self.owner[winner], lost - rake),
        )
        return cmd.SettleHand(table, self.hands[table] + 1, 1000 + self.hands[table], deltas, rake)

    @rule(data=st.data(), table=st.sampled_from(TABLES), void=st.booleans())
    def hand(self, data: st.DataObject, table: str, void: bool) -> None:
        if table in self.blocked:
            return
        hand = cmd.SettleHand(table, self.hands[table] + 1, 1000 + self.hands[table], (), 0)
        if not void:
            hand = self._hand(data, table, 900) or hand
        answer = self.say(hand)
        assert isinstance(answer, list)
        after = {p.sitting_no: self.at_table[table, p.sitting_no] + p.delta for p in hand.postings}
        if any(money < 0 for money in after.values()):
            assert isinstance(answer[0], ev.SettlementBlocked)
            self.blocked[table] = hand
            return
        assert isinstance(answer[0], ev.HandSettled)
        self._settled(hand)

    def _settled(self, hand: cmd.SettleHand) -> None:
        for posting in hand.postings:
            self.at_table[hand.table, posting.sitting_no] += posting.delta
        self.rake += hand.rake
        self.hands[hand.table] += 1

    @precondition(lambda self: self.blocked)
    @rule()
    def cover_the_lack(self) -> None:
        table, hand = self.blocked.popitem()
        for posting in hand.postings:
            lack = -(self.at_table[table, posting.sitting_no] + posting.delta)
            if lack <= 0:
                continue
            lines = (ev.Posting("house:cashier", -lack), ev.Posting(f"escrow:{table}:{posting.sitting_no}", lack))
            for operator in ("op-1", "op-2"):
                assert isinstance(self.till.gives(cmd.Adjust(lines, operator, f"{table} {hand.hand_no}")), list)
            self.at_table[table, posting.sitting_no] += lack
            self.outside += lack
        self.say(hand)
        self._settled(hand)

    @precondition(lambda self: self.at_table)
    @rule(data=st.data(), wrong=st.sampled_from((0, 0, 0, 1)), never_sat=st.booleans())
    def cash_out(self, data: st.DataObject, wrong: int, never_sat: bool) -> None:
        place = data.draw(st.sampled_from(sorted(self.at_table)))
        table, money, account = place[0], self.at_table[place], self.owner[place]
        if table in self.blocked:
            return
        claim = None if never_sat and not wrong else money + wrong
        answer = self.say(cmd.CashOut(*place, account, claim, self.hands[table]))
        if wrong:
            assert answer == [ev.CashOutBlocked(*place, account, money + 1, money)]
            for operator in ("op-1", "op-2"):
                self.till.gives(cmd.ResolveCashOut(*place, money, operator, "looked at"))
        else:
            assert answer == [ev.CashedOut(*place, account, money)]
        self.home[account] += money
        del self.at_table[place], self.owner[place]

    @precondition(lambda self: self.said)
    @rule(data=st.data())
    def said_again(self, data: st.DataObject) -> None:
        """Any message once more; a blocked verdict is no exception, it just stays blocked."""
        before = dict(self.till.balances)
        command = data.draw(st.sampled_from(self.said))
        assert not isinstance(self.till.answer(command), Rejection)
        assert self.till.balances == before

    # What always holds

    @invariant()
    def everybody_has_what_they_own(self) -> None:
        expected = {f"player:{account}": money for account, money in self.home.items()}
        expected |= {f"escrow:{table}:{number}": money for (table, number), money in self.at_table.items()}
        expected |= {"house:rake": self.rake, "house:cashier": -self.outside}
        assert {name: money for name, money in expected.items() if money} == self.till.balances

    @invariant()
    def nothing_is_made_or_overdrawn(self) -> None:
        assert sum(self.till.balances.values()) == 0
        assert sum(self.at_table.values()) == self.till.state.in_escrow
        self.till.check()

    def teardown(self) -> None:
        assert fold(self.till.commits) == self.till.state


TestWallet = Wallet.TestCase
TestWallet.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
