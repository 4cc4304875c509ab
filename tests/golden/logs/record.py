"""Plays the golden logs: ``python -m tests.golden.logs.record DIR COMMIT``.

The real services play on a log in memory and in virtual time; what they leave is written as a server would hold it.
Cards are drawn anew each time, so that a new recording is another log: it stands for the build that made it, and
replaces none of an earlier build.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import structlog

from stud.common.v1 import ruleset_pb2, seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core.events import PromptKind, Verb
from stud_core.state import Phase, Sitting, Table
from stud_eventlog.memory import MemoryEventLog
from stud_service.refusals import Refused
from stud_service.runtime import Runtime
from tests.support import golden_logs
from tests.support.choosing import LIVELY, STAY
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, VirtualLoop

BETS = {Verb.CHECK: 1, Verb.CALL: 6, Verb.BRING_IN: 1, Verb.OPEN: 3, Verb.COMPLETE: 4, Verb.BET: 6, Verb.RAISE: 2}
FOLDS = {Verb.FOLD: 9, Verb.BRING_IN: 1, Verb.CHECK: 1}
LONG_MS = 300_000
"""A clock that does not run out while other tables are played."""


class GoldenSystem(MemorySystem):
    """A system with the golden keys, whose build is the commit that played."""

    def __init__(self, folder: Path, build: str) -> None:
        golden_logs.write_keys(folder / "keys")
        super().__init__(folder)
        self.build = build

    def runtime(self, name: str) -> Runtime:
        made = super().runtime(name)
        settings = msgspec.structs.replace(made.settings, build=self.build)
        return Runtime(name, settings, MemoryEventLog(self.store), clock=made.clock)


class Player(Game):
    """A game whose players do more than act."""

    async def begin_at(
        self, preset: str, seats: tuple[int, ...], *, knobs: dict[str, Any] | None = None, **fields: Any
    ) -> None:
        """Opens a table and seats one player at each of these; it stays paused."""
        ruleset = ruleset_pb2.Ruleset(**(knobs or {}))
        await self.open(preset, ruleset=ruleset, override_fields=list(knobs or {}), **fields)
        await self.operate(pb.PauseTableRequest(reason="seating"))
        for seat in seats:
            await self.seat(self.name(seat), seat=seat, muck_losing=seat % 2 == 0)

    def name(self, seat: int) -> str:
        return f"{self.id}-{seat}"

    def stream(self, account: str) -> None:
        """As if the player had one open: without it nothing but Fold is chosen ahead."""
        self.actor.ahead.connected(account)

    async def go(self) -> None:
        await self.operate(pb.ResumeTableRequest())

    async def halt(self) -> None:
        """No next hand, and the running one played to its end and its verdict, with the deck of the next one there."""
        if not self.table.paused:
            await self.operate(pb.PauseTableRequest(reason="golden"))
        while not self._is_ready(self.table):
            await self.step(STAY)

    @staticmethod
    def _is_ready(table: Table) -> bool:
        over = table.hand is None and table.verified_hand == table.ended_hand
        return over and table.deck_hand_no == table.hand_no + 1

    async def hands(self, count: int, weights: dict[Verb, int] = LIVELY) -> None:
        """Plays so many more, and halts."""
        if self.table.paused:
            await self.go()
        await self.play(self.table.verified_hand + count, weights)
        await self.halt()

    async def asked(self, kind: PromptKind, weights: dict[Verb, int]) -> Sitting:
        """Plays until somebody is asked whether he shows."""
        if self.table.paused:
            await self.go()
        while True:
            hand = self.table.hand
            for prompt in hand.prompts if hand is not None else ():
                if prompt.kind is kind:
                    return self.table.at(prompt.seat)
            await self.step(weights)

    async def antes(self, prompts: int) -> list[str]:
        """Halts, starts the next hand, and returns whom it asks for an ante."""
        await self.halt()
        await self.go()
        table = await self.until(lambda t: t.hand is not None and t.hand.phase is Phase.ANTES)
        asked = [table.at(prompt.seat).account for prompt in table.running.prompts]
        assert len(asked) >= prompts, asked
        return asked

    async def prefer(self, account: str, **fields: Any) -> None:
        await self.send(account, pb.SetPreferencesRequest(**fields))

    async def ante(self, account: str, *, decline: bool = False) -> None:
        prompt = self.hand.prompts[0]
        await self.send(account, pb.PostAnteRequest(prompt_id=prompt.prompt_id, decline=decline))

    async def show(self, sitting: Sitting, *, show: bool) -> None:
        prompt = next(prompt for prompt in self.hand.prompts if prompt.seat == sitting.seat)
        await self.send(sitting.account, pb.ChooseShowRequest(prompt_id=prompt.prompt_id, show=show))

    async def void(self) -> None:
        await self.operate(pb.VoidHandRequest(hand_no=self.hand.hand_no, reason="golden"))

    async def undealt(self) -> None:
        """Starts a hand while the dealer is away, so that it has no card."""
        await self.halt()
        await self.system.crash("dealer")
        await self.go()
        await self.until(lambda t: t.hand is not None and t.hand.phase is Phase.DEALING)

    async def void_undealt(self) -> None:
        await self.undealt()
        await self.void()
        await self.system.start("dealer")
        await self.halt()

    async def all_in_again(self) -> None:
        """Whoever sits out, for want of chips or because he asked to, plays again."""
        for sitting in list(self.table.sittings.values()):
            if not sitting.stack and not sitting.pending:
                await self.send(sitting.account, pb.AddChipsRequest(amount=10_000))
                await self.until(functools.partial(_has_chips, sitting.sitting_no))
            if self.table.sittings[sitting.sitting_no].sitting_out:
                await self.send(sitting.account, pb.SitInRequest())

    async def ahead(self, seat: int, verb: Verb) -> None:
        """Has a player choose ahead, if he may."""
        hand = self.table.hand
        if hand is None:
            return
        told = pb.SetPreActionRequest(
            hand_no=hand.hand_no, street=hand.street, price=hand.level, verb=seat_pb2.Verb.ValueType(int(verb))
        )
        with contextlib.suppress(Refused):
            await self.send(self.name(seat), told)

    async def step_or_be_forestalled(self, weights: dict[Verb, int]) -> None:
        """One step; a choice ahead may have been quicker."""
        try:
            await self.step(weights)
        except Refused as refused:
            if refused.reason not in {"NOT_YOUR_TURN", "STALE_TURN", "NO_HAND"}:
                raise


def _has_chips(sitting_no: int, table: Table) -> bool:
    sitting = table.sittings[sitting_no]
    return bool(sitting.pending or sitting.stack)


async def declined(asked: Any) -> None:
    """The wallet says no."""
    with pytest.raises(Refused) as refused:
        await asked
    assert refused.value.reason == "INSUFFICIENT_FUNDS"


# --- played ----------------------------------------------------------------------


async def fixed_dealer(game: Player) -> None:
    """PlayNow: antes are asked for, and everything that may happen to them."""
    await game.begin_at("playnow", (1, 3, 4, 6), knobs={"rake_bps": 500, "rake_cap": 300})
    one, three, four, six = [game.name(seat) for seat in (1, 3, 4, 6)]
    for account in (three, four, six):
        await game.prefer(account, auto_post=False)
    await game.hands(2)
    await game.all_in_again()
    await game.antes(3)  # ticked while asked: nothing happens, he answers by hand
    await game.prefer(four, auto_post=True)
    for account in (six, four, three):
        await game.ante(account)
    await game.halt()
    await game.prefer(four, auto_post=False)
    await game.all_in_again()
    await game.antes(3)  # ticked while asked, and the clock runs out all the same
    await game.prefer(three, auto_post=True, muck_losing=True)
    await game.ante(four)
    await game.ante(six, decline=True)
    await game.until(lambda t: t.hand is None or not t.hand.prompts)
    await game.halt()
    await game.all_in_again()
    for account in (one, three):
        await game.prefer(account, auto_post=False)
    await game.antes(4)  # all but one decline
    await game.ante(one)
    for account in (three, four, six):
        await game.ante(account, decline=True)
    await game.until(lambda t: t.hand is None)
    await game.all_in_again()
    await game.antes(4)  # called off by an operator
    await game.ante(one)
    await game.void()
    await game.antes(4)  # one leaves, one sits out while asked
    await game.send(three, pb.LeaveSeatRequest())
    await game.send(four, pb.SitOutRequest())
    await game.halt()
    await game.all_in_again()
    await game.hands(1)


async def chips(game: Player) -> None:
    """PlayNow: money that comes, that does not, and that goes; leaving in a hand."""
    await game.begin_at("playnow", (2, 3, 5))
    poor = "poor"
    await declined(game.seat(poor, deposit=1_000, seat=7))
    await game.deposit("short", 12_000)
    await game.seat("short", deposit=0, seat=8, amount=9_000)
    await game.hands(1, STAY)
    await game.go()
    await game.until_turn(4, game.table.hand_no + 1)
    await game.send("short", pb.AddChipsRequest(amount=5_000))  # more than there is
    await game.send(game.name(2), pb.AddChipsRequest(amount=1_000))
    await game.until(lambda t: not any(s.top_up_open for s in t.sittings.values()))
    await game.act(BETS)
    await game.until(lambda t: t.running.turn_seat)
    await game.send(game.on_turn, pb.LeaveSeatRequest())
    await game.halt()
    await game.until(lambda t: len(t.sittings) == 3)
    await game.go()
    await game.until_turn(3, game.table.hand_no + 1)
    leaver = next(s.account for s in game.table.sittings.values() if s.account != game.on_turn)
    await game.send(leaver, pb.LeaveSeatRequest())
    await game.halt()
    await game.seat("late", seat=7)
    await game.all_in_again()
    await game.hands(2)
    await game.all_in_again()
    await game.hands(1)
    await game.close()


async def showing(game: Player, preset: str) -> None:
    """Who is asked whether he shows, and what he says; a clock that runs out on the way."""
    await game.begin_at(preset, (1, 2, 3, 4))
    for seat in (1, 2, 3, 4):
        await game.prefer(game.name(seat), muck_losing=False)
    for ticked, show in ((False, True), (False, False), (True, True), (True, False)):
        sitting = await game.asked(PromptKind.LOSER, STAY)
        if ticked:  # while asked: nothing happens, he still answers
            await game.prefer(sitting.account, muck_losing=True)
        await game.show(sitting, show=show)
        await game.halt()
        await game.prefer(sitting.account, muck_losing=False)
    sitting = await game.asked(PromptKind.LOSER, STAY)
    await game.prefer(sitting.account, muck_losing=True)
    await game.until(lambda t: t.hand is None)  # ticked, and the clock of the question runs out
    await game.halt()
    for show in (True, False):
        sitting = await game.asked(PromptKind.UNCALLED_WINNER, FOLDS)
        await game.prefer(sitting.account, muck_losing=not sitting.muck_losing)
        await game.show(sitting, show=show)
        await game.halt()
    await game.go()
    late = await game.until_turn(4, game.table.hand_no + 1)
    await game.until(lambda t: t.of(late) is not None and t.of(late).sitting_out)  # type: ignore[union-attr]
    await game.halt()
    await game.all_in_again()
    await game.hands(1)


async def button(game: Player) -> None:
    """William Hill, seats 2, 5 and 7: hands without a card, and with some, that are void."""
    await game.begin_at("william_hill", (2, 5, 7))
    await game.hands(1, STAY)
    await game.void_undealt()
    await game.hands(2, STAY)
    await game.void_undealt()
    await game.void_undealt()
    await game.hands(1, STAY)
    await game.go()
    await game.until_turn(4, game.table.hand_no + 1)
    await game.void()
    await game.halt()
    await game.hands(1, STAY)
    await game.void_undealt()
    await game.send(game.name(5), pb.SitOutRequest())
    await game.hands(2, STAY)
    await game.send(game.name(5), pb.SitInRequest())
    await game.hands(1, STAY)


async def first_void(game: Player) -> None:
    """The table's first hand gets no card."""
    await game.begin_at("william_hill", (2, 5, 7))
    await game.void_undealt()
    await game.hands(2, STAY)
    await game.close()


