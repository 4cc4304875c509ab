"""Cards that a recorded hand does not tell, drawn so that what it does tell comes out.

Histories hide the cards of players who folded or mucked. To play such a hand again, the hidden cards are drawn from
the unseen ones until exactly the paid hands win, pot by pot and ties included, and, where door or up cards are
hidden, until the recorded players come out first to act. Randomness is an argument. Nothing here knows how the hand
is driven.

Cards are not drawn blindly, since a hand that many draws do not fit is common (a winner must beat a full house, two
must tie): whoever contradicts the record draws again, the others keep theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, combinations, islice
from math import comb
from random import Random
from typing import Final, TypeVar

import msgspec

from stud_cli.handpots import Winners, pots_of, results, shares
from stud_cli.handscript import Course, StreetFacts
from stud_core.betting import first_to_act, low_card
from stud_core.cards import DECK_SIZE, rank_of
from stud_core.ranks import rank_best
from stud_core.ruleset import OddUnits, Ruleset
from stud_core.state import Hand, Phase

T = TypeVar("T")

STARTS: Final = 300  # fresh starts at most
UP_STEPS: Final = 300  # redraws of one up card per start
DOWN_STEPS: Final = 60  # redraws of one player's down cards per start and result
SAMPLE: Final = 40  # hands that he chooses from
ALL_HANDS: Final = 10_000  # so many are looked at where a tie is needed
EVALUATIONS: Final = 100_000  # hands ranked at most for one draw: a second or so


class Cards(msgspec.Struct, frozen=True):
    """Every card of the hand: by seat in the order dealt; ``community`` None where everybody got his own river.

    ``fits_actors`` and ``fits_awards`` say whether the recorded players and payments come out. ``contradicted``
    says that no draw can make them: hands that are known beat those that were paid.
    """

    down: dict[int, tuple[int, ...]]
    up: dict[int, tuple[int, ...]]
    community: int | None
    fits_actors: bool
    fits_awards: bool
    contradicted: bool = False


def draw(course: Course, rules: Ruleset, rng: Random, evaluations: int = EVALUATIONS) -> Cards:
    """Find the hidden cards; where nothing fits within so many hands ranked, the answer says so."""
    contested = len(course.live) > 1
    possible = results(course, rules) if contested else []
    targets = [winners for winners in possible if not _contradicts(course, rules, winners)]
    budget = _Budget(evaluations)
    found: list[Cards] = []
    for attempt in range(STARTS if _anything_hidden(course) else 1):
        # A show of five cards is nearly always the best hand; where that fits nothing it is taken as a mere show.
        drawing = _Drawing(course, rules, rng, budget, best_five=attempt % 4 != 3)
        actors = drawing.draw_up_cards()
        awards = actors and (not contested or any(drawing.draw_down_cards(winners) for winners in targets))
        found.append(drawing.cards(fits_actors=actors, fits_awards=awards))
        if awards or (actors and not targets) or budget.spent:
            break
    best = max(found, key=lambda cards: (cards.fits_actors, cards.fits_awards))
    return msgspec.structs.replace(best, contradicted=contested and not targets)


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


def _anything_hidden(course: Course) -> bool:
    everything = [card for cards in (*course.down.values(), *course.up.values()) for card in cards]
    return None in everything or (course.common and course.community is None)


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
    return bool(_Showdown(course, winners, best_five=False).guilty(ranks))


def _copied(cards: dict[int, list[T]]) -> dict[int, list[T]]:
    """Copy the lists too."""
    return {seat: list(held) for seat, held in cards.items()}


class _Budget:
    """Counts hands ranked, so that a hopeless record costs a bounded time whatever the machine."""

    def __init__(self, evaluations: int) -> None:
        self.left = evaluations

    @property
    def spent(self) -> bool:
        return self.left <= 0


class _Drawing:
    """One fresh start: known cards in their places, hidden ones drawn."""

    def __init__(self, course: Course, rules: Ruleset, rng: Random, budget: _Budget, *, best_five: bool) -> None:
        self.course, self.rules, self.rng, self.budget = course, rules, rng, budget
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
        wrong = [facts for facts in judged if not self._comes_out(facts)]
        for _ in range(UP_STEPS):
            if not wrong or self.budget.spent:
                break
            street = self.rng.choice(wrong).street
            before = (_copied(self.up), _copied(self.forced), list(self.unseen))
            movable = [(seat, at) for seat, at in hidden if at <= street - 3]
            if not movable:
                break
            self._change(*self.rng.choice(movable), hidden)
            still_wrong = [facts for facts in judged if not self._comes_out(facts)]
            self.budget.left -= 5 * len(judged)
            if len(still_wrong) <= len(wrong) or self.rng.random() < 0.05:
                wrong = still_wrong
            else:
                self.up, self.forced, self.unseen = before
        return not wrong

    def _change(self, seat: int, at: int, hidden: list[tuple[int, int]]) -> None:
        """Put another card there: one nobody has, one the player showed, or that of another hidden place."""
        mine = self.course.forced.get(seat, ())
        other_seat, other_at = self.rng.choice(hidden)
        card, other = self.up[seat][at], self.up[other_seat][other_at]
        if card is None or other is None:
            return  # cannot be: every hidden place got a card before
        if self.rng.random() < 0.3 and (other_seat == seat or not {card, other} & self.shown):
            self.up[seat][at], self.up[other_seat][other_at] = other, card
        elif self.forced[seat] and (card in mine or self.rng.random() < 0.5):
            self.up[seat][at] = self.forced[seat].pop(self.rng.randrange(len(self.forced[seat])))
            (self.forced[seat] if card in mine else self.unseen).append(card)
        elif card not in mine or len(self.forced[seat]) < self.down[seat].count(None):
            self.up[seat][at] = self.unseen.pop(self.rng.randrange(len(self.unseen)))
            (self.forced[seat] if card in mine else self.unseen).append(card)

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

    # --- down cards: players who contradict the result draw again

    def draw_down_cards(self, winners: Winners) -> bool:
        """Draw hidden down cards until exactly ``winners`` win and the odd units of splits go where they went."""
        showdown = _Showdown(self.course, winners, best_five=self.best_five)
        common = [self.community] if self.course.common and self.community is not None else []
        known = {
            seat: [*_filled(self.up[seat]), *_filled(self.down[seat]), *self.forced[seat], *common]
            for seat in self.course.live
        }
        empty = {seat: self.down[seat].count(None) - len(self.forced[seat]) for seat in self.course.live}
        free = list(self.unseen)
        drawn = {seat: [free.pop() for _ in range(number)] for seat, number in empty.items()}
        ranks = {seat: rank_best([*known[seat], *drawn[seat]]) for seat in empty}
        for _ in range(DOWN_STEPS):
            guilty = showdown.guilty(ranks)
            if not guilty:
                hands = {seat: [*known[seat], *drawn[seat]] for seat in empty}
                if shares(self.course, self.rules, winners, hands) != self.course.expected.awards:
                    return False
                self._keep(drawn, free)
                return True
            able = [seat for seat in guilty if empty[seat]]
            if not able or self.budget.spent:
                return False
            seat = self.rng.choice(able)
            free += drawn[seat]
            drawn[seat], ranks[seat] = self._redraw(seat, known[seat], empty[seat], free, showdown, ranks)
            free = [card for card in free if card not in drawn[seat]]
        return False

    def _redraw(
        self, seat: int, known: list[int], number: int, free: list[int], showdown: _Showdown, ranks: dict[int, int]
    ) -> tuple[list[int], int]:
        """The hand of one player that contradicts the others least; returns its drawn cards and its rank."""
        candidates: Iterable[tuple[int, ...]]
        if showdown.needs_tie(seat) and comb(len(free), number) <= ALL_HANDS:
            candidates = combinations(self.rng.sample(free, len(free)), number)
        else:
            candidates = (tuple(self.rng.sample(free, number)) for _ in range(SAMPLE))
        chosen: tuple[int, ...] = ()
        least, chosen_rank = DECK_SIZE, 0  # more faults than any hand has
        for cards in islice(candidates, ALL_HANDS):
            rank = rank_best([*known, *cards])
            self.budget.left -= 1
            faults = showdown.faults(seat, rank, ranks)
            if faults < least:
                least, chosen, chosen_rank = faults, cards, rank
                if not faults:
                    break
        return list(chosen), chosen_rank

    def _keep(self, drawn: dict[int, list[int]], free: list[int]) -> None:
        for seat, cards in drawn.items():
            left = [*cards, *self.forced[seat]]
            self.rng.shuffle(left)
            self.down[seat] = [left.pop() if card is None else card for card in self.down[seat]]
            self.forced[seat] = []
        self.unseen = free


class _Showdown:
    """What a result demands of the ranks (lower is better) of the players in it."""

    def __init__(self, course: Course, winners: Winners, *, best_five: bool) -> None:
        self.ties: set[tuple[int, int]] = set()
        self.beats: set[tuple[int, int]] = set()
        for pot, won in zip(pots_of(course), winners, strict=True):
            first = min(won)
            self.ties |= {(first, other) for other in won if other != first}
            self.beats |= {(winner, other) for winner in won for other in pot.eligible if other not in won}
        shown = course.best_five if best_five else {}
        self.exact = {seat: rank_best(cards) for seat, cards in shown.items() if seat in course.live}

    def guilty(self, ranks: dict[int, int]) -> list[int]:
        """Seats whose hands contradict the result, both sides of a contradiction; seats without a rank do not."""
        wrong = {seat for seat, rank in self.exact.items() if ranks.get(seat, rank) != rank}
        for a, b in self.ties:
            if a in ranks and b in ranks and ranks[a] != ranks[b]:
                wrong |= {a, b}
        for a, b in self.beats:
            if a in ranks and b in ranks and ranks[a] >= ranks[b]:
                wrong |= {a, b}
        return sorted(wrong)

    def faults(self, seat: int, rank: int, ranks: dict[int, int]) -> int:
        """Contradictions that the seat would be part of with this rank."""
        with_it = ranks | {seat: rank}
        count = int(seat in self.exact and self.exact[seat] != rank)
        count += sum(with_it[a] != with_it[b] for a, b in self.ties if seat in {a, b})
        count += sum(with_it[a] >= with_it[b] for a, b in self.beats if seat in {a, b})
        return count

    def needs_tie(self, seat: int) -> bool:
        """Whether the seat's hand must be exactly as good as something."""
        return seat in self.exact or any(seat in pair for pair in self.ties)


def _filled(cards: Iterable[int | None]) -> list[int]:
    return [card for card in cards if card is not None]


def _is_pair(board: tuple[int, ...]) -> bool:
    return len(board) == 2 and rank_of(board[0]) == rank_of(board[1])
