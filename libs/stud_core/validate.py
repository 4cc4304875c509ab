"""Whether a table may be opened with a configuration: the range of every knob and parameter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from stud_core.amounts import MAX_AMOUNT, TEST_CURRENCY
from stud_core.presets import half_small_bet
from stud_core.rejection import Reason
from stud_core.ruleset import BringInKind, BuyInLimit, Ruleset, TableConfig

MAX_CLOCK_MS: Final = 600_000
MAX_RAKE_BPS: Final = 1_000
ALL_BPS: Final = 10_000

_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_CURRENCY: Final = re.compile(r"[A-Z]{3}")


class Problem(msgspec.Struct, frozen=True, gc=False):
    """One thing that is wrong: INVALID_RULESET or INVALID_TABLE, the field, and a sentence."""

    reason: Reason
    field: str
    text: str

    def __str__(self) -> str:
        return f"{self.field}: {self.text}"


def validate_config(config: TableConfig) -> list[Problem]:
    """Everything that is wrong with a configuration, the ruleset's faults first; empty when it can be opened."""
    test = config.currency == TEST_CURRENCY
    return [
        *(Problem(Reason.INVALID_RULESET, *fault) for fault in _ruleset_faults(config.ruleset, test=test)),
        *(Problem(Reason.INVALID_TABLE, *fault) for fault in _table_faults(config, test=test)),
    ]


RANGES: Final[dict[str, tuple[int, int]]] = {
    "name": (1, 64),
    "version": (1, 2**31 - 1),
    "max_raises": (1, 10),
    "river_burn_reserve": (0, 2),
    "action_clock_ms": (0, MAX_CLOCK_MS),
    "ante_clock_ms": (0, MAX_CLOCK_MS),
    "show_clock_ms": (0, MAX_CLOCK_MS),
    "time_bank_ms": (0, 0),
    "min_buy_in": (1, MAX_AMOUNT),
    "max_buy_in": (1, MAX_AMOUNT),
    "rathole_ms": (0, 0),
    "rake_bps": (0, MAX_RAKE_BPS),
    "rake_cap": (0, MAX_AMOUNT),
    "seats": (2, 8),
}
"""Least and greatest value of every knob that is a number; a name counts its characters, a limit its one amount.

Tables in XTS may rake more; only they may have clocks of 0. Nothing plays by a time bank or a memory for who left with
more, so that no table may promise one.
"""

_CLOCKS: Final = ("action_clock_ms", "ante_clock_ms", "show_clock_ms")


def _ruleset_faults(ruleset: Ruleset, *, test: bool) -> Iterator[tuple[str, str]]:
    for field, (least, most) in RANGES.items():
        value = getattr(ruleset, field)
        top = ALL_BPS if field == "rake_bps" and test else most
        if isinstance(value, str):
            if not least <= len(value) <= top or not value.isprintable():
                yield field, f"has {least} to {top} printable characters"
        elif isinstance(value, BuyInLimit):
            if not _is_limit(value, least, top):
                yield field, f"is an amount or a number of small bets, {least}..{top}"
        elif value is not None and not least <= value <= top:
            yield field, f"lies in {least}..{top}"
        elif field in _CLOCKS and not value and not test:
            yield field, f"0 (no deadline) is for tables in {TEST_CURRENCY}"


def _is_limit(limit: BuyInLimit, least: int, most: int) -> bool:
    given = [value for value in (limit.amount, limit.small_bets) if value is not None]
    return len(given) == 1 and least <= given[0] <= most


def _table_faults(config: TableConfig, *, test: bool) -> Iterator[tuple[str, str]]:
    ruleset = config.ruleset
    if not _ID.fullmatch(config.table_id):
        yield "table_id", "has 1 to 64 letters, digits, dots, dashes or underscores"
    if len(config.name) > 100 or not config.name.isprintable():
        yield "name", "has at most 100 printable characters"
    if not _CURRENCY.fullmatch(config.currency):
        yield "currency", "has three capital letters"
    if not 2 <= config.small_bet <= MAX_AMOUNT:
        yield "small_bet", f"lies in 2..{MAX_AMOUNT}"
    if not config.small_bet <= config.big_bet <= MAX_AMOUNT:
        yield "big_bet", f"lies between the small bet and {MAX_AMOUNT}"
    # No rule relates the ante to the bets (W5, W6); for money a larger one is taken for a slip of the operator.
    most = MAX_AMOUNT if test else config.small_bet
    if not 0 <= config.ante <= most:
        yield "ante", f"lies between 0 and {most if test else 'the small bet'}"
    if not 0 < config.bring_in < config.small_bet:
        yield "bring_in", "is above 0 and below the small bet"
    elif ruleset.bring_in is BringInKind.HALF_SMALL_BET and config.bring_in != half_small_bet(config.small_bet):
        yield "bring_in", f"is half the small bet, rounded up: {half_small_bet(config.small_bet)}"
    if not 0 <= config.hand_pause_ms <= MAX_CLOCK_MS:
        yield "hand_pause_ms", f"lies in 0..{MAX_CLOCK_MS}"
    for field, limit in (("min_buy_in", config.min_buy_in), ("max_buy_in", config.max_buy_in or 0)):
        if limit > MAX_AMOUNT:
            yield field, f"comes to {limit}, at most {MAX_AMOUNT} can be bought in"
    if config.max_buy_in is not None and config.max_buy_in < config.min_buy_in:
        yield "max_buy_in", f"{config.max_buy_in} is below the minimum of {config.min_buy_in}"
    if config.stacked and not test:
        yield "stacked", f"stacked decks are for tables in {TEST_CURRENCY}"
