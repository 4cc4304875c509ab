"""What the table service does with a command, without its mailbox and its log: decide, encode, keep the bytes.

Beside the live table another one is folded from nothing but those bytes; after every commit the two must be equal.
"""

from __future__ import annotations

from random import Random
from typing import Any

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.commands import Context
from stud_core.evolve import evolve
from stud_core.rejection import Rejection
from stud_core.ruleset import TableConfig
from stud_core.state import Hand, Phase, Sit, Sitting, Table
from stud_wire.commits import Meta, decode_commit
from table_service.commits import Prepared, prepare
from table_service.requests import RequestMemory
from tests.support.table_dealer import Dealer

WEIGHTS = {ev.Verb.FOLD: 1, ev.Verb.CHECK: 4, ev.Verb.CALL: 5, ev.Verb.BRING_IN: 3, ev.Verb.OPEN: 1}
STACKS = (45, 260, 700, 1_550, 5_000, 10_000, 20_000)


class Twins:
    """A live table and its twin, which only ever sees what was written."""

    def __init__(self, config: TableConfig, seed: int) -> None:
        self.config = config
        self.rng = Random(seed)
        self.dealer = Dealer(config.ruleset.burns, {}, {}, None, self.rng)
        self.live, self.twin = Table(), Table()
        self.remembered, self.remembered_twin = RequestMemory(), RequestMemory()
        self.log: list[bytes] = []
        self.hands = self.refused = 0
        self.now_ms = 1_700_000_000_000

    # Commits

    def send(self, command: cmd.Command, account: str = "") -> bool:
        """One command, one commit at most; whatever is written is folded again from its bytes and compared."""
        version = len(self.log) + 1
        self.now_ms += self.rng.randrange(2_000)
        request_id = f"r{version}" if account else ""
        meta = Meta(self.now_ms, account, request_id, bytes(32), ("stream", version), "test")
        made = prepare(self.live, command, Context(self.now_ms, version, "test"), meta, self._clear, "feed")
        if not isinstance(made, Prepared):
            self.refused += isinstance(made, Rejection)
            return False
        self.live = made.after
        self.remembered.fold(version, meta, made.events)
        body = made.message.SerializeToString()
        self.log.append(body)
        commit = decode_commit(body)
        self.twin = evolve(self.twin, commit.events, version)
        self.remembered_twin.fold(version, commit.meta, commit.events)
        assert list(commit.events) == made.events
        assert commit.meta == meta
        assert self.twin == self.live
        for event in made.events:
            if isinstance(event, ev.DealRequested) and self.live.hand is not None:
                self.send(self.dealer.answer(event))
        return True

    def _clear(self, table: Table) -> dict[int, tuple[int, ...]]:
        hand = table.running
        return {seat: self.dealer.open(hand.down[seat]) for seat in hand.order if hand.live[seat]}

    def rebuild(self) -> Table:
        """The table from the first byte."""
        table = Table()
        for version, body in enumerate(self.log, 1):
            table = evolve(table, decode_commit(body).events, version)
        return table

    # Playing

    def open(self) -> None:
        self.send(cmd.OpenTable(self.config), "olga")
        self.send(cmd.RecordDeck(1, bytes(32)))
        self.fill()

    def fill(self) -> None:
        """Somebody at every seat, with some stack."""
        for seat in range(1, self.config.ruleset.seats + 1):
            if not self.live.seats[seat] and self.rng.random() < 0.8:
                number = self.live.next_sitting_no
                amount = self.rng.choice(STACKS)
                auto = self.rng.random() < 0.8
                self.send(cmd.TakeSeat(f"a{number}", seat, amount, auto, self.rng.random() < 0.7), f"a{number}")
                self.send(cmd.RecordFunding(number, amount))

    def hand(self) -> None:
        """One hand, whatever happens in it, its verdict, and what people do between hands."""
        self.dealer.new_deck()
        self.now_ms += self.config.hand_pause_ms
        if not self.send(cmd.StartHand()):
            self.fill()
            return
        while self.live.hand is not None:
            self.step(self.live.hand)
        if self.live.verified_hand < self.live.ended_hand:
            self.hands += 1
            self.send(cmd.RecordVerdict(self.live.ended_hand, self.live.ended_hand))
            self.send(cmd.RecordDeck(self.live.ended_hand + 1, bytes(32)))
        for sitting in list(self.live.sittings.values()):
            self.between(sitting)
        self.fill()

    def step(self, hand: Hand) -> None:
        chance = self.rng.random()
        if chance < 0.02:
            self.interrupt(hand)
        elif hand.phase in {Phase.ANTES, Phase.SHOW_PROMPTS}:
            prompt = self.rng.choice(hand.prompts)
            account = self.live.at(prompt.seat).account
            if chance < 0.1:
                self.now_ms = prompt.deadline_ms
                self.send(cmd.Tick())
            elif hand.phase is Phase.ANTES:
                self.send(cmd.PostAnte(account, prompt.prompt_id, post=chance < 0.9), account)
            else:
                cards = self.dealer.open(hand.down[prompt.seat])
                self.send(cmd.ChooseShow(account, prompt.prompt_id, chance < 0.5, cards), account)
        elif self.now_ms > hand.deadline_ms:
            self.send(cmd.Tick())
        else:
            option = self.rng.choices(hand.options, [WEIGHTS.get(o.verb, 2) for o in hand.options])[0]
            account = self.live.at(hand.turn_seat).account
            self.send(cmd.Act(account, hand.turn_id, option.verb, option.to, option.size), account)

    def interrupt(self, hand: Hand) -> None:
        sitting = self.rng.choice([s for s in self.live.sittings.values() if s.status is Sit.SEATED])
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
        self.send(*self.rng.choice(commands))

    def between(self, sitting: Sitting) -> None:
        account, number = sitting.account, sitting.sitting_no
        if self.live.paused:
            self.send(cmd.ResumeTable("olga"), "olga")
        if sitting.status is Sit.CASHING_OUT:
            self.send(cmd.RecordCashOut(number, sitting.claim or 0))
        elif sitting.status is Sit.SEATED and not sitting.stack:
            if self.rng.random() < 0.3:
                self.send(cmd.LeaveSeat(account), account)
            elif self.send(cmd.AddChips(account, 5_000), account):
                self.send(cmd.RecordTopUp(number, self.live.sittings[number].top_up_no, 5_000))
                self.send(cmd.SitIn(account), account)
        elif sitting.sitting_out:
            self.send(cmd.SitIn(account), account)
