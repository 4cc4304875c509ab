"""How an evening at a table ended: for the player, and for whoever counts the chips."""

from __future__ import annotations

import msgspec

from stud_cli.inspect.audit import audit_log
from stud_core.amounts import TEST_CURRENCY
from stud_core.house_rules.saying import money
from stud_eventlog.redis_streams import RedisEventLog


class Outcome(msgspec.Struct, frozen=True):
    """What a player leaves with. Amounts in minor units: ``made_up`` was paid in as play money, ``paid`` is None where
    nothing was paid out. ``seated``: the seat was kept. ``ended`` says why the table could not be followed any more,
    empty = it could.
    """

    table: str
    account: str
    currency: str
    hands: int
    net: int
    made_up: int
    paid: int | None
    seated: bool
    ended: str

    def lines(self) -> list[str]:
        """Say it."""
        kind = "play money" if self.currency == TEST_CURRENCY else self.currency
        sign = "-" if self.net < 0 else "+"
        hands = f"{self.hands} hand{'' if self.hands == 1 else 's'}"
        out = [f"{self.account} saw {hands} at {self.table}: {sign}{money(abs(self.net))} {kind}"]
        if self.paid is not None:
            out.append(f"paid out {money(self.paid)} {kind}")
        if self.seated:
            out.append("the seat is kept, or is being paid out")
        return [*out, *([self.ended] if self.ended else [])]


async def audited(redis_url: str) -> tuple[str, ...]:
    """Count every chip of a system; return what does not fit. Raises EventLogError."""
    log = await RedisEventLog.connect(redis_url)
    try:
        found, _ = await audit_log(log)
    finally:
        await log.close()
    return tuple(found.problems)
