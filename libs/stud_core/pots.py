"""Chips in a hand, cut into pots, and how pots are split (B.14).

Amounts are minor currency units. Lists are indexed by seat (1..8, index 0 unused).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from stud_core.ruleset import OddUnits


class Pot(NamedTuple):
    """Chips and the seats that can win them; seats in ascending order."""

    amount: int
    eligible: tuple[int, ...]


def build_pots(paid: Sequence[int], live: Sequence[bool]) -> tuple[Pot, ...]:
    """Cut the contributions of a hand into pots, main pot first.

    A pot reaches from one live player's total to the next: folded chips stay in the layers they were
    paid into, and what only folded players paid beyond the highest live total merges into the layer below.
    """
    alive = [seat for seat, is_live in enumerate(live) if is_live]
    levels = sorted({paid[seat] for seat in alive})
    pots: list[Pot] = []
    below = 0
    for level in levels:
        if level == levels[-1]:
            amount = sum([p - below for p in paid if p > below]) if below else sum(paid)
        else:
            amount = sum([min(p, level) - below for p in paid if p > below])
        if amount:
            pots.append(Pot(amount, tuple([seat for seat in alive if paid[seat] >= level])))
        below = level
    return tuple(pots)


def uncalled(bets: Sequence[int], live: Sequence[bool]) -> tuple[int, int]:
    """Seat and amount of the part of a round's largest live bet that nobody matched; (0, 0) if all was called.

    The second largest contribution of the round counts, whoever made it and whether or not they folded (B.21).
    """
    *_, second, largest = sorted(bets)
    holder = bets.index(largest)
    return (holder, largest - second) if largest > second and live[holder] else (0, 0)


def called_money(paid: Sequence[int]) -> int:
    """All chips in the pots except those that a single player put in beyond everybody else.

    Only those can be raked (vector 152: the unmatched part of an ante is not).
    """
    *_, second, first = sorted(paid)
    return sum(paid) - (first - second)


def allot_rake(pots: Sequence[Pot], called: int, bps: int, cap: int | None) -> tuple[int, ...]:
    """Rake of each pot: ``bps`` basis points of the called money, at most ``cap``, main pot first."""
    rake = called * bps // 10_000
    if cap is not None:
        rake = min(rake, cap)
    taken: list[int] = []
    for pot in pots:
        part = min(rake, pot.amount)
        taken.append(part)
        rake -= part
    return tuple(taken)


def split(
    amount: int, winners: Sequence[int], order: Sequence[int], odd: OddUnits, high_card: Mapping[int, int]
) -> dict[int, int]:
    """Shares of a pot by seat, in deal order (P47, W24-W25).

    ``order`` is the deal order; ``high_card`` the highest card by rank and suit of each seat, used by
    ``HIGH_CARD_BY_SUIT`` alone.
    """
    tied = [seat for seat in order if seat in winners]
    quotient, rest = divmod(amount, len(tied))
    shares = dict.fromkeys(tied, quotient)
    if odd is OddUnits.ONE_EACH_FROM_LEFT:
        for seat in tied[:rest]:
            shares[seat] += 1
    elif odd is OddUnits.ALL_TO_FIRST_LEFT:
        shares[tied[0]] += rest
    else:
        shares[max(tied, key=high_card.__getitem__)] += rest
    return shares
