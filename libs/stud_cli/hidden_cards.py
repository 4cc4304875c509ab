"""Cards that a recorded hand does not tell, drawn so that what it does tell comes out.

Histories hide the cards of players who folded or mucked. To play such a hand again, the hidden cards are drawn from
the unseen ones until exactly the paid hands win, pot by pot and ties included, and, where door or up cards are
hidden, until the recorded players come out first to act. Randomness is an argument. Nothing here knows how the hand
is driven.

Cards are not drawn blindly, since a hand that many draws do not fit is common: up cards are changed until
they agree with it (``hidden_boards``), and down cards are chosen from all that are possible (``hidden_showdown``).
"""

from __future__ import annotations

from random import Random
from typing import Final

import msgspec

from stud_cli.handcourse import Course
from stud_cli.handpots import Winners, results, shares
from stud_cli.hidden_boards import Boards, filled
from stud_cli.hidden_showdown import Demands, Held, fitting_hands
from stud_core.cards import DECK_SIZE
from stud_core.ranks import rank_best
from stud_core.ruleset import OddUnits, Ruleset

STARTS: Final = 32  # fresh starts at most where up cards are hidden
HOPELESS_STARTS: Final = 12  # so many of them without the recorded actors, and none will bring them out
THOROUGH_EVERY: Final = 8  # how often all hands are looked at, and not only a few of each player
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
        known = filled(cards)
        if len(known) == len(cards) and seat not in course.mucked:
            ranks[seat] = rank_best(known)
    return Demands(course, winners, {}).broken_by(ranks)


class _Drawing(Boards):
    """One fresh start: boards first, then what is down."""

    def __init__(self, course: Course, rules: Ruleset, rng: Random, *, best_five: bool) -> None:
        super().__init__(course, rules, rng)
        self.best_five = best_five

    def cards(self, *, fits_actors: bool, fits_awards: bool) -> Cards:
        """What was drawn; places still empty get whatever is left."""
        known = [facts for facts in self.course.streets if not self.was_drawn(facts)]
        wrong = tuple(
            f"street {facts.street}: by the boards {self.course.names[facts.first]} is not the first to act"
            for facts in known
            if facts.first is not None and not self.comes_out(facts)
        )
        for seat in self.up:
            for cards in (self.up[seat], self.down[seat]):
                for place, card in enumerate(cards):
                    if card is None:
                        cards[place] = (self.forced[seat] or self.unseen).pop()
        return Cards(
            down={seat: tuple(filled(cards)) for seat, cards in self.down.items()},
            up={seat: tuple(filled(cards)) for seat, cards in self.up.items()},
            community=self.community if self.course.common else None,
            fits_actors=fits_actors,
            fits_awards=fits_awards,
            wrong_actors=wrong,
        )

    # --- down cards

    def draw_down_cards(self, winners: Winners, *, thorough: bool) -> bool:
        """Draw hidden down cards so that exactly ``winners`` win and the odd units of splits go where they went."""
        shown = self.course.best_five if self.best_five else {}
        exact = {seat: rank_best(cards) for seat, cards in shown.items() if seat in self.course.live}
        demands = Demands(self.course, winners, exact)
        common = [self.community] if self.course.common and self.community is not None else []
        held = {
            seat: Held(
                (*filled(self.up[seat]), *filled(self.down[seat]), *self.forced[seat], *common),
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
