"""Generated hands: correct ones match with any seed, and no spoiled one does, whatever field was spoiled."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

import pytest

from stud_hands.adjudication import Verdict, judge
from stud_hands.record import parse_hand
from tests.support.deep import either
from tests.support.spoiled_hands import SPOILERS, Spoiler
from tests.unit.hands.recorder import five_shown, hide, random_hand

Hand = dict[str, Any]
HANDS = either(120, 720, 20)
SPOILED = either(12, 72, 4)


def verdict(hand: Hand, seed: int = 1) -> Verdict:
    return judge(parse_hand(json.dumps(hand)), Random(seed))


def made(number: int, **kind: Any) -> tuple[Hand, Random]:
    rng = Random(number)
    return random_hand(number, rng, tied=number % 3 == 0, **kind), rng


@pytest.mark.search
@pytest.mark.parametrize("rake", [None, 500])
def test_correct_hands_match_with_any_seed(rake: int | None):
    """A rake of 500 is more than many a main pot: whoever wins that one is paid nothing."""
    for number in range(HANDS):
        hand, rng = made(number, rake=rake)
        hidden = hide(hand, rng, doors=number % 2 == 0)
        shown = five_shown(hand, rng)
        for seed in range(2):
            for what in (hand, hidden, shown):
                found = verdict(what, seed)
                assert (found.why, found.note) == ("", ""), (number, seed, what)


@pytest.mark.search
def test_hidden_cards_are_found_with_every_seed():
    """Every card of all who had to show is hidden: the recorded result decides what they must be."""
    for number in range(HANDS // 4):
        hand, rng = made(number)
        bare = hide({**hand, "events": [e for e in hand["events"] if e["type"] != "show"]}, rng, doors=True)
        assert {(verdict(bare, seed).why, verdict(bare, seed).note) for seed in range(4)} == {("", "")}, number


def test_hidden_up_cards_are_found_where_they_decide_who_wins():
    """Two straights to the ace that share the pot; of both only the doors and one card of fifth street are hidden."""
    hand, rng = made(450)
    hidden = hide(hand, rng, doors=True)
    paid = [event["amount"] for event in hidden["events"] if event["type"] == "award"]
    open_cards = [c for e in hidden["events"] if e["type"] == "deal" for c in e["up"]]
    assert (len(paid), max(paid) - min(paid), open_cards) == (2, 1, ["??", "??"])
    for seed in range(4):
        found = verdict(hidden, seed)
        assert (found.why, found.note) == ("", "")


@pytest.mark.parametrize("number", [0, 2, 74, 93, 95])
def test_a_hidden_river_for_all_is_known_by_who_shows_it(number: int):
    """Of whoever shows, nothing but that is told: seven cards for six places of his own."""
    hand, _ = made(number)
    shown = {e["player"]: e["cards"] for e in hand["events"] if e["type"] == "show"}
    (river,) = [e["community"] for e in hand["events"] if e["type"] == "street" and e["community"]]
    for event in hand["events"]:
        if event["type"] == "show":
            event["cards"] = [*event["cards"], *river]
        elif event["type"] == "deal" and event["player"] in shown:
            event |= {"down": ["??", "??"], "up": ["??"]}
        elif event["type"] == "street":
            event["cards"] |= {player: ["??"] for player in event["cards"].keys() & shown.keys()}
            event["community"] = event["community"] and ["??"]
    assert len(hand["seats"]) == 8
    assert shown
    found = verdict(hand)
    assert (found.why, found.note) == ("", "")


@pytest.mark.parametrize(
    "spoil", [spoil for spoilers in SPOILERS.values() for spoil in spoilers], ids=lambda spoil: spoil.__name__
)
def test_a_spoiled_hand_does_not_match(spoil: Spoiler):
    """And what is told is no complaint about the format, since the line is a hand."""
    spoiled = number = 0
    while spoiled < SPOILED and number < 60 * SPOILED:
        number += 1
        hand, rng = made(number, rake=5)
        hand = copy.deepcopy(hand)
        if not spoil(hand, rng):
            continue
        spoiled += 1
        assert not verdict(hand).matched, (number, hand)
    assert spoiled == SPOILED, f"{number} hands had nothing to spoil"


def test_every_field_of_the_format_is_spoiled():
    """The names are those of tests/golden/hands/README.md."""
    said_by_nothing_else = {"id", "source", "site", "unit", "button", "notes", "big_bet"}
    fields = set(made(1)[0]) - said_by_nothing_else - {"events"}
    assert fields <= {name.split(".")[0] for name in SPOILERS}
