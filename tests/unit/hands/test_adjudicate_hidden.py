"""Hidden cards: what shown cards force, what a result demands, and what is said when nothing fits."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from stud_core.cards import parse_cards
from stud_core.events import Verb
from stud_core.ranks import rank_best
from stud_core.ruleset import OddUnits
from stud_hands.adjudication import Verdict, judge
from stud_hands.course import ContradictionError, Course, Move, course_of
from stud_hands.following import literal_verb
from stud_hands.hidden.cards import Cards, draw
from stud_hands.hidden.proofs import Proofs
from stud_hands.record import parse_hand
from stud_hands.script import table_config
from tests.support.deep import either
from tests.unit.hands.recorder import hide, random_hand

Hand = dict[str, Any]

LOW_UP = "4c 9d 5h 8s"  # P1 brings in
HIGH_UP = "Kd Qc Jh 2s"  # P2 leads on every later street


def heads_up(
    p1: tuple[str, str], p2: tuple[str, str], *, shows: dict[str, str] | None = None, awards: dict[str, int],
    mucks: tuple[str, ...] = (), actors: str = "P2 P1",
) -> Hand:  # fmt: skip
    """P1 and P2 (up cards, down cards) call the bring-in of 40 and check it down: a pot of 120."""
    events: list[dict[str, Any]] = [of("ante", p, amount=20) for p in ("P1", "P2")]
    cards = {"P1": (p1[0].split(), p1[1].split()), "P2": (p2[0].split(), p2[1].split())}
    events += [of("deal", p, down=down[:2], up=up[:1]) for p, (up, down) in cards.items()]
    events += [of("bring_in", "P1", amount=40), of("call", "P2", amount=40, to=40)]
    for street in range(4, 8):
        dealt = {p: [up[street - 3] if street < 7 else down[2]] for p, (up, down) in cards.items()}
        events.append({"type": "street", "street": street, "cards": dealt, "community": None})
        events += [of("check", p) for p in actors.split()]
    events += [of("show", p, cards=text.split()) for p, text in (shows or {}).items()]
    events += [of("muck", p) for p in mucks]
    events += [of("award", p, amount=amount) for p, amount in awards.items()]
    seats = [{"seat": 3, "player": "P1", "stack": 1000}, {"seat": 11, "player": "P2", "stack": 1000}]
    return {
        "id": "made", "kind": "cash", "unit": "chip", "pot_total": 120,
        "small_bet": 100, "big_bet": 200, "ante": 20, "bring_in": 40, "seats": seats, "events": events,
        "rake": 0,
    }  # fmt: skip


ACTS = {"bring_in", "complete", "bet", "raise", "call", "check", "fold"}


def of(kind: str, player: str, **fields: object) -> dict[str, Any]:
    told = {"type": kind, "player": player, **fields}
    if kind in ACTS:
        return {"amount": 0, "to": told.get("amount", 0), "all_in": False} | told
    return {"all_in": False} | told if kind == "ante" else told


def course(hand: Hand) -> Course:
    return course_of(parse_hand(json.dumps(hand)))


def drawn(hand: Hand, seed: int = 0) -> tuple[Course, Cards]:
    facts = course(hand)
    rng = Random(seed)
    return facts, draw(facts, table_config(parse_hand(json.dumps(hand))).ruleset, rng, Proofs(facts, rng))


def verdict(hand: Hand) -> Verdict:
    return judge(parse_hand(json.dumps(hand)), Random(1))


def ranks(cards: Cards) -> dict[int, int]:
    return {seat: rank_best((*cards.up[seat], *cards.down[seat])) for seat in cards.up}


@pytest.mark.parametrize("winner", ["P1", "P2"])
def test_unknown_hands_are_drawn_until_the_paid_one_wins(winner: str):
    _, cards = drawn(heads_up((LOW_UP, "?? ?? ??"), (HIGH_UP, "?? ?? ??"), awards={winner: 120}))
    assert cards.fits_awards
    found = ranks(cards)
    assert (found[1] < found[2]) is (winner == "P1")


def test_unknown_hands_are_drawn_until_they_tie():
    hand = heads_up((LOW_UP, "?? ?? ??"), ("Kd 9h 8c 5s", "?? ?? ??"), awards={"P1": 60, "P2": 60})
    _, cards = drawn(hand)
    assert cards.fits_awards
    assert ranks(cards)[1] == ranks(cards)[2]
    assert verdict(hand).matched


def test_a_known_hand_is_beaten_by_an_unknown_one():
    """P2 has kings full: only quads or a better full house beats it, and P1's board has none of either."""
    hand = heads_up((LOW_UP, "?? ?? ??"), (HIGH_UP, "Kc Ks Qd"), awards={"P1": 120})
    found = verdict(hand)
    assert found.matched
    assert found.note == "", "quads were there to be drawn"


