"""Made-up hands that were spoiled after they were written down: none of them may come out."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from stud_hands.adjudication import Verdict, judge
from stud_hands.course import course_of
from stud_hands.pots import arithmetic
from stud_hands.record import parse_hand
from stud_hands.script import table_config
from tests.unit.hands.recorder import hide, random_hand

Hand = dict[str, Any]


def verdict(hand: Hand) -> Verdict:
    return judge(parse_hand(json.dumps(hand)), Random(1))


def test_money_of_every_open_hand_adds_up_without_cards():
    for number in range(100):
        hand = parse_hand(json.dumps(random_hand(number, Random(number))))
        assert arithmetic(course_of(hand), table_config(hand)) == []


# --- spoiled ------------------------------------------------------------------


def first(hand: Hand, *kinds: str) -> int | None:
    return next((i for i, e in enumerate(hand["events"]) if e["type"] in kinds), None)


def pay_more(hand: Hand) -> bool:
    hand["events"][first(hand, "award")]["amount"] += 1
    return True


def pay_a_folded_player(hand: Hand) -> bool:
    folded = first(hand, "fold")
    if folded is None:
        return False
    hand["events"][first(hand, "award")]["player"] = hand["events"][folded]["player"]
    return True


def pay_a_loser(hand: Hand) -> bool:
    """Everything to somebody whose known hand lost."""
    folded = {e["player"] for e in hand["events"] if e["type"] == "fold"}
    paid = {e["player"] for e in hand["events"] if e["type"] == "award"}
    losers = [s["player"] for s in hand["seats"] if s["player"] not in folded | paid]
    for event in hand["events"]:
        if event["type"] == "award" and losers:
            event["player"] = losers[0]
    return bool(losers)


def put_in_more(hand: Hand) -> bool:
    at = first(hand, "bet", "raise", "call", "complete")
    if at is not None:
        hand["events"][at]["amount"] += 1
        hand["events"][at]["to"] += 1
    return at is not None


def return_less(hand: Hand) -> bool:
    at = first(hand, "uncalled")
    if at is not None:
        hand["events"][at]["amount"] -= 1
    return at is not None


def return_nothing(hand: Hand) -> bool:
    at = first(hand, "uncalled")
    if at is not None:
        del hand["events"][at]
    return at is not None


def leave_out_an_action(hand: Hand) -> bool:
    at = [i for i, e in enumerate(hand["events"]) if e["type"] in {"check", "call", "fold"}]
    if len(at) > 2:
        del hand["events"][at[1]]
    return len(at) > 2


def post_less(hand: Hand) -> bool:
    hand["events"][first(hand, "ante")]["amount"] -= 1
    return True


SPOILERS = [
    pay_more,
    pay_a_folded_player,
    pay_a_loser,
    put_in_more,
    return_less,
    return_nothing,
    leave_out_an_action,
    post_less,
]


# What cards would have to show: with his cards hidden a loser may have won, with the boards hidden somebody else
# may have been first.
NEED_CARDS = {pay_a_loser, leave_out_an_action}


@pytest.mark.parametrize("spoil", SPOILERS, ids=lambda spoil: spoil.__name__)
@pytest.mark.parametrize("doors", [False, True], ids=["open", "hidden doors"])
def test_a_spoiled_hand_does_not_match(spoil: Callable[[Hand], bool], doors: bool):
    if doors and spoil in NEED_CARDS:
        return
    spoiled = 0
    for number in range(25):
        rng = Random(number)
        hand = copy.deepcopy(random_hand(number, rng))
        if doors:
            hand = copy.deepcopy(hide(hand, rng, doors=True))
        if not spoil(hand):
            continue
        spoiled += 1
        assert not verdict(hand).matched, hand["id"]
    assert spoiled
