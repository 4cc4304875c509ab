"""Whether a table may be opened with a configuration: the range of every knob and parameter. What a table is called is
not among them: its id names a log, and the log says what it may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from stud_core.amounts import MAX_AMOUNT, TEST_CURRENCY
from stud_core.presets import half_small_bet
from stud_core.rejection import Problem, Reason
from stud_core.ruleset import BringInKind, BuyInLimit, Ruleset, TableConfig

MAX_CLOCK_MS: Final = 600_000
MIN_ABSENCE_MS: Final = 1_000
MAX_MEMORY_MS: Final = 86_400_000
MAX_RAKE_BPS: Final = 1_000
ALL_BPS: Final = 10_000

_CURRENCY: Final = re.compile(r"[A-Z]{3}")


def validate_config(config: TableConfig) -> list[Problem]:
    """Everything that is wrong with a configuration, the ruleset's faults first; empty when it can be opened."""
    test = config.currency == TEST_CURRENCY
    limits = list(_limit_faults(config))
    return [
        *(Problem(Reason.INVALID_RULESET, *fault) for fault in _ruleset_faults(config.ruleset, test=test)),
        *(problem for problem in limits if problem.reason is Reason.INVALID_RULESET),
        *(Problem(Reason.INVALID_TABLE, *fault) for fault in _table_faults(config, test=test)),
        *(problem for problem in limits if problem.reason is Reason.INVALID_TABLE),
    ]


RANGES: Final[dict[str, tuple[int, int]]] = {
    "name": (1, 64),
    "version": (1, 2**31 - 1),
    "max_raises": (1, 10),
    "river_burn_reserve": (0, 2),
    "action_clock_ms": (0, MAX_CLOCK_MS),
    "ante_clock_ms": (0, MAX_CLOCK_MS),
    "show_clock_ms": (0, MAX_CLOCK_MS),
    "time_bank_ms": (0, MAX_CLOCK_MS),
    "min_buy_in": (1, MAX_AMOUNT),
    "max_buy_in": (1, MAX_AMOUNT),
    "rathole_ms": (0, MAX_MEMORY_MS),
    "rake_bps": (0, MAX_RAKE_BPS),
    "rake_cap": (0, MAX_AMOUNT),
    "seats": (2, 8),
    "sit_out_max_ms": (MIN_ABSENCE_MS, MAX_MEMORY_MS),
    "sit_out_max_hands": (1, 1_000),
    "time_bank_chips": (1, 20),
    "time_bank_refill_hands": (1, 1_000),
    "reconnect_ms": (1_000, 120_000),
    "waiting_list": (1, 100),
    "offer_ms": (5_000, MAX_CLOCK_MS),
}
"""Least and greatest value of every knob that is a number; a name counts its characters, a limit its one amount.

Tables in XTS may rake more; only they may have clocks of 0.
"""

_CLOCKS: Final = ("action_clock_ms", "ante_clock_ms", "show_clock_ms")
MAX_NAME: Final = 100

Fault = tuple[str, str] | tuple[str, str, int, int]
"""Field, sentence, and the least and greatest value that would be right where a number says it."""


def _ruleset_faults(ruleset: Ruleset, *, test: bool) -> Iterator[Fault]:
    for field, (least, most) in RANGES.items():
        value = getattr(ruleset, field)
        top = ALL_BPS if field == "rake_bps" and test else most
        bottom = 1 if field in _CLOCKS and not test else least
        if isinstance(value, str):
            if not least <= len(value) <= top or not value.isprintable():
                yield field, f"has {least} to {top} printable characters", least, top
        elif value is None or isinstance(value, BuyInLimit) or bottom <= value <= top:
            continue
        elif value == least:
            yield field, f"0 (no deadline) is for tables in {TEST_CURRENCY}", bottom, top
        else:
            yield field, f"lies in {bottom}..{top}", bottom, top


def _table_faults(config: TableConfig, *, test: bool) -> Iterator[Fault]:
    if len(config.name) > MAX_NAME or not config.name.isprintable():
        yield "name", f"has at most {MAX_NAME} printable characters", 0, MAX_NAME
    if not _CURRENCY.fullmatch(config.currency):
        yield "currency", "has three capital letters"
    if not 2 <= config.small_bet <= MAX_AMOUNT:
        yield "small_bet", f"lies in 2..{MAX_AMOUNT}", 2, MAX_AMOUNT
    small = min(max(config.small_bet, 2), MAX_AMOUNT)  # where it is wrong itself, the rest is held against the nearest
    if not small <= config.big_bet <= MAX_AMOUNT:
        yield "big_bet", f"lies between the small bet and {MAX_AMOUNT}", small, MAX_AMOUNT
    # No rule relates the ante to the bets (W5, W6); for money a larger one is taken for an operator's slip.
    most = MAX_AMOUNT if test else small
    if not 0 <= config.ante <= most:
        yield "ante", f"lies between 0 and {most if test else 'the small bet'}", 0, most
    half = half_small_bet(small)
    if config.ruleset.bring_in is BringInKind.HALF_SMALL_BET:
        if config.bring_in != half:
            yield "bring_in", f"is half the small bet, rounded up: {half}", half, half
    elif not 0 < config.bring_in < small:
        yield "bring_in", "is above 0 and below the small bet", 1, small - 1
    if not 0 <= config.hand_pause_ms <= MAX_CLOCK_MS:
        yield "hand_pause_ms", f"lies in 0..{MAX_CLOCK_MS}", 0, MAX_CLOCK_MS
    if config.stacked and not test:
        yield "stacked", f"stacked decks are for tables in {TEST_CURRENCY}"


def _limit_faults(config: TableConfig) -> Iterator[Problem]:
    """Both buy-in limits, by themselves and by what they come to at this table. Bounds are in the unit that a limit was
    given in; a number of small bets cannot be judged where the small bet itself is wrong.
    """
    floor = 1
    for field in ("min_buy_in", "max_buy_in"):
        limit: BuyInLimit | None = getattr(config.ruleset, field)
        if limit is None:
            continue
        least, most = RANGES[field]
        unit = 1 if limit.small_bets is None else config.small_bet
        judged = 1 <= unit <= MAX_AMOUNT
        if judged:
            least, most = -(-floor // unit), MAX_AMOUNT // unit
        amount = limit.resolve(config.small_bet)
        if not _is_limit(limit, *RANGES[field]):
            text = f"is an amount or a number of small bets, {least}..{most}"
            yield Problem(Reason.INVALID_RULESET, field, text, least, most)
        elif judged and amount > MAX_AMOUNT:
            text = f"comes to {amount}, at most {MAX_AMOUNT} can be bought in"
            yield Problem(Reason.INVALID_TABLE, field, text, least, most)
        elif judged and amount < floor:
            text = f"{amount} is below the minimum of {floor}"
            yield Problem(Reason.INVALID_TABLE, field, text, least, most)
        elif judged:
            floor = amount


def _is_limit(limit: BuyInLimit, least: int, most: int) -> bool:
    given = [value for value in (limit.amount, limit.small_bets) if value is not None]
    return len(given) == 1 and least <= given[0] <= most
