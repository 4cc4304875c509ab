"""Players at a table of a `Live` system: each follows his own stream, and is told whether what he sent is durable."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Any, Self

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_client import StudClient, TableSession
from stud_client.following import Following
from stud_core import events as ev
from tests.support.choosing import STAY, Weights, choose
from tests.support.system import PATIENCE_S, Live

DEPOSIT = 200_000
BUY_IN = 10_000
SLOW_CLOCK_MS = 300_000
"""So long that no machine is too slow to act."""

What = Callable[[pb.TableUpdate], Any]


class Follower:
    """Keeps everything that a stream brings."""

    def __init__(self, session: Following, troubles: Callable[[], str] = str) -> None:
        self.session = session
        self.troubles = troubles
        self.updates: list[pb.TableUpdate] = []
        self._changed = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self.session.__aenter__()
        self._task = asyncio.get_running_loop().create_task(self._follow())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.session.close()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _follow(self) -> None:
        async for update in self.session:
            async with self._changed:
                self.updates.append(update)
                self._changed.notify_all()

    @property
    def last(self) -> pb.TableUpdate:
        return self.updates[-1]

    async def until(self, what: What, why: str = "", within_s: float = PATIENCE_S) -> pb.TableUpdate:
        """Waits until the latest update is so; returns it."""
        try:
            async with asyncio.timeout(within_s), self._changed:
                while not (self.updates and what(self.last)):
                    await self._changed.wait()
                return self.last
        except TimeoutError:
            raise AssertionError(f"the table did not become so: {why or what}; seen: {self._seen()}") from None

    def _seen(self) -> str:
        if not self.updates:
            return f"nothing; {self.troubles()}"
        view = self.last.view
        kinds = [event.WhichOneof("body") for update in self.updates for event in update.events]
        ended = self._task is not None and self._task.done() and not self._task.cancelled() and self._task.exception()
        return (
            f"{len(self.updates)} updates up to version {self.last.version}, {kinds[-12:]}, hand {view.hand_no}, "
            f"phase {view.phase}, waiting for {view.waiting_for!r}, paused {view.paused!r}, stream {ended or 'open'}; "
            f"{self.troubles()}"
        )


class Player(Follower):
    """One account with a seat. `acknowledged` has every request that was told to be done, with the version told."""

    def __init__(self, client: StudClient, account: str, table: str, troubles: Callable[[], str] = str) -> None:
        self.playing: TableSession = client.play(table)
        super().__init__(self.playing, troubles)
        self.client = client
        self.account = account
        self.table = table
        self.acknowledged: dict[str, int] = {}

    async def turn(self, turn_id: int = 0) -> pb.PrivateView:
        """Waits until it is his turn (this one), and returns what he sees of it."""
        update = await self.until(lambda u: u.mine.turn_id and turn_id in (0, u.mine.turn_id), "his turn")
        return update.mine

    def request(self, mine: pb.PrivateView, option: seat_pb2.Option, request_id: str) -> pb.ActRequest:
        return pb.ActRequest(
            table=self.table,
            turn_id=mine.turn_id,
            verb=option.verb,
            to=option.to,
            size=option.size,
            request_id=request_id,
        )

    async def act(self, option: seat_pb2.Option, mine: pb.PrivateView, request_id: str = "") -> int:
        """Acts over his stream; returns the version."""
        request_id = request_id or f"{self.account}-{mine.turn_id}"
        result = await self.playing.act(
            mine.turn_id, option.verb, to=option.to, size=option.size, request_id=request_id, timeout_s=PATIENCE_S
        )
        self.acknowledged[request_id] = result.version
        return result.version

    async def show(self, prompt: pb.PromptView, *, show: bool) -> None:
        request_id = f"{self.account}-show-{prompt.prompt_id}"
        result = await self.playing.choose_show(
            prompt.prompt_id, show=show, request_id=request_id, timeout_s=PATIENCE_S
        )
        self.acknowledged[request_id] = result.version


class Table:
    """A table with its players. Nothing moves unless a test moves it: clocks are long, and hands start on `resume`."""

    def __init__(self, live: Live, table: str, accounts: Sequence[str], seed: int = 0) -> None:
        self.live = live
        self.id = table
        self.rng = random.Random(f"{seed} {table}")
        self.players = {
            account: Player(live.people.player(account), account, table, live.troubles) for account in accounts
        }
        self.eye = Follower(live.people.operator.watch(table), live.troubles)
        """A spectator's stream."""

    # Setting up

    @classmethod
    async def begin(cls, live: Live, prefix: str, players: int = 3, *, seated: bool = True, **fields: Any) -> Self:
        """Opens a table, seats players who have deposited, and starts the first hand."""
        await live.ready()
        name = live.new_id(prefix)
        table = cls(live, name, [f"p{number}-{name}" for number in range(1, players + 1)])
        await table.open(**fields)
        await asyncio.gather(*(table.join(player) for player in table.players.values()))
        if seated:
            await table.resume()
        return table

    async def open(self, preset: str = "william_hill", clock_ms: int = SLOW_CLOCK_MS, **fields: Any) -> None:
        names = ["action_clock_ms", "ante_clock_ms", "show_clock_ms"]
        request = pb.CreateTableRequest(
            table=self.id,
            preset=preset,
            override_fields=names,
            **{"currency": "EUR", "small_bet": 500, "hand_pause_ms": 0, **fields},
        )
        for name in names:
            setattr(request.ruleset, name, clock_ms)
        operator = self.live.people.operator.tables
        await operator.CreateTable(request)
        await operator.PauseTable(pb.PauseTableRequest(table=self.id, reason="seating"))
        await self.eye.__aenter__()

    async def deposit(self, account: str, amount: int = DEPOSIT, currency: str = "EUR") -> None:
        await self.live.people.player(account).wallet.OpenAccount(wallet.OpenAccountRequest(currency=currency))
        paid = wallet.DepositRequest(currency=currency, account=account, amount=amount, reference="test")
        await self.live.people.cashier.wallet.Deposit(paid)

    async def join(self, player: Player, amount: int = BUY_IN, **fields: Any) -> None:
        """Has a player deposit, sit down and follow the table."""
        await self.deposit(player.account)
        number = int(player.account.split("-")[0][1:])
        fields = {"seat": number, "auto_post": True, "muck_losing": True, **fields}
        request = pb.TakeSeatRequest(table=self.id, amount=amount, **fields)
        answer = await player.client.tables.TakeSeat(request)
        assert answer.outcome in {pb.SEAT_OUTCOME_SEATED, pb.SEAT_OUTCOME_PENDING}
        await player.__aenter__()
        await player.until(
            lambda u: u.mine.sitting_no and u.view.seats[u.mine.seat - 1].status == pb.SEAT_STATUS_SEATED
        )

    async def follow_again(self) -> None:
        """Everybody opens a new stream, after an answer that ended the old one for good."""
        for player in self.players.values():
            await player.__aexit__()
            player.session = player.playing = player.client.play(self.id)
            await player.__aenter__()
        await self.eye.__aexit__()
        self.eye.session = self.live.people.operator.watch(self.id)
        await self.eye.__aenter__()

    async def resume(self) -> None:
        await self.live.people.operator.tables.ResumeTable(pb.ResumeTableRequest(table=self.id))

    async def pause(self, reason: str = "test") -> None:
        await self.live.people.operator.tables.PauseTable(pb.PauseTableRequest(table=self.id, reason=reason))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for follower in (*self.players.values(), self.eye):
            await follower.__aexit__()

    # Playing

    async def turn(self) -> tuple[Player, pb.PrivateView]:
        """Waits until it is somebody's turn; returns him and what he sees. The streams need not be in step."""
        version = 0
        while True:
            update = await self.eye.until(lambda u, v=version: u.version >= v and u.view.turn.turn_id, "a turn")  # type: ignore[misc]
            turn = update.view.turn
            player = self.players[update.view.seats[turn.seat - 1].account]
            seen = await player.until(lambda u, v=update.version: u.version >= v)  # type: ignore[misc]
            if seen.mine.turn_id == turn.turn_id:
                return player, seen.mine
            version = seen.version

    def choose(self, mine: pb.PrivateView, weights: Weights = STAY) -> seat_pb2.Option:
        return choose(self.rng, mine.options, weights, other=0)

    async def step(self, weights: Weights = STAY, show: float = 0.0) -> None:
        """One answer to whatever the table asks."""
        update = await self.eye.until(lambda u: u.view.turn.turn_id or u.view.phase == pb.HAND_PHASE_SHOW_PROMPTS)
        if update.view.turn.turn_id:
            player, mine = await self.turn()
            version = await player.act(self.choose(mine, weights), mine)
        else:
            seat = next(seat for seat in update.view.seats if seat.show_prompted)
            player = self.players[seat.account]
            shown = await player.until(lambda u: u.version >= update.version and u.mine.prompts)
            await player.show(shown.mine.prompts[0], show=self.rng.random() < show)
            version = max(player.acknowledged.values())
        await self.eye.until(lambda u: u.version >= version)

    async def play_to(self, street: int, hand_no: int = 1) -> tuple[Player, pb.PrivateView]:
        """Plays on until somebody's turn on a street of a hand."""

        def there(update: pb.TableUpdate) -> bool:
            view = update.view
            return bool(view.turn.turn_id) and view.hand_no == hand_no and view.street >= street

        while not (self.eye.updates and there(self.eye.last)):
            await self.step()
        return await self.turn()

    async def play_hand(self, hand_no: int = 1, weights: Weights = STAY, show: float = 0.0) -> None:
        """Plays until a hand has ended. Without a pause the next one may be under way by then, and is left alone."""
        while not self._over(hand_no):
            if not self.eye.last.view.phase:
                await self.eye.until(lambda u: u.view.phase, f"hand {hand_no} to begin")
            turn = self.eye.last.view.turn.turn_id or self.eye.last.view.phase == pb.HAND_PHASE_SHOW_PROMPTS
            if turn:
                await self.step(weights, show)
            else:
                version = self.eye.last.version
                await self.eye.until(lambda u, v=version: u.version > v)  # type: ignore[misc]

    def _over(self, hand_no: int) -> bool:
        view = self.eye.last.view
        return view.hand_no > hand_no or (view.hand_no == hand_no and not view.phase)

    async def verified(self, hand_no: int = 1) -> None:
        await self.eye.until(lambda u: u.view.verified_hand >= hand_no, f"a verdict on hand {hand_no}")

    async def close(self) -> None:
        """Ends the table between hands: everybody is paid out."""
        await self.live.people.operator.tables.CloseTable(pb.CloseTableRequest(table=self.id))
        await self.eye.until(lambda u: u.view.life == pb.TABLE_LIFE_CLOSED, "closed")

    async def end(self) -> None:
        """Starts no more hands, plays the running one to its end, and pays everybody out."""
        request = pb.PauseTableRequest(table=self.id, reason="the end")
        paused = await self.live.people.operator.tables.PauseTable(request)
        update = await self.eye.until(lambda u: u.version >= paused.version)
        if update.view.phase:
            await self.play_hand(update.view.hand_no)
        await self.verified(self.eye.last.view.hand_no)
        await self.close()

    @property
    def deposits(self) -> dict[str, int]:
        return dict.fromkeys(self.players, DEPOSIT)

    async def check(self) -> None:
        """All that was acknowledged is in the log exactly once, and every chip is where it should be.

        A seat that the wallet declined was not: whoever asks again is judged afresh. That is the one commit in which a
        reservation ends and nothing is asked back.
        """
        found: dict[tuple[str, str], list[int]] = {}
        commits = await self.live.commits(self.id)
        ends = [commit.events for _, commit in commits if isinstance(commit.events[-1], ev.SeatReleased)]
        declined = {events[-1].sitting_no for events in ends}
        for version, commit in commits:
            first = commit.events[0]
            judged_afresh = isinstance(first, ev.BuyInRequested) and first.sitting_no in declined
            if commit.meta.request_id and not judged_afresh:
                found.setdefault((commit.meta.actor, commit.meta.request_id), []).append(version)
        assert {key: versions for key, versions in found.items() if len(versions) > 1} == {}
        for player in self.players.values():
            told = {(player.account, request_id): [v] for request_id, v in player.acknowledged.items()}
            assert {key: found.get(key) for key in told} == told
        await self.live.audit(self.id, accounts=self.deposits)
