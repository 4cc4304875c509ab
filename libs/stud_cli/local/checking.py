"""What the demo knows of a system whose log it cannot read: verdicts and sums as the services tell them."""

from __future__ import annotations

from collections.abc import Iterable

from stud.rules.v1 import rules_service_pb2 as rules
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_cli.inspect.audit import Audit
from stud_cli.inspect.verdicts import Verdicts
from stud_cli.local.callers import Callers
from stud_cli.local.demo_table import CURRENCY
from stud_core import verdict_events as ve
from stud_wire.codec import from_message

PAGE = 1000


async def checked_by_calls(callers: Callers, tables: Iterable[str]) -> tuple[Audit, Verdicts]:
    """Return what the referee said of some tables, and whether the whole ledger sums to zero."""
    verdicts = Verdicts()
    for table in tables:
        await _read(callers, table, verdicts)
    request = wallet.GetTrialBalanceRequest(currency=CURRENCY, page_size=1)
    sums = await callers.operator.wallet.GetTrialBalance(request)
    return Audit(ledger_sum=sums.sum, liabilities=sums.liabilities, disputed=verdicts.open_disputes), verdicts


async def _read(callers: Callers, table: str, into: Verdicts) -> None:
    after = 0
    while True:
        request = rules.ListVerdictsRequest(table=table, after_hand=after, limit=PAGE)
        lines = (await callers.operator.rules.ListVerdicts(request)).verdicts
        for line in lines:
            kind = line.WhichOneof("body")
            if kind == "disputed":
                into.disputed[table][line.disputed.hand_no] = from_message(ve.HandDisputed, line.disputed)
            elif kind == "verified":
                into.final[table][line.verified.hand_no] = from_message(ve.HandVerified, line.verified)
            elif kind == "resolved":
                into.final[table][line.resolved.hand_no] = from_message(ve.HandResolved, line.resolved)
        if len(lines) < PAGE:
            return
        after = max(getattr(line, str(line.WhichOneof("body"))).hand_no for line in lines)
