"""The same request again, at any later moment: it is done once, and its first answer comes again.

Who asks for money is remembered for good, everything else for this hand and the last (ADR 0007).
"""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stud.common.v1 import ruleset_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core import events as ev
from stud_core.state import Phase, Sit
from stud_service.refusals import Refused
from stud_wire.commits import decode_commit
from table_service import handlers
from table_service.requests import RELEASED
from tests.support.choosing import STAY
from tests.support.playing_memory import DEPOSIT, Game
from tests.support.streams import Stream
from tests.support.system_memory import MemorySystem, simulated
from tests.unit.table.test_views import get

MONEY = (pb.TakeSeatRequest, pb.AddChipsRequest, pb.LeaveSeatRequest)
WHO = "zoe"
UNWRITTEN = (pb.SetPreActionRequest, pb.ClearPreActionRequest)
"""A choice ahead is in memory only, so that a restart forgets it and that it was asked for."""


def balance(game: Game, account: str) -> int:
    return int(game.system.service("wallet").books["EUR"].state.balance(f"player:{account}"))


async def refusal(sending: Any) -> Refused:
    with pytest.raises(Refused) as refused:
        await sending
    return refused.value


class Call(msgspec.Struct, frozen=True):
    """A request that was accepted, its answer, and how many hands were over before it."""

    account: str
    request: Any
    answer: Any
    ended: int

    @property
    def other(self) -> Any:
        """Something else under the same id."""
        if isinstance(self.request, pb.SitOutRequest):
            return pb.SitInRequest(request_id=self.request.request_id)
        return pb.SitOutRequest(request_id=self.request.request_id)


