"""What waits for operators in a ledger: cash-outs that are held, and proposals that a second one has to agree to."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from itertools import islice

from stud.wallet.v1 import wallet_service_pb2 as pb
from stud_core.ledger.interest import stands
from stud_core.ledger.names import escrow
from stud_core.ledger.state import Ledger, Proposal
from stud_wire.codec import to_message
from wallet_service.verdicts import Verdicts

Place = tuple[str, int]


def held_after(state: Ledger, after: Place, table: str, most: int) -> list[Place]:
    """Return the next places of cash-outs that are held, in order; of one table where it is named."""
    tables = [table] if table else [name for name in state.held if name >= after[0]]
    places = ((name, number) for name in tables for number in state.held.get(name, ()))
    return heapq.nsmallest(most, (place for place in places if place > after))


def held_cash_out(currency: str, state: Ledger, verdicts: Verdicts, place: Place) -> pb.HeldCashOut:
    """Return what is held at a place, and what has to be decided before it."""
    table, sitting_no = place
    book = state.sittings[place]
    waits_for = ""
    if verdicts.in_dispute(table, sitting_no):
        waits_for = "HAND_DISPUTED"
    elif verdicts.last_hand(table, sitting_no) > state.settled.get(table, 0):
        waits_for = "SETTLEMENT_BLOCKED"
    return pb.HeldCashOut(
        currency=currency,
        table=table,
        sitting_no=sitting_no,
        account=book.account,
        claim=book.claim,
        escrow=state.balance(escrow(table, sitting_no)),
        waits_for=waits_for,
    )


def proposed_after(state: Ledger, version: int, most: int) -> list[tuple[Proposal, bool]]:
    """Return the next proposals behind a version, oldest first, and whether each counts now."""
    later: Iterable[Proposal] = (known for known in state.proposals.values() if known.version > version)
    return [(known, stands(state, known.proposed)) for known in islice(later, most)]


def proposal(currency: str, known: Proposal, at_ms: int, *, counts: bool) -> pb.Proposal:
    """Return a proposal as it is told."""
    return pb.Proposal(
        currency=currency,
        version=known.version,
        at_ms=at_ms,
        operator=known.proposed.operator,
        table=known.proposed.table,
        sitting_no=known.proposed.sitting_no,
        amount=known.amount,
        postings=[to_message(line) for line in known.proposed.postings],
        reference=known.proposed.reference,
        counts=counts,
    )
