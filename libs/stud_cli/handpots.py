"""What a recorded hand's money says without its cards: pots, who can have won them, whether the sums agree.

Reads facts only; draws nothing and plays nothing. Money is integer minor units.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from stud_cli.handscript import Course, Move
from stud_core.pots import Pot, allot_rake, build_pots, called_money, split, uncalled
from stud_core.ruleset import Ruleset, TableConfig

Winners = tuple[frozenset[int], ...]  # of each pot, main pot first


def pots_of(course: Course) -> tuple[Pot, ...]:
    """The pots of the hand, main pot first."""
    return build_pots(course.paid, [seat in course.live for seat in range(9)])


def net_pots(course: Course, rules: Ruleset) -> tuple[int, ...]:
    """Amounts of the pots after the rake."""
    pots = pots_of(course)
    rakes = allot_rake(pots, called_money(course.paid), rules.rake_bps, rules.rake_cap)
    return tuple(pot.amount - rake for pot, rake in zip(pots, rakes, strict=True))


def results(course: Course, rules: Ruleset) -> list[Winners]:
    """Every result of the showdown that pays what was paid, apart from who gets the odd units of a split.

    A hand that was mucked does not compete with one that was shown.
    """
    pots = pots_of(course)
    nets = net_pots(course, rules)

    def extend(winners: Winners, position: int) -> Iterator[Winners]:
        if position == len(pots):
            if _pays(winners, nets, course):
                yield winners
            return
        eligible = frozenset(pots[position].eligible)
        # Who wins a pot wins every smaller one he is in with the same hand.
        inherited = next((won & eligible for won in reversed(winners) if won & eligible), None)
        for chosen in _subsets(_competing(course, eligible)) if inherited is None else [inherited]:
            yield from extend((*winners, chosen), position + 1)

    return list(extend((), 0))


def explainable(course: Course, rules: Ruleset) -> bool:
    """Whether some result pays exactly what was paid, whatever the cards were."""
    return bool(results(course, rules))


def shares(course: Course, rules: Ruleset, winners: Winners, hands: dict[int, list[int]]) -> dict[int, int]:
    """Totals by seat when these win, odd units included; ``hands`` are all cards of each live seat."""
    total: dict[int, int] = {}
    high = [max(hands.get(seat, [0])) for seat in range(9)]
    for net, won in zip(net_pots(course, rules), winners, strict=True):
        parts = split(net, sorted(won), course.streets[0].dealt, rules.odd_units, high)
        for seat, amount in parts.items():
            total[seat] = total.get(seat, 0) + amount
    return {seat: amount for seat, amount in total.items() if amount}


def _competing(course: Course, eligible: frozenset[int]) -> frozenset[int]:
    """Who of a pot can be its winner: he was paid something, and did not muck before a shown hand."""
    paid = eligible & course.expected.awards.keys()
    return paid - course.mucked if eligible & course.shows else paid


def _subsets(seats: frozenset[int]) -> Iterator[frozenset[int]]:
    """Non-empty subsets, single winners first."""
    for size in range(1, len(seats) + 1):
        yield from map(frozenset, combinations(sorted(seats), size))


def _pays(winners: Winners, nets: Sequence[int], course: Course) -> bool:
    """Whether totals agree up to the odd units of the splits."""
    awards = course.expected.awards
    if sum(nets) != sum(awards.values()):
        return False
    for seat in {seat for won in winners for seat in won} | awards.keys():
        mine = [(net, len(won)) for net, won in zip(nets, winners, strict=True) if seat in won]
        least = sum(net // number for net, number in mine)
        most = least + sum(net % number for net, number in mine)
        if not least <= awards.get(seat, 0) <= most:
            return False
    return True


def arithmetic(course: Course, config: TableConfig) -> list[str]:
    """Say where amounts, the uncalled return and the awards do not fit each other; needs no cards."""
    names = course.names
    faults: list[str] = []
    left: dict[int, int] = {}
    for seat, stack in course.stacks.items():
        ante = min(config.ante, stack)
        left[seat] = stack - ante
        if course.expected.antes.get(seat, ante) != ante:
            faults.append(f"{names[seat]} posted {course.expected.antes[seat]}, wanted {ante}")
    bets: dict[int, int] = {}
    street = price = 0
    for number, move in enumerate(course.expected.moves, 1):
        if move.street != street:
            street, price, bets = move.street, 0, {}
        bet = bets.get(move.seat, 0)
        wanted = _wanted(move, bet, price, bet + left[move.seat], config)
        if wanted:
            faults.append(f"action {number}, street {street}: {names[move.seat]} {move}, wanted {wanted}")
        left[move.seat] -= move.amount
        bets[move.seat] = move.to
        price = max(price, config.bring_in if move.verb == "bring_in" else 0, move.to)
    seat, amount = uncalled([bets.get(s, 0) for s in range(9)], [s in course.live for s in range(9)])
    if course.expected.uncalled != ({seat: amount} if amount else {}):
        wanted = f"{amount} to {names[seat]}" if amount else "none"
        faults.append(f"uncalled: wanted {wanted}, recorded {by_name(course, course.expected.uncalled) or 'none'}")
    if not explainable(course, config.ruleset):
        faults.append(unpaid(course))
    return faults


def unpaid(course: Course) -> str:
    """The fault of awards that no result of the showdown explains."""
    return f"no result of the showdown pays what was recorded: {by_name(course, course.expected.awards)}"


def by_name(course: Course, amounts: dict[int, int]) -> str:
    """Amounts for people: ``"P1 300, P4 20"``."""
    return ", ".join(f"{course.names[seat]} {amount}" for seat, amount in sorted(amounts.items()))


def _wanted(move: Move, bet: int, price: int, reach: int, config: TableConfig) -> str:
    """What an action should have come to, nothing if it is possible. ``reach`` is all the player has, and his bet."""
    match move.verb:
        case "fold" | "check":
            return "" if move.amount == 0 else "no chips"
        case "bring_in":
            post = min(config.bring_in, reach)
            return "" if move.to == post else f"to {post}"
        case "call":
            due = min(price, reach)
            return "" if bet < move.to == due else f"to {due}"
        case _:
            return "" if price < move.to <= reach else f"more than {price} and at most {reach}"
