"""Where every card of a hand is: no card twice, no folded card back, no muck opened, each river as its page says."""

from __future__ import annotations

from stud_core import events as ev
from stud_core.cards import DECK_SIZE
from stud_core.events import DealMode
from stud_core.ruleset import RiverShortage, TableConfig
from stud_core.state import Table
from tests.property.shuffled import ShuffledDealer

EVERY_POSITION = set(range(DECK_SIZE))


class CardWatch:
    """Positions of the deck: ``dealt`` to somebody or for all to see, by seat; ``burned`` and not used since."""

    def __init__(self, config: TableConfig, dealer: ShuffledDealer) -> None:
        self.config, self.dealer = config, dealer
        self.start(())

    def start(self, order: tuple[int, ...]) -> None:
        self.order, self.live = order, set(order)
        self.dealt: dict[int, int] = {}  # seat by position, 0 for all
        self.burned: set[int] = set()
        self.mucked: set[int] = set()
        self.shown: set[int] = set()

    def see(self, event: ev.Event, table: Table) -> None:
        match event:
            case ev.HandStarted():
                self.start(tuple([player.seat for player in event.dealt_in]))
            case ev.ActionTaken() if event.verb is ev.Verb.FOLD:
                self.live.remove(event.seat)
            case ev.DealRequested():
                self._request(event)
            case ev.CardsDealt():
                self._cards(event)
            case ev.HandShown():
                self._shown(event, table)
            case ev.HandMucked():
                assert event.seat in self.live - self.shown
                self.mucked.add(event.seat)
            case _:
                pass
        if table.hand is not None:
            hand = table.hand
            assert {seat for seat in range(9) if hand.shown[seat]} <= self.shown, "cards were opened"
            assert not hand.order or {seat for seat in range(9) if hand.live[seat]} == self.live, "somebody is back"

    def _request(self, event: ev.DealRequested) -> None:
        """Live players only, in deal order; on the river the arithmetic of B.12 before any burn."""
        live = tuple([seat for seat in self.order if seat in self.live])
        self.request = event
        rules = self.config.ruleset
        stub = DECK_SIZE - len(self.dealt) - len(self.burned)
        mode, burn, targets = DealMode.NORMAL, rules.burns and event.street > 3, live
        if event.street == 7:
            if stub >= len(live) + rules.river_burn_reserve:
                burn = rules.burns and stub > len(live)
            elif rules.river_shortage is RiverShortage.RECYCLE_THEN_COMMUNITY and stub + len(self.burned) >= len(live):
                mode, burn = DealMode.RECYCLE, False
            else:
                mode, burn, targets = DealMode.COMMUNITY, False, ()
        assert (event.mode, event.burn, event.targets) == (mode, burn, targets), f"{stub} left: {event}"

    def _cards(self, event: ev.CardsDealt) -> None:
        request = self.request
        unseen = EVERY_POSITION - self.dealt.keys()
        stub = unseen - self.burned
        if request.burn:
            self.burned.add(min(stub))
            stub.discard(min(stub))
        pool = stub
        if request.mode is DealMode.RECYCLE:
            pool = unseen  # P34, P36: burns and stub, and nothing that was ever dealt
        elif request.mode is DealMode.COMMUNITY and self.burned:
            pool = self.burned  # P35: the stub card is not among them
        common = [] if event.community is None else [self._where(event.community)]
        taken = [*[box.pos for box in event.down], *[self._where(card.card) for card in event.up], *common]
        seats = [*[box.seat for box in event.down], *[card.seat for card in event.up], *[0 for _ in common]]
        assert len(set(taken)) == len(taken)
        assert set(taken) <= pool, f"dealt from outside the pool: {set(taken) - pool}"
        assert set(seats) - {0} == set(request.targets) <= self.live
        self.dealt |= dict(zip(taken, seats, strict=True))
        self.burned -= set(taken)
        assert set(self.dealer.burned) == self.burned
        assert {self.dealer.order[pos] for pos in self.dealt} == self.dealer.dealt
        self._look_for_clear_cards(event)

    def _look_for_clear_cards(self, event: ev.CardsDealt) -> None:
        """Whatever lies face down travels as a sealed box only."""
        for box in event.down:
            assert self.dealer.open((box,)) == (self.dealer.order[box.pos],)
            assert box.sealed.startswith(b"box")

    def _where(self, card: int) -> int:
        return self.dealer.order.index(card)

    def _shown(self, event: ev.HandShown, table: Table) -> None:
        """Only who is live and has not mucked, and the cards that he was dealt."""
        assert event.seat in self.live - self.mucked - self.shown, f"a muck was opened: {event}"
        mine = [self.dealer.order[pos] for pos, seat in self.dealt.items() if seat == event.seat]
        assert sorted((*event.cards, *table.running.up[event.seat])) == sorted(mine), event
        self.shown.add(event.seat)
