"""One table of a made log (`make_log.py`), played as fast as the core plays: it decides, its dealer seals and deals,
and every commit is encoded and chained as the services do it. Players choose at random among what the rules allow.

Between hands players top up, leave, and others take their seats. Now and then operators void a hand, and now and then
one is disputed and resolved.
"""

from __future__ import annotations

import random
from typing import Any

from benches.made_house import BUILD, Cause, House, Stream
from stud_core import commands as cmd
from stud_core import deck as dealer
from stud_core import events as ev
from stud_core.clear_deck import ClearDeck
from stud_core.commands import Context
from stud_core.decide import step
from stud_core.deck_events import DeckCardsDealt, DeckClosed, DeckCommitted, LogRef
from stud_core.ledger import commands as lc
from stud_core.rejection import Rejection
from stud_core.ruleset import TableConfig
from stud_core.secret import Secret
from stud_core.state import Phase, Sit, Table
from stud_eventlog import keys
from stud_eventlog.types import Head
from stud_service.keyring import KeyRing
from stud_service.sealing import hand_key, seal_down, seal_seed
from stud_wire.commits import Meta

SITTERS = (2, 4, 5, 6, 6, 6, 7, 8)
"""How many may sit at a table."""

DEEP = 60
"""Small bets of a buy-in where the rules name no maximum."""

SHALLOW = 12
"""Small bets below which a player tops up."""

LEAVES_EVERY, VOIDED_EVERY, DISPUTED_EVERY = 25, 400, 800
"""One hand in so many, on the average."""

LIKES = {ev.Verb.FOLD: 2, ev.Verb.CHECK: 6, ev.Verb.CALL: 6, ev.Verb.BRING_IN: 6}
"""Weights of choices; a wager has 2."""


