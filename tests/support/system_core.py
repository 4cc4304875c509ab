"""What the table service does with a command, without its mailbox and its log: decide, encode, keep the bytes.

Beside the live table another one is folded from nothing but those bytes; after every commit the two must be equal.
"""

from __future__ import annotations

from random import Random
from typing import Any

from stud.events.v1 import commit_pb2
from stud_core import commands as cmd
from stud_core.evolve import evolve
from stud_core.rejection import Rejection
from stud_core.ruleset import TableConfig
from stud_core.state import Hand, Phase, Sit, Sitting, Table
from stud_wire.commits import Meta, decode_commit
from table_service.commits import prepare
from table_service.requests import RequestMemory
from tests.support.choosing import choose
from tests.support.core_table import CoreTable, Stepped
from tests.support.table_dealer import Dealer

STACKS = (45, 260, 700, 1_550, 5_000, 10_000, 20_000)


class Twins(CoreTable):
    """A live table and its ``twin``, which only ever sees what was written: ``bodies``."""

    def __init__(self, config: TableConfig, seed: int) -> None:
        self.rng = Random(seed)
        self.twin = Table()
        self.remembered, self.remembered_twin = RequestMemory(), RequestMemory()
        self.bodies: list[bytes] = []
        self.hands = self.refused = 0
        self.sender = "olga"
        super().__init__(config, Dealer(config.ruleset.burns, {}, {}, None, self.rng), 1_700_000_000_000)

    # Commits

    def decision(self, command: cmd.Command) -> Stepped:
        """As the table service prepares it; ``meta`` and ``message`` are what it would append."""
        version = len(self.bodies) + 1
        self.now_ms += self.rng.randrange(2_000)
        request_id = f"r{version}" if self.sender else ""
        self.meta = Meta(self.now_ms, self.sender, request_id, bytes(32), ("stream", version), "test")
        made = prepare(self.state, command, self.ctx(), self.meta, self.clear_cards, "feed")
        if made is None:
            return [], self.state
        if isinstance(made, Rejection):
            return made
        self.message: commit_pb2.Commit = made.message
        return made.events, made.after

    def written(self, version: int, events: list[Any]) -> None:
        """Whatever is written is folded again from its bytes and compared."""
        self.remembered.fold(version, self.meta, events)
        body = self.message.SerializeToString()
        self.bodies.append(body)
        commit = decode_commit(body)
        self.twin = evolve(self.twin, commit.events, version)
        self.remembered_twin.fold(version, commit.meta, commit.events)
        assert list(commit.events) == events
        assert commit.meta == self.meta
        assert self.twin == self.state

    def ask(self, command: cmd.Command, account: str = "") -> bool:
        """Have somebody (or a service) send a command; whether anything was written."""
        self.sender = account
        answer = self.offer(command)
        self.refused += isinstance(answer, Rejection)
        self.sender = ""
        self.deal_on()
        return bool(answer) and not isinstance(answer, Rejection)

    def rebuild(self) -> Table:
        """The table from the first byte."""
        table = Table()
        for version, body in enumerate(self.bodies, 1):
            table = evolve(table, decode_commit(body).events, version)
        return table

    # Playing

    def open(self) -> None:
        self.ask(cmd.RecordDeck(1, bytes(32)))
        self.fill()

    def fill(self) -> None:
        """Somebody at every seat, with some stack."""
        for seat in range(1, self.config.ruleset.seats + 1):
            if not self.state.seats[seat] and self.rng.random() < 0.8:
                number = self.state.next_sitting_no
                amount = self.rng.choice(STACKS)
                auto = self.rng.random() < 0.8
                self.ask(cmd.TakeSeat(f"a{number}", seat, amount, auto, self.rng.random() < 0.7), f"a{number}")
                self.ask(cmd.RecordFunding(number, amount))

    def play_hand(self) -> None:
        """One hand, whatever happens in it, its verdict, and what people do between hands."""
        self.dealer.new_deck()
        self.now_ms += self.config.hand_pause_ms
        if not self.ask(cmd.StartHand()):
            self.fill()
            return
        while self.state.hand is not None:
            self.step(self.state.hand)
        if self.state.verified_hand < self.state.ended_hand:
            self.hands += 1
            self.ask(cmd.RecordVerdict(self.state.ended_hand, self.state.ended_hand))
            self.ask(cmd.RecordDeck(self.state.ended_hand + 1, bytes(32)))
        for sitting in list(self.state.sittings.values()):
            self.between(sitting)
        self.fill()

    def step(self, hand: Hand) -> None:
        chance = self.rng.random()
        if chance < 0.02:
            self.interrupt(hand)
        elif hand.phase in {Phase.ANTES, Phase.SHOW_PROMPTS}:
            prompt = self.rng.choice(hand.prompts)
            account = self.state.at(prompt.seat).account
            if chance < 0.1:
                self.now_ms = prompt.deadline_ms
                self.ask(cmd.Tick())
            elif hand.phase is Phase.ANTES:
                self.ask(cmd.PostAnte(account, prompt.prompt_id, post=chance < 0.9), account)
            else:
                self.ask(self.showing(prompt, show=chance < 0.5), account)
        elif self.now_ms > hand.deadline_ms:
            self.ask(cmd.Tick())
        else:
            self.ask(self.acting(choose(self.rng, hand.options)), self.on_turn)

    def interrupt(self, hand: Hand) -> None:
        sitting = self.rng.choice([s for s in self.state.sittings.values() if s.status is Sit.SEATED])
        account = sitting.account
        commands: list[tuple[Any, str]] = [
            (cmd.RestartClocks("test"), ""),
            (cmd.LeaveSeat(account), account),
            (cmd.SitOut(account), account),
            (cmd.SitIn(account), account),
            (cmd.SetPreferences(account, not sitting.auto_post, not sitting.muck_losing), account),
            (cmd.PauseTable("test", "olga"), "olga"),
            (cmd.ResumeTable("olga"), "olga"),
            (cmd.VoidHand(hand.hand_no, "test", "olga"), "olga"),
        ]
        self.ask(*self.rng.choice(commands))

    def between(self, sitting: Sitting) -> None:
        account, number = sitting.account, sitting.sitting_no
        if self.state.paused:
            self.ask(cmd.ResumeTable("olga"), "olga")
        if sitting.status is Sit.CASHING_OUT:
            self.ask(cmd.RecordCashOut(number, sitting.claim or 0))
        elif sitting.status is Sit.SEATED and not sitting.stack:
            if self.rng.random() < 0.3:
                self.ask(cmd.LeaveSeat(account), account)
            elif self.ask(cmd.AddChips(account, 5_000), account):
                self.ask(cmd.RecordTopUp(number, self.state.sittings[number].top_up_no, 5_000))
                self.ask(cmd.SitIn(account), account)
        elif sitting.sitting_out:
            self.ask(cmd.SitIn(account), account)
