"""That no hidden cards fit a record is proven, not despaired of: the same verdict with every seed."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from stud_hands.adjudication import judge
from stud_hands.record import parse_hand
from tests.support.deep import either

FILE = Path(__file__).resolve().parents[2] / "golden" / "impossible_hands" / "hands.jsonl"
HANDS = [json.loads(line) for line in FILE.read_text().splitlines()]


@pytest.mark.search
@pytest.mark.parametrize("hand", HANDS[:: either(1, 1, 20)], ids=lambda hand: hand["id"])
def test_what_no_cards_bring_about_is_told_with_every_seed(hand: dict[str, Any]):
    told = {
        (found.why, found.note) for seed in range(2) for found in [judge(parse_hand(json.dumps(hand)), Random(seed))]
    }
    assert told == {(hand["why"], hand["note"])}


def test_every_kind_of_proof_is_among_them():
    said = " ".join(hand["why"] + hand["note"] for hand in HANDS)
    for proof in (
        "hands that are known are better",
        "win this pot",
        "win these pots",
        "no published reading of the odd units pays that",
        "no cards make",
        "no cards that go with the streets before make",
        "only behind a low card without chips may the first to act fold",
        "a hand that was mucked was better",
    ):
        assert proof in said
