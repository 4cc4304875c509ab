"""Plays a recorded hand's script through the core."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.conservation import check
from stud_core.decide import step
from stud_core.rejection import Rejection
from stud_core.state import Phase
from stud_core.state import Table as TableState
from stud_hands.course import Move, Outcome
from stud_hands.script import Script, compare, describe, literal_verb, matching_options


class RefusedError(Exception):
    """The rules do not allow what was recorded."""


class CorePlay:
    """One play of a script at a table of its own. ``reading`` says which size to take at each ambiguous wager."""

    def __init__(self, script: Script, reading: tuple[int, ...]) -> None:
        self.script = script
        self.reading = reading
        self.choices: list[int] = []  # number of readings at each ambiguous wager met
        self.state = TableState()
        self.deck = iter(enumerate(script.deck))
        self.card_in: dict[bytes, int] = {}
        self.moves: list[Move] = []
        self.antes: dict[int, int] = {}
        self.uncalled: dict[int, int] = {}
        self.awards: dict[int, int] = {}

    def play(self, *, awards: bool) -> list[str]:
        """Return what is wrong, nothing if the hand comes out."""
        try:
            self._sit_down()
            while self.state.hand is not None:
                self._go_on()
        except RefusedError as refusal:
            return [str(refusal)]
        names = self.script.course.names
        outcome = Outcome(self.antes, tuple(self.moves), self.uncalled, self.awards)
        return compare(self.script.course.expected, outcome, names, awards=awards)

    def other_readings(self) -> Iterator[tuple[int, ...]]:
        """Readings that differ from this one at a later ambiguous wager."""
        taken = (*self.reading, *([0] * (len(self.choices) - len(self.reading))))
        for position in range(len(self.reading), len(self.choices)):
            for other in range(1, self.choices[position]):
                yield (*taken[:position], other)

    def _sit_down(self) -> None:
        self._send(cmd.OpenTable(self.script.config))
        for seat, stack in self.script.course.stacks.items():
            self._send(cmd.TakeSeat(_account(seat), seat, stack, auto_post=True, muck_losing=False))
            self._send(cmd.RecordFunding(self.state.next_sitting_no - 1, stack))
        self._send(cmd.RecordDeck(1, bytes(32)))
        self._send(cmd.StartHand())

    def _go_on(self) -> None:
        """Do the one thing that the hand waits for."""
        hand = self.state.running
        if hand.deal is not None:
            self._send(self._deal(hand.deal))
        elif hand.phase is Phase.SHOW_PROMPTS:
            prompt = hand.prompts[0]
            show = prompt.seat in self.script.shows
            cards = tuple(self.card_in[box.sealed] for box in hand.down[prompt.seat]) if show else ()
            self._send(cmd.ChooseShow(_account(prompt.seat), prompt.prompt_id, show, cards))
        else:
            self._move()

    def _deal(self, request: ev.DealRequested) -> cmd.RecordCards:
        down: list[ev.DownCard] = []
        up: list[ev.UpCard] = []
        community = None
        if request.mode is ev.DealMode.COMMUNITY:
            community = next(self.deck)[1]
        for _ in range({3: 2, 7: 1}.get(request.street, 0)):
            down += [self._box(seat) for seat in request.targets]
        if request.street < 7:
            up = [ev.UpCard(seat, next(self.deck)[1]) for seat in request.targets]
        root = bytes(32) if request.deal_no == 1 else None
        return cmd.RecordCards(request.hand_no, request.deal_no, tuple(up), tuple(down), community, root)

    def _box(self, seat: int) -> ev.DownCard:
        position, card = next(self.deck)
        sealed = position.to_bytes(1, "big")
        self.card_in[sealed] = card
        return ev.DownCard(seat, position, sealed)

    def _move(self) -> None:
        hand, names = self.state.running, self.script.course.names
        legal = ", ".join(describe(option) for option in hand.options)
        if len(self.moves) == len(self.script.moves):
            raise RefusedError(
                f"the record ends where {names[hand.turn_seat]} has to act on street {hand.street}: {legal}"
            )
        move = self.script.moves[len(self.moves)]
        where = f"action {len(self.moves) + 1}, street {hand.street}"
        if move.seat != hand.turn_seat or move.street != hand.street:
            raise RefusedError(
                f"{where}: {names[hand.turn_seat]} has to act ({legal}), "
                f"recorded {names[move.seat]} {move} on street {move.street}"
            )
        options = matching_options(move, hand.options)
        if len(options) > 1:
            self.choices.append(len(options))
            position = len(self.choices) - 1
            options = [options[self.reading[position] if position < len(self.reading) else 0]]
        verb, size = (options[0].verb, options[0].size) if options else (literal_verb(move, hand.options), move.size)
        act = cmd.Act(_account(move.seat), hand.turn_id, verb, move.to, size)
        self._send(act, f"{where}: {names[move.seat]} {move}: ")

    def _send(self, command: cmd.Command, what: str = "") -> list[ev.Event]:
        """Decide, fold, check the chips, note what is compared; raises RefusedError."""
        context = cmd.Context(now_ms=0, version=self.state.version + 1)
        answer = step(self.state, command, context)
        if isinstance(answer, Rejection):
            legal = ", ".join(describe(option) for option in answer.legal)
            text, _, _ = answer.text.partition("; legal:")
            raise RefusedError(f"{what}{answer.reason}: {text}" + (f"; legal: {legal}" if legal else ""))
        events, self.state = answer
        if self.state.wants_showdown:
            hand = self.state.running
            live = [seat for seat in hand.order if hand.live[seat]]
            clear = {seat: tuple(self.card_in[box.sealed] for box in hand.down[seat]) for seat in live}
            shown = step(self.state, cmd.Showdown(clear), context)
            if isinstance(shown, Rejection):
                raise RefusedError(f"showdown: {shown.reason}: {shown.text}")
            events, self.state = [*events, *shown[0]], shown[1]
        fault = check(self.state)
        if fault:
            raise RefusedError(f"chips were made or lost: {fault}")
        for event in events:
            self._note(event)
        return events

    def _note(self, event: ev.Event) -> None:
        match event:
            case ev.AntePosted():
                self.antes[event.seat] = event.amount
            case ev.ActionTaken():
                # Street and name stay those of the record: the name is what a script is matched by.
                recorded = self.script.moves[len(self.moves)]
                self.moves.append(
                    msgspec.structs.replace(
                        recorded,
                        seat=event.seat,
                        amount=event.amount,
                        to=event.to,
                        all_in=event.all_in,
                        size=event.size,
                    )
                )
            case ev.UncalledReturned():
                self.uncalled[event.seat] = self.uncalled.get(event.seat, 0) + event.amount
            case ev.PotAwarded():
                for share in event.shares:
                    self.awards[share.seat] = self.awards.get(share.seat, 0) + share.amount


def _account(seat: int) -> str:
    return f"player-{seat}"
