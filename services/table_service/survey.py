"""What operators see of all tables when somebody asks: one pass over those in memory, two microseconds each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from stud_core.state import Life, Phase
from stud_service.meters import Value
from stud_service.metrics import DISPUTES, HANDS, TABLES, TABLES_STANDING, VIEWERS, Metric
from table_service.actor import TableActor

PHASES = ("", *Phase.__members__)
"""By number."""


def survey(actors: Iterable[TableActor], broken: int) -> Mapping[Metric, Value]:
    """`broken`: how many tables are not in memory, since their logs cannot be trusted."""
    hands: Counter[str] = Counter()
    standing: Counter[str] = Counter({"LOG_BROKEN": broken} if broken else {})
    tables = viewers = disputes = 0
    for actor in actors:
        table = actor.table
        viewers += len(actor.hub)
        if table.life is Life.CLOSED:
            continue
        tables += 1
        disputes += table.disputed_hand > 0
        if table.hand is not None:
            hands[PHASES[table.hand.phase]] += 1
        reason = actor.halted.reason if actor.halted is not None else table.stands_for
        if reason:
            standing[reason] += 1
    return {TABLES: tables, VIEWERS: viewers, DISPUTES: disputes, HANDS: hands, TABLES_STANDING: standing}
