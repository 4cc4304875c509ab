"""Fixed-limit stud betting written a second time, from the rule texts alone: an oracle for the engine's.

It shares nothing with the engine but the numbers of cards (``4 * rank + suit``). A round is a queue of players who owe
a decision and may or may not raise, not flags by seat; players are places 0, 1, … in deal order. Sources: P13-P28,
P49-P65, W8-W19 and sections B.2 to B.10, B.21 of the rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import combinations
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Page(NamedTuple):
    """What a page of house rules says about betting, at given stakes.

    ``heads_up``: never, before_cap, round or hand; ``pair``: off, holder or any; ``short``: half, full or any.
    """

    small: int
    big: int
    bring_in: int
    raises: int = 3  # P56, W18
    completing_is_a_raise: bool = False  # P60
    heads_up: str = "never"
    all_in_plays: bool = False
    pair: str = "any"  # P62, W15, W17
    short: str = "half"


class Move(NamedTuple):
    """A verb, the player's total of the round after it, and the size where there is a choice."""

    verb: str
    to: int
    size: str | None = None


class Asked(NamedTuple):
    """Somebody who owes the round a decision; only who has not acted since the last full wager may raise (B.8)."""

    place: int
    may_raise: bool


class Round(NamedTuple):
    """A betting round. ``price`` is the total to match, ``full`` the total of the last full wager (B.8)."""

    page: Page
    street: int
    stacks: tuple[int, ...]
    bets: tuple[int, ...]
    folded: tuple[bool, ...]
    queue: tuple[Asked, ...]
    low: int  # place of the low card on third street, -1 later
    pairs: tuple[int, ...]  # places whose fourth-street boards are pairs
    price: int
    full: int
    wagers: int = 0
    locked: bool = False
    uncapped: bool = False


