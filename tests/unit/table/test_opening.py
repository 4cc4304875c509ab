"""CreateTable's request read as a configuration: presets, overrides, stakes, and what cannot be read."""

from typing import Any

import msgspec
import pytest

from stud.common.v1 import ruleset_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core.presets import HAND_PAUSE_MS, PLAYNOW, WILLIAM_HILL
from stud_core.ruleset import BuyInLimit, DealOrigin, HeadsUp, TableConfig
from stud_core.validate import RANGES
from stud_service.refusals import Refused
from stud_wire.codec import to_message
from table_service import opening

SERVED = ("CAD", "EUR", "XTS")


def config_of(request: pb.CreateTableRequest) -> TableConfig:
    return opening.config_of(request, SERVED)


def request(**fields) -> pb.CreateTableRequest:
    return pb.CreateTableRequest(**{"table": "t-1", "currency": "EUR", "small_bet": 500, **fields})


def test_a_preset_is_taken_as_it_is_with_the_stakes_of_its_limit():
    config = config_of(request(preset="playnow"))
    assert config.ruleset == PLAYNOW
    assert (config.small_bet, config.big_bet, config.ante, config.bring_in) == (500, 1000, 50, 200)
    assert (config.name, config.hand_pause_ms, config.stacked) == ("t-1", HAND_PAUSE_MS, False)


def test_the_bring_in_of_william_hill_is_half_the_lower_limit_rounded_up():
    assert config_of(request(preset="william_hill")).bring_in == 250
    assert config_of(request(preset="william_hill", small_bet=25)).bring_in == 13


def test_stakes_that_are_no_preset_are_derived():
    config = config_of(request(preset="playnow", small_bet=700))
    assert (config.big_bet, config.ante, config.bring_in) == (1400, 70, 350)


def test_what_the_request_says_wins():
    config = config_of(
        request(
            preset="playnow",
            name="Main",
            big_bet=1500,
            ante=0,
            bring_in=1,
            hand_pause_ms=0,
            stacked=True,
            currency="XTS",
        )
    )
    assert (config.name, config.big_bet, config.ante, config.bring_in) == ("Main", 1500, 0, 1)
    assert (config.hand_pause_ms, config.stacked) == (0, True)


def test_named_fields_override_a_preset():
    other = ruleset_pb2.Ruleset(
        seats=6,
        deal_origin=ruleset_pb2.DEAL_ORIGIN_BUTTON,
        burns=False,
        heads_up=ruleset_pb2.HEADS_UP_NEVER,
    )
    config = config_of(
        request(preset="playnow", ruleset=other, override_fields=["seats", "deal_origin", "burns", "heads_up"])
    )
    expected = msgspec.structs.replace(
        PLAYNOW, seats=6, deal_origin=DealOrigin.BUTTON, burns=False, heads_up=HeadsUp.NEVER
    )
    assert config.ruleset == expected


RULESET_FIELDS = [field.name for field in ruleset_pb2.Ruleset.DESCRIPTOR.fields]


@pytest.mark.parametrize("knob", RULESET_FIELDS)
def test_a_field_that_is_set_but_not_named_is_refused(knob: str):
    """Whatever it is: a table must not open by other rules than were asked for."""
    switches = {name: True for name in RULESET_FIELDS if isinstance(getattr(PLAYNOW, name), bool)}
    numbers: dict[str, Any] = {"river_burn_reserve": 1, "rake_bps": 500}
    numbers |= {name: RANGES[name][0] for name in RULESET_FIELDS if getattr(WILLIAM_HILL, name) is None}
    numbers["max_buy_in"] = BuyInLimit(small_bets=50)
    numbers |= {"rathole_ms": 60_000, "time_bank_ms": 30_000}
    changed = msgspec.structs.replace(WILLIAM_HILL, **switches, **numbers)
    complete = to_message(changed)
    others = [name for name in RULESET_FIELDS if name != knob]
    with pytest.raises(Refused, match=f"not named in override_fields: {knob}$") as refused:
        config_of(request(preset="playnow", ruleset=complete, override_fields=others))
    assert (refused.value.reason, refused.value.metadata) == ("INVALID_FIELD", {"field": "override_fields"})
    with pytest.raises(Refused, match=knob):
        config_of(request(preset="playnow", ruleset=complete))
    taken = config_of(request(preset="playnow", ruleset=complete, override_fields=RULESET_FIELDS))
    assert taken.ruleset == changed


def test_a_limit_is_overridden_whole_and_an_absent_one_is_none():
    limit = ruleset_pb2.BuyInLimit(amount=1)
    config = config_of(
        request(
            preset="playnow",
            ruleset=ruleset_pb2.Ruleset(min_buy_in=limit),
            override_fields=["min_buy_in", "max_buy_in", "rake_cap"],
        )
    )
    assert (config.ruleset.min_buy_in, config.ruleset.max_buy_in) == (BuyInLimit(amount=1), None)
    assert config.ruleset.rake_cap is None


def test_a_complete_ruleset_needs_no_preset():
    assert config_of(request(ruleset=to_message(WILLIAM_HILL))).ruleset == WILLIAM_HILL


