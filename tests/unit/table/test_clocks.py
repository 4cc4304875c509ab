"""Time at a table: timeouts, late answers, outages, the one timer.

See architecture.md, "Failover in mid-hand" and "Time".
"""

import asyncio
from typing import Any

import pytest

from stud.table.v1 import table_service_pb2 as pb
from stud_core import events as ev
from stud_core.commands import Act, PostAnte, Tick
from stud_core.events import Option, Verb
from stud_core.gate import hand_gate
from stud_core.presets import WILLIAM_HILL
from stud_core.state import Life, Sit
from stud_eventlog.types import Append, Head
from stud_service.refusals import Refused
from stud_wire.commits import decode_commit
from table_service.clocks import Timer, deadline_of
from tests.support.choosing import STAY
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, simulated, virtual_ms

CLOCK_MS = WILLIAM_HILL.action_clock_ms


async def new_events(game: Game, after: int) -> list[Any]:
    """The events of the log behind a version."""
    commits = await game.system.runtimes["table"].log.read(game.actor.stream, after)
    return [event for commit in commits for event in decode_commit(commit.body).events]


def of_kind(events: list[Any], kind: type) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


class SlowLog:
    """A log whose appends take so long."""

    def __init__(self, log: Any, delay_s: float) -> None:
        self._log = log
        self.delay_s = delay_s

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def append(self, append: Append) -> Head:
        delay_s, self.delay_s = self.delay_s, 0.0
        head: Head = await self._log.append(append)
        await asyncio.sleep(delay_s)
        return head


def at(game: Game, received_ms: int, command: Any) -> Any:
    """Hands in a command that arrived at a given time."""
    mail = game.actor._mail(command, "", "", b"", None)
    mail.received_ms = received_ms
    game.actor._mailbox.put(mail)
    return mail.future


def act_of(game: Game, option: Option) -> Act:
    return Act(game.on_turn, game.hand.turn_id, option.verb, option.to, option.size)


