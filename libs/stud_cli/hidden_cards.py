"""Cards that a recorded hand does not tell, drawn so that what it does tell comes out.

Histories hide the cards of players who folded or mucked. To play such a hand again, the hidden cards are drawn from
the unseen ones until exactly the paid hands win, pot by pot and ties included, and, where door or up cards are
hidden, until the recorded players come out first to act. Randomness is an argument. Nothing here knows how the hand
is driven.

Cards are not drawn blindly, since a hand that many draws do not fit is common: up cards that contradict the record
are drawn again while the others stay, and down cards are chosen from all that are possible (``hidden_showdown``).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from random import Random
from typing import Final, TypeVar

import msgspec

from stud_cli.handcourse import Course, StreetFacts
from stud_cli.handpots import Winners, results, shares
from stud_cli.hidden_showdown import Demands, Held, fitting_hands
from stud_core.betting import first_to_act, low_card
from stud_core.cards import DECK_SIZE, rank_of
from stud_core.ranks import board_strength, rank_best
from stud_core.ruleset import OddUnits, Ruleset
from stud_core.state import Hand, Phase

T = TypeVar("T")

STARTS: Final = 32  # fresh starts at most where up cards are hidden
HOPELESS_STARTS: Final = 12  # so many of them without the recorded actors, and none will bring them out
THOROUGH_EVERY: Final = 8  # how often all hands are looked at, and not only a few of each player
UP_STEPS: Final = 60  # up cards changed per start
UP_CARDS: Final = 24  # others that are tried in the place of one
WAYS: Final = 8  # answers that are tried where the odd units go by suit


class Cards(msgspec.Struct, frozen=True):
    """Every card of the hand: by seat in the order dealt; ``community`` None where everybody got his own river.

    ``fits_actors`` and ``fits_awards`` say whether the recorded players and payments come out. ``contradicted``
    says that no draw can make them: hands that are known beat those that were paid. ``wrong_actors`` are streets whose
    boards are all known and that somebody else begins.
    """

    down: dict[int, tuple[int, ...]]
    up: dict[int, tuple[int, ...]]
    community: int | None
    fits_actors: bool
    fits_awards: bool
    contradicted: bool = False
    wrong_actors: tuple[str, ...] = ()


def draw(course: Course, rules: Ruleset, rng: Random, *, hopeless: bool = False) -> Cards:
    """Find the hidden cards; where nothing fits the answer says so. For a ``hopeless`` record anything will do."""
    contested = len(course.live) > 1
    possible = results(course, rules) if contested else []
    targets = [winners for winners in possible if not _contradicts(course, rules, winners)]
    found: list[Cards] = []
    for best_five, thorough in [(True, False)] if hopeless else _attempts(course):
        drawing = _Drawing(course, rules, rng, best_five=best_five)
        actors = drawing.draw_up_cards()
        awards = actors and (
            not contested or any(drawing.draw_down_cards(winners, thorough=thorough) for winners in targets)
        )
        found.append(drawing.cards(fits_actors=actors, fits_awards=awards))
        if awards or (actors and not targets):
            break
        if len(found) >= HOPELESS_STARTS and not any(cards.fits_actors for cards in found):
            break
    best = max(found, key=lambda cards: (cards.fits_actors, cards.fits_awards))
    return msgspec.structs.replace(best, contradicted=contested and not targets)


def _attempts(course: Course) -> list[tuple[bool, bool]]:
    """How each fresh start is made: a show of five taken as the best hand, and all hands looked at.

    A show of five cards is nearly always the best hand; where that fits nothing it is taken as a mere show.
    """
    if boards_hidden(course):
        return [(number % 4 != 3, number % THOROUGH_EVERY >= THOROUGH_EVERY - 2) for number in range(STARTS)]
    once = [(True, False), (True, True), (False, False), (False, True)]
    return once if course.best_five else once[:2]


def deck_of(course: Course, cards: Cards, rng: Random) -> tuple[int, ...]:
    """All 52 cards in the order that deals these: no burns, lowest seat first, the community card next in the stub."""
    order: list[int] = []
    for facts in course.streets:
        if facts.street == 3:
            order += [cards.down[seat][i] for i in (0, 1) for seat in facts.dealt]
            order += [cards.up[seat][0] for seat in facts.dealt]
        elif facts.common:
            order += [] if cards.community is None else [cards.community]
        elif facts.street == 7:
            order += [cards.down[seat][2] for seat in facts.dealt]
        else:
            order += [cards.up[seat][facts.street - 3] for seat in facts.dealt]
    rest = [card for card in range(DECK_SIZE) if card not in set(order)]
    rng.shuffle(rest)
    return (*order, *rest)


def boards_hidden(course: Course) -> bool:
    """Whether a door or up card is hidden, or the one river card for all."""
    return any(None in cards for cards in course.up.values()) or (course.common and course.community is None)


def _contradicts(course: Course, rules: Ruleset, winners: Winners) -> bool:
    """Whether no draw can make these win: odd units lie elsewhere, or hands that are known are better.

    A hand counts as known when all its cards are and it was not mucked: a mucked hand does not compete.
    """
    odd_units_are_fixed = rules.odd_units is not OddUnits.HIGH_CARD_BY_SUIT
    if odd_units_are_fixed and shares(course, rules, winners, {}) != course.expected.awards:
        return True
    ranks: dict[int, int] = {}
    for seat in course.live:
        cards = [*course.down[seat], *course.up[seat], *([course.community] if course.common else [])]
        known = _filled(cards)
        if len(known) == len(cards) and seat not in course.mucked:
            ranks[seat] = rank_best(known)
    return Demands(course, winners, {}).broken_by(ranks)


def _copied(cards: dict[int, list[T]]) -> dict[int, list[T]]:
    """Copy the lists too."""
    return {seat: list(held) for seat, held in cards.items()}


class _Drawing:
    """One fresh start: known cards in their places, hidden ones drawn."""

    def __init__(self, course: Course, rules: Ruleset, rng: Random, *, best_five: bool) -> None:
        self.course, self.rules, self.rng = course, rules, rng
        self.best_five = best_five
        self.down: dict[int, list[int | None]] = {seat: list(cards) for seat, cards in course.down.items()}
        self.up: dict[int, list[int | None]] = {seat: list(cards) for seat, cards in course.up.items()}
        self.community = course.community
        self.forced = {seat: list(course.forced.get(seat, ())) for seat in course.stacks}
        self.shown = {card for cards in self.forced.values() for card in cards}
        seen = {self.community, *chain(*self.down.values(), *self.up.values()), *chain(*self.forced.values())}
        self.unseen = [card for card in range(DECK_SIZE) if card not in seen]
        rng.shuffle(self.unseen)
        if course.common and self.community is None:
            self.community = self.unseen.pop()

    def cards(self, *, fits_actors: bool, fits_awards: bool) -> Cards:
        """What was drawn; places still empty get whatever is left."""
        known = [facts for facts in self.course.streets if not self._was_drawn(facts)]
        wrong = tuple(
            f"street {facts.street}: by the boards {self.course.names[facts.first]} is not the first to act"
            for facts in known
            if facts.first is not None and not self._comes_out(facts)
        )
        for seat in self.up:
            for cards in (self.up[seat], self.down[seat]):
                for place, card in enumerate(cards):
                    if card is None:
                        cards[place] = (self.forced[seat] or self.unseen).pop()
        return Cards(
            down={seat: tuple(_filled(cards)) for seat, cards in self.down.items()},
            up={seat: tuple(_filled(cards)) for seat, cards in self.up.items()},
            community=self.community if self.course.common else None,
            fits_actors=fits_actors,
            fits_awards=fits_awards,
            wrong_actors=wrong,
        )

    # --- up cards: one at a time is drawn again while some street's first player does not come out

    def draw_up_cards(self) -> bool:
        """Draw hidden door and up cards; False when the recorded actors do not come out."""
        hidden = [(seat, at) for seat, cards in self.up.items() for at, card in enumerate(cards) if card is None]
        for seat, at in hidden:
            # Shown cards go where there is no other place for them.
            crowded = len(self.forced[seat]) > self.down[seat].count(None)
            self.up[seat][at] = (self.forced[seat] if crowded else self.unseen).pop()
        judged = [facts for facts in self.course.streets if self._was_drawn(facts)]
        faults = {facts.street: self._faults(facts) for facts in judged}
        for _ in range(UP_STEPS):
            wrong = [facts for facts in judged if faults[facts.street]]
            if not wrong:
                return True
            place = self._place_to_change(self.rng.choice(wrong), hidden)
            if place is None:
                return False
            faults = self._changed_for_the_better(*place, hidden, judged, faults)
        return not any(faults.values())

    def _place_to_change(self, facts: StreetFacts, hidden: list[tuple[int, int]]) -> tuple[int, int] | None:
        """A hidden card of that street's boards, every other time one of the player who was first."""
        boards = [(seat, at) for seat, at in hidden if at <= facts.street - 3 and seat in facts.dealt]
        own = [(seat, at) for seat, at in boards if seat == facts.first]
        places = own if own and self.rng.random() < 0.5 else boards
        return self.rng.choice(places) if places else None

    def _changed_for_the_better(
        self,
        seat: int,
        at: int,
        hidden: list[tuple[int, int]],
        judged: list[StreetFacts],
        faults: dict[int, int],
    ) -> dict[int, int]:
        """Try other cards there and keep the one that contradicts the record least; return what is still wrong.

        Now and then a worse one stays, since from some boards no single card leads further.
        """
        sources = [*self.unseen, *self.forced[seat], *(c for s, i in hidden if (c := self.up[s][i]) is not None)]
        before = (self.up, self.forced, self.unseen)
        best: tuple[int, dict[int, int], tuple[dict[int, list[int | None]], dict[int, list[int]], list[int]]] | None
        best = None
        for card in self.rng.sample(sources, min(UP_CARDS, len(sources))):
            self.up, self.forced, self.unseen = _copied(before[0]), _copied(before[1]), list(before[2])
            if self._put(seat, at, card, hidden):
                found = {facts.street: self._faults(facts) for facts in judged}
                total = sum(found.values())
                if best is None or total < best[0]:
                    best = (total, found, (self.up, self.forced, self.unseen))
        if best is None or (best[0] > sum(faults.values()) and self.rng.random() < 0.8):
            self.up, self.forced, self.unseen = before
            return faults
        self.up, self.forced, self.unseen = best[2]
        return best[1]

    def _put(self, seat: int, at: int, card: int, hidden: list[tuple[int, int]]) -> bool:
        """Exchange the card there for ``card``, wherever that is; False where what a player showed would be lost."""
        mine = self.course.forced.get(seat, ())
        old = self.up[seat][at]
        if old is None or old == card:
            return False
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
        """How far the recorded player is from being first: 0 if he is, else one more than the boards before his."""
        if self._comes_out(facts):
            return 0
        boards = {seat: _filled(self.up[seat][: facts.street - 2]) for seat in facts.dealt}
        if facts.first is None:
            return 1
        if facts.street == 3:
            return 1 + sum(board < boards[facts.first] for board in boards.values())
        common = [self.community] if facts.common and self.community is not None else []
        strength = {seat: board_strength([*board, *common]) for seat, board in boards.items()}
        return 1 + sum(other > strength[facts.first] for other in strength.values())

    def _was_drawn(self, facts: StreetFacts) -> bool:
        """Whether a board of this street holds a drawn card (else the table itself will judge the actors)."""
        given = self.course.up
        drawn = any(card is None for seat in facts.dealt for card in given[seat][: facts.street - 2])
        return drawn or (facts.common and self.course.community is None)

    def _comes_out(self, facts: StreetFacts) -> bool:
        """Whether the recorded player is first, and fourth street shows a pair where one was made use of."""
        boards: list[tuple[int, ...]] = [()] * 9
        for seat in facts.dealt:
            boards[seat] = tuple(_filled(self.up[seat][: facts.street - 2]))
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

    # --- down cards

    def draw_down_cards(self, winners: Winners, *, thorough: bool) -> bool:
        """Draw hidden down cards so that exactly ``winners`` win and the odd units of splits go where they went."""
        shown = self.course.best_five if self.best_five else {}
        exact = {seat: rank_best(cards) for seat, cards in shown.items() if seat in self.course.live}
        demands = Demands(self.course, winners, exact)
        common = [self.community] if self.course.common and self.community is not None else []
        held = {
            seat: Held(
                (*_filled(self.up[seat]), *_filled(self.down[seat]), *self.forced[seat], *common),
                self.down[seat].count(None) - len(self.forced[seat]),
            )
            for seat in self.course.live
        }
        by_suit = self.rules.odd_units is OddUnits.HIGH_CARD_BY_SUIT
        for _ in range(WAYS if by_suit else 1):
            drawn = fitting_hands(demands, held, self.unseen, self.rng, thorough=thorough)
            if drawn is None:
                return False
            hands = {seat: [*held[seat].cards, *cards] for seat, cards in drawn.items()}
            if shares(self.course, self.rules, winners, hands) == self.course.expected.awards:
                self._keep(drawn)
                return True
        return False

    def _keep(self, drawn: dict[int, tuple[int, ...]]) -> None:
        for seat, cards in drawn.items():
            left = [*cards, *self.forced[seat]]
            self.rng.shuffle(left)
            self.down[seat] = [left.pop() if card is None else card for card in self.down[seat]]
            self.forced[seat] = []
        taken = {card for cards in drawn.values() for card in cards}
        self.unseen = [card for card in self.unseen if card not in taken]


def _filled(cards: Iterable[int | None]) -> list[int]:
    return [card for card in cards if card is not None]


def _is_pair(board: tuple[int, ...]) -> bool:
    return len(board) == 2 and rank_of(board[0]) == rank_of(board[1])