async def ahead(game: Player) -> None:
    """William Hill: choices ahead, an ante asked for, all stakes alive."""
    await game.begin_at("william_hill", (1, 2, 4, 6, 8), knobs={"rake_bps": 250})
    for seat in (1, 2, 4, 6, 8):
        game.stream(game.name(seat))
    await game.prefer(game.name(4), auto_post=False)
    done = game.table.hand_no
    await game.go()
    while game.table.verified_hand < done + 4:
        for seat in (1, 2, 4, 6, 8):
            await game.ahead(seat, game.rng.choice((Verb.FOLD, Verb.CALL, Verb.CALL, Verb.BET, Verb.RAISE)))
        await game.step_or_be_forestalled(BETS)
    await game.halt()
    await game.all_in_again()
    await game.antes(1)
    await game.prefer(game.name(4), auto_post=True)
    await game.ante(game.name(4))
    await game.halt()
    await game.all_in_again()
    await game.hands(1, BETS)


async def full(game: Player, preset: str) -> None:
    """Eight players to a river that is too short for them."""
    await game.begin_at(preset, tuple(range(1, 9)))
    await game.hands(1, STAY)
    await game.hands(2)


async def play(system: MemorySystem) -> None:
    await fixed_dealer(Player(system, "golden-antes"))
    await chips(Player(system, "golden-chips"))
    await showing(Player(system, "golden-show-p"), "playnow")
    await showing(Player(system, "golden-show-w"), "william_hill")
    await button(Player(system, "golden-button"))
    await first_void(Player(system, "golden-first-void"))
    await ahead(Player(system, "golden-ahead"))
    await full(Player(system, "golden-full-p"), "playnow")
    await full(Player(system, "golden-full-w"), "william_hill")