def test_shown_cards_are_among_the_hidden_ones():
    shown = "Kd Qc Jh 2s Kh Ks 3d"
    _, cards = drawn(heads_up((LOW_UP, "?? ?? ??"), (HIGH_UP, "?? ?? ??"), shows={"P2": shown}, awards={"P2": 120}))
    assert set(cards.down[2]) == set(parse_cards("Kh Ks 3d"))
    assert cards.fits_awards


def test_five_shown_cards_are_the_best_hand():
    shown = "Kd Kh Qc Qs Jh"
    facts, cards = drawn(heads_up((LOW_UP, "?? ?? ??"), (HIGH_UP, "?? ?? ??"), shows={"P2": shown}, awards={"P2": 120}))
    assert facts.best_five[2] == parse_cards(shown)
    assert set(parse_cards("Kh Qs")) < set(cards.down[2])
    assert ranks(cards)[2] == rank_best(parse_cards(shown))


def test_shown_cards_may_have_been_up():
    up = "?? Qc Jh ??"
    hand = heads_up((LOW_UP, "?? ?? ??"), (up, "?? ?? ??"), shows={"P2": "Kd Qc Jh 2s Kh Ks 3d"}, awards={"P2": 120})
    _, cards = drawn(hand)
    assert {*cards.up[2], *cards.down[2]} == set(parse_cards("Kd Qc Jh 2s Kh Ks 3d"))
    assert cards.fits_actors
    assert cards.fits_awards
    assert verdict(hand).matched


@pytest.mark.parametrize("text", ["Kd Qc Jh 2s Kh Ks 9d", "Kd Qc Jh 2s 7c 7d 7h 7s"])
def test_a_show_of_cards_that_they_cannot_have_contradicts_the_record(text: str):
    hand = heads_up((LOW_UP, "?? ?? ??"), (HIGH_UP, "?? ?? ??"), shows={"P2": text}, awards={"P2": 120})
    with pytest.raises(ContradictionError, match="P2 shows"):
        course(hand)
    assert "P2 shows" in verdict(hand).why


def test_known_hands_speak():
    hand = heads_up((LOW_UP, "3c 3d 6h"), (HIGH_UP, "Kc Ks Qd"), awards={"P1": 120})
    found = verdict(hand)
    assert not found.matched
    assert "hands that are known are better" in found.why
    assert "P1 120" in found.why


def test_a_mucked_hand_is_not_paid_before_a_shown_one():
    hand = heads_up(
        (LOW_UP, "?? ?? ??"), (HIGH_UP, "?? ?? ??"), shows={"P2": "Kd Qc Jh 2s Kh Ks 3d"}, mucks=("P1",),
        awards={"P1": 120},
    )  # fmt: skip
    found = verdict(hand)
    assert not found.matched
    assert "no result of the showdown pays" in found.why


