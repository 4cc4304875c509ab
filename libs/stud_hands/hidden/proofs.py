"""Whether the cards that a record tells already decide against the recorded winners.

Shown cards count like dealt ones, and a show of five is the best hand: a record that pays somebody else is wrong,
not merely unexplained. Where cards stay hidden everything that they could be is gone through; a search that its
budget cuts short proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Final

from stud_core.ruleset import OddUnits, Ruleset
from stud_hands.course import HAND, Course
from stud_hands.hidden.known import best_fives, known_cards, known_hands, known_ranks, unseen_cards
from stud_hands.hidden.showdown import Demands, Drawn, Held, fitting_hands
from stud_hands.pots import Winners, shares

ALL_WAYS: Final = 100_000
MOST_HIDDEN: Final = 3  # hands of a player with more hidden cards are too many to go through


def beaten(course: Course, winners: Winners) -> bool:
    """Whether known hands are better than those of the winners."""
    given_up = _given_up(course, winners)
    ranks = {seat: rank for seat, rank in known_ranks(course).items() if seat not in given_up}
    return Demands(course, winners, {}).broken_by(ranks)


def pays_otherwise(course: Course, rules: Ruleset, winners: Winners) -> bool:
    """Whether these winners are certainly paid different odd units by these rules."""
    hands = known_hands(course)
    if rules.odd_units is OddUnits.HIGH_CARD_BY_SUIT and not _tied(winners) <= hands.keys():
        return False
    return shares(course, rules, winners, hands) != course.expected.awards


class Proofs:
    """What no hidden cards can bring about in one hand; remembers what it has found."""

    def __init__(self, course: Course, rng: Random) -> None:
        self._course, self._rng = course, rng
        self._unseen = unseen_cards(course)
        self._found: dict[tuple[Winners, OddUnits, bool], bool] = {}

    def impossible(self, rules: Ruleset, winners: Winners, *, mucked_compete: bool) -> bool:
        """Whether no hidden cards make exactly these players win, and be paid what was paid."""
        by_suit = rules.odd_units is OddUnits.HIGH_CARD_BY_SUIT
        key = (winners, rules.odd_units if by_suit else OddUnits.ONE_EACH_FROM_LEFT, mucked_compete)
        if key not in self._found:
            out = frozenset() if mucked_compete else _given_up(self._course, winners)
            self._found[key] = all(self._none_fit(rules, winners, out, river) for river in self._rivers())
        return self._found[key]

    def _rivers(self) -> Iterable[int | None]:
        hidden = self._course.common and self._course.community is None
        return self._unseen if hidden else [None]

    def _none_fit(self, rules: Ruleset, winners: Winners, out: frozenset[int], river: int | None) -> bool:
        """``river`` is a guess at a hidden card for all."""
        course = self._course
        common = () if river is None else (river,)
        held: dict[int, Held] = {}
        for seat in course.live:
            cards = (*known_cards(course, seat), *common)
            if seat not in out and HAND - len(cards) <= MOST_HIDDEN:
                held[seat] = Held(cards, HAND - len(cards))
        by_suit = rules.odd_units is OddUnits.HIGH_CARD_BY_SUIT and _tied(winners) <= held.keys()

        def paid(drawn: Drawn) -> bool:
            hands = {seat: [*held[seat].cards, *cards] for seat, cards in drawn.items()}
            return not by_suit or shares(course, rules, winners, hands) == course.expected.awards

        demands = Demands(course, winners, best_fives(course), of=held.keys())
        free = [card for card in self._unseen if card != river]
        fit = fitting_hands(demands, held, free, self._rng, thorough=True, ways=ALL_WAYS, accepts=paid)
        return fit.impossible


def _given_up(course: Course, winners: Winners) -> frozenset[int]:
    """Hands that were mucked and not paid do not compete, whatever they were."""
    return course.mucked - {seat for won in winners for seat in won}


def _tied(winners: Winners) -> frozenset[int]:
    return frozenset(seat for won in winners if len(won) > 1 for seat in won)
