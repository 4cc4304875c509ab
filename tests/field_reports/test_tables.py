"""Situations in which other poker servers asked, charged, seated or forgot the wrong player; numbered as collected.

At the level of the whole system in one process and in virtual time: seats, money on its way, clocks and streams.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stud.table.v1 import table_service_pb2 as pb
from stud_core import events as ev
from stud_core.state import Sit, Sitting, Table
from stud_service.refusals import Refused
from stud_wire.commits import decode_commit
from tests.support.choosing import STAY
from tests.support.playing_memory import DEPOSIT, Game
from tests.support.streams import Stream
from tests.support.system_memory import MemorySystem, simulated, virtual_ms

FOLD = {ev.Verb.FOLD: 1, ev.Verb.BRING_IN: 1}
RAISE = {ev.Verb.OPEN: 1, ev.Verb.COMPLETE: 1, ev.Verb.RAISE: 1, ev.Verb.BET: 1}


def balance(game: Game, account: str) -> int:
    """What the account may spend."""
    book = game.system.service("wallet").books[game.table.rules.currency]
    return int(book.state.balance(f"player:{account}"))


async def events(game: Game, after: int = 0) -> list[Any]:
    """Everything in the table's log after a version."""
    stored = await game.actor.runtime.log.read(game.actor.stream, after)
    return [event for commit in stored for event in decode_commit(commit.body).events]


def place(table: Table, account: str) -> Sitting:
    """Where somebody sits."""
    sitting = table.of(account)
    assert sitting is not None
    return sitting


def asked(table: Table) -> str:
    """Whose turn it is, nobody's if empty."""
    seat = table.hand.turn_seat if table.hand is not None else 0
    return table.at(seat).account if seat else ""


async def refused(sending: Any) -> str:
    with pytest.raises(Refused) as refusal:
        await sending
    return refusal.value.reason


# --- one action, one effect ------------------------------------------------------------------------------------------


@simulated
async def test_report_06_a_raise_that_is_sent_again_and_again_is_one_raise_and_none_in_the_next_hand(tmp_path):
    """The button is pressed four times while nothing seems to happen: twice as a repetition, twice as a new request.
    All name the turn they were meant for, so that the next hand knows nothing of them."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn()
        await game.act()  # the bring-in
        who, turn = game.on_turn, game.hand.turn_id
        raising = game.act_request(game.choose(RAISE))
        raising.request_id = "once"
        again = pb.ActRequest.FromString(raising.SerializeToString())
        late = [pb.ActRequest(turn_id=turn, verb=raising.verb, to=raising.to) for _ in range(3)]
        first = await game.send(who, raising)
        assert (await game.send(who, again)).version == first.version
        assert {await refused(game.send(who, request)) for request in late[:2]} <= {"STALE_TURN", "NOT_YOUR_TURN"}
        await game.play(1, STAY)
        await game.until_turn(hand_no=2)
        while game.on_turn != who:
            await game.act()
        assert await refused(game.send(who, late[2])) == "STALE_TURN"
        assert (await game.send(who, again)).version == first.version
        taken = [event for event in await events(game) if isinstance(event, ev.ActionTaken)]
        assert sum(event.turn_id == turn for event in taken) == 1
        assert all(event.turn_id == turn or event.verb in STAY for event in taken)


@simulated
async def test_report_11_two_seats_taken_at_once_by_one_account_are_one_seat(tmp_path):
    """Both requests are on their way before either is answered; the table itself knows its people, not the client."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        await game.deposit("ada", DEPOSIT)
        seats = [pb.TakeSeatRequest(seat=seat, amount=10_000) for seat in (2, 5)]
        answers = await asyncio.gather(*(game.send("ada", request) for request in seats), return_exceptions=True)
        refusals = [answer.reason for answer in answers if isinstance(answer, Refused)]
        assert refusals == ["ALREADY_SEATED"]
        assert [sitting.account for sitting in game.table.sittings.values()] == ["ada"]
        assert balance(game, "ada") == DEPOSIT - 10_000


# --- coming and going ------------------------------------------------------------------------------------------------


