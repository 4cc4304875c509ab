"""``stud audit``: is every chip accounted for? Recomputed from the logs, nothing is asked of a service."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import typer
from rich.console import Console
from rich.markup import escape

from stud_cli.drawing import money
from stud_cli.exit_codes import FINE, FOUND, said_as
from stud_cli.inspect.escrows import TableBook, cash_out_problems, escrow_problems, settlement_problems
from stud_cli.inspect.ledgers import Ledger, read_ledger
from stud_cli.inspect.log import open_log
from stud_cli.inspect.table_history import steps
from stud_cli.inspect.verdicts import Final, Verdicts, read_verdicts
from stud_cli.inspect.watching import Watch
from stud_cli.local.stopping import run_with_one_stop
from stud_cli.output import DataDir, JsonFlag, console, last_line, notes, table_of
from stud_core import conservation
from stud_core import verdict_events as ve
from stud_core.deck_events import LogRef
from stud_core.ledger.names import CASHIER, RAKE, escrow, parse_escrow
from stud_core.ruleset import TableConfig
from stud_core.state import Sit, Table
from stud_eventlog import keys
from stud_eventlog.log import CommitLog, EventLog
from stud_eventlog.types import ChainBroken, EventLogError
from stud_wire.codec import WireError
from stud_wire.commits import decode_commit

ON_ITS_WAY_S = 0.5
"""What is on its way between two logs arrives within this time where the services run."""


_NOWHERE = LogRef("", 0, 0, b"")


class Audit(msgspec.Struct):
    """What an audit found; amounts in minor units."""

    accounts: int = 0
    ledger_sum: int = 0
    liabilities: int = 0
    open_hands: int = 0
    unsettled: int = 0
    disputed: int = 0
    problems: list[str] = msgspec.field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether every chip is where it should be and nothing waits for a decision."""
        return not self.problems and self.ledger_sum == 0 and self.disputed == 0


def audit(data: DataDir = None, json_output: JsonFlag = False) -> None:
    """Recompute every balance from the ledger's entries and check it against tables and verdicts.

    Example: stud audit --json
    """
    with said_as("the log cannot be audited: {}", EventLogError, WireError):
        found, ledgers = run_with_one_stop(_audit(data, quiet=json_output))
    if json_output:
        for problem in found.problems:
            notes.print(f"problem {problem}", markup=False, soft_wrap=True)
        last_line(
            {
                "accounts": found.accounts,
                "ledger_sum": found.ledger_sum,
                "liabilities": found.liabilities,
                "open_hands": found.open_hands,
                "unsettled": found.unsettled,
                "disputed": found.disputed,
                "ok": found.ok,
            }
        )
    else:
        show(found, ledgers)
    raise typer.Exit(FINE if found.ok else FOUND)


def show(found: Audit, ledgers: Iterable[Ledger]) -> None:
    """Print the audit for people."""
    for ledger in ledgers:
        rows = [(name, money(amount)) for name, amount in ledger.players()]
        rows += [(name, money(a)) for name, a in sorted(ledger.balances.items()) if name in {CASHIER, RAKE}]
        rows += [(name, money(a)) for name, a in sorted(ledger.balances.items()) if parse_escrow(name) and a]
        rows.append(("sum", money(ledger.total)))
        console.print(table_of(f"Ledger {ledger.currency}", ("account", "balance"), rows, right=("balance",)))
    counts = f"{found.open_hands} open, {found.unsettled} unsettled, {found.disputed} disputed"
    console.print(f"{found.accounts} accounts, liabilities {money(found.liabilities)}, hands: {counts}")
    for problem in found.problems:
        console.print(f"[red]problem[/red] {escape(problem)}", soft_wrap=True)
    console.print("[green]ok[/green]" if found.ok else "[red]not ok[/red]")


async def _audit(data: Path | None, *, quiet: bool) -> tuple[Audit, list[Ledger]]:
    async with open_log(data) as opened:
        return await audit_log(opened.log, None if quiet else notes)


async def audit_log(log: EventLog, console: Console | None = None) -> tuple[Audit, list[Ledger]]:
    """Audit everything in a log. Where the system runs, only what two readings agree on is a problem.

    Logs are read one after the other, so money on its way between two of them may be seen in neither.
    """
    found, ledgers = await _read(log, Watch(console))
    if found.problems:
        seen = set(found.problems)
        await asyncio.sleep(ON_ITS_WAY_S)
        found, ledgers = await _read(log, Watch(console))
        found.problems = [problem for problem in found.problems if problem in seen]
    return found, ledgers


async def _read(log: EventLog, watch: Watch) -> tuple[Audit, list[Ledger]]:
    """A log that cannot be read is a problem, and what the others say is still audited."""
    found = Audit()
    ledgers: list[Ledger] = []
    verdicts, keep = Verdicts(), figures_of(ledgers)
    for currency in watch.over(await log.scan_streams("ledger"), "ledgers"):
        with _readable(found, f"ledger {currency}"):
            ledgers.append(await read_ledger(log, currency))
    for shard in watch.over(range(keys.SHARDS), "verdicts"):
        with _readable(found, f"verdicts of shard {shard}"):
            await read_verdicts(log, [shard], verdicts, keep)
    found.disputed = verdicts.open_disputes
    for ledger in ledgers:
        _check_ledger(found, ledger)
    causes = verdicts.causes
    for ledger in ledgers:
        causes.merge(ledger.causes)
    by_currency = {ledger.currency: ledger for ledger in ledgers}
    tables = await log.scan_streams("table")
    for table_id in watch.over(tables):
        with _readable(found, f"table {table_id}"):
            watch.hands += await _check_table(found, log, table_id, by_currency, verdicts)
    for table_id in sorted(verdicts.final.keys() - set(tables)):
        found.problems.append(f"table {table_id}: has verdicts, but no log")
    for table_id in await log.scan_streams("deck"):
        with _readable(found, f"decks of table {table_id}"):
            async for stored in log.read_all(keys.deck_log(keys.shard_of(table_id), table_id)):
                causes.note(decode_commit(stored.body))
    for name, _, what in await causes.cut_off(log):
        if not any(problem.endswith(what) for problem in found.problems):
            found.problems.append(f"{name}: {what}")
    return found, ledgers


