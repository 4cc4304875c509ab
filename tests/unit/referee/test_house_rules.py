"""The rules page says what is played, whatever the knobs."""

from __future__ import annotations

import pytest

from rules_service.house_rules import house_rules
from stud_core.presets import PLAYNOW, WILLIAM_HILL
from stud_core.ruleset import BuyInLimit, HeadsUp, OddUnits, OpenPair, Ruleset, ShortAllIn, TopUp
from tests.support.referee_hands import knobs


def text(rules: Ruleset) -> str:
    return "\n".join(house_rules(rules))


def test_the_two_pages_differ_where_the_rules_do():
    playnow, william_hill = text(PLAYNOW), text(WILLIAM_HILL)
    assert "A card is burned before" in playnow
    assert "No cards are burned." in william_hill
    assert "half of the lower limit" in william_hill
    assert "button" in william_hill
    assert "button" not in playnow
    assert "Once only two players who can still bet remain" in playnow
    assert "The cap holds for two players as well." in william_hill
    assert "shuffled together" in playnow
    assert "the next card is turned up" in william_hill
    assert all("None" not in page and "{" not in page for page in (playnow, william_hill))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"completion_counts_as_raise": True}, "counts as a raise."),
        ({"heads_up": HeadsUp.ROUND_START, "heads_up_counts_all_in": True}, "two players who have not folded"),
        ({"heads_up": HeadsUp.HAND_START}, "a hand that was dealt to two players"),
        ({"open_pair": OpenPair.HOLDER_ONLY}, "he may bet or raise by the higher"),
        ({"short_all_in": ShortAllIn.FULL_BET}, "a full bet or raise reopens"),
        ({"odd_units": OddUnits.HIGH_CARD_BY_SUIT}, "highest card by rank and suit"),
        ({"rake_bps": 250, "rake_cap": 300}, "takes 2.5 % of what was called, at most 300"),
        ({"rake_bps": 500, "no_rake_before_fourth": False}, "rounded down."),
        ({"away_folds_now": True}, "folded at his next turn"),
        ({"action_clock_ms": 0}, "To act: no time limit"),
        ({"action_clock_ms": 12_500}, "To act: 12.5 seconds"),
        ({"muck_losing_default": False}, "is asked whether he shows it"),
        ({"top_up": TopUp.ANY_AMOUNT, "min_buy_in": BuyInLimit(amount=400)}, "at least 400"),
        ({"auto_post_default": True}, "posted automatically"),
        ({"community_counts_for_first": False}, "does not count"),
    ],
)
def test_every_knob_is_told(changes: dict[str, object], words: str):
    assert words in text(knobs(PLAYNOW, **changes))


def test_no_rake_is_told_too():
    assert "No rake is taken." in text(PLAYNOW)
    assert "open pair" not in text(knobs(PLAYNOW, open_pair=OpenPair.OFF))