@simulated
async def test_report_07_who_is_gone_after_posting_is_played_for_and_the_table_goes_on(tmp_path):
    """The low card has brought it in and leaves; there is no call to take somebody else's seat away, and his own
    departure never empties it in mid-hand."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        gone = await game.until_turn()
        await game.act()
        version = game.actor.head.version
        await game.send(gone, pb.LeaveSeatRequest())
        number = game.table.seats[place(game.table, gone).seat]
        assert game.table.sittings[number].status is Sit.LEAVING
        await game.play(1, RAISE | STAY)
        acted = [e for e in await events(game, version) if isinstance(e, ev.ActionTaken) and e.by is ev.By.LEAVING]
        assert {event.verb for event in acted} <= {ev.Verb.CHECK, ev.Verb.FOLD}
        await game.until(lambda table: number not in table.sittings)
        await game.play(2)
        assert game.table.verified_hand == 2


def test_report_07_nobody_can_be_taken_out_of_their_seat_by_somebody_else():
    """The contract has no call for it: whoever leaves asks himself (no request names an account), and an operator
    closes the table or voids the hand, both of which settle everybody. A message from the house takes nobody's seat."""
    methods = {name.removesuffix("Request") for name in dir(pb) if name.endswith("Request")}
    assert {"LeaveSeat", "CloseTable", "VoidHand"} <= methods
    assert [name for name in methods if "account" in {f.name for f in fields(name)}] == ["SendHouseMessage"]


def fields(method: str) -> Any:
    return pb.DESCRIPTOR.message_types_by_name[f"{method}Request"].fields