class MadeTable:
    """A table, its dealer, and what they make of each other."""

    def __init__(
        self, house: House, config: TableConfig, ring: KeyRing, accounts: list[str], seed: int, now_ms: int
    ) -> None:
        self.state = Table()
        self.deck = dealer.Deck()
        self.now_ms = now_ms
        self._config, self._accounts = config, accounts
        self._keys = {name: ring.key(name) for name in ("dealer", "down", "referee")}
        self._rng = random.Random(f"{seed} {config.table_id}")
        shard = keys.shard_of(config.table_id)
        self._verdicts = house.verdicts(shard)
        self._book = house.book(config.currency)
        self._log = Stream(keys.table_log(shard, config.table_id), house.out, self._rng)
        self._deck_log = Stream(keys.deck_log(shard, config.table_id), house.out, self._rng)
        self._seed = Secret(bytes(32))
        self._clear: ClearDeck | None = None
        self._hand_key = Secret(bytes(32))
        self._closed: DeckClosed | None = None
        self._committed: tuple[DeckCommitted, Cause] | None = None
        self._ended: ev.HandEnded | ev.HandVoided | None = None
        self._send(cmd.OpenTable(config, "operator-1"), actor="operator-1")
        for _ in range(self._rng.choice(SITTERS)):
            self._somebody_sits_down()
        self._record_deck()

    # --- commits -----------------------------------------------------------------------------------------------------

    def _send(self, command: cmd.Command, actor: str = "", cause: Cause | None = None) -> Cause:
        """Have a command accepted; return where its commit is."""
        context = Context(self.now_ms, self.state.version + 1, BUILD)
        events, state = _accepted(step(self.state, command, context))
        while state.wants_showdown:
            shown, state = _accepted(step(state, cmd.Showdown(self._open_cards(state)), context))
            events = [*events, *shown]
        request = (self._rng.randbytes(16).hex(), self._rng.randbytes(32)) if actor else ("", b"")
        head = self._log.append(events, Meta(self.now_ms, actor, *request, cause, BUILD))
        self.state = state
        for event in events:
            self._tell(event, head)
        return self._log.name, head.version

    def _open_cards(self, state: Table) -> dict[int, tuple[int, ...]]:
        hand, cards = state.running, self._deck_now().cards
        return {seat: tuple([cards[box.pos] for box in hand.down[seat]]) for seat in hand.order if hand.live[seat]}

    def _tell(self, event: Any, head: Head) -> None:
        """What the dealer makes of an event of the commit with this head."""
        stream, cause = self._log.name, (self._log.name, head.version)
        if isinstance(event, ev.TableOpened):
            self._deal(dealer.decide_opened(self.deck, event, self._next_deck), cause)
        elif isinstance(event, ev.DealRequested):
            ref = LogRef(stream, head.version, head.version, head.hash)
            self._deal(dealer.decide_deal(self.deck, event, ref, self._deck_now, self._seal), cause)
        elif isinstance(event, ev.HandEnded | ev.HandVoided):
            self._ended = event
            whole = LogRef(stream, event.from_version, head.version, head.hash)
            own = LogRef(self._deck_log.name, 0, self._deck_log.head.version, self._deck_log.head.hash)
            self._deal(dealer.decide_closed(self.deck, event, whole, own, self._reseal, self._next_deck), cause)

    # --- the dealer --------------------------------------------------------------------------------------------------

    def _deal(self, answer: Any, cause: Cause) -> None:
        events = _accepted(answer)
        head = self._deck_log.append(events, Meta(self.now_ms, cause=cause, build=BUILD))
        place = (self._deck_log.name, head.version)
        for event in events:
            self.deck = dealer.evolve(self.deck, event, head.version)
        for event in events:
            if isinstance(event, DeckCommitted):
                self._committed = event, place
            elif isinstance(event, DeckClosed):
                self._closed = event
            elif isinstance(event, DeckCardsDealt):
                answered = (event.hand_no, event.deal_no, event.up, event.down, event.community, event.root)
                self._send(cmd.RecordCards(*answered), cause=place)

    def _next_deck(self, hand_no: int) -> DeckCommitted:
        self._seed = Secret(self._rng.randbytes(32))
        clear = self._clear = ClearDeck(self._config.table_id, hand_no, self._seed)
        self._hand_key = hand_key(self._keys["down"], clear.commitment)
        sealed = seal_seed(self._keys["dealer"], self._seed, self._config.table_id, hand_no, clear.commitment)
        return DeckCommitted(hand_no, clear.commitment, sealed, 1, stacked=False, stacked_order=b"")

    def _deck_now(self) -> ClearDeck:
        assert self._clear is not None
        return self._clear

    def _seal(self, seat: int, pos: int, card: int) -> bytes:
        return seal_down(self._hand_key, self._config.table_id, self.deck.hand_no, seat, pos, card)

    def _reseal(self) -> dealer.Resealed:
        place = (self._config.table_id, self.deck.hand_no, self.deck.commitment)
        return dealer.Resealed(seal_seed(self._keys["referee"], self._seed, *place))

    # --- a hand ------------------------------------------------------------------------------------------------------

    def play_hand(self) -> None:
        """Play a hand to its end, have it verified and booked, and let players come and go."""
        self.now_ms += self._config.hand_pause_ms
        voided_at = self._rng.randrange(1, 12) if self._one_in(VOIDED_EVERY) else 0
        self._send(cmd.StartHand())
        moves = 0
        while self.state.hand is not None:
            moves += 1
            self._move(void=moves == voided_at)
        self._have_it_judged()
        self._record_deck()
        self._between_hands()

    def _record_deck(self) -> None:
        """Hear of the next hand's deck at once: nothing is left in the dealer's feed."""
        assert self._committed is not None
        deck, cause = self._committed
        self._send(cmd.RecordDeck(deck.hand_no, deck.commitment), cause=cause)

    def _move(self, *, void: bool) -> None:
        hand = self.state.running
        self.now_ms += self._rng.randrange(800, 6000)
        if hand.phase is Phase.SHOW_PROMPTS:
            self.now_ms = max(self.now_ms, *[prompt.deadline_ms for prompt in hand.prompts]) + 1
            self._send(cmd.Tick())
        elif void:
            self._send(cmd.VoidHand(hand.hand_no, "the machine was taken away", "operator-1"), actor="operator-1")
        else:
            option = self._rng.choices(hand.options, [LIKES.get(option.verb, 2) for option in hand.options])[0]
            account = self.state.at(hand.turn_seat).account
            act = cmd.Act(account, hand.turn_id, option.verb, option.to, option.size)
            self._send(act, actor=account)

    def _have_it_judged(self) -> None:
        ended, closed = self._ended, self._closed
        assert ended is not None
        assert closed is not None
        cause = (self._deck_log.name, self._deck_log.head.version)
        place = (self._config.table_id, self._config.currency)
        disputed = isinstance(ended, ev.HandEnded) and self._one_in(DISPUTED_EVERY)
        if disputed and isinstance(ended, ev.HandEnded):
            dispute, said = self._verdicts.dispute(*place, ended, closed, cause, self.now_ms)
            codes = tuple([finding.code for finding in dispute.findings])
            self._send(cmd.RecordDispute(ended.hand_no, said[1], codes), cause=said)
            self.now_ms += 600_000
            choice = self._rng.choice((ev.ResolutionChoice.TABLE, ev.ResolutionChoice.VOID))
            final, said = self._verdicts.resolve(dispute, ended, choice, self.now_ms)
            self.now_ms += 60_000
            self._send(cmd.RecordResolution(ended.hand_no, said[1], choice, final.stacks), cause=said)
            postings, rake = final.postings, final.rake
        else:
            verified, said = self._verdicts.verify(*place, ended, closed, cause, self.now_ms)
            self._send(cmd.RecordVerdict(ended.hand_no, said[1]), cause=said)
            postings, rake = verified.postings, verified.rake
        self._book.book(lc.SettleHand(place[0], ended.hand_no, said[1], postings, rake), self.now_ms, said)

    def _one_in(self, number: int) -> bool:
        return self._rng.randrange(number) == 0

    # --- players -----------------------------------------------------------------------------------------------------

    def _between_hands(self) -> None:
        for sitting in list(self.state.sittings.values()):
            if sitting.status is Sit.SEATED and sitting.stack < SHALLOW * self._config.small_bet:
                self._top_up(sitting.account)
        if self._one_in(LEAVES_EVERY):
            self._leave(self._rng.choice([number for number in self.state.seats if number]))
            self._somebody_sits_down()

    def _buy_in(self) -> int:
        return self._config.max_buy_in or DEEP * self._config.small_bet

    def _somebody_sits_down(self) -> None:
        here = {sitting.account for sitting in self.state.sittings.values()}
        account = next(name for name in iter(lambda: self._rng.choice(self._accounts), "") if name not in here)
        amount = self._buy_in()
        self._book.fill(account, amount, self.now_ms)
        asked = self._send(cmd.TakeSeat(account, None, amount, auto_post=True, muck_losing=True), actor=account)
        number = self.state.next_sitting_no - 1
        fund = lc.FundBuyIn(self._config.table_id, number, account, amount, self.now_ms + 30_000)
        self._send(cmd.RecordFunding(number, amount), cause=self._book.book(fund, self.now_ms, asked))

    def _top_up(self, account: str) -> None:
        sitting = self.state.of(account)
        assert sitting is not None
        amount = self._buy_in() - sitting.stack
        self._book.fill(account, amount, self.now_ms)
        asked = self._send(cmd.AddChips(account, amount), actor=account)
        number, top_up_no = sitting.sitting_no, sitting.top_up_no + 1
        fund = lc.FundTopUp(self._config.table_id, number, top_up_no, account, amount)
        paid = self._book.book(fund, self.now_ms, asked)
        self._send(cmd.RecordTopUp(number, top_up_no, amount), cause=paid)
        if self.state.sittings[number].sitting_out:
            self._send(cmd.SitIn(account), actor=account)

    def _leave(self, number: int) -> None:
        sitting = self.state.sittings[number]
        asked = self._send(cmd.LeaveSeat(sitting.account), actor=sitting.account)
        left = self.state.sittings[number]
        pay = lc.CashOut(self._config.table_id, number, left.account, left.claim, left.last_hand)
        self._send(cmd.RecordCashOut(number, left.claim or 0), cause=self._book.book(pay, self.now_ms, asked))


def _accepted(answer: Any) -> Any:
    """What was decided; a refusal is a fault of this script."""
    assert not isinstance(answer, Rejection), answer
    return answer
