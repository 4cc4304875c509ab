"""Cards that a recorded hand does not tell, drawn so that what it does tell comes out.

Histories hide the cards of players who folded or mucked. To play such a hand again, the hidden cards are drawn from
the unseen ones until exactly the paid hands win, pot by pot and ties included, and, where door or up cards are
hidden, until the recorded players come out first to act. Randomness is an argument. Nothing here knows how the hand
is driven.

A hand that many draws do not fit is common (a mucked hand must lose to a pair, a winner must beat a full house), so
cards are not drawn blindly: players whose hands contradict the result draw again, the others keep theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb
from random import Random
from typing import Final

import msgspec

from stud_cli.handscript import Course, StreetFacts
from stud_core.betting import first_to_act
from stud_core.cards import DECK_SIZE, rank_of
from stud_core.pots import Pot, allot_rake, build_pots, called_money, split
from stud_core.ranks import rank_best
from stud_core.ruleset import OddUnits, Ruleset
from stud_core.state import Hand, Phase

ROUNDS: Final = 40  # fresh starts
STEPS: Final = 60  # redraws of one player per start and result
UP_TRIES: Final = 400  # draws of one street's up cards per start
SAMPLE: Final = 40  # hands a player chooses from when he redraws
EXHAUSTIVE: Final = 10_000  # up to so many hands all are looked at when a tie is needed

Winners = tuple[frozenset[int], ...]  # of each pot, main pot first


class Cards(msgspec.Struct, frozen=True):
    """Every card of the hand: by seat in the order dealt; ``community`` None where everybody got his own river.

    ``fits_actors`` and ``fits_awards`` say whether the recorded players and payments come out.
    """

    down: dict[int, tuple[int, ...]]
    up: dict[int, tuple[int, ...]]
    community: int | None
    fits_actors: bool
    fits_awards: bool


def draw(course: Course, rules: Ruleset, rng: Random) -> Cards:
    """Find the hidden cards; where nothing fits within a bounded number of tries, say so in the answer."""
    results = list(_results(course, rules)) if len(course.live) > 1 else [()]
    best: Cards | None = None
    for attempt in range(ROUNDS if _anything_hidden(course) else 1):
        # A show of five cards is nearly always the best hand; where that fits nothing it is taken as a mere show.
        drawing = _Drawing(course, rules, rng, best_five=2 * attempt < ROUNDS)
        actors = drawing.draw_up_cards()
        awards = actors and any(drawing.draw_down_cards(winners) for winners in results)
        if best is None or (actors, awards) > (best.fits_actors, best.fits_awards):
            best = drawing.cards(fits_actors=actors, fits_awards=awards)
        if awards:
            break
    assert best is not None
    return best


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


# --- who must win -------------------------------------------------------------


def pots_of(course: Course) -> tuple[Pot, ...]:
    """The pots of the hand, main pot first."""
    alive = [seat in course.live for seat in range(9)]
    return build_pots(course.paid, alive)


def net_pots(course: Course, rules: Ruleset) -> tuple[int, ...]:
    """Amounts of the pots after the rake."""
    pots = pots_of(course)
    rakes = allot_rake(pots, called_money(course.paid), rules.rake_bps, rules.rake_cap)
    return tuple(pot.amount - rake for pot, rake in zip(pots, rakes, strict=True))


def explainable(course: Course, rules: Ruleset) -> bool:
    """Whether some result of the showdown pays exactly what was paid, whatever the cards were."""
    if len(course.live) == 1:
        return course.expected.awards == {course.live[0]: sum(net_pots(course, rules))}
    return any(True for _ in _results(course, rules))


def _results(course: Course, rules: Ruleset) -> Iterator[Winners]:
    """Every result that pays what was paid, apart from who gets the odd units of a split."""
    pots = pots_of(course)
    nets = net_pots(course, rules)
    paid = frozenset(course.expected.awards)

    def extend(winners: Winners, position: int) -> Iterator[Winners]:
        if position == len(pots):
            if _pays(winners, nets, course):
                yield winners
            return
        eligible = frozenset(pots[position].eligible)
        # The winners of a pot win every smaller one they are in: their hands are the same.
        inherited = next((w & eligible for w in reversed(winners) if w & eligible), None)
        for chosen in _subsets(eligible & paid) if inherited is None else [inherited]:
            yield from extend((*winners, chosen), position + 1)

    yield from extend((), 0)


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


def _anything_hidden(course: Course) -> bool:
    everything = [card for cards in (*course.down.values(), *course.up.values()) for card in cards]
    return None in everything or (course.common and course.community is None)


# --- one attempt --------------------------------------------------------------


class _Drawing:
    """One fresh start: known cards in their places, hidden ones drawn street by street."""

    def __init__(self, course: Course, rules: Ruleset, rng: Random, *, best_five: bool) -> None:
        self.course, self.rules, self.rng = course, rules, rng
        self.best_five = best_five
        self.down = {seat: list(cards) for seat, cards in course.down.items()}
        self.up = {seat: list(cards) for seat, cards in course.up.items()}
        self.community = course.community
        self.forced = {seat: list(cards) for seat, cards in course.forced.items()}
        seen = {c for cards in (*self.down.values(), *self.up.values()) for c in cards if c is not None}
        seen |= {c for cards in self.forced.values() for c in cards}
        if self.community is not None:
            seen.add(self.community)
        self.unseen = [card for card in range(DECK_SIZE) if card not in seen]
        rng.shuffle(self.unseen)
        if course.common and self.community is None:
            self.community = self.unseen.pop()

    def cards(self, *, fits_actors: bool, fits_awards: bool) -> Cards:
        """What was drawn; places still empty are filled with whatever is left."""
        for seat in self.up:
            for cards in (self.up[seat], self.down[seat]):
                for i, card in enumerate(cards):
                    if card is None:
                        cards[i] = self._any(seat)
        return Cards(
            down={seat: tuple(c for c in cards if c is not None) for seat, cards in self.down.items()},
            up={seat: tuple(c for c in cards if c is not None) for seat, cards in self.up.items()},
            community=self.community if self.course.common else None,
            fits_actors=fits_actors,
            fits_awards=fits_awards,
        )

    def _any(self, seat: int) -> int:
        mine = self.forced.get(seat)
        return mine.pop() if mine else self.unseen.pop()

    # Up cards: each street is drawn until the recorded player is first.

    def draw_up_cards(self) -> bool:
        """Draw hidden door and up cards; False when some street does not come out."""
        for facts in self.course.streets:
            if facts.street == 7:
                hidden: list[int] = []
            else:
                hidden = [seat for seat in facts.dealt if self.up[seat][facts.street - 3] is None]
            if hidden:
                if not self._draw_street(facts, hidden):
                    return False
            elif self._something_was_drawn(facts) and not self._comes_out(facts):
                return False
        return True

    def _draw_street(self, facts: StreetFacts, hidden: list[int]) -> bool:
        for _ in range(UP_TRIES):
            chosen = self._pick(hidden)
            for seat, card in chosen.items():
                self.up[seat][facts.street - 3] = card
            if self._comes_out(facts):
                for seat, card in chosen.items():
                    (self.forced[seat] if card in self.forced.get(seat, ()) else self.unseen).remove(card)
                return True
        for seat in hidden:
            self.up[seat][facts.street - 3] = None
        return False

    def _pick(self, seats: list[int]) -> dict[int, int]:
        """One card for each seat; a shown card that has no other place left must be taken here."""
        fresh = self.rng.sample(self.unseen, len(seats))
        chosen: dict[int, int] = {}
        for seat, card in zip(seats, fresh, strict=True):
            mine = self.forced.get(seat, [])
            empty = sum(c is None for c in (*self.down[seat], *self.up[seat]))
            use_shown = len(mine) > 0 and self.rng.random() * max(empty, 1) < len(mine)
            chosen[seat] = self.rng.choice(mine) if use_shown else card
        return chosen

    def _something_was_drawn(self, facts: StreetFacts) -> bool:
        """Whether the board of this street holds a drawn card (else the table itself will judge the actors)."""
        given = self.course.up
        drawn = any(card is None for seat in facts.dealt for card in given[seat][: facts.street - 2])
        return drawn or (facts.common and self.course.community is None)

    def _comes_out(self, facts: StreetFacts) -> bool:
        """Whether the recorded player is first, and fourth street shows a pair where a high bet was made."""
        order = self.course.streets[0].dealt
        boards: list[tuple[int, ...]] = [()] * 9
        for seat in facts.dealt:
            boards[seat] = tuple(c for c in self.up[seat][: facts.street - 2] if c is not None)
        if facts.street == 4 and self._high_bet() and not any(_is_pair(boards[seat]) for seat in facts.dealt):
            return False
        if facts.first is None or len(facts.dealt) - len(facts.all_in) < 2:
            return True
        hand = Hand(hand_no=1, phase=Phase.BETTING, from_version=1, street=facts.street, order=order, up=boards)
        hand.live = [seat in facts.dealt for seat in range(9)]
        hand.all_in = [seat in facts.all_in for seat in range(9)]
        hand.community = self.community if facts.common else None
        return first_to_act(hand, self.rules) == facts.first

    def _high_bet(self) -> bool:
        """Whether fourth street was opened for more than any bet without an open pair."""
        bets = [move.to for move in self.course.expected.moves if move.street == 4 and move.verb == "bet"]
        return bool(bets) and bets[0] > self.course.small_bet

    # Down cards: players who contradict the result draw again.

    def draw_down_cards(self, winners: Winners) -> bool:
        """Draw hidden down cards until exactly ``winners`` win; keeps the last draw when it does not come out."""
        if len(self.course.live) == 1:
            return True
        showdown = _Showdown(self.course, winners, self.best_five)
        base = {seat: [c for c in (*self.up[seat], *self.down[seat]) if c is not None] for seat in self.course.live}
        if self.course.common and self.community is not None:
            base = {seat: [*cards, self.community] for seat, cards in base.items()}
        empty = {seat: sum(c is None for c in self.down[seat]) for seat in self.course.live}
        free = list(self.unseen)
        drawn: dict[int, list[int]] = {}
        for seat, number in empty.items():
            mine = self.forced.get(seat, [])
            drawn[seat] = [*mine, *(free.pop() for _ in range(number - len(mine)))]
        ranks = {seat: rank_best([*base[seat], *drawn[seat]]) for seat in empty}
        for _ in range(STEPS):
            guilty = showdown.guilty(ranks)
            if not guilty:
                if not self._odd_units_agree(winners, {seat: [*base[seat], *drawn[seat]] for seat in empty}):
                    return False
                self._keep(drawn, free)
                return True
            able = [seat for seat in guilty if empty[seat] > len(self.forced.get(seat, []))]
            if not able:
                return False
            seat = self.rng.choice(able)
            mine = self.forced.get(seat, [])
            free += drawn[seat][len(mine) :]
            chosen, ranks[seat] = self._redraw(
                seat, [*base[seat], *mine], empty[seat] - len(mine), free, showdown, ranks
            )
            drawn[seat] = [*mine, *chosen]
            free = [card for card in free if card not in chosen]
        return False

    def _redraw(
        self, seat: int, base: list[int], number: int, free: list[int], showdown: _Showdown, ranks: dict[int, int]
    ) -> tuple[list[int], int]:
        """The hand of one player that contradicts the others least; returns its cards and rank."""
        candidates: Iterator[tuple[int, ...]]
        if showdown.needs_tie(seat) and comb(len(free), number) <= EXHAUSTIVE:
            shuffled = self.rng.sample(free, len(free))
            candidates = combinations(shuffled, number)
        else:
            candidates = (tuple(self.rng.sample(free, number)) for _ in range(SAMPLE))
        best: tuple[int, tuple[int, ...], int] | None = None
        for cards in candidates:
            rank = rank_best([*base, *cards])
            faults = showdown.faults(seat, rank, ranks)
            if best is None or faults < best[0]:
                best = (faults, cards, rank)
                if not faults:
                    break
        assert best is not None
        return list(best[1]), best[2]

    def _keep(self, drawn: dict[int, list[int]], free: list[int]) -> None:
        for seat, cards in drawn.items():
            left = list(cards)
            self.rng.shuffle(left)
            self.down[seat] = [left.pop() if card is None else card for card in self.down[seat]]
            self.forced.pop(seat, None)
        self.unseen = free

    def _odd_units_agree(self, winners: Winners, hands: dict[int, list[int]]) -> bool:
        """Whether the splits, odd units included, pay what was paid."""
        return shares(self.course, self.rules, winners, hands) == self.course.expected.awards


def shares(course: Course, rules: Ruleset, winners: Winners, hands: dict[int, list[int]]) -> dict[int, int]:
    """Totals by seat when these win; ``hands`` are all cards of each live seat."""
    total: dict[int, int] = {}
    high = [max(hands.get(seat, [0])) for seat in range(9)]
    for net, won in zip(net_pots(course, rules), winners, strict=True):
        parts = split(net, sorted(won), course.streets[0].dealt, rules.odd_units, high)
        for seat, amount in parts.items():
            total[seat] = total.get(seat, 0) + amount
    return {seat: amount for seat, amount in total.items() if amount}


def _is_pair(board: tuple[int, ...]) -> bool:
    return len(board) == 2 and rank_of(board[0]) == rank_of(board[1])


class _Showdown:
    """What a result demands of the ranks (lower is better) of the players in it."""

    def __init__(self, course: Course, winners: Winners, best_five: bool) -> None:
        self.ties: set[tuple[int, int]] = set()
        self.beats: set[tuple[int, int]] = set()
        for pot, won in zip(pots_of(course), winners, strict=True):
            first = min(won)
            self.ties |= {(first, other) for other in won if other != first}
            self.beats |= {(first, other) for other in pot.eligible if other not in won}
        shown = course.best_five if best_five else {}
        self.exact = {seat: rank_best(cards) for seat, cards in shown.items() if seat in course.live}

    def guilty(self, ranks: dict[int, int]) -> list[int]:
        """Seats whose hands contradict the result, both sides of a contradiction."""
        wrong = {seat for seat, rank in self.exact.items() if ranks[seat] != rank}
        for a, b in self.ties:
            if ranks[a] != ranks[b]:
                wrong |= {a, b}
        for a, b in self.beats:
            if ranks[a] >= ranks[b]:
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


ODD_UNITS: Final = (OddUnits.ONE_EACH_FROM_LEFT, OddUnits.ALL_TO_FIRST_LEFT, OddUnits.HIGH_CARD_BY_SUIT)
