"""Bots who keep a player company: they sit down with money of their own, think as long as people do, and hurry on while
the player has nothing to watch for.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Final

from stud.table.v1 import table_service_pb2 as pb
from stud_cli.local.bots import Bot
from stud_cli.local.callers import Callers
from stud_cli.play.purse import Purse, sit_down, stand_up
from stud_cli.play.seen import Seen
from stud_core.amounts import TEST_CURRENCY
from stud_load.choices import buy_in

NAMES: Final = ("ada", "bea", "cleo", "dora", "emil", "fred", "gus", "hal")
LEAST: Final = 0.4
MOST: Final = 3.0
"""Bounds of a bot's think time, as shares of its mean."""

QUICKER: Final = 0.3
"""The same once the player has folded."""

QUICKEST: Final = 0.05
"""And once they leave, and wait to be paid."""


class Pace:
    """How long bots think, seconds; ``mean_s`` 0 = not at all."""

    def __init__(self, mean_s: float, rng: random.Random) -> None:
        self._mean_s = mean_s
        self._rng = rng
        self._share = 1.0

    def watch(self, seen: Seen) -> None:
        """Take in what the player sees."""
        seat = seen.my_seat
        stays = seat is not None and seat.status == pb.SEAT_STATUS_SEATED
        self._share = (1.0 if seat.live else QUICKER) if seat is not None and stays else QUICKEST

    def hurry(self) -> None:
        """Nobody watches any more."""
        self._share = 0.0

    def __call__(self) -> float:
        """Return the next think time."""
        return self._mean_s * self._share * min(LEAST + self._rng.expovariate(1.0), MOST)


class Company:
    """Bots at one table. ``alone``: the system is their own, so their names can be bare."""

    def __init__(self, callers: Callers, table: str, pace: Pace, *, seed: int, alone: bool) -> None:
        self.pace = pace
        self._callers = callers
        self._table = table
        self._seed = seed
        self._alone = alone
        self._tasks: list[asyncio.Task[None]] = []

    def names(self, count: int, but: str) -> list[str]:
        """Return who comes, none of them called as the player is."""
        free = [name if self._alone else f"{name}-{self._table}"[:64] for name in NAMES]
        return [name for name in free if name != but][:count]

    async def sit(self, names: Sequence[str], view: pb.TableView) -> None:
        """Have them pay in and sit down, all at once. Raises StudError."""
        await asyncio.gather(*(self._sit(name, view) for name in names))

    async def _sit(self, name: str, view: pb.TableView) -> None:
        player, amount = self._callers.player(name), buy_in(view)
        purse = Purse(player, name, view.config.currency or TEST_CURRENCY, self._callers.cashier)
        await purse.open()
        await purse.have(amount)
        await sit_down(player, self._table, amount)

    def play(self, names: Sequence[str]) -> None:
        """Let them play until the table is closed, or `dismiss`."""
        for name in names:
            rng = random.Random(f"{self._seed} {name}")  # noqa: S311 - play, not dealing
            bot = Bot(self._callers.player(name), self._table, rng, self.pace)
            self._tasks.append(asyncio.create_task(bot.run()))

    async def leave(self, names: Sequence[str]) -> None:
        """Give up their seats, at a table that is somebody else's."""
        for name in names:
            await stand_up(self._callers.player(name), self._table)

    async def dismiss(self) -> None:
        """End what is left of them."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
