"""Choices made ahead of the turn: their owner's alone, in memory, never in the log (W28; architecture.md, "Calls").

After every commit what no longer holds is dropped; when its owner's turn has come a choice becomes their action, under
the request id it was made with, so that sending the choice again gets that result.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from stud_core import bet_ahead
from stud_core.bet_ahead import PreAction
from stud_core.commands import Act
from stud_core.events import Size, Verb
from stud_core.rejection import Rejection
from stud_core.state import Table
from stud_service.refusals import Refused


class Price(msgspec.Struct, frozen=True):
    """What a player was looking at when choosing."""

    hand_no: int
    street: int
    level: int


class Wish(msgspec.Struct, frozen=True):
    """What a player wants done."""

    verb: Verb
    size: Size | None = None
    any_price: bool = False


class Due(msgspec.Struct, frozen=True):
    """A choice whose turn has come."""

    account: str
    pre_action: PreAction
    act: Act
    request_id: str
    digest: bytes


class _Chosen(msgspec.Struct, frozen=True):
    pre_action: PreAction
    request_id: str
    digest: bytes


class ChoicesAhead:
    """The choices of one table's players, one each."""

    def __init__(self) -> None:
        self._chosen: dict[str, _Chosen] = {}
        self._due: Due | None = None
        self._streams: Counter[str] = Counter()

    def of(self, account: str) -> PreAction | None:
        """What a player has chosen; until it is done, also what is due."""
        if self._due is not None and self._due.account == account:
            return self._due.pre_action
        found = self._chosen.get(account)
        return found.pre_action if found is not None else None

    def is_due(self, account: str) -> bool:
        """Whether the player's turn has come and their choice is about to be done."""
        return self._due is not None and self._due.account == account

    def waits_under(self, account: str, request_id: str) -> bool:
        """Whether a choice will be done under this request id, which is therefore not free for another command."""
        found = self._due if self.is_due(account) else self._chosen.get(account)
        return found is not None and found.request_id == request_id

    def set(self, table: Table, account: str, price: Price, wish: Wish, request_id: str, digest: bytes) -> bool:
        """Keep a choice, and return whether it differs from the one before. Raises Refused."""
        if not self.is_connected(account) and wish.verb is not Verb.FOLD:
            raise Refused(
                "PRE_ACTION_NOT_ALLOWED", "open a Play or Watch stream first: a lost connection cancels the choice"
            )
        chosen = bet_ahead.choose(table, account, wish.verb, wish.size, any_price=wish.any_price)
        if isinstance(chosen, Rejection):
            raise Refused.from_rejection(chosen)
        now = Price(chosen.hand_no, chosen.street, chosen.level)
        if price != now:
            raise Refused(
                "STALE_TURN",
                f"the choice is for hand {price.hand_no}, street {price.street}, price {price.level}; now it is "
                f"hand {now.hand_no}, street {now.street}, price {now.level}",
                rule="B.16",
                turn_id=str(table.running.turn_id if table.running.turn_seat else 0),
                hand_no=str(now.hand_no),
                street=str(now.street),
                price=str(now.level),
            )
        changed = self.of(account) != chosen
        self._chosen[account] = _Chosen(chosen, request_id, digest)
        return changed

    def clear(self, table: Table, account: str, hand_no: int) -> bool:
        """Drop a choice of that hand (0 = of any), and return whether there was one. Raises Refused."""
        if table.of(account) is None:
            raise Refused("NOT_SEATED", "the account does not sit at this table")
        if hand_no not in {0, table.hand_no}:
            return False
        if self.is_due(account):
            raise Refused("PRE_ACTION_NOT_ALLOWED", "its turn has come: it is being done", rule="B.16")
        return self._chosen.pop(account, None) is not None

    def moved_on(self, table: Table) -> Due | None:
        """After a commit: drop what no longer holds, and take out the choice whose turn has come. It is due until it is
        done, or until it holds no more either.
        """
        if self._due is not None and bet_ahead.action(table, self._due.account, self._due.pre_action) != self._due.act:
            self._due = None
        come = None
        for account, found in list(self._chosen.items()):
            act = bet_ahead.action(table, account, found.pre_action)
            if act is not None:
                self._due = come = Due(account, found.pre_action, act, found.request_id, found.digest)
            if act is not None or not bet_ahead.holds(table, account, found.pre_action):
                del self._chosen[account]
        return come

    def not_done(self, account: str) -> bool:
        """Note that the player's choice came to nothing; return whether it was still due."""
        was_due = self.is_due(account)
        if was_due:
            self._due = None
        return was_due

    def forget(self) -> None:
        """The table is not what it was thought to be: nothing that was chosen counts."""
        self._chosen.clear()
        self._due = None

    def is_connected(self, account: str) -> bool:
        """Whether the player has a stream of this table open."""
        return self._streams[account] > 0

    def connected(self, account: str) -> None:
        """One more of the player's streams."""
        self._streams[account] += 1

    def disconnected(self, account: str) -> None:
        """One less; with the last of them goes the choice, unless it is Fold (B.16)."""
        self._streams[account] -= 1
        if self._streams[account] <= 0:
            del self._streams[account]
            found = self._chosen.get(account)
            if found is not None and not found.pre_action.outlives_connection:
                del self._chosen[account]