@simulated
async def test_report_08_fold_sit_out_and_leave_in_one_breath_is_paid_once_and_not_dealt_in(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn()
        await game.act()
        gone = game.on_turn
        await game.act(FOLD)
        stack = place(game.table, gone).stack
        together = [pb.SitOutRequest(), pb.LeaveSeatRequest(), pb.LeaveSeatRequest()]
        await asyncio.gather(*(game.send(gone, request) for request in together), return_exceptions=True)
        await game.play(2)
        await game.until(lambda table: table.of(gone) is None)
        assert balance(game, gone) == DEPOSIT - 10_000 + stack
        log = await events(game)
        started = [{p.account for p in event.dealt_in} for event in log if isinstance(event, ev.HandStarted)]
        assert gone in started[0]
        assert all(gone not in players for players in started[1:])
        claims = [event.claim for event in log if isinstance(event, ev.CashOutRequested) and event.account == gone]
        assert claims == [stack]


@simulated
async def test_report_08_who_sits_out_is_not_dealt_the_next_hand_and_pays_nothing_for_it(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn()
        await game.act()
        away = game.on_turn
        await game.act(FOLD)
        await game.send(away, pb.SitOutRequest())
        await game.play(2)
        sitting = place(game.table, away)
        assert (sitting.last_hand, sitting.stack, sitting.sitting_out) == (1, 10_000 - game.table.rules.ante, True)


@simulated
async def test_report_09_chips_may_be_added_after_a_fold_and_count_from_the_next_hand(tmp_path):
    """PlayNow has a maximum: 200.00 at 5/10. What fits is taken, paid for at once and playable between hands."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3, preset="playnow")
        await game.until_turn()
        await game.act()
        who = game.on_turn
        await game.act(FOLD)
        stack = place(game.table, who).stack
        assert await refused(game.send(who, pb.AddChipsRequest(amount=20_000))) == "TOP_UP_OUT_OF_LIMITS"
        await game.send(who, pb.AddChipsRequest(amount=5_000))
        await game.until(lambda table: place(table, who).pending == 5_000)
        assert place(game.table, who).stack == stack
        assert game.hand.hand_no == 1
        assert balance(game, who) == DEPOSIT - 15_000
        await game.until_turn(hand_no=2)
        added = [event for event in await events(game) if isinstance(event, ev.ChipsAdded)]
        assert [(event.amount, event.stack, event.pending) for event in added] == [(5_000, stack + 5_000, 0)]


@simulated
async def test_report_15_who_comes_during_the_first_hand_waits_for_the_second(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(2)
        await game.until_turn()
        await game.seat("cleo")
        await game.until(lambda table: place(table, "cleo").status is Sit.SEATED)
        await game.play(2)
        started = [e for e in await events(game) if isinstance(e, ev.HandStarted)]
        assert [{p.account for p in event.dealt_in} for event in started[:2]] == [
            {"ada", "bea"},
            {"ada", "bea", "cleo"},
        ]


# --- clocks ----------------------------------------------------------------------------------------------------------


@simulated
async def test_report_12_the_clock_starts_with_the_cards_and_who_left_is_not_asked(tmp_path):
    """The dealer is away for a minute: nobody's time runs. The next to act has left meanwhile and is never asked."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        await game.until_turn()
        await system.stop("dealer")
        while game.hand.turn_seat:
            await game.act()
        assert (game.hand.deal is not None, game.hand.deadline_ms) == (True, 0)
        gone = "bea"
        seat = place(game.table, gone).seat
        version = game.actor.head.version
        await game.send(gone, pb.LeaveSeatRequest())
        await asyncio.sleep(60)
        assert not [event for event in await events(game, version) if isinstance(event, ev.ActionTaken)]
        await system.start("dealer")
        await game.until(asked)
        assert game.hand.street == 4
        assert game.hand.deadline_ms == virtual_ms() + game.table.rules.ruleset.action_clock_ms
        await game.play(1)
        later = await events(game, version)
        assert seat not in {event.seat for event in later if isinstance(event, ev.TurnStarted)}
        by = {event.by for event in later if isinstance(event, ev.ActionTaken) and event.seat == seat}
        assert by == {ev.By.LEAVING}


@simulated
async def test_report_13_time_runs_out_bring_in_check_or_fold(tmp_path):
    """Nobody answers at all: the low card posts the bring-in; facing it the next one folds. Where checking is free it
    is a check."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        low = await game.until_turn()
        await game.until(lambda table: asked(table) not in {"", low})
        facing = game.on_turn
        await game.until(lambda table: asked(table) not in {"", facing})
        await game.act(STAY)
        first = await game.until_turn(street=4)
        await game.until(lambda table: asked(table) != first)
        timed = [e for e in await events(game) if isinstance(e, ev.ActionTaken) and e.by is ev.By.TIMEOUT]
        assert [event.verb for event in timed] == [ev.Verb.BRING_IN, ev.Verb.FOLD, ev.Verb.CHECK]


# --- coming back -----------------------------------------------------------------------------------------------------


@simulated
async def test_report_14_who_comes_back_as_the_next_hand_starts_is_dealt_in_and_can_act(tmp_path):
    """His stream broke in hand 1. He is back at the very commit that starts hand 2, names the last version he saw, and
    gets everything since; with a broken memory of it he gets the whole table. Either way he plays on."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(2)
        await game.until_turn()
        lost = Stream(game, "ada")
        seen = await lost.update()
        await lost.close()
        await game.until(lambda table: table.hand_no == 1)
        while game.table.hand_no < 2:
            await game.step(STAY)
        back = Stream(game, "ada", after_version=seen.version, head_hash=seen.head_hash)
        wrong = Stream(game, "ada", after_version=seen.version, head_hash=bytes(32))
        versions = [(await back.update()).version for _ in range(game.actor.head.version - seen.version)]
        assert versions == list(range(seen.version + 1, versions[-1] + 1))
        whole = await wrong.update()
        assert (whole.reset, whole.mine.seat, whole.view.hand_no) == (True, 1, 2)
        await game.until_turn(hand_no=2)
        while game.on_turn != "ada":
            await game.act()
        request = game.act_request(game.choose(STAY))
        request.table, request.request_id = game.id, "back"
        result = await back.ask(act=request)
        assert (result.reason, result.version) == ("", game.actor.head.version)
        await back.close()
        await wrong.close()


@simulated
async def test_report_18_who_joins_a_game_they_are_in_gets_all_of_it_and_a_second_seat_is_refused_aloud(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        who = await game.until_turn(street=4)
        assert await refused(game.seat(who, deposit=0)) == "ALREADY_SEATED"
        stream = Stream(game, who)
        got = await system.call("GetTable", pb.GetTableRequest(table=game.id), who)
        for view in (await stream.update(), got.update):
            assert (view.reset, view.view.hand_no, view.view.street) == (True, 1, 4)
            assert [len(seat.up) for seat in view.view.seats if seat.live] == [2, 2, 2]
            assert (view.mine.seat, len(view.mine.down)) == (place(game.table, who).seat, 2)
            assert (view.mine.turn_id, bool(view.mine.options)) == (game.hand.turn_id, True)
        await stream.close()
