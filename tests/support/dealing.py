"""A dealer without a service: one table's deck, events decided and folded, boxes that can be read in tests."""

from collections.abc import Sequence

from stud_core.clear_deck import ClearDeck
from stud_core.deck import Deck, Positions, Stub, decide_deal, evolve
from stud_core.deck_events import DeckCommitted, DeckEvent, LogRef, SealedSeed
from stud_core.events import DealMode, DealRequested
from stud_core.rejection import Rejection

TABLE = "t-1"
SEED = bytes(range(32))
CLEAR = ClearDeck(TABLE, 1, SEED)
TABLE_STREAM, DECK_STREAM = "{s00}:table:t-1", "{s00}:deck:t-1"
SEALED = SealedSeed("dealer-00000000", b"sealed")


def ref(version: int, first: int | None = None) -> LogRef:
    """A range of the table's log that ends with ``version``."""
    return LogRef(TABLE_STREAM, version if first is None else first, version, version.to_bytes(32, "big"))


def deck_ref(version: int) -> LogRef:
    return LogRef(DECK_STREAM, 1, version, version.to_bytes(32, "big"))


def box(seat: int, pos: int, card: int) -> bytes:
    return bytes((seat, pos, card))


def request(
    deal_no: int,
    targets: Sequence[int],
    mode: DealMode = DealMode.NORMAL,
    *,
    burn: bool = False,
    hand_no: int = 1,
) -> DealRequested:
    return DealRequested(hand_no, deal_no, deal_no + 2, mode, burn, tuple(targets))


def street(number: int, targets: Sequence[int], *, burn: bool = False, hand_no: int = 1) -> DealRequested:
    return request(number - 2, targets, burn=burn, hand_no=hand_no)


def committed(hand_no: int = 1, *, stacked: bool = False, clear: ClearDeck = CLEAR) -> DeckCommitted:
    order = b"order" if stacked else b""
    return DeckCommitted(hand_no, clear.commitment, SEALED, 1, stacked, order)


class Dealing:
    """A deck that was committed to, and every deal of its hand. ``stubs`` are those before each deal."""

    def __init__(self, hand_no: int = 1) -> None:
        self.version = 0
        self.events: list[DeckEvent] = []
        self.deck = Deck()
        self.dealt: list[Positions] = []
        self.stubs: list[Stub] = []
        self.fold([committed(hand_no)])

    def fold(self, events: Sequence[DeckEvent]) -> None:
        self.version += 1
        for event in events:
            self.deck = evolve(self.deck, event, self.version)
            self.events.append(event)

    def decide(self, wanted: DealRequested, version: int) -> list[DeckEvent] | Rejection:
        return decide_deal(self.deck, wanted, ref(version), lambda: CLEAR, box)

    def answer(self, wanted: DealRequested) -> list[DeckEvent]:
        """Decide and fold; the request stands in version 10 * deal number of the table's log."""
        made = self.decide(wanted, 10 * wanted.deal_no)
        assert not isinstance(made, Rejection), made
        self.fold(made)
        return made

    def deal(self, wanted: DealRequested) -> Positions:
        self.stubs.append(self.deck.stub)
        self.answer(wanted)
        self.dealt.append(self.deck.answers[-1].positions)
        return self.dealt[-1]