@simulated
async def test_who_does_not_answer_is_timed_out_when_their_clock_has_run_out(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        ada = await game.until_turn()
        deadline, version = game.hand.deadline_ms, game.actor.head.version
        await game.until(lambda t: t.version > version)
        assert deadline <= virtual_ms() <= deadline + 10
        (action,) = of_kind(await new_events(game, version), ev.ActionTaken)
        assert (action.by, action.verb) == (ev.By.TIMEOUT, ev.Verb.BRING_IN)
        sitting = game.table.of(ada)
        assert sitting is not None
        assert sitting.sitting_out


@simulated
async def test_vector_130_an_action_after_the_deadline_commits_the_timeout_and_is_refused(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        await game.until_turn(street=4)
        game.actor._timer.cancel()  # the job is late
        deadline, version = game.hand.deadline_ms, game.actor.head.version
        option = next(o for o in game.hand.options if o.verb is Verb.CHECK)
        await asyncio.sleep((deadline + 1 - virtual_ms()) / 1000)
        answer = at(game, deadline + 1, act_of(game, option))
        with pytest.raises(Refused) as refused:
            await answer
        assert refused.value.reason == "DEADLINE_PASSED"
        (action,) = of_kind(await new_events(game, version), ev.ActionTaken)
        assert action.by is ev.By.TIMEOUT


@simulated
async def test_an_action_in_time_counts_however_long_it_queued(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        await game.until_turn()
        version, deadline = game.actor.head.version, game.hand.deadline_ms
        option = game.choose(STAY)
        game.actor._timer.cancel()
        await asyncio.sleep((deadline + 500 - virtual_ms()) / 1000)
        await at(game, deadline, act_of(game, option))
        (action,) = of_kind(await new_events(game, version), ev.ActionTaken)
        assert action.by is ev.By.PLAYER


@simulated
async def test_more_than_a_second_late_is_our_fault_fresh_clock_and_the_action_counts(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        await game.until_turn()
        version, deadline, turn_id = game.actor.head.version, game.hand.deadline_ms, game.hand.turn_id
        option = game.choose(STAY)
        game.actor._timer.cancel()
        await asyncio.sleep((deadline + 1_500 - virtual_ms()) / 1000)
        await at(game, deadline + 1_500, act_of(game, option))
        restarted, action, *_ = await new_events(game, version)
        assert restarted == ev.ClockRestarted(turn_id, None, deadline + 1_500 + CLOCK_MS, "LATE_TIMER")
        assert isinstance(action, ev.ActionTaken)
        assert (action.turn_id, action.by) == (turn_id, ev.By.PLAYER)


@simulated
async def test_a_timer_that_fires_late_gives_a_fresh_clock_instead_of_a_timeout(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        await game.until_turn()
        version, turn_id, deadline = game.actor.head.version, game.hand.turn_id, game.hand.deadline_ms
        game.actor._timer.set(deadline + 1_001)
        await game.until(lambda t: t.version > version)
        (restarted,) = await new_events(game, version)
        assert (restarted.turn_id, restarted.reason) == (turn_id, "LATE_TIMER")
        assert game.hand.deadline_ms == virtual_ms() + CLOCK_MS
        await game.until(lambda t: t.version > version + 1)  # and then it runs out as any other
        assert of_kind(await new_events(game, version + 1), ev.ActionTaken)[0].by is ev.By.TIMEOUT


@simulated
async def test_a_timer_a_second_late_is_still_a_timeout(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        await game.until_turn()
        version = game.actor.head.version
        game.actor._timer.set(game.hand.deadline_ms + 900)
        await game.until(lambda t: t.version > version)
        assert of_kind(await new_events(game, version), ev.ActionTaken)[0].by is ev.By.TIMEOUT


@simulated
async def test_after_a_restart_every_open_clock_starts_afresh_before_any_timeout(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        ada = await game.until_turn()
        version, turn_id = game.actor.head.version, game.hand.turn_id
        await system.crash("table")
        await asyncio.sleep(60)
        await system.start("table")
        await game.until(lambda t: t.version > version)
        (restarted,) = await new_events(game, version)
        assert restarted == ev.ClockRestarted(turn_id, None, virtual_ms() + CLOCK_MS, "SERVICE_RESTARTED")
        assert (game.on_turn, game.hand.turn_id) == (ada, turn_id)
        await game.act()


@simulated
async def test_after_a_restart_every_open_prompt_starts_afresh_too(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        for name in ("ada", "bea"):
            await game.seat(name, auto_post=False)
        await game.until(lambda t: t.hand is not None and t.hand.prompts)
        prompt, version = game.hand.prompts[0], game.actor.head.version
        await system.crash("table")
        await asyncio.sleep(60)
        await system.start("table")
        await game.until(lambda t: t.version > version)
        (restarted,) = await new_events(game, version)
        assert (restarted.turn_id, restarted.prompt_id) == (None, prompt.prompt_id)
        await game.send("ada", pb.PostAnteRequest(prompt_id=prompt.prompt_id))


@simulated
async def test_a_table_that_died_while_somebody_was_asked_to_show_goes_on_by_its_clock(tmp_path):
    """No operator ends such a hand (B.21): the fresh clock does."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(2)
        await game.until_turn()
        await game.act({Verb.BRING_IN: 1})
        await game.act({Verb.FOLD: 1})
        assert game.hand.prompts
        await system.crash("table")
        await asyncio.sleep(60)
        await system.start("table")
        with pytest.raises(Refused, match="HAND_ALREADY_ENDED"):
            await game.operate(pb.VoidHandRequest(hand_no=1, reason="nobody answers"))
        await game.until(lambda t: t.verified_hand == 1 and t.hand is not None and t.hand.hand_no == 2)


@simulated
async def test_a_slow_append_takes_nothing_from_the_player_whose_clock_ran_meanwhile(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        await game.until_turn()
        slow = SlowLog(system.runtimes["table"].log, 3.0)
        system.runtimes["table"].log = slow
        version, turn_id = game.actor.head.version, game.hand.turn_id
        await game.act()
        began = virtual_ms() - 3_000
        assert game.hand.turn_id > turn_id
        assert game.hand.deadline_ms == began + CLOCK_MS  # counted from before it was durable
        await game.until(lambda t: t.version > version + 1)
        (restarted,) = await new_events(game, version + 1)
        assert (restarted.turn_id, restarted.reason) == (game.hand.turn_id, "OUTAGE")
        assert game.hand.deadline_ms == virtual_ms() + CLOCK_MS


@simulated
async def test_an_outage_of_the_log_folds_nobody(tmp_path):
    """The clock runs out while the log is away: the timeout waits for the log, and then is none."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        ada = await game.until_turn()
        version, turn_id = game.actor.head.version, game.hand.turn_id
        await asyncio.sleep(CLOCK_MS / 1000 - 1)
        acting = asyncio.create_task(game.act())
        await asyncio.sleep(0)
        system.store.stop()
        await asyncio.wait([acting])
        assert acting.exception() is not None or acting.result().version == version + 1
        await asyncio.sleep(60)
        system.store.start()
        await game.until(lambda t: t.version > version)
        await game.until(lambda t: t.hand is not None and t.hand.turn_seat, 5)
        assert not of_kind(await new_events(game, version), ev.SatOut)
        assert game.hand.turn_id == turn_id or game.on_turn != ada


@simulated
async def test_a_reservation_that_runs_out_behind_a_running_hand_takes_nothing_from_the_hand(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        await game.until_turn()
        await game.deposit("late", 50_000)
        await system.crash("wallet")
        asked_at, version = virtual_ms(), game.actor.head.version
        asked = await game.send("late", pb.TakeSeatRequest(amount=10_000, seat=8))
        assert asked.outcome == pb.SEAT_OUTCOME_PENDING
        assert virtual_ms() == asked_at + 5_000
        while game.table.seats[8]:
            await game.act() if game.table.hand is not None and game.hand.turn_seat else await game.step()
            await asyncio.sleep(7)  # nobody hurries, nobody is late
        events = await new_events(game, version)
        assert [e.reason for e in of_kind(events, ev.SeatReleased)] == ["RESERVATION_EXPIRED"]
        assert not of_kind(events, ev.ClockRestarted)
        assert {action.by for action in of_kind(events, ev.ActionTaken)} == {ev.By.PLAYER}


@simulated
async def test_a_reservation_overdue_after_a_restart_is_released_and_the_hand_keeps_its_fresh_clock(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        await game.until_turn()
        await game.deposit("late", 50_000)
        await system.crash("wallet")
        asked = await game.send("late", pb.TakeSeatRequest(amount=10_000, seat=8))
        assert asked.outcome == pb.SEAT_OUTCOME_PENDING
        assert game.table.sittings[asked.sitting_no].status is Sit.RESERVED
        version = game.actor.head.version
        await system.crash("table")
        await asyncio.sleep(120)
        await system.start("table")
        await game.until(lambda t: not t.seats[8])
        await asyncio.sleep(CLOCK_MS / 1000 - 1)
        events = await new_events(game, version)
        assert len(of_kind(events, ev.ClockRestarted)) == 1
        assert [e.reason for e in of_kind(events, ev.SeatReleased)] == ["RESERVATION_EXPIRED"]
        assert not of_kind(events, ev.ActionTaken)
        await system.start("wallet")
        await game.until(lambda t: t.of("late") is None)  # what was on its way is paid back


# --- whose clock ------------------------------------------------------------------------------------------------------


@simulated
async def test_only_who_is_asked_runs_against_the_clock(tmp_path):
    """Somebody else, or an old turn, is refused for what it is and takes nobody's timeout."""
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin()
        ada = await game.until_turn()
        other = next(s.account for s in game.table.sittings.values() if s.account != ada)
        turn_id, deadline = game.hand.turn_id, game.hand.deadline_ms
        assert deadline_of(game.table, Act(ada, turn_id, Verb.FOLD)) == deadline
        assert deadline_of(game.table, Act(other, turn_id, Verb.FOLD)) == 0
        assert deadline_of(game.table, Act(ada, turn_id - 1, Verb.FOLD)) == 0
        assert deadline_of(game.table, PostAnte(ada, turn_id)) == 0
        assert deadline_of(game.table, Tick()) == 0
        game.actor._timer.cancel()
        head = game.actor.head
        for account, turn, reason in ((other, turn_id, "NOT_YOUR_TURN"), (ada, turn_id - 1, "STALE_TURN")):
            with pytest.raises(Refused) as refused:
                await at(game, deadline + 500, Act(account, turn, Verb.FOLD))
            assert refused.value.reason == reason
        assert game.actor.head == head


@simulated
async def test_a_late_answer_to_an_ante_prompt_sits_out(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.open()
        for name in ("ada", "bea"):
            await game.seat(name, auto_post=False)
        await game.until(lambda t: t.hand is not None and t.hand.prompts)
        game.actor._timer.cancel()
        prompt = game.hand.prompts[0]
        await asyncio.sleep((prompt.deadline_ms + 1 - virtual_ms()) / 1000)
        with pytest.raises(Refused) as refused:
            await at(game, prompt.deadline_ms + 1, PostAnte("ada", prompt.prompt_id))
        assert refused.value.reason == "DEADLINE_PASSED"
        assert game.table.hand is None
        assert [game.table.sittings[n].sitting_out for n in (1, 2)] == [True, True]


# --- the timer --------------------------------------------------------------------------------------------------------


@simulated
async def test_there_is_one_timer():
    fired = []
    timer = Timer(virtual_ms, lambda: fired.append(virtual_ms()))
    start = virtual_ms()
    timer.set(start + 100)
    timer.set(start + 50)
    assert [timer.is_set] == [True]
    await asyncio.sleep(1)
    assert fired == [start + 51]
    assert [timer.is_set] == [False]
    timer.set(start)  # overdue
    await asyncio.sleep(0.01)
    assert len(fired) == 2
    timer.set(virtual_ms() + 10)
    timer.cancel()
    timer.cancel()
    await asyncio.sleep(1)
    assert len(fired) == 2


@simulated
@pytest.mark.rules("W27")
async def test_hands_follow_each_other_after_the_pause_and_not_before(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(hand_pause_ms=5_000)
        await game.play(1)
        assert hand_gate(game.table) == ""
        ended = game.actor._ended_at_ms
        await game.until(lambda t: t.hand is not None)
        assert ended + 5_000 <= virtual_ms() <= ended + 5_010


@simulated
async def test_no_hand_starts_while_memory_is_short(tmp_path):
    system = MemorySystem(tmp_path)
    system.watching = True
    async with system:
        system.store.used_ratio = 0.9
        await asyncio.sleep(1.5)
        game = Game(system)
        await game.begin()
        await asyncio.sleep(30)
        assert game.table.hand is None
        assert hand_gate(game.table) == ""
        system.store.used_ratio = 0.5
        await game.until(lambda t: t.hand is not None, 3)


@simulated
async def test_a_table_with_nothing_to_do_sets_no_timer(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(1)
        await asyncio.sleep(1)
        assert not game.actor._timer.is_set
        await game.close()
        assert game.table.life is Life.CLOSED
