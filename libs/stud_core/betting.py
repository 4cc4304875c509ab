"""Fixed-limit betting: who acts first, who is next, what is legal, what an all-in for less is worth.

Pure queries on a hand; money is minor currency units, ``to`` a player's total on this street. Nothing here
changes a state or makes an event.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from stud_core.events import Option, Size, Verb
from stud_core.ranks import board_strength
from stud_core.ruleset import HeadsUp, OpenPair, Ruleset, ShortAllIn, TableConfig
from stud_core.state import Hand, Table

# Looking up a member of an enum costs as much as making an option; this is the hot path.
_FOLD: Final = Verb.FOLD
_CHECK: Final = Verb.CHECK
_CALL: Final = Verb.CALL
_BRING_IN: Final = Verb.BRING_IN
_OPEN: Final = Verb.OPEN
_COMPLETE: Final = Verb.COMPLETE
_BET: Final = Verb.BET
_RAISE: Final = Verb.RAISE
_HIGH: Final = Size.HIGH


def is_wager(verb: Verb) -> bool:
    """Whether the verb opens, bets, completes or raises."""
    return verb >= _OPEN


# --- who ---------------------------------------------------------------------


def high_board(hand: Hand, ruleset: Ruleset) -> int:
    """Seat of the highest board among live players; ties go to the first in deal order (P19-P21; B.10, B.13)."""
    up, live = hand.up, hand.live
    if hand.community is not None and ruleset.community_counts_for_first:
        up = [(*cards, hand.community) for cards in up]
    best, leader = -1, 0
    for seat in hand.order:
        if live[seat]:
            strength = board_strength(up[seat])
            if strength > best:
                best, leader = strength, seat
    return leader


def low_card(hand: Hand) -> int:
    """Seat of the lowest door card, by rank, then suit (P13-P16, W8); folded or not."""
    return min(hand.order, key=lambda seat: hand.up[seat][0])


def chips_behind(hand: Hand) -> int:
    """Number of live players who still have chips (an all-in player never folds)."""
    return hand.live.count(True) - hand.all_in.count(True)


def first_to_act(hand: Hand, ruleset: Ruleset) -> int:
    """Who opens this street: the low card or high board, or the next player clockwise with chips (B.4, B.9).

    Where nobody can bet any more it is the one who would have, all-in or not (B.15).
    """
    seat = low_card(hand) if hand.street == 3 else high_board(hand, ruleset)
    if hand.all_in[seat] and chips_behind(hand) > 1:
        order = hand.order
        start = order.index(seat)
        return next(s for s in order[start:] + order[:start] if hand.live[s] and not hand.all_in[s])
    return seat


def next_to_act(hand: Hand, start: int) -> int:
    """The first player from index ``start`` of the deal order who owes the round a decision, 0 when it is over.

    A player who has not acted, or whose total is below the price, owes one. The last player with chips is not asked
    when there is nothing to call (B.21).
    """
    live, all_in, acted, bet, level = hand.live, hand.all_in, hand.acted, hand.bet, hand.level
    order = hand.order
    for seats in (order[start:], order):  # the second time around nobody before ``start`` is left out
        for seat in seats:
            if live[seat] and not all_in[seat]:
                if bet[seat] < level:
                    return seat
                if not acted[seat]:
                    return seat if chips_behind(hand) > 1 else 0
    return 0


def is_forced(hand: Hand, seat: int) -> bool:
    """Whether the seat must bring it in: the low card, before anybody has opened (P58, W8)."""
    return hand.street == 3 and hand.level == 0 and low_card(hand) == seat


# --- what --------------------------------------------------------------------


def cap(ruleset: Ruleset) -> int:
    """Wagers of a round at which raising ends: the bet and its raises (P56, W18)."""
    return 1 + ruleset.max_raises


def counts_as_full(rule: ShortAllIn, base: int, target: int, total: int) -> bool:
    """Whether a wager to ``total`` instead of ``target`` counts as a full one (B.8).

    ``base`` is the level of the last full wager (the bring-in before there is one).
    """
    if total >= target or rule is ShortAllIn.ANY:
        return True
    return rule is ShortAllIn.HALF_BET and 2 * (total - base) >= target - base


def wager_target(hand: Hand, config: TableConfig, size: Size | None) -> int:
    """The player's total that a full wager of this size makes (P27, P49-P51, P59, P61-P65)."""
    if hand.street == 3 and hand.full_level <= config.bring_in:
        return config.small_bet  # opening or completing, whatever the bring-in was
    high = hand.street > 4 or size is _HIGH
    return hand.full_level + (config.big_bet if high else config.small_bet)


