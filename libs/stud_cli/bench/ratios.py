"""What is compared with what was recorded: ratios alone. An absolute figure says as much of the machine as of us."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

WORST: Final = 2 / 3
"""Below that share of what was recorded a ratio is worse. Two runs beside other work can be apart by less."""


class Ratio(NamedTuple):
    """A figure of a part that is a ratio within one run. ``is_steady``: it stands still beside other work, so that a
    brief run has it too. Throughput on the clock does not: the system needs more processes at a time than what it is
    compared with, and other work keeps more of them waiting (measured: 0.16 and 0.37 within the hour).
    ``is_of_machine``: it is compared only with what the same kind of processor gave, since what a call of the kernel
    costs beside Python differs: the same code's table process cost 2.7 bare servers on one and 4.2 on another.
    """

    part: str
    figure: str
    said: str
    more_is_better: bool
    is_steady: bool = True
    is_of_machine: bool = False

    @property
    def name(self) -> str:
        """As it is recorded."""
        return f"{self.part}.{self.figure}"

    def share(self, now: float, recorded: float) -> float:
        """Return how good it is beside what was recorded: 1 = as good, 0.5 = half as good."""
        return now / recorded if self.more_is_better else recorded / now


RATIOS: Final = (
    Ratio("system", "actions_of_bare", "system / bare server, actions a second", True, False, True),
    Ratio("system", "table_cpu_of_bare", "table process / bare server, CPU an action", False, True, True),
    Ratio("system", "beside_cpu_of_bare", "log server + wallet + dealer + rules / bare server", False, True, True),
    Ratio("engine", "times_pokerkit", "rules / PokerKit, actions a second", True),
    Ratio("rebuild", "times_library", "rebuild / eventsourcing, events a second, in memory", True),
    Ratio("rebuild", "times_library_from_server", "rebuild from the log server / eventsourcing in memory", True),
    Ratio("append", "in_flight_2.streams_64.of_xadd", "appends / XADD in pipelines, 64 streams", True),
    Ratio("start", "up_and_down_cpu_of_floor", "`stud up` and its stop / start of Python with gRPC, CPU", False),
    Ratio("start", "help_cpu_of_floor", "`stud --help` / start of Python with gRPC, CPU", False),
)


OF_MACHINE: Final = frozenset(ratio.name for ratio in RATIOS if ratio.is_of_machine)


class Row(NamedTuple):
    """One ratio; ``recorded`` and ``share`` (`Ratio.share`) are None where nothing was recorded."""

    ratio: Ratio
    now: float
    recorded: float | None = None
    share: float | None = None

    @property
    def is_worse(self) -> bool:
        """Whether it is a third below what was recorded."""
        return self.share is not None and self.share < WORST


def taken_from(figures: Mapping[str, Mapping[str, float]], *, brief: bool) -> dict[str, float]:
    """Return the ratios among the figures of parts, by name; of a brief run only the steady ones."""
    return {
        ratio.name: figures[ratio.part][ratio.figure]
        for ratio in RATIOS
        if ratio.figure in figures.get(ratio.part, {}) and (ratio.is_steady or not brief)
    }


def held_against(now: Mapping[str, float], recorded: Mapping[str, float]) -> list[Row]:
    """Return each ratio that was measured, beside what was recorded of it."""
    rows = []
    for ratio in RATIOS:
        value, then = now.get(ratio.name), recorded.get(ratio.name)
        if value is not None:
            share = ratio.share(value, then) if then and value else None
            rows.append(Row(ratio, value, then, share))
    return rows


def parts_that_are_worse(rows: Iterable[Row]) -> set[str]:
    """Return the parts of which a ratio is worse."""
    return {row.ratio.part for row in rows if row.is_worse}


def better(name: str, one: float, other: float) -> float:
    """Return the better of two values of a ratio."""
    (ratio,) = [ratio for ratio in RATIOS if ratio.name == name]
    return max(one, other) if ratio.more_is_better else min(one, other)
