"""What a hand is called: examples of every kind, and the best five of six and seven are called as the whole."""

from itertools import combinations
from random import Random

import pytest

from stud_core.cards import DECK_SIZE, parse_cards
from stud_core.hand_words import hand_in_words
from stud_core.ranks import describe, rank_best


@pytest.mark.parametrize(
    ("cards", "words"),
    [
        ("", ""),
        ("6d", "high card, six"),
        ("2c Ah", "high card, ace"),
        ("6d 6h", "pair of sixes"),
        ("2c 2d 9h", "pair of twos"),
        ("Th Tc Td", "three of a kind, tens"),
        ("Kh 4c 4d Kc", "two pair, kings and fours"),
        ("Kh 4c 4d 9c", "pair of fours"),
        ("8h 8c 8d 8s", "four of a kind, eights"),
        ("8h 8c 8d 2s", "three of a kind, eights"),
        ("2h 3h 4h 5h", "high card, five"),
        ("Kh 4c 4d Kc 9s", "two pair, kings and fours"),
        ("Kh 4c 4d Kc 9s 9d", "two pair, kings and nines"),
        ("Kh 4c 4d Kc 9s 9d Ac", "two pair, kings and nines"),
        ("Ah 2c 3d 4c 5s", "straight, five high"),
        ("Ah 2c 3d 4c 5s 6s", "straight, six high"),
        ("Ah Kc Qd Jc Ts 9s 8s", "straight, ace high"),
        ("Ah Ac 2c 3d 4c 5s 9h", "straight, five high"),
        ("2h 4h 6h 8h Jh", "flush, jack high"),
        ("2h 4h 6h 8h Jh Ah As", "flush, ace high"),
        ("2h 4h 6h 8h Jh As Ac", "flush, jack high"),
        ("Kh Kc Kd 4c 4s", "full house, kings full of fours"),
        ("Kh Kc Kd 4c 4s 4h 2d", "full house, kings full of fours"),
        ("4h 4c 4d Kc Ks Qh Qd", "full house, fours full of kings"),
        ("6h 6c 6d 6s As Ah Ad", "four of a kind, sixes"),
        ("5h 6h 7h 8h 9h", "straight flush, nine high"),
        ("Ah 2h 3h 4h 5h Kh Qh", "straight flush, five high"),
        ("5h 6h 7h 8h 9h Tc Jd", "straight flush, nine high"),
        ("Th Jh Qh Kh Ah 9h 2c", "royal flush"),
        ("Th Jh Qh Kh 9d 2c 3s", "straight, king high"),
        ("2c 3d 5h 7s 9c Jd Kh", "high card, king"),
    ],
)
def test_a_hand_is_called_by_what_it_makes(cards: str, words: str):
    assert hand_in_words(parse_cards(cards)) == words


@pytest.mark.parametrize("number", [5, 6, 7])
def test_the_words_are_those_of_the_category_and_of_the_best_five(number: int):
    rng = Random(number)
    for _ in range(1500):
        cards = rng.sample(range(DECK_SIZE), number)
        words, rank = hand_in_words(cards), rank_best(cards)
        best = next(five for five in combinations(cards, 5) if rank_best(five) == rank)
        assert words.startswith("royal flush" if rank == 1 else describe(rank)), (cards, words)
        assert words == hand_in_words(best), (cards, best)


def test_the_order_of_the_cards_says_nothing():
    rng = Random(1)
    for number in range(1, 8):
        for _ in range(200):
            cards = rng.sample(range(DECK_SIZE), number)
            assert hand_in_words(cards) == hand_in_words(sorted(cards))
