"""Hands that are known, whichever way the record tells them, decide who is paid; what nothing can explain is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest
from typer.testing import CliRunner

from stud_cli.hands.rehearse import rehearse_one
from stud_cli.local.callers import Callers
from stud_cli.main import app
from stud_core.cards import DECK_SIZE, card_name, parse_cards
from stud_core.ranks import rank_best
from stud_core.ruleset import OddUnits
from stud_hands import adjudication
from stud_hands.adjudication import judge
from stud_hands.course import course_of
from stud_hands.record import parse_hand
from stud_service.keyring import ensure_dev_keys
from tests.unit.hands.recorder import five_shown, hide, random_hand, ranked
from tests.unit.hands.test_adjudicate_hidden import HIGH_UP, LOW_UP, heads_up, of, verdict

Hand = dict[str, Any]
HIDDEN_DOWN = "?? ?? ??"
KNOWN = "hands that are known are better"


def best_five(cards: str) -> str:
    return " ".join(min(combinations(cards.split(), 5), key=ranked))


def all_seven(cards: str) -> str:
    return cards


@pytest.mark.parametrize("told", [all_seven, best_five])
@pytest.mark.parametrize("down", [("3c 3d 6h", "Kc Ks Qd"), ("9c 9h 9s", "Kc Ks Qd"), ("6c 7d 2c", "Kc 3h 4d")])
@pytest.mark.parametrize("dealt", [frozenset(), frozenset({"P1"}), frozenset({"P1", "P2"})])
def test_shown_hands_decide_like_dealt_ones(told: Callable[[str], str], down: tuple[str, str], dealt: frozenset[str]):
    full = {"P1": f"{LOW_UP} {down[0]}", "P2": f"{HIGH_UP} {down[1]}"}
    best = min(full, key=lambda player: rank_best(parse_cards(full[player])))
    for paid in full:
        hand = heads_up(
            (LOW_UP, down[0] if "P1" in dealt else HIDDEN_DOWN),
            (HIGH_UP, down[1] if "P2" in dealt else HIDDEN_DOWN),
            shows={player: told(cards) for player, cards in full.items()},
            awards={paid: 120},
        )
        found = verdict(hand)
        assert found.note == ""
        assert found.why == "" if paid == best else KNOWN in found.why


def test_an_unseen_hand_is_paid_only_where_it_can_win():
    """Whatever one or two hidden cards can be is gone through here too, by hand."""
    wrong = 0
    for number in range(40):
        rng = Random(number)
        deck = [card for card in range(DECK_SIZE) if card not in parse_cards(f"{LOW_UP} {HIGH_UP}")]
        down = [card_name(card) for card in rng.sample(deck, 6)]
        unknown = rng.randint(1, 2)
        ones, others = ["??"] * unknown + down[unknown:3], down[3:]
        told = parse_cards(" ".join([*down[unknown:], LOW_UP, HIGH_UP]))
        unseen = [card for card in deck if card not in told]
        mine = parse_cards(" ".join([LOW_UP, *down[unknown:3]]))
        theirs = rank_best(parse_cards(" ".join([HIGH_UP, *others])))
        ranks = {rank_best((*mine, *cards)) for cards in combinations(unseen, unknown)}
        can_win = {
            ("P1",): min(ranks) < theirs,
            ("P2",): max(ranks) > theirs,
            ("P1", "P2"): theirs in ranks,
        }
        for paid, possible in can_win.items():
            awards = {player: 120 // len(paid) for player in paid}
            found = verdict(heads_up((LOW_UP, " ".join(ones)), (HIGH_UP, " ".join(others)), awards=awards))
            assert (found.matched, found.note) == (possible, ""), (number, paid)
            assert possible or f"no hidden cards could make {' and '.join(paid)} win this pot" in found.why
            wrong += not possible
    assert wrong > 20


def test_boards_alone_can_decide():
    """Nobody shows: quads on the board of P2 beat what three cards can make of P1's."""
    boards = (LOW_UP, HIDDEN_DOWN), ("Kd Kc Kh Ks", HIDDEN_DOWN)
    assert verdict(heads_up(*boards, awards={"P2": 120})).matched
    assert "no hidden cards could make P1 and P2" in verdict(heads_up(*boards, awards={"P1": 60, "P2": 60})).why


