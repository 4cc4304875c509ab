"""Files of recorded hands: what is accepted, and what is said of everything else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stud_cli.handfile import BadHandError, BadLine, RecordedHand, parse_hand, read_hands
from stud_cli.handscript import course_of
from tests.arch.repository import ROOT

Hand = dict[str, Any]
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
    ("limits", lambda h: h.update(small_bet=200), "bets 200/100, wanted 0 < small_bet <= big_bet"),
    ("ante", lambda h: h.update(ante=-1), "ante and rake must not be negative"),
    ("bring-in", lambda h: h.update(bring_in=50), "bring_in 50, wanted null or 0 < bring_in < small_bet (50)"),
    ("stranger", lambda h: event(h, "award").update(player="P9"), "'P9' acts but has no seat"),
    ("street of a stranger", lambda h: event(h, "street")["cards"].update(P9=["As"]), "'P9' acts but has no seat"),
    ("negative", lambda h: event(h, "ante").update(amount=-5), "P5 has an amount of -5, wanted 0 or more"),
    ("no such card", lambda h: event(h, "deal").update(up=["1s"]), "'1s' is no card"),
    ("twice", lambda h: event(h, "deal").update(up=["6c"]), "the card 6c is dealt 2 times"),
    ("three down", lambda h: event(h, "deal").update(down=["??"] * 3), "P1 is dealt 3 down and 1 up, wanted 2 and 1"),
    ("dealt in twice", lambda h: event(h, "deal", 1).update(player="P1"), "P1 is dealt in 2 times"),
    ("skipped street", lambda h: event(h, "street").update(street=5), "street 5 follows street 3, wanted 4"),
    ("folded", lambda h: event(h, "street")["cards"].update(P7=["As"]), "street 4 has a card for P7, who has folded"),
    ("two cards", lambda h: event(h, "street")["cards"].update(P5=["As", "Ad"]), "has 2 cards for P5, wanted one"),
    ("early community", lambda h: event(h, "street").update(community=["As"]), "only street 7 can"),
    ("nobody paid", lambda h: h["events"].pop(), "nobody is paid, wanted at least one award"),
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

    message = spoiled(change)
    assert "merge-7stud-0001" in message
    assert "; " in message


@pytest.mark.parametrize("line", [b"", b"[1]", b"\xff\xfe", b'{"id": "x"}', b"null"])
def test_lines_that_are_no_hand(line: bytes):
    with pytest.raises(BadHandError):
        parse_hand(line)


def test_a_file_is_read_line_by_line(tmp_path: Path):
    file = tmp_path / "hands.jsonl"
    file.write_bytes(LINE.encode() + b"\r\n\n\xff\n" + LINE.encode())
    found = list(read_hands(file))
    assert [number for number, _ in found] == [1, 3, 4]
    assert [isinstance(hand, RecordedHand) for _, hand in found] == [True, False, True]
    assert str(found[1][1]).startswith(f"{file}:3: not JSON")


def test_a_folder_is_no_file(tmp_path: Path):
    ((number, bad),) = read_hands(tmp_path)
    assert number == 0
    assert isinstance(bad, BadLine)
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


def test_a_seat_that_takes_no_part_is_not_dealt_in():
    hand = json.loads(LINE)
    hand["seats"].append({"seat": 11, "player": "P8", "stack": 500})
    assert len(course_of(parse_hand(json.dumps(hand))).stacks) == 7