def open_round(
    page: Page, street: int, stacks: tuple[int, ...], folded: tuple[bool, ...], boards: Sequence[Sequence[int]]
) -> Round:
    """Begin a street; the queue is empty where fewer than two have chips (B.9)."""
    live = [place for place, out in enumerate(folded) if not out]
    low = min(range(len(folded)), key=lambda place: boards[place][0]) if street == 3 else -1
    first = low if street == 3 else max(live, key=lambda place: (board_key(boards[place]), -place))
    chosen = street == 4 and page.pair != "off" and page.small != page.big
    pairs = tuple([p for p in live if boards[p][0] // 4 == boards[p][1] // 4]) if chosen else ()
    opened = Round(
        page, street, stacks, (0,) * len(stacks), folded, (), low, pairs,
        price=0, full=page.bring_in if street == 3 else 0,
    )  # fmt: skip
    asked = clockwise(opened, first) if with_chips(opened) > 1 else ()
    uncapped = page.heads_up == "round" and players_left(opened) <= 2
    uncapped |= page.heads_up == "hand" and len(stacks) == 2
    return opened._replace(queue=tuple([Asked(place, may_raise=True) for place in asked]), uncapped=uncapped)


def clockwise(r: Round, start: int) -> tuple[int, ...]:
    """Players who can still act, from a place on."""
    places = [(start + step) % len(r.stacks) for step in range(len(r.stacks))]
    return tuple([place for place in places if not r.folded[place] and r.stacks[place]])


def with_chips(r: Round) -> int:
    return len(clockwise(r, 0))


def players_left(r: Round) -> int:
    """Who counts for the exception of two players: not those who are all-in, but for the knob (B.6)."""
    return r.folded.count(False) if r.page.all_in_plays else with_chips(r)


def turn(r: Round) -> int | None:
    """Whose turn it is, None when the round is over."""
    if r.folded.count(False) == 1 or not r.queue:
        return None
    place = r.queue[0].place
    free = r.bets[place] >= r.price
    return None if free and with_chips(r) == 1 else place


def sizes(r: Round, place: int) -> tuple[str | None, ...]:
    """By which limit a wager may be (P22-P24, P27, P61-P65, W14-W17; B.5); None where there is no choice."""
    if not r.pairs:
        return (None,)
    if r.locked:
        return ("high",)
    if r.page.pair == "holder" and place not in r.pairs:
        return ("low",)
    return ("low", "high")


def target(r: Round, size: str | None) -> int:
    """The total of a full wager."""
    if r.street == 3 and r.full == r.page.bring_in:
        return r.page.small
    return r.full + (r.page.big if r.street > 4 or size == "high" else r.page.small)


def moves(r: Round) -> tuple[Move, ...]:
    """Everything that is legal for whose turn it is."""
    place, may_raise = r.queue[0]
    bet, reach = r.bets[place], r.bets[place] + r.stacks[place]
    others = [b + s for p, (b, s) in enumerate(zip(r.bets, r.stacks, strict=True)) if p != place and not r.folded[p]]
    capped = r.wagers >= 1 + r.page.raises and not r.uncapped
    wager = may_raise and not capped and max(others) > r.price
    if r.street == 3 and r.price == 0:  # P58, W8-W9; B.4 where the low card has no chips
        found = [] if place == r.low else [Move("fold", 0)]
        found.append(Move("bring_in", min(r.page.bring_in, reach)))
        if wager and reach > r.page.bring_in:
            found.append(Move("open", min(r.page.small, reach)))
        return tuple(found)
    found = [Move("fold", bet), Move("check", bet) if bet >= r.price else Move("call", min(r.price, reach))]
    if wager and reach > r.price:
        found += [Move(_verb(r), min(target(r, s), reach), s) for s in sizes(r, place) if target(r, s) > r.price]
    return tuple(found)


def _verb(r: Round) -> str:
    if not r.price:
        return "bet"
    unfinished = r.price != r.full or (r.street == 3 and r.full == r.page.bring_in)
    return "complete" if unfinished else "raise"


def is_full(r: Round, move: Move) -> bool:
    """Whether a wager counts and reopens the betting: full, or an all-in that comes close enough (B.8)."""
    whole = target(r, move.size)
    enough = {"half": 2 * (move.to - r.full) >= whole - r.full, "full": False, "any": True}
    return move.to >= whole or enough[r.page.short]


def counts(r: Round, move: Move) -> bool:
    """Whether the cap comes closer (B.7)."""
    if move.verb == "bring_in":
        return r.page.completing_is_a_raise
    return move.verb in {"open", "complete", "bet", "raise"} and is_full(r, move)


def play(r: Round, move: Move) -> Round:
    """The round after a move of whose turn it is."""
    place = r.queue[0].place
    rest = r.queue[1:]
    wagers = r.wagers + counts(r, move)
    if move.verb == "fold":
        return r._replace(queue=rest, folded=_put(r.folded, place, value=True))
    paid = move.to - r.bets[place]
    after = r._replace(
        queue=rest, wagers=wagers, bets=_put(r.bets, place, move.to),
        stacks=_put(r.stacks, place, r.stacks[place] - paid),
    )  # fmt: skip
    if move.verb == "bring_in":
        return after._replace(price=r.page.bring_in)  # B.4: the whole of it, even where the poster had less
    if move.verb in {"check", "call"}:
        return after
    others = clockwise(after, place + 1)
    if not is_full(r, move):
        fresh = {asked.place for asked in rest if asked.may_raise}
        queue = [Asked(p, p in fresh) for p in others if p != place]
        return after._replace(price=move.to, queue=tuple(queue))
    queue = [Asked(p, may_raise=True) for p in others if p != place]
    after = after._replace(price=move.to, full=move.to, queue=tuple(queue), locked=r.locked or move.size == "high")
    if r.page.heads_up == "before_cap" and wagers == 1 + r.page.raises:
        after = after._replace(uncapped=players_left(after) <= 2)
    return after


def _put(values: tuple[T, ...], place: int, value: T) -> tuple[T, ...]:
    return (*values[:place], value, *values[place + 1 :])


def uncalled(r: Round) -> tuple[int, int]:
    """Place and amount of what nobody matched, folded players' bets included (B.14, B.21)."""
    second, first = sorted(r.bets)[-2:]
    place = r.bets.index(first)
    return (place, first - second) if first > second and not r.folded[place] else (-1, 0)


# --- pots ------------------------------------------------------------------------------------------------------------


def layers(paid: Sequence[int], folded: Sequence[bool]) -> list[tuple[int, tuple[int, ...]]]:
    """Pots, main pot first: amount and the places that can win it (B.14)."""
    pots: list[tuple[int, tuple[int, ...]]] = []
    floor = 0
    for ceiling in sorted(set(paid) - {0}):
        payers = [place for place, chips in enumerate(paid) if chips >= ceiling]
        amount = (ceiling - floor) * len(payers)
        winners = tuple([place for place in payers if not folded[place]])
        if pots and winners in {(), pots[-1][1]}:
            pots[-1] = (pots[-1][0] + amount, pots[-1][1])
        else:
            pots.append((amount, winners))
        floor = ceiling
    return pots


def shares(amount: int, winners: Sequence[int], odd: str, high_card: Sequence[int] = ()) -> dict[int, int]:
    """How tied winners split a pot: ``odd`` is one_each, all_to_first or high_card (P47, W25; B.14)."""
    each, rest = divmod(amount, len(winners))
    split = dict.fromkeys(winners, each)
    lucky = max(winners, key=lambda place: high_card[place]) if odd == "high_card" else min(winners)
    if odd == "one_each":
        for place in sorted(winners)[:rest]:
            split[place] += 1
    else:
        split[lucky] += rest
    return split


# --- cards -----------------------------------------------------------------------------------------------------------


def board_key(cards: Iterable[int]) -> tuple[object, ...]:
    """Orders boards: groups, then ranks; no straights, no flushes, no suits below five cards (P17, B.10, B.13)."""
    cards = tuple(cards)
    return hand_key(cards) if len(cards) == 5 else _groups(cards)


def _groups(cards: Sequence[int]) -> tuple[object, ...]:
    groups = sorted([(n, rank) for rank, n in Counter([card // 4 for card in cards]).items()], reverse=True)
    return tuple([n for n, _ in groups]), tuple([rank for _, rank in groups])


@cache
def hand_key(cards: tuple[int, ...]) -> tuple[object, ...]:
    """Orders hands of five cards, best five of more (P46, W22-W23)."""
    if len(cards) > 5:
        return max([hand_key(five) for five in combinations(sorted(cards), 5)])
    shape, ranks = _groups(cards)
    flush = len({card % 4 for card in cards}) == 1
    straight = 0
    if ranks == (12, 3, 2, 1, 0):
        straight, ranks = 1, (3, 2, 1, 0, -1)  # the wheel: its ace is low
    elif shape == (1,) * 5 and max(cards) // 4 - min(cards) // 4 == 4:
        straight = 1
    category = (3, 1, 2) if straight and not flush else (3, 1, 3) if flush and not straight else shape
    return (5,) if straight and flush else category, ranks