def test_a_mucked_hand_that_was_better_does_not_compete():
    """P1's known straight was mucked, and beats whatever P2 can have: only the sums can be checked."""
    hand = heads_up((LOW_UP, "6c 7d 3h"), (HIGH_UP, "Kc 3s 4d"), mucks=("P1",), awards={"P2": 120})
    found = verdict(hand)
    assert found.matched
    assert found.note == "a hand that was mucked was better: awards were checked as sums only"


def test_the_sums_are_right_but_nothing_can_fit():
    """P1 would have to beat a royal flush."""
    hand = heads_up((LOW_UP, "?? ?? ??"), ("Kd Qd Jd 2s", "Ad Td 3c"), awards={"P1": 120})
    assert "no hidden cards could make P1 win this pot" in verdict(hand).why


def test_hidden_doors_are_drawn_until_the_recorded_players_act():
    hand = heads_up(("?? ?? ?? ??", "?? ?? ??"), ("?? ?? ?? ??", "?? ?? ??"), awards={"P2": 120})
    _, cards = drawn(hand)
    assert cards.fits_actors
    assert cards.up[1][0] < cards.up[2][0], "P1 brought it in"
    found = verdict(hand)
    assert (found.why, found.note) == ("", "")


@pytest.mark.parametrize(
    ("raised", "wrong"),
    [
        ([("P2", "bet", 100), ("P1", "raise", 200)], ""),
        ([("P2", "bet", 200), ("P1", "raise", 400)], ""),  # with a pair that nobody can see
        ([("P2", "bet", 85)], "bet to 85 is not allowed"),
        ([("P2", "bet", 700)], "bet to 700 is not allowed"),
        ([("P2", "bet", 200), ("P1", "raise", 300)], "raise to 300 is not allowed"),
        (
            [(p, "raise" if n > 1 else "bet", 100 * n) for n, p in enumerate(["P2", "P1", "P2", "P1", "P2"], 1)],
            "the cap",
        ),
    ],
)
def test_where_no_door_fits_amounts_must_still_be_legal(raised: list[tuple[str, str, int]], wrong: str):
    """Known boards are against the recorded actors, so that no play with them can judge the wagers: those are told
    beside.
    """
    hand = heads_up(("?? Ad Ah 8s", "?? ?? ??"), ("2c 3c 4d 5d", "?? ?? ??"), awards={"P2": 120})
    before, put_in = hand["events"][:7], {"P1": 0, "P2": 0}
    for player, kind, to in raised:
        before.append(of(kind, player, amount=to - put_in[player], to=to))
        put_in[player] = to
    last, other = raised[-1][0], {"P1": "P2", "P2": "P1"}[raised[-1][0]]
    before.append(of("fold", other, amount=0, to=put_in[other]))
    before.append({"type": "uncalled", "player": last, "amount": put_in[last] - put_in[other]})
    pot = 120 + 2 * put_in[other]
    hand |= {"events": [*before, {"type": "award", "player": last, "amount": pot}], "pot_total": pot}
    found = verdict(hand)
    assert "street 3: no cards make P1 the first to act" in found.why
    assert wrong in found.why
    assert ("is not allowed" in found.why or "the cap" in found.why) == bool(wrong)


def test_a_street_begun_by_who_has_folded_is_a_mismatch():
    """Boards are hidden, and no drawing of them can make it right."""
    spoiled = 0
    for number in range(either(60, 60, 20)):
        rng = Random(number)
        hand = hide(random_hand(number, rng), rng, doors=True)
        for at, event in enumerate(hand["events"]):
            folded = [e["player"] for e in hand["events"][:at] if e["type"] == "fold"]
            if folded and event["type"] == "check" and hand["events"][at - 1]["type"] == "street":
                hand["events"][at] = event | {"player": folded[0]}
                assert not verdict(hand).matched, number
                spoiled += 1
                break
    assert spoiled


def test_a_known_board_decides_who_acts():
    hand = heads_up((LOW_UP, "?? ?? ??"), (HIGH_UP, "?? ?? ??"), awards={"P2": 120}, actors="P1 P2")
    why = verdict(hand).why
    assert "P2 has to act" in why
    assert "recorded P1 check" in why


