"""A recorded hand as a script for a table: the table's rules, a deck, the moves, and whether the outcome is right.

``table_config`` is the table to play at, ``Script`` puts it together with facts and a deck; ``compare`` tells an
expected outcome from what was played. Nothing here depends on how the hand is driven: ``stud adjudicate`` plays a
script through the core, ``stud rehearse`` over gRPC.
"""

from __future__ import annotations

import msgspec

from stud_core.amounts import TEST_CURRENCY
from stud_core.presets import PLAYNOW
from stud_core.ruleset import (
    BringInKind,
    BuyInLimit,
    DealOrigin,
    HeadsUp,
    OddUnits,
    OpenPair,
    RiverShortage,
    Ruleset,
    ShortAllIn,
    TableConfig,
)
from stud_hands.course import Course, Move, Outcome
from stud_hands.record import BringIn, Call, RecordedHand


class Script(msgspec.Struct, frozen=True):
    """A hand to play: sit everybody down with their stack, stack the deck, make the moves, answer the prompts.

    ``deck`` is the order of all 52 cards.
    """

    course: Course
    config: TableConfig
    deck: tuple[int, ...]
    moves: tuple[Move, ...]


# --- the table ----------------------------------------------------------------


def recorded_rules(rake: int, odd_units: OddUnits = OddUnits.ONE_EACH_FROM_LEFT) -> Ruleset:
    """The rules that all recorded hands were played by; the rake is taken as stated, from whatever was called."""
    return msgspec.structs.replace(
        PLAYNOW,
        name="recorded",
        deal_origin=DealOrigin.FIXED,
        burns=False,
        bring_in=BringInKind.PARAMETER,
        max_raises=3,
        heads_up=HeadsUp.NEVER,
        open_pair=OpenPair.ANY,
        short_all_in=ShortAllIn.HALF_BET,
        river_shortage=RiverShortage.COMMUNITY,
        river_burn_reserve=0,
        odd_units=odd_units,
        action_clock_ms=0,
        ante_clock_ms=0,
        show_clock_ms=0,
        auto_post_default=True,
        muck_losing_default=False,
        min_buy_in=BuyInLimit(amount=1),
        max_buy_in=None,
        rake_bps=10_000,
        rake_cap=rake,
        no_rake_before_fourth=False,
    )


def table_config(hand: RecordedHand, odd_units: OddUnits = OddUnits.ONE_EACH_FROM_LEFT) -> TableConfig:
    """The table of one hand, not named after it: an id may be any text."""
    return TableConfig(
        table_id="recorded",
        name="recorded",
        currency=TEST_CURRENCY,
        ruleset=recorded_rules(hand.rake, odd_units),
        small_bet=hand.small_bet,
        big_bet=hand.big_bet,
        ante=hand.ante,
        bring_in=_bring_in(hand),
        hand_pause_ms=0,
        stacked=True,
    )


def _bring_in(hand: RecordedHand) -> int:
    """As stated, else what was brought in, or called behind an all-in for less.

    Where everybody opened in full it is not known and does not matter.
    """
    if hand.bring_in is not None:
        return hand.bring_in
    prices = [e.amount for e in hand.events if isinstance(e, BringIn) and not e.all_in]
    if any(isinstance(e, BringIn) for e in hand.events):
        prices += [e.to for e in hand.events if isinstance(e, Call) and not e.all_in]
    price = prices[0] if prices else hand.small_bet // 2
    return max(1, min(price, hand.small_bet - 1))


# --- the verdict --------------------------------------------------------------


def compare(expected: Outcome, actual: Outcome, names: dict[int, str], *, awards: bool = True) -> list[str]:
    """Say everything that differs; an empty list is a match. ``awards`` False leaves those to somebody else."""
    differences = _totals("ante", expected.antes, actual.antes, names)
    for number, (want, got) in enumerate(zip(expected.moves, actual.moves, strict=False), 1):
        if (want.seat, want.amount, want.to, want.all_in) != (got.seat, got.amount, got.to, got.all_in):
            differences.append(
                f"action {number}, street {want.street}: recorded {names[want.seat]} {want}, "
                f"played {names[got.seat]} {got}"
            )
            break
    if len(actual.moves) != len(expected.moves):
        differences.append(f"{len(expected.moves)} actions recorded, {len(actual.moves)} played")
    differences += _totals("uncalled", expected.uncalled, actual.uncalled, names)
    if awards:
        differences += _totals("awards", expected.awards, actual.awards, names)
    return differences


def _totals(what: str, expected: dict[int, int], actual: dict[int, int], names: dict[int, str]) -> list[str]:
    return [
        f"{what} of {names[seat]}: recorded {expected.get(seat, 0)}, played {actual.get(seat, 0)}"
        for seat in sorted(expected.keys() | actual.keys())
        if expected.get(seat, 0) != actual.get(seat, 0)
    ]
