"""Tables that are not at hand but needed whole: closed ones, for those who ask again about money, and those found late.

They are folded from their logs one at a time, everybody who asks meanwhile waits for the same fold, and all of it takes
no more than its share of the loop's time: a long log must not stop the tables that play.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable

import structlog

from stud_service.limits import Limit, Rate, limited, now_s
from stud_service.refusals import Refused
from stud_service.runtime import Runtime
from table_service.actor import TableActor

WAIT_S = 2.0
"""How long whoever asks waits. The fold goes on, and whoever asks again finds how far it has come."""

IN_LINE = 8
"""Tables that are folded or wait for it; whoever asks for one more is told to come back."""

FOLDS_PER_S, FOLDS_BURST = 0.2, 10
"""Folds that one account may cause."""

KEPT, KEEP_S = 64, 60.0
"""Closed tables that stay at hand, the latest used, and for how long: for those who ask again."""

log = structlog.get_logger()
Load = Callable[[str], Awaitable[TableActor | None]]


class Folds:
    """Folds tables on demand and keeps the closed ones for a while."""

    def __init__(self, runtime: Runtime, load: Load) -> None:
        self._runtime = runtime
        self._load = load
        self._under_way: dict[str, asyncio.Task[TableActor | Refused | None]] = {}
        self._caused: Rate[str] = Rate(FOLDS_PER_S, FOLDS_BURST)
        self._kept: OrderedDict[str, tuple[TableActor, float]] = OrderedDict()

    # ----------------------------------------------------------------- folding

    async def fold(self, table_id: str, account: str) -> TableActor | None:
        """Return a table from its log, None when it has none. Raises Refused: RATE_LIMITED, or what is wrong there."""
        task = self._under_way.get(table_id)
        if task is None:
            self._admit(account)
            task = self._runtime.spawn(self._fold(table_id), f"fold {table_id}", may_end=True)
            self._under_way[table_id] = task
        try:
            async with asyncio.timeout(WAIT_S):
                found = await asyncio.shield(task)
        except TimeoutError:
            raise limited(
                "the table is closed and its log is long: ask again, with the same id", WAIT_S, 1, Limit.CLOSED_TABLES
            ) from None
        if isinstance(found, Refused):
            raise found
        return found

    def _admit(self, account: str) -> None:
        if len(self._under_way) >= IN_LINE:
            raise limited("too many closed tables are being asked for", WAIT_S, IN_LINE, Limit.CLOSED_TABLES)
        wait_s = self._caused.take(account)
        if wait_s:
            raise limited("this account asks for too many closed tables", wait_s, FOLDS_BURST, Limit.CLOSED_TABLES)

    async def _fold(self, table_id: str) -> TableActor | Refused | None:
        """Never fails: it is nobody's task but the service's."""
        try:
            return await self._load(table_id)
        except Refused as refused:
            return refused
        except Exception:
            incident = self._runtime.new_id().hex()
            log.exception("fold_failed", table=table_id, incident=incident)
            return Refused("INTERNAL", "something unexpected happened", incident=incident)
        finally:
            self._under_way.pop(table_id, None)

    # ----------------------------------------------------------------- keeping

    def at_hand(self, table_id: str) -> TableActor | None:
        """Return a closed table that was used lately."""
        found = self._kept.get(table_id)
        if found is None:
            return None
        self.keep(found[0])
        return found[0]

    def keep(self, actor: TableActor) -> None:
        """Have a closed table stay at hand for a while."""
        self._kept[actor.table_id] = actor, now_s()
        self._kept.move_to_end(actor.table_id)
        if len(self._kept) > KEPT:
            self._drop()

    def drop_old(self) -> None:
        """Drop what nobody has used lately."""
        while self._kept and next(iter(self._kept.values()))[1] + KEEP_S < now_s():
            self._drop()

    def _drop(self) -> None:
        table_id, (actor, _) = self._kept.popitem(last=False)
        self._runtime.spawn(actor.stop(), f"stop {table_id}", may_end=True)

    def kept(self) -> list[TableActor]:
        """Return the closed tables at hand."""
        return [actor for actor, _ in self._kept.values()]