class Asking:
    """Keeps what was asked and asks it again."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.calls: list[Call] = []
        self.again = Counter[str]()

    async def ask(self, account: str, request: Any) -> Any:
        ended = self.game.table.ended_hand
        answer = await self.game.send(account, request)
        self.calls.append(Call(account, request, answer, ended))
        return answer

    async def ask_all_again(self) -> None:
        """Each request that is remembered; under its id nothing else is taken, also not of a call of another kind."""
        for call in self.calls:
            over = self.game.table.ended_hand - call.ended
            if over >= 2 and not isinstance(call.request, MONEY):
                continue
            self._compare(call, await self.game.send(call.account, call.request))
            refused = await refusal(self.game.send(call.account, call.other))
            assert refused.reason == "REQUEST_ID_REUSED", (call.request, refused)
            self.again[f"{type(call.request).__name__} {over}"] += 1

    def _compare(self, call: Call, answer: Any) -> None:
        if isinstance(call.request, pb.TakeSeatRequest):
            sitting = self.game.table.sittings.get(call.answer.sitting_no)
            here = sitting is not None and sitting.status in {Sit.SEATED, Sit.LEAVING}
            assert answer.outcome == (pb.SEAT_OUTCOME_SEATED if here else pb.SEAT_OUTCOME_LEFT)
            assert (answer.sitting_no, answer.version) == (call.answer.sitting_no, call.answer.version)
            assert answer.seat == (call.answer.seat if here else 0)
        elif not isinstance(call.request, UNWRITTEN):
            assert answer == call.answer, call.request

    async def restart(self) -> None:
        """The table service begins anew, from nothing but its log; what was never written it cannot know."""
        await self.game.system.crash("table")
        await self.game.system.start("table")
        await self.game.system.actor(self.game.id)  # a closed table is loaded for who asks
        written = {commit.meta.request_id for commit in await self.commits()}
        self.calls = [call for call in self.calls if call.request.request_id in written]

    async def commits(self) -> list[Any]:
        log: Any = self.game.system.runtimes["table"].log
        return [decode_commit(stored.body) async for stored in log.read_all(self.game.actor.stream)]

    async def check(self) -> None:
        """No request has two commits."""
        ids = Counter((c.meta.actor, c.meta.request_id) for c in await self.commits() if c.meta.request_id)
        assert max(ids.values()) == 1, ids.most_common(3)


async def begin(game: Game) -> Asking:
    """Three players, one of whom asks for all there is to ask between hands."""
    asking = Asking(game)
    bank = ruleset_pb2.Ruleset(time_bank_ms=30_000, time_bank_chips=1)
    await game.open(preset="william_hill", ruleset=bank, override_fields=["time_bank_ms", "time_bank_chips"])
    await game.operate(pb.PauseTableRequest(reason="seating"))
    for name in ("ada", "bea"):
        await game.seat(name, muck_losing=False)
    await game.deposit(WHO, DEPOSIT)
    await asking.ask(WHO, pb.TakeSeatRequest(amount=10_000, auto_post=False, muck_losing=True))
    await asking.ask(WHO, pb.SetPreferencesRequest(auto_post=False))  # as it is: nothing is written
    await asking.ask(WHO, pb.SetPreferencesRequest(muck_losing=False))
    await asking.ask(WHO, pb.SetPreferencesRequest(muck_losing=True))
    await asking.ask(WHO, pb.SetPreferencesRequest(muck_losing=False))
    await asking.ask(WHO, pb.SitOutRequest())
    await asking.ask(WHO, pb.SitInRequest())
    await asking.ask_all_again()
    game.actor.ahead.connected(WHO)
    await game.operate(pb.ResumeTableRequest())
    return asking


async def play(asking: Asking, hand_no: int) -> None:
    """One hand in which he asks for all there is to ask in a hand, each thing asked again after every step."""
    game = asking.game
    while game.table.verified_hand < hand_no:
        hand = game.table.hand
        prompts = hand.prompts if hand is not None else ()
        asked = game.table.at(prompts[0].seat).account if prompts else ""
        if hand is not None and hand.phase is Phase.ANTES and asked == WHO:
            await asking.ask(WHO, pb.PostAnteRequest(prompt_id=prompts[0].prompt_id))
        elif hand is not None and hand.phase is Phase.SHOW_PROMPTS and asked:
            await asking.ask(asked, pb.ChooseShowRequest(prompt_id=prompts[0].prompt_id, show=True))
        elif hand is not None and hand.turn_seat and game.on_turn == WHO:
            if not asking.again["UseTimeChipRequest 0"]:
                await asking.ask(WHO, pb.UseTimeChipRequest(turn_id=hand.turn_id))
            await asking.ask(WHO, game.act_request(game.choose(STAY)))
        else:
            if hand is not None and hand.turn_seat and hand.street == 4:
                await choose_ahead(asking)
            await game.step(STAY)
        await asking.ask_all_again()


async def choose_ahead(asking: Asking) -> None:
    """A choice, and another thought."""
    mine, hand = (await get(asking.game, WHO)).mine, asking.game.hand
    if not asking.again["SetPreActionRequest 0"] and mine.pre_options:
        moment: dict[str, Any] = {"hand_no": hand.hand_no, "street": hand.street, "price": mine.price}
        await asking.ask(WHO, pb.SetPreActionRequest(verb=mine.pre_options[0].verb, **moment))
        await asking.ask(WHO, pb.ClearPreActionRequest(hand_no=hand.hand_no))


@simulated
async def test_whatever_a_player_asks_for_is_done_once_however_late_it_comes_again(tmp_path: Path):
    """After every step of five hands, after leaving, after sitting down anew, over restarts, at a closed table."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        asking = await begin(game)
        await play(asking, 1)
        await asking.ask(WHO, pb.AddChipsRequest(amount=2_000))
        await play(asking, 2)
        await asking.restart()
        await asking.ask_all_again()
        await play(asking, 4)
        await asking.ask(WHO, pb.LeaveSeatRequest())
        await asking.ask_all_again()
        await game.until(lambda t: t.of(WHO) is None)
        await asking.ask_all_again()
        await asking.ask(WHO, pb.TakeSeatRequest(amount=10_000, seat=7, auto_post=True))
        await play(asking, 5)
        await asking.restart()
        await asking.ask_all_again()
        await game.close()
        await asking.ask_all_again()
        await asking.restart()
        await asking.ask_all_again()
        await asking.check()
        kinds = Counter(type(event) for commit in await asking.commits() for event in commit.events)
        assert (kinds[ev.TopUpRequested], kinds[ev.BuyInRequested]) == (1, 4)
        every = {type(call.request).__name__ for call in asking.calls} | {kind.__name__ for kind in UNWRITTEN}
        assert {name.split()[0] for name in asking.again} == every
        assert len(every) == len(handlers.COMMANDS) + len(handlers.CHOICES) + 1
        assert {int(name.split()[1]) for name in asking.again if name.startswith("TakeSeat")} == {0, 1, 2, 3, 4, 5}


