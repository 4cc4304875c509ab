"""What a recorded hand's money says without its cards: pots, who can have won them, whether the sums agree.

Reads facts only; draws nothing and plays nothing. Money is integer minor units.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from stud_core.pots import Pot, allot_rake, build_pots, called_money, split, uncalled
from stud_core.ruleset import Ruleset, TableConfig
from stud_hands.course import Course, Move, StreetFacts

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

    A hand that was mucked does not compete with one that was shown. A pot that the rake took whole pays nobody: its
    winners are left empty, since nothing tells who they were.
    """
    pots = pots_of(course)
    nets = net_pots(course, rules)

    def extend(winners: Winners, position: int) -> Iterator[Winners]:
        if position == len(pots):
            if _pays(winners, nets, course):
                yield winners
            return
        if not nets[position]:
            yield from extend((*winners, frozenset()), position + 1)
            return
        eligible = frozenset(pots[position].eligible)
        # Whoever wins a pot wins every smaller one they are in with the same hand.
        inherited = next((won & eligible for won in reversed(winners) if won & eligible), None)
        competing = _competing(course, eligible, nets[position])
        for chosen in _subsets(competing) if inherited is None else [inherited]:
            yield from extend((*winners, chosen), position + 1)

    return list(extend((), 0))


def explainable(course: Course, rules: Ruleset) -> bool:
    """Whether some result pays exactly what was paid, whatever the cards were."""
    return bool(results(course, rules))


def shares(course: Course, rules: Ruleset, winners: Winners, hands: dict[int, list[int]]) -> dict[int, int]:
    """Totals by seat when these win, odd units included; ``hands`` are all cards of each live seat."""
    total: dict[int, int] = {}
    high = {seat: max(hands.get(seat, [0])) for seat in course.live}
    for net, won in zip(net_pots(course, rules), winners, strict=True):
        if not won:
            continue
        parts = split(net, sorted(won), course.streets[0].dealt, rules.odd_units, high)
        for seat, amount in parts.items():
            total[seat] = total.get(seat, 0) + amount
    return {seat: amount for seat, amount in total.items() if amount}


def _competing(course: Course, eligible: frozenset[int], net: int) -> frozenset[int]:
    """Who in a pot can be its winner: they were paid something (unless there are too few units for all), and did not
    muck before a shown hand. Where there are too few units a hand that gets none may be mucked though it ties.
    """
    paid = course.expected.awards.keys()
    able, out = (eligible, course.mucked & paid) if net < len(eligible) else (eligible & paid, course.mucked)
    return able - out if eligible & course.shows else able


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
    """Say where turns, amounts, the uncalled return and the awards do not fit each other; needs no cards.

    Only who is first on a street depends on cards; those who follow do not.
    """
    names = course.names
    faults: list[str] = []
    left: dict[int, int] = {}
    for seat, stack in course.stacks.items():
        ante = min(config.ante, stack)
        left[seat] = stack - ante
        posted = course.expected.antes.get(seat, 0)
        if posted != ante:
            faults.append(f"{names[seat]} posted an ante of {posted}, wanted {ante}")
    returned: dict[int, int] = {}
    for facts in course.streets:
        street = _Street(facts, left)
        for move in [move for move in course.expected.moves if move.street == facts.street]:
            turn, wanted = street.turn(), street.wanted(move, config)
            if (turn or street.last) and turn != move.seat:
                who = f"{names[turn]} has to act" if turn else "nobody has to act any more"
                faults.append(f"street {facts.street}: {who}, recorded {names[move.seat]} {move}")
            if wanted:
                faults.append(f"street {facts.street}: {names[move.seat]} {move}, wanted {wanted}")
            street.take(move, config)
        if street.turn():
            faults.append(f"street {facts.street} ends where {names[street.turn()]} has to act")
        if not street.last and sum(left[seat] > 0 for seat in facts.dealt) > 1:
            faults.append(f"street {facts.street}: nobody acts though several have chips")
        bets = [street.bets.get(seat, 0) for seat in range(9)]
        seat, amount = uncalled(bets, [seat in street.live for seat in range(9)])
        if amount:
            returned[seat] = returned.get(seat, 0) + amount
    if course.expected.uncalled != returned:
        wanted = by_name(course, returned) or "none"
        faults.append(f"uncalled: wanted {wanted}, recorded {by_name(course, course.expected.uncalled) or 'none'}")
    if not explainable(course, config.ruleset):
        faults.append(unpaid(course))
    return faults


class _Street:
    """One betting round as far as it can be followed without cards; ``left`` (chips by seat) is kept up to date."""

    def __init__(self, facts: StreetFacts, left: dict[int, int]) -> None:
        self.live = list(facts.dealt)
        self.left = left
        self.bets: dict[int, int] = {}
        self.acted: set[int] = set()
        self.price = 0
        self.last = 0

    def turn(self) -> int:
        """Seat of the next to act, 0 before the first one and after the last."""
        if not self.last or len(self.live) < 2:
            return 0
        able = [seat for seat in self.live if self.left[seat]]
        later = sorted(able, key=lambda seat: (seat <= self.last, seat))
        for seat in later:
            if self.bets.get(seat, 0) < self.price or (seat not in self.acted and len(able) > 1):
                return seat
        return 0

    def wanted(self, move: Move, config: TableConfig) -> str:
        """What an action should have come to, nothing if it is possible."""
        bet = self.bets.get(move.seat, 0)
        reach = bet + self.left[move.seat]
        if move.seat not in self.live:
            return "nothing of somebody who has folded"
        match move.verb:
            case "fold" | "check":
                return "" if move.amount == 0 else "no chips"
            case "bring_in":
                post = min(config.bring_in, reach)
                return "" if move.to == post else f"to {post}"
            case "call":
                due = min(self.price, reach)
                return "" if bet < move.to == due else f"to {due}"
            case _:
                return "" if self.price < move.to <= reach else f"more than {self.price} and at most {reach}"

    def take(self, move: Move, config: TableConfig) -> None:
        """Follow the action, right or wrong."""
        self.left[move.seat] -= move.amount
        self.bets[move.seat] = move.to
        self.acted.add(move.seat)
        self.price = max(self.price, config.bring_in if move.verb == "bring_in" else 0, move.to)
        self.last = move.seat
        if move.verb == "fold" and move.seat in self.live:
            self.live.remove(move.seat)


def unpaid(course: Course) -> str:
    """The fault of awards that no result of the showdown explains."""
    return f"no result of the showdown pays what was recorded: {by_name(course, course.expected.awards)}"


def by_name(course: Course, amounts: dict[int, int]) -> str:
    """Amounts for people: ``"P1 300, P4 20"``."""
    return ", ".join(f"{course.names[seat]} {amount}" for seat, amount in sorted(amounts.items()))