def test_odd_units_go_where_some_published_reading_sends_them():
    """A pot of 121 with two equal hands: left of the dealer, or to the highest card by suit."""
    ones, others = ("4c 9d 5h 8s", "6d 7d 2h"), ("Kd 9c 5d 8d", "6c 7c 2c")
    for first, second in ((61, 60), (60, 61)):
        hand = heads_up(ones, others, awards={"P1": first, "P2": second})
        hand["events"][0]["amount"] = hand["events"][1]["amount"] = 20
        hand["seats"].insert(1, {"seat": 4, "player": "P3", "stack": 1})
        at = next(i for i, e in enumerate(hand["events"]) if e["type"] == "deal")
        hand["pot_total"] = 121
        hand["events"].insert(at, of("deal", "P3", down=["??", "??"], up=["As"]))
        hand["events"].insert(0, of("ante", "P3", amount=1, all_in=True))
        for event in hand["events"]:
            if event["type"] == "street":
                event["cards"]["P3"] = ["??"]
        found = verdict(hand)
        assert found.why == ""
        assert found.script is not None
        expected = OddUnits.ONE_EACH_FROM_LEFT if first == 61 else OddUnits.HIGH_CARD_BY_SUIT
        assert found.script.config.ruleset.odd_units is expected
    assert not verdict(heads_up(ones, others, awards={"P1": 62, "P2": 58})).matched


def test_nobody_opened_for_less_and_the_bring_in_is_not_known():
    hand = heads_up((LOW_UP, "?? ?? ??"), (HIGH_UP, "?? ?? ??"), awards={"P2": 240})
    hand |= {"bring_in": None, "pot_total": 240}
    for event in hand["events"]:
        if event["type"] == "bring_in":
            event.update(type="complete", amount=100, to=100)
        elif event["type"] == "call":
            event.update(amount=100, to=100)
    assert verdict(hand).matched
    assert 0 < table_config(parse_hand(json.dumps(hand))).bring_in < 100


def test_a_bring_in_that_is_only_in_the_events():
    hand = heads_up((LOW_UP, "?? ?? ??"), (HIGH_UP, "?? ?? ??"), awards={"P2": 120})
    hand["bring_in"] = None
    assert table_config(parse_hand(json.dumps(hand))).bring_in == 40
    assert verdict(hand).matched


def test_a_record_that_leaves_out_streets_is_a_mismatch():
    """Both all-in from the ante; the record ends with the doors, though five more cards of each came."""
    hand = heads_up((LOW_UP, "?? ?? ??"), (HIGH_UP, "?? ?? ??"), awards={"P2": 40})
    hand["pot_total"] = 40
    hand["seats"] = [seat | {"stack": 20} for seat in hand["seats"]]
    played = {"ante", "deal", "street", "award"}
    hand["events"] = [
        e | ({"all_in": True} if e["type"] == "ante" else {}) for e in hand["events"] if e["type"] in played
    ]
    assert (verdict(hand).why, verdict(hand).note) == ("", "")
    hand["events"] = [e for e in hand["events"] if e["type"] != "street"]
    assert verdict(hand).why == "2 players are still in after street 3, wanted street 4"


def test_a_record_that_stops_too_early_says_who_should_have_acted():
    hand = heads_up((LOW_UP, "?? ?? ??"), (HIGH_UP, "?? ?? ??"), awards={"P2": 120})
    last = max(i for i, e in enumerate(hand["events"]) if e["type"] == "check")
    del hand["events"][last]
    assert "the record ends where P1 has to act on street 7" in verdict(hand).why


def test_an_action_that_nothing_matches_is_tried_by_its_name():
    assert literal_verb(Move(1, 4, "bet", 50, 50, all_in=False), ()) is Verb.BET
    assert literal_verb(Move(1, 3, "call", 50, 50, all_in=False), ()) is Verb.CALL
