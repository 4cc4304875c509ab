"""`stud audit` on logs in memory: every chip is found, or its lack is."""

import io
import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from rich.console import Console

from stud_cli.inspect import audit as module
from stud_cli.inspect.audit import Audit, audit_log, show
from stud_cli.inspect.ledgers import Ledger, read_ledger
from stud_core import deck_events as de
from stud_core import events as ev
from stud_core import verdict_events as ve
from stud_core.ledger import events as le
from stud_core.ledger.events import Posting
from stud_eventlog import keys
from stud_eventlog.memory import MemoryEventLog
from stud_eventlog.types import Append
from tests.support.history import DECK, LEDGER, SHARD, TABLE, VERDICTS, T, closed_table, open_table, say

CLOSED, OPEN = closed_table(), open_table()
OWED = 3_000_000
"""What three players paid in; nothing of it was raked, or the rake is the house's."""


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is on its way in a log in memory."""
    monkeypatch.setattr(module, "ON_ITS_WAY_S", 0)


async def audited(log: MemoryEventLog) -> Audit:
    found, _ = await audit_log(log)
    return found


def rake(ledgers: list[Ledger]) -> int:
    return sum(ledger.balances.get("house:rake", 0) for ledger in ledgers)


# ------------------------------------------------------------------- nothing wrong


async def test_a_closed_table_leaves_everything_with_the_players_and_the_house():
    found, ledgers = await audit_log(await CLOSED.log())
    assert found == Audit(accounts=3, liabilities=OWED - rake(ledgers))
    assert found.ok
    (ledger,) = ledgers
    assert [name for name, _ in ledger.players()] == ["ada", "bea", "cleo"]
    assert ledger.deposited == dict.fromkeys(("ada", "bea", "cleo"), 1_000_000)
    assert not any(name.startswith("escrow:") and amount for name, amount in ledger.balances.items())


async def test_chips_at_a_table_are_in_escrow():
    found, (ledger,) = await audit_log(await OPEN.log())
    assert (found.ok, found.liabilities) == (True, OWED - rake([ledger]))
    assert sum(amount for name, amount in ledger.balances.items() if name.startswith("escrow:")) == 30_000 - rake(
        [ledger]
    )


async def test_a_call_that_changed_nothing_is_an_entry_without_lines():
    """An account is frozen that was frozen: the ledger notes that it was asked for (ADR 0007)."""
    log = await CLOSED.log()
    before = await audited(log)
    await say(log, LEDGER)
    assert await audited(log) == before


async def test_an_empty_log_is_fine():
    assert await audit_log(MemoryEventLog()) == (Audit(), [])


async def test_a_hand_that_is_being_played_is_counted_and_no_problem():
    log = await OPEN.log()
    del log.store.data.logs[TABLE][OPEN.version_of(TABLE, ev.HandEnded, 2) - 1 :]
    del log.store.data.logs[VERDICTS][1:], log.store.data.logs[LEDGER][OPEN.version_of(LEDGER, le.HandSettled, 2) - 1 :]
    del log.store.data.logs[DECK][OPEN.version_of(DECK, de.DeckClosed, 2) - 1 :]
    found = await audited(log)
    assert (found.open_hands, found.unsettled, found.ok) == (1, 0, True)


async def test_a_verdict_that_the_wallet_has_not_read_is_unsettled():
    log = await OPEN.log()
    del log.store.data.logs[LEDGER][OPEN.version_of(LEDGER, le.HandSettled, 2) - 1 :]
    found = await audited(log)
    assert (found.open_hands, found.unsettled, found.problems) == (0, 1, [])


async def test_money_on_its_way_while_logs_are_read_is_no_problem(monkeypatch: pytest.MonkeyPatch):
    """The first reading of the ledger is older than the table that is read after it."""
    old = await OPEN.log()
    del old.store.data.logs[LEDGER][OPEN.version_of(LEDGER, le.BuyInFunded, 3) - 1 :]
    log, readings = await OPEN.log(), iter([old])

    async def late(given: MemoryEventLog, currency: str) -> Ledger:
        return await read_ledger(next(readings, given), currency)

    monkeypatch.setattr(module, "read_ledger", late)
    assert (await audited(log)).ok


# ------------------------------------------------------------------- money


async def test_lines_that_do_not_add_up_are_found():
    log = await CLOSED.log()
    await say(log, LEDGER, le.Adjusted("p", (Posting("player:ada", 5),), ("op-1", "op-2"), "ticket"))
    found = await audited(log)
    assert (found.ok, found.ledger_sum) == (False, 5)
    assert found.problems == ["ledger EUR version 16: lines do not sum to zero"]


async def test_an_overdrawn_account_is_found():
    log = await CLOSED.log()
    await say(log, LEDGER, le.Withdrawn("ada", 2_000_000, "", "r", "carl"))
    (problem,) = (await audited(log)).problems
    assert re.fullmatch(r"player:ada is overdrawn by [\d,]+\.\d\d EUR", problem)


async def test_chips_that_are_not_in_escrow_are_found():
    log = await OPEN.log()
    taken = (Posting("house:cashier", 700), Posting(f"escrow:{T}:2", -700))
    await say(log, LEDGER, le.Adjusted("p", taken, ("op-1", "op-2"), "ticket"))
    (problem,) = (await audited(log)).problems
    assert problem.startswith(f"table {T} sitting 2: ")
    assert problem.endswith(" in escrow")


async def test_chips_of_a_table_without_a_ledger_are_found():
    found = await audited(await OPEN.log(drop=[LEDGER]))
    assert (found.accounts, found.unsettled) == (0, 2)


async def test_chips_that_a_table_made_are_found():
    def gift(event: Any) -> Any:
        if isinstance(event, ev.PotAwarded):
            shares = tuple(msgspec.structs.replace(share, stack=share.stack + 7) for share in event.shares)
            return msgspec.structs.replace(event, shares=shares)
        return event

    (found, *_) = (await audited(await OPEN.log({TABLE: gift}))).problems
    assert found.startswith(f"table {T}: ")
    assert "paid in" in found


# ------------------------------------------------------------------- verdicts and settlements


async def test_a_settlement_without_a_verdict_is_found():
    def without(event: Any) -> Any:
        return None if event.hand_no == 2 else event

    found = await audited(await OPEN.log({VERDICTS: without}))
    assert found.problems[0] == f"table {T} hand 2: settled without a verdict"
    assert "ends at version 1, but other logs rest on its version 2" in found.problems[1]


async def test_a_settlement_with_other_figures_is_found():
    def other(event: Any) -> Any:
        return msgspec.structs.replace(event, postings=()) if event.hand_no == 2 else event

    found = await audited(await OPEN.log({VERDICTS: other}))
    assert found.problems == [f"table {T} hand 2: settled with other figures than the verdict's"]


@pytest.mark.parametrize(
    ("stream", "name"), [(TABLE, f"table {T}"), (LEDGER, "ledger EUR"), (VERDICTS, f"verdicts of shard {SHARD}")]
)
async def test_a_log_that_cannot_be_read_is_a_problem_and_the_others_are_audited(stream: str, name: str):
    found = await audited(await CLOSED.broken(stream, 1))
    assert not found.ok
    assert [problem for problem in found.problems if problem.startswith(f"{name} cannot be read: ")]
    assert found.accounts == (0 if stream == LEDGER else 3)


@pytest.mark.parametrize("other", ["t-0", "t-2"])
async def test_a_table_that_waits_for_its_settlement_hides_no_other(other: str):
    log = await OPEN.log()
    shard = keys.shard_of(other)
    (opened,) = [event for event in OPEN.events(TABLE) if isinstance(event, ev.TableOpened)]
    verdict = next(event for event in OPEN.events(VERDICTS) if isinstance(event, ve.HandVerified))
    config = msgspec.structs.replace(opened.config, table_id=other)
    await say(log, keys.table_log(shard, other), ev.TableOpened(config))
    await say(log, keys.verdicts(shard), msgspec.structs.replace(verdict, table=other))
    taken = (Posting("house:cashier", 700), Posting(f"escrow:{T}:2", -700))
    await say(log, LEDGER, le.Adjusted("p", taken, ("op-1", "op-2"), "ticket"))
    found = await audited(log)
    assert found.unsettled == 1
    assert {problem.split(":")[0] for problem in found.problems} == {f"table {other} hand 1", f"table {T} sitting 2"}


ENDS = {
    "its last entry": (LEDGER, 1),
    "cash-outs": (LEDGER, 3),
    "a settlement and all after it": (LEDGER, 5),
    "the whole ledger": (LEDGER, 10_000),
    "the last hand of the table": (TABLE, 60),
    "the whole table": (TABLE, 10_000),
    "the last verdict": (VERDICTS, 1),
    "all verdicts": (VERDICTS, 10_000),
}


@pytest.mark.parametrize(("stream", "commits"), ENDS.values(), ids=ENDS)
async def test_a_log_that_lost_its_end_is_found(stream: str, commits: int):
    """The chain of what is left is sound, and yet other logs know better."""
    log = await CLOSED.log()
    rows = log.store.data.logs[stream]
    del rows[max(0, len(rows) - commits) :]
    found = await audited(log)
    assert any(f"{stream} ends at version {len(rows)}" in problem for problem in found.problems)


@pytest.mark.parametrize(
    "lost", [[LEDGER], [TABLE], [LEDGER, TABLE], [LEDGER, TABLE, VERDICTS], [VERDICTS], [LEDGER, VERDICTS]]
)
async def test_logs_that_are_gone_are_missed_by_those_that_are_left(lost: list[str]):
    found = await audited(await CLOSED.log(drop=lost))
    assert not found.ok
    assert lost == [LEDGER] or any(stream in problem for problem in found.problems for stream in lost)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"account": "bea"}, "buy-in of 100.00 by bea was funded, 100.00 of ada was asked for"),
        ({"amount": 700}, "buy-in of 7.00 by ada was funded, 100.00 of ada was asked for"),
        ({"sitting_no": 77}, "sitting 77: buy-in of 100.00 by ada was funded, nothing was asked for"),
    ],
)
async def test_a_buy_in_that_the_table_did_not_ask_for_is_found(changes: dict[str, Any], problem: str):
    def other(event: Any) -> Any:
        mine = isinstance(event, le.BuyInFunded) and event.account == "ada"
        return msgspec.structs.replace(event, **changes) if mine else event

    found = await audited(await OPEN.log({LEDGER: other}))
    assert any(problem in told for told in found.problems)


async def test_a_top_up_that_the_table_did_not_ask_for_is_found():
    log = await OPEN.log()
    await say(log, LEDGER, le.TopUpFunded(T, 1, 1, "ada", 500))
    found = await audited(log)
    assert f"table {T} sitting 1: top-up 1 of 5.00 by ada was funded, nothing was asked for" in found.problems


async def test_a_ledger_copied_into_another_currency_is_found():
    """Its chain is sound: nothing in it says which currency it was."""
    log = await OPEN.log()
    for commit in OPEN.streams[LEDGER]:
        stream = keys.ledger_log("USD")
        head = await log.head(stream)
        await log.append(Append(stream, head.version, head.hash, commit.commit_id, commit.body))
    found = await audited(log)
    assert found.problems == [f"table {T} plays for EUR, but ledger USD has entries of it"]


async def test_hands_that_nobody_settles_are_a_problem():
    """One may be on its way; a second one shows that the wallet stands still."""
    log = await OPEN.log()
    del log.store.data.logs[LEDGER][OPEN.version_of(LEDGER, le.HandSettled, 1) - 1 :]
    found = await audited(log)
    assert (found.unsettled, found.problems) == (2, [f"table {T}: hands from 1 on are not settled"])


async def test_chips_that_were_asked_for_and_never_paid_are_found():
    log = await CLOSED.log()
    sitting = CLOSED.events(TABLE)[-1]
    assert isinstance(sitting, ev.TableClosed)
    left = CLOSED.version_of(TABLE, ev.PlayerLeft, 1)
    paid = CLOSED.version_of(LEDGER, le.CashedOut, 1)
    del log.store.data.logs[TABLE][left - 1 :], log.store.data.logs[LEDGER][paid - 1 :]
    found = await audited(log)
    assert len(found.problems) == 3
    assert all("asked for its chips" in problem for problem in found.problems)


async def test_chips_of_who_has_left_are_found():
    def kept(event: Any) -> Any:
        return None if isinstance(event, le.CashedOut) and event.sitting_no == 2 else event

    found = await audited(await CLOSED.log({LEDGER: kept}))
    assert any("sitting 2: has left" in problem for problem in found.problems)


other = msgspec.structs.replace


def adjusted(cash_out: le.CashedOut, *operators: str) -> le.Adjusted:
    """What the sitting held goes to somebody else."""
    escrow = f"escrow:{T}:{cash_out.sitting_no}"
    lines = (Posting(escrow, -cash_out.amount), Posting("player:mallory", cash_out.amount))
    return le.Adjusted("p", lines, operators, "x")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda e: [other(e, account="mallory")], "of ada were paid out to mallory"),
        (
            lambda e: [msgspec.structs.replace(e, amount=0), adjusted(e, "a", "b")],
            "0.00 were paid out, the table was told",
        ),
        (lambda e: [adjusted(e, "a", "b")], "the ledger has none"),
        (
            lambda e: [e, msgspec.structs.replace(e, sitting_no=77, amount=0)],
            "sitting 77: 0.00 were paid out to ada, nobody asked for it",
        ),
        (lambda e: [adjusted(e, "a", "a")], "adjusted by one operator alone"),
    ],
)
async def test_a_cash_out_that_the_table_knows_otherwise_is_found(
    change: Callable[[le.CashedOut], list[Any]], problem: str
):
    """Chains, sums and escrows are all sound."""

    def changed(event: Any) -> Any:
        return change(event) if isinstance(event, le.CashedOut) and event.account == "ada" else event

    found = await audited(await CLOSED.log({LEDGER: changed}))
    assert any(problem in told for told in found.problems), found.problems


async def test_chips_that_went_from_one_sitting_to_another_are_found():
    first, second, *_ = (event for event in CLOSED.events(LEDGER) if isinstance(event, le.CashedOut))
    escrows = [f"escrow:{T}:{event.sitting_no}" for event in (first, second)]
    moved = le.Adjusted("p", (Posting(escrows[0], -5), Posting(escrows[1], 5)), ("a", "b"), "x")

    def changed(event: Any) -> Any:
        if event == first:
            return [moved, other(event, amount=event.amount - 5)]
        return other(event, amount=event.amount + 5) if event == second else event

    found = await audited(await CLOSED.log({LEDGER: changed}))
    assert sum("the table was told" in told for told in found.problems) == 2


async def test_a_dispute_is_counted_until_it_is_resolved():
    def dispute(event: Any) -> Any:
        if event.hand_no != 2:
            return event
        return ve.HandDisputed(
            T, 2, "EUR", event.table_ref, event.deck_ref, (), (), 0, (), 0, referee_has_figures=False, build=""
        )

    def unsettled(event: Any) -> Any:
        return None if isinstance(event, le.HandSettled) and event.hand_no == 2 else event

    log = await OPEN.log({VERDICTS: dispute, LEDGER: unsettled})
    for lost in (1, 40, None):  # a dispute stands in the referee's log, whatever can be read of the table
        rows = log.store.data.logs.pop(TABLE)
        if lost:
            commit, stored_hash = rows[lost - 1]
            broken = msgspec.structs.replace(commit, body=b"no commit")
            log.store.data.logs[TABLE] = [*rows[: lost - 1], (broken, stored_hash), *rows[lost:]]
        assert (await audited(log)).disputed == 1
        log.store.data.logs[TABLE] = rows
    found = await audited(log)
    assert (found.disputed, found.ok) == (1, False)
    choice = ev.ResolutionChoice.VOID
    await say(log, VERDICTS, ve.HandResolved(T, 2, "EUR", choice, (), 0, (), ("op-1", "op-2"), "why"))
    found = await audited(log)
    assert (found.disputed, found.unsettled, found.ok) == (0, 1, True)


async def test_what_is_blocked_is_a_problem_until_it_is_decided():
    log = await OPEN.log()
    settled = OPEN.version_of(LEDGER, le.HandSettled, 2)
    del log.store.data.logs[LEDGER][settled - 1 :]
    await say(log, LEDGER, le.SettlementBlocked(T, 2, 2, "ESCROW_OVERDRAWN"), le.CashOutBlocked(T, 9, "ada", 5, 0))
    found = await audited(log)
    assert found.problems == [f"table {T}, hand 2: ESCROW_OVERDRAWN", f"table {T}, sitting 9: claim 5, escrow 0"]
    (booked,) = [event for event in OPEN.events(LEDGER) if isinstance(event, le.HandSettled) and event.hand_no == 2]
    await say(log, LEDGER, booked, le.CashedOut(T, 9, "ada", 0))
    found = await audited(log)  # the table knows no such sitting: that is another matter
    assert found.problems == [f"table {T} sitting 9: 0.00 were paid out to ada, nobody asked for it"]


# ------------------------------------------------------------------- for people


async def test_people_see_every_account_and_every_problem(monkeypatch: pytest.MonkeyPatch):
    log = await OPEN.log()
    await say(log, LEDGER, le.SettlementBlocked(T, 3, 3, "ESCROW_OVERDRAWN"))
    console = Console(record=True, width=120, file=io.StringIO())
    monkeypatch.setattr(module, "console", console)
    show(*await audit_log(log))
    text = console.export_text()
    for words in ("Ledger EUR", "ada", "9,900.00", "house:cashier", "-30,000.00", f"escrow:{T}:1", "not ok"):
        assert words in text
    assert "problem table t-1, hand 3: ESCROW_OVERDRAWN" in text
    assert "3 accounts, liabilities " in text
