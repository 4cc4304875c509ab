"""Plays a recorded hand's script through the core."""

from __future__ import annotations

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.conservation import check
from stud_core.decide import step
from stud_core.rejection import Rejection
from stud_core.state import Phase
from stud_core.state import Table as TableState
from stud_hands.following import Follower, NotAsRecorded
from stud_hands.script import Script


class CorePlay:
    """One play of a script at a table of its own."""

    def __init__(self, script: Script, reading: tuple[int, ...]) -> None:
        self.script = script
        self.follower = Follower(script, reading)
        self.state = TableState()
        self.deck = iter(enumerate(script.deck))
        self.card_in: dict[bytes, int] = {}

    def play(self, *, awards: bool) -> list[str]:
        """Return what is wrong, nothing if the hand comes out."""
        try:
            self._sit_down()
            while self.state.hand is not None:
                self._go_on()
        except NotAsRecorded as why:
            return [str(why)]
        return self.follower.differences(awards=awards)

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
            show = self.follower.shows(prompt.seat)
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
        hand = self.state.running
        answer = self.follower.answer(hand.turn_seat, hand.options)
        act = cmd.Act(_account(hand.turn_seat), hand.turn_id, answer.verb, answer.move.to, answer.size)
        self._send(act, f"{answer.where}: ")

    def _send(self, command: cmd.Command, what: str = "") -> list[ev.Event]:
        """Decide, fold, check the chips, note what is compared; raises NotAsRecorded."""
        context = cmd.Context(now_ms=0, version=self.state.version + 1)
        answer = step(self.state, command, context)
        if isinstance(answer, Rejection):
            raise NotAsRecorded(f"{what}{answer.reason}: {answer.text}")
        events, self.state = answer
        if self.state.wants_showdown:
            hand = self.state.running
            live = [seat for seat in hand.order if hand.live[seat]]
            clear = {seat: tuple(self.card_in[box.sealed] for box in hand.down[seat]) for seat in live}
            shown = step(self.state, cmd.Showdown(clear), context)
            if isinstance(shown, Rejection):
                raise NotAsRecorded(f"showdown: {shown.reason}: {shown.text}")
            events, self.state = [*events, *shown[0]], shown[1]
        fault = check(self.state)
        if fault:
            raise NotAsRecorded(f"chips were made or lost: {fault}")
        for event in events:
            self.follower.note(event)
        return events


def _account(seat: int) -> str:
    return f"player-{seat}"
