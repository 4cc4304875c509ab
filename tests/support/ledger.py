"""A ledger without a service: commands in, events out, folded as they come.

``Till.gives`` is for commands that must be accepted, ``Till.refuses`` for those that must not.
"""

from typing import Any

from stud_core.events import Delta
from stud_core.ledger import commands as cmd
from stud_core.ledger.decide import decide
from stud_core.ledger.events import Posting
from stud_core.ledger.evolve import evolve
from stud_core.ledger.names import guarded
from stud_core.ledger.postings import postings_of
from stud_core.ledger.state import Ledger
from stud_core.rejection import Rejection

T = "t-1"
NEVER = 10**15
"""An expiry that no test reaches."""


class Till:
    """The one writer of a ledger in memory."""

    def __init__(self, **players: int) -> None:
        self.state = Ledger()
        self.commits: list[tuple[int, list[Any]]] = []
        for account, money in players.items():
            self.gives(cmd.OpenAccount(account, f"open-{account}"))
            if money:
                self.gives(cmd.Deposit(account, money, "", f"first-{account}", "cash"))

    @property
    def events(self) -> list[Any]:
        return [event for _, events in self.commits for event in events]

    def answer(self, command: cmd.Command, now_ms: int = 0) -> list[Any] | Rejection:
        answer = decide(self.state, command, now_ms)
        if isinstance(answer, list) and answer:
            version = self.state.version + 1
            self.commits.append((version, answer))
            evolve(self.state, answer, version)
        return answer

    def gives(self, command: cmd.Command, now_ms: int = 0) -> list[Any]:
        answer = self.answer(command, now_ms)
        assert not isinstance(answer, Rejection), answer
        return answer

    def refuses(self, command: cmd.Command, now_ms: int = 0) -> Rejection:
        before = len(self.commits)
        answer = self.answer(command, now_ms)
        assert isinstance(answer, Rejection), answer
        assert len(self.commits) == before
        return answer

    # What tables and the referee say

    def seat(self, sitting_no: int, account: str, amount: int = 500, table: str = T) -> list[Any]:
        return self.gives(cmd.FundBuyIn(table, sitting_no, account, amount, NEVER))

    def settle(self, hand_no: int, *deltas: tuple[int, str, int], rake: int = 0, table: str = T) -> list[Any]:
        return self.gives(settlement(hand_no, *deltas, rake=rake, table=table))

    def leave(self, sitting_no: int, account: str, claim: int | None, after_hand: int = 0, table: str = T) -> list[Any]:
        return self.gives(cmd.CashOut(table, sitting_no, account, claim, after_hand))

    # What must hold at any time

    def money(self, name: str) -> int:
        return self.state.balance(name)

    @property
    def balances(self) -> dict[str, int]:
        return {name: amount for name, amount in self.state.balances.items() if amount}

    def check(self) -> None:
        """Double entry: every event sums to zero, nobody is overdrawn, and the carried balances are the entries'."""
        entries: dict[str, int] = {}
        for event in self.events:
            lines = postings_of(event)
            assert sum(line.amount for line in lines) == 0, event
            for line in lines:
                entries[line.account] = entries.get(line.account, 0) + line.amount
                assert not guarded(line.account) or entries[line.account] >= 0, (line.account, event)
        assert {name: amount for name, amount in entries.items() if amount} == self.balances


def settlement(hand_no: int, *deltas: tuple[int, str, int], rake: int = 0, table: str = T) -> cmd.SettleHand:
    """A verdict's figures: (sitting, account, net result) each. Its version in the verdict log is 100 + the hand's."""
    return cmd.SettleHand(table, hand_no, 100 + hand_no, tuple(Delta(*delta) for delta in deltas), rake)


def lines(**amounts: int) -> tuple[Posting, ...]:
    """Posting lines; an underscore stands for a colon, e.g. ``house_cashier=-5``."""
    return tuple(Posting(name.replace("_", ":"), amount) for name, amount in amounts.items())
