"""Roots fix a deck, proofs show one card of it, and nothing else fits."""

import hashlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stud_core import merkle
from stud_core.clear_deck import ClearDeck, UnknownShuffle
from stud_core.merkle import Proof
from stud_core.secret import SecretCards

COUNTING = bytes(range(32))
DECK = ClearDeck("t-1", 1, COUNTING)
HASHES = st.binary(min_size=32, max_size=32)


def test_known_root():
    """A change here is another version: old roots could no longer be verified."""
    assert DECK.root.hex() == "4f102ef5f6fe06179336fdbe2651fb9574bbe826ea6b1a140f48120192b2b8d3"


def plain_root(hashes: list[bytes]) -> bytes:
    """RFC 6962, section 2.1, from its text: the left part is the greatest power of two below n."""
    n = len(hashes)
    if n == 1:
        return hashes[0]
    k = max(2**i for i in range(10) if 2**i < n)
    return hashlib.sha256(b"\x01" + plain_root(hashes[:k]) + plain_root(hashes[k:])).digest()


@given(st.lists(HASHES, min_size=1, max_size=70))
def test_the_tree_has_the_shape_of_the_standard(hashes: list[bytes]):
    assert merkle.root(hashes) == plain_root(hashes)


def test_a_leaf_is_a_plain_hash_of_its_parts():
    content = b"\x00stud/v1/leaf" + b"c" * 32 + bytes([3, 51, 7]) + b"s" * 32
    assert merkle.leaf(b"c" * 32, 3, 51, 7, b"s" * 32) == hashlib.sha256(content).digest()


@pytest.mark.parametrize(("commitment", "salt"), [(b"c", b"s" * 32), (b"c" * 32, b"s" * 31)])
def test_parts_of_a_leaf_have_fixed_lengths(commitment: bytes, salt: bytes):
    with pytest.raises(ValueError, match="32 bytes each"):
        merkle.leaf(commitment, 0, 0, 0, salt)


def test_no_leaves_no_root():
    with pytest.raises(ValueError, match="at least one leaf"):
        merkle.root([])


@pytest.mark.parametrize("position", range(52))
def test_every_card_can_be_proven_alone(position: int):
    proof = DECK.proof(position)
    assert (proof.position, proof.card, proof.river_rank) == (position, DECK.cards[position], DECK.river_rank[position])
    assert merkle.verify(DECK.root, DECK.commitment, proof)
    assert len(proof.path) <= 6


@pytest.mark.parametrize("position", [-1, 52])
def test_there_is_no_proof_outside_of_the_deck(position: int):
    with pytest.raises(IndexError):
        DECK.proof(position)


def test_a_proof_shows_one_card_only():
    """Its path and salt are hashes: the other 51 leaves cannot be guessed without their salts, which all differ."""
    proofs = [DECK.proof(position) for position in range(52)]
    assert len({proof.salt for proof in proofs}) == 52
    assert repr(proofs[3]) == "<Proof of position 3>"


def wrong_proofs(proof: Proof) -> list[Proof]:
    change = msgspec.structs.replace
    flipped = bytes([proof.path[0][0] ^ 1]) + proof.path[0][1:]
    return [
        change(proof, position=(proof.position + 1) % 52),
        change(proof, card=(proof.card + 1) % 52),
        change(proof, river_rank=(proof.river_rank + 1) % 52),
        change(proof, salt=bytes(32)),
        change(proof, path=(flipped, *proof.path[1:])),
        change(proof, path=proof.path[:-1]),
        change(proof, path=(*proof.path, bytes(32))),
        change(proof, path=proof.path[::-1]),
        change(proof, path=()),
        # What is no proof at all is wrong, too, and no exception.
        change(proof, position=-1),
        change(proof, position=52),
        change(proof, card=256),
        change(proof, salt=b""),
        change(proof, path=(b"short", *proof.path[1:])),
    ]


@pytest.mark.parametrize("position", [0, 17, 31, 32, 47, 48, 51])
def test_a_changed_proof_does_not_verify(position: int):
    for wrong in wrong_proofs(DECK.proof(position)):
        assert not merkle.verify(DECK.root, DECK.commitment, wrong)


def test_a_proof_belongs_to_its_deck():
    other = ClearDeck("t-1", 2, COUNTING)
    assert not merkle.verify(other.root, DECK.commitment, DECK.proof(0))
    assert not merkle.verify(DECK.root, other.commitment, DECK.proof(0))
    assert not merkle.verify(DECK.root, b"", DECK.proof(0))


def test_an_inner_node_is_no_leaf():
    """Different first bytes: two leaves cannot be passed off as one."""
    hashes = [bytes([n]) * 32 for n in range(2)]
    assert merkle.root(hashes) != hashlib.sha256(b"\x00" + hashes[0] + hashes[1]).digest()


def test_a_root_changes_with_anything():
    decks = [
        DECK,
        ClearDeck("t-2", 1, COUNTING),
        ClearDeck("t-1", 2, COUNTING),
        ClearDeck("t-1", 1, bytes(32)),
        ClearDeck("t-1", 1, COUNTING, range(52)),
        ClearDeck("t-1", 1, COUNTING, [1, 0, *range(2, 52)]),
    ]
    assert len({deck.root for deck in decks}) == len({deck.commitment for deck in decks}) == len(decks)
    swapped = list(DECK.river_rank)
    swapped[50], swapped[51] = swapped[51], swapped[50]
    assert merkle.merkle_root(COUNTING, DECK.commitment, DECK.cards, swapped) != DECK.root


# The deck in clear


def test_a_stacked_deck_has_the_given_order_and_the_ranks_of_its_seed():
    stacked = ClearDeck("t-1", 1, COUNTING, range(52))
    assert stacked.cards == tuple(range(52))
    assert stacked.river_rank == DECK.river_rank
    assert stacked.stacked
    assert not DECK.stacked
    assert merkle.verify(stacked.root, stacked.commitment, stacked.proof(9))


def test_another_shuffle_is_refused():
    with pytest.raises(UnknownShuffle, match="shuffle version 2: this build knows version 1"):
        ClearDeck("t-1", 1, COUNTING, shuffle_version=2)


def test_a_clear_deck_does_not_show_itself():
    assert repr(DECK) == str(DECK) == "<ClearDeck of table t-1, hand 1>"
    for part, text in [(DECK.cards, "<SecretCards: 52>"), (DECK.seed, "<Secret: 32 bytes>")]:
        assert repr(part) == str(part) == f"{part}" == f"{part:>3}" == "%s" % (part,) == text  # noqa: UP031


def test_secret_cards_are_a_sequence_that_no_serialiser_writes_out():
    import json

    cards = SecretCards([3, 1, 2])
    assert (cards[0], cards[-1], len(cards), list(cards), 2 in cards) == (3, 2, 3, [3, 1, 2], True)
    assert cards[1:] == SecretCards([1, 2]) == (1, 2)
    assert repr(cards[1:]) == "<SecretCards: 2>"
    assert cards != SecretCards([3, 1])
    assert len({cards, SecretCards([3, 1, 2])}) == 1
    with pytest.raises(TypeError):
        json.dumps(cards)


def test_secrets_are_not_pickled_or_copied():
    import copy
    import pickle

    for secret in (DECK.cards, DECK.seed):
        for make in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="not pickled or copied"):
                make(secret)
