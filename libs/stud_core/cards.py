"""Cards as small integers.

A card is ``4 * rank + suit`` with rank 0 (deuce) … 12 (ace) and suit 0 clubs, 1 diamonds, 2 hearts,
3 spades, so that comparing two integers compares rank first and suit second: exactly the order in
which door cards are compared for the bring-in (P14-P16, W8; ``docs/rules-gaps.md`` B.1).
"""

from __future__ import annotations

from typing import Final

RANKS: Final = "23456789TJQKA"
SUITS: Final = "cdhs"
DECK_SIZE: Final = 52

_NAMES: Final = tuple(r + s for r in RANKS for s in SUITS)
_BY_NAME: Final = {name: card for card, name in enumerate(_NAMES)}


def card_name(card: int) -> str:
    """Return the two-character name, ``"Ah"``; raises IndexError outside 0..51."""
    if card < 0:
        raise IndexError(card)
    return _NAMES[card]


def parse_card(name: str) -> int:
    """Return the card called ``name`` (``"Ah"``); raises ValueError for anything else."""
    try:
        return _BY_NAME[name]
    except KeyError:
        raise ValueError(f"{name!r} is no card: want a rank of {RANKS} and a suit of {SUITS}, such as 'Ah'") from None


def parse_cards(text: str) -> tuple[int, ...]:
    """Parse cards separated by blanks: ``"Ah Td"``."""
    return tuple(parse_card(name) for name in text.split())


def rank_of(card: int) -> int:
    """Rank 0 (deuce) … 12 (ace)."""
    return card >> 2


def suit_of(card: int) -> int:
    """Suit 0 clubs … 3 spades."""
    return card & 3
