"""Judges one finished hand: everything it needs is an argument, so that the same judgement can be had again at any
time.

Four questions, in this order: are these the bytes that were written (chain), was the committed deck dealt (deck), was
it played by the rules (play: the engine decides everything again, and a second opinion follows bet by bet), and are
the figures right. Three answers: verified, disputed, or CannotVerify is raised.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rules_service.before_hand import BeforeHand
from rules_service.deck_check import DeckBook, check_deals, open_deck, same_commitment
from rules_service.findings import CannotVerify, Code, Obstacle
from rules_service.ranges import Broken, decode_range
from rules_service.redecide import Recorded, redecide
from rules_service.second_opinion.dealing import Deck
from rules_service.second_opinion.follow import follow
from rules_service.second_opinion.sheet import Figures, Sheet
from rules_service.verdict_check import Known, check_verdicts
from stud_core import events as ev
from stud_core.deck_events import DeckClosed, HandOutcome
from stud_core.ruleset import TableConfig
from stud_core.state import Table
from stud_core.verdict_events import Finding
from stud_eventlog.types import StoredCommit
from stud_service.keyring import Key
from stud_wire.codec import WireError
from stud_wire.commits import decode_commit


class Case(msgspec.Struct):
    """A finished hand and what is needed to judge it."""

    closed: DeckClosed
    table: Sequence[StoredCommit]  # the hand's range of the table's log
    deck: Sequence[StoredCommit]
    base: BeforeHand
    known: Known | None  # what the referee's own log says of the hand before; None = not looked at


class Judgement(msgspec.Struct):
    """What the referee says. ``figures`` are the second opinion's, None where it has none; ``after`` is the base of
    the next hand, None unless the hand is verified.
    """

    findings: tuple[Finding, ...]
    figures: Figures | None = None
    table_ended: ev.HandEnded | None = None
    after: BeforeHand | None = None

    @property
    def verified(self) -> bool:
        return not self.findings


class _Findings:
    """Findings without repetition, in the order found."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str, int], Finding] = {}

    def add(self, code: Code, stream: str, version: int) -> None:
        self.found.setdefault((code, stream, version), Finding(code, stream, version))

    def all(self) -> tuple[Finding, ...]:
        return tuple(self.found.values())


def judge(case: Case, key: Key) -> Judgement:
    """Judge a hand; raises CannotVerify."""
    closed, base = case.closed, case.base
    findings = _Findings()
    ended = recorded_end(case.table)
    begins = closed.table.from_version
    if begins != base.version + 1 or base.state.ended_at_version != base.version:
        findings.add(Code.WRONG_RANGE, closed.table.stream, begins)
        return Judgement(findings.all(), table_ended=ended)
    try:
        table = decode_range(case.table, base.hash, closed.table.head_hash)
        deck = decode_range(case.deck, None, closed.deck.head_hash)
    except Broken as why:
        findings.add(why.code, why.stream, why.version)
        return Judgement(findings.all(), table_ended=ended)
    _check_range(case, table, findings)
    if case.known is not None:
        for code, version in check_verdicts(table, closed.hand_no, case.known):
            findings.add(code, closed.table.stream, version)
    config = base.state.config or _opened(table)
    if config is None or config.table_id != _table_of(closed):
        findings.add(Code.WRONG_RANGE, closed.table.stream, begins)
        return Judgement(findings.all(), table_ended=ended)
    book = DeckBook.of_hand(deck, closed.hand_no)
    opened, faults = open_deck(key, config, closed, book)
    if not same_commitment(_ready(table, closed.hand_no), book):
        faults.append((Code.WRONG_COMMITMENT, closed.deck.from_version))
    for code, version in faults:
        findings.add(code, closed.deck.stream, version)
    if opened is None:
        return Judgement(findings.all(), table_ended=ended)
    sheet = Sheet(config, base.account.copy(), opened, book.deals, begins)
    state = _play(case, table, book, sheet, findings)
    after = None
    if state is not None and not findings.found:
        after = BeforeHand(closed.table.to_version, closed.table.head_hash, state, sheet.account)
    return Judgement(findings.all(), None if faults else sheet.figures, ended, after)


def _play(case: Case, table: Sequence[Recorded], book: DeckBook, sheet: Sheet, findings: _Findings) -> Table | None:
    """Get both opinions on the play; return the engine's table after it, None where it does not get there."""
    closed = case.closed
    complete = _second_opinion(table, sheet)
    for code, version in sheet.findings:
        findings.add(code, closed.table.stream, version)
    if complete and not sheet.ended:
        findings.add(Code.WRONG_RANGE, closed.table.stream, closed.table.to_version)
    if complete and sheet.voided != (closed.outcome is HandOutcome.VOIDED):
        findings.add(Code.WRONG_RANGE, closed.deck.stream, closed.deck.to_version)
    hashes = {commit.version: commit.hash for commit in table}
    for code, version in check_deals(sheet, book, closed.table.stream, hashes, complete=complete):
        findings.add(code, closed.deck.stream, version)
    return _first_opinion(case, table, sheet.deck, findings)


def _second_opinion(table: Sequence[Recorded], sheet: Sheet) -> bool:
    return all(follow(sheet, commit.version, commit.meta.at_ms, commit.events) for commit in table)


def _first_opinion(case: Case, table: Sequence[Recorded], deck: Deck, findings: _Findings) -> Table | None:
    def open_cards(state: Table, seat: int) -> tuple[int, ...]:
        boxes = state.hand.down[seat] if state.hand is not None else ()
        return tuple([deck.order[box.pos] for box in boxes])

    try:
        state, fault = redecide(case.base.state, table, open_cards)
    except (LookupError, ValueError, ArithmeticError, TypeError, StopIteration) as why:
        if findings.found:  # what the second opinion calls impossible may well be too much for the engine
            return None
        detail = f"the engine failed: {type(why).__name__}"
        raise CannotVerify(Obstacle.REFEREE_FAULT, case.closed.table.stream, 0, detail) from why
    if fault is None:
        return state
    findings.add(fault[0], case.closed.table.stream, fault[1])
    return None


def _check_range(case: Case, table: Sequence[Recorded], findings: _Findings) -> None:
    """Ranges tile the log, hand numbers have no gap, and the end of the hand is the end of its range."""
    closed, base = case.closed, case.base
    stream = closed.table.stream
    if closed.hand_no != base.account.last_hand + 1:
        findings.add(Code.HAND_SKIPPED, stream, closed.table.from_version)
    ends = [(c.version, e) for c in table for e in c.events if isinstance(e, ev.HandEnded | ev.HandVoided)]
    if [(version, event.hand_no) for version, event in ends] != [(closed.table.to_version, closed.hand_no)]:
        findings.add(Code.WRONG_RANGE, stream, closed.table.to_version)


def _opened(table: Sequence[Recorded]) -> TableConfig | None:
    first = table[0].events[0] if table and table[0].events else None
    return first.config if isinstance(first, ev.TableOpened) else None


def _ready(table: Sequence[Recorded], hand_no: int) -> list[ev.DeckReady]:
    return [e for commit in table for e in commit.events if isinstance(e, ev.DeckReady) and e.hand_no == hand_no]


def _table_of(closed: DeckClosed) -> str:
    return closed.table.stream.rpartition(":")[2]


def recorded_end(commits: Sequence[StoredCommit]) -> ev.HandEnded | None:
    """Return the table's own figures from the last commit of a range, as far as it can be read at all."""
    try:
        events = decode_commit(commits[-1].body).events if commits else ()
    except WireError:
        return None
    return next((event for event in events if isinstance(event, ev.HandEnded)), None)
