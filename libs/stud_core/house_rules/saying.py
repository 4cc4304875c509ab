"""How amounts, times and places are said on the page of house rules."""

from __future__ import annotations

from typing import Final

from stud_core.ruleset import BuyInLimit, DealOrigin, TableConfig

WORDS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def money(amount: int) -> str:
    """Minor units as people write them: 500 is ``5``, 250 is ``2.50``."""
    whole, cents = divmod(amount, 100)
    return f"{whole:,}.{cents:02d}" if cents else f"{whole:,}"


def seconds(clock_ms: int) -> str:
    return "1 second" if clock_ms == 1000 else f"{clock_ms / 1000:g} seconds"


def span(length_ms: int) -> str:
    """A length of time in the largest unit that it is a whole number of."""
    for unit_ms, unit in ((3_600_000, "hour"), (60_000, "minute")):
        number, rest = divmod(length_ms, unit_ms)
        if number and not rest:
            return f"1 {unit}" if number == 1 else f"{number} {unit}s"
    return seconds(length_ms)


def within(clock_ms: int) -> str:
    return f" within {seconds(clock_ms)}" if clock_ms else ", with no time limit"


def limit(buy_in: BuyInLimit, config: TableConfig) -> str:
    amount = money(buy_in.resolve(config.small_bet))
    return amount if buy_in.small_bets is None else f"{amount} ({buy_in.small_bets} times the lower limit)"


def left(config: TableConfig) -> str:
    """Where counting starts: at the dealer of the house, or at the button."""
    return "the dealer's left" if config.ruleset.deal_origin is DealOrigin.FIXED else "the button's left"
