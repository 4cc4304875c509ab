"""Boxes around what nobody may see: down cards, seeds, stacked orders. AES-256-GCM, bound to where it belongs.

Every box is sealed under a key derived for one hand, whose commitment fixes the whole deck. Under such a key a
nonce (the deck position, or zero) can only ever meet the one content that the commitment allows. Therefore nonces
never repeat with other content, need no randomness, and an answer that is given again is the same to the byte.

Errors say what does not fit and hold no material, nor does any ``repr``:

SealError
├── WrongKey    the box was sealed under another key (or another generation of it): nothing is known about the content
└── BrokenBox   the key is right but the box is not one of this hand, position, seat: altered, or from elsewhere
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from stud_core.cards import DECK_SIZE
from stud_core.deck_events import SealedSeed
from stud_core.secret import Secret, SecretCards
from stud_core.shuffle import SEED_BYTES, check_deck, check_seed, frame, hkdf
from stud_service.keyring import KEY_BYTES, Key

_NONCE_BYTES: Final = 12
_SALT: Final = b"stud/v1/sealing"
_DOWN: Final = b"down"
_SEED: Final = b"seed"
_ORDER: Final = b"order"


class SealError(Exception):
    """A box that cannot be opened."""


class WrongKey(SealError):
    """Sealed under a key that this service does not hold."""


class BrokenBox(SealError):
    """Altered, or not from this place."""


# --- down cards -----------------------------------------------------------------------------------------------------


def hand_key(master: bytes, commitment: bytes) -> Secret:
    """Return K_hand, under which the down cards of one hand are sealed; ``master`` is the key "down"."""
    return Secret(hkdf(master, _SALT, frame(_DOWN, commitment), KEY_BYTES))


def seal_down(key: bytes, table: str, hand_no: int, seat: int, pos: int, card: int) -> bytes:
    """Seal the card at deck position ``pos`` for ``seat``; ``key`` is the hand's (:func:`hand_key`). 17 bytes."""
    if not 0 <= card < DECK_SIZE:
        raise ValueError("there is no such card")
    return AESGCM(key).encrypt(_nonce(pos), bytes((card,)), _down_place(table, hand_no, seat, pos))


def open_down(key: bytes, table: str, hand_no: int, seat: int, pos: int, box: bytes) -> int:
    """Return the card 0..51 in a box; raises BrokenBox unless it was sealed for exactly this place."""
    place = _down_place(table, hand_no, seat, pos)
    content = _open(key, pos, box, place, f"down card of table {table}, hand {hand_no}, seat {seat}, position {pos}")
    if len(content) != 1 or content[0] >= DECK_SIZE:
        raise BrokenBox(f"the box at position {pos} of table {table}, hand {hand_no} holds no card")
    return content[0]


def _down_place(table: str, hand_no: int, seat: int, pos: int) -> bytes:
    return frame(_DOWN, table.encode(), hand_no.to_bytes(8, "big"), bytes((pos, seat)))


# --- seeds and stacked orders ---------------------------------------------------------------------------------------


def seal_seed(key: Key, seed: bytes, table: str, hand_no: int, commitment: bytes) -> SealedSeed:
    """Seal a hand's seed under the key "dealer" (at rest) or "referee" (closed hands)."""
    place = _deck_place(_SEED, table, hand_no, commitment)
    return SealedSeed(key.key_id, AESGCM(_box_key(key, place)).encrypt(_nonce(0), check_seed(seed), place))


def open_seed(key: Key, sealed: SealedSeed, table: str, hand_no: int, commitment: bytes) -> Secret:
    """Return the seed; raises WrongKey, BrokenBox. ``commitment`` is that of the hand's DeckCommitted."""
    if sealed.key_id != key.key_id:
        raise WrongKey(f"the seed of table {table}, hand {hand_no} is under key {sealed.key_id!r}, not {key.key_id!r}")
    place = _deck_place(_SEED, table, hand_no, commitment)
    seed = _open(_box_key(key, place), 0, sealed.box, place, f"seed of table {table}, hand {hand_no}")
    if len(seed) != SEED_BYTES:
        raise BrokenBox(f"the box of table {table}, hand {hand_no} holds no seed")
    return Secret(seed)


def seal_order(key: Key, cards: Sequence[int], table: str, hand_no: int, commitment: bytes) -> bytes:
    """Seal the 52 cards of a stacked deck, top first, beside the seed and under the same key and commitment."""
    place = _deck_place(_ORDER, table, hand_no, commitment)
    return AESGCM(_box_key(key, place)).encrypt(_nonce(0), bytes(check_deck(cards)), place)


def open_order(key: Key, box: bytes, table: str, hand_no: int, commitment: bytes) -> SecretCards:
    """Return the cards of a stacked deck; raises BrokenBox. The sealed seed beside it tells whose key it is."""
    place = _deck_place(_ORDER, table, hand_no, commitment)
    content = _open(_box_key(key, place), 0, box, place, f"stacked deck of table {table}, hand {hand_no}")
    try:
        return SecretCards(check_deck(content))
    except ValueError:
        raise BrokenBox(f"the box of table {table}, hand {hand_no} holds no deck") from None


def _deck_place(what: bytes, table: str, hand_no: int, commitment: bytes) -> bytes:
    return frame(what, table.encode(), hand_no.to_bytes(8, "big"), commitment)


def _box_key(key: Key, place: bytes) -> Secret:
    return Secret(hkdf(key, _SALT, place, KEY_BYTES))


# --- both -----------------------------------------------------------------------------------------------------------


def _nonce(number: int) -> bytes:
    return number.to_bytes(_NONCE_BYTES, "big")


def _open(key: bytes, nonce: int, box: bytes, place: bytes, what: str) -> bytes:
    try:
        return AESGCM(key).decrypt(_nonce(nonce), box, place)
    except (InvalidTag, ValueError):
        raise BrokenBox(f"the {what} does not open: it was altered, or belongs elsewhere") from None