def may_raise(state: Table, hand: Hand, ruleset: Ruleset, seat: int) -> bool:
    """Whether the seat may open, bet, complete or raise at all.

    Not after acting, with nothing full since (B.8), when the cap is reached (P56, W18-W19), or when
    no opponent could put in more than the price (B.21).
    """
    if hand.acted[seat] or (hand.wagers > ruleset.max_raises and not hand.uncapped):
        return False
    return can_be_answered(state, hand, seat)


def can_be_answered(state: Table, hand: Hand, seat: int) -> bool:
    """Whether some opponent's total plus stack exceeds the price (B.6, B.21)."""
    live, bet, level = hand.live, hand.bet, hand.level
    for other in hand.order:
        if live[other] and other != seat and bet[other] + state.sittings[state.seats[other]].stack > level:
            return True
    return False


def _sizes(hand: Hand, ruleset: Ruleset, seat: int) -> tuple[Size | None, ...]:
    """Sizes a player may declare with an open pair on fourth street (P22-P24, P62, W15, W17; B.5)."""
    if hand.locked:
        return (Size.HIGH,)
    if ruleset.open_pair is OpenPair.HOLDER_ONLY and seat not in hand.pair_holders:
        return (Size.LOW,)
    return (Size.LOW, Size.HIGH)


def wager_verb(hand: Hand, config: TableConfig) -> Verb:
    """What putting in a wager is called now: a raise only on top of a full wager, else it completes one."""
    level = hand.level
    if level == 0:
        return _OPEN if hand.street == 3 else _BET
    if level == hand.full_level and (hand.street > 3 or level > config.bring_in):
        return _RAISE
    return _COMPLETE


def legal_options(state: Table, seat: int) -> tuple[Option, ...]:
    """Everything the seat may do now, if it were its turn.

    Fold is always there, even where checking is free (W29, B.20), but not for the forced bring-in (B.3).
    """
    return options_of(state, state.running, state.rules, seat)


def options_of(state: Table, hand: Hand, config: TableConfig, seat: int) -> tuple[Option, ...]:
    """The same for whoever has hand and configuration at hand."""
    bet = hand.bet[seat]
    reach = bet + state.sittings[state.seats[seat]].stack
    level = hand.level
    if level == 0 and hand.street == 3:
        return _opening_options(state, hand, seat, reach)
    if reach <= level or not may_raise(state, hand, config.ruleset, seat):
        return _passive_options(bet, level, min(reach, level + 1))
    verb = wager_verb(hand, config)
    if hand.pair_option:
        wagers: tuple[Option, ...] = ()
        for size in _sizes(hand, config.ruleset, seat):
            target = wager_target(hand, config, size)
            if target > level:  # an all-in declared high that did not count may already stand above the low size
                wagers += (_wager(bet, verb, target, size, min(reach, target + 1)),)
        return _passive_options(bet, level, level + 1) + wagers
    target = wager_target(hand, config, None)
    return _plain_options(bet, level, verb, target, reach if reach <= target else target + 1)


# The options of most turns are one of few combinations: those are made once and shared by all tables. ``reach`` is
# what the player could put in at most, but never more than one unit beyond what matters, so that stacks do not
# multiply the combinations.


