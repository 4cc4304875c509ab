"""Presets, table configurations, and what may not be opened."""

from __future__ import annotations

from typing import get_type_hints

import msgspec
import pytest

from stud_core import commands as cmd
from stud_core.amounts import MAX_AMOUNT
from stud_core.decide import decide
from stud_core.presets import PLAYNOW, RULESETS, STAKES, WILLIAM_HILL, Stakes, table_config
from stud_core.rejection import Reason, Rejection
from stud_core.ruleset import BringInKind, BuyInLimit, Ruleset, TableConfig
from stud_core.state import Table
from stud_core.validate import RANGES, validate_config
from tests.support.core_table import knobs


def both() -> list[Ruleset]:
    return list(RULESETS.values())


@pytest.mark.rules("P48", "W2")
@pytest.mark.parametrize("ruleset", both(), ids=lambda ruleset: ruleset.name)
@pytest.mark.parametrize("stakes", STAKES.values(), ids=lambda stakes: str(stakes.small_bet))
def test_every_preset_can_be_opened(ruleset: Ruleset, stakes: Stakes):
    config = table_config(ruleset, stakes)
    assert validate_config(config) == []
    assert (config.small_bet, config.big_bet, config.ante) == (stakes.small_bet, stakes.big_bet, stakes.ante)
    assert config.min_buy_in == 10 * stakes.small_bet
    assert config.max_buy_in == (40 * stakes.small_bet if ruleset is PLAYNOW else None)


@pytest.mark.rules("P58", "W9")
@pytest.mark.knob("bring_in", BringInKind.PARAMETER, BringInKind.HALF_SMALL_BET)
def test_the_bring_in_is_the_tables_or_half_the_lower_limit():
    assert table_config(PLAYNOW).bring_in == 200
    assert table_config(WILLIAM_HILL).bring_in == 250
    assert table_config(WILLIAM_HILL, STAKES[5]).bring_in == 3
    assert table_config(PLAYNOW, bring_in=300).bring_in == 300
    assert table_config(PLAYNOW, bring_in=None).bring_in == 200


def test_parameters_win_over_stakes():
    config = table_config(PLAYNOW, small_bet=100)
    assert (config.small_bet, config.big_bet, config.ante, config.bring_in) == (100, 200, 25, 50)
    config = table_config(PLAYNOW, small_bet=710)
    assert (config.big_bet, config.ante, config.bring_in) == (1420, 71, 355), "no preset: a tenth and a half"
    config = table_config(PLAYNOW, small_bet=44, ante=3, bring_in=20, currency="CAD", table_id="t", stacked=True)
    assert (config.small_bet, config.big_bet, config.ante, config.currency) == (44, 88, 3, "CAD")
    config = table_config(PLAYNOW, Stakes(10, 30, 1, 3), hand_pause_ms=0, name="Spread")
    assert (config.big_bet, config.hand_pause_ms, config.name) == (30, 0, "Spread")


def faults(config: TableConfig) -> set[tuple[str, str]]:
    return {(problem.reason, problem.field) for problem in validate_config(config)}


def of(knob: str, value: int) -> list[object]:
    """What a number stands for: the length of a name, a buy-in limit as an amount and as a multiple."""
    if knob == "name":
        return ["n" * value]
    if knob in {"min_buy_in", "max_buy_in"}:
        return [BuyInLimit(amount=value), BuyInLimit(small_bets=value)]
    return [value]


def opened(knob: str, value: object) -> Rejection | None:
    """Open a table with this knob; clocks at a test table, where 0 is a value. Returns the refusal for the knob."""
    config = table_config(knobs(PLAYNOW, **{knob: value}), currency="XTS" if knob.endswith("clock_ms") else "EUR")
    answer = decide(Table(), cmd.OpenTable(config), cmd.Context(1, 1))
    told = isinstance(answer, Rejection) and answer.reason is Reason.INVALID_RULESET
    assert told == ((Reason.INVALID_RULESET, knob) in faults(config))
    return answer if isinstance(answer, Rejection) and told else None


