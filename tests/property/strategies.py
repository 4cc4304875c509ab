"""Every table that may be opened: the two pages as they are, or every knob of them turned, at any stakes."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from stud_core.presets import PLAYNOW, STAKES, WILLIAM_HILL, Stakes, half_small_bet, table_config
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

ONE_CHIP = BuyInLimit(amount=1)
CLOCKS = st.sampled_from([0, 1, 10_000, 600_000])

PRESETS = st.sampled_from([PLAYNOW, WILLIAM_HILL])


def one_chip_up(ruleset: Ruleset) -> Ruleset:
    return replace(ruleset, min_buy_in=ONE_CHIP, max_buy_in=None)


# ``builds`` fails when a knob is left out: a new one has to be drawn here before anything else passes.
DRAWN = st.builds(
    Ruleset,
    name=st.just("drawn"),
    version=st.integers(1, 9),
    deal_origin=st.sampled_from(DealOrigin),
    burns=st.booleans(),
    bring_in=st.sampled_from(BringInKind),
    completion_counts_as_raise=st.booleans(),
    max_raises=st.integers(1, 10),
    heads_up=st.sampled_from(HeadsUp),
    heads_up_counts_all_in=st.booleans(),
    open_pair=st.sampled_from(OpenPair),
    short_all_in=st.sampled_from(ShortAllIn),
    river_shortage=st.sampled_from(RiverShortage),
    river_burn_reserve=st.integers(0, 2),
    community_counts_for_first=st.booleans(),
    odd_units=st.sampled_from(OddUnits),
    action_clock_ms=CLOCKS,
    ante_clock_ms=CLOCKS,
    show_clock_ms=CLOCKS,
    time_bank_ms=st.sampled_from([0, 0, 1, 30_000]),
    pre_actions=st.booleans(),
    pre_fold_is_literal=st.booleans(),
    away_folds_now=st.booleans(),
    auto_post_default=st.booleans(),
    muck_losing_default=st.booleans(),
    min_buy_in=st.sampled_from([ONE_CHIP, BuyInLimit(amount=7), BuyInLimit(small_bets=1), BuyInLimit(small_bets=10)]),
    max_buy_in=st.sampled_from([None, BuyInLimit(small_bets=10), BuyInLimit(small_bets=40)]),
    top_up=st.sampled_from(TopUp),
    rathole_ms=st.sampled_from([0, 0, 1_000, 600_000]),
    rake_bps=st.sampled_from([0, 1, 250, 1_000, 10_000]),
    rake_cap=st.sampled_from([None, 0, 1, 90, 10**9]),
    no_rake_before_fourth=st.booleans(),
    seats=st.sampled_from([8, 8, 8, 2, 3, 4, 5, 6, 7]),
    pre_check_call_any=st.booleans(),
    sit_out_max_ms=st.sampled_from([None, None, 1_000, 600_000]),
    sit_out_max_hands=st.sampled_from([None, None, 1, 3]),
    time_bank_chips=st.sampled_from([None, 1, 2, 20]),
    time_bank_refill_hands=st.sampled_from([None, 1, 2]),
    reconnect_ms=st.sampled_from([None, None, 1_000, 120_000]),
    show_connection=st.booleans(),
    waiting_list=st.sampled_from([None, 1, 3]),
    offer_ms=st.sampled_from([None, 5_000, 600_000]),
)


@st.composite
def configs(draw: st.DrawFn, rulesets: st.SearchStrategy[Ruleset]) -> TableConfig:
    """A table in the test currency, whose ranges are the widest."""
    ruleset = draw(rulesets)
    known = draw(st.sampled_from([None, None, *STAKES.values()]))
    small = draw(st.integers(2, 60)) if known is None else known.small_bet
    parameters: dict[str, Any] = {"currency": "XTS"}
    if known is None:
        known = Stakes(small, small + draw(st.integers(0, small)), draw(st.integers(0, small)), 1)
        parameters["bring_in"] = draw(st.integers(1, small - 1))
    if ruleset.bring_in is BringInKind.HALF_SMALL_BET:
        parameters["bring_in"] = half_small_bet(small)
    return table_config(ruleset, known, **parameters)
