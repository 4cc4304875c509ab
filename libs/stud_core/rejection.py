"""Refusals: a stable reason, the rule it rests on, and what would have been right.

One type for tables, decks and ledgers. The names of :class:`Reason` are those of ``stud/errors/v1/reasons.proto``,
the error catalogue.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Self

import msgspec

from stud_core.events import Option


class Reason(StrEnum):
    """Why a table command is refused."""

    TABLE_NOT_OPEN = "TABLE_NOT_OPEN"
    TABLE_EXISTS = "TABLE_EXISTS"
    TABLE_PAUSED = "TABLE_PAUSED"
    TABLE_NOT_PAUSED = "TABLE_NOT_PAUSED"
    INVALID_RULESET = "INVALID_RULESET"
    INVALID_TABLE = "INVALID_TABLE"
    SEAT_TAKEN = "SEAT_TAKEN"
    SEAT_OUT_OF_RANGE = "SEAT_OUT_OF_RANGE"
    TABLE_FULL = "TABLE_FULL"
    ALREADY_SEATED = "ALREADY_SEATED"
    NAME_TAKEN = "NAME_TAKEN"
    NOT_SEATED = "NOT_SEATED"
    BUY_IN_TOO_SMALL = "BUY_IN_TOO_SMALL"
    BUY_IN_TOO_LARGE = "BUY_IN_TOO_LARGE"
    TOP_UP_OUT_OF_LIMITS = "TOP_UP_OUT_OF_LIMITS"
    TOP_UP_OPEN = "TOP_UP_OPEN"
    LEAVING = "LEAVING"
    ALREADY_SITTING_OUT = "ALREADY_SITTING_OUT"
    NOT_SITTING_OUT = "NOT_SITTING_OUT"
    NO_CHIPS = "NO_CHIPS"
    NO_HAND = "NO_HAND"
    HAND_NOT_STARTABLE = "HAND_NOT_STARTABLE"
    NOT_YOUR_TURN = "NOT_YOUR_TURN"
    STALE_TURN = "STALE_TURN"
    ILLEGAL_ACTION = "ILLEGAL_ACTION"
    DEADLINE_PASSED = "DEADLINE_PASSED"
    NO_TIME_CHIP = "NO_TIME_CHIP"
    NO_WAITING_LIST = "NO_WAITING_LIST"
    ALREADY_WAITING = "ALREADY_WAITING"
    NOT_WAITING = "NOT_WAITING"
    SEAT_FREE = "SEAT_FREE"
    WAITING_LIST_FULL = "WAITING_LIST_FULL"
    NO_PROMPT = "NO_PROMPT"
    STALE_PROMPT = "STALE_PROMPT"
    UNEXPECTED_CARDS = "UNEXPECTED_CARDS"
    UNKNOWN_SITTING = "UNKNOWN_SITTING"
    ALREADY_DONE = "ALREADY_DONE"
    HAND_ALREADY_ENDED = "HAND_ALREADY_ENDED"
    CLAIM_MISMATCH = "CLAIM_MISMATCH"
    PRE_ACTION_NOT_ALLOWED = "PRE_ACTION_NOT_ALLOWED"
    OWN_INTEREST = "OWN_INTEREST"


class Problem(msgspec.Struct, frozen=True, gc=False):
    """One thing that is wrong with what a table is to be opened with: the reason it alone would be refused with, the
    field, and a sentence. ``least`` and ``most`` where a number says what would be right: in the field's own unit, or
    characters of a text.
    """

    reason: str
    field: str
    text: str
    least: int | None = None
    most: int | None = None

    def __str__(self) -> str:
        return f"{self.field}: {self.text}"


class Rejection(msgspec.Struct, frozen=True):
    """A refused command, of a table, a deck or a ledger; nothing has changed.

    ``reason`` is a name of the catalogue, or the dealer's own where it is a message that is refused, which no caller
    has sent. ``rule`` is e.g. ``"P56"``, ``"W18"``, ``"B.8"`` or empty. ``text`` is for people, may change; ``legal``
    lists the actions that would have been accepted, ``field`` is the first field that is wrong and ``problems`` lists
    them all. ``least`` and ``most`` bound what would have been accepted: amounts in minor units, or seats. A ``most``
    of 0 says that no amount would. ``turn_id`` is the turn that is open now, ``prompt_id`` the account's open prompt,
    where the command was for another. ``account`` is one that does not exist, ``balance`` what there is where that is
    too little.
    """

    reason: str
    text: str
    rule: str = ""
    legal: tuple[Option, ...] = ()
    field: str = ""
    least: int | None = None
    most: int | None = None
    problems: tuple[Problem, ...] = ()
    turn_id: int | None = None
    prompt_id: int | None = None
    account: str = ""
    balance: int | None = None

    @classmethod
    def of_config(cls, problems: Sequence[Problem]) -> Self:
        """Refuse what is wrong in several places: for the first of them, and all are listed."""
        first = problems[0]
        text = "; ".join([str(problem) for problem in problems])
        return cls(
            Reason(first.reason),
            text,
            field=first.field,
            least=first.least,
            most=first.most,
            problems=tuple(problems),
        )
