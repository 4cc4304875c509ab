"""A dealer whose deck lies in clear: an order of 52 cards, and the order in which a pool is drawn from at the river.

Positions come from the product's dealer, unchecked (``table_dealer`` is the one that checks them), so that many
thousands of hands can be dealt. A box holds nothing but its position.
"""

from __future__ import annotations

from collections.abc import Sequence

from stud_core import events as ev
from stud_core.cards import DECK_SIZE
from stud_core.commands import RecordCards
from stud_core.deck import Positions, Stub, take

ROOT = bytes(32)


class ClearDealer:
    """``bring`` the deck before the hand starts. ``taken`` are the positions of the last deal."""

    def __init__(self) -> None:
        self.bring(range(DECK_SIZE))
        self.taken = Positions((), (), (), None)

    def bring(self, order: Sequence[int], river_rank: Sequence[int] = range(DECK_SIZE)) -> None:
        self.order, self.river_rank = order, river_rank
        self.new_deck()

    def new_deck(self) -> None:
        """All cards of the deck that was brought last are in the stub."""
        self.stub = Stub()

    def answer(self, request: ev.DealRequested) -> RecordCards:
        taken = take(self.stub, request, self.river_rank)
        assert isinstance(taken, Positions), taken
        self.taken = taken
        top = max([self.stub.top, *[position + 1 for position in (*taken.dealt, *taken.burns)]])
        self.stub = Stub(top, (*self.stub.burned, *taken.burns))
        up = tuple([ev.UpCard(seat, self.order[position]) for seat, position in taken.up])
        down = tuple([ev.DownCard(seat, position, b"") for seat, position in taken.down])
        community = None if taken.community is None else self.order[taken.community]
        root = ROOT if request.deal_no == 1 else None
        return RecordCards(request.hand_no, request.deal_no, up, down, community, root)

    def open(self, down: tuple[ev.DownCard, ...]) -> tuple[int, ...]:
        return tuple([self.order[box.pos] for box in down])