@pytest.mark.parametrize(
    ("fields", "reason", "words"),
    [
        ({"preset": "whist"}, "UNKNOWN_RULESET", "playnow, william_hill"),
        ({"preset": "playnow", "override_fields": ["colour"]}, "INVALID_FIELD", "no field 'colour'"),
        ({}, "INVALID_RULESET", "not complete"),
        ({"ruleset": ruleset_pb2.Ruleset(name="half")}, "INVALID_RULESET", "not complete"),
        ({"preset": "playnow", "override_fields": ["deal_origin"]}, "INVALID_RULESET", "not complete"),
    ],
)
def test_what_cannot_be_read_says_why(fields, reason, words):
    with pytest.raises(Refused, match=words) as refused:
        config_of(request(**fields))
    assert refused.value.reason == reason


CHOICES = [field.name for field in ruleset_pb2.Ruleset.DESCRIPTOR.fields if field.enum_type is not None]


@pytest.mark.parametrize("value", [0, 99, -1])
@pytest.mark.parametrize("knob", CHOICES)
def test_a_choice_that_is_none_is_named(knob: str, value: int):
    complete = to_message(WILLIAM_HILL)
    setattr(complete, knob, value)
    for wrong in (request(ruleset=complete), request(preset="playnow", ruleset=complete, override_fields=[knob])):
        if wrong.preset:
            del wrong.override_fields[:]
            wrong.override_fields.extend(RULESET_FIELDS)
        with pytest.raises(Refused) as refused:
            config_of(wrong)
        (problem,) = refused.value.problems
        assert (refused.value.reason, refused.value.metadata) == ("INVALID_RULESET", {"field": knob})
        assert (problem.reason, problem.field, problem.least, problem.most) == ("INVALID_RULESET", knob, None, None)
        assert "want one of" in problem.text


def told(**fields) -> list[tuple[str, str, int | None, int | None]]:
    with pytest.raises(Refused) as refused:
        config_of(request(**fields))
    wrong = refused.value
    first = wrong.problems[0]
    bounds = {"min": first.least, "max": first.most}
    expected = {"field": first.field} | {name: str(bound) for name, bound in bounds.items() if bound is not None}
    assert (wrong.reason, wrong.metadata) == (first.reason, expected)
    return [(problem.reason, problem.field, problem.least, problem.most) for problem in wrong.problems]


def test_everything_that_is_wrong_is_told_at_once():
    """Wherever it is found: in the names, the overrides, the ruleset, the stakes."""
    most = 10**15
    assert told(
        table="No Such",
        currency="JPY",
        preset="playnow",
        ruleset=ruleset_pb2.Ruleset(seats=9, rake_bps=5, max_raises=0),
        override_fields=["seats", "colour", "max_raises", "odd_units"],
        small_bet=1,
        ante=-1,
        hand_pause_ms=-5,
        name="two\nlines",
    ) == [
        ("INVALID_FIELD", "table", 1, 64),
        ("UNKNOWN_CURRENCY", "currency", None, None),
        ("INVALID_FIELD", "override_fields", None, None),
        ("INVALID_FIELD", "override_fields", None, None),
        ("INVALID_RULESET", "odd_units", None, None),
        ("INVALID_RULESET", "max_raises", 1, 10),
        ("INVALID_RULESET", "seats", 2, 8),
        ("INVALID_TABLE", "name", 0, 100),
        ("INVALID_TABLE", "small_bet", 2, most),
        ("INVALID_TABLE", "ante", 0, 2),
        ("INVALID_TABLE", "hand_pause_ms", 0, 600_000),
    ]


def test_what_only_follows_from_a_wrong_small_bet_is_not_told_as_well():
    assert told(preset="playnow", small_bet=0) == [("INVALID_TABLE", "small_bet", 2, 10**15)]
    assert [field for _, field, *_ in told(preset="playnow", small_bet=10**16)] == ["small_bet"]
    assert [field for _, field, *_ in told(preset="playnow", small_bet=0, big_bet=1)] == ["small_bet", "big_bet"]


def test_an_unknown_preset_is_no_excuse_for_the_rest():
    assert told(preset="whist", small_bet=10**15, ante=-1, override_fields=["colour"]) == [
        ("UNKNOWN_RULESET", "preset", None, None),
        ("INVALID_FIELD", "override_fields", None, None),
        ("INVALID_TABLE", "big_bet", 10**15, 10**15),
        ("INVALID_TABLE", "ante", 0, 10**15),
    ]


def test_the_tables_and_the_rulesets_field_of_one_name_are_told_apart():
    complete = to_message(WILLIAM_HILL)
    complete.bring_in = 0
    complete.name = ""
    assert told(ruleset=complete, bring_in=0, name="x" * 101) == [
        ("INVALID_RULESET", "bring_in", None, None),
        ("INVALID_RULESET", "name", 1, 64),
        ("INVALID_TABLE", "name", 0, 100),
        ("INVALID_TABLE", "bring_in", 1, 499),
    ]
