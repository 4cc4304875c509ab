"""What bots hold the system to while they play: the order of versions on a stream, verdicts, and their own books."""

from __future__ import annotations

from stud_load.violations import Rule, Violations


class StreamCheck:
    """The versions of one viewer's streams. Each update is the version after the last. A full view (`reset`) is at the
    version the viewer has; only as the first thing on a stream it may be later, where the table keeps no more of what
    lies between.
    """

    def __init__(self, name: str, violations: Violations) -> None:
        self.version: int | None = None
        self._name = name
        self._violations = violations
        self._fresh = True

    def opened(self) -> None:
        """A stream is opened, after the version at hand."""
        self._fresh = True

    def take(self, version: int, *, reset: bool) -> None:
        """Take an update in."""
        last, fresh = self.version, self._fresh
        self.version, self._fresh = version, False
        if last is None:
            return
        if version < last or (version == last and not reset):
            self._violations.add(Rule.REPEATED, f"{self._name}: version {version} came after version {last}")
        elif version > last + (not reset) and not (reset and fresh):
            self._violations.add(Rule.MISSED, f"{self._name}: version {version} came after version {last}")


class Book:
    """One player's money as the player knows it, minor units: own deposits and what each verified hand brought."""

    def __init__(self, account: str) -> None:
        self.account = account
        self.deposited = 0
        self.bought = 0
        self.results = 0

    @property
    def expected(self) -> int:
        """What must be in the account once no chips are at a table."""
        return self.deposited + self.results

    def check(self, balance: int, at_tables: int, violations: Violations) -> None:
        """Compare with what the wallet says."""
        if balance + at_tables != self.expected or at_tables:
            violations.add(
                Rule.BOOK,
                f"{self.account}: deposited {self.deposited}, won or lost {self.results}, bought in for {self.bought}: "
                f"want a balance of {self.expected} and nothing at tables, the wallet has {balance} and {at_tables}",
            )


class HandsCheck:
    """The hands of one table as its viewers were told of them."""

    def __init__(self, table: str, violations: Violations) -> None:
        self.ended = 0
        self.verified = 0
        self.unseen = 0
        """Hands whose end no viewer was told of, since all streams were cut for too long."""
        self._table = table
        self._violations = violations

    def hand_began(self, hand_no: int) -> None:
        """No hand may begin before the verdict on the one before it."""
        if hand_no - 1 > self.verified:
            self._violations.add(
                Rule.VERDICT, f"{self._table}: hand {hand_no} began, verified were hands up to {self.verified}"
            )

    def hand_ended(self, hand_no: int) -> bool:
        """Return whether it is news."""
        if hand_no <= self.ended:
            return False
        self.unseen += hand_no - self.ended - 1
        self.ended = hand_no
        return True

    def shown(self, verified: int) -> None:
        """A full view came where viewers have nothing of what lay before: hands may have ended meanwhile."""
        self.unseen += max(0, verified - self.ended)
        self.ended = max(self.ended, verified)
        self.hand_verified(verified)

    def hand_verified(self, hand_no: int) -> None:
        """The referee has judged it."""
        self.verified = max(self.verified, hand_no)

    def disputed(self, hand_no: int) -> None:
        """The referee does not agree."""
        self._violations.add(Rule.VERDICT, f"{self._table}: hand {hand_no} is disputed")

    def check_end(self) -> None:
        """At the end every hand that ended has its verdict."""
        if self.verified < self.ended:
            self._violations.add(
                Rule.VERDICT, f"{self._table}: hand {self.ended} ended, verified are hands up to {self.verified}"
            )
