"""Who shows first, who must show, and who wins what (P37-P47, W22-W25; B.13, B.15). Pure queries on a hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from stud_core.pots import Pot, allot_rake, called_money, split
from stud_core.ranks import rank_best
from stud_core.ruleset import OddUnits, Ruleset
from stud_core.state import Hand


class Award(NamedTuple):
    """One pot as it is paid: ``amount`` includes ``rake``; ``shares`` are by seat, in deal order."""

    pot_no: int
    amount: int
    rake: int
    shares: dict[int, int]


def rank_hand(hand: Hand, seat: int, down: Sequence[int]) -> int:
    """Rank of a seat's best five of its own cards and the community card, 1 … 7462 (P46, W22; B.13)."""
    common = () if hand.community is None else (hand.community,)
    return rank_best((*down, *hand.up[seat], *common))


def showing_order(hand: Hand, pots: Sequence[Pot]) -> tuple[int, ...]:
    """Live seats in the order in which they show.

    The last to bet or raise on the river first, else whoever acted first or would have (P37-P40); then clockwise.
    Players in a side pot settle it among themselves before those who are all-in for less (B.15).
    """
    start = hand.order.index(hand.aggressor or hand.first)
    clockwise = [s for s in hand.order[start:] + hand.order[:start] if hand.live[s]]
    shown: list[int] = []
    for pot in reversed(pots):
        if len(pot.eligible) > 1:
            shown += [s for s in clockwise if s in pot.eligible and s not in shown]
    return tuple(shown + [s for s in clockwise if s not in shown])


def rake_of(hand: Hand, ruleset: Ruleset, pots: Sequence[Pot]) -> tuple[int, ...]:
    """Rake of each pot, minor units; none when the hand ends before fourth street, by the knob (B.14, B.21)."""
    if ruleset.no_rake_before_fourth and hand.street < 4:
        return (0,) * len(pots)
    return allot_rake(pots, called_money(hand.paid), ruleset.rake_bps, ruleset.rake_cap)


def pot_winners(pot: Pot, ranks: Mapping[int, int]) -> tuple[int, ...]:
    """Seats that share a pot; equal ranks tie, whatever the suits (P17, P47, W24)."""
    best = min(ranks[seat] for seat in pot.eligible)
    return tuple([seat for seat in pot.eligible if ranks[seat] == best])


def awards(
    hand: Hand,
    ruleset: Ruleset,
    pots: Sequence[Pot],
    winners: Sequence[Sequence[int]],
    down: Mapping[int, Sequence[int]],
) -> list[Award]:
    """Who is paid what, in the order of payment: last side pot first, main pot last, each split by itself (B.14)."""
    rakes = rake_of(hand, ruleset, pots)
    by_card = ruleset.odd_units is OddUnits.HIGH_CARD_BY_SUIT
    high = {seat: max(*hand.up[seat], *cards) for seat, cards in down.items()} if by_card else {}
    paid: list[Award] = []
    for number in reversed(range(len(pots))):
        pot, rake = pots[number], rakes[number]
        shares = split(pot.amount - rake, winners[number], hand.order, ruleset.odd_units, high)
        paid.append(Award(number, pot.amount, rake, shares))
    return paid
