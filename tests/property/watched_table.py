"""A table whose every command is checked from all sides: chips, cards, turns, pots, waits, folds, bytes."""

from __future__ import annotations

import msgspec

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.conservation import check
from stud_core.decide import decide, step
from stud_core.evolve import apply, evolve, fold
from stud_core.rejection import Rejection
from stud_core.ruleset import TableConfig
from stud_core.state import Table
from stud_wire.commits import Meta, decode_commit, encode_commit
from tests.property.betting_watch import BettingWatch
from tests.property.card_watch import CardWatch
from tests.property.pot_watch import PotWatch
from tests.property.purse import Purse
from tests.property.shuffled import ShuffledDealer
from tests.property.start_watch import StartWatch
from tests.property.waits import Awaited, awaited


class WatchedTable:
    """``state`` is the live table; ``mirror`` is rebuilt beside it event by event. ``sound`` until a check fails."""

    def __init__(self, config: TableConfig, seed: int) -> None:
        self.config = config
        self.state, self.mirror = Table(), Table()
        self.log: list[tuple[int, tuple[ev.Event, ...]]] = []
        self.now_ms = 1_000_000
        self.dealer = ShuffledDealer(config.ruleset.burns, seed)
        self.purse = Purse()
        self.betting = BettingWatch(config, self.purse)
        self.cards = CardWatch(config, self.dealer)
        self.pots = PotWatch(config, self.purse, self.betting, self.dealer)
        self.starts = StartWatch(config)
        self.awaited = Awaited.NOTHING
        self.sound = True
        self.accept(cmd.OpenTable(config))

    def ctx(self) -> cmd.Context:
        return cmd.Context(self.now_ms, self.state.version + 1, "test")

    def offer(self, command: cmd.Command) -> list[ev.Event] | Rejection:
        """Have a command decided; commit it when it is accepted, and nothing has changed when it is not."""
        self.sound = False
        ctx, before = self.ctx(), self.state
        photo = msgspec.msgpack.encode(before)
        answer = decide(before, command, ctx)
        stepped = step(before, command, ctx)
        if isinstance(answer, Rejection):
            assert stepped == answer
            assert msgspec.msgpack.encode(before) == photo, f"a refusal changed the table: {command}"
            assert answer.text
            self.sound = True
            return answer
        after = evolve(before, answer, ctx.version)
        assert stepped == (answer, after), "step differs from decide and evolve"
        events = list(answer)
        if after.wants_showdown:
            more = decide(after, cmd.Showdown(self.clear_cards(after)), ctx)
            assert not isinstance(more, Rejection), more
            after = evolve(after, more, ctx.version)
            events += more
        assert msgspec.msgpack.encode(before) == photo, f"the state given was changed: {command}"
        if events:
            self._commit(events, after)
        self.sound = True
        return events

    def _commit(self, events: list[ev.Event], after: Table) -> None:
        self.starts.see(events, self.now_ms)
        self.mirror.version = after.version
        for event in events:
            apply(self.mirror, event)
            self.purse.see(event)
            assert check(self.mirror) is None, f"{check(self.mirror)} after {event}"
            self.betting.see(event, self.mirror)
            self.cards.see(event, self.mirror)
            self.pots.see(event, self.mirror)
        assert self.mirror == after, "folding one event at a time gives another table"
        self.state = after
        self.log.append((after.version, tuple(events)))
        self._check_chips()
        if after.hand is not None and after.hand.order and after.hand.deal is None:
            self.dealer.check(after.hand)  # with a request open, the dealer may have dealt what has not come yet
        self.awaited = awaited(after)
        self._check_bytes(events)

    def _check_chips(self) -> None:
        """The engine's own figures are those that the purse counted."""
        for number, sitting in self.state.sittings.items():
            counted = self.purse.stacks.get(number, 0), self.purse.pending.get(number, 0)
            assert (sitting.stack, sitting.pending) == counted, sitting
        assert self.state.rake_taken == self.purse.rake

    def _check_bytes(self, events: list[ev.Event]) -> None:
        meta = Meta(self.now_ms, "a1", "request", b"digest", ("stream", 7))
        body = encode_commit(events, meta)
        read = decode_commit(body)
        assert (read.events, read.meta) == (tuple(events), meta)
        assert encode_commit(read.events, read.meta) == body

    def accept(self, command: cmd.Command) -> list[ev.Event]:
        answer = self.offer(command)
        assert not isinstance(answer, Rejection), f"{command}: {answer}"
        return answer

    def refuse(self, command: cmd.Command) -> Rejection:
        """Refused without an effect. A command that is accepted is not committed, so that it can be seen here."""
        self.sound = False
        photo = msgspec.msgpack.encode(self.state)
        answer = decide(self.state, command, self.ctx())
        assert isinstance(answer, Rejection), f"accepted {command}: {answer}"
        assert msgspec.msgpack.encode(self.state) == photo, f"a refusal changed the table: {command}"
        self.sound = True
        return answer

    def clear_cards(self, state: Table) -> dict[int, tuple[int, ...]]:
        hand = state.running
        return {seat: self.dealer.open(hand.down[seat]) for seat in hand.order if hand.live[seat]}

    def check_rebuild(self) -> None:
        assert fold(self.log) == self.state, "the table rebuilt from its log is another one"
