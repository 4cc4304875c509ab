"""The table of reasons equals the catalogue, and a refusal says what it should."""

import re
from pathlib import Path

import pytest
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]

from stud.errors.v1 import reasons_pb2
from stud_core.events import Option, Size, Verb
from stud_core.presets import PLAYNOW
from stud_core.rejection import Reason, Rejection
from stud_core.ruleset import Ruleset
from stud_service.refusals import CODES, MAX_TEXT, Refused, legal_text
from tests.vectors.positions import both, fifth_street, fourth_street

PROTO = Path(__file__).parents[3] / "protos/stud/errors/v1/reasons.proto"
PREFIX = "REASON_"


def test_every_reason_of_the_enum_has_a_code():
    names = {name.removeprefix(PREFIX) for name in reasons_pb2.Reason.keys()}  # noqa: SIM118  (no mapping)
    assert set(CODES) == names - {"UNSPECIFIED"}


def test_the_codes_are_those_that_the_comments_promise():
    said = re.findall(r"([A-Z_]+)\.\n  REASON_(\w+) = ", PROTO.read_text())
    assert {reason: CODES[reason].name for _, reason in said} == {reason: code for code, reason in said}
    assert len(said) == len(CODES)


def test_every_reason_of_the_core_is_in_the_catalogue():
    assert {reason.value for reason in Reason} <= set(CODES)


def test_a_reason_that_is_not_in_the_catalogue_is_a_mistake_here():
    with pytest.raises(ValueError, match="NO_SUCH"):
        Refused("NO_SUCH", "text")


def info(refused: Refused) -> error_details_pb2.ErrorInfo:
    status = status_pb2.Status.FromString(refused.details())
    found = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(found)
    return found


def test_metadata_are_bounded():
    refused = Refused("INVALID_FIELD", "x" * 10_000, **{f"m{n}": "y" * 10_000 for n in range(50)})
    assert len(refused.details()) < 8 * 1024
    assert all(len(value) == MAX_TEXT for value in info(refused).metadata.values())


def test_a_rejection_without_rule_or_options_has_no_metadata():
    refused = Refused.from_rejection(Rejection(Reason.NO_HAND, "no hand is running"))
    assert (refused.reason, type(refused.reason), refused.metadata) == ("NO_HAND", str, {})
    assert str(refused) == "NO_HAND: no hand is running"


@pytest.mark.parametrize(
    ("option", "text"),
    [
        (Option(Verb.FOLD, 0, 0, None, False), "fold"),
        (Option(Verb.CHECK, 0, 200, None, False), "check"),
        (Option(Verb.BRING_IN, 50, 50, None, False), "bring-in 50"),
        (Option(Verb.CALL, 150, 200, None, False), "call 150"),
        (Option(Verb.COMPLETE, 150, 200, None, False), "complete to 200"),
        (Option(Verb.COMPLETE, 500, 500, None, False), "complete to 500"),
        (Option(Verb.RAISE, 2500, 2500, None, False), "raise to 2500"),
        (Option(Verb.BET, 400, 400, Size.HIGH, False), "bet 400 (high)"),
        (Option(Verb.RAISE, 120, 320, Size.LOW, True), "raise to 320 (low) all-in"),
    ],
)
def test_options_in_words(option, text):
    assert legal_text((option,)) == text


@both
@pytest.mark.parametrize("street", [4, 5])
def test_an_illegal_action_tells_machines_its_rule_and_what_is_legal(rules: Ruleset, street: int):
    """What a client gets, in the status of a call."""
    if street == 4:
        table = fourth_street(rules)
        table.play("1 bet 500", "2 raise 1500")
        rejected = table.reject(table.parse("3 raise 2000"))
        expected = ("P24" if rules is PLAYNOW else "W17", "fold; call 1500; raise to 2500 (high)")
    else:
        table = fifth_street(rules)
        rejected = table.reject(table.parse("1 bet 500"))
        expected = ("P27" if rules is PLAYNOW else "W16", "fold; check; bet 1000")
    told = info(Refused.from_rejection(rejected))
    assert told.reason == "ILLEGAL_ACTION"
    assert (told.metadata["rule"], told.metadata["legal"]) == expected
    status = status_pb2.Status.FromString(Refused.from_rejection(rejected).details())
    assert status.message == rejected.text


@pytest.mark.parametrize(
    ("least", "most", "told"),
    [
        (None, None, {}),
        (5_000, 20_000, {"min": "5000", "max": "20000"}),
        (1, 0, {"min": "1", "max": "0"}),
        (1, None, {"min": "1"}),
    ],
)
def test_bounds_are_told_to_machines(least: int | None, most: int | None, told: dict[str, str]):
    rejected = Rejection(Reason.TOP_UP_OUT_OF_LIMITS, "words", least=least, most=most)
    assert info(Refused.from_rejection(rejected)).metadata == told
