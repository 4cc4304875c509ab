"""The dealer's keys and source of randomness: the only place where seeds are drawn, sealed and opened.

Nothing here is logged, and what leaves is either sealed or of a type that does not show itself.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from stud_core.clear_deck import ClearDeck
from stud_core.deck import Resealed, Seal
from stud_core.deck_events import DeckCommitted, SealedSeed
from stud_core.secret import Secret
from stud_core.shuffle import SEED_BYTES, SHUFFLE_VERSION, commitment, frame, hkdf
from stud_service.keyring import KEY_BYTES, KeyRing
from stud_service.sealing import BrokenBox, hand_key, open_order, open_seed, seal_down, seal_order, seal_seed

KEYS: Final = ("dealer", "down", "referee")

_DIGESTS: Final = b"stud/v1/request-digest"


class Committed(Protocol):
    """A deck that was committed to: the state's newest one, or a DeckCommitted read from the log."""

    @property
    def hand_no(self) -> int: ...
    @property
    def commitment(self) -> bytes: ...
    @property
    def seed(self) -> SealedSeed: ...
    @property
    def stacked(self) -> bool: ...
    @property
    def stacked_order(self) -> bytes: ...
    @property
    def shuffle_version(self) -> int: ...


def draw_seed() -> bytes:
    """Draw 256 bits from the operating system. There is no second source: without it no hand is dealt."""
    return os.urandom(SEED_BYTES)


class Seeds:
    """Draws, seals and opens decks."""

    __slots__ = ("_dealer", "_digests", "_down", "_draw", "_referee")

    def __init__(self, ring: KeyRing, draw: Callable[[], bytes] = draw_seed) -> None:
        self._dealer = ring.key("dealer")
        self._down = ring.key("down")
        self._referee = ring.key("referee")
        self._digests = Secret(hkdf(self._dealer, b"", _DIGESTS, KEY_BYTES))
        self._draw = draw

    def __repr__(self) -> str:
        return "<Seeds>"

    def new_deck(self, table: str, hand_no: int, stacked: Sequence[int] | None = None) -> DeckCommitted:
        """Draw a seed and commit to its deck, or to a stacked order under it."""
        seed = Secret(self._draw())
        committed = commitment(table, hand_no, seed, stacked)
        return DeckCommitted(
            hand_no=hand_no,
            commitment=committed,
            seed=seal_seed(self._dealer, seed, table, hand_no, committed),
            shuffle_version=SHUFFLE_VERSION,
            stacked=stacked is not None,
            stacked_order=b"" if stacked is None else seal_order(self._dealer, stacked, table, hand_no, committed),
        )

    def open(self, table: str, deck: Committed) -> ClearDeck:
        """Open a deck of this dealer. Raises WrongKey, BrokenBox, UnknownShuffle."""
        seed = open_seed(self._dealer, deck.seed, table, deck.hand_no, deck.commitment)
        order = None
        if deck.stacked:
            order = open_order(self._dealer, deck.stacked_order, table, deck.hand_no, deck.commitment)
        clear = ClearDeck(table, deck.hand_no, seed, order, deck.shuffle_version)
        if clear.commitment != deck.commitment:
            raise BrokenBox(f"the seed of table {table}, hand {deck.hand_no} is not the one committed to")
        return clear

    def sealer(self, clear: ClearDeck) -> Seal:
        """Return the function that puts down cards of a hand into boxes."""
        key, table, hand_no = hand_key(self._down, clear.commitment), clear.table, clear.hand_no

        def seal(seat: int, pos: int, card: int) -> bytes:
            return seal_down(key, table, hand_no, seat, pos, card)

        return seal

    def reseal(self, clear: ClearDeck) -> Resealed:
        """Seal a deck for the referee."""
        place = (clear.table, clear.hand_no, clear.commitment)
        order = seal_order(self._referee, clear.cards, *place) if clear.stacked else b""
        return Resealed(seal_seed(self._referee, clear.seed, *place), order)

    def digest(self, *parts: bytes) -> bytes:
        """Return what a request's content is remembered by. Keyed: a plain hash of a stacked deck could be guessed
        card by card by whoever knows most of it.
        """
        return hmac.digest(self._digests, frame(*parts), "sha256")
