"""From a 256-bit seed to a deck: the one small module of the product that decides which card lies where.

Everything follows from the seed (architecture.md, "The deck"): the commitment that is published before the antes, the
order of the 52 cards, and ``river_rank``, the order in which a pool of cards is dealt when the river is
reshuffled (P34, P35; B.12), so that no randomness enters once cards have been seen.

Method, version 1: HKDF-SHA-256 (RFC 5869; salt and info below) gives a stream of bytes; Fisher-Yates from the
last position down draws from it by rejection, so that every order is exactly equally likely. ``x % n`` of a
byte alone would favour low numbers; bytes of an incomplete last cycle are thrown away instead.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from stud_core.cards import DECK_SIZE
from stud_core.secret import SecretCards

SHUFFLE_VERSION: Final = 1
SEED_BYTES: Final = 32
"""256 bits: 52! is about 2^225.6, so less could not reach every deck."""

_HASH: Final = "sha256"
_HASH_BYTES: Final = 32
_BLOCKS: Final = 255  # RFC 5869: the block counter is one byte
_SALT: Final = b"stud/v1/shuffle"
_DECK: Final = b"deck"
_RIVER: Final = b"river"
_COMMITMENT: Final = b"stud/v1/commitment"
_STACKED: Final = b"stud/v1/commitment/stacked"


def hkdf(key: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    """HKDF-SHA-256 (RFC 5869). ``length`` is at most 8160 bytes; raises ValueError above."""
    if not 0 < length <= _BLOCKS * _HASH_BYTES:
        raise ValueError(f"HKDF gives 1 to {_BLOCKS * _HASH_BYTES} bytes, not {length}")
    blocks = _expand(_extract(key, salt), info)
    return b"".join([next(blocks) for _ in range(-(-length // _HASH_BYTES))])[:length]


def _extract(key: bytes, salt: bytes) -> bytes:
    return hmac.digest(salt or bytes(_HASH_BYTES), key, _HASH)


def _expand(prk: bytes, info: bytes) -> Iterator[bytes]:
    block = b""
    for counter in range(1, _BLOCKS + 1):
        block = hmac.digest(prk, block + info + bytes((counter,)), _HASH)
        yield block


def frame(*parts: bytes) -> bytes:
    """Join parts, each preceded by its length in four bytes: two different lists never give the same bytes."""
    return b"".join([len(part).to_bytes(4, "big") + part for part in parts])


def commitment(table: str, hand_no: int, seed: bytes, stacked: Sequence[int] | None = None) -> bytes:
    """SHA-256 over tag, table, hand number and seed, and over the order of a stacked deck: fixes the deck of a hand."""
    parts = [table.encode(), hand_no.to_bytes(8, "big"), check_seed(seed)]
    if stacked is None:
        return hashlib.sha256(frame(_COMMITMENT, *parts)).digest()
    return hashlib.sha256(frame(_STACKED, *parts, bytes(check_deck(stacked)))).digest()


def deck_order(seed: bytes) -> SecretCards:
    """Return the 52 cards in the order they lie, top (position 0) first."""
    return permutation(seed, _DECK)


def river_rank(seed: bytes) -> SecretCards:
    """Return the rank 0..51 of each deck position: a pool of positions is dealt by ascending rank."""
    return permutation(seed, _RIVER)


def permutation(seed: bytes, label: bytes) -> SecretCards:
    """Return a permutation of 0..51. Different labels give independent ones from the same seed."""
    stream = (byte for block in _expand(_extract(check_seed(seed), _SALT), label) for byte in block)
    cards = list(range(DECK_SIZE))
    for last in range(DECK_SIZE - 1, 0, -1):
        chosen = uniform(stream, last + 1)
        cards[last], cards[chosen] = cards[chosen], cards[last]
    return SecretCards(cards)


def uniform(stream: Iterable[int], n: int) -> int:
    """Draw a number 0..n-1 (n at most 256) from a stream of bytes, every one exactly equally likely.

    Raises ValueError when the stream ends, which 8160 bytes for 51 draws do not in the life of the universe.
    """
    limit = 256 - 256 % n
    for byte in stream:
        if byte < limit:
            return byte % n
    raise ValueError("the stream of random bytes ended before a number could be drawn")


def check_seed(seed: bytes) -> bytes:
    """Return ``seed``; raises ValueError unless it has 32 bytes."""
    if len(seed) != SEED_BYTES:
        raise ValueError(f"a seed has {SEED_BYTES} bytes, not {len(seed)}")
    return seed


def check_deck(cards: Sequence[int]) -> Sequence[int]:
    """Return ``cards``; raises ValueError unless they are the 52 different ones. The text names no card."""
    if len(cards) != DECK_SIZE:
        raise ValueError(f"a deck has {DECK_SIZE} cards, not {len(cards)}")
    distinct = {card for card in cards if 0 <= card < DECK_SIZE}
    if len(distinct) != DECK_SIZE:
        raise ValueError(f"a deck has {DECK_SIZE} different cards, not {len(distinct)}")
    return cards
