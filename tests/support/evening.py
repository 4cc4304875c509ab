"""An evening at a table of a `Live` system: a player's screen driven by keys, bots beside it, everybody's money counted
at the end.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from textual.pilot import Pilot

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_cli.play import buttons
from stud_cli.play.app import PlayScreen
from stud_cli.play.company import Company, Pace
from stud_cli.play.limits import suggested
from stud_cli.play.purse import BUY_INS, Purse, sit_down, stand_up
from stud_cli.play.screen import TableScreen
from stud_cli.play.table import TablePlan, begin, close_table, open_table
from tests.support.system import PATIENCE_S, Live

CLOCK_S = 300
"""So long that no machine is too slow to press a key."""

SIZE = (80, 24)


def text_of(app: TableScreen) -> str:
    """What stands on the screen."""
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips(app.screen.size))


class Evening:
    """A screen and the keys that are pressed at it."""

    def __init__(self, live: Live, app: PlayScreen, pilot: Pilot[None], table: str, rng: random.Random) -> None:
        self.live = live
        self.app = app
        self.pilot = pilot
        self.table = table
        self.rng = rng
        self.prompts: set[tuple[int, bool]] = set()
        """Kinds of show prompts that were answered, and whether by showing."""
        self._answered: set[int] = set()

    @property
    def text(self) -> str:
        return text_of(self.app)

    @property
    def mine(self) -> pb.PrivateView:
        return self.app.seen.mine or pb.PrivateView()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def until(self, what: Callable[[], Any], why: str = "") -> None:
        """Waits, and answers nothing."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not what():
                    await self.pilot.pause(0.02)
        except TimeoutError:
            raise AssertionError(f"{why}: {self.app.told!r}\n{self.text}\n{self.live.troubles()}") from None

    async def says(self, text: str) -> None:
        await self.until(lambda: text in self.text, text)

    async def turn(self) -> None:
        await self.until(lambda: self.mine.turn_id, "a turn")

    async def play_until(self, what: Callable[[], Any], keys: str = "cccb") -> None:
        """Answers every turn and prompt by a key that does something, and buys chips when there are none."""
        while not what():
            mine = self.mine
            question = mine.turn_id or next((prompt.prompt_id for prompt in mine.prompts), 0)
            if question and question not in self._answered:
                self._answered.add(question)
                await self._answer(keys)
            elif (seat := self.app.seen.my_seat) and not (seat.stack or seat.pending or self.app.seen.view.phase):
                await self.press("+", "enter")
                await self.until(self._has_chips, "chips")
                await self.press("o")
            await self.until(lambda: what() or self._asked() or self._is_broke(), "anything")

    def _asked(self) -> bool:
        mine = self.mine
        questions = [mine.turn_id, *(prompt.prompt_id for prompt in mine.prompts)]
        return any(question and question not in self._answered for question in questions)

    def _is_broke(self) -> bool:
        seat = self.app.seen.my_seat
        return seat is not None and not (seat.stack or seat.pending or self.app.seen.view.phase)

    def _has_chips(self) -> bool:
        seat = self.app.seen.my_seat
        return seat is not None and seat.stack > 0

    async def _answer(self, keys: str) -> None:
        prompts = [prompt for prompt in self.mine.prompts if prompt.kind]
        if self.mine.turn_id:
            there = [key for key in keys if buttons.pressed(buttons.of_turn(self.mine.options), key)]
            await self.press(self.rng.choice(there or ["c"]))
        elif prompts:
            show = self.rng.random() < 0.5
            self.prompts.add((int(prompts[0].kind), show))
            assert "s show your cards   m muck them" in self.text
            await self.press("s" if show else "m")
        else:
            await self.press("p")


@asynccontextmanager
async def evening(
    live: Live,
    ruleset: str = "william_hill",
    bots: int = 2,
    size: tuple[int, int] = SIZE,
    think_s: float = 0.0,
    knobs: dict[str, int] | None = None,
    **options: Any,
) -> AsyncIterator[Evening]:
    """The screen of a player who sits at a new table; everything is closed, counted and verified afterwards."""
    await live.ready()
    table, people = live.new_id("play"), live.people
    plan = TablePlan(table, ruleset, 500, CLOCK_S, hand_pause_ms=0, currency="EUR", knobs=knobs or {})
    view = await open_table(people.operator, plan)
    account = f"hero-{table}"
    pace = Pace(think_s, random.Random(table))
    company = Company(people, table, pace, seed=1, alone=False)
    names = company.names(bots, account)
    client = people.player(account)
    purse = Purse(client, account, "EUR", people.cashier)
    amount = suggested(view, None)
    await company.sit(names, view)
    await purse.open()
    await purse.have(amount)
    await sit_down(client, table, amount)
    company.play(names)
    try:
        async with client.play(table) as session:
            app = PlayScreen(session, client, purse, **options)
            async with app.run_test(size=size) as pilot:
                one = Evening(live, app, pilot, table, random.Random(table))
                await one.until(lambda: app.seen.mine is not None, "a seat")
                await begin(people.operator, table)
                yield one
        await stand_up(client, table)
        assert await close_table(people.operator, table)
    finally:
        await company.dismiss()
    deposits = {account: purse.made_up, **dict.fromkeys(names, BUY_INS * amount)}
    await live.audit(table, accounts=deposits)


LOSER = int(seat_pb2.PROMPT_KIND_LOSER)
UNCALLED = int(seat_pb2.PROMPT_KIND_UNCALLED_WINNER)
