"""A table and its dealer, small but real: whole hands in a real event log, for the referee to judge.

The rig decides with the rules engine, seals cards and seeds as the dealer does, and appends every commit with its
hash chain and the dealer's notice to the feed. It can be made dishonest: ``forge_table`` and ``forge_deck`` may change
the events of a commit before it is written, and everything later builds on what was written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from stud_core import commands as cmd
from stud_core import deck as dealer
from stud_core import events as ev
from stud_core.clear_deck import ClearDeck
from stud_core.commands import Context
from stud_core.deck_events import DeckClosed, DeckCommitted, LogRef, SealedSeed
from stud_core.evolve import evolve
from stud_core.presets import PLAYNOW, table_config
from stud_core.rejection import Rejection
from stud_core.ruleset import Ruleset, TableConfig
from stud_core.state import Phase, Table
from stud_core.timers import next_deadline
from stud_eventlog import keys
from stud_eventlog.log import EventLog
from stud_eventlog.types import Append, FeedEntry, FeedItem, Head
from stud_service.keyring import Key
from stud_service.sealing import hand_key, open_down, seal_down, seal_order, seal_seed
from stud_wire.commits import Meta, encode_commit, encode_event
from tests.support.choosing import WEIGHTS, Weights, choose
from tests.support.core_table import FREE, Core, Refused, knobs

REFEREE_KEY = Key("referee", b"r" * 32)
DEALER_KEY = Key("dealer", b"d" * 32)
DOWN_KEY = Key("down", b"w" * 32)

Forge = Callable[[int, list[Any]], list[Any]]
"""(version, events) -> the events to write instead."""


def config_of(rules: Ruleset = PLAYNOW, table_id: str = "t-1", *, ante: int = 50, **changes: Any) -> TableConfig:
    """A table of 5/10 at which anybody may sit down with any stack."""
    rules = knobs(rules, **FREE)
    bring_in = 200 if rules.name == PLAYNOW.name else None
    return table_config(
        rules, table_id=table_id, name="Referee", currency="XTS", small_bet=500, big_bet=1000, ante=ante,
        bring_in=bring_in, **changes,
    )  # fmt: skip


class Rig(Core):
    """One table, one dealer, one log."""

    def __init__(self, log: EventLog, config: TableConfig, seed: int = 0) -> None:
        super().__init__(config, 1_700_000_000_000)
        self.log = log
        self.rng = Random(seed)
        shard = keys.shard_of(config.table_id)
        self.shard = shard
        self.table_stream, self.deck_stream = (
            keys.table_log(shard, config.table_id),
            keys.deck_log(shard, config.table_id),
        )
        self.feed = keys.dealer_feed(shard)
        self.deck = dealer.Deck()
        self.head, self.deck_head = Head(), Head()
        self.seeds: dict[int, bytes] = {}
        self.stacked: Sequence[int] | None = None
        self.forge_table: Forge | None = None
        self.forge_deck: Forge | None = None
        self.commits: list[tuple[int, list[Any]]] = []
        self.auto = True
        self.verdict_version = 0

    # --- the table -------------------------------------------------------------------------------------------------

    async def open(self, stacks: Sequence[int], *, showing: bool = False) -> None:
        """Open the table, seat everybody, get the first deck."""
        await self.send(cmd.OpenTable(self.config), actor="op")
        for seat, stack in enumerate(stacks, 1):
            if stack:
                await self.sit(seat, stack, muck_losing=not showing)

    async def sit(self, seat: int, stack: int, *, muck_losing: bool = True, auto_post: bool = True) -> None:
        account = f"a{seat}"
        await self.send(cmd.TakeSeat(account, seat, stack, auto_post, muck_losing), actor=account)
        await self.send(cmd.RecordFunding(self.state.next_sitting_no - 1, stack))

    def ctx(self) -> Context:
        """What is next in the log, whatever was forged into it."""
        return Context(self.now_ms, self.head.version + 1, self.build)

    async def send(self, command: cmd.Command, actor: str = "") -> list[Any]:
        """Decide, let the showdown ride along, append, and have the dealer answer."""
        decided = self.decision(command)
        if isinstance(decided, Rejection):
            raise Refused(command, decided)
        events, _ = decided
        if events:
            await self.write(events, actor)
        return events

    async def write(self, events: list[Any], actor: str = "", at_ms: int | None = None) -> None:
        """Append whatever is given, right or wrong."""
        version = self.head.version + 1
        if self.forge_table is not None:
            events = self.forge_table(version, events)
        meta = Meta(self.now_ms if at_ms is None else at_ms, actor, build="test")
        self.head = await self.append(self.table_stream, self.head, events, meta)
        self.state = evolve(self.state, events, version)
        self.commits.append((version, events))
        if self.auto:
            for event in events:
                await self.tell_dealer(event)

    async def append(
        self, stream: str, head: Head, events: Sequence[Any], meta: Meta, outbox: Sequence[Any] = ()
    ) -> Head:
        items = tuple([FeedItem(self.feed, encode_event(event)) for event in outbox])
        body = encode_commit(events, meta)
        return await self.log.append(Append(stream, head.version, head.hash, self.rng.randbytes(16), body, items))

    def cards_of(self, state: Table, seat: int) -> tuple[int, ...]:
        key = hand_key(DOWN_KEY, state.commitment)
        hand = state.running
        place = (self.config.table_id, hand.hand_no, seat)
        return tuple([open_down(key, *place, box.pos, box.sealed) for box in hand.down[seat]])

    # --- the dealer --------------------------------------------------------------------------------------------------

    async def tell_dealer(self, event: Any) -> None:
        """What the dealer makes of one event of the table's log."""
        ref = LogRef(self.table_stream, self.head.version, self.head.version, self.head.hash)
        if isinstance(event, ev.TableOpened):
            await self.deal(dealer.decide_opened(self.deck, event, self.next_deck))
        elif isinstance(event, ev.DealRequested):
            await self.deal(dealer.decide_deal(self.deck, event, ref, self.clear, self.seal))
        elif isinstance(event, ev.HandEnded | ev.HandVoided):
            whole = LogRef(self.table_stream, event.from_version, self.head.version, self.head.hash)
            own = LogRef(self.deck_stream, 0, self.deck_head.version, self.deck_head.hash)
            await self.deal(dealer.decide_closed(self.deck, event, whole, own, self.reseal, self.next_deck))

    async def deal(self, answer: Any) -> None:
        """Append the dealer's answer and let the table record it."""
        assert not isinstance(answer, Rejection), answer
        if not answer:
            return
        events = list(answer)
        version = self.deck_head.version + 1
        if self.forge_deck is not None:
            events = self.forge_deck(version, events)
        self.deck_head = await self.append(
            self.deck_stream, self.deck_head, events, Meta(self.now_ms, build="test"), events
        )
        for event in events:
            self.deck = dealer.evolve(self.deck, event, version)
        for event in events:
            await self.record(event)

    async def record(self, event: Any) -> None:
        """What the table makes of one event of the dealer's."""
        if isinstance(event, DeckCommitted):
            await self.send(cmd.RecordDeck(event.hand_no, event.commitment))
        elif type(event).__name__ == "DeckCardsDealt":
            answer = (event.hand_no, event.deal_no, event.up, event.down, event.community, event.root)
            if self.state.hand is not None and self.state.hand.deal is not None:
                await self.send(cmd.RecordCards(*answer))

    def next_deck(self, hand_no: int) -> DeckCommitted:
        seed = self.seeds[hand_no] = self.rng.randbytes(32)
        clear = ClearDeck(self.config.table_id, hand_no, seed, self.stacked)
        place = (self.config.table_id, hand_no, clear.commitment)
        order = seal_order(DEALER_KEY, self.stacked, *place) if self.stacked is not None else b""
        sealed = seal_seed(DEALER_KEY, seed, *place)
        return DeckCommitted(hand_no, clear.commitment, sealed, 1, self.stacked is not None, order)

    async def stack(self, cards: Sequence[int]) -> None:
        """Bring the deck of a rehearsal table's next hand."""
        self.stacked = cards
        await self.deal(dealer.decide_stacked(self.deck, self.deck.hand_no + 1, self.next_deck))

    def clear(self) -> ClearDeck:
        hand_no = self.deck.hand_no
        return ClearDeck(self.config.table_id, hand_no, self.seeds[hand_no], self.stacked)

    def seal(self, seat: int, pos: int, card: int) -> bytes:
        key = hand_key(DOWN_KEY, self.deck.commitment)
        return seal_down(key, self.config.table_id, self.deck.hand_no, seat, pos, card)

    def reseal(self) -> dealer.Resealed:
        hand_no = self.deck.hand_no
        place = (self.config.table_id, hand_no, self.deck.commitment)
        order = seal_order(REFEREE_KEY, self.stacked, *place) if self.stacked is not None else b""
        return dealer.Resealed(self.reseal_seed(place), order)

    def reseal_seed(self, place: tuple[str, int, bytes]) -> SealedSeed:
        return seal_seed(REFEREE_KEY, self.seeds[place[1]], *place)

    # --- playing -----------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        self.now_ms += self.config.hand_pause_ms
        await self.send(cmd.StartHand())

    async def play_hand(self, *, weights: Weights | None = None, mischief: float = 0.02) -> None:
        """Start a hand and play it out at random; now and then somebody does something else."""
        await self.start()
        await self.play_out(weights=weights, mischief=mischief)

    async def play_out(self, *, weights: Weights | None = None, mischief: float = 0.0) -> None:
        while self.state.hand is not None:
            await self.step(WEIGHTS if weights is None else weights, mischief)

    async def step(self, weights: Weights, mischief: float = 0.0) -> None:
        """One command that moves the hand on."""
        hand = self.hand
        self.now_ms += self.rng.randrange(1, 3000)
        if self.is_late():
            await self.time_out()
        elif hand.phase is Phase.ANTES:
            await self.answer_ante(decline=self.rng.random() < 0.2)
        elif hand.phase is Phase.SHOW_PROMPTS:
            await self.answer_show()
        elif self.rng.random() < mischief:
            await self.interrupt()
        else:
            await self.act(choose(self.rng, hand.options, weights))

    async def act(self, option: ev.Option) -> None:
        await self.send(self.acting(option), actor=self.on_turn)

    async def answer_ante(self, *, decline: bool = False) -> None:
        hand = self.hand
        prompt = hand.prompts[0]
        account = self.state.at(prompt.seat).account
        if self.rng.random() < 0.1:
            await self.time_out()
        elif not decline and self.rng.random() < 0.2:
            await self.send(cmd.SetPreferences(account, auto_post=True), actor=account)
        else:
            await self.send(cmd.PostAnte(account, prompt.prompt_id, post=not decline), actor=account)

    async def answer_show(self) -> None:
        hand = self.hand
        prompt = hand.prompts[0]
        account = self.state.at(prompt.seat).account
        choice = self.rng.randrange(4)
        if choice == 0:
            await self.time_out()
            return
        if choice == 3 and prompt.kind is ev.PromptKind.LOSER:
            await self.send(cmd.SetPreferences(account, muck_losing=True), actor=account)
            return
        await self.send(self.showing(prompt, show=choice == 1), actor=account)

    def is_late(self) -> bool:
        """Whether a clock has run out that the table has not looked at yet."""
        due = next_deadline(self.state)
        return due is not None and due < self.now_ms

    async def time_out(self) -> None:
        await self.send(self.running_out())

    async def interrupt(self) -> None:
        """Anything that may happen in the middle of a hand."""
        hand = self.hand
        what = self.rng.randrange(7)
        seat = self.rng.choice(hand.order)
        sitting = self.state.at(seat)
        account = sitting.account
        if what == 0:
            await self.time_out()
        elif what == 1:
            await self.send(cmd.RestartClocks("test"))
        elif what == 2 and sitting.status.name == "SEATED" and self.rng.random() < 0.3:
            await self.send(cmd.LeaveSeat(account), actor=account)
        elif what == 3 and not sitting.sitting_out and sitting.status.name == "SEATED":
            await self.send(cmd.SitOut(account), actor=account)
        elif what == 4 and not sitting.top_up_open and sitting.status.name == "SEATED":
            await self.send(cmd.AddChips(account, 3000), actor=account)
            await self.send(cmd.RecordTopUp(sitting.sitting_no, self.state.at(seat).top_up_no, 3000))
        elif what == 5 and sitting.status.name == "SEATED":
            await self.send(cmd.SetPreferences(account, muck_losing=not sitting.muck_losing), actor=account)
        elif what == 6 and self.rng.random() < 0.2 and hand.phase.name != "SHOW_PROMPTS":
            await self.send(cmd.VoidHand(hand.hand_no, "test", "op"), actor="op")

    async def between_hands(self) -> None:
        """Back from sitting out, fresh chips for the broke, fresh players for the gone."""
        for sitting in list(self.state.sittings.values()):
            if sitting.status.name == "CASHING_OUT":
                await self.send(cmd.RecordCashOut(sitting.sitting_no, sitting.claim or 0))
            elif sitting.status.name == "SEATED":
                if not sitting.stack and not sitting.pending:
                    account, amount = sitting.account, self.rng.choice([40, 300, 1300, 5000])
                    await self.send(cmd.AddChips(account, amount), actor=account)
                    top_up_no = self.state.sittings[sitting.sitting_no].top_up_no
                    await self.send(cmd.RecordTopUp(sitting.sitting_no, top_up_no, amount))
                if sitting.sitting_out:
                    await self.send(cmd.SitIn(sitting.account), actor=sitting.account)
        taken = {s.account for s in self.state.sittings.values()}
        for seat in range(1, 9):
            if not self.state.seats[seat] and f"a{seat}" not in taken and self.rng.random() < 0.5:
                await self.sit(
                    seat, self.rng.choice([45, 260, 700, 1550, 4000, 20_000]), auto_post=self.rng.random() < 0.8
                )

    async def verdict(self, version: int) -> None:
        """The table records the referee's verdict on its last hand."""
        await self.send(cmd.RecordVerdict(self.state.ended_hand, version))

    # --- for the referee ---------------------------------------------------------------------------------------------

    async def notices(self, after: str = "0-0") -> list[FeedEntry]:
        """The dealer's feed."""
        return await self.log.read_feeds({self.feed: after}, 10_000, 0)

    async def notice(self, hand_no: int, after: str = "0-0") -> tuple[FeedEntry, DeckClosed]:
        """The feed's line that says that a hand is over."""
        from stud_wire.commits import decode_event

        for entry in await self.notices(after):
            event = decode_event(entry.event)
            if isinstance(event, DeckClosed) and event.hand_no == hand_no:
                return entry, event
        raise LookupError(hand_no)
