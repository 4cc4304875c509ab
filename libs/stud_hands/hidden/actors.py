"""Whether any hidden door and up cards let the recorded players be the first to act: where a search fails, a proof.

Everything that a player's hidden cards can be is gone through by ranks, and what the other boards of a street leave no
room for is dropped, until nothing changes. That no two players have the same hidden card is ignored: so what is
impossible here is impossible with real cards, and what is left may be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Final

from stud_core.cards import rank_of
from stud_core.ranks import board_strength
from stud_hands.course import Course, StreetFacts
from stud_hands.hidden.known import unseen_cards

MOST_WAYS: Final = 128  # of all-in players who may have been low or high where somebody else acted first
LOWEST_PAIR: Final = board_strength((0, 1))

Worth = tuple[int, int]  # what leads a street, and, where that is equal, the nearer to the dealer's left
Board = dict[int, Worth]  # by street
Leaders = tuple[tuple[StreetFacts, int], ...]  # whose board decides who acts first


def nobody_can_begin(course: Course) -> list[str]:
    """Say which recorded players no hidden cards can make the first to act; empty where some may, or nobody knows."""
    judged = [facts for facts in course.streets if _asks_for_a_board(facts)]
    faults = [
        _declined(course, facts)
        if facts.declined and not _leaders(course, facts)
        else f"street {facts.street}: no cards make {_name(course, facts)} the first to act"
        for facts in judged
        if not _Boards(course, [facts]).possible()
    ]
    if not faults and not _Boards(course, judged).possible():
        last = next(n for n in range(1, len(judged) + 1) if not _Boards(course, judged[:n]).possible())
        faults.append(
            f"street {judged[last - 1].street}: no cards that go with the streets before make "
            f"{_name(course, judged[last - 1])} the first to act"
        )
    return faults


def _asks_for_a_board(facts: StreetFacts) -> bool:
    """Whether a board decides who acts first; a river for all makes hands of five, which are not gone through here."""
    return facts.first is not None and len(facts.dealt) - len(facts.all_in) > 1 and not facts.common


def _name(course: Course, facts: StreetFacts) -> str:
    return course.names[facts.first or 0]


def _declined(course: Course, facts: StreetFacts) -> str:
    return (
        f"street {facts.street}: {_name(course, facts)} folds where the low card brings it in: wanted a bring-in or a "
        "complete (B.3), only behind a low card without chips may the first to act fold"
    )


def _leaders(course: Course, facts: StreetFacts) -> list[int]:
    """Whose board may have been the low or the high one, so that the recorded player was first (B.4, B.9)."""
    order = course.streets[0].dealt
    found = []
    for seat in facts.dealt:
        if seat in facts.all_in:
            at = order.index(seat)
            behind = (other for other in (*order[at:], *order[:at]) if other in facts.dealt)
            acts = next(other for other in behind if other not in facts.all_in)
        else:
            acts = 0 if facts.declined else seat
        if acts == facts.first:
            found.append(seat)
    return found


class _Boards:
    """What every player may have open on some streets."""

    def __init__(self, course: Course, streets: Sequence[StreetFacts]) -> None:
        self._course, self._streets = course, streets
        self._order = course.streets[0].dealt
        self._most = max((facts.street for facts in streets), default=3) - 2
        self._unseen = unseen_cards(course)
        self._made: dict[tuple[int, bool], list[Board]] = {}

    def possible(self) -> bool:
        """False where it is proven that nobody's cards bring out what is recorded of these streets."""
        choices = [_leaders(self._course, facts) for facts in self._streets]
        if prod(map(len, choices)) > MOST_WAYS:
            return True
        ways = [tuple(zip(self._streets, leaders, strict=True)) for leaders in product(*choices)]
        return any(self._fit(leaders) for leaders in ways if not _river_differs(leaders))

    def _fit(self, leaders: Leaders) -> bool:
        low = next((seat for facts, seat in leaders if facts.street == 3), 0)
        boards = {seat: self._boards_of(seat, low=seat == low) for seat in self._order}
        before = -1
        while before != (before := sum(map(len, boards.values()))):
            for facts, leader in leaders:
                if not self._narrowed(boards, facts, leader):
                    return False
        pairs = [facts for facts, _ in leaders if facts.high_wager]
        return all(any(b[4][0] >= LOWEST_PAIR for seat in facts.dealt for b in boards[seat]) for facts in pairs)

    def _narrowed(self, boards: dict[int, list[Board]], facts: StreetFacts, leader: int) -> bool:
        """Drop boards that cannot be where ``leader`` leads a street; False where that leaves somebody none."""
        at = min(facts.street, 6)  # nothing more lies open on the river
        others = [seat for seat in facts.dealt if seat != leader]
        least = max(min(board[at] for board in boards[seat]) for seat in others)
        boards[leader] = [board for board in boards[leader] if board[at] > least]
        if not boards[leader]:
            return False
        most = max(board[at] for board in boards[leader])
        for seat in others:
            boards[seat] = [board for board in boards[seat] if board[at] < most]
        return all(boards[seat] for seat in others)

    def _boards_of(self, seat: int, *, low: bool) -> list[Board]:
        """Every board of a player by ranks. Of the suits of a hidden door card the one that serves is taken: the lowest
        for the ``low`` player, the highest for others.
        """
        key = (seat, low)
        if key not in self._made:
            distinct = {tuple(board.items()): board for board in self._worths(seat, low=low)}
            self._made[key] = list(distinct.values())
        return list(self._made[key])

    def _worths(self, seat: int, *, low: bool) -> Iterator[Board]:
        free = [*self._unseen, *self._course.forced.get(seat, ())]
        number = Counter(map(rank_of, free))
        of_rank = {rank: [card for card in free if rank_of(card) == rank] for rank in number}
        chosen = {rank: (min(cards) if low else max(cards)) for rank, cards in of_rank.items()}
        up, place = self._course.up[seat][: self._most], -self._order.index(seat)
        hidden = up.count(None)
        for ranks in product(sorted(chosen), repeat=hidden):
            if any(ranks.count(rank) > number[rank] for rank in set(ranks)):
                continue
            drawn = iter(chosen[rank] for rank in ranks)
            cards = [next(drawn) if card is None else card for card in up]
            yield {3: (-cards[0], place)} | {
                street: (board_strength(cards[: street - 2]), place) for street in range(4, len(cards) + 3)
            }


def _river_differs(leaders: Leaders) -> bool:
    """Whether the river is led by another board than sixth street, whose leader still has theirs: both show the
    same.
    """
    of = {facts.street: (facts, leader) for facts, leader in leaders}
    if 6 not in of or 7 not in of:
        return False
    (_, sixth), (river, leader) = of[6], of[7]
    return sixth in river.dealt and sixth != leader
