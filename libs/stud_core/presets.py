"""The two house-rule pages as data, the stakes they are played at, and table configurations made of both.

What each knob means, which statement of which page it rests on, and why a gap is filled as it is, is in
``docs/rules-gaps.md`` (B.0).
"""

from __future__ import annotations

from typing import Final, TypedDict, Unpack

import msgspec

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
    TopUp,
)

PLAYNOW: Final = Ruleset(
    name="playnow",
    version=1,
    deal_origin=DealOrigin.FIXED,
    burns=True,
    bring_in=BringInKind.PARAMETER,
    completion_counts_as_raise=False,
    max_raises=3,
    heads_up=HeadsUp.TWO_REMAIN_BEFORE_CAP,
    heads_up_counts_all_in=False,
    open_pair=OpenPair.ANY,
    short_all_in=ShortAllIn.HALF_BET,
    river_shortage=RiverShortage.RECYCLE_THEN_COMMUNITY,
    river_burn_reserve=1,
    community_counts_for_first=True,
    odd_units=OddUnits.ONE_EACH_FROM_LEFT,
    action_clock_ms=10_000,
    ante_clock_ms=10_000,
    show_clock_ms=10_000,
    time_bank_ms=0,
    pre_actions=False,
    pre_fold_is_literal=False,
    away_folds_now=False,
    auto_post_default=False,
    muck_losing_default=True,
    min_buy_in=BuyInLimit(small_bets=10),
    max_buy_in=BuyInLimit(small_bets=40),
    top_up=TopUp.WITHIN_LIMITS,
    rathole_ms=0,
    rake_bps=0,
    rake_cap=None,
    no_rake_before_fourth=True,
    seats=8,
    pre_check_call_any=False,
    sit_out_max_ms=None,
    sit_out_max_hands=None,
    time_bank_chips=None,
    time_bank_refill_hands=None,
    reconnect_ms=None,
    show_connection=False,
    waiting_list=None,
    offer_ms=None,
)

WILLIAM_HILL: Final = Ruleset(
    name="william_hill",
    version=1,
    deal_origin=DealOrigin.BUTTON,
    burns=False,
    bring_in=BringInKind.HALF_SMALL_BET,
    completion_counts_as_raise=False,
    max_raises=3,
    heads_up=HeadsUp.NEVER,
    heads_up_counts_all_in=False,
    open_pair=OpenPair.ANY,
    short_all_in=ShortAllIn.HALF_BET,
    river_shortage=RiverShortage.COMMUNITY,
    river_burn_reserve=0,
    community_counts_for_first=True,
    odd_units=OddUnits.ALL_TO_FIRST_LEFT,
    action_clock_ms=10_000,
    ante_clock_ms=10_000,
    show_clock_ms=10_000,
    time_bank_ms=0,
    pre_actions=True,
    pre_fold_is_literal=False,
    away_folds_now=False,
    auto_post_default=True,
    muck_losing_default=True,
    min_buy_in=BuyInLimit(small_bets=10),
    max_buy_in=None,
    top_up=TopUp.WITHIN_LIMITS,
    rathole_ms=0,
    rake_bps=0,
    rake_cap=None,
    no_rake_before_fourth=True,
    seats=8,
    pre_check_call_any=False,
    sit_out_max_ms=None,
    sit_out_max_hands=None,
    time_bank_chips=None,
    time_bank_refill_hands=None,
    reconnect_ms=None,
    show_connection=False,
    waiting_list=None,
    offer_ms=None,
)

RULESETS: Final = {ruleset.name: ruleset for ruleset in (PLAYNOW, WILLIAM_HILL)}


class Stakes(msgspec.Struct, frozen=True, gc=False):
    """Limits, ante and PlayNow's bring-in, minor units; William Hill's is half the lower limit (W9)."""

    small_bet: int
    big_bet: int
    ante: int
    bring_in: int


_TABLE: Final = (
    Stakes(5, 10, 1, 2),
    Stakes(25, 50, 5, 10),
    Stakes(50, 100, 10, 25),
    Stakes(100, 200, 25, 50),
    Stakes(200, 400, 25, 100),
    Stakes(300, 600, 50, 100),
    Stakes(500, 1000, 50, 200),
    Stakes(1000, 2000, 100, 300),
    Stakes(2000, 4000, 200, 500),
)

STAKES: Final = {stakes.small_bet: stakes for stakes in _TABLE}
"""Presets by lower limit, from micro stakes to 20/40 (P48; antes of 1/2 and 10/20 from W6)."""

HAND_PAUSE_MS: Final = 3000


class Parameters(TypedDict, total=False):
    """Table parameters that replace a preset's; ``bring_in`` None = what the ruleset and stakes say."""

    table_id: str
    name: str
    currency: str
    small_bet: int
    big_bet: int
    ante: int
    bring_in: int | None
    hand_pause_ms: int
    stacked: bool


def half_small_bet(small_bet: int) -> int:
    """The least bring-in of W9: half the lower limit, rounded up to whole minor units."""
    return (small_bet + 1) // 2


def table_config(ruleset: Ruleset, stakes: Stakes | None = None, **parameters: Unpack[Parameters]) -> TableConfig:
    """Make a configuration from a ruleset, stakes (default 5/10) and parameters; nothing is validated here.

    Parameters win over stakes. A lower limit given alone takes the preset of that limit; where there is none, an ante
    of a tenth of it and a bring-in of half.
    """
    small_bet = parameters.get("small_bet")
    base = stakes or STAKES[500]
    if stakes is None and small_bet is not None:
        base = STAKES.get(small_bet) or Stakes(small_bet, 2 * small_bet, small_bet // 10, half_small_bet(small_bet))
    small_bet = base.small_bet if small_bet is None else small_bet
    bring_in = parameters.get("bring_in")
    if bring_in is None:
        half = ruleset.bring_in is BringInKind.HALF_SMALL_BET
        bring_in = half_small_bet(small_bet) if half else base.bring_in
    return TableConfig(
        table_id=parameters.get("table_id", "table"),
        name=parameters.get("name", ""),
        currency=parameters.get("currency", "EUR"),
        ruleset=ruleset,
        small_bet=small_bet,
        big_bet=parameters.get("big_bet", base.big_bet if small_bet == base.small_bet else 2 * small_bet),
        ante=parameters.get("ante", base.ante),
        bring_in=bring_in,
        hand_pause_ms=parameters.get("hand_pause_ms", HAND_PAUSE_MS),
        stacked=parameters.get("stacked", False),
    )