@pytest.mark.parametrize(
    "knob",
    [
        pytest.param("name", marks=pytest.mark.knob("name", 0, 1, 64, 65)),
        pytest.param("version", marks=pytest.mark.knob("version", 0, 1, 2_147_483_647, 2_147_483_648)),
        pytest.param("max_raises", marks=pytest.mark.knob("max_raises", 0, 1, 10, 11)),
        pytest.param("river_burn_reserve", marks=pytest.mark.knob("river_burn_reserve", -1, 0, 2, 3)),
        pytest.param("action_clock_ms", marks=pytest.mark.knob("action_clock_ms", -1, 0, 600_000, 600_001)),
        pytest.param("ante_clock_ms", marks=pytest.mark.knob("ante_clock_ms", -1, 0, 600_000, 600_001)),
        pytest.param("show_clock_ms", marks=pytest.mark.knob("show_clock_ms", -1, 0, 600_000, 600_001)),
        pytest.param("time_bank_ms", marks=pytest.mark.knob("time_bank_ms", -1, 0, 600_000, 600_001)),
        pytest.param(
            "min_buy_in", marks=pytest.mark.knob("min_buy_in", 0, 1, 1_000_000_000_000_000, 1_000_000_000_000_001)
        ),
        pytest.param(
            "max_buy_in", marks=pytest.mark.knob("max_buy_in", 0, 1, 1_000_000_000_000_000, 1_000_000_000_000_001)
        ),
        pytest.param("rathole_ms", marks=pytest.mark.knob("rathole_ms", -1, 0, 86_400_000, 86_400_001)),
        pytest.param("rake_bps", marks=pytest.mark.knob("rake_bps", -1, 0, 1_000, 1_001)),
        pytest.param(
            "rake_cap", marks=pytest.mark.knob("rake_cap", -1, 0, 1_000_000_000_000_000, 1_000_000_000_000_001)
        ),
        pytest.param("seats", marks=pytest.mark.knob("seats", 1, 2, 8, 9)),
        pytest.param("sit_out_max_ms", marks=pytest.mark.knob("sit_out_max_ms", 999, 1_000, 86_400_000, 86_400_001)),
        pytest.param("sit_out_max_hands", marks=pytest.mark.knob("sit_out_max_hands", 0, 1, 1_000, 1_001)),
        pytest.param("time_bank_chips", marks=pytest.mark.knob("time_bank_chips", 0, 1, 20, 21)),
        pytest.param("time_bank_refill_hands", marks=pytest.mark.knob("time_bank_refill_hands", 0, 1, 1_000, 1_001)),
        pytest.param("reconnect_ms", marks=pytest.mark.knob("reconnect_ms", 999, 1_000, 120_000, 120_001)),
        pytest.param("waiting_list", marks=pytest.mark.knob("waiting_list", 0, 1, 100, 101)),
        pytest.param("offer_ms", marks=pytest.mark.knob("offer_ms", 4_999, 5_000, 600_000, 600_001)),
    ],
)
def test_a_number_lies_within_its_bounds(knob: str, request: pytest.FixtureRequest):
    """The four numbers of the marker: just below, least, most, just above."""
    marker = request.node.get_closest_marker("knob")
    assert marker is not None
    below, least, most, above = marker.args[1:]
    assert RANGES[knob] == (least, most) == (below + 1, above - 1)
    for value in (*of(knob, least), *of(knob, most)):
        assert opened(knob, value) is None
    for value in (*of(knob, below), *of(knob, above)):
        refusal = opened(knob, value)
        assert refusal is not None
        assert refusal.text.startswith(f"{knob}: ")


def test_every_number_has_bounds():
    numbers = {
        knob
        for knob, kind in get_type_hints(Ruleset).items()
        if kind in {str, int, int | None, BuyInLimit, BuyInLimit | None}
    }
    assert set(RANGES) == numbers


@pytest.mark.parametrize("limit", [BuyInLimit(), BuyInLimit(amount=1, small_bets=1)])
@pytest.mark.parametrize("knob", ["min_buy_in", "max_buy_in"])
def test_a_limit_is_one_of_two(knob: str, limit: BuyInLimit):
    assert opened(knob, limit) is not None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "n" * 101),
        ("name", "\x1b]0;owned\x07"),
        ("name", "nul\x00"),
        ("name", "two\nlines"),
        ("name", "\u202egnp.evil"),
        ("currency", "eur"),
        ("small_bet", 1),
        ("big_bet", 499),
        ("ante", -1),
        ("ante", 501),
        ("bring_in", 0),
        ("bring_in", 500),
        ("hand_pause_ms", -1),
        ("stacked", True),
    ],
)
def test_parameters_out_of_range(field: str, value: object):
    config = msgspec.structs.replace(table_config(PLAYNOW), **{field: value})
    assert (Reason.INVALID_TABLE, field) in faults(config)
    refusal = decide(Table(), cmd.OpenTable(config), cmd.Context(1, 1))
    assert isinstance(refusal, Rejection)
    assert refusal.reason is Reason.INVALID_TABLE


