"""The dealer of the table driver: one deck, cards in boxes, and an account of all 52 of them.

It answers ``DealRequested`` as the rule pages say a dealer does (P12, P18, P30-P35, W20-W21), card by card, and checks
that the product's dealer (``stud_core.deck``) takes the same positions. Cards a test names come to the seat they were
named for; all others are random.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from stud_core.cards import DECK_SIZE, card_name, parse_card, parse_cards
from stud_core.commands import RecordCards
from stud_core.deck import Positions, Stub, take
from stud_core.events import DealMode, DealRequested, DownCard, UpCard
from stud_core.state import Hand


@dataclass(frozen=True)
class River:
    """How the last cards came: sizes are numbers of cards, ``stub`` counted before the river."""

    mode: DealMode
    stub: int
    burned: int
    pool: int
    dealt: int
    left: int


class Dealer:
    """Deck positions count from 0; ``places`` maps (street, seat) to the positions that seat's cards had."""

    def __init__(
        self, burns: bool, up: Mapping[int, str], down: Mapping[int, str], community: str | None, rng: Random
    ) -> None:
        self.burns, self.rng = burns, rng
        self._up = {seat: parse_cards(text) for seat, text in up.items()}
        self._down = {seat: parse_cards(text) for seat, text in down.items()}
        self._community = parse_card(community) if community else None
        self._boxes: dict[bytes, int] = {}
        self.new_deck()

    def new_deck(self) -> None:
        """Shuffle up: all 52 cards are in the stub again."""
        self.wanted_up = {seat: list(cards) for seat, cards in self._up.items()}
        self.wanted_down = {seat: list(cards) for seat, cards in self._down.items()}
        self.wanted_community = self._community
        self.next = 0  # position of the top card of the stub
        self.card_at: dict[int, int] = {}
        self.burned: list[int] = []
        self.dealt: set[int] = set()
        self.places: dict[tuple[int, int], list[int]] = {}
        self.requests: list[DealRequested] = []
        self.river: River | None = None
        # How a pool is shuffled. Where a test names river cards, burns come last: what they are is fixed already.
        self.river_rank = [DECK_SIZE - position for position in range(DECK_SIZE)]
        if not any(len(cards) > 2 for cards in self._down.values()):
            self.rng.shuffle(self.river_rank)

    def answer(self, request: DealRequested) -> RecordCards:
        """Deal what a request asks for."""
        self.requests.append(request)
        stub = DECK_SIZE - self.next
        product = take(Stub(self.next, tuple(self.burned)), request, self.river_rank)
        burned = len(self.burned)
        if request.burn:
            self._burn()
        match request.mode:
            case DealMode.COMMUNITY:
                pool = len(self.burned) if self.burns else stub
                dealt = self._deal_community(request)
            case DealMode.RECYCLE:
                pool = stub + len(self.burned)
                dealt = self._deal_recycled(request)
            case _:
                pool = stub - int(request.burn)
                dealt = self._deal_stub(request)
        if request.street == 7:
            count = len(dealt.down) + (dealt.community is not None)
            self.river = River(request.mode, stub, int(request.burn), pool, count, pool - count)
        burns = tuple(self.burned[burned:]) if request.burn else ()
        down = tuple((box.seat, box.pos) for box in dealt.down)
        up = tuple((card.seat, self._position(card.card)) for card in dealt.up)
        community = None if dealt.community is None else self._position(dealt.community)
        assert product == Positions(burns, down, up, community), product
        return dealt

    def _position(self, card: int) -> int:
        return next(position for position, there in self.card_at.items() if there == card)

    def open(self, down: tuple[DownCard, ...]) -> tuple[int, ...]:
        """Clear cards of boxes: what the shell's vault does."""
        return tuple(self._boxes[box.sealed] for box in down)

    def check(self, hand: Hand) -> None:
        """Every card that was dealt is in exactly one place of the hand, none of them twice, none out of thin air."""
        cards = [card for seat in hand.order for card in (*hand.up[seat], *self.open(hand.down[seat]))]
        if hand.community is not None:
            cards.append(hand.community)
        assert len(set(cards)) == len(cards), f"a card is there twice: {[card_name(c) for c in cards]}"
        assert set(cards) == self.dealt, "cards were lost or made up"
        assert len(self.dealt) + self.left() == DECK_SIZE

    def left(self) -> int:
        """Cards that nobody got: stub and burns."""
        return DECK_SIZE - len(self.dealt)

    # --- moves of the hand ---------------------------------------------------

    def _deal_stub(self, request: DealRequested) -> RecordCards:
        down: list[DownCard] = []
        up: list[UpCard] = []
        for _ in range({3: 2, 7: 1}.get(request.street, 0)):
            down += [self._down_card(request, seat, self._take(seat, up=False)) for seat in request.targets]
        if request.street < 7:
            for seat in request.targets:
                position = self._take(seat, up=True)
                self._place(request, seat, position)
                up.append(UpCard(seat, self.card_at[position]))
        return self._record(request, up, down)

    def _deal_recycled(self, request: DealRequested) -> RecordCards:
        """Burns and stub shuffled together; no burn before it (P34)."""
        pool = sorted([*self.burned, *range(self.next, DECK_SIZE)], key=self.river_rank.__getitem__)
        self.next = DECK_SIZE
        down: list[DownCard] = []
        for seat, position in zip(request.targets, pool, strict=False):
            if position not in self.card_at:
                self.card_at[position] = self.choose(position, self.wanted_down.get(seat))
            else:
                assert not self.wanted_down.get(seat), "a named river card would have to be a burnt one"
            self.burned = [p for p in self.burned if p != position]
            down.append(self._down_card(request, seat, position))
        return self._record(request, [], down)

    def _deal_community(self, request: DealRequested) -> RecordCards:
        """One of the shuffled burns (P35), or the next card of the stub where nothing is burnt (W21)."""
        if self.burns:
            position = min(self.burned, key=self.river_rank.__getitem__)
            self.burned.remove(position)
        else:
            position = self._assign(self._wanted_common())
        self.dealt.add(self.card_at[position])
        return self._record(request, [], [], community=self.card_at[position])

    def _burn(self) -> None:
        # A community card that a test names is the burn that will be turned: the first of them in river order.
        burns = len(self.burned)
        self.burned.append(self.next)
        named = self._wanted_common() if burns == 0 and self._community is not None else []
        if named:
            self.river_rank[self.next] = -1
        self._assign(named)

    def _wanted_common(self) -> list[int]:
        card, self.wanted_community = self.wanted_community, None
        return [] if card is None else [card]

    def _take(self, seat: int, *, up: bool) -> int:
        return self._assign((self.wanted_up if up else self.wanted_down).get(seat))

    def _assign(self, wanted: list[int] | None) -> int:
        position, self.next = self.next, self.next + 1
        self.card_at[position] = self.choose(position, wanted)
        return position

    def choose(self, position: int, wanted: list[int] | None) -> int:
        """Which card lies at a position: the one named for it, else a random one that nobody named."""
        used = set(self.card_at.values())
        if wanted:
            card = wanted.pop(0)
            assert card not in used, f"{card_name(card)} was named twice or is gone"
            return card
        named = {c for cards in (*self.wanted_up.values(), *self.wanted_down.values()) for c in cards}
        if self.wanted_community is not None:
            named.add(self.wanted_community)
        free = [card for card in range(DECK_SIZE) if card not in used and card not in named]
        return self.pick(free or [card for card in range(DECK_SIZE) if card not in used])

    def pick(self, free: list[int]) -> int:
        """One of the cards that may lie where none was named."""
        return self.rng.choice(free)

    def _down_card(self, request: DealRequested, seat: int, position: int) -> DownCard:
        self._place(request, seat, position)
        sealed = b"box" + len(self._boxes).to_bytes(4, "big")
        self._boxes[sealed] = self.card_at[position]
        return DownCard(seat, position, sealed)

    def _place(self, request: DealRequested, seat: int, position: int) -> None:
        assert self.card_at[position] not in self.dealt
        self.dealt.add(self.card_at[position])
        self.places.setdefault((request.street, seat), []).append(position)

    def _record(
        self, request: DealRequested, up: list[UpCard], down: list[DownCard], community: int | None = None
    ) -> RecordCards:
        root = b"root" if request.deal_no == 1 else None
        return RecordCards(request.hand_no, request.deal_no, tuple(up), tuple(down), community, root)
