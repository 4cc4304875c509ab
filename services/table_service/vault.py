"""Opens sealed down cards: the only place of the table service that can.

Values are handed straight to the showdown command and to their owner's private view, which is kept until it changes or
the hand is over. ``repr`` says nothing.
"""

from __future__ import annotations

from stud_core.events import DownCard
from stud_core.state import Table
from stud_service.sealing import hand_key, open_down


class Vault:
    """The down cards of one table's running hand, opened once each."""

    __slots__ = ("_cards", "_commitment", "_key", "_master", "_table_id")

    def __init__(self, table_id: str, master: bytes) -> None:
        self._table_id = table_id
        self._master = master
        self._commitment = b""
        self._key = b""
        self._cards: dict[bytes, int] = {}

    def __repr__(self) -> str:
        return "<Vault>"

    def seat_cards(self, table: Table, seat: int) -> tuple[int, ...]:
        """Return the clear down cards of ``seat`` in the running hand, in the order dealt."""
        hand = table.hand
        if hand is None or not hand.down[seat]:
            return ()
        if table.commitment != self._commitment:
            self._commitment = table.commitment
            self._key = hand_key(self._master, table.commitment)
            self._cards = {}
        return tuple(self._open(hand.hand_no, seat, box) for box in hand.down[seat])

    def live_cards(self, table: Table) -> dict[int, tuple[int, ...]]:
        """Return the clear down cards of every live seat, for the showdown."""
        hand = table.hand
        if hand is None:
            return {}
        return {seat: self.seat_cards(table, seat) for seat in hand.order if hand.live[seat]}

    def _open(self, hand_no: int, seat: int, box: DownCard) -> int:
        card = self._cards.get(box.sealed)
        if card is None:
            card = open_down(self._key, self._table_id, hand_no, seat, box.pos, box.sealed)
            self._cards[box.sealed] = card
        return card
