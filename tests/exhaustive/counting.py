"""Counts of complete betting trees by the oracle of ``tests.support.limit_betting``, without a line of the engine."""

from __future__ import annotations

from collections import Counter
from functools import cache

from tests.exhaustive.scenarios import ANTE, ODD_UNITS, PAGES, Scenario
from tests.support import limit_betting as oracle
from tests.support.limit_betting import Round

RANKS, SUITS = "23456789TJQKA", "cdhs"

Paid = tuple[int, ...]
Tally = Counter[tuple[str, int]]
"""(what, number) -> how often: turns by street and by depth, ends by fold or showdown, final stacks by place.

``stack`` sums the final stacks of all complete hands and ``square`` their squares, so that amounts that are merely
moved between hands show as well.
"""


def cards_of(text: str) -> tuple[int, ...]:
    return tuple([4 * RANKS.index(name[0]) + SUITS.index(name[1]) for name in text.split()])


def count(scenario: Scenario) -> Tally:
    """Walk every hand that can be played; equal positions are counted once and added as often as they come."""
    page = PAGES[scenario.page]
    players = len(scenario.stacks)
    boards = [cards_of(text) for text in scenario.cards.up[:players]]
    own = [cards_of(text) for text in scenario.cards.down[:players]]
    keys = [oracle.hand_key((*up, *down)) for up, down in zip(boards, own, strict=True)]

    def street(number: int, stacks: Paid, folded: tuple[bool, ...]) -> Round:
        shown = min(number, 6) - 2
        return oracle.open_round(page, number, stacks, folded, [board[:shown] for board in boards])

    @cache
    def below(r: Round, paid: Paid) -> Tally:
        """What follows a position, depths counted from it; ``paid`` is what went in before this round."""
        if oracle.turn(r) is None:
            return ended(r, paid)
        tally = Tally({("street", r.street): 1, ("depth", 0): 1})
        for move in oracle.moves(r):
            for (what, number), times in below(oracle.play(r, move), paid).items():
                tally[what, number + (what == "depth")] += times
        return tally

    def ended(r: Round, paid: Paid) -> Tally:
        place, amount = oracle.uncalled(r)
        back = [amount if p == place else 0 for p in range(players)]
        stacks = tuple([s + b for s, b in zip(r.stacks, back, strict=True)])
        paid = tuple([p + bet - b for p, bet, b in zip(paid, r.bets, back, strict=True)])
        if r.folded.count(False) == 1:
            return leaf("fold", stacks, paid, r.folded)
        if r.street < 7:
            return below(street(r.street + 1, stacks, r.folded), paid)
        return leaf("showdown", stacks, paid, r.folded)

    def leaf(end: str, stacks: Paid, paid: Paid, folded: tuple[bool, ...]) -> Tally:
        final = list(stacks)
        for amount, contenders in oracle.layers(paid, folded):
            best = max([keys[p] for p in contenders])
            winners = [p for p in contenders if keys[p] == best]
            for p, share in oracle.shares(amount, winners, ODD_UNITS[scenario.page]).items():
                final[p] += share
        return of_leaf(end, final)

    antes = tuple([min(ANTE, stack) for stack in scenario.stacks])
    behind = tuple([stack - ante for stack, ante in zip(scenario.stacks, antes, strict=True)])
    return below(street(3, behind, (False,) * players), antes)


def of_leaf(end: str, final: list[int]) -> Tally:
    """One complete hand."""
    sums = {("stack", place): stack for place, stack in enumerate(final)}
    squares = {("square", place): stack * stack for place, stack in enumerate(final)}
    return Tally({(end, 0): 1} | sums | squares)


def as_figures(tally: Tally) -> dict[str, list[int]]:
    """A tally as it is checked in: a list for each kind of figure, by street (third first), depth or place."""
    figures: dict[str, list[int]] = {}
    for what in ("street", "depth", "fold", "showdown", "stack", "square"):
        numbers = [number for kind, number in tally if kind == what]
        first = 3 if what == "street" else 0
        figures[what] = [tally[what, n] for n in range(first, max(numbers, default=0) + 1)]
    return figures
