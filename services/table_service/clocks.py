"""Clocks of a table: which deadline judges a command, when something is due, and the one timer that wakes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stud_core.commands import Act, ChooseShow, Command, PostAnte, ProtectTurn, SetPreferences, Tick, UseTimeChip
from stud_core.decide.time_bank import may_protect
from stud_core.gate import hand_gate
from stud_core.prompts import answered_by
from stud_core.state import Table
from stud_core.timers import idle_times, next_deadline, offer_times

LATE_MS = 1000
"""A timer or an append that is later than this is our fault: the clock starts afresh (architecture.md, "Time")."""

DEALER_PATIENCE_MS = 30_000
"""How long a deal may take before it is called silence: a dealer that merely restarts is back sooner."""


def asks_somebody(table: Table) -> bool:
    """Return whether a player has a turn to take or a prompt to answer."""
    hand = table.hand
    return hand is not None and bool(hand.turn_seat or hand.prompts)


def waits_for_cards(table: Table) -> bool:
    """Return whether the running hand has asked the dealer for cards that have not come."""
    return table.hand is not None and table.hand.deal is not None


def silent_at(table: Table, asked_at_ms: int) -> int | None:
    """Return when the table is to say that its dealer is silent; None = no cards are missing, or it stands still
    anyway.
    """
    return asked_at_ms + DEALER_PATIENCE_MS if waits_for_cards(table) and not table.stands_for else None


def deadline_of(table: Table, command: Command) -> int:
    """Return the deadline that judges a command, milliseconds since the epoch; 0 = none.

    Only an answer to the open question runs against its clock: anything else is refused for what it is, and takes
    nobody's timeout.
    """
    return _open_question(table, command) or 0


def answers_open(table: Table, command: Command) -> bool:
    """Return whether a command names the turn or the prompt that is open to its sender."""
    return _open_question(table, command) is not None


def _open_question(table: Table, command: Command) -> int | None:
    """Return the deadline of the question that a command answers, 0 where it has none; None = it answers none."""
    hand = table.hand
    if hand is None:
        return None
    if isinstance(command, Act | UseTimeChip):
        mine = bool(hand.turn_seat) and table.at(hand.turn_seat).account == command.account
        return hand.deadline_ms if mine and command.turn_id == hand.turn_id else None
    if isinstance(command, PostAnte | ChooseShow):
        sitting = table.of(command.account)
        for prompt in hand.prompts:
            if prompt.prompt_id == command.prompt_id and sitting is not None and sitting.seat == prompt.seat:
                return prompt.deadline_ms
    if isinstance(command, SetPreferences):
        answered = answered_by(table, command)
        return answered.deadline_ms if answered is not None else None
    return None


def fresh_deadline(table: Table) -> int | None:
    """Return the earliest of the deadlines that are set afresh where time was lost; a reservation's is not."""
    due = idle_times(table) + offer_times(table)
    hand = table.hand
    if hand is not None:
        due += [prompt.deadline_ms for prompt in hand.prompts if prompt.deadline_ms]
        if hand.deadline_ms:
            due.append(hand.deadline_ms)
    return min(due, default=None)


def run_out(table: Table, now_ms: int, is_connected: Callable[[str], bool]) -> Command:
    """Return what becomes of a clock that has run out: the timeout, or more time for a lost connection."""
    hand = table.hand
    if hand is None or not may_protect(table, now_ms) or is_connected(table.at(hand.turn_seat).account):
        return Tick()
    return ProtectTurn(hand.turn_id)


def due_at(table: Table, ended_at_ms: int, asked_at_ms: int) -> int | None:
    """Return when the table has something to do by itself: a timeout, the next hand, a word about its dealer's silence;
    None = nothing.
    """
    due = [at for at in (next_deadline(table), silent_at(table, asked_at_ms)) if at is not None]
    if table.hand is None and table.config is not None and not hand_gate(table):
        due.append(ended_at_ms + table.config.hand_pause_ms)
    return min(due, default=None)


class Timer:
    """At most one call is ever planned."""

    def __init__(self, clock: Callable[[], int], wake: Callable[[], None]) -> None:
        self._clock = clock
        self._wake = wake
        self._handle: asyncio.TimerHandle | None = None

    @property
    def is_set(self) -> bool:
        return self._handle is not None

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def set(self, at_ms: int) -> None:
        """Wake at ``at_ms``, or at once when that is over; a millisecond later, since clocks are not in step."""
        self.cancel()
        delay_ms = max(0, at_ms - self._clock()) + 1
        self._handle = asyncio.get_running_loop().call_later(delay_ms / 1000, self._fire)

    def _fire(self) -> None:
        self._handle = None
        self._wake()
