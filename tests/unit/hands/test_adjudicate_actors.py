"""Who acts first where boards are hidden: what no cards can bring about is a mismatch, what some can is none."""

from __future__ import annotations

import json
from itertools import permutations
from random import Random
from typing import Any

import msgspec
import pytest

from stud_core.ruleset import Ruleset
from stud_hands.course import Course, course_of
from stud_hands.hidden.actors import nobody_can_begin
from stud_hands.hidden.boards import Boards
from stud_hands.record import parse_hand
from stud_hands.script import table_config
from tests.support.deep import either, not_quick
from tests.unit.hands.recorder import random_hand
from tests.unit.hands.test_adjudicate_hidden import course, heads_up, of, verdict

Hand = dict[str, Any]
HIDDEN = "?? ?? ??"


@pytest.mark.parametrize(
    ("p1", "p2", "why"),
    [
        ("?? Ad Ah 8s", "2c 3c 4d 5d", "street 3: no cards make P1"),  # nothing is lower than the deuce of clubs
        ("3c Ad ?? 8s", "4c Ah 4d 5d", ""),
        ("3c Ad ?? 8s", "4c Ks 4d 5d", "P1 has to act (fold, check, bet to 100), recorded P2"),  # all of it is known
        ("?? Ad ?? 8s", "4c Kd 4d 5d", "street 4: no cards make P2"),
        ("2c 7d 7h ??", "3d ?? 4c 5d", "street 5: no cards make P2"),  # whatever he had, it was no better pair
        ("2c 7d ?? ??", "3d Ks Kd Kh", ""),
        ("?? ?? ?? ??", "?? ?? ?? ??", ""),
        ("?? As 9d ??", "3c Ah 9h ??", ""),  # a deuce lets P1 bring it in, and P2 lead
        ("?? 2s ?? ??", "3c 9d ?? ??", "street 4: no cards that go with the streets before make P2"),  # it is a pair
    ],
)
def test_boards_that_no_cards_can_make_are_a_mismatch(p1: str, p2: str, why: str):
    """P1 brings it in, P2 leads on every later street."""
    found = verdict(heads_up((p1, HIDDEN), (p2, HIDDEN), awards={"P2": 120}))
    assert why in found.why
    assert (found.matched, found.note) == (not why, "")
    assert "no cards" not in why or found.script is None


@pytest.mark.search
@not_quick("takes five seconds")
def test_the_river_is_led_by_who_led_sixth_street():
    hand = heads_up(("?? ?? ?? ??", HIDDEN), ("?? ?? ?? ??", HIDDEN), awards={"P2": 120})
    last = [at for at, event in enumerate(hand["events"]) if event["type"] == "check"][-2:]
    hand["events"][last[0]], hand["events"][last[1]] = hand["events"][last[1]], hand["events"][last[0]]
    assert "street 7: no cards that go with the streets before make P1 the first to act" in verdict(hand).why


# --- how a hand begins --------------------------------------------------------


def third_street(*actions: Hand, players: int = 2) -> Hand:
    """A hand that ends on third street; nobody's cards are known. Whoever is left gets the pot."""
    names = [f"P{number}" for number in range(1, players + 1)]
    put_in = {name: sum(event["amount"] for event in actions if event["player"] == name) for name in names}
    left = next(name for name in names if name not in {e["player"] for e in actions if e["type"] == "fold"})
    back = put_in[left] - max(put_in[name] for name in names if name != left)
    pot = sum(put_in.values()) - back + 20 * players
    return {
        "id": "third", "kind": "cash", "unit": "chip", "pot_total": pot, "rake": 0,
        "small_bet": 100, "big_bet": 200, "ante": 20, "bring_in": 40,
        "seats": [{"seat": number, "player": name, "stack": 1000} for number, name in enumerate(names)],
        "events": [
            *(of("ante", name, amount=20) for name in names),
            *(of("deal", name, down=["??", "??"], up=["??"]) for name in names),
            *actions,
            *([{"type": "uncalled", "player": left, "amount": back}] if back else []),
            of("award", left, amount=pot),
        ],
    }  # fmt: skip


BRING_IN = of("bring_in", "P2", amount=40, to=40)
DECLINED = "street 3: P1 folds where the low card brings it in: wanted a bring-in or a complete (B.3)"


