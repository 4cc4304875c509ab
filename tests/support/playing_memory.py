"""A table of a `MemorySystem`, and its players: what they send goes the way of their requests, without the network."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable
from typing import Any

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_core.events import Option, Verb
from stud_core.state import Hand, Life, Phase, Table
from table_service.actor import TableActor
from table_service.vault import Vault
from tests.support.choosing import LIVELY, STAY, Weights, choose
from tests.support.system_memory import MemorySystem
from wallet_service.servicer import WalletServicer

NAMES = ("ada", "bea", "cleo", "dora", "emil", "fred", "gus", "hal")
DEPOSIT = 1_000_000


class Game:
    """One table. Requests get ids of their own unless a test names one."""

    def __init__(self, system: MemorySystem, table: str = "t-1", seed: int = 0) -> None:
        self.system = system
        self.id = table
        self.rng = random.Random(f"{seed} {table}")
        self._ids = (f"{table}-{number}" for number in itertools.count(1))
        self._verbs = {verb: seat_pb2.Verb.ValueType(int(verb)) for verb in Verb}

    # Looking

    @property
    def actor(self) -> TableActor:
        return self.system.tables.registry._tables[self.id]

    @property
    def table(self) -> Table:
        return self.actor.table

    @property
    def hand(self) -> Hand:
        return self.table.running

    @property
    def on_turn(self) -> str:
        """Whose turn it is."""
        return self.table.at(self.hand.turn_seat).account

    async def until(self, what: Callable[[Table], Any], within_s: float = 60) -> Table:
        """Waits, in virtual time, until the table is so."""
        async with asyncio.timeout(within_s):
            while not what(self.table):
                await self.actor.settled.wait()
            return self.table

    async def until_turn(self, street: int = 3, hand_no: int = 1) -> str:
        """Waits for a turn, plays on to a street without anybody folding, and returns whose turn it is."""
        await self.until(lambda t: t.hand is not None and t.hand.hand_no >= hand_no and t.hand.turn_seat)
        while self.hand.street < street:
            await self.act(STAY)
            await self.until(lambda t: t.hand is not None and t.hand.turn_seat)
        return self.on_turn

    def cards(self, account: str) -> tuple[int, ...]:
        """The clear down cards of a player, by a vault of our own."""
        sitting = self.table.of(account)
        assert sitting is not None
        return Vault(self.id, self.actor.vault._master).seat_cards(self.table, sitting.seat)

    # Setting up

    async def open(self, preset: str = "william_hill", **fields: Any) -> None:
        fields = {"currency": "EUR", "small_bet": 500, "hand_pause_ms": 100, **fields}
        request = pb.CreateTableRequest(table=self.id, preset=preset, request_id=next(self._ids), **fields)
        await self.system.call("CreateTable", request, "olga", "operator")

    async def seat(self, account: str, amount: int = 10_000, *, deposit: int = DEPOSIT, **fields: Any) -> Any:
        """Opens an account, pays into it, and sits down. `deposit` 0 opens no account."""
        if deposit:
            await self.deposit(account, deposit)
        fields = {"auto_post": True, **fields}
        return await self.send(account, pb.TakeSeatRequest(amount=amount, **fields))

    async def deposit(self, account: str, amount: int) -> None:
        await self.operate_wallet("OpenAccount", account=account)
        await self.operate_wallet("Deposit", account=account, amount=amount)

    async def operate_wallet(self, method: str, **fields: Any) -> Any:
        """Calls the wallet in the table's currency, as somebody who may."""
        app = self.system.service("wallet")
        servicer = WalletServicer(app._runtime.log, app.books, app)
        kind: Any = getattr(wallet, f"{method}Request")
        request = kind(**{"currency": self.table.rules.currency, "request_id": next(self._ids)} | fields)
        return await self.system.calls(servicer, method, request, "carl", ("cashier", "operator"))

    async def begin(self, players: int = 3, preset: str = "william_hill", **fields: Any) -> None:
        """Opens the table, seats players while it is paused, and lets it run."""
        await self.open(preset, **fields)
        await self.begin_seats(players)

    async def begin_seats(self, players: int) -> None:
        await self.operate(pb.PauseTableRequest(reason="seating"))
        for name in NAMES[:players]:
            await self.seat(name)
        await self.operate(pb.ResumeTableRequest())

    # Sending

    async def send(self, account: str, request: Any, *roles: str) -> Any:
        """Calls the method a request belongs to. Raises Refused."""
        request.table = self.id
        request.request_id = request.request_id or next(self._ids)
        return await self.system.call(type(request).__name__.removesuffix("Request"), request, account, *roles)

    async def operate(self, request: Any) -> Any:
        return await self.send("olga", request, "operator")

    def choose(self, weights: Weights) -> Option:
        return choose(self.rng, self.hand.options, weights, other=0)

    def act_request(self, option: Option, turn_id: int | None = None) -> pb.ActRequest:
        return pb.ActRequest(
            turn_id=self.hand.turn_id if turn_id is None else turn_id,
            verb=self._verbs[option.verb],
            to=option.to,
            size=seat_pb2.Size.ValueType(int(option.size or 0)),
        )

    async def act(self, weights: Weights = STAY) -> Any:
        """Whoever is on turn acts."""
        return await self.send(self.on_turn, self.act_request(self.choose(weights)))

    async def step(self, weights: Weights = LIVELY) -> None:
        """Moves the table on: an answer to whatever it asks, or waiting for what it does by itself."""
        hand = self.table.hand
        if hand is not None and hand.turn_seat:
            await self.act(weights)
        elif hand is not None and hand.prompts and hand.phase is Phase.SHOW_PROMPTS:
            prompt = self.rng.choice(hand.prompts)
            request = pb.ChooseShowRequest(prompt_id=prompt.prompt_id, show=self.rng.random() < 0.5)
            await self.send(self.table.at(prompt.seat).account, request)
        elif hand is not None and hand.prompts:
            prompt = self.rng.choice(hand.prompts)
            await self.send(self.table.at(prompt.seat).account, pb.PostAnteRequest(prompt_id=prompt.prompt_id))
        else:
            async with asyncio.timeout(60):
                await self.actor.settled.wait()

    async def play(self, hands: int, weights: Weights = LIVELY) -> None:
        """Plays until so many hands have their verdict."""
        while self.table.verified_hand < hands:
            await self.step(weights)

    async def close(self) -> None:
        """Ends the table with everybody paid out."""
        await self.operate(pb.CloseTableRequest())
        while self.table.life is not Life.CLOSED:
            await self.step()
