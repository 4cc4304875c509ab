"""Tables, stacks, decks and ways to play for the referee's random hands, so that what is rare comes often enough."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from stud_core.events import Verb
from stud_core.presets import PLAYNOW, WILLIAM_HILL, table_config
from stud_core.ruleset import (
    BringInKind,
    DealOrigin,
    HeadsUp,
    OddUnits,
    OpenPair,
    RiverShortage,
    Ruleset,
    ShortAllIn,
    TableConfig,
)
from tests.oracle.held import Held, Style
from tests.support.core_table import FREE, knobs

CLOCKS = [0, 10_000]
KNOBS: dict[str, list[Any]] = {
    "deal_origin": list(DealOrigin),
    "burns": [True, False],
    "bring_in": list(BringInKind),
    "completion_counts_as_raise": [False, True],
    "max_raises": list(range(1, 11)),
    "heads_up": list(HeadsUp),
    "heads_up_counts_all_in": [False, True],
    "open_pair": list(OpenPair),
    "short_all_in": list(ShortAllIn),
    "river_shortage": list(RiverShortage),
    "river_burn_reserve": [0, 1, 2],
    "community_counts_for_first": [True, False],
    "odd_units": list(OddUnits),
    "away_folds_now": [False, True],
    "action_clock_ms": CLOCKS,
    "ante_clock_ms": CLOCKS,
    "show_clock_ms": CLOCKS,
    "sit_out_max_ms": [None, 5_000],
    "sit_out_max_hands": [None, 1, 2],
    "time_bank_ms": [0, 15_000],
    "time_bank_chips": [None, 3],
    "time_bank_refill_hands": [None, 2],
    "reconnect_ms": [None, 20_000],
    "rake_bps": [0, 250, 333, 1_000],
    "rake_cap": [None, 0, 37, 300],
    "no_rake_before_fourth": [True, False],
}
"""Every knob that the play of a hand depends on, with the values that are drawn."""

STAKES = [(5, 10), (25, 50), (333, 777), (500, 1_000), (2_000, 4_000)]
STYLES: list[Style] = [
    {Verb.FOLD: 1, Verb.CHECK: 4, Verb.CALL: 5, Verb.BRING_IN: 3, Verb.OPEN: 1},
    {Verb.FOLD: 1, Verb.CHECK: 2, Verb.CALL: 3, Verb.BRING_IN: 2, Verb.BET: 6, Verb.RAISE: 8, Verb.COMPLETE: 6},
    {Verb.FOLD: 0, Verb.CHECK: 9, Verb.CALL: 9, Verb.BRING_IN: 9},
    {Verb.FOLD: 1, Verb.CHECK: 30, Verb.CALL: 30, Verb.BRING_IN: 30},
]
HANDS_AT_A_TABLE = 6


def ruleset(rng: Random) -> Ruleset:
    """One of the presets as it is, or with every knob turned."""
    preset = rng.choice([PLAYNOW, WILLIAM_HILL])
    turned: dict[str, Any] = {name: rng.choice(values) for name, values in KNOBS.items()} if rng.random() < 0.6 else {}
    return knobs(preset, **FREE, **turned)


def config(rng: Random) -> TableConfig:
    rules = ruleset(rng)
    small, big = rng.choice(STAKES)
    ante = rng.choice([0, 1, small // 10, small // 7 + 1, small // 3])
    half = rules.bring_in is BringInKind.HALF_SMALL_BET
    bring_in = None if half else rng.choice([1, small // 3, small // 2, small - 1])
    return table_config(rules, currency="XTS", small_bet=small, big_bet=big, ante=ante, bring_in=bring_in)


def stack(rng: Random, table: TableConfig) -> int:
    """From less than an ante to more than anybody can lose in a hand."""
    least, most = rng.choice([(0.02, 0.3), (0.3, 2), (2, 8), (8, 40), (40, 100)])
    return max(1, round(table.small_bet * rng.uniform(least, most)))


def deck(rng: Random, equal: float = 0.2) -> list[int]:
    """A shuffled deck, or (so often) one in which neighbours get equal ranks, so that pots are split."""
    if rng.random() >= equal:
        return rng.sample(range(52), 52)
    ranks = rng.sample(range(13), 13)
    return [4 * rank + suit for rank in ranks for suit in rng.sample(range(4), 4)]


def table(rng: Random) -> Held:
    """A table of its own, seated: often full, so that the deck runs short."""
    held = Held(config(rng), rng)
    seats = sorted(rng.sample(range(1, 9), rng.choice([2, 2, 3, 4, 5, 6, 7, 7, 8, 8, 8, 8])))
    held.sit_all(
        {seat: stack(rng, held.config) for seat in seats},
        auto_post=rng.random() < 0.9,
        muck_losing=rng.random() < 0.6,
    )
    return held


def play(rng: Random, hands: int, used: Counter[str]) -> Counter[str]:
    """Play so many hands at as many tables as it takes; every one must be found right. ``used`` counts knob values."""
    counts = Counter[str]()
    while counts["hands"] < hands:
        held = table(rng)
        used.update(f"{name}={getattr(held.config.ruleset, name)}" for name in KNOBS)
        full = sum(map(bool, held.state.seats)) > 6
        style = rng.choice(STYLES[2:] if full and rng.random() < 0.5 else STYLES)
        for _ in range(HANDS_AT_A_TABLE):
            if not held.can_play:
                break
            held.play_hand(deck(rng), rng.sample(range(52), 52), style)
            held.between()
        counts += held.counts
    return counts
