"""Plays a script through the core alone: no log, no network, a deck in the clear."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import msgspec

from stud_cli.handscript import Move, Outcome, Script, literal_verb, matching_options
from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.decide import decide
from stud_core.evolve import evolve
from stud_core.rejection import Rejection
from stud_core.state import Table

_MAX_STEPS = 2_000


class NotAsRecordedError(Exception):
    """The hand cannot go on as recorded; the text says which action and why."""


class Record(msgspec.Struct):
    """What was played so far, in the terms of a recorded hand; seats are those of the script."""

    street: int = 3
    antes: dict[int, int] = msgspec.field(default_factory=dict)
    moves: list[Move] = msgspec.field(default_factory=list)
    uncalled: dict[int, int] = msgspec.field(default_factory=lambda: defaultdict(int))
    awards: dict[int, int] = msgspec.field(default_factory=lambda: defaultdict(int))

    def note(self, event: Any) -> None:
        """Fold one event of the table."""
        if isinstance(event, ev.AntePosted):
            self.antes[event.seat] = event.amount
        elif isinstance(event, ev.DealRequested):
            self.street = event.street
        elif isinstance(event, ev.ActionTaken):
            verb = event.verb.name.lower()
            self.moves.append(Move(event.seat, self.street, verb, event.amount, event.to, event.all_in))
        elif isinstance(event, ev.UncalledReturned):
            self.uncalled[event.seat] += event.amount
        elif isinstance(event, ev.PotAwarded):
            for share in event.shares:
                self.awards[share.seat] += share.amount

    def outcome(self) -> Outcome:
        """Return what can be compared."""
        return Outcome(self.antes, tuple(self.moves), dict(self.uncalled), dict(self.awards))


class CorePlay:
    """One script at a table in memory. ``ambiguous`` counts recorded wagers that could be declared low or high;
    ``declared`` says how to declare them (0 the first option, 1 the second).
    """

    def __init__(self, script: Script, declared: Sequence[int] = ()) -> None:
        self.script = script
        self.record = Record()
        self.ambiguous = 0
        self.sized: list[Move] = []
        self._declared = declared
        self._deck = enumerate(script.deck)
        self._table = Table()
        self._now_ms = 1

    def play(self) -> Outcome:
        """Return what came out; raises NotAsRecordedError where the recording cannot be followed."""
        self._send(cmd.OpenTable(self.script.config))
        for number, (seat, stack) in enumerate(self.script.course.stacks.items(), 1):
            self._send(cmd.TakeSeat(self._name(seat), seat, stack, auto_post=True, muck_losing=False))
            self._send(cmd.RecordFunding(number, stack))
        self._send(cmd.RecordDeck(1, bytes(32)))
        self._send(cmd.StartHand())
        for _ in range(_MAX_STEPS):
            hand = self._table.hand
            if hand is None:
                return self.record.outcome()
            if hand.deal is not None:
                self._send(self._deal(hand.deal))
            elif hand.turn_seat:
                self._act()
            else:
                prompt = hand.prompts[0]
                show = prompt.seat in self.script.shows
                cards = self._down(prompt.seat) if show else ()
                self._send(cmd.ChooseShow(self._name(prompt.seat), prompt.prompt_id, show, cards))
        raise NotAsRecordedError("the hand does not end")

    def _name(self, seat: int) -> str:
        return self.script.course.names[seat]

    def _send(self, command: cmd.Command) -> None:
        context = cmd.Context(self._now_ms, self._table.version + 1)
        events = decide(self._table, command, context)
        if isinstance(events, Rejection):
            raise NotAsRecordedError(f"{events.reason}: {events.text}")
        self._fold(events, context.version)
        while self._table.wants_showdown and self._table.hand is not None:
            hand = self._table.hand
            showdown = cmd.Showdown({seat: self._down(seat) for seat in hand.order if hand.live[seat]})
            follow = decide(self._table, showdown, context)
            if isinstance(follow, Rejection):
                raise NotAsRecordedError(f"showdown: {follow.text}")
            self._fold(follow, context.version)

    def _fold(self, events: Sequence[ev.Event], version: int) -> None:
        for event in events:
            self.record.note(event)
        self._table = evolve(self._table, events, version)

    def _down(self, seat: int) -> tuple[int, ...]:
        hand = self._table.running
        return tuple(card.sealed[0] for card in hand.down[seat])

    def _deal(self, request: ev.DealRequested) -> cmd.RecordCards:
        """Deal from the top: no burns here; a box holds the card's number."""
        draw = self._deck
        down: list[ev.DownCard] = []
        up: list[ev.UpCard] = []
        community = next(draw)[1] if request.mode is ev.DealMode.COMMUNITY else None
        if request.street in {3, 7} and community is None:
            for _ in range(2 if request.street == 3 else 1):
                down += [_boxed(seat, *next(draw)) for seat in request.targets]
        if request.street != 7 and community is None:
            up = [ev.UpCard(seat, next(draw)[1]) for seat in request.targets]
        root = bytes(32) if request.deal_no == 1 else None
        return cmd.RecordCards(request.hand_no, request.deal_no, tuple(up), tuple(down), community, root)

    def _act(self) -> None:
        hand = self._table.running
        done, moves, names = len(self.record.moves), self.script.moves, self.script.course.names
        if done >= len(moves):
            raise NotAsRecordedError(f"{names[hand.turn_seat]} must act after the last recorded action")
        move = moves[done]
        place = f"action {done + 1}, street {move.street}: {names[move.seat]} {move}"
        if move.seat != hand.turn_seat:
            raise NotAsRecordedError(f"{place} is recorded, but it is {names[hand.turn_seat]}'s turn")
        found = matching_options(move, hand.options)
        if not found:
            verb = literal_verb(move, hand.options)
            refused = self._refusal(hand.turn_id, move, verb)
            raise NotAsRecordedError(f"{place} is refused ({refused})")
        option = found[0]
        if len(found) > 1:
            choice = self._declared[self.ambiguous] if self.ambiguous < len(self._declared) else 0
            self.ambiguous += 1
            option = found[choice]
        self.sized.append(msgspec.structs.replace(move, size=option.size))
        self._send(cmd.Act(self._name(move.seat), hand.turn_id, option.verb, option.to, option.size))

    def _refusal(self, turn_id: int, move: Move, verb: ev.Verb) -> str:
        to = None if verb in {ev.Verb.FOLD, ev.Verb.CHECK} else move.to
        context = cmd.Context(self._now_ms, self._table.version + 1)
        answer = decide(self._table, cmd.Act(self._name(move.seat), turn_id, verb, to, move.size), context)
        return f"{answer.reason}: {answer.text}" if isinstance(answer, Rejection) else "no such action is possible"


def _boxed(seat: int, pos: int, card: int) -> ev.DownCard:
    return ev.DownCard(seat, pos, bytes([card]))