@lru_cache(maxsize=4096)
def _passive_options(bet: int, level: int, reach: int) -> tuple[Option, ...]:
    """Fold, and check or call."""
    fold = Option(_FOLD, 0, bet, None, False)
    if level <= bet:
        return fold, Option(_CHECK, 0, bet, None, False)
    to = min(level, reach)
    return fold, Option(_CALL, to - bet, to, None, to == reach)


@lru_cache(maxsize=4096)
def _plain_options(bet: int, level: int, verb: Verb, target: int, reach: int) -> tuple[Option, ...]:
    """Fold, check or call, and the one wager there is."""
    return (*_passive_options(bet, level, min(reach, level + 1)), _wager(bet, verb, target, None, reach))


def _wager(bet: int, verb: Verb, target: int, size: Size | None, reach: int) -> Option:
    to = min(target, reach)
    return Option(verb, to - bet, to, size, to == reach)


def _opening_options(state: Table, hand: Hand, seat: int, reach: int) -> tuple[Option, ...]:
    """Bring in or open for the lower limit; whoever is not the low card may fold too (P58, W8-W9; B.4)."""
    config = state.rules
    options: list[Option] = []
    if low_card(hand) != seat:
        options.append(Option(_FOLD, 0, 0, None, False))
    post = min(config.bring_in, reach)
    options.append(Option(_BRING_IN, post, post, None, post == reach))
    if reach > config.bring_in and may_raise(state, hand, config.ruleset, seat):
        options.append(_wager(0, _OPEN, config.small_bet, None, reach))
    return tuple(options)


def chosen_of(
    hand: Hand, options: tuple[Option, ...], verb: Verb, to: int | None = None, size: Size | None = None
) -> Option | None:
    """The one option that a player means; None when there is none, or more than one."""
    chosen: Option | None = None
    for option in options:
        if option.verb is verb and (to is None or to == option.to):
            if size is not None and size is not (option.size or _size_in_force(hand)):
                continue
            if chosen is not None:
                return None
            chosen = option
    return chosen


def _size_in_force(hand: Hand) -> Size:
    """The size of every wager where there is no choice; naming it does no harm (P61, P63-P65, W14, W16)."""
    return Size.LOW if hand.street <= 4 else _HIGH


def default_action(options: tuple[Option, ...]) -> Option:
    """What is done for a player who does nothing: check if free, else fold; the bring-in is posted (B.18)."""
    first = options[0]
    if first.verb is _FOLD and options[1].verb is _CHECK:
        return options[1]
    return first


def counts(hand: Hand, config: TableConfig, option: Option) -> bool:
    """Whether taking the option is a step towards the cap and reopens the betting (B.7, B.8)."""
    verb = option.verb
    if verb < _OPEN:
        # The bring-in is the bet only where completing it is a raise (B.2).
        return verb is _BRING_IN and config.ruleset.completion_counts_as_raise
    if not option.all_in:
        return True
    target = wager_target(hand, config, option.size)
    return counts_as_full(config.ruleset.short_all_in, hand.full_level, target, option.to)


# --- the start of a round ----------------------------------------------------


def open_pairs(hand: Hand) -> tuple[int, ...]:
    """Live players whose two up cards on fourth street are a pair; fixed at the deal (B.5)."""
    return tuple([s for s in hand.order if hand.live[s] and hand.up[s][0] >> 2 == hand.up[s][1] >> 2])


def starts_uncapped(hand: Hand, ruleset: Ruleset) -> bool:
    """Whether a round begins without a cap because only two play (the knobs of B.6 that look at a start)."""
    if ruleset.heads_up is HeadsUp.HAND_START:
        return len(hand.order) == 2
    if ruleset.heads_up is HeadsUp.ROUND_START:
        return two_remain(hand, ruleset)
    return False


def two_remain(hand: Hand, ruleset: Ruleset) -> bool:
    """Whether only two players are left who count for the cap; all-in ones count only by the knob (P57; B.6)."""
    left = sum(hand.live) if ruleset.heads_up_counts_all_in else chips_behind(hand)
    return left <= 2
