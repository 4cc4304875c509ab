"""Is every deck equally likely? Statistics over fixed seeds, which the known broken shuffles do not pass.

The broken ones are those that were found in real poker servers (swap with any card, the last card that can never stay
last, few seeds, sorting by short random keys, remainders of a byte). A check that does not catch them proves nothing.
"""

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import pytest

from stud_core import shuffle
from stud_core.cards import DECK_SIZE

Deck = Sequence[int]
Shuffler = Callable[[int], Deck]
"""Number of a deck -> the deck."""

DECKS = 10_400
"""200 for each card at each position."""


def seed(number: int) -> bytes:
    return number.to_bytes(32, "big")


def sample(shuffler: Shuffler, count: int = DECKS) -> list[Deck]:
    return [shuffler(number) for number in range(count)]


# The statistics. Each returns how many standard deviations the sample is away from fair decks.


def position_by_card(decks: Sequence[Deck]) -> float:
    """Chi-square over the 52 x 52 table of positions and cards.

    Each deck puts every card in one place, so that rows and columns have fixed sums: 51 x 51 degrees of freedom, and
    cells a little more uneven (52/51) than if cards fell independently.
    """
    counts = [[0] * DECK_SIZE for _ in range(DECK_SIZE)]
    for deck in decks:
        for row, card in zip(counts, deck, strict=True):
            row[card] += 1
    expected = len(decks) / DECK_SIZE
    chi_square = sum((count - expected) ** 2 / expected for row in counts for count in row)
    chi_square *= (DECK_SIZE - 1) / DECK_SIZE
    freedom = (DECK_SIZE - 1) ** 2
    return (chi_square - freedom) / math.sqrt(2 * freedom)


def neighbours(decks: Sequence[Deck]) -> float:
    """Chi-square over which card lies on which: a shuffle that keeps runs together shows here."""
    counts = Counter(pair for deck in decks for pair in itertools.pairwise(deck))
    chance = 1 / DECK_SIZE  # that a given card lies on another given one
    expected = len(decks) * chance
    pairs = list(itertools.permutations(range(DECK_SIZE), 2))
    chi_square = sum((counts[pair] - expected) ** 2 / expected for pair in pairs)
    freedom = len(pairs) * (1 - chance)
    return (chi_square - freedom) / math.sqrt(2 * freedom)


def serial(decks: Sequence[Deck]) -> float:
    """How many cards lie where they lay in the deck before: one on average, variance one."""
    same = sum(sum(map(int.__eq__, a, b)) for a, b in itertools.pairwise(decks))
    pairs = len(decks) - 1
    return (same - pairs) / math.sqrt(pairs)


def repeats(decks: Sequence[Deck]) -> float:
    """Decks that begin with the same ten cards as another: of fair ones there is none, so each is far out."""
    return float(len(decks) - len({tuple(deck[:10]) for deck in decks}))


LIMIT = 4.0
"""Standard deviations; a fair sample is beyond it once in 16 000 times, and the seeds here are fixed."""


@pytest.fixture(scope="module", params=["deck", "river"])
def fair_decks(request: pytest.FixtureRequest) -> list[Deck]:
    make = shuffle.deck_order if request.param == "deck" else shuffle.river_rank
    return sample(lambda number: make(seed(number)))


def test_cards_fall_evenly_on_positions(fair_decks: list[Deck]):
    assert abs(position_by_card(fair_decks)) < LIMIT


def test_no_card_prefers_a_neighbour(fair_decks: list[Deck]):
    assert abs(neighbours(fair_decks)) < LIMIT


def test_decks_of_successive_seeds_have_nothing_in_common(fair_decks: list[Deck]):
    assert abs(serial(fair_decks)) < LIMIT


def test_no_deck_comes_twice(fair_decks: list[Deck]):
    assert repeats(fair_decks) == 0


def test_deck_and_river_ranks_of_one_seed_are_independent():
    both = [make(seed(n)) for n in range(5_000) for make in (shuffle.deck_order, shuffle.river_rank)]
    assert abs(serial(both)) < LIMIT


