"""Card numbers and card names."""

from __future__ import annotations

import pytest

from stud_core.cards import DECK_SIZE, card_name, parse_card, parse_cards, rank_of, suit_of


def test_every_card_has_a_name():
    names = [card_name(card) for card in range(DECK_SIZE)]
    assert len(set(names)) == DECK_SIZE
    assert [parse_card(name) for name in names] == list(range(DECK_SIZE))
    assert (names[0], names[51]) == ("2c", "As")


def test_numbers_compare_like_door_cards():
    """Rank first, ace high, then clubs below diamonds below hearts below spades (B.1)."""
    assert parse_cards("2c 2d 2h 2s 3c Kc Ac As") == tuple(sorted(parse_cards("As Ac Kc 3c 2s 2h 2d 2c")))
    assert (rank_of(parse_card("Ah")), suit_of(parse_card("Ah"))) == (12, 2)


@pytest.mark.parametrize("name", ["", "A", "1c", "Ax", "ah", "10c", "??"])
def test_what_is_no_card(name: str):
    with pytest.raises(ValueError, match="is no card"):
        parse_card(name)


@pytest.mark.parametrize("card", [-1, 52])
def test_what_is_no_number(card: int):
    with pytest.raises(IndexError):
        card_name(card)
