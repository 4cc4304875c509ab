"""The house rules in words, for people who want to play: made from the table's configuration that the engine plays by.

No sentence stands here that does not follow from a knob, a table parameter or a statement both pages share, so page
and game cannot differ. Amounts are spoken in whole currency units.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Final, NamedTuple

from msgspec.structs import replace

from stud_core.house_rules import betting, cards, ending
from stud_core.house_rules.saying import money
from stud_core.presets import RULESETS
from stud_core.ruleset import TableConfig

WIDTH: Final = 100
_INDENT: Final = 16


class Section(NamedTuple):
    """One subject, in the order of play."""

    title: str
    text: str


def house_rules(config: TableConfig) -> list[Section]:
    """Return the complete rules of a table."""
    return [Section(title, text(config)) for title, text in _SECTIONS]


def changed(config: TableConfig) -> list[str]:
    """Titles of the sections that read differently from the preset whose name the table's rules bear.

    None for rules with a name of the operator's own: they promise nothing.
    """
    preset = RULESETS.get(config.ruleset.name)
    if preset is None:
        return []
    usual = house_rules(replace(config, ruleset=preset))
    return [mine.title for mine, theirs in zip(house_rules(config), usual, strict=True) if mine != theirs]


def headline(config: TableConfig) -> str:
    """What the page is about, with the version that every hand records, and where the house has changed a preset."""
    rules = config.ruleset
    stakes = f"{money(config.small_bet)}/{money(config.big_bet)} {config.currency}"
    text = f'Seven-card stud, fixed limit {stakes}: house rules "{rules.name}", version {rules.version}'
    titles = changed(config)
    return f"{text}, but this house has changed what stands under: {', '.join(titles)}" if titles else text


def page(config: TableConfig) -> str:
    """Return the rules as one page of plain text, 100 columns wide."""
    lines = textwrap.wrap(headline(config), WIDTH)
    for title, text in house_rules(config):
        first = title.ljust(_INDENT)
        lines += [""] * (title in _AFTER_A_BREAK)
        lines += textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=" " * _INDENT)
    return "\n".join(lines) + "\n"


_AFTER_A_BREAK: Final = {"The table", "The deal", "The betting", "Short of cards", "Clock and away"}
_SECTIONS: Final[tuple[tuple[str, Callable[[TableConfig], str]], ...]] = (
    ("The table", cards.table),
    ("Buying in", cards.buying_in),
    ("Antes", cards.antes),
    ("The deal", cards.deal),
    ("The low card", cards.low_card),
    ("The betting", betting.bets),
    ("The open pair", betting.open_pair),
    ("The cap", betting.cap),
    ("Heads up", betting.heads_up),
    ("All-in", betting.all_in),
    ("Short of cards", cards.river),
    ("Hands", ending.hands),
    ("Showdown", ending.showdown),
    ("Odd chips", ending.odd_chips),
    ("Rake", ending.rake),
    ("Clock and away", ending.clock),
    ("Acting ahead", ending.ahead),
    ("Void, disputed", ending.void),
)