def test_a_split_that_no_cards_allow_is_no_matter_of_odd_units():
    """Quads on the board of P2 again; the odd unit is not what is wrong."""
    hand = split_of_121(60, 61)
    hand["events"] = [event for event in hand["events"] if event["type"] != "show"]
    hand = json.loads(json.dumps(hand).replace("9c", "Kc").replace('"5d"', '"Kh"').replace("8d", "Ks"))
    assert "no hidden cards could make P1 and P2 win these pots" in verdict(hand).why


def test_hidden_doors_do_not_hide_who_won():
    """All seven are shown, though the up cards are not told."""
    shows = {"P1": f"{LOW_UP} 3c 3d 6h", "P2": f"{HIGH_UP} Kc Ks Qh"}
    for paid in ("P1", "P2"):
        hidden = "?? ?? ?? ??", HIDDEN_DOWN
        found = verdict(heads_up(hidden, hidden, shows=shows, awards={paid: 120}))
        assert (KNOWN in found.why) is (paid == "P1")


def test_five_cards_that_are_not_the_best_tell_nothing():
    """P1 shows a mere nine, and yet he has a pair of them."""
    hand = heads_up(
        (LOW_UP, "9h ?? ??"), (HIGH_UP, "8h 3s 6d"), shows={"P1": "4c 9d 5h 8s 2h"}, awards={"P1": 120}
    )  # fmt: skip
    assert verdict(hand).matched


@pytest.mark.parametrize("told", [partial(hide, doors=False), partial(hide, doors=True), five_shown])
def test_no_loser_is_paid_whatever_is_hidden(told: Callable[..., Hand]):
    """The winner and the loser show: a record that pays the loser is wrong, whatever else it hides."""
    spoiled = 0
    for number in range(150):
        rng = Random(number)
        hand = random_hand(number, rng)
        hidden = told(hand, rng)
        best = {e["player"]: ranked(e["cards"]) for e in hand["events"] if e["type"] == "show" and len(e["cards"]) > 4}
        told_shows = [e for e in hidden["events"] if e["type"] == "show"]
        shows = {e["player"] for e in told_shows if e["player"] in best and ranked(e["cards"]) == best[e["player"]]}
        awards = [e for e in hidden["events"] if e["type"] == "award"]
        losers = sorted(shows - {e["player"] for e in awards})
        if len(awards) != 1 or not losers or awards[0]["player"] not in shows:
            continue
        wrong = json.loads(json.dumps(hidden))
        for event in wrong["events"]:
            if event["type"] == "award":
                event["player"] = losers[0]
        assert verdict(hidden).why == ""
        assert not verdict(wrong).matched, number
        spoiled += 1
    assert spoiled > 5


# ------------------------------------------------------------------- odd units


def split_of_121(first: int, second: int) -> Hand:
    """P1 and P2 have equal straights, P3 is all-in for an ante of 1 and loses; all was shown."""
    hand = heads_up(
        (LOW_UP, HIDDEN_DOWN), ("Kd 9c 5d 8d", HIDDEN_DOWN), awards={"P1": first, "P2": second},
        shows={"P1": f"{LOW_UP} 6d 7d 2h", "P2": "Kd 9c 5d 8d 6c 7c 2c", "P3": "As Ac Jh Jd 2s 3s 3h"},
    )  # fmt: skip
    hand["seats"].insert(1, {"seat": 4, "player": "P3", "stack": 1})
    hand["pot_total"] = 121
    at = next(i for i, e in enumerate(hand["events"]) if e["type"] == "deal")
    hand["events"].insert(at, of("deal", "P3", down=["??", "??"], up=["As"]))
    hand["events"].insert(0, of("ante", "P3", amount=1, all_in=True))
    for event in hand["events"]:
        if event["type"] == "street":
            event["cards"]["P3"] = ["??"]
    return hand


def test_odd_units_go_by_a_published_reading_or_the_record_is_wrong():
    assert (verdict(split_of_121(61, 60)).why, verdict(split_of_121(61, 60)).note) == ("", "")
    assert (verdict(split_of_121(60, 61)).why, verdict(split_of_121(60, 61)).note) == ("", "")
    assert "no result of the showdown pays" in verdict(split_of_121(62, 59)).why


def test_odd_units_that_no_reading_gives_are_no_matter_of_hidden_cards():
    """P1 is first left of the dealer, and has the highest card by suit as well."""
    hand = json.loads(json.dumps(split_of_121(60, 61)).replace('"2h"', '"Ah"').replace('"2c"', '"Ad"'))
    found = verdict(hand)
    assert "no published reading of the odd units pays that" in found.why
    assert found.note == ""