# --- running ---------------------------------------------------------------------

LONG = {"action_clock_ms": LONG_MS, "ante_clock_ms": LONG_MS, "show_clock_ms": LONG_MS}


async def run(system: MemorySystem) -> None:
    """Tables that are in the middle of something when everything stops."""
    for preset, mark in (("playnow", "p"), ("william_hill", "w")):
        betting = Player(system, f"running-bets-{mark}")
        await betting.begin_at(preset, (2, 5, 7), knobs=LONG)
        await betting.hands(1)
        await betting.all_in_again()
        await betting.go()
        await betting.until_turn(5, betting.table.hand_no + 1)
        await betting.act({Verb.BET: 1})
        await betting.until(lambda t: t.running.turn_seat)
        leaver = next(s.account for s in betting.table.sittings.values() if s.account != betting.on_turn)
        await betting.send(leaver, pb.LeaveSeatRequest())

        antes = Player(system, f"running-antes-{mark}")
        await antes.begin_at(preset, (2, 5, 7), knobs=LONG)
        for seat in (2, 5, 7):
            await antes.prefer(antes.name(seat), auto_post=False)
        await antes.hands(1, STAY)
        await antes.antes(3)
        await antes.ante(antes.name(2))
        await antes.prefer(antes.name(5), auto_post=True)  # ticked while asked: he is asked all the same

        showing_table = Player(system, f"running-show-{mark}")
        await showing_table.begin_at(preset, (2, 5, 7), knobs=LONG)
        await showing_table.prefer(showing_table.name(2), muck_losing=False)
        await showing_table.prefer(showing_table.name(5), muck_losing=False)
        await showing_table.prefer(showing_table.name(7), muck_losing=False)
        await showing_table.asked(PromptKind.LOSER, STAY)

    after = Player(system, "running-after-void")
    await after.begin_at("william_hill", (2, 5, 7), knobs=LONG)
    await after.hands(1, STAY)
    await after.void_undealt()  # and no hand since

    second = Player(system, "running-antes-after-void")
    await second.begin_at("william_hill", (2, 5, 7), knobs=LONG)
    await second.hands(1, STAY)
    await second.void_undealt()
    await second.prefer(second.name(5), auto_post=False)
    await second.antes(1)

    third = Player(system, "running-bets-after-void")
    await third.begin_at("william_hill", (2, 5, 7), knobs=LONG)
    await third.hands(1, STAY)
    await third.void_undealt()
    await third.go()
    await third.until_turn(3, third.table.hand_no + 1)

    waiting = [Player(system, f"running-undealt-{mark}") for mark in "pw"]
    for game, preset in zip(waiting, ("playnow", "william_hill"), strict=True):
        await game.begin_at(preset, (2, 5, 7), knobs=LONG)
        await game.hands(1, STAY)
    await waiting[1].void_undealt()
    await system.crash("dealer")
    for game in waiting:
        await game.go()
        await game.until(lambda t: t.hand is not None and t.hand.phase is Phase.DEALING)


async def record(path: Path, build: str, scenes: Callable[[MemorySystem], Any]) -> None:
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    with tempfile.TemporaryDirectory() as folder:
        async with GoldenSystem(Path(folder), build) as system:
            await scenes(system)
            golden_logs.save(path, golden_logs.taken(system.store))
            for game in list(system.tables.registry.all()):
                assert not game.halted, game.table_id


def main() -> None:
    folder, build = Path(sys.argv[1]), sys.argv[2]
    for path, scenes in ((golden_logs.PLAYED, play), (golden_logs.RUNNING, run)):
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(record(folder / path.name, build, scenes))
        print(folder / path.name, (folder / path.name).stat().st_size)


if __name__ == "__main__":
    main()
