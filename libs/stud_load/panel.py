"""The live panel: how far a run is and what it does just now, for whoever watches a terminal."""

from __future__ import annotations

from collections import deque
from typing import Final

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from stud_load.plan import LoadPlan
from stud_load.recorder import Count, Interval, decoded
from stud_load.report import Figures, figures_of
from stud_load.running import Progress

BLOCKS: Final = "▁▂▃▄▅▆▇█"
KEPT: Final = 60


class Panel:
    """Takes what a run tells and draws it."""

    def __init__(self, plan: LoadPlan) -> None:
        self._plan = plan
        self._now = Progress("starting")
        self._figures: Figures | None = None
        self._rates: deque[float] = deque(maxlen=KEPT)
        self._p99: deque[float] = deque(maxlen=KEPT)

    def take(self, progress: Progress) -> None:
        """Take in how far it is."""
        if progress.interval is not None and progress.interval is not self._now.interval:
            self._figures = figures_of(decoded(progress.interval.act))
            self._rates.append(per_s(progress.interval, Count.ACTIONS))
            self._p99.append(self._figures.p99)
        self._now = progress

    def __rich__(self) -> RenderableType:
        now, plan = self._now, self._plan
        what = f"{plan.tables} tables of {plan.players} + {plan.spectators}, {plan.rate}, {plan.transport}"
        head = Table.grid(padding=(0, 1))
        head.add_row(Text(f"{now.phase:<10}", style="bold"), ProgressBar(1.0, now.share, width=40), Text(what))
        parts: list[RenderableType] = [head]
        if now.interval is not None and self._figures is not None:
            parts += [self._traffic(now.interval, self._figures), self._processes()]
        style = "bold red" if now.violations else "green"
        parts.append(Text.assemble(f"refused {now.refused}, ", (f"violations {now.violations}", style)))
        return Group(*parts)

    def _traffic(self, interval: Interval, figures: Figures) -> Table:
        rows = Table(box=None, show_header=False, padding=(0, 1))
        per = {what: per_s(interval, what) for what in Count}
        rows.add_row("actions/s", f"{per[Count.ACTIONS]:,.0f}", blocks(self._rates))
        rows.add_row("p99 ms", f"{figures.p99:,.1f}", blocks(self._p99))
        rows.add_row("p50 ms", f"{figures.p50:,.1f}", "")
        rows.add_row("deliveries/s", f"{per[Count.DELIVERIES]:,.0f}", f"hands/s {per[Count.HANDS]:,.1f}")
        return rows

    def _processes(self) -> Table:
        rows = Table(box=None, show_header=False, padding=(0, 1))
        for name, sample in self._now.samples.items():
            bar = ProgressBar(1.0, min(1.0, sample.cpu_share), width=20)
            rows.add_row(name, f"{sample.cpu_share:4.0%} of a core", bar, f"{sample.rss_mib:,.0f} MiB")
        return rows


def per_s(interval: Interval, what: Count) -> float:
    """Return how many there were a second."""
    return interval.counts.get(what, 0) / interval.seconds if interval.seconds else 0.0


def blocks(values: deque[float]) -> str:
    """Return values as a line of blocks, the greatest the highest."""
    most = max(values, default=0.0) or 1.0
    return "".join(BLOCKS[min(len(BLOCKS) - 1, int(value / most * len(BLOCKS)))] for value in values)
