"""Checks a ledger against what a table's own log says, even while a hand is played or waits for its verdict.

Ledger and table are never read at one moment, and a hand reaches them one after the other. So escrows are compared as
they were before every hand that one of the two has not booked yet. Nothing is asked of a service.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from stud_cli.drawing import money
from stud_cli.inspect.ledgers import Ledger
from stud_core import events as ev
from stud_core import verdict_events as ve
from stud_core.ledger.events import HandSettled
from stud_core.ledger.names import escrow, parse_escrow
from stud_core.state import Sit, Sitting, Table

Final = ve.HandVerified | ve.HandResolved


class TableBook(msgspec.Struct):
    """What a table asked the wallet for by (sitting, top-up), top-up 0 is the buy-in; whose each cash-out was to be and
    what it was told to be paid, by sitting; and what each hand changed.
    """

    asked: dict[tuple[int, int], tuple[str, int]] = msgspec.field(default_factory=dict)
    leaving: dict[int, str] = msgspec.field(default_factory=dict)
    left: dict[int, int] = msgspec.field(default_factory=dict)
    deltas: dict[int, dict[int, int]] = msgspec.field(default_factory=dict)

    def note(self, event: object, table: Table) -> None:
        """Take in an event; ``table`` is what it was after the event's commit."""
        if isinstance(event, ev.BuyInRequested):
            self.asked[event.sitting_no, 0] = event.account, event.amount
        elif isinstance(event, ev.TopUpRequested):
            self.asked[event.sitting_no, event.top_up_no] = event.account, event.amount
        elif isinstance(event, ev.CashOutRequested):
            self.leaving[event.sitting_no] = event.account
        elif isinstance(event, ev.PlayerLeft):
            self.left[event.sitting_no] = event.paid
        elif isinstance(event, ev.HandEnded):
            self.deltas[event.hand_no] = {delta.sitting_no: delta.delta for delta in event.deltas}
        elif isinstance(event, ev.HandVoided):
            self.deltas[event.hand_no] = {}
        elif isinstance(event, ev.TableHandResolved):
            before = dict(table.hand_start_stacks)
            after = {entry.sitting_no: entry.stack for entry in event.stacks}
            self.deltas[event.hand_no] = {number: after.get(number, stack) - stack for number, stack in before.items()}


def settlement_problems(
    book: TableBook, table: Table, settled: Mapping[int, HandSettled], final: Mapping[int, Final]
) -> Iterator[str]:
    """Each settlement says what the verdict says, and what the table says. Figures other than these two may agree."""
    for hand_no, entry in settled.items():
        verdict = final.get(hand_no)
        if verdict is None:
            yield f"hand {hand_no}: settled without a verdict"
        elif set(entry.postings) != set(verdict.postings) or entry.rake != verdict.rake:
            yield f"hand {hand_no}: settled with other figures than the verdict's"
        elif isinstance(verdict, ve.HandResolved) and hand_no > table.verified_hand:
            continue  # the table has not heard yet what was decided
        if hand_no in book.deltas and _moved(_by_sitting(entry)) != _moved(book.deltas[hand_no]):
            yield f"hand {hand_no}: settled with other figures than the table's"


def cash_out_problems(book: TableBook, paid: Mapping[int, tuple[str, int]]) -> Iterator[str]:
    """Whoever leaves is paid once, under their own account, what the table was told. ``paid``: (account, amount)."""
    for number, (account, amount) in paid.items():
        whose = book.leaving.get(number)
        if whose is None:
            yield f"sitting {number}: {money(amount)} were paid out to {account}, nobody asked for it"
        elif whose != account:
            yield f"sitting {number}: {money(amount)} of {whose} were paid out to {account}"
        if book.left.get(number, amount) != amount:
            yield f"sitting {number}: {money(amount)} were paid out, the table was told {money(book.left[number])}"
    for number in book.left.keys() - paid.keys():
        yield f"sitting {number}: the table was told of a cash-out of {money(book.left[number])}, the ledger has none"


def escrow_problems(book: TableBook, table: Table, ledger: Ledger) -> Iterator[str]:
    """The escrow of a player who sits holds their chips, that of one who has left nothing."""
    table_id = table.rules.table_id
    settled = ledger.settled.get(table_id, {})
    waiting = [hand_no for hand_no in book.deltas if hand_no not in settled or hand_no > table.verified_hand]
    when = f" before hand {min(waiting)}" if waiting else ""
    for sitting in table.sittings.values():
        if sitting.status not in {Sit.SEATED, Sit.LEAVING}:
            continue
        number = sitting.sitting_no
        here = _chips_of(sitting, table) + _on_its_way(sitting, table_id, ledger)
        held = ledger.balances.get(escrow(table_id, number), 0)
        for hand_no in waiting:
            here -= book.deltas[hand_no].get(number, 0)
            held -= _by_sitting(settled[hand_no]).get(number, 0) if hand_no in settled else 0
        if held != here:
            yield f"sitting {number}: {money(here)} at the table, {money(held)} in escrow{when}"
    for name, amount in ledger.balances.items():
        of, number = parse_escrow(name) or ("", 0)
        if amount and of == table_id and number not in table.sittings:
            yield f"sitting {number}: has left, {money(amount)} are still in escrow"


def _chips_of(sitting: Sitting, table: Table) -> int:
    """LocalSystem, pending top-ups, and what went into the running hand; what its pots paid out is not settled yet."""
    hand = table.hand
    if hand is None:
        return sitting.stack + sitting.pending
    if hand.awarded and sitting.last_hand == hand.hand_no:
        return hand.start[sitting.seat] + sitting.pending
    return sitting.stack + hand.paid[sitting.seat] + sitting.pending


def _on_its_way(sitting: Sitting, table_id: str, ledger: Ledger) -> int:
    """A top-up that the ledger has funded and the table has not heard of."""
    if not sitting.top_up_open:
        return 0
    _, amount = ledger.funded.get(table_id, {}).get((sitting.sitting_no, sitting.top_up_no), ("", 0))
    return amount


def _by_sitting(entry: HandSettled) -> dict[int, int]:
    return {posting.sitting_no: posting.delta for posting in entry.postings}


def _moved(deltas: Mapping[int, int]) -> dict[int, int]:
    return {number: delta for number, delta in deltas.items() if delta}