# --- a seat ----------------------------------------------------------------------------------------------------------


def take(amount: int = 10_000, request_id: str = "sit") -> pb.TakeSeatRequest:
    return pb.TakeSeatRequest(amount=amount, request_id=request_id)


@simulated
async def test_a_request_that_comes_many_times_at_once_is_one_request(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        await game.deposit("ada", DEPOSIT)
        for request in (
            take(),
            pb.AddChipsRequest(amount=500, request_id="more"),
            pb.LeaveSeatRequest(request_id="go"),
        ):
            first, *others = await asyncio.gather(*[game.send("ada", request) for _ in range(4)])
            assert others == [first] * 3
        assert game.table.next_sitting_no == 2
        await game.until(lambda t: not t.sittings)
        assert balance(game, "ada") == DEPOSIT


@simulated
async def test_the_same_id_of_another_account_is_another_request(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        for name in ("ada", "bea"):
            await game.deposit(name, DEPOSIT)
        seats = [(await game.send(name, take())).sitting_no for name in ("ada", "bea")]
        assert seats == [1, 2]
        refused = await refusal(game.send("ada", take(amount=10_001)))
        assert refused.reason == "REQUEST_ID_REUSED"


@simulated
async def test_a_stream_and_a_call_are_one_way_of_asking(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        await game.seat("ada")
        more = pb.AddChipsRequest(table=game.id, amount=500, request_id="more")
        stream = Stream(game, "ada")
        by_stream = await stream.ask(add_chips=more)
        assert (await game.send("ada", more)).version == by_stream.version
        await game.until(lambda t: t.sittings[1].stack == 10_500)
        assert await stream.ask(add_chips=more) == by_stream
        leaving = pb.LeaveSeatRequest(table=game.id, request_id="more")
        assert (await stream.ask(leave_seat=leaving)).reason == "REQUEST_ID_REUSED"
        leaving.request_id = "go"
        left = await game.send("ada", leaving)
        await game.until(lambda t: not t.sittings)
        assert (await stream.ask(leave_seat=leaving)) == pb.CommandResult(request_id="go", version=left.version)
        await stream.close()


@simulated
async def test_a_seat_that_is_waited_for_is_waited_for_again_and_funded_once(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        await game.deposit("ada", DEPOSIT)
        await system.crash("wallet")
        first = await game.send("ada", take())
        assert first.outcome == pb.SEAT_OUTCOME_PENDING
        assert await game.send("ada", take()) == first
        waiting = asyncio.gather(*[game.send("ada", take()) for _ in range(2)])
        await asyncio.sleep(1)
        await system.start("wallet")
        for answer in await waiting:
            assert (answer.outcome, answer.sitting_no, answer.seat) == (pb.SEAT_OUTCOME_SEATED, 1, first.seat)
        assert balance(game, "ada") == DEPOSIT - 10_000


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("end", ["SEAT_LEFT", "RESERVATION_EXPIRED", "TABLE_NOT_OPEN"])
@simulated
async def test_a_sitting_that_ended_before_it_sat_is_over_and_its_request_buys_in_no_more(
    tmp_path: Path, end: str, restart: bool
):
    """Who still waits for the first answer is told why; a repeated call is told LEFT, now and later."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        await game.deposit("ada", DEPOSIT)
        await system.crash("wallet")
        leaving = pb.LeaveSeatRequest(request_id="go")
        if end == "RESERVATION_EXPIRED":
            assert (await game.send("ada", take())).outcome == pb.SEAT_OUTCOME_PENDING
        else:
            asked = asyncio.create_task(game.send("ada", take()))
            await game.until(lambda t: t.of("ada") is not None)
            again = asyncio.create_task(game.send("ada", take()))
            await asyncio.sleep(0.1)
            await (game.send("ada", leaving) if end == "SEAT_LEFT" else game.operate(pb.CloseTableRequest()))
            refused = await refusal(asked)
            assert (refused.reason, dict(refused.metadata)) == (end, {})
            assert (await again).outcome == pb.SEAT_OUTCOME_LEFT
        await game.until(lambda t: not t.seats[1])
        if restart:
            await system.crash("table")
            await system.start("table")
        for _ in range(2):
            answer = await game.send("ada", take())
            assert (answer.outcome, answer.sitting_no, answer.seat) == (pb.SEAT_OUTCOME_LEFT, 1, 0)
            if end == "SEAT_LEFT":
                await game.send("ada", leaving)
            if "wallet" not in system.apps:
                await system.start("wallet")
                await game.until(lambda t: not t.sittings)
        assert game.table.next_sitting_no == 2
        assert balance(game, "ada") == DEPOSIT


@pytest.mark.parametrize("restart", [False, True])
@simulated
async def test_a_seat_that_the_wallet_declined_is_judged_afresh(tmp_path: Path, restart: bool):
    """With the balance of that moment, also to who waits a second time; then with other content, too."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        await game.deposit("ada", 9_999)
        await system.crash("wallet")
        assert (await game.send("ada", take())).outcome == pb.SEAT_OUTCOME_PENDING
        again = asyncio.create_task(game.send("ada", take()))
        await asyncio.sleep(1)
        await system.start("wallet")
        refused = await refusal(again)
        assert (refused.reason, refused.metadata["balance"]) == ("INSUFFICIENT_FUNDS", "9999")
        if restart:
            await system.crash("table")
            await system.start("table")
        refused = await refusal(game.send("ada", take()))
        assert (refused.reason, refused.metadata["balance"]) == ("INSUFFICIENT_FUNDS", "9999")
        refused = await refusal(game.send("ada", take(amount=20_000)))
        assert refused.reason == "INSUFFICIENT_FUNDS"
        await game.deposit("ada", 1)
        answer = await game.send("ada", take())
        assert (answer.outcome, answer.sitting_no) == (pb.SEAT_OUTCOME_SEATED, 4)
        assert await game.send("ada", take()) == answer
        assert balance(game, "ada") == 0


@simulated
async def test_another_account_than_the_wallets_is_declined_without_a_balance(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        refused = await refusal(game.send("ghost", take()))
        assert (refused.reason, dict(refused.metadata)) == ("UNKNOWN_ACCOUNT", {})


@simulated
async def test_who_comes_and_goes_leaves_little_behind(tmp_path: Path):
    """A call about money costs what its name and answer cost; reservations are kept while somebody may wait."""
    async with MemorySystem(tmp_path, commands_burst=1000) as system:
        game = Game(system)
        await game.open()
        await game.deposit("ada", 9_999)
        for number in range(RELEASED + 6):
            await refusal(game.send("ada", take(request_id=f"declined-{number}")))
        memory = game.actor.requests
        assert (len(memory._money), len(memory._reserved), len(memory.released)) == (0, 0, RELEASED)
        await game.deposit("ada", 1)
        for number in range(10):
            await game.send("ada", take(request_id=f"sit-{number}"))
            await game.send("ada", pb.LeaveSeatRequest(request_id=f"go-{number}"))
            await game.until(lambda t: not t.sittings)
        assert (len(memory._money), len(memory._reserved)) == (20, 0)