@pytest.mark.parametrize(
    ("hand", "whys"),
    [
        (third_street(of("fold", "P1"), BRING_IN), [DECLINED, "nobody has to act any more, recorded P2 bring_in"]),
        (third_street(of("fold", "P1")), [DECLINED]),
        (third_street(of("fold", "P1"), BRING_IN, of("fold", "P3"), players=3), [DECLINED]),
        (third_street(of("fold", "P1"), of("fold", "P2"), players=3), [DECLINED]),
        (third_street(of("check", "P1"), BRING_IN, of("fold", "P1")), ["P1 check", "bring in 40"]),
        (
            third_street(BRING_IN, of("fold", "P1"), of("complete", "P2", amount=60, to=100)),
            ["3 actions recorded, 2 played"],
        ),
        (
            third_street(BRING_IN, of("fold", "P1"), of("fold", "P3"), players=3),
            ["P3 has to act (fold, call 40, complete to 100), recorded P1 fold"],
        ),
        (third_street(BRING_IN, of("fold", "P1")), []),
        (third_street(BRING_IN, of("fold", "P3"), of("fold", "P1"), players=3), []),
    ],
)
def test_a_start_that_no_cards_can_bring_about_is_a_mismatch(hand: Hand, whys: list[str]):
    found = verdict(hand)
    for why in whys or [""]:
        assert why in found.why
    assert (found.matched, found.note) == (not whys, "")


@pytest.mark.parametrize(
    ("all_in", "first", "may"),
    [
        ({1}, 2, True),  # the next one behind the low card
        ({1}, 3, False),
        ({1, 2}, 3, True),
        ({2}, 1, False),  # P3 is behind P2
        ({3}, 1, True),  # and behind P3 comes P1 again
        (set(), 1, False),
    ],
)
def test_only_behind_a_low_card_without_chips_the_first_to_act_may_fold(all_in: set[int], first: int, may: bool):
    facts = course(third_street(BRING_IN, of("fold", "P3"), of("fold", "P1"), players=3))
    street = msgspec.structs.replace(facts.streets[0], all_in=frozenset(all_in), first=first, declined=True)
    if len(all_in) == 2:
        four = course(third_street(BRING_IN, *(of("fold", f"P{number}") for number in (3, 4, 1)), players=4))
        facts, street = four, msgspec.structs.replace(street, dealt=four.streets[0].dealt)
    told = nobody_can_begin(msgspec.structs.replace(facts, streets=(street,)))
    assert (told == []) is may
    assert may or f"P{first} folds where the low card brings it in" in told[0]


# --- a proof is one -----------------------------------------------------------


def some_hidden(number: int) -> tuple[Course, Ruleset] | None:
    """A random hand with one or two hidden up cards, where somebody else is said to have begun a street."""
    rng = Random(number)
    hand = random_hand(number, rng)
    places = [event["up"] for event in hand["events"] if event["type"] == "deal"]
    for event in hand["events"]:
        if event["type"] == "street" and event["street"] < 7:
            places += event["cards"].values()
    for cards in rng.sample(places, min(rng.choice([1, 2]), len(places))):
        cards[0] = "??"
    hand["events"] = [event for event in hand["events"] if event["type"] not in {"show", "muck"}]
    read = parse_hand(json.dumps(hand))
    facts = course_of(read)
    streets = list(facts.streets)
    at = rng.randrange(len(streets))
    began = streets[at]
    if facts.common or began.first is None:
        return None
    first = rng.choice([seat for seat in began.dealt if seat != began.first])
    streets[at] = msgspec.structs.replace(began, first=first, declined=at == 0 and rng.random() < 0.2)
    return msgspec.structs.replace(facts, streets=tuple(streets)), table_config(read).ruleset


def some_cards_fit(facts: Course, rules: Ruleset) -> bool:
    """Whether any of all the cards that there are, in every order, bring the recorded players out."""
    boards = Boards(facts, rules, Random(1))
    hidden = [(seat, at) for seat, cards in boards.up.items() for at, card in enumerate(cards) if card is None]
    for cards in permutations(boards.unseen, len(hidden)):
        for (seat, at), card in zip(hidden, cards, strict=True):
            boards.up[seat][at] = card
        if all(boards.comes_out(street) for street in facts.streets):
            return True
    return False


def test_a_proof_is_never_wrong_and_hardly_ever_missing():
    """Beside every way of filling in one or two hidden cards."""
    seen = {(possible, proven): 0 for possible in (True, False) for proven in (True, False)}
    for number in range(either(250, 250, 80)):
        made = some_hidden(number)
        if made is not None:
            seen[some_cards_fit(*made), bool(nobody_can_begin(made[0]))] += 1
    assert seen[True, True] == 0
    assert seen[False, False] == 0
    assert min(seen[True, False], seen[False, True]) > either(15, 15, 4)