def test_one_bit_of_the_seed_changes_everything():
    decks = [shuffle.deck_order(seed(1 << bit)) for bit in range(256)]
    assert abs(serial(decks)) < LIMIT
    assert repeats(decks) == 0


# The broken shuffles


def swap_with_any(number: int) -> Deck:
    """Every card changes places with any card: 52^52 ways for 52! orders do not come out even."""
    rng = random.Random(number)
    deck = list(range(DECK_SIZE))
    for place in range(DECK_SIZE):
        other = rng.randrange(DECK_SIZE)
        deck[place], deck[other] = deck[other], deck[place]
    return deck


def never_the_last(number: int) -> Deck:
    """``random(51) + 1`` of 1999: no card ever stays where it was, and the last one never stays last."""
    rng = random.Random(number)
    deck = list(range(DECK_SIZE))
    for place in range(DECK_SIZE - 1, 0, -1):
        other = rng.randrange(place)
        deck[place], deck[other] = deck[other], deck[place]
    return deck


def remainder_of_a_byte(number: int) -> Deck:
    """``byte % n``: the numbers that the last, incomplete cycle of bytes still reaches come more often."""
    rng = random.Random(number)
    deck = list(range(DECK_SIZE))
    for place in range(DECK_SIZE - 1, 0, -1):
        other = rng.randrange(256) % (place + 1)
        deck[place], deck[other] = deck[other], deck[place]
    return deck


def sort_by_short_keys(number: int) -> Deck:
    """Sorting by random keys leaves cards with equal keys in their old order; here keys have eight bits."""
    rng = random.Random(number)
    keys = [rng.randrange(256) for _ in range(DECK_SIZE)]
    return sorted(range(DECK_SIZE), key=keys.__getitem__)


def riffle_of_the_last_deck() -> Iterator[Deck]:
    """Three riffles of the deck of the hand before."""
    rng = random.Random(7)
    deck = list(range(DECK_SIZE))
    while True:
        for _ in range(3):
            cut = [rng.random() < 0.5 for _ in deck]
            left = iter(deck[: cut.count(True)])
            right = iter(deck[cut.count(True) :])
            deck = [next(left) if from_left else next(right) for from_left in cut]
        yield deck


BIASED: dict[Shuffler, Callable[[Sequence[Deck]], float]] = {
    swap_with_any: position_by_card,
    never_the_last: position_by_card,
    remainder_of_a_byte: position_by_card,
    sort_by_short_keys: neighbours,
}


@pytest.mark.parametrize("broken", list(BIASED), ids=lambda shuffler: shuffler.__name__)
def test_a_biased_shuffle_is_caught(broken: Shuffler):
    assert BIASED[broken](sample(broken)) > 2 * LIMIT


def test_a_deck_made_from_the_deck_before_is_caught():
    decks = list(itertools.islice(riffle_of_the_last_deck(), DECKS))
    assert abs(serial(decks)) > 2 * LIMIT or abs(neighbours(decks)) > 2 * LIMIT


def first_ten(few_bits: int) -> Deck:
    return random.Random(few_bits).sample(range(DECK_SIZE), 10)


@pytest.mark.parametrize(
    ("seeds", "decks"),
    [
        pytest.param(200_000, 5_000, id="clock known to some minutes"),
        pytest.param(86_400_000, 50_000, id="milliseconds since midnight"),
        pytest.param(2**32, 300_000, id="32 bits"),
    ],
)
def test_too_few_seeds_are_caught_by_repeated_decks(seeds: int, decks: int):
    clock = random.Random(1999)
    drawn = [clock.randrange(seeds) for _ in range(decks)]
    twice = [number for number, count in Counter(drawn).items() if count > 1]
    # All decks of so many seeds differ, so the seeds that came twice are the decks that came twice; a few are made.
    assert repeats([first_ten(number) for number in [*twice[:50], *twice[:50]]]) >= min(len(twice), 50) >= 3
