"""What `stud bench` measures: a script for each part, whose last line is one JSON object of figures.

The scripts are in `benches/`, beside the product and not in it: they need the libraries that they compare with.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

BENCHES: Final = Path(__file__).resolve().parents[3] / "benches"
THOUSAND: Final = "1000"


class Part(NamedTuple):
    """One of them. ``takes_s`` and ``brief_takes_s``: about how long one run of it lasts."""

    name: str
    said: str
    script: str
    brief: tuple[str, ...]
    takes_s: float
    brief_takes_s: float
    full: tuple[str, ...] = ()

    def arguments(self, runs: int, *, brief: bool, thousand: bool) -> list[str]:
        """Return what the script is given."""
        given = [*(self.brief if brief else self.full), "--runs", str(runs), "--json"]
        if thousand and self.name == "human":
            given += ["--tables", "10", "100", THOUSAND]
        return given

    def lasts_s(self, runs: int, *, brief: bool) -> float:
        """Return about how long it lasts."""
        return runs * (self.brief_takes_s if brief else self.takes_s)


PARTS: Final = (
    Part("engine", "the rules beside PokerKit", "bench_core.py", ("--hands", "30"), 50, 7),
    Part("rebuild", "a rebuild beside the eventsourcing library", "bench_rebuild.py", ("--hands", "60"), 30, 5),
    Part(
        "append",
        "durable appends beside XADD in pipelines",
        "bench_eventlog.py",
        ("--streams", "64", "--seconds", "1"),
        35,
        7,
    ),
    Part("start", "from `stud up` to ready", "bench_start.py", (), 12, 12),
    Part(
        "system",
        "the system beside a bare server",
        "bench_system.py",
        ("--tables", "16", "--seconds", "4", "--warm", "1", "--no-viewers"),
        140,
        20,
    ),
    Part(
        "human",
        "tables at the pace of people",
        "bench_human.py",
        ("--tables", "4", "16", "--seconds", "4", "--ramp", "2", "--warm", "1"),
        600,
        60,
    ),
)
NAMES: Final = tuple(part.name for part in PARTS)


def chosen(only: str | None) -> list[Part]:
    """Return the parts that ``engine,append`` names, all of them for None. Raises ValueError: a script whose variable
    is empty does not mean all of them.
    """
    names = list(NAMES) if only is None else [name.strip() for name in only.split(",")]
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise ValueError(f"no part {', '.join(map(repr, unknown))}: want some of {', '.join(NAMES)}")
    return [part for part in PARTS if part.name in names]
