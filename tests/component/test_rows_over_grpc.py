"""Rows 128 to 149 of the rule vectors over real gRPC, with a driven clock: time, presence, money, choices, faults."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from stud.common.v1 import ruleset_pb2, seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_client.errors import StudError
from stud_core import events as ev
from stud_core.events import Option, Verb
from stud_core.state import Sit
from stud_wire.commits import decode_commit
from tests.support.choosing import STAY
from tests.support.driven import DrivenSystem, driven, pause
from tests.support.playing_memory import NAMES, Game
from tests.support.system_memory import virtual_ms

PASS = dict.fromkeys(Verb, 0) | {Verb.CHECK: 1, Verb.BRING_IN: 1, Verb.CALL: 1}


def written(game: Game, *kinds: type) -> list[Any]:
    stored = game.system.store.data.logs[game.actor.stream]
    return [event for commit, _ in stored for event in decode_commit(commit.body).events if isinstance(event, kinds)]


async def begun(system: DrivenSystem, preset: str = "playnow", street: int = 5, players: int = 3) -> Game:
    game = Game(system)
    await game.begin(players, preset)
    await game.until_turn(street=street)
    return game


async def seats(game: Game) -> dict[str, pb.SeatView]:
    """Every taken seat as somebody sees it who only looks, by the account that sits there."""
    answer = await game.system.call("GetTable", pb.GetTableRequest(table=game.id), "eve")
    return {game.table.at(seat.seat).account: seat for seat in answer.update.view.seats if seat.sitting_no}


async def refused(awaitable: Any) -> StudError:
    with pytest.raises(StudError) as why:
        await awaitable
    return why.value


async def runs_out(system: DrivenSystem, game: Game) -> ev.ActionTaken:
    """Ten seconds pass for whoever is on turn: what is done for them."""
    turn_id = game.hand.turn_id
    await system.run_to(game.hand.deadline_ms + 2)
    await system.until(lambda: game.table.hand is None or game.hand.turn_id != turn_id)
    done: ev.ActionTaken = next(e for e in written(game, ev.ActionTaken) if e.turn_id == turn_id)
    return done


async def next_hand(game: Game) -> None:
    """This one is played out, and the next is dealt."""
    number = game.hand.hand_no
    await game.play(number, STAY)
    await game.until_turn(hand_no=number + 1)


@pytest.mark.parametrize(("row", "verb"), [(128, Verb.CHECK), (129, Verb.FOLD)])
@driven
async def test_rows_128_and_129_ten_seconds(tmp_path: Path, row: int, verb: Verb):
    async with DrivenSystem(tmp_path) as system:
        game = await begun(system)
        if row == 129:
            await game.act({Verb.BET: 1})
        who = game.on_turn
        done = await runs_out(system, game)
        assert (done.verb, done.amount, done.by) == (verb, 0, ev.By.TIMEOUT)
        assert (await seats(game))[who].last_action.by == seat_pb2.ACTION_ORIGIN_TIMEOUT
        assert (await seats(game))[who].sitting_out
        await next_hand(game)
        dealt = {account: seat.dealt_in for account, seat in (await seats(game)).items()}
        assert dealt == {account: account != who for account in dealt}


@driven
async def test_row_130_an_action_a_millisecond_late(tmp_path: Path):
    async with DrivenSystem(tmp_path) as system:
        game = await begun(system)
        who, request = game.on_turn, game.act_request(next(o for o in game.hand.options if o.verb is Verb.BET))
        game.actor._timer.cancel()  # the job is late
        await system.run_to(game.hand.deadline_ms + 1)
        why = await refused(game.send(who, request))
        assert (why.reason, why.metadata["rule"]) == ("DEADLINE_PASSED", "B.18")
        done = written(game, ev.ActionTaken)[-1]
        assert (done.turn_id, done.verb, done.by) == (request.turn_id, Verb.CHECK, ev.By.TIMEOUT)


@driven
async def test_row_131_the_same_action_twice(tmp_path: Path):
    async with DrivenSystem(tmp_path) as system:
        game = await begun(system)
        who, request = game.on_turn, game.act_request(game.choose({Verb.BET: 1}))
        request.request_id = "once"
        first = await game.send(who, request)
        assert await game.send(who, request) == first
        assert len([e for e in written(game, ev.ActionTaken) if e.turn_id == request.turn_id]) == 1


@driven
async def test_row_132_a_stale_turn(tmp_path: Path):
    async with DrivenSystem(tmp_path) as system:
        game = await begun(system)
        version, turn_id = game.actor.head.version, game.hand.turn_id
        why = await refused(game.send(game.on_turn, game.act_request(game.choose(STAY), turn_id - 1)))
        assert (why.reason, why.metadata["turn_id"]) == ("STALE_TURN", str(turn_id))
        assert game.actor.head.version == version


@pytest.mark.parametrize(
    ("row", "preset", "small_bet", "amounts"),
    [
        (133, "playnow", 500, {4_999: "BUY_IN_TOO_SMALL", 5_000: "", 20_000: "", 20_001: "BUY_IN_TOO_LARGE"}),
        (134, "william_hill", 500, {4_999: "BUY_IN_TOO_SMALL", 5_000: "", 500_000: ""}),
    ],
)
@driven
async def test_rows_133_and_134_what_one_sits_down_with(
    tmp_path: Path, row: int, preset: str, small_bet: int, amounts: dict[int, str]
):
    async with DrivenSystem(tmp_path) as system:
        game = Game(system)
        await game.open(preset, small_bet=small_bet)
        await game.operate(pb.PauseTableRequest(reason=f"row {row}"))
        for name, (amount, reason) in zip(NAMES, amounts.items(), strict=False):
            if reason:
                assert (await refused(game.seat(name, amount))).reason == reason
            else:
                assert (await game.seat(name, amount)).outcome == pb.SEAT_OUTCOME_SEATED


async def loses_2000(game: Game) -> None:
    """One hand without an ante: everybody puts in 500, 500 and 1000, then the first player folds."""
    wants = {3: 500, 4: 500, 5: 1_000}
    while game.table.hand is None or game.hand.hand_no == 1:
        hand = game.table.hand
        if hand is None or not hand.turn_seat:
            if hand is not None and hand.prompts:
                await game.step()
            elif game.table.verified_hand == 1:
                return
            else:
                await pause()
            continue
        target = wants.get(hand.street)
        option: Option | None = None
        if target is None:
            option = hand.options[0] if game.on_turn == NAMES[0] else game.choose(PASS)
        else:
            option = next((o for o in hand.options if o.verb is not Verb.FOLD and o.to == target), None)
        assert option is not None, hand.options
        await game.send(game.on_turn, game.act_request(option))


@driven
async def test_row_135_a_top_up_reaches_the_minimum(tmp_path: Path):
    async with DrivenSystem(tmp_path) as system:
        game = Game(system)
        await game.open("playnow", ante=0, hand_pause_ms=2_000)
        await game.operate(pb.PauseTableRequest(reason="seating"))
        for name, amount in zip(NAMES[:3], (5_000, 10_000, 10_000), strict=True):
            await game.seat(name, amount)
        await game.operate(pb.ResumeTableRequest())
        await game.until_turn()
        await game.operate(pb.PauseTableRequest(reason="row 135"))
        await loses_2000(game)
        assert (await seats(game))[NAMES[0]].stack == 3_000
        why = await refused(game.send(NAMES[0], pb.AddChipsRequest(amount=1_000)))
        assert (why.reason, why.metadata["min"]) == ("TOP_UP_OUT_OF_LIMITS", "2000")
        await game.send(NAMES[0], pb.AddChipsRequest(amount=2_000))
        await system.until(lambda: game.table.at(1).stack == 5_000)


@driven
async def test_row_136_a_top_up_in_a_hand_waits_for_its_end(tmp_path: Path):
    async with DrivenSystem(tmp_path) as system:
        game = await begun(system)
        who = game.on_turn
        stack = (await seats(game))[who].stack
        await game.send(who, pb.AddChipsRequest(amount=500))
        await system.until(lambda: (sitting := game.table.of(who)) is not None and sitting.pending == 500)
        seat = (await seats(game))[who]
        assert (seat.stack, seat.pending) == (stack, 500)
        await game.play(1, PASS)
        await system.until(lambda: written(game, ev.ChipsAdded))
        (added,) = written(game, ev.ChipsAdded)
        (end,) = written(game, ev.HandEnded)
        ended = next(entry.stack for entry in end.stacks if entry.sitting_no == added.sitting_no)
        assert (added.amount, added.stack) == (500, ended + 500)


@driven
async def test_row_137_leaving_in_a_hand(tmp_path: Path):
    async with DrivenSystem(tmp_path) as system:
        game = await begun(system)
        await game.act({Verb.BET: 1})
        who = game.on_turn
        await game.send(who, pb.LeaveSeatRequest())
        done = written(game, ev.ActionTaken)[-1]
        assert (done.verb, done.by) == (Verb.FOLD, ev.By.LEAVING)
        await game.play(1, STAY)
        await system.until(lambda: game.table.of(who) is None)
        asked = [e for e in written(game, ev.CashOutRequested) if e.account == who]
        left = written(game, ev.PlayerLeft)
        assert [e.claim for e in asked] == [e.paid for e in left]
        assert len(left) == 1


@driven
async def test_row_138_one_of_two_sits_out(tmp_path: Path):
    async with DrivenSystem(tmp_path) as system:
        game = await begun(system, players=2)
        await game.send(game.on_turn, pb.SitOutRequest())
        await game.play(1, STAY)
        await system.run_to(virtual_ms() + 600_000)
        answer = await system.call("GetTable", pb.GetTableRequest(table=game.id), "eve")
        assert (answer.update.view.waiting_for, game.table.hand_no) == ("TOO_FEW_PLAYERS", 1)


@driven
async def test_row_139_a_ninth_player_and_an_account_twice(tmp_path: Path):
    async with DrivenSystem(tmp_path) as system:
        game = Game(system)
        await game.open("playnow")
        await game.operate(pb.PauseTableRequest(reason="row 139"))
        await game.seat(NAMES[0])
        assert (await refused(game.send(NAMES[0], pb.TakeSeatRequest(amount=10_000)))).reason == "ALREADY_SEATED"
        for name in NAMES[1:8]:
            await game.seat(name)
        assert (await refused(game.seat("ninth"))).reason == "TABLE_FULL"


async def ahead(game: Game, account: str, verb: Verb) -> None:
    hand = game.hand
    told: dict[str, Any] = {"hand_no": hand.hand_no, "street": hand.street, "price": hand.level}
    await game.send(account, pb.SetPreActionRequest(verb=seat_pb2.Verb.ValueType(int(verb)), **told))


async def mine(game: Game, account: str) -> pb.PrivateView:
    answer = await game.system.call("GetTable", pb.GetTableRequest(table=game.id), account)
    found: pb.PrivateView = answer.update.mine
    return found


async def acts(game: Game, verb: Verb) -> None:
    option = next(option for option in game.hand.options if option.verb is verb)
    await game.send(game.on_turn, game.act_request(option))


def after(game: Game, places: int) -> str:
    """Who comes so many places after the one on turn."""
    order = game.hand.order
    return game.table.at(order[(order.index(game.hand.turn_seat) + places) % len(order)]).account


async def came_of(system: DrivenSystem, game: Game, account: str, before: int) -> list[tuple[Verb, ev.By]]:
    """What was done for a player since so many actions, once the table stands still again."""
    await system.until(lambda: not game.actor.ahead.is_due(account))
    await pause()
    taken = written(game, ev.ActionTaken)[before:]
    return [(e.verb, e.by) for e in taken if game.table.at(e.seat).account == account]


PRE = [(Verb.CALL, ev.By.PRE_ACTION), (Verb.CHECK, ev.By.PRE_ACTION)]


@pytest.mark.parametrize(
    ("row", "first", "chosen", "then", "done"),
    [
        (140, [Verb.BET], Verb.CALL, Verb.RAISE, []),
        (141, [Verb.BET], Verb.CALL, Verb.CALL, PRE[:1]),
        (142, [], Verb.BET, Verb.BET, []),
        (143, [Verb.BET], Verb.RAISE, Verb.RAISE, []),
        (144, [], Verb.FOLD, Verb.CHECK, PRE[1:]),
    ],
)
@driven
async def test_rows_140_to_144_a_choice_at_its_price(
    tmp_path: Path, row: int, first: list[Verb], chosen: Verb, then: Verb, done: list[tuple[Verb, ev.By]]
):
    async with DrivenSystem(tmp_path) as system:
        game = await begun(system, "william_hill")
        await system.connect(game.id, *NAMES[:3])
        for verb in first:
            await acts(game, verb)
        who = after(game, 1)
        await ahead(game, who, chosen)
        assert (await mine(game, who)).pre_action.verb == int(chosen)
        before = len(written(game, ev.ActionTaken))
        await acts(game, then)
        assert await came_of(system, game, who, before) == done, f"row {row}"
        if not done:
            assert game.on_turn == who, "the player is asked"
            assert not (await mine(game, who)).HasField("pre_action")


@driven
async def test_row_144_fold_folds_where_the_house_says_so(tmp_path: Path):
    async with DrivenSystem(tmp_path) as system:
        game = Game(system)
        literal = {"ruleset": ruleset_pb2.Ruleset(pre_fold_is_literal=True), "override_fields": ["pre_fold_is_literal"]}
        await game.begin(3, "william_hill", **literal)
        await game.until_turn(street=5)
        who = after(game, 1)
        await ahead(game, who, Verb.FOLD)
        before = len(written(game, ev.ActionTaken))
        await acts(game, Verb.CHECK)
        assert await came_of(system, game, who, before) == [(Verb.FOLD, ev.By.PRE_ACTION)]


@driven
async def test_row_145_the_end_of_the_street_cancels(tmp_path: Path):
    async with DrivenSystem(tmp_path) as system:
        game = await begun(system, "william_hill")
        await acts(game, Verb.CHECK)
        who = after(game, 2)  # has checked
        await ahead(game, who, Verb.FOLD)
        for _ in range(2):
            await acts(game, Verb.CHECK)
        await game.until(lambda t: t.running.street == 6 and t.running.turn_seat)
        assert not (await mine(game, who)).HasField("pre_action")


@driven
async def test_row_146_who_has_folded_or_sits_out_chooses_nothing(tmp_path: Path):
    async with DrivenSystem(tmp_path) as system:
        game = await begun(system, "william_hill")
        folded = game.on_turn
        await acts(game, Verb.FOLD)
        away = after(game, 1)
        await game.send(away, pb.SitOutRequest())
        for account in (folded, away):
            assert (await refused(ahead(game, account, Verb.FOLD))).reason == "PRE_ACTION_NOT_ALLOWED"


@driven
async def test_row_147_no_choice_ahead_at_playnow(tmp_path: Path):
    async with DrivenSystem(tmp_path) as system:
        game = await begun(system)
        await system.connect(game.id, *NAMES[:3])
        for verb in (Verb.FOLD, Verb.CHECK, Verb.CALL, Verb.BET, Verb.RAISE):
            assert (await refused(ahead(game, after(game, 1), verb))).reason == "PRE_ACTION_NOT_ALLOWED"


class Dies:
    """A log that keeps what it is given and never says so: the process ends between the two."""

    def __init__(self, log: Any) -> None:
        self._log = log
        self.kept = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def append(self, *args: Any, **kwargs: Any) -> Any:
        await self._log.append(*args, **kwargs)
        self.kept.set()
        await asyncio.Event().wait()


@driven
async def test_row_148_killed_after_the_commit_and_before_the_reply(tmp_path: Path):
    async with DrivenSystem(tmp_path) as system:
        game = await begun(system)
        who, request = game.on_turn, game.act_request(game.choose({Verb.BET: 1}))
        request.request_id = "once"
        runtime = system.runtimes["table"]
        alive, dies = runtime.log, Dies(runtime.log)
        runtime.log = dies
        asking = asyncio.create_task(game.send(who, request))
        await dies.kept.wait()
        runtime.log = alive
        asking.cancel()
        await system.hang_up()
        await system.crash("table")
        await system.start("table")
        await system.listen()
        await system.actor(game.id)
        await game.until(lambda t: t.running.turn_seat)
        version = (await game.send(who, request)).version
        taken = [e for e in written(game, ev.ActionTaken) if e.turn_id == request.turn_id]
        assert [(e.verb, e.by) for e in taken] == [(Verb.BET, ev.By.PLAYER)]
        assert version <= game.actor.head.version
        assert game.hand.hand_no == 1
        await game.play(1, STAY)


@driven
async def test_row_149_a_void_gives_everything_back_once(tmp_path: Path):
    async with DrivenSystem(tmp_path) as system:
        game = await begun(system)
        await acts(game, Verb.BET)
        paid = {seat: amount for seat, amount in enumerate(game.hand.paid) if amount}
        await game.operate(pb.VoidHandRequest(hand_no=1, reason="row 149"))
        (void,) = written(game, ev.HandVoided)
        assert {refund.seat: refund.amount for refund in void.refunds} == paid
        assert {sitting.stack for sitting in game.table.sittings.values()} == {10_000}
        assert written(game, ev.HandShown, ev.ShowPrompted, ev.PotAwarded) == []
        again = await refused(game.operate(pb.VoidHandRequest(hand_no=1, reason="row 149")))
        assert again.reason == "HAND_ALREADY_ENDED"
        await game.until(lambda t: t.verified_hand == 1)
        assert {sitting.status for sitting in game.table.sittings.values()} == {Sit.SEATED}


def test_every_row_has_its_test():
    """By their numbers in what the tests are called or given."""
    source = Path(__file__).read_text()
    assert [row for row in range(128, 150) if f"row_{row}" not in source and f"({row}, " not in source] == []