@pytest.mark.parametrize("knob", ["action_clock_ms", "ante_clock_ms", "show_clock_ms"])
def test_clocks_that_never_run_out_are_for_test_tables(knob: str):
    ruleset = knobs(PLAYNOW, **{knob: 0})
    assert faults(table_config(ruleset)) == {(Reason.INVALID_RULESET, knob)}
    assert faults(table_config(ruleset, currency="XTS")) == set()


def test_an_ante_above_the_small_bet_is_for_test_tables():
    """No rule relates the two (W5 and W6 only say that lower limits have lower antes): recorded hands may have any."""
    assert faults(table_config(PLAYNOW, ante=501)) == {(Reason.INVALID_TABLE, "ante")}
    assert faults(table_config(PLAYNOW, ante=50_000, currency="XTS")) == set()
    assert faults(table_config(PLAYNOW, ante=10**15 + 1, currency="XTS")) == {(Reason.INVALID_TABLE, "ante")}


def test_a_rake_above_ten_percent_is_for_test_tables():
    ruleset = knobs(PLAYNOW, rake_bps=10_000, rake_cap=5)
    assert faults(table_config(ruleset)) == {(Reason.INVALID_RULESET, "rake_bps")}
    assert faults(table_config(ruleset, currency="XTS", stacked=True)) == set()
    too_much = table_config(knobs(PLAYNOW, rake_bps=10_001), currency="XTS")
    assert faults(too_much) == {(Reason.INVALID_RULESET, "rake_bps")}


@pytest.mark.rules("W9")
@pytest.mark.knob("bring_in", BringInKind.PARAMETER, BringInKind.HALF_SMALL_BET)
def test_half_the_lower_limit_is_exact():
    assert faults(table_config(WILLIAM_HILL, bring_in=249)) == {(Reason.INVALID_TABLE, "bring_in")}
    parameter = knobs(WILLIAM_HILL, bring_in=BringInKind.PARAMETER)
    assert faults(table_config(parameter, bring_in=249)) == set()


def test_the_maximum_is_not_below_the_minimum():
    ruleset = knobs(PLAYNOW, max_buy_in=BuyInLimit(amount=4_999))
    assert faults(table_config(ruleset)) == {(Reason.INVALID_TABLE, "max_buy_in")}


def test_all_problems_are_told_the_rulesets_first():
    config = table_config(knobs(PLAYNOW, seats=9), currency="eur", ante=-1)
    problems = validate_config(config)
    assert [problem.reason for problem in problems] == [Reason.INVALID_RULESET] + [Reason.INVALID_TABLE] * 2
    assert str(problems[0]) == "seats: lies in 2..8"


def test_a_limit_is_an_amount_or_small_bets():
    assert BuyInLimit(amount=7).resolve(500) == 7
    assert BuyInLimit(small_bets=10).resolve(500) == 5_000


def test_a_name_is_printable():
    for name in ("\x1b[2Jplaynow", "a\x00b", "two\nlines"):
        assert opened("name", name) is not None
    assert opened("name", "Séven card") is None


@pytest.mark.parametrize("knob", ["min_buy_in", "max_buy_in"])
def test_a_multiple_of_the_small_bet_is_an_amount_that_can_be_booked(knob: str):
    """At 5/10 so many small bets come to the greatest amount; one more is refused, whatever the wire could hold."""
    most = MAX_AMOUNT // 500
    least = {"min_buy_in": BuyInLimit(amount=1)} if knob == "max_buy_in" else {"max_buy_in": None}
    fine = knobs(PLAYNOW, **{**least, knob: BuyInLimit(small_bets=most)})
    over = knobs(PLAYNOW, **{**least, knob: BuyInLimit(small_bets=most + 1)})
    assert faults(table_config(fine)) == set()
    assert faults(table_config(over)) == {(Reason.INVALID_TABLE, knob)}


def test_a_refusal_names_every_field_that_is_wrong():
    config = table_config(knobs(PLAYNOW, seats=9, max_raises=0), ante=-1)
    answer = decide(Table(), cmd.OpenTable(config), cmd.Context(1, 1))
    assert isinstance(answer, Rejection)
    assert [problem.field for problem in answer.problems] == ["max_raises", "seats", "ante"]
    assert (answer.reason, answer.field, answer.least, answer.most) == (Reason.INVALID_RULESET, "max_raises", 1, 10)
    assert answer.text.startswith("max_raises: lies in 1..10; seats: ")


