"""Thousands of random hands with PokerKit at the same table; see ``beside`` for what is compared after every action.

``test_pokerkit_differs`` shows every difference in a hand of its own.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from random import Random

import pytest

from stud_core import betting
from stud_core.decide import showing
from stud_core.events import Verb
from stud_core.presets import PLAYNOW, WILLIAM_HILL, table_config
from stud_core.ruleset import HeadsUp, OddUnits, OpenPair, Ruleset, ShortAllIn
from tests.oracle.beside import CAPPED, TOO_SHORT, Beside
from tests.support.choosing import choose
from tests.support.core_table import FREE, knobs
from tests.support.deep import either, not_quick

RULES = {
    "as_alike_as_can_be": knobs(
        PLAYNOW,
        open_pair=OpenPair.OFF,
        heads_up=HeadsUp.NEVER,
        short_all_in=ShortAllIn.ANY,
        community_counts_for_first=False,
        odd_units=OddUnits.ALL_TO_FIRST_LEFT,
    ),
    "playnow": PLAYNOW,
    "william_hill": WILLIAM_HILL,
}
pytestmark = pytest.mark.timeout(either(120, 1_200))
CHUNKS = either(6, 6, 2)
HANDS = either(65, 1_000, 20)
"""Of each chunk: with the last test 1 530 hands, or 21 000 in a deep run."""

SHORT, DEEP = (30, 60, 150, 200, 240, 333), (500, 700, 1_300, 2_600, 5_000, 10_000, 20_000)
STYLES = (
    {Verb.FOLD: 1, Verb.CHECK: 4, Verb.CALL: 5, Verb.BRING_IN: 3},
    {Verb.FOLD: 1, Verb.CHECK: 2, Verb.CALL: 3, Verb.BRING_IN: 2, Verb.BET: 6, Verb.RAISE: 9, Verb.COMPLETE: 6},
    {Verb.FOLD: 0, Verb.CHECK: 6, Verb.CALL: 9, Verb.BRING_IN: 3},
)


def play(rules: Ruleset, rng: Random, short: float) -> tuple[Beside, bool]:
    """One hand at a table of its own, and whether somebody was all-in."""
    table = Beside(table_config(knobs(rules, **FREE), currency="XTS", small_bet=500))
    players = rng.choice([2, 2, 3, 3, 4, 5, 6, 7, 7, 8])
    seats = sorted(rng.sample(range(1, 9), players))
    table.sit_all({seat: rng.choice(SHORT if rng.random() < short else DEEP) for seat in seats})
    table.dealer.bring(rng.sample(range(52), 52))
    table.start()
    style = rng.choice(STYLES)
    all_in = False
    while table.state.hand is not None:
        all_in = all_in or any(table.hand.all_in)
        if table.turn:
            table.take(choose(rng, table.hand.options, style))
        else:
            table.timeout()
    return table, all_in


def many(name: str, chunk: int, hands: int, short: float = 0.06) -> Counter[str]:
    """What was met in so many hands; ``whole`` are those that PokerKit followed to the last chip."""
    rng = Random(f"{name} {chunk}")
    met = Counter[str]()
    with warnings.catch_warnings():
        # PokerKit warns of a fold where checking is free, and of every card that is named to it.
        warnings.simplefilter("ignore")
        for _ in range(hands):
            table, all_in = play(RULES[name], rng, short)
            met += table.met
            met.update(whole=not table.apart, all_in=all_in, whole_all_in=all_in and not table.apart)
    return met


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("name", RULES)
def test_random_hands_are_played_alike(name: str, chunk: int):
    met = many(name, chunk, HANDS)
    print(name, chunk, HANDS, dict(met))
    least = 0.75 if name == "as_alike_as_can_be" else 0.5
    assert met["whole"] > least * HANDS
    assert met["whole_all_in"] > 0.15 * HANDS


@not_quick("it takes many hands to meet them all")
def test_no_difference_is_left_to_be_met_by_chance_only():
    """Every difference that ``beside`` knows comes up in the random hands of one ruleset or another."""
    hands = either(60, 500)
    met = sum((many(name, 77, hands) + many(name, 78, hands, short=0.3) for name in RULES), Counter[str]())
    assert {
        "a completion below the bring-in",
        "a question to the last player",
        "a short all-in counts",
        "a short all-in reopens nothing",
        "a short bring-in is the price",
        "fold first in",
        "mucked cards are dealt again",
        "no higher limit for an open pair",
        "one size with an open pair",
        "two players are capped too",
    } <= set(met)
    assert {f"offered by us alone: {why}" for why in (CAPPED, TOO_SHORT)} <= set(met)


FAULTS: dict[str, tuple[object, str, Callable[..., object]]] = {
    "everybody wins": (showing, "pot_winners", lambda pot, _: pot.eligible),
    "the first dealt brings it in": (betting, "low_card", lambda hand: hand.order[0]),
    "boards by their last card": (betting, "board_strength", lambda cards: cards[-1] + 1),
    "bets of another size": (betting, "wager_target", lambda hand, config, _: hand.full_level + config.small_bet + 1),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_rule_that_is_wrong_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch):
    module, name, wrong = FAULTS[fault]
    monkeypatch.setattr(module, name, wrong)
    with pytest.raises(AssertionError):
        many("as_alike_as_can_be", 1, 60)
