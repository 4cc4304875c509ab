"""Who is owed what, layer by layer (B.14, B.21). Amounts are minor units; seats 1..8.

Deliberately simple: chips are cut at every different contribution, and layers that the same players can win are put
together again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from rules_service.second_opinion.ranking import Strength
from stud_core.ruleset import OddUnits, Ruleset


class Pot(msgspec.Struct):
    """Chips, and the seats that can win them in deal order."""

    amount: int
    eligible: tuple[int, ...]


class Payment(msgspec.Struct, frozen=True):
    """One pot as it must be paid: ``amount`` includes ``rake``."""

    amount: int
    rake: int
    shares: dict[int, int]


def layers(paid: Mapping[int, int]) -> list[tuple[int, list[int]]]:
    """Chips of each layer and who paid into it, from the bottom."""
    found: list[tuple[int, list[int]]] = []
    below = 0
    for level in sorted({amount for amount in paid.values() if amount}):
        payers = [seat for seat, amount in paid.items() if amount >= level]
        found.append(((level - below) * len(payers), payers))
        below = level
    return found


def build_pots(paid: Mapping[int, int], live: Sequence[int]) -> list[Pot]:
    """The pots, main pot first. A layer that no live player paid into joins the one below it."""
    pots: list[Pot] = []
    for amount, payers in layers(paid):
        eligible = tuple([seat for seat in live if seat in payers])
        if pots and (not eligible or pots[-1].eligible == eligible):
            pots[-1].amount += amount
        else:
            pots.append(Pot(amount, eligible))
    return pots


def uncalled(bets: Mapping[int, int], live: Sequence[int]) -> tuple[int, int]:
    """Seat and amount of what nobody matched in a round, (0, 0) if nothing: the largest bet over the second largest."""
    if len(bets) < 2:
        return 0, 0
    second, largest = sorted(bets.values())[-2:]
    if largest == second:
        return 0, 0
    holder = next(seat for seat, bet in bets.items() if bet == largest)
    return (holder, largest - second) if holder in live else (0, 0)


def rake_due(paid: Mapping[int, int], ruleset: Ruleset, *, ended_on_third: bool) -> int:
    """Rake of the whole hand: basis points of what at least two players paid for, at most the cap, rounded down."""
    if ended_on_third and ruleset.no_rake_before_fourth:
        return 0
    called = sum([amount for amount, payers in layers(paid) if len(payers) > 1])
    rake = called * ruleset.rake_bps // 10_000
    return rake if ruleset.rake_cap is None else min(rake, ruleset.rake_cap)


def pay(
    pots: Sequence[Pot],
    rake: int,
    strengths: Mapping[int, Strength],
    order: Sequence[int],
    odd: OddUnits,
    highest: Mapping[int, int],
) -> list[Payment]:
    """Pay every pot; the rake comes out of the main pot first.

    ``strengths`` may be empty when every pot has one eligible player. ``highest`` is each seat's highest card by rank
    and suit, for one kind of odd units only (P47, W24-W25).
    """
    payments: list[Payment] = []
    for pot in pots:
        taken = min(rake, pot.amount)
        rake -= taken
        winners = list(pot.eligible)
        if len(winners) > 1:
            best = max([strengths[seat] for seat in winners])
            winners = [seat for seat in order if seat in pot.eligible and strengths[seat] == best]
        payments.append(Payment(pot.amount, taken, _shares(pot.amount - taken, winners, odd, highest)))
    return payments


def _shares(amount: int, winners: list[int], odd: OddUnits, highest: Mapping[int, int]) -> dict[int, int]:
    each = amount // len(winners)
    left = amount - each * len(winners)
    shares = dict.fromkeys(winners, each)
    if odd is OddUnits.ONE_EACH_FROM_LEFT:
        for seat in winners[:left]:
            shares[seat] += 1
    elif odd is OddUnits.ALL_TO_FIRST_LEFT:
        shares[winners[0]] += left
    elif left:
        lucky = max(winners, key=lambda seat: highest[seat])
        shares[lucky] += left
    return shares
