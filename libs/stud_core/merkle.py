"""The Merkle tree over a deck: one root fixes all 52 cards, and a single card can be proven without showing another.

A leaf is H(0x00 ‖ tag ‖ commitment ‖ position ‖ card ‖ river_rank ‖ salt), an inner node H(0x01 ‖ left ‖ right), all
SHA-256. The tree has the shape of RFC 6962: the left half holds the greatest power of two that is less than the
number of leaves. Without its salt a leaf could be guessed in 52 tries; salts come from the seed, one for each position.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from typing import Final

import msgspec

from stud_core.cards import DECK_SIZE
from stud_core.secret import Secret
from stud_core.shuffle import check_seed, hkdf

_LEAF: Final = b"\x00"
_NODE: Final = b"\x01"
_TAG: Final = b"stud/v1/leaf"
_SALT: Final = b"stud/v1/merkle"
_SALTS: Final = b"salts"
_HASH_BYTES: Final = 32


class Proof(msgspec.Struct, frozen=True, gc=False):
    """Shows which card lies at one position. ``path`` holds the sibling hashes from the leaf upwards."""

    position: int
    card: int
    river_rank: int
    salt: bytes
    path: tuple[bytes, ...]

    def __repr__(self) -> str:
        return f"<Proof of position {self.position}>"


def leaf(commitment: bytes, position: int, card: int, river_rank: int, salt: bytes) -> bytes:
    """Return the hash of one leaf. Every part has a fixed length, so that no two contents give the same bytes."""
    if len(commitment) != _HASH_BYTES or len(salt) != _HASH_BYTES:
        raise ValueError(f"commitment and salt have {_HASH_BYTES} bytes each")
    place = bytes((position, card, river_rank))
    return hashlib.sha256(_LEAF + _TAG + commitment + place + salt).digest()


def leaves(seed: bytes, commitment: bytes, cards: Sequence[int], river_rank: Sequence[int]) -> tuple[bytes, ...]:
    """Return the 52 leaves of a deck, by position."""
    salts = _salts(seed)
    return tuple(
        leaf(commitment, position, cards[position], river_rank[position], salts[position])
        for position in range(DECK_SIZE)
    )


def root(hashes: Sequence[bytes]) -> bytes:
    """Return the root over leaves; raises ValueError when there are none."""
    if not hashes:
        raise ValueError("a tree has at least one leaf")
    if len(hashes) == 1:
        return hashes[0]
    half = _half(len(hashes))
    return _node(root(hashes[:half]), root(hashes[half:]))


def merkle_root(seed: bytes, commitment: bytes, cards: Sequence[int], river_rank: Sequence[int]) -> bytes:
    """Return the root of a deck, which is logged before the first card."""
    return root(leaves(seed, commitment, cards, river_rank))


def prove(seed: bytes, commitment: bytes, cards: Sequence[int], river_rank: Sequence[int], position: int) -> Proof:
    """Return the proof of the card at one position; raises IndexError outside 0..51."""
    if not 0 <= position < DECK_SIZE:
        raise IndexError(position)
    hashes = leaves(seed, commitment, cards, river_rank)
    salt = _salts(seed)[position]
    return Proof(position, cards[position], river_rank[position], salt, _path(hashes, position))


def verify(merkle_root: bytes, commitment: bytes, proof: Proof) -> bool:
    """Whether ``proof`` shows a card of the deck with this root and commitment. Never raises on a wrong proof."""
    numbers = (proof.position, proof.card, proof.river_rank)
    sizes = (len(commitment), len(proof.salt), *map(len, proof.path))
    if any(not 0 <= number < DECK_SIZE for number in numbers) or any(size != _HASH_BYTES for size in sizes):
        return False
    reached = leaf(commitment, *numbers, proof.salt)
    lefts = _sides(proof.position)
    if len(lefts) != len(proof.path):
        return False
    for sibling, sibling_is_left in zip(proof.path, lefts, strict=True):
        reached = _node(sibling, reached) if sibling_is_left else _node(reached, sibling)
    return hmac.compare_digest(reached, merkle_root)


def _salts(seed: bytes) -> list[Secret]:
    key = hkdf(check_seed(seed), _SALT, _SALTS, _HASH_BYTES)
    return [Secret(hmac.digest(key, bytes((position,)), "sha256")) for position in range(DECK_SIZE)]


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(_NODE + left + right).digest()


def _half(count: int) -> int:
    """The greatest power of two below ``count`` (which is 2 or more)."""
    return 1 << (count - 1).bit_length() - 1


def _path(hashes: Sequence[bytes], position: int) -> tuple[bytes, ...]:
    if len(hashes) == 1:
        return ()
    half = _half(len(hashes))
    if position < half:
        return (*_path(hashes[:half], position), root(hashes[half:]))
    return (*_path(hashes[half:], position - half), root(hashes[:half]))


def _sides(position: int, count: int = DECK_SIZE) -> tuple[bool, ...]:
    """For each step from the leaf upwards: does the sibling stand on the left?"""
    if count == 1:
        return ()
    half = _half(count)
    if position < half:
        return (*_sides(position, half), False)
    return (*_sides(position - half, count - half), True)
