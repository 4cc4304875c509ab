"""A rig and its referee together: play a hand, forge it if you like, and hear the verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from rules_service.referee import Referee, table_of
from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.presets import PLAYNOW
from stud_core.ruleset import TableConfig
from stud_core.verdict_events import HandDisputed, HandVerified
from stud_eventlog.memory import MemoryEventLog
from stud_service.keyring import Key
from stud_service.runtime import Runtime
from stud_service.settings import ServiceSettings
from stud_wire.commits import decode_commit
from tests.support.referee_hands import REFEREE_KEY, Rig, config_of

Change = Callable[[Any], Any]

CALLS = {ev.Verb.FOLD: 0, ev.Verb.CHECK: 9, ev.Verb.CALL: 9, ev.Verb.BRING_IN: 9, ev.Verb.BET: 0, ev.Verb.RAISE: 0,
         ev.Verb.COMPLETE: 0, ev.Verb.OPEN: 0}  # fmt: skip
"""Everybody stays in, nobody bets: a showdown with one pot."""


class Court:
    """One table, one dealer, one referee, one log in memory."""

    def __init__(self, config: TableConfig | None = None, seed: int = 0, key: Key = REFEREE_KEY) -> None:
        self.log = MemoryEventLog()
        self.rig = Rig(self.log, config or config_of(PLAYNOW), seed)
        self.heard = "0-0"
        self.appoint(key)

    def appoint(self, key: Key = REFEREE_KEY) -> None:
        """A referee that knows nothing yet, as after a restart."""
        self.runtime = Runtime("rules", ServiceSettings(), self.log)
        self.referee = Referee(self.runtime, key)

    async def open(self, stacks: Sequence[int] = (10_000, 10_000, 10_000), **how: bool) -> None:
        await self.log.initialise()
        await self.referee.load()
        await self.rig.open(stacks, **how)

    async def hear(self) -> Any:
        """Let the referee read the dealer's feed; return the verdict that is then last in the log."""
        entries = await self.rig.notices(self.heard)
        mine = [entry for entry in entries if table_of(entry)]
        if mine:
            await self.referee.handle(mine)
        if entries:
            self.heard = entries[-1].entry_id
        return (await self.verdicts() or [None])[-1]

    async def verdicts(self) -> list[Any]:
        """Everything in the verdict log."""
        stream = self.referee.verdicts[self.rig.shard].stream
        return [event for commit in await self.log.read(stream) for event in decode_commit(commit.body).events]

    async def hand(self, **how: Any) -> HandVerified:
        """Play an honest hand, have it verified, and let the table know."""
        await self.rig.play_hand(**{"mischief": 0.0, **how})
        verdict = await self.hear()
        assert isinstance(verdict, HandVerified), verdict.findings
        await self.rig.verdict(self.book.final_version)
        return verdict

    @property
    def book(self) -> Any:
        return self.referee.verdicts[self.rig.shard].book.table(self.rig.config.table_id)

    async def disputed(self) -> HandDisputed:
        """Play the running hand out, or a new one, and hear that it is disputed."""
        if self.rig.state.hand is None:
            await self.rig.start()
        await self.rig.play_out()
        verdict = await self.hear()
        assert isinstance(verdict, HandDisputed), verdict
        assert self.book.final_hand < verdict.hand_no
        return verdict

    # --- the log's bytes ---------------------------------------------------------------------------------------------

    def rows(self, stream: str) -> list[Any]:
        return self.log.store.data.logs[stream]

    def edit(self, stream: str, version: int, body: bytes) -> None:
        """Replace a commit's bytes behind everybody's back."""
        commit, stored_hash = self.rows(stream)[version - 1]
        self.rows(stream)[version - 1] = (replace(commit, body=body), stored_hash)


def codes(verdict: HandDisputed) -> set[str]:
    return {finding.code for finding in verdict.findings}


def change_first(kind: type, change: Change, where: Callable[[Any], bool] = lambda _: True) -> Any:
    """A forgery: the first event of a kind is written differently."""
    done: list[int] = []

    def forge(version: int, events: list[Any]) -> list[Any]:
        if done:
            return events
        for at, event in enumerate(events):
            if isinstance(event, kind) and where(event):
                done.append(version)
                return [*events[:at], change(event), *events[at + 1 :]]
        return events

    return forge


def with_fields(**fields: Any) -> Change:
    """A change of fields; a function gets the event and gives the value."""

    def change(event: Any) -> Any:
        values = {name: value(event) if callable(value) else value for name, value in fields.items()}
        return msgspec.structs.replace(event, **values)

    return change


def moved(event: ev.HandEnded, loser: int, winner: int, amount: int) -> ev.HandEnded:
    """A result in which chips went to another seat; everything adds up."""
    numbers = {entry.seat: entry.sitting_no for entry in event.stacks}
    by = {numbers[loser]: -amount, numbers[winner]: amount}
    stacks = [msgspec.structs.replace(entry, stack=entry.stack + by.get(entry.sitting_no, 0)) for entry in event.stacks]
    deltas = [msgspec.structs.replace(entry, delta=entry.delta + by.get(entry.sitting_no, 0)) for entry in event.deltas]
    return msgspec.structs.replace(event, stacks=tuple(stacks), deltas=tuple(deltas))


def steal_from_the_winner(_version: int, events: list[Any]) -> list[Any]:
    """A forgery: 150 units of a pot go to a player who did not win it."""
    return steal(events, 150) if any(isinstance(event, ev.PotAwarded) for event in events) else events


def steal(events: list[Any], amount: int) -> list[Any]:
    """Move chips of the first pot from its winner to another player; the result adds up."""
    at = next(n for n, event in enumerate(events) if isinstance(event, ev.PotAwarded))
    pot = events[at]
    share = pot.shares[0]
    end = next(event for event in events if isinstance(event, ev.HandEnded))
    thief = next(entry.seat for entry in end.stacks if entry.seat not in {s.seat for s in pot.shares})
    had = next(entry.stack for entry in end.stacks if entry.seat == thief)
    shares = (
        ev.Share(share.seat, share.amount - amount, share.stack - amount),
        *pot.shares[1:],
        ev.Share(thief, amount, had + amount),
    )
    forged = list(events)
    forged[at] = msgspec.structs.replace(pot, shares=shares)
    forged[events.index(end)] = moved(end, share.seat, thief, amount)
    return forged


async def until_turn(court: Court, times: int = 2) -> ev.TurnStarted:
    """Start a hand and play some turns; return the open one."""
    await court.rig.start()
    for _ in range(times):
        await court.rig.step(CALLS)
    return next(e for e in reversed(court.rig.commits[-1][1]) if isinstance(e, ev.TurnStarted))


async def passive(court: Court) -> HandDisputed:
    """Play a hand to its showdown, which is disputed."""
    await court.rig.start()
    await court.rig.play_out(weights=CALLS)
    verdict = await court.hear()
    assert isinstance(verdict, HandDisputed), verdict
    return verdict


async def broken_off(court: Court) -> HandDisputed:
    """The engine would not go on from what was forged: the hand is voided, and disputed all the same."""
    rig = court.rig
    rig.forge_table, rig.auto = None, True
    assert rig.state.hand is not None
    await rig.send(cmd.VoidHand(rig.state.hand.hand_no, "test", "op"), actor="op")
    verdict = await court.hear()
    assert isinstance(verdict, HandDisputed), verdict
    return verdict
