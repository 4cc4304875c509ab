"""Plays one recorded hand through the running services: real seats, a stacked deck, every action over gRPC."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from stud.common.v1 import card_pb2, seat_pb2
from stud.dealer.v1 import dealer_service_pb2 as dealer
from stud.table.v1 import table_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_cli.local.callers import Callers
from stud_client import StudError
from stud_core import events as ev
from stud_core.amounts import MAX_AMOUNT, TEST_CURRENCY
from stud_hands.following import Follower, NotAsRecorded
from stud_hands.script import Script
from stud_wire.codec import to_message
from stud_wire.commits import read_event

HAND = 1
PLAYERS = tuple(f"rehearsal-{number}" for number in range(1, 9))
TIMEOUT_S = 60.0
LEAVE_S = 10.0
LEAST = 4 * MAX_AMOUNT
"""Below this an account gets more: all hands played at once may sit down with the largest stack."""
BANKROLL = 2 * LEAST


async def fund(callers: Callers, stacks: dict[int, int]) -> None:
    """Open the accounts of these seats and deposit what is missing to the bankroll."""
    await asyncio.gather(*(_fund(callers, PLAYERS[seat - 1]) for seat in stacks))


async def _fund(callers: Callers, account: str) -> None:
    own = callers.player(account).wallet
    await own.OpenAccount(wallet.OpenAccountRequest(currency=TEST_CURRENCY))
    found = await own.GetAccount(wallet.GetAccountRequest(currency=TEST_CURRENCY, account=account))
    missing = BANKROLL - found.balance if found.balance < LEAST else 0
    while missing:
        amount = min(missing, MAX_AMOUNT)
        await callers.cashier.wallet.Deposit(
            wallet.DepositRequest(currency=TEST_CURRENCY, account=account, amount=amount, reference="rehearsal")
        )
        missing -= amount


class Rehearsal:
    """One script at one table of its own."""

    def __init__(self, callers: Callers, script: Script, table_id: str) -> None:
        self._callers = callers
        self._script = script
        self._table = table_id
        self._follower = Follower(script)
        self._problems: list[str] = []
        self._open_table = False

    async def play(self) -> list[str]:
        """Return every difference between the recording and what was played; empty = a match."""
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await self._open()
                await self._follow()
        except TimeoutError:
            return [f"not finished after {TIMEOUT_S:.0f} s, {len(self._follower.moves)} actions played"]
        except StudError as error:
            return [f"refused: {error.reason}: {error.text}"]
        finally:
            await self._leave()
        return self._problems

    async def _leave(self) -> None:
        """Void what still runs and close the table, whatever went wrong before."""
        if not self._open_table:
            return
        with suppress(TimeoutError, StudError):
            async with asyncio.timeout(LEAVE_S):
                with suppress(StudError):
                    await self._void()
                await self._close()

    async def _open(self) -> None:
        config = self._script.config
        operator = self._callers.operator
        await operator.tables.CreateTable(
            pb.CreateTableRequest(
                table=self._table,
                name=config.name,
                currency=config.currency,
                ruleset=to_message(config.ruleset),
                small_bet=config.small_bet,
                big_bet=config.big_bet,
                ante=config.ante,
                bring_in=config.bring_in,
                hand_pause_ms=config.hand_pause_ms,
                stacked=True,
            )
        )
        self._open_table = True
        await operator.tables.PauseTable(pb.PauseTableRequest(table=self._table, reason="seating the players"))
        cards = [card_pb2.Card.ValueType(card + 1) for card in self._script.deck]
        await operator.dealer.StackDeck(dealer.StackDeckRequest(table=self._table, hand_no=HAND, cards=cards))
        await asyncio.gather(*(self._seat(seat, stack) for seat, stack in self._script.course.stacks.items()))

    async def _seat(self, seat: int, stack: int) -> None:
        request = pb.TakeSeatRequest(table=self._table, seat=seat, amount=stack, auto_post=True, muck_losing=False)
        await self._player(seat).tables.TakeSeat(request)

    def _player(self, seat: int) -> Any:
        return self._callers.player(PLAYERS[seat - 1])

    async def _follow(self) -> None:
        """Answer every turn and prompt as recorded until the table is closed.

        The paused table goes on once its view is here: an earlier event would be in that view and not be told.
        """
        operator = self._callers.operator
        resumed = False
        async with operator.watch(self._table) as watching:
            async for update in watching:
                if not resumed:
                    resumed = True
                    await operator.tables.ResumeTable(pb.ResumeTableRequest(table=self._table))
                for message in update.events:
                    await self._step(read_event(message))
                if update.view.life == pb.TABLE_LIFE_CLOSED:
                    return

    async def _step(self, event: Any) -> None:
        self._follower.note(event)
        if isinstance(event, ev.TurnStarted):
            try:
                await self._act(event)
            except NotAsRecorded as why:
                self._problems.append(str(why))
                await self._void()
        elif isinstance(event, ev.ShowPrompted):
            show = self._follower.shows(event.seat)
            request = pb.ChooseShowRequest(table=self._table, prompt_id=event.prompt_id, show=show)
            await self._player(event.seat).tables.ChooseShow(request)
        elif isinstance(event, ev.TableHandVerified):
            if not self._problems:
                self._problems += self._follower.differences()
            await self._close()
        elif isinstance(event, ev.TableHandDisputed):
            self._problems.append(f"disputed by the referee: {', '.join(event.findings)}")
            await self._settle_dispute()

    async def _act(self, turn: ev.TurnStarted) -> None:
        answer = self._follower.answer(turn.seat, turn.options)
        request = pb.ActRequest(
            table=self._table,
            turn_id=turn.turn_id,
            verb=seat_pb2.Verb.ValueType(int(answer.verb)),
            size=seat_pb2.Size.ValueType(int(answer.size or 0)),
        )
        if answer.verb not in {ev.Verb.FOLD, ev.Verb.CHECK}:
            request.to = answer.move.to
        try:
            await self._player(turn.seat).tables.Act(request)
        except StudError as error:
            raise NotAsRecorded(f"{answer.where}: {error.reason}: {error.text}") from None

    async def _void(self) -> None:
        request = pb.VoidHandRequest(table=self._table, hand_no=HAND, reason="the recording cannot be followed")
        await self._callers.operator.tables.VoidHand(request)

    async def _settle_dispute(self) -> None:
        await self._callers.void_hand(self._table, HAND, "rehearsal")

    async def _close(self) -> None:
        await self._callers.operator.tables.CloseTable(pb.CloseTableRequest(table=self._table))
        self._open_table = False
