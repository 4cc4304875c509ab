"""Cards that a recorded hand does not tell, drawn so that what it does tell comes out.

Histories hide the cards of players who folded or mucked. To play such a hand again, the hidden cards are drawn from
the unseen ones until exactly the paid hands win, pot by pot and ties included, and, where door or up cards are
hidden, until the recorded players come out first to act. Randomness is an argument. Nothing here knows how the hand
is driven.

Cards are not drawn blindly, since a hand that many draws do not fit is common: up cards are changed until
they agree with it (``boards``), and down cards are chosen from all that are possible (``showdown``).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice, permutations, product
from random import Random
from typing import Final

import msgspec

from stud_core.cards import DECK_SIZE
from stud_core.ruleset import OddUnits, Ruleset
from stud_hands.course import Course
from stud_hands.hidden.boards import Boards, copied, filled
from stud_hands.hidden.known import best_fives
from stud_hands.hidden.proofs import Proofs, beaten, pays_otherwise
from stud_hands.hidden.showdown import Demands, Drawn, Held, fitting_hands
from stud_hands.pots import Winners, pots_of, results, shares

STARTS: Final = 32  # fresh starts at most where up cards are hidden
HOPELESS_STARTS: Final = 12  # after this many without the recorded actors, none will bring them out
LAYINGS: Final = 2_000  # ways of laying cards open that are tried in one start
MOST_OF_A_DRAW: Final = 200  # and with one draw of the cards
THOROUGH_EVERY: Final = 8  # how often all hands are looked at, and not only a few of each player


class Cards(msgspec.Struct, frozen=True):
    """Every card of the hand: by seat in the order dealt; ``community`` None where everybody got their own river.

    ``fits_actors`` and ``fits_awards`` say whether the recorded players and payments come out. ``contradicted``
    says why no draw can make the payments, ``doubt`` why none did. ``wrong_actors`` are streets whose boards are all
    known and that somebody else begins.
    """

    down: dict[int, tuple[int, ...]]
    up: dict[int, tuple[int, ...]]
    community: int | None
    fits_actors: bool
    fits_awards: bool
    contradicted: str = ""
    doubt: str = ""
    wrong_actors: tuple[str, ...] = ()


def draw(course: Course, rules: Ruleset, rng: Random, proofs: Proofs, *, hopeless: bool = False) -> Cards:
    """Find the hidden cards; where nothing fits the answer says so. For a ``hopeless`` record anything will do."""
    contested = len(course.live) > 1
    possible = results(course, rules) if contested else []
    unbeaten = [winners for winners in possible if not beaten(course, winners)]
    targets = [winners for winners in unbeaten if not pays_otherwise(course, rules, winners)]
    found: list[Cards] = []
    for thorough, all_cards in [(False, False)] if hopeless else _attempts(course):
        drawing = _Drawing(course, rules, rng)
        drawn = drawing.draw_all_cards if all_cards else drawing.draw_down_cards
        actors = drawing.draw_up_cards()
        awards = actors and (not contested or any(drawn(winners, thorough=thorough) for winners in targets))
        found.append(drawing.cards(fits_actors=actors, fits_awards=awards))
        if awards or (actors and not targets):
            break
        if len(found) >= HOPELESS_STARTS and not any(cards.fits_actors for cards in found):
            break
    best = max(found, key=lambda cards: (cards.fits_actors, cards.fits_awards))
    if best.fits_awards or hopeless or not contested:
        return best
    by_ranks = msgspec.structs.replace(rules, odd_units=OddUnits.ONE_EACH_FROM_LEFT)
    why = ""
    if not unbeaten:
        why = "hands that are known are better"
    elif all(proofs.impossible(by_ranks, winners, mucked_compete=False) for winners in unbeaten):
        why = _cannot_win(course)
    elif all(proofs.impossible(rules, winners, mucked_compete=False) for winners in targets):
        why = "no published reading of the odd units pays that"
    if why:
        return msgspec.structs.replace(best, contradicted=why)
    mucked = all(proofs.impossible(rules, winners, mucked_compete=True) for winners in targets)
    doubt = "a hand that was mucked was better" if mucked else "no draw of the hidden cards pays the recorded winners"
    return msgspec.structs.replace(best, doubt=doubt)


def _cannot_win(course: Course) -> str:
    paid = " and ".join(course.names[seat] for seat in sorted(course.expected.awards)) or "anybody"
    return f"no hidden cards could make {paid} win {'this pot' if len(pots_of(course)) == 1 else 'these pots'}"


def _attempts(course: Course) -> list[tuple[bool, bool]]:
    """For each fresh start: whether it looks at all hands, not only a few of each player, and whether hidden up cards
    of the live players are part of them.
    """
    if not boards_hidden(course):
        return [(False, False), (True, False)]
    starts = [(number % THOROUGH_EVERY >= THOROUGH_EVERY - 2, False) for number in range(STARTS)]
    if any(None in course.up[seat] for seat in course.live):
        starts += [(thorough, True) for thorough, _ in starts[:THOROUGH_EVERY]]
    return starts


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


class _Drawing(Boards):
    """One fresh start: boards first, then what is down."""

    _layings = LAYINGS

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
        return self._draw(winners, thorough, lambda _: True)

    def draw_all_cards(self, winners: Winners, *, thorough: bool) -> bool:
        """The same with the hidden up cards of the live players drawn anew, since those may decide who wins."""
        before = (self.up, self.forced, self.unseen)
        self.up, self.forced, self.unseen = copied(self.up), copied(self.forced), list(self.unseen)
        for seat, at in self._places():
            card = self.up[seat][at]
            self.up[seat][at] = None
            if card is not None:
                (self.forced[seat] if card in self.course.forced.get(seat, ()) else self.unseen).append(card)
        if self._draw(winners, thorough, self._lay_open):
            return True
        self.up, self.forced, self.unseen = before
        return False

    def _places(self) -> list[tuple[int, int]]:
        """The hidden up cards of the live players."""
        up = self.course.up
        return [(seat, at) for seat in self.course.live for at, card in enumerate(up[seat]) if card is None]

    def _lay_open(self, drawn: Drawn) -> bool:
        """Put some of the cards drawn into the open places so that the recorded players come out first."""
        judged = [facts for facts in self.course.streets if self.was_drawn(facts)]
        held = {seat: self.rng.sample(own, len(own)) for seat, own in self._loose(drawn).items()}
        places = {seat: [at for s, at in self._places() if s == seat] for seat in held}
        ways = product(*(permutations(own, len(places[seat])) for seat, own in held.items()))
        for way in islice(ways, MOST_OF_A_DRAW):
            self._layings -= 1
            if self._layings < 0:
                return False
            for (seat, ats), cards in zip(places.items(), way, strict=True):
                for at, card in zip(ats, cards, strict=True):
                    self.up[seat][at] = card
            if all(self.comes_out(facts) for facts in judged):
                return True
        return False

    def _loose(self, drawn: Drawn) -> dict[int, tuple[int, ...]]:
        """Cards that a player has, but in no place yet."""
        return {seat: (*cards, *self.forced[seat]) for seat, cards in drawn.items()}

    def _draw(self, winners: Winners, thorough: bool, laid_open: Callable[[Drawn], bool]) -> bool:
        demands = Demands(self.course, winners, best_fives(self.course))
        common = [self.community] if self.course.common and self.community is not None else []
        held = {
            seat: Held(
                (*filled(self.up[seat]), *filled(self.down[seat]), *self.forced[seat], *common),
                self.up[seat].count(None) + self.down[seat].count(None) - len(self.forced[seat]),
            )
            for seat in self.course.live
        }

        def accepted(drawn: Drawn) -> bool:
            hands = {seat: [*held[seat].cards, *cards] for seat, cards in drawn.items()}
            return shares(self.course, self.rules, winners, hands) == self.course.expected.awards and laid_open(drawn)

        fit = fitting_hands(demands, held, self.unseen, self.rng, thorough=thorough, accepts=accepted)
        if fit.drawn is not None:
            self._keep(fit.drawn)
        return fit.drawn is not None

    def _keep(self, drawn: Drawn) -> None:
        for seat, own in self._loose(drawn).items():
            open_now = {self.up[seat][at] for s, at in self._places() if s == seat}
            left = [card for card in own if card not in open_now]
            self.rng.shuffle(left)
            self.down[seat] = [left.pop() if card is None else card for card in self.down[seat]]
            self.forced[seat] = []
        taken = {card for cards in drawn.values() for card in cards}
        self.unseen = [card for card in self.unseen if card not in taken]
