"""One hand's deck in clear, from its seed: for the dealer while the hand runs, the referee and the auditor after it."""

from __future__ import annotations

from collections.abc import Sequence

from stud_core import merkle, shuffle
from stud_core.secret import Secret, SecretCards


class UnknownShuffle(ValueError):
    """The deck was shuffled by a version of the method that this build does not know."""


class ClearDeck:
    """Cards, river ranks, commitment and Merkle root of one hand's deck. ``repr`` tells only whose it is.

    ``stacked`` replaces the shuffled order at rehearsal tables; the river ranks come from the seed all the same.
    Raises ValueError for a malformed seed, a stacked deck without 52 different cards, UnknownShuffle.
    """

    __slots__ = ("_root", "_seed", "cards", "commitment", "hand_no", "river_rank", "stacked", "table")

    def __init__(
        self,
        table: str,
        hand_no: int,
        seed: bytes,
        stacked: Sequence[int] | None = None,
        shuffle_version: int = shuffle.SHUFFLE_VERSION,
    ) -> None:
        if shuffle_version != shuffle.SHUFFLE_VERSION:
            known = shuffle.SHUFFLE_VERSION
            raise UnknownShuffle(f"shuffle version {shuffle_version}: this build knows version {known}")
        self.table = table
        self.hand_no = hand_no
        self.stacked = stacked is not None
        self.commitment = shuffle.commitment(table, hand_no, seed, stacked)
        self.cards = shuffle.deck_order(seed) if stacked is None else SecretCards(stacked)
        self.river_rank = shuffle.river_rank(seed)
        self._seed = Secret(seed)
        self._root = b""

    def __repr__(self) -> str:
        return f"<ClearDeck of table {self.table}, hand {self.hand_no}>"

    @property
    def seed(self) -> Secret:
        """The 32 bytes from which everything follows."""
        return self._seed

    @property
    def root(self) -> bytes:
        """Merkle root over the 52 salted leaves; computed when first asked for."""
        if not self._root:
            self._root = merkle.merkle_root(self._seed, self.commitment, self.cards, self.river_rank)
        return self._root

    def proof(self, position: int) -> merkle.Proof:
        """Return the proof of the card at one position."""
        return merkle.prove(self._seed, self.commitment, self.cards, self.river_rank, position)
