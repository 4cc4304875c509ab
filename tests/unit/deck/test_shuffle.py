"""Known answers, and what every seed must give: a permutation, fixed by the seed and by nothing else."""

import hashlib
import itertools
from collections.abc import Iterable

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st

from stud_core import shuffle
from stud_core.cards import DECK_SIZE, card_name

ZEROS = bytes(32)
COUNTING = bytes(range(32))
SEEDS = st.binary(min_size=32, max_size=32)


def deck_text(cards: Iterable[int]) -> str:
    return " ".join(card_name(card) for card in cards)


# RFC 5869, A.1 to A.3
RFC_5869 = [
    (
        "0b" * 22,
        "000102030405060708090a0b0c",
        "f0f1f2f3f4f5f6f7f8f9",
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
    ),
    (
        "".join(f"{n:02x}" for n in range(0x50)),
        "".join(f"{n:02x}" for n in range(0x60, 0xB0)),
        "".join(f"{n:02x}" for n in range(0xB0, 0x100)),
        (
            "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09"
            "da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87"
        ),
    ),
    (
        "0b" * 22,
        "",
        "",
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8",
    ),
]


@pytest.mark.parametrize(("key", "salt", "info", "expected"), RFC_5869)
def test_hkdf_gives_the_answers_of_the_standard(key: str, salt: str, info: str, expected: str):
    wanted = bytes.fromhex(expected)
    assert shuffle.hkdf(bytes.fromhex(key), bytes.fromhex(salt), bytes.fromhex(info), len(wanted)) == wanted


@given(key=st.binary(min_size=1), salt=st.binary(), info=st.binary(), length=st.integers(1, 8160))
def test_hkdf_agrees_with_another_implementation(key: bytes, salt: bytes, info: bytes, length: int):
    other = HKDF(algorithm=hashes.SHA256(), length=length, salt=salt, info=info).derive(key)
    assert shuffle.hkdf(key, salt, info, length) == other


@pytest.mark.parametrize("length", [0, -1, 8161])
def test_hkdf_refuses_lengths_that_it_does_not_have(length: int):
    with pytest.raises(ValueError, match="1 to 8160"):
        shuffle.hkdf(b"key", b"", b"", length)


def plain_permutation(seed: bytes, label: bytes) -> list[int]:
    """The method once more, written from its description."""
    length = 8160
    stream = iter(HKDF(algorithm=hashes.SHA256(), length=length, salt=b"stud/v1/shuffle", info=label).derive(seed))
    deck = list(range(52))
    for n in range(52, 1, -1):
        cycle = (256 // n) * n
        byte = next(stream)
        while byte >= cycle:
            byte = next(stream)
        deck[n - 1], deck[byte % n] = deck[byte % n], deck[n - 1]
    return deck


@given(seed=SEEDS)
def test_deck_and_river_ranks_are_what_the_description_says(seed: bytes):
    assert list(shuffle.deck_order(seed)) == plain_permutation(seed, b"deck")
    assert list(shuffle.river_rank(seed)) == plain_permutation(seed, b"river")


@given(seed=SEEDS)
def test_every_seed_gives_52_different_cards_and_ranks(seed: bytes):
    assert sorted(shuffle.deck_order(seed)) == list(range(DECK_SIZE))
    assert sorted(shuffle.river_rank(seed)) == list(range(DECK_SIZE))
    assert shuffle.deck_order(seed) == shuffle.deck_order(bytes(seed))


KNOWN = {
    ZEROS: (
        "Ad Qs 5c 5h Ts 2s 7d Jh 4s Kd 9s 9c 3d 4h 9h 9d 2d 4c Ac Ks Th Qc 3c 6d Qd 5d Jc Ah 7h As 8s 8d 2c "
        "8h 7c Td Kc 6c Kh 3s 6s Js Jd 5s 4d Tc Qh 6h 2h 3h 7s 8c"
    ),
    COUNTING: (
        "Jh 6h Kh 4h 7h Qc Qs 8d 5s Th 5h Ad Ts 6d 9h 5d Kc 4d 2c 7c Jc As Ac 2s 3d 2d 9c Td Qh 8h 7d 9d Qd "
        "3s 3c 7s 6s 5c 8s 4s 3h Kd 8c 4c Tc Jd Ks 6c 2h 9s Js Ah"
    ),
}
KNOWN_RANKS = (
    "14 28 38 17 24 5 32 39 18 9 1 2 50 49 46 36 25 20 0 27 8 3 10 51 22 7 19 48 42 30 33 40 6 21 4 44 47 "
    "23 16 15 41 37 34 12 26 31 11 35 43 29 45 13"
)


@pytest.mark.parametrize("seed", list(KNOWN))
def test_known_decks(seed: bytes):
    """A change here is another version of the shuffle: old hands could no longer be verified."""
    assert shuffle.SHUFFLE_VERSION == 1
    assert deck_text(shuffle.deck_order(seed)) == KNOWN[seed]


def test_known_river_ranks():
    assert " ".join(map(str, shuffle.river_rank(COUNTING))) == KNOWN_RANKS


def test_known_commitments():
    assert (
        shuffle.commitment("t-1", 1, COUNTING).hex()
        == "730826054bb4756905583b2eb6b72eaf10f7b7579170ec6721b7a64d3d0548bb"
    )
    assert (
        shuffle.commitment("t-1", 1, COUNTING, range(52)).hex()
        == "40fa1002f10b0b9f1f8d242e69fe328c4181343819f7aad5c5652aa565c1f018"
    )


def test_a_commitment_is_a_plain_hash_of_length_prefixed_parts():
    parts = [b"stud/v1/commitment", b"t-1", (7).to_bytes(8, "big"), COUNTING]
    content = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    assert shuffle.commitment("t-1", 7, COUNTING) == hashlib.sha256(content).digest()


def test_commitments_change_with_anything():
    swapped = [1, 0, *range(2, 52)]
    made = [
        shuffle.commitment(table, hand_no, seed, stacked)
        for table, hand_no, seed, stacked in itertools.product(
            ["t-1", "t-2", "t"], [1, 2, 256], [ZEROS, COUNTING], [None, list(range(52)), swapped]
        )
    ]
    assert len(set(made)) == len(made)
    # What moves over a border between two parts is other content, too.
    assert shuffle.frame(b"ab", b"c") != shuffle.frame(b"a", b"bc")


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_seed_has_256_bits(size: int):
    for make in (shuffle.deck_order, shuffle.river_rank, lambda seed: shuffle.commitment("t-1", 1, seed)):
        with pytest.raises(ValueError, match="a seed has 32 bytes"):
            make(bytes(size))


@pytest.mark.parametrize("cards", [list(range(51)), [*range(51), 0], [*range(51), 52], [*range(51), -1]])
def test_a_stacked_deck_has_52_different_cards(cards: list[int]):
    with pytest.raises(ValueError, match="a deck has 52"):
        shuffle.commitment("t-1", 1, ZEROS, cards)


@pytest.mark.parametrize("n", range(1, 257))
def test_every_number_has_the_same_share_of_the_bytes(n: int):
    """All 256 bytes in turn: each number comes equally often, and what would favour one is thrown away."""
    stream = iter(range(256))
    drawn = [shuffle.uniform(stream, n) for _ in range(256 // n * n)]
    assert {drawn.count(number) for number in range(n)} == {256 // n}
    with pytest.raises(ValueError, match="stream of random bytes ended"):
        shuffle.uniform(stream, n)
