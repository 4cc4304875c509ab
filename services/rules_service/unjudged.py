"""Hands that the referee cannot judge now: listed, alarmed about, and tried again with growing pauses.

A hand that waits is parked with the reader's other dead letters, so that it survives a restart and holds up its own
table only; trying again means asking the reader for a replay, as an operator would.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
import structlog

from rules_service.findings import CannotVerify, Obstacle
from stud_core.verdict_events import Finding
from stud_eventlog import keys
from stud_eventlog.log import DeadLetters
from stud_eventlog.pauses import Pauses
from stud_eventlog.types import EventLogError

SERVICE = "rules"
FIRST_RETRY_S = 2.0
LONGEST_RETRY_S = 60.0
LOOK_S = 0.5

_MARK = "CANNOT_VERIFY"

log = structlog.get_logger("rules")


class Waiting(msgspec.Struct):
    """One table whose last hand waits."""

    hand_no: int
    finding: Finding
    attempts: int = 0
    retry_at: float = 0.0
    pauses: Pauses = msgspec.field(default_factory=lambda: Pauses(FIRST_RETRY_S, LONGEST_RETRY_S))


def reason_of(hand_no: int, why: CannotVerify) -> str:
    """Write down why a hand waits, for the dead letter; no card is in it."""
    return f"{_MARK} {hand_no} {why.obstacle} {why.version} {why.stream}"


def parse_reason(reason: str) -> Waiting | None:
    """Read a dead letter's reason; None when it is not one of ours."""
    words = reason.split(" ")
    if len(words) != 5 or words[0] != _MARK or not (words[1].isdecimal() and words[3].isdecimal()):
        return None
    return Waiting(int(words[1]), Finding(words[2], words[4], int(words[3])))


class Unjudged:
    """All of them, by table. ``is_decided(table, hand)``: whether there is a final verdict, by whomever."""

    def __init__(self, eventlog: DeadLetters, is_decided: Callable[[str, int], bool]) -> None:
        self.tables: dict[str, Waiting] = {}
        self._log = eventlog
        self._is_decided = is_decided

    async def load(self) -> None:
        """Find those that an earlier process left."""
        for letter in await self._log.dead_list(SERVICE):
            found = parse_reason(letter.reason)
            if found is not None:
                self.tables[letter.table_id] = found

    def add(self, table_id: str, hand_no: int, why: CannotVerify) -> None:
        """A hand cannot be judged now: alarm, and plan the next attempt."""
        finding = Finding(why.obstacle, why.stream, why.version)
        known = self.tables.get(table_id)
        if known is None or known.hand_no != hand_no:
            known = self.tables[table_id] = Waiting(hand_no, finding)
        known.finding = finding
        known.attempts += 1
        known.retry_at = _now() + known.pauses.next_s()
        log.error(
            "cannot_verify",
            alarm=True,
            table=table_id,
            hand_no=hand_no,
            obstacle=str(why.obstacle),
            stream=why.stream,
            version=why.version,
            detail=why.detail,
            attempts=known.attempts,
        )

    def done(self, table_id: str, hand_no: int) -> None:
        """The hand has a verdict."""
        known = self.tables.get(table_id)
        if known is not None and known.hand_no <= hand_no:
            del self.tables[table_id]
            log.info("can_verify_again", table=table_id, hand_no=hand_no)

    async def retry_on(self) -> None:
        """Ask for replays as they fall due, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_S)
            await self.look()

    async def look(self) -> None:
        """Ask for the replays that are due. What operators decided need not wait, even if they went away meanwhile."""
        for table_id, waiting in list(self.tables.items()):
            decided = self._is_decided(table_id, waiting.hand_no)
            if not decided and waiting.retry_at > _now():
                continue
            try:
                await self.retry(table_id)
            except EventLogError:
                break
            # The reader looks about once a second; should the attempt get lost, the next one comes.
            waiting.retry_at = _now() + LONGEST_RETRY_S
            if decided:
                self.done(table_id, waiting.hand_no)

    async def retry(self, table_id: str) -> None:
        """Have the reader replay a table's parked line."""
        await self._log.request_retry(SERVICE, keys.shard_of(table_id), table_id)


def _now() -> float:
    return asyncio.get_running_loop().time()


def fault(stream: str, why: Exception) -> CannotVerify:
    """The referee itself failed; its type alone is told, since its text might quote a card."""
    return CannotVerify(Obstacle.REFEREE_FAULT, stream, 0, type(why).__name__)
