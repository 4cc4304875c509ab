"""What is remembered of accepted requests: this hand's and the last one's, and for good of who asked for money."""

from typing import Any

import pytest

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core import events as ev
from stud_service.refusals import Refused
from stud_wire.commits import Meta, digest
from table_service.requests import RequestMemory
from tests.support.choosing import STAY
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, simulated

CONTENT, OTHER = digest((b"content",)), digest((b"other",))
ENDED = ev.HandEnded(1, 1, (), (), 0)
VOIDED = ev.HandVoided(1, 1, (), "test", "olga")


def remember(memory: RequestMemory, version: int, request_id: str = "", *events: Any, actor: str = "ada") -> None:
    memory.fold(version, Meta(0, actor, request_id, CONTENT), events)


def test_a_request_is_found_by_its_caller_and_id():
    memory = RequestMemory()
    remember(memory, 7, "r-1")
    found = memory.find("ada", "r-1", CONTENT)
    assert found is not None
    assert found.version == 7
    assert memory.find("bea", "r-1", CONTENT) is None
    assert memory.find("ada", "r-2", CONTENT) is None


def test_other_content_under_the_same_id_is_refused():
    memory = RequestMemory()
    remember(memory, 7, "r-1")
    with pytest.raises(Refused) as refused:
        memory.find("ada", "r-1", OTHER)
    assert refused.value.reason == "REQUEST_ID_REUSED"


def test_commits_without_a_request_are_not_remembered():
    memory = RequestMemory()
    remember(memory, 7, "")
    assert memory.find("ada", "", CONTENT) is None


@pytest.mark.parametrize("end", [ENDED, VOIDED])
def test_a_request_is_forgotten_when_the_second_hand_ends(end: Any):
    memory = RequestMemory()
    remember(memory, 7, "r-1")
    remember(memory, 8, "r-2", end)  # the request that ends a hand belongs to it
    assert memory.find("ada", "r-1", CONTENT) is not None
    assert memory.find("ada", "r-2", CONTENT) is not None
    remember(memory, 9, "r-3")
    remember(memory, 20, "", end)
    assert memory.find("ada", "r-1", CONTENT) is None
    assert memory.find("ada", "r-2", CONTENT) is None
    assert memory.find("ada", "r-3", CONTENT) is not None


def test_numbers_that_were_given_out_are_remembered():
    memory = RequestMemory()
    sitting = ev.BuyInRequested("EUR", False, 4, 2, "ada", 100, 0, True, True)
    remember(memory, 7, "seat", sitting)
    remember(memory, 8, "chips", ev.TopUpRequested("EUR", False, 4, 3, "ada", 100))
    numbers = [memory.find("ada", name, CONTENT) for name in ("seat", "chips")]
    assert [found.number for found in numbers if found] == [4, 3]


# --- at a table ------------------------------------------------------------------------------------------------------


@simulated
async def test_the_same_action_twice_is_applied_once_and_gets_the_same_answer(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        ada = await game.until_turn()
        request = game.act_request(game.choose(STAY))
        request.request_id = "the-one"
        first = await game.send(ada, request)
        state, head = game.table, game.actor.head
        assert await game.send(ada, request) == first
        assert (game.table, game.actor.head) == (state, head)


@simulated
async def test_an_id_is_remembered_over_a_restart_and_its_content_too(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        ada = await game.until_turn()
        request = game.act_request(game.choose(STAY))
        request.request_id = "the-one"
        first = await game.send(ada, request)
        await system.crash("table")
        await system.start("table")
        assert await game.send(ada, request) == first
        head = game.actor.head
        request.verb = seat_pb2.VERB_FOLD
        with pytest.raises(Refused) as refused:
            await game.send(ada, request)
        assert refused.value.reason == "REQUEST_ID_REUSED"
        assert game.actor.head == head


@simulated
async def test_a_refused_request_is_judged_afresh(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        await game.until_turn()
        waiting = next(s.account for s in game.table.sittings.values() if s.account != game.on_turn)
        request = pb.ActRequest(turn_id=game.hand.turn_id, verb=seat_pb2.VERB_FOLD, request_id="again")
        with pytest.raises(Refused, match=r"not this account's turn"):
            await game.send(waiting, request)
        while game.on_turn != waiting:
            await game.act()
        request.turn_id = game.hand.turn_id
        assert (await game.send(waiting, request)).version > 0


@simulated
async def test_a_seat_that_is_asked_for_twice_is_one_seat(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        await game.deposit("ada", 50_000)
        request = pb.TakeSeatRequest(amount=10_000, seat=3, request_id="sit")
        first = await game.send("ada", request)
        assert (first.outcome, first.seat, first.sitting_no) == (pb.SEAT_OUTCOME_SEATED, 3, 1)
        assert await game.send("ada", request) == first
        assert len(game.table.sittings) == 1


@simulated
async def test_a_top_up_that_is_asked_for_twice_is_one_top_up(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        await game.seat("ada")
        request = pb.AddChipsRequest(amount=2_000, request_id="more")
        first = await game.send("ada", request)
        assert first.top_up_no == 1
        await game.until(lambda t: t.sittings[1].stack == 12_000)
        assert await game.send("ada", request) == first
        assert game.table.sittings[1].top_up_no == 1