@pytest.mark.parametrize("currency", ["EUR", "XTS"])
@pytest.mark.parametrize("field", [field for field in RANGES if field not in {"name", "min_buy_in", "max_buy_in"}])
def test_what_is_said_for_people_is_what_is_said_for_machines(field: str, currency: str):
    for value in (-1, 0, 10**9, 2**63 - 1):
        for problem in validate_config(table_config(knobs(PLAYNOW, **{field: value}), currency=currency)):
            if ".." in problem.text:
                assert problem.text == f"lies in {problem.least}..{problem.most}"


AMOUNTS = ("small_bet", "big_bet", "ante", "bring_in", "hand_pause_ms")


def with_number(config: TableConfig, field: str, value: int) -> TableConfig:
    """The configuration with one number changed, wherever it stands; a limit keeps its unit."""
    if field in AMOUNTS:
        return msgspec.structs.replace(config, **{field: value})
    old = getattr(config.ruleset, field)
    new: object = "n" * value if isinstance(old, str) else value
    if isinstance(old, BuyInLimit):
        new = BuyInLimit(amount=value) if old.amount is not None else BuyInLimit(small_bets=value)
    return msgspec.structs.replace(config, ruleset=knobs(config.ruleset, **{field: new}))


SOUND = [
    table_config(PLAYNOW),
    table_config(WILLIAM_HILL, STAKES[5]),
    table_config(PLAYNOW, currency="XTS", small_bet=2, big_bet=2, ante=0, bring_in=1),
    table_config(
        knobs(PLAYNOW, min_buy_in=BuyInLimit(amount=777), max_buy_in=BuyInLimit(small_bets=2), rake_cap=0), STAKES[500]
    ),
    table_config(knobs(WILLIAM_HILL, min_buy_in=BuyInLimit(small_bets=3), max_buy_in=BuyInLimit(amount=9_999))),
]


@pytest.mark.parametrize("config", SOUND)
@pytest.mark.parametrize("field", [*AMOUNTS, *RANGES])
def test_what_a_problem_says_would_be_right_is_right(field: str, config: TableConfig):
    """Whatever number is wrong: the least and the greatest it names are taken, and what is just beyond is not."""
    assert validate_config(config) == []
    if field != "name" and getattr(config.ruleset if field in RANGES else config, field) is None:
        config = with_number(config, field, 1) if field != "max_buy_in" else SOUND[0]
    for wrong in (-1, 0, 65, 601_001, 10**15 + 1, 2**62):
        if field == "name" and wrong > 65:
            continue
        for problem in validate_config(with_number(config, field, wrong)):
            if problem.field != field:
                continue
            assert problem.least is not None
            assert problem.most is not None

            def told(value: int) -> bool:
                return any(p.field == field for p in validate_config(with_number(config, field, value)))

            assert not told(problem.least)
            assert not told(problem.most)
            assert told(problem.most + 1)
            assert field == "name" or told(problem.least - 1)


def test_what_follows_from_a_small_bet_that_is_wrong_is_held_against_the_nearest_that_is_not():
    config = table_config(PLAYNOW, small_bet=0, big_bet=0, ante=-1, bring_in=0)
    told = {problem.field: (problem.least, problem.most) for problem in validate_config(config)}
    assert told == {
        "small_bet": (2, MAX_AMOUNT),
        "big_bet": (2, MAX_AMOUNT),
        "ante": (0, 2),
        "bring_in": (1, 1),
    }
    config = table_config(PLAYNOW, small_bet=MAX_AMOUNT + 1, big_bet=MAX_AMOUNT)
    assert faults(config) == {(Reason.INVALID_TABLE, "small_bet")}


@pytest.mark.parametrize("limit", [BuyInLimit(), BuyInLimit(amount=MAX_AMOUNT + 1), BuyInLimit(small_bets=0)])
def test_a_limit_that_is_none_is_told_once(limit: BuyInLimit):
    for knob in ("min_buy_in", "max_buy_in"):
        problems = validate_config(table_config(knobs(PLAYNOW, **{knob: limit})))
        assert [(problem.reason, problem.field) for problem in problems] == [(Reason.INVALID_RULESET, knob)]


def test_no_number_is_named_where_none_says_what_would_be_right():
    config = table_config(PLAYNOW, currency="eur", stacked=True)
    problems = validate_config(config)
    assert [(problem.field, problem.least, problem.most) for problem in problems] == [
        ("currency", None, None),
        ("stacked", None, None),
    ]