def figures_of(ledgers: Iterable[Ledger]) -> Callable[[Final], Final]:
    """Return what keeps of a verdict only its figures, and none of them twice: there are as many as hands were ever
    played, and the ledger has booked nearly all of them.
    """

    def keep(event: Final) -> Final:
        booked = [ledger.settled[event.table].get(event.hand_no) for ledger in ledgers if event.table in ledger.settled]
        same = [entry.postings for entry in booked if entry is not None and entry.postings == event.postings]
        figures = same[0] if same else event.postings
        if isinstance(event, ve.HandVerified):
            return msgspec.structs.replace(event, table="", table_ref=_NOWHERE, deck_ref=_NOWHERE, postings=figures)
        return msgspec.structs.replace(event, postings=figures)

    return keep


@contextmanager
def _readable(found: Audit, name: str) -> Iterator[None]:
    try:
        yield
    except (ChainBroken, WireError) as error:
        found.problems.append(f"{name} cannot be read: {error}")


def _check_ledger(found: Audit, ledger: Ledger) -> None:
    found.accounts += sum(1 for _ in ledger.players())
    found.ledger_sum += ledger.total
    found.liabilities += ledger.liabilities
    found.problems += [f"ledger {ledger.currency} {problem}" for problem in ledger.problems]
    for name, amount in ledger.balances.items():
        if amount < 0 and name != CASHIER:
            found.problems.append(f"{name} is overdrawn by {money(-amount)} {ledger.currency}")
    found.problems += [f"table {table}, {why}" for table, _, why in ledger.blocked]


async def _check_table(
    found: Audit, log: CommitLog, table_id: str, ledgers: dict[str, Ledger], verdicts: Verdicts
) -> int:
    """Check one table; return how many hands it has played."""
    table = Table()
    book = TableBook()
    async for step in steps(log, table_id):
        table = step.table
        verdicts.causes.note(step.commit)
        for event in step.commit.events:
            book.note(event, table)
    if table.config is None:
        return 0
    for any_ledger in ledgers.values():
        _check_funds(found, table.config, any_ledger, book.asked)
    problem = conservation.check(table)
    if problem:
        found.problems.append(f"table {table_id}: {problem}")
    found.open_hands += table.hand is not None or table.ended_hand > table.verified_hand
    ledger = ledgers.get(table.config.currency)
    settled = ledger.settled[table_id] if ledger is not None else {}
    final = verdicts.final.get(table_id, {})
    unsettled = [hand_no for hand_no in final if hand_no not in settled]
    found.unsettled += len(unsettled)
    if len(unsettled) > 1:  # the last one may be on its way
        found.problems.append(f"table {table_id}: hands from {min(unsettled)} on are not settled")
    found.problems += [f"table {table_id} {what}" for what in settlement_problems(book, table, settled, final)]
    found.problems += [
        f"table {table_id} hand {hand_no}: has a verdict, but the table's log does not hold it"
        for hand_no in final
        if hand_no > table.ended_hand
    ]
    if ledger is not None:
        _check_cash_outs(found, table, ledger)
        paid = ledger.paid.get(table_id, {})
        found.problems += [f"table {table_id} {what}" for what in cash_out_problems(book, paid)]
        found.problems += [f"table {table_id} {what}" for what in escrow_problems(book, table, ledger)]
    return len(book.deltas)


def _check_funds(
    found: Audit, config: TableConfig, ledger: Ledger, asked: dict[tuple[int, int], tuple[str, int]]
) -> None:
    """A ledger funds what its tables asked for, from the accounts they named, and nothing else."""
    name = f"table {config.table_id}"
    funded = ledger.funded.get(config.table_id, {})
    if ledger.currency != config.currency:
        if funded or ledger.settled.get(config.table_id):
            found.problems.append(f"{name} plays for {config.currency}, but ledger {ledger.currency} has entries of it")
        return
    for (sitting_no, top_up_no), (account, amount) in funded.items():
        wanted = asked.get((sitting_no, top_up_no))
        if wanted != (account, amount):
            what = f"top-up {top_up_no}" if top_up_no else "buy-in"
            was = f"{money(wanted[1])} of {wanted[0]}" if wanted else "nothing"
            found.problems.append(
                f"{name} sitting {sitting_no}: {what} of {money(amount)} by {account} was funded, {was} was asked for"
            )


def _check_cash_outs(found: Audit, table: Table, ledger: Ledger) -> None:
    """Whoever asked for their chips is in no hand: the chips are paid, or on their way, whatever the table does."""
    for sitting in table.sittings.values():
        held = ledger.balances.get(escrow(table.rules.table_id, sitting.sitting_no), 0)
        if sitting.status is Sit.CASHING_OUT and held:
            what = f"asked for its chips, {money(held)} are still in escrow"
            found.problems.append(f"table {table.rules.table_id} sitting {sitting.sitting_no}: {what}")