def test_a_tied_hand_that_got_no_unit_may_be_mucked():
    """Two units of the main pot are left for three equal hands, and both go to the first."""
    hand = split_of_121(61, 59) | {"rake": 1}
    cards = iter(["9s", "5c", "8c", "2s"])
    hand["events"] = [e for e in hand["events"] if (e["type"], e.get("player")) != ("show", "P3")]
    for event in hand["events"]:
        if event["type"] == "street":
            event["cards"]["P3"] = [next(cards)]
        elif event["type"] == "deal" and event["player"] == "P3":
            event["down"] = ["6h", "7h"]
    at = next(i for i, e in enumerate(hand["events"]) if e["type"] == "award")
    hand["events"].insert(at, of("muck", "P3"))
    found = verdict(hand)
    assert (found.why, found.note) == ("", "")
    assert found.script is not None
    assert found.script.config.ruleset.odd_units is OddUnits.ALL_TO_FIRST_LEFT


# ------------------------------------------------------------------- nothing ends the batch


@pytest.mark.parametrize("told", [2, 5, 8])
def test_more_cards_than_there_are_is_a_mismatch(told: int):
    """Eight players who never fold and a river of their own: 56 cards."""
    names = [f"P{number}" for number in range(1, 9)]
    cards = iter([card_name(card) for card in Random(told).sample(range(DECK_SIZE), DECK_SIZE)])
    events = [of("deal", p, down=["??", "??"], up=[next(cards)]) for p in names]
    for street in range(4, 8):
        dealt = {p: [next(cards)] for p in names[:told]}
        events.append({"type": "street", "street": street, "cards": dealt, "community": None})
    events.append(of("award", "P1", amount=1))
    hand = heads_up((LOW_UP, HIDDEN_DOWN), (HIGH_UP, HIDDEN_DOWN), awards={})
    hand |= {"seats": [{"seat": at, "player": p, "stack": 100} for at, p in enumerate(names)], "events": events}
    assert "streets 3 to 7 of 8 players need 56 cards, more than the 52 there are" in verdict(hand).why


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge that has a fault with one of the hands."""
    original = course_of

    def failing(hand: Any) -> Any:
        if hand.id == "bad":
            raise IndexError("pop from empty list")
        return original(hand)

    monkeypatch.setattr(adjudication, "course_of", failing)


GOOD = heads_up((LOW_UP, HIDDEN_DOWN), (HIGH_UP, HIDDEN_DOWN), awards={"P2": 120})


@pytest.mark.usefixtures("broken")
def test_a_fault_of_the_judge_is_the_mismatch_of_one_hand(tmp_path: Path):
    path = tmp_path / "hands.jsonl"
    path.write_text("".join(json.dumps({**GOOD, "id": name}) + "\n" for name in ("one", "bad", "two")))
    ended = CliRunner().invoke(app, ["adjudicate", str(path), "--json"])
    assert ended.exit_code == 1
    assert json.loads(ended.stdout) == {
        "hands": 3,
        "matched": 2,
        "mismatched": [{"id": "bad", "why": "internal fault: IndexError: pop from empty list"}],
        "partly": [],
    }
    assert "Traceback" in ended.stderr


@pytest.mark.usefixtures("broken")
async def test_rehearsals_take_the_fault_as_a_mismatch_too(tmp_path: Path):
    ensure_dev_keys(tmp_path)
    nobody = Callers({}, tmp_path)
    told = await rehearse_one(nobody, parse_hand(json.dumps({**GOOD, "id": "bad"})), "t-1", 1)
    assert told.why == "internal fault: IndexError: pop from empty list"


async def test_rehearsals_say_of_a_hand_that_cannot_be_what_adjudicate_says(tmp_path: Path):
    ensure_dev_keys(tmp_path)
    hand = parse_hand(json.dumps(heads_up((LOW_UP, HIDDEN_DOWN), ("Kd Qd Jd 2s", "Ad Td 3c"), awards={"P1": 120})))
    told = await rehearse_one(Callers({}, tmp_path), hand, "t-1", 1)
    assert told.why == judge(hand, Random(1)).why
    assert "no hidden cards could make P1 win" in told.why
