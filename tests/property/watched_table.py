"""A table whose every command is checked from all sides: chips, cards, turns, pots, waits, folds, bytes."""

from __future__ import annotations

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.evolve import fold
from stud_core.rejection import Rejection
from stud_core.ruleset import TableConfig
from stud_wire.commits import Meta, decode_commit, encode_commit
from tests.property.absence_watch import AbsenceWatch
from tests.property.betting_watch import BettingWatch
from tests.property.card_watch import CardWatch
from tests.property.extension_watch import ExtensionWatch
from tests.property.pot_watch import PotWatch
from tests.property.purse import Purse
from tests.property.shuffled import ShuffledDealer
from tests.property.start_watch import StartWatch
from tests.property.waiting_watch import WaitingWatch
from tests.property.waits import Awaited, awaited
from tests.support.checked_table import CheckedTable


class WatchedTable(CheckedTable):
    """Beside what is checked at every table, each event is seen by all who watch. ``sound`` until a check fails."""

    auto_deal = False

    def __init__(self, config: TableConfig, seed: int) -> None:
        self.dealer: ShuffledDealer = ShuffledDealer(config.ruleset.burns, seed)
        self.purse = Purse()
        self.betting = BettingWatch(config, self.purse)
        self.cards = CardWatch(config, self.dealer)
        self.pots = PotWatch(config, self.purse, self.betting, self.dealer)
        self.starts = StartWatch(config)
        self.absences = AbsenceWatch(config)
        self.extensions = ExtensionWatch(config)
        self.list = WaitingWatch(config)
        self.awaited = Awaited.NOTHING
        self.sound = True
        super().__init__(config, self.dealer, refold=False)

    def offer(self, command: cmd.Command) -> list[ev.Event] | Rejection:
        self.sound = False
        answer = super().offer(command)
        self.sound = True
        return answer

    def written(self, version: int, events: list[ev.Event]) -> None:
        self.starts.see(events, self.now_ms)
        self.absences.see(events, self.now_ms)
        self.extensions.see(events, self.now_ms)
        self.list.see(events, self.now_ms)
        super().written(version, events)
        self.list.check(self.state)
        self._check_chips()
        self.awaited = awaited(self.state)
        self._check_bytes(events)

    def see(self, event: ev.Event) -> None:
        self.purse.see(event)
        self.betting.see(event, self.mirror)
        self.cards.see(event, self.mirror)
        self.pots.see(event, self.mirror)

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

    def reject(self, command: cmd.Command) -> Rejection:
        """A command that is accepted is not committed, so that it can be seen here."""
        self.sound = False
        answer = super().reject(command)
        self.sound = True
        return answer

    def check_rebuild(self) -> None:
        assert fold(self.log) == self.state, "the table rebuilt from its log is another one"
