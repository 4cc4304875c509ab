"""Hidden door and up cards, drawn so that the recorded players come out first to act.

Cards that contradict the record are drawn again while the others stay: one at a time, or the whole board of the
player who was first, whatever contradicts the record least.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, islice
from random import Random
from typing import Final, TypeVar

from stud_core.betting import first_to_act, low_card
from stud_core.cards import DECK_SIZE, rank_of
from stud_core.ranks import board_strength
from stud_core.ruleset import Ruleset
from stud_core.state import Hand, Phase
from stud_hands.course import Course, StreetFacts
from stud_hands.hidden.known import unseen_cards

T = TypeVar("T")
Placing = list[tuple[int, int, int]]  # seat, which of its up cards, and the card that goes there

UP_STEPS: Final = 60  # changes per start
UP_CARDS: Final = 24  # others that are tried in place of one
ALL_BOARDS: Final = 10_000  # three cards of 40 are 9880


class Boards:
    """Known cards in their places, hidden ones drawn."""

    def __init__(self, course: Course, rules: Ruleset, rng: Random) -> None:
        self.course, self.rules, self.rng = course, rules, rng
        self.down: dict[int, list[int | None]] = {seat: list(cards) for seat, cards in course.down.items()}
        self.up: dict[int, list[int | None]] = {seat: list(cards) for seat, cards in course.up.items()}
        self.community = course.community
        self.forced = {seat: list(course.forced.get(seat, ())) for seat in course.stacks}
        self.shown = {card for cards in self.forced.values() for card in cards}
        self.unseen = unseen_cards(course)
        rng.shuffle(self.unseen)
        if course.common and self.community is None:
            self.community = self.unseen.pop()

    def draw_up_cards(self) -> bool:
        """Draw hidden door and up cards; False when the recorded actors do not come out."""
        hidden = [(seat, at) for seat, cards in self.up.items() for at, card in enumerate(cards) if card is None]
        for seat, at in hidden:
            # Shown cards go where there is no other place for them.
            crowded = len(self.forced[seat]) > self.down[seat].count(None)
            self.up[seat][at] = (self.forced[seat] if crowded else self.unseen).pop()
        judged = [facts for facts in self.course.streets if self.was_drawn(facts)]
        faults = {facts.street: self._faults(facts) for facts in judged}
        for _ in range(UP_STEPS):
            wrong = [facts for facts in judged if faults[facts.street]]
            if not wrong:
                return True
            facts = self.rng.choice(wrong)
            choices = self._first_boards(facts, hidden) if self.rng.random() < 0.3 else []
            choices = choices or self._other_cards(facts, hidden)
            if not choices:
                return False
            faults = self._changed_for_the_better(choices, hidden, judged, faults)
        return not any(faults.values())

    def _other_cards(self, facts: StreetFacts, hidden: list[tuple[int, int]]) -> list[Placing]:
        """Other cards for one hidden place of that street's boards, every other time for one of the player who was
        first.
        """
        boards = [(seat, at) for seat, at in hidden if at <= facts.street - 3 and seat in facts.dealt]
        own = [(seat, at) for seat, at in boards if seat == facts.first]
        places = own if own and self.rng.random() < 0.5 else boards
        if not places:
            return []
        seat, at = self.rng.choice(places)
        sources = [*self.unseen, *self.forced[seat], *filled(self.up[s][i] for s, i in hidden if (s, i) != (seat, at))]
        return [[(seat, at, card)] for card in self.rng.sample(sources, min(UP_CARDS, len(sources)))]

    def _first_boards(self, facts: StreetFacts, hidden: list[tuple[int, int]]) -> list[Placing]:
        """Boards that put the recorded player first, which may take several cards at once: a straight, trips."""
        first = facts.first
        own = [(seat, at) for seat, at in hidden if seat == first and at <= facts.street - 3]
        if first not in facts.dealt or facts.street == 3 or len(own) < 2:
            return []
        common = [self.community] if facts.common and self.community is not None else []
        most = max(
            board_strength([*filled(self.up[seat][: facts.street - 2]), *common])
            for seat in facts.dealt
            if seat != first
        )
        kept = [c for at, c in enumerate(self.up[first][: facts.street - 2]) if (first, at) not in own]
        pool = [*self.unseen, *self.forced[first], *filled(self.up[seat][at] for seat, at in own)]
        self.rng.shuffle(pool)
        boards = islice(combinations(pool, len(own)), ALL_BOARDS)
        hits = [cards for cards in boards if board_strength([*filled(kept), *common, *cards]) > most]
        chosen = self.rng.sample(hits, min(UP_CARDS, len(hits)))
        shuffled = [self.rng.sample(cards, len(cards)) for cards in chosen]
        return [[(seat, at, card) for (seat, at), card in zip(own, cards, strict=True)] for cards in shuffled]

    def _changed_for_the_better(
        self,
        choices: list[Placing],
        hidden: list[tuple[int, int]],
        judged: list[StreetFacts],
        faults: dict[int, int],
    ) -> dict[int, int]:
        """Try each choice and keep the one that contradicts the record least; return what is still wrong.

        Now and then a worse one stays, since from some boards nothing better is one step away.
        """
        before = (self.up, self.forced, self.unseen)
        best = (sum(faults.values()) if self.rng.random() < 0.8 else DECK_SIZE, faults, before)
        for placing in choices:
            self.up, self.forced, self.unseen = copied(before[0]), copied(before[1]), list(before[2])
            if all(self._put(seat, at, card, hidden) for seat, at, card in placing):
                found = {facts.street: self._faults(facts) for facts in judged}
                if sum(found.values()) <= best[0]:
                    best = (sum(found.values()), found, (self.up, self.forced, self.unseen))
        self.up, self.forced, self.unseen = best[2]
        return best[1]

    def _put(self, seat: int, at: int, card: int, hidden: list[tuple[int, int]]) -> bool:
        """Exchange the card there for ``card``, wherever that is; False where what a player showed would be lost."""
        mine = self.course.forced.get(seat, ())
        old = self.up[seat][at]
        if old is None or old == card:
            return old == card
        if card in self.forced[seat]:
            self.forced[seat].remove(card)
            (self.forced[seat] if old in mine else self.unseen).append(old)
        elif card in self.unseen:
            if old in mine and len(self.forced[seat]) >= self.down[seat].count(None):
                return False
            self.unseen.remove(card)
            (self.forced[seat] if old in mine else self.unseen).append(old)
        else:
            other, there = next((s, i) for s, i in hidden if self.up[s][i] == card)
            if other != seat and {card, old} & self.shown:
                return False
            self.up[other][there] = old
        self.up[seat][at] = card
        return True

    def _faults(self, facts: StreetFacts) -> int:
        """How far the recorded player is from being first: 0 if first, else one more than the boards ahead."""
        if self.comes_out(facts):
            return 0
        boards = {seat: filled(self.up[seat][: facts.street - 2]) for seat in facts.dealt}
        if facts.first not in boards:
            return 1  # nobody acted, or somebody who had folded
        if facts.street == 3:
            return 1 + sum(board < boards[facts.first] for board in boards.values())
        common = [self.community] if facts.common and self.community is not None else []
        strength = {seat: board_strength([*board, *common]) for seat, board in boards.items()}
        return 1 + sum(other > strength[facts.first] for other in strength.values())

    def was_drawn(self, facts: StreetFacts) -> bool:
        """Whether a board of this street holds a drawn card (else the table itself will judge the actors)."""
        given = self.course.up
        drawn = any(card is None for seat in facts.dealt for card in given[seat][: facts.street - 2])
        return drawn or (facts.common and self.course.community is None)

    def comes_out(self, facts: StreetFacts) -> bool:
        """Whether the recorded player is first, and fourth street shows a pair where one was used."""
        boards: list[tuple[int, ...]] = [()] * 9
        for seat in facts.dealt:
            boards[seat] = tuple(filled(self.up[seat][: facts.street - 2]))
        if facts.high_wager and not any(_is_pair(boards[seat]) for seat in facts.dealt):
            return False
        if facts.first is None or len(facts.dealt) - len(facts.all_in) < 2:
            return True
        order = self.course.streets[0].dealt
        hand = Hand(hand_no=1, phase=Phase.BETTING, from_version=1, street=facts.street, order=order, up=boards)
        hand.live = [seat in facts.dealt for seat in range(9)]
        hand.all_in = [seat in facts.all_in for seat in range(9)]
        hand.community = self.community if facts.common else None
        if facts.declined and low_card(hand) not in facts.all_in:
            return False
        return first_to_act(hand, self.rules) == facts.first


def copied(cards: dict[int, list[T]]) -> dict[int, list[T]]:
    """Copy the lists too."""
    return {seat: list(held) for seat, held in cards.items()}


def filled(cards: Iterable[int | None]) -> list[int]:
    """The cards that are known."""
    return [card for card in cards if card is not None]


def _is_pair(board: tuple[int, ...]) -> bool:
    return len(board) == 2 and rank_of(board[0]) == rank_of(board[1])
