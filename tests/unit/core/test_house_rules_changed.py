"""A table whose rules bear a preset's name but are not the preset's says so at the head of its page."""

from __future__ import annotations

import pytest

from stud_core.house_rules import WIDTH, changed, headline, page
from stud_core.presets import PLAYNOW, STAKES, WILLIAM_HILL, table_config
from stud_core.ruleset import BuyInLimit, Ruleset
from tests.support.core_table import knobs
from tests.unit.core.test_house_rules import BASES, SPOKEN, values
from tests.vectors.positions import both

SAYS = "but this house has changed what stands under: "


@pytest.mark.parametrize(
    ("changes", "titles"),
    [
        ({"rake_bps": 500}, ["Rake"]),
        ({"seats": 6}, ["The table", "Short of cards"]),
        ({"action_clock_ms": 20_000, "max_raises": 4}, ["The cap", "Clock and away"]),
        ({"show_clock_ms": 5_000, "min_buy_in": BuyInLimit(small_bets=20)}, ["Buying in", "Showdown"]),
        ({"version": 2}, []),
        ({"pre_fold_is_literal": True}, []),  # nobody can choose ahead there
    ],
)
def test_the_headline_says_what_is_changed(changes: dict[str, object], titles: list[str]):
    config = table_config(knobs(PLAYNOW, **changes), small_bet=1_000)
    told = f", {SAYS}{', '.join(titles)}" if titles else ""
    assert changed(config) == titles
    assert headline(config).endswith(f'10/20 EUR: house rules "playnow", version {config.ruleset.version}{told}')


@pytest.mark.parametrize("knob", [knob for knob in SPOKEN if knob not in {"name", "version"}])
def test_no_knob_is_changed_in_silence(knob: str):
    base = BASES.get(knob, PLAYNOW)
    silent = [value for value in values(knob) if not changed(table_config(knobs(base, **{knob: value})))]
    if knob == "rake_cap":
        assert silent == [0], "no rake is taken, as in the preset"
    else:
        assert silent == [getattr(base, knob)] * (base in {PLAYNOW, WILLIAM_HILL})


@both
def test_a_preset_has_nothing_to_say_at_any_stakes(rules: Ruleset):
    for stakes in STAKES.values():
        config = table_config(rules, stakes, ante=0, hand_pause_ms=0)
        assert changed(config) == []
        assert SAYS not in page(config)


def test_rules_of_an_own_name_are_compared_with_nothing():
    assert SAYS not in page(table_config(knobs(PLAYNOW, name="friday_night", rake_bps=500)))


def test_a_page_with_every_section_changed_is_still_a_page():
    lines = page(table_config(knobs(WILLIAM_HILL, name="playnow", rake_bps=500, seats=6))).splitlines()
    assert max(len(line) for line in lines) <= WIDTH
    assert SAYS in " ".join(lines[:4])
