"""Files of recorded hands: what is accepted, and what is said of everything else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stud_hands.course import course_of
from stud_hands.record import BadHandError, BadLine, RecordedHand, parse_hand, read_places
from tests.arch.repository import ROOT

Hand = dict[str, Any]


def hands_of(path: Path) -> list[RecordedHand | BadLine]:
    return [hand for _, hand in read_places(path)]


LINE = (ROOT / "tests" / "golden" / "hands" / "merge.jsonl").read_text().splitlines()[0]


def spoiled(change: Callable[[Hand], object]) -> str:
    hand = json.loads(LINE)
    change(hand)
    with pytest.raises(BadHandError) as error:
        parse_hand(json.dumps(hand))
    return str(error.value)


def event(hand: Hand, kind: str, number: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = [e for e in hand["events"] if e["type"] == kind][number]
    return found


CASES: list[tuple[str, Callable[[Hand], object], str]] = [
    ("one seat", lambda h: h.update(seats=h["seats"][:1]), "1 seats, wanted 2 to 8"),
    ("two in one seat", lambda h: h["seats"][1].update(seat=0), "seat 0 is there twice"),
    ("one twice", lambda h: h["seats"][1].update(player="P1"), "player P1 is there twice"),
    ("no chips", lambda h: h["seats"][0].update(stack=0), "P1 has a stack of 0, wanted more than 0"),
    ("limits", lambda h: h.update(small_bet=200), "bets 200/100, wanted 2 <= small_bet <= big_bet"),
    ("no room for a bring-in", lambda h: h.update(small_bet=1), "bets 1/100, wanted 2 <= small_bet <= big_bet"),
    ("kind", lambda h: h.update(kind="home"), "Invalid enum value 'home'"),
    ("unit", lambda h: h.update(unit="euro"), "Invalid enum value 'euro'"),
    ("order of seats", lambda h: h["seats"].reverse(), "the seats are not in seat order"),
    ("a stack beyond all books", lambda h: h["seats"][0].update(stack=10**30), "more than 1000000000000000"),
    ("an ante beyond all books", lambda h: h.update(ante=10**15 + 1), "ante is 1000000000000001, more than"),
    ("an award beyond all books", lambda h: event(h, "award").update(amount=2**64), "an amount of P5 is 1844"),
    ("one down", lambda h: event(h, "deal").update(down=["??"]), "P1 is dealt 1 down and 1 up, wanted 2 and 1"),
    ("no card", lambda h: event(h, "street")["cards"].update(P5=[]), "has 0 cards for P5, wanted one"),
    ("eighth street", lambda h: event(h, "street").update(street=8), "street 8, wanted 4 to 7"),
    ("two rivers", lambda h: event(h, "street", 3).update(community=["2c"]), "a community card and cards of players"),
    ("two common cards", lambda h: event(h, "street", 3).update(cards={}, community=["2c", "2d"]), "2 community cards"),
    ("ante", lambda h: h.update(ante=-1), "ante and rake must not be negative"),
    ("bring-in", lambda h: h.update(bring_in=50), "bring_in 50, wanted null or 0 < bring_in < small_bet (50)"),
    ("stranger", lambda h: event(h, "award").update(player="P9"), "'P9' acts but has no seat"),
    ("street of a stranger", lambda h: event(h, "street")["cards"].update(P9=["As"]), "'P9' acts but has no seat"),
    ("negative", lambda h: event(h, "ante").update(amount=-5), "P5 has an amount of -5, wanted 0 or more"),
    ("no such card", lambda h: event(h, "deal").update(up=["1s"]), "'1s' is no card"),
    ("three down", lambda h: event(h, "deal").update(down=["??"] * 3), "P1 is dealt 3 down and 1 up, wanted 2 and 1"),
    ("two cards", lambda h: event(h, "street")["cards"].update(P5=["As", "Ad"]), "has 2 cards for P5, wanted one"),
    ("early community", lambda h: event(h, "street").update(community=["As"]), "only street 7 can"),
    ("missing field", lambda h: h.pop("seats"), "Object missing required field `seats`"),
    ("unknown event", lambda h: event(h, "muck").update(type="smile"), "Invalid value 'smile'"),
]


@pytest.mark.parametrize(("change", "text"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_is_wrong_is_said_with_what_would_be_right(change: Callable[[Hand], object], text: str):
    assert text in spoiled(change)


def test_everything_wrong_is_said_at_once():
    def change(hand: Hand) -> None:
        hand["ante"] = -1
        hand["seats"][0]["stack"] = 0

    assert "; " in spoiled(change)


def test_the_same_thing_is_said_once():
    """However many events a player without a seat has, and whatever else is wrong as often."""

    def change(hand: Hand) -> None:
        hand["events"] = [e | {"player": "P9"} if e.get("player") == "P5" else e for e in hand["events"]] * 2
        for each in hand["events"]:
            if each["type"] == "deal":
                each["up"] = ["1s"]

    texts = spoiled(change).split("; ")
    assert len(texts) == len(set(texts))
    assert "'P9' acts but has no seat" in texts


PRETTY = {
    "one hand": json.dumps(json.loads(LINE), indent=2),
    "after an empty line": "\n" + json.dumps(json.loads(LINE), indent="\t"),
    "with a mark and lines of Windows": "\ufeff" + json.dumps(json.loads(LINE), indent=2).replace("\n", "\r\n"),
    "a list of hands": json.dumps([json.loads(LINE)] * 3, indent=2),
    "a list, one hand a line": f"[\n{LINE},\n{LINE}\n]",
    "no hand at all": json.dumps({"hands": [1, 2]}, indent=1),
}


@pytest.mark.parametrize("text", PRETTY.values(), ids=PRETTY)
def test_a_value_over_several_lines_is_told_as_one(text: str, tmp_path: Path):
    file = tmp_path / "hands.jsonl"
    again = text.removeprefix("\ufeff")
    file.write_bytes(f"{text}\n{LINE}\n{again}\n".encode())
    first, hand, second = hands_of(file)
    assert isinstance(hand, RecordedHand)
    lines = len(text.strip("\ufeff\n").splitlines())
    for bad in (first, second):
        assert isinstance(bad, BadLine)
        assert f"one JSON value over {lines} lines: wanted one hand a line" in bad.why
        assert bad.hand_id == (hand.id if text.strip("\ufeff\n").startswith("{") and "hands" not in text else "")


@pytest.mark.parametrize("text", ["{", "{\n{", "{\n}}\n}", "[\n{\n]\n}"])
def test_lines_that_are_no_value_together_are_told_line_by_line(text: str, tmp_path: Path):
    file = tmp_path / "hands.jsonl"
    file.write_text(f"{text}\n{LINE}\n")
    *bad, hand = hands_of(file)
    assert [line.line for line in bad if isinstance(line, BadLine)] == [*range(1, len(text.split("\n")) + 1)]
    assert isinstance(hand, RecordedHand)


def test_the_id_of_a_line_that_is_no_hand_is_kept_where_it_begins_with_one():
    whole = json.dumps({"id": "h-1"} | {name: value for name, value in json.loads(LINE).items() if name != "id"})
    for line, name in [
        (whole.replace('"seats"', '"sits"'), "h-1"),
        (whole[:200], "h-1"),
        (whole.replace('"h-1"', "7"), ""),
        (whole.replace('"h-1"', '"h-\\u0031"').replace('"seats"', '"sits"'), ""),
        ('[{"id": "x"}]', ""),
    ]:
        with pytest.raises(BadHandError) as error:
            parse_hand(line)
        assert error.value.hand_id == name


@pytest.mark.parametrize("line", [b"", b"[1]", b"\xff\xfe", b'{"id": "x"}', b"null"])
def test_lines_that_are_no_hand(line: bytes):
    with pytest.raises(BadHandError):
        parse_hand(line)


def test_a_file_is_read_line_by_line(tmp_path: Path):
    file = tmp_path / "hands.jsonl"
    file.write_bytes(LINE.encode() + b"\r\n\n\xff\n" + LINE.encode())
    found = list(hands_of(file))
    assert [isinstance(hand, RecordedHand) for hand in found] == [True, False, True]
    assert str(found[1]).startswith(f"{file}:3: not JSON")


def test_a_folder_is_no_file(tmp_path: Path):
    (bad,) = hands_of(tmp_path)
    assert isinstance(bad, BadLine)
    assert bad.line == 0
    assert str(bad).startswith(f"{tmp_path}: cannot be read")


def test_a_community_card_may_stand_alone():
    line = next(
        text
        for text in (ROOT / "tests" / "golden" / "hands" / "stars.jsonl").read_text().splitlines()
        if "stars-7stud-0001" in text
    )
    hand = json.loads(line)
    event(hand, "street", -1)["community"] = "6h"
    course = course_of(parse_hand(json.dumps(hand)))
    assert course == course_of(parse_hand(line))
    assert course.common


def test_what_is_written_in_the_format_is_required():
    """Each field that something depends on, in the header and in every kind of event."""
    hand = json.loads(LINE)
    not_read = {"source", "site", "button", "notes"}
    for field in hand.keys() - not_read:
        without = {name: value for name, value in hand.items() if name != field}
        with pytest.raises(BadHandError, match=f"missing required field `{field}`"):
            parse_hand(json.dumps(without))
    for number, told in enumerate(hand["events"]):
        for field in told.keys() - ({"type", "to"} if told["type"] == "bring_in" else {"type"}):
            events = [dict(e) for e in hand["events"]]
            del events[number][field]
            with pytest.raises(BadHandError, match=f"missing required field `{field}`"):
                parse_hand(json.dumps(hand | {"events": events}))
    without = {name: value for name, value in hand.items() if name not in not_read}
    assert parse_hand(json.dumps(without)) == parse_hand(LINE)
