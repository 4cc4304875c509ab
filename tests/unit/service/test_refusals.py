"""The table of reasons equals the catalogue, and a refusal says what it should."""

import base64
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from google.rpc import error_details_pb2  # type: ignore[import-untyped]

from stud.errors.v1 import details_pb2, reasons_pb2
from stud_core.events import Option, Size, Verb
from stud_core.presets import PLAYNOW
from stud_core.rejection import Problem, Reason, Rejection
from stud_core.ruleset import Ruleset
from stud_service.refusals import CODES, MAX_TEXT, Refused, cut, legal_text
from stud_wire.codec import from_message
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
    status = refused.status()
    found = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(found)
    return found


def detail(refused: Refused, kind: Any) -> Any:
    """The one further detail of a kind; behind the ErrorInfo, which every client looks for first."""
    status = refused.status()
    assert status.details[0].Is(error_details_pb2.ErrorInfo.DESCRIPTOR)
    (packed,) = [packed for packed in status.details[1:] if packed.Is(kind.DESCRIPTOR)]
    found = kind()
    assert packed.Unpack(found)
    return found


PROBLEMS = [
    Problem("INVALID_RULESET", "max_raises", "lies in 1..10", 1, 10),
    Problem("INVALID_FIELD", "override_fields", "a ruleset has no field 'colour'"),
    Problem("INVALID_TABLE", "ante", "lies between 0 and the small bet", 0, 500),
]


def test_everything_that_is_wrong_is_listed_for_machines_and_the_first_in_the_metadata():
    refused = Refused.of_problems(PROBLEMS)
    assert (refused.reason, refused.metadata) == ("INVALID_RULESET", {"field": "max_raises", "min": "1", "max": "10"})
    assert refused.text.startswith("max_raises: lies in 1..10; override_fields: ")
    wrong = detail(refused, details_pb2.WrongFields).fields
    assert [(field.reason, field.field, field.text) for field in wrong] == [
        (problem.reason, problem.field, problem.text) for problem in PROBLEMS
    ]
    assert [(field.HasField("min"), field.HasField("max")) for field in wrong] == [
        (True, True), (False, False), (True, True),
    ]  # fmt: skip
    assert (wrong[2].min, wrong[2].max) == (0, 500)
    by_core = Refused.from_rejection(Rejection.of_config([PROBLEMS[0], PROBLEMS[2]]))
    assert by_core.metadata == refused.metadata
    assert len(detail(by_core, details_pb2.WrongFields).fields) == 2


@pytest.mark.parametrize("number", [1, 30, 45, 100, 2000])
@pytest.mark.parametrize("letter", ["x", "\u00e9", "\u20ac", "\U0001f0a1", '"'])
def test_all_trailers_stay_below_eight_kilobytes(number: int, letter: str):
    """With the text beside them, percent-encoded as gRPC sends it, and the details in base64, whatever letters."""
    long = letter * 1000
    problems = [Problem("INVALID_RULESET", f"knob_{n}", long, -(2**63), 2**63 - 1) for n in range(number)]
    refused = Refused.of_problems(problems)
    refused.metadata |= {"field": "knob_0", **{f"m{n}": long for n in range(number)}}
    refused.legal = tuple([Option(Verb.RAISE, 2**60, 2**60, Size.HIGH, True)] * 8)
    told = quote(cut(refused.text), safe=" ")
    assert len(told) + len(base64.b64encode(refused.status().SerializeToString())) + 200 < 8 * 1024
    wrong = detail(refused, details_pb2.WrongFields).fields
    assert wrong[0].field == "knob_0"
    plain = Refused.of_problems(problems)
    listed = detail(plain, details_pb2.WrongFields).fields
    assert len(listed) == number if number <= 45 else 45 < len(listed) <= 100


def test_what_is_legal_is_told_to_machines():
    legal = (Option(Verb.FOLD, 0, 0, None, False), Option(Verb.RAISE, 300, 400, Size.HIGH, True))
    refused = Refused.from_rejection(Rejection(Reason.ILLEGAL_ACTION, "words", "P56", legal))
    told = detail(refused, details_pb2.LegalActions).options
    assert tuple(from_message(Option, option) for option in told) == legal
    assert refused.metadata["legal"] == legal_text(legal)


def test_what_is_open_now_is_told_to_machines():
    assert Refused.from_rejection(Rejection(Reason.STALE_TURN, "words", turn_id=7)).metadata == {"turn_id": "7"}
    assert Refused.from_rejection(Rejection(Reason.STALE_PROMPT, "words", prompt_id=0)).metadata == {"prompt_id": "0"}


def test_a_text_is_cut_between_characters():
    assert cut("a" + "\u20ac" * 3, 6) == "a\u20ac"
    assert cut("lone \ud800") == "lone ?"


def test_metadata_are_bounded():
    refused = Refused("INVALID_FIELD", "x" * 10_000, **{f"m{n}": "y" * 10_000 for n in range(50)})
    assert refused.status().ByteSize() < 8 * 1024
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
        (Option(Verb.BRING_IN, 50, 50, None, False), "bring in 50"),
        (Option(Verb.CALL, 150, 200, None, False), "call 150"),
        (Option(Verb.COMPLETE, 150, 200, None, False), "complete to 200"),
        (Option(Verb.COMPLETE, 500, 500, None, False), "complete to 500"),
        (Option(Verb.RAISE, 2500, 2500, None, False), "raise to 2500"),
        (Option(Verb.BET, 400, 400, Size.HIGH, False), "bet to 400"),
        (Option(Verb.RAISE, 120, 320, Size.LOW, True), "raise to 320 all-in"),
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
        expected = ("P24" if rules is PLAYNOW else "W17", "fold; call 1500; raise to 2500")
    else:
        table = fifth_street(rules)
        rejected = table.reject(table.parse("1 bet 500"))
        expected = ("P27" if rules is PLAYNOW else "W16", "fold; check; bet to 1000")
    told = info(Refused.from_rejection(rejected))
    assert told.reason == "ILLEGAL_ACTION"
    assert (told.metadata["rule"], told.metadata["legal"]) == expected
    status = Refused.from_rejection(rejected).status()
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


SERVICES = ("table/v1/table", "wallet/v1/wallet", "rules/v1/rules", "dealer/v1/dealer")
NOT_FOR_CALLERS = {
    "HAND_NOT_STARTABLE", "UNEXPECTED_CARDS", "UNKNOWN_SITTING", "ALREADY_DONE", "CLAIM_MISMATCH", "SITTING_MISMATCH",
    "ESCROW_OVERDRAWN",
}  # fmt: skip
"""What only services say to one another, or nobody yet."""


def comments() -> str:
    """What the contract says of its services and their calls."""
    texts = [(PROTO.parents[2] / f"{name}_service.proto").read_text() for name in SERVICES]
    lines = [line for text in texts for line in text[: text.index("\n}\n")].splitlines()]
    return "\n".join([line for line in lines if line.strip().startswith("//")])


def test_the_reasons_that_calls_name_are_those_of_the_catalogue_and_all_of_them():
    told = set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)*\b", comments()))
    assert {name for name in told if "_" in name} <= set(CODES)
    assert set(CODES) - told == NOT_FOR_CALLERS
