"""Recorded hands that make no sense are refused with what would make some."""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from stud_hands.adjudication import judge
from stud_hands.record import BadHandError, BadLine, RecordedHand, parse_hand, read_places


def hands_of(path: Path) -> list[RecordedHand | BadLine]:
    return [hand for _, hand in read_places(path)]


GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "hands"
Hand = dict[str, Any]


def hands(name: str = "stars") -> list[Hand]:
    return [json.loads(line) for line in (GOLDEN / f"{name}.jsonl").read_text().splitlines()]


def events(hand: Hand, kind: str) -> list[Hand]:
    return [event for event in hand["events"] if event["type"] == kind]


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.jsonl")), ids=lambda path: path.stem)
def test_every_shared_hand_can_be_read(path: Path):
    assert all(isinstance(hand, RecordedHand) for hand in hands_of(path))


def test_a_file_that_is_none_is_told_as_one(tmp_path: Path):
    (bad,) = hands_of(tmp_path)
    assert isinstance(bad, BadLine)
    assert bad.line == 0
    assert str(bad).startswith(f"{tmp_path}: cannot be read (")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda h: h["seats"].append(dict(h["seats"][0])), "is there twice"),
        (lambda h: h["seats"][0].update(stack=0), "has a stack of 0, wanted more than 0"),
        (lambda h: h.update(small_bet=0), "wanted 2 <= small_bet <= big_bet"),
        (lambda h: h.update(ante=-1), "must not be negative"),
        (lambda h: h.update(bring_in=h["small_bet"]), "wanted null or 0 < bring_in < small_bet"),
        (lambda h: events(h, "fold")[0].update(player="P99"), "'P99' acts but has no seat"),
        (lambda h: events(h, "award")[0].update(amount=-5), "has an amount of -5"),
        (lambda h: events(h, "deal")[0].update(up=["1x"]), "or '??' if hidden"),
        (lambda h: events(h, "deal")[0].update(up=["As", "Ks"]), "wanted 2 and 1"),
        (lambda h: events(h, "street")[0].update(community=["As"]), "only street 7 can"),
        (lambda h: [cards.append("??") for cards in events(h, "street")[0]["cards"].values()], "wanted one"),
    ],
)
def test_what_makes_no_sense_is_said(change: Callable[[Hand], Any], why: str):
    hand = hands()[1]
    change(hand)
    with pytest.raises(BadHandError) as told:
        parse_hand(json.dumps(hand))
    assert why in str(told.value)


CONTRADICTIONS: list[tuple[Callable[[Hand], Any], str]] = [
    (lambda h: [e.update(up=["As"]) for e in events(h, "deal")[:2]], "the card As is dealt 2 times"),
    (lambda h: h["events"].insert(0, events(h, "deal")[0]), "is dealt in 2 times, wanted once"),
    (lambda h: h["events"].remove(events(h, "deal")[0]), "is dealt in 0 times, wanted once"),
    (lambda h: h["events"].append(events(h, "deal")[0]), "an ante or a deal stands after the first action"),
    (lambda h: events(h, "street")[0].update(street=6), "street 6 follows street 3, wanted 4"),
    (lambda h: h["events"].remove(events(h, "street")[-1]), "still in after street 6, wanted street 7"),
    (lambda h: h["events"].remove(events(h, "award")[0]), "awards of 0 and a rake of"),
    (lambda h: events(h, "street")[-1].update(cards={}, community=["??"]), "the river is a community card though"),
]


@pytest.mark.parametrize(("change", "why"), CONTRADICTIONS)
def test_what_contradicts_itself_is_a_wrong_hand_and_no_malformed_one(change: Callable[[Hand], Any], why: str):
    hand = next(hand for hand in hands() if len(events(hand, "show")) > 1 and not events(hand, "uncalled"))
    change(hand)
    assert why in judge(parse_hand(json.dumps(hand)), Random(1)).why


def test_nobody_is_dealt_a_card_after_they_folded():
    hand = hands()[1]
    folded = events(hand, "fold")[0]["player"]
    events(hand, "street")[-1]["cards"][folded] = ["??"]
    assert f"has a card for {folded}, who has folded" in judge(parse_hand(json.dumps(hand)), Random(1)).why


def test_nobody_shows_what_another_was_dealt():
    hand = next(hand for hand in hands() if events(hand, "show"))
    show = events(hand, "show")[0]
    others = [card for e in events(hand, "deal") if e["player"] != show["player"] for card in e["up"] if card != "??"]
    show["cards"] = [others[0], *show["cards"][1:]]
    assert f"shows {others[0]}, which P" in judge(parse_hand(json.dumps(hand)), Random(1)).why


def test_nobody_shows_what_nobody_was_dealt():
    """All his cards are known, so that another one has no place."""
    hand = next(hand for hand in hands("bovada") if events(hand, "show"))
    show = events(hand, "show")[0]
    known = {card for e in events(hand, "deal") for card in e["up"] + e["down"]} | set(show["cards"])
    known |= {card for e in events(hand, "street") for cards in e["cards"].values() for card in cards}
    free = [rank + suit for rank in "23456789TJQKA" for suit in "cdhs" if rank + suit not in known]
    show["cards"] = free[:8]
    assert "which they were not dealt" in judge(parse_hand(json.dumps(hand)), Random(1)).why
