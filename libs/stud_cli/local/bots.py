"""Bots that sit down and play over gRPC like anybody else: they see only what their stream shows them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import structlog

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_client import StudClient, StudError, TableSession
from stud_load.choices import SHOWS, buy_in, choose, stay

log = structlog.get_logger()


class Bot:
    """One player at one table: answers every prompt, buys more chips when broke, until the table closes."""

    def __init__(
        self,
        client: StudClient,
        table: str,
        rng: random.Random,
        think_s: float | Callable[[], float] = 0.0,
        *,
        passive: bool = False,
    ) -> None:
        """``think_s``: before each action, the same or asked for anew. ``passive``: it only checks and calls, so that a
        hand goes to its showdown.
        """
        self._choose = stay if passive else choose
        self._client = client
        self._table = table
        self._rng = rng
        self._think_s = think_s
        self._answered: set[int] = set()
        self._rebought_at = -1
        self.actions = 0

    async def run(self) -> None:
        """Play until the table is closed."""
        async with self._client.play(self._table) as session:
            async for update in session:
                if update.view.life == pb.TABLE_LIFE_CLOSED:
                    return
                await self._answer(session, update)

    async def _answer(self, session: TableSession, update: pb.TableUpdate) -> None:
        mine = update.mine
        if not mine.sitting_no:
            return
        try:
            for prompt in mine.prompts:
                if prompt.prompt_id not in self._answered:
                    self._answered.add(prompt.prompt_id)
                    await self._prompt(session, prompt)
            if mine.turn_id and mine.turn_id not in self._answered:
                self._answered.add(mine.turn_id)
                await self._act(session, mine)
            await self._stay_in(session, update)
        except StudError as error:
            log.info("bot_refused", table=self._table, seat=mine.seat, reason=error.reason)

    async def _prompt(self, session: TableSession, prompt: pb.PromptView) -> None:
        if prompt.kind == seat_pb2.PROMPT_KIND_UNSPECIFIED:
            await session.post_ante(prompt.prompt_id)
        else:
            await session.choose_show(prompt.prompt_id, show=self._rng.random() < SHOWS)

    async def _act(self, session: TableSession, mine: pb.PrivateView) -> None:
        think_s = self._think_s() if callable(self._think_s) else self._think_s
        if think_s:
            await asyncio.sleep(think_s)
        option = self._choose(mine.options, self._rng)
        self.actions += 1
        await session.act(mine.turn_id, option.verb, to=option.to, size=option.size)

    async def _stay_in(self, session: TableSession, update: pb.TableUpdate) -> None:
        """Buy in again when broke, and come back once the chips are there."""
        seat = next(s for s in update.view.seats if s.seat == update.mine.seat)
        if update.view.phase or update.view.life != pb.TABLE_LIFE_OPEN or update.view.hand_no == self._rebought_at:
            return
        if seat.stack == 0 and seat.pending == 0:
            self._rebought_at = update.view.hand_no
            await session.add_chips(buy_in(update.view))
        elif seat.sitting_out and seat.stack > 0:
            await session.sit_in()
