"""The cards that a record tells, openly or by what was shown, and those that nobody has seen."""

from __future__ import annotations

from itertools import combinations

from stud_core.cards import DECK_SIZE
from stud_core.ranks import rank_best
from stud_hands.course import HAND, Course


def known_cards(course: Course, seat: int) -> tuple[int, ...]:
    """What a player has for sure: dealt openly, shown, or the river for all."""
    dealt = [*course.down[seat], *course.up[seat], course.community if course.common else None]
    return (*(card for card in dealt if card is not None), *course.forced.get(seat, ()))


def best_fives(course: Course) -> dict[int, int]:
    """Ranks of hands with only the best five cards shown.

    A show of five that makes a better hand with whatever else the player can have is a mere show, and tells no rank.
    """
    unseen = unseen_cards(course)
    ranks: dict[int, int] = {}
    for seat, shown in course.best_five.items():
        own, rank = known_cards(course, seat), rank_best(shown)
        if seat in course.live and any(
            rank_best((*own, *rest)) == rank for rest in combinations(unseen, max(HAND - len(own), 0))
        ):
            ranks[seat] = rank
    return ranks


def unseen_cards(course: Course) -> list[int]:
    """The cards that the record does not tell."""
    seen = {course.community, *(card for seat in course.stacks for card in known_cards(course, seat))}
    return [card for card in range(DECK_SIZE) if card not in seen]


def known_hands(course: Course) -> dict[int, list[int]]:
    """The hands of the live players of whom all cards are known."""
    hands = {seat: list(known_cards(course, seat)) for seat in course.live}
    return {seat: cards for seat, cards in hands.items() if len(cards) == HAND}


def known_ranks(course: Course) -> dict[int, int]:
    """Ranks that no hidden card can change."""
    return best_fives(course) | {seat: rank_best(cards) for seat, cards in known_hands(course).items()}
