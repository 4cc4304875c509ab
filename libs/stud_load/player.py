"""One player of a load run: answers every prompt and turn when it is due, stays in chips, keeps a book."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Coroutine
from typing import Any, Final

import grpc
import msgspec

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_client import StudClient, StudError
from stud_client.errors import PASSING, from_rpc
from stud_load.choices import SHOWS, buy_in, choose, wrong_action
from stud_load.plan import LoadPlan, Transport
from stud_load.recorder import Count, Measure
from stud_load.table import LoadTable
from stud_load.target import Token
from stud_load.viewer import Clock, Viewer
from stud_load.violations import Rule
from stud_load.wire import Decode, Line, decoder_of_play, metadata

LOW_BETS: Final = 8
"""Players with fewer small bets than that buy more chips, so that tables stay as full as planned."""

AGAIN_S: Final = 0.2
"""Until a command is sent again that could not be answered just now."""

PAID_WITHIN: Final = 50
"""Times it is asked whether the chips of a sitting that is over were paid."""

CALL_S: Final = 30.0
LEAVES: Final = 0.05
"""Chance at each hand that a player leaves and sits down again, where that is asked for."""

BAD: Final = 0.1
"""Chance at each turn that something wrong is sent first, where that is asked for."""


class Sent(msgspec.Struct):
    """A command without an answer. Times: when it was due and when it was first sent."""

    name: str
    body: Any
    due_s: float
    sent_s: float
    measure: Measure | None
    wrong: bool = False


class Player(Viewer):
    """Sits at one table under one account."""

    def __init__(
        self, table: LoadTable, account: str, token: Token, line: Line, clock: Clock, plan: LoadPlan, client: StudClient
    ) -> None:
        rng = random.Random(f"{plan.seed} {account.removeprefix(f'load-{plan.run_id}')}")
        super().__init__(table, account, token, line, clock, rng, plan)
        self.book = table.books[account]
        self.hurries = False
        self.unanswered: dict[str, Sent] = {}
        self._plan = plan
        self._client = client
        self._call: Any = None
        self._writing = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._number = 0
        self._turn_id = 0
        self._waiting: pb.ActRequest | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._prompted: set[int] = set()
        self._looked_at = -1
        self._leaving = False
        self._sitting = False

    # Sitting down

    async def sit_down(self, amount: int) -> None:
        """Take a seat. Raises StudError."""
        began_s = self.clock()
        answer = await self._client.tables.TakeSeat(
            pb.TakeSeatRequest(table=self.table.table_id, amount=amount, auto_post=not self._plan.ask_antes),
            timeout=CALL_S,
        )
        self.book.bought += amount
        if answer.outcome == pb.SEAT_OUTCOME_SEATED:
            self.recorder.time(Measure.SEATED, began_s, self.clock())
        else:
            self.recorder.events["seats that came late"] += 1

    async def _sit_again(self) -> None:
        """Sit down again, once the chips of the last sitting are paid."""
        try:
            for _ in range(PAID_WITHIN):
                try:
                    await self.sit_down(buy_in(self.table.view))
                except StudError as error:
                    if error.reason != "ALREADY_SEATED" or self.hurries:
                        self.recorder.refusals[error.reason] += not self.hurries
                        return
                else:
                    self.recorder.events["sat down again"] += 1
                    return
                await asyncio.sleep(AGAIN_S)
        finally:
            self._sitting = self._leaving = False

    # What the table says

    async def told(self, update: pb.TableUpdate, now_s: float) -> None:
        if not update.current:
            return
        mine = update.mine
        if not mine.sitting_no:
            if self._leaving and not self._sitting and not self.hurries:
                self._sitting = True
                self._start(self._sit_again())
            return
        if mine.prompts or self._prompted:
            await self._answer_prompts(mine, now_s)
        if mine.turn_id and mine.turn_id != self._turn_id:
            self._turn_id = mine.turn_id
            await self._answer_turn(mine, now_s)
        if not update.view.phase and update.view.hand_no != self._looked_at:
            self._looked_at = update.view.hand_no
            await self._between_hands(update)

    async def _answer_prompts(self, mine: pb.PrivateView, now_s: float) -> None:
        asked = {prompt.prompt_id: prompt for prompt in mine.prompts}
        news = asked.keys() - self._prompted
        self._prompted = set(asked)
        for prompt_id in news:
            if asked[prompt_id].kind == seat_pb2.PROMPT_KIND_UNSPECIFIED:
                await self._send("post_ante", pb.PostAnteRequest(prompt_id=prompt_id), now_s, Measure.PROMPT)
            else:
                show = self.rng.random() < SHOWS
                body = pb.ChooseShowRequest(prompt_id=prompt_id, show=show)
                await self._send("choose_show", body, now_s, Measure.PROMPT)

    async def _answer_turn(self, mine: pb.PrivateView, now_s: float) -> None:
        option = choose(mine.options, self.rng)
        body = pb.ActRequest(turn_id=mine.turn_id, verb=option.verb, to=option.to, size=option.size)
        due_s = now_s if self.hurries else self.table.pace.due(now_s)
        if due_s <= self.clock():
            await self._act(body, due_s)
        else:
            self._waiting = body
            wait_s = due_s - self.clock()
            self._timer = asyncio.get_running_loop().call_later(wait_s, self._act_now, body, due_s)

    def _act_now(self, body: pb.ActRequest, due_s: float) -> None:
        self._waiting = None
        self.recorder.time(Measure.LATE, due_s, self.clock())
        self._start(self._act(body, due_s))

    def hurry(self) -> None:
        """Answer at once from now on: the run is over, and its hands are to end."""
        self.hurries = True
        if self._waiting is not None and self._timer is not None:
            self._timer.cancel()
            self._act_now(self._waiting, self.clock())

    async def _act(self, body: pb.ActRequest, due_s: float) -> None:
        if self._plan.chaos.bad_commands and self.rng.random() < BAD:
            wrong = wrong_action(self.table.table_id, body.turn_id, self.rng)
            await self._send("act", wrong, self.clock(), None, wrong=True)
        await self._send("act", body, due_s, Measure.ACT)

    async def _between_hands(self, update: pb.TableUpdate) -> None:
        """Leave where that is asked for, buy chips when low, come back once they are there."""
        if self.hurries or update.view.life != pb.TABLE_LIFE_OPEN:
            return
        seat = next(s for s in update.view.seats if s.seat == update.mine.seat)
        low = LOW_BETS * update.view.config.small_bet
        if self._plan.chaos.leave_rejoin and self.rng.random() < LEAVES and not self._leaving:
            self._leaving = True
            self.recorder.events["left"] += 1
            await self._send("leave_seat", pb.LeaveSeatRequest(), self.clock(), None)
        elif seat.stack < low and not seat.pending and not self._leaving:
            amount = buy_in(update.view) - seat.stack
            self.book.bought += amount
            await self._send("add_chips", pb.AddChipsRequest(amount=amount), self.clock(), None)
        elif seat.sitting_out and seat.stack:
            await self._send("sit_in", pb.SitInRequest(), self.clock(), None)

    # Commands and their answers

    async def _send(self, name: str, body: Any, due_s: float, measure: Measure | None, *, wrong: bool = False) -> None:
        self._number += 1
        body.request_id = f"{self.name}-{self._number}"[-64:]
        body.table = self.table.table_id
        sent = Sent(name, body, due_s, self.clock(), measure, wrong)
        self.unanswered[body.request_id] = sent
        await self._put(sent)

    async def _put(self, sent: Sent) -> None:
        if self._plan.transport is Transport.UNARY:
            self._start(self._ask(sent))
        elif self._call is not None:
            await self._write(self._call, sent)

    async def _write(self, call: Any, sent: Sent) -> None:
        """What cannot be written is sent again on the next stream."""
        try:
            async with self._writing:
                await call.write(pb.PlayRequest(**{sent.name: sent.body}))
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            pass
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise

    async def _ask(self, sent: Sent) -> None:
        """Send a command as a call of its own."""
        try:
            answer = await self.line.calls[sent.name](sent.body, timeout=CALL_S, metadata=metadata(self.token))
        except grpc.aio.AioRpcError as error:
            fault = from_rpc(error)
            self._refused(sent, fault.reason, passing=fault.passing)
        else:
            self._accepted(sent, answer.version, self.clock())

    def settled(self, result: pb.CommandResult, now_s: float) -> None:
        sent = self.unanswered.get(result.request_id)
        if sent is None:
            return  # it was sent again, and both answers came
        if result.reason:
            self._refused(sent, result.reason, passing=result.reason in PASSING)
        else:
            self._accepted(sent, result.version, now_s)

    def _refused(self, sent: Sent, reason: str, *, passing: bool) -> None:
        refusals = self.recorder.expected_refusals if sent.wrong else self.recorder.refusals
        refusals[reason] += 1
        if passing:
            self._start(self._again(sent))
        else:
            self.unanswered.pop(sent.body.request_id, None)

    def _accepted(self, sent: Sent, version: int, now_s: float) -> None:
        self.unanswered.pop(sent.body.request_id, None)
        if sent.wrong:
            what = f"{self.table.table_id} {self.name}: {sent.body}".replace("\n", " ")
            self.recorder.violations.add(Rule.ACCEPTED, what)
            return
        if sent.measure is not None:
            self.recorder.time(sent.measure, sent.due_s, now_s)
        if sent.measure is Measure.ACT:
            self.recorder.time(Measure.SERVICE, sent.sent_s, now_s)
            self.recorder.count(Count.ACTIONS)
            self.table.fanout.acted(version, sent.due_s)

    async def _again(self, sent: Sent) -> None:
        await asyncio.sleep(AGAIN_S)
        await self._put(sent)

    # The stream

    @contextlib.asynccontextmanager
    async def _open(self) -> AsyncIterator[tuple[Any, Decode]]:
        if self._plan.transport is Transport.UNARY:
            async with super()._open() as watching:
                yield watching
            return
        call = self.line.play(metadata=metadata(self.token))
        try:
            with contextlib.suppress(asyncio.InvalidStateError):  # it is over already: reading says why
                await call.write(pb.PlayRequest(subscribe=self.subscribe()))
            self._call = call
            for sent in list(self.unanswered.values()):
                await self._write(call, sent)
            yield call, decoder_of_play()
        finally:
            self._call = None
            call.cancel()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End what is still under way."""
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
