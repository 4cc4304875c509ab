"""What a load run is to do. Plain values: they are written into the report, and sent to other processes."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

import msgspec

THINK_S: Final = 3.0
"""Mean of the exponential think times of ``human``."""

HUMAN_HAND_PAUSE_MS: Final = 3000
MOST_INTERVALS: Final = 240
MOST_TURN_S: Final = 8.0
"""How long a turn may wait for its moment at a fixed rate; players' clocks run meanwhile."""

MOST_TABLES: Final = 100_000
MOST_SPECTATORS: Final = 1000
MOST_PER_S: Final = 1_000_000.0


class RateKind(StrEnum):
    """How bots choose the moment of an answer."""

    HUMAN = "human"
    MAX = "max"
    FIXED = "fixed"


class Transport(StrEnum):
    """How bots are told and how they answer: one Play stream, or a Watch stream and a call for each command."""

    PLAY = "play"
    UNARY = "unary"


class Rate(msgspec.Struct, frozen=True):
    """How fast bots act; ``per_s``: actions a second over all tables, where it is FIXED."""

    kind: RateKind
    per_s: float = 0.0

    def __str__(self) -> str:
        return f"{self.per_s:g}/s" if self.kind is RateKind.FIXED else self.kind.value


MAX_RATE: Final = Rate(RateKind.MAX)


def parse_rate(text: str) -> Rate:
    """Return the rate that ``human``, ``max`` or ``250/s`` means. Raises ValueError that says what would be right."""
    if text in {RateKind.HUMAN, RateKind.MAX}:
        return Rate(RateKind(text))
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?)/s", text)
    per_s = float(found[1]) if found else 0.0
    if not 0 < per_s <= MOST_PER_S:
        raise ValueError(f"no rate: {text!r}: want human, max, or actions a second such as 250/s")
    return Rate(RateKind.FIXED, per_s)


class Chaos(msgspec.Struct, frozen=True):
    """What goes wrong on purpose. ``reconnect``: chance (0 to 1) for each player and hand that the stream is cut and
    resumed. ``slow_readers``: spectators that take an update a second. The others are on or off.
    """

    reconnect: float = 0.0
    slow_readers: int = 0
    leave_rejoin: bool = False
    bad_commands: bool = False


class LoadPlan(msgspec.Struct, frozen=True):
    """One run. ``first_table`` numbers its tables where several processes share a run; ``run_id`` keeps its tables and
    accounts apart from those of every other run. Times in seconds; ``think_s`` is a mean. ``ask_antes``: players post
    each ante by themselves. ``plain``: streams are asked for nothing beyond the first version of the contract.
    """

    tables: int = 8
    players: int = 8
    spectators: int = 0
    ruleset: str = "playnow"
    rate: Rate = MAX_RATE
    ramp_s: float = 2.0
    warm_s: float = 2.0
    seconds: float = 20.0
    transport: Transport = Transport.PLAY
    seed: int = 1
    think_s: float = THINK_S
    currency: str = "EUR"
    ask_antes: bool = False
    plain: bool = False
    chaos: Chaos = Chaos()
    channels: int = 8
    run_id: str = "0"
    first_table: int = 0

    def table_id(self, number: int) -> str:
        """Return the id of the n-th table of this share, from 0."""
        return f"load-{self.run_id}-{self.first_table + number}"

    @property
    def hand_pause_ms(self) -> int:
        """Pause between hands its tables are opened with."""
        return HUMAN_HAND_PAUSE_MS if self.rate.kind is RateKind.HUMAN else 0

    @property
    def interval_s(self) -> float:
        """How long one point of a timeline is: a second, longer in a long run, so that a report stays small."""
        return max(1.0, self.seconds / MOST_INTERVALS)

    def check(self) -> LoadPlan:
        """Return the plan. Raises ValueError that names each value that cannot be, and what would be right."""
        bounds = {
            "tables": (self.tables, 1, MOST_TABLES),
            "players": (self.players, 2, 8),
            "spectators": (self.spectators, 0, MOST_SPECTATORS),
            "seconds": (self.seconds, 1, 86_400),
            "ramp": (self.ramp_s, 0, 3600),
            "warm": (self.warm_s, 0, 3600),
            "think": (self.think_s, 0.001, 600),
            "channels": (self.channels, 1, 1000),
            "reconnect": (self.chaos.reconnect, 0, 1),
            "slow-readers": (self.chaos.slow_readers, 0, 10_000),
        }
        wrong = [f"{name} {value:g}: want {least:g} to {most:g}" for name, (value, least, most) in bounds.items()
                 if not least <= value <= most]  # fmt: skip
        if self.rate.kind is RateKind.FIXED and self.tables / self.rate.per_s > MOST_TURN_S:
            least = self.tables / MOST_TURN_S
            wrong.append(
                f"rate {self.rate} for {self.tables} tables: players would run out of time, "
                f"want {least:g}/s or more, or fewer tables"
            )
        if wrong:
            raise ValueError("; ".join(wrong))
        return self

    def shares(self, processes: int) -> list[LoadPlan]:
        """Return what each of some processes does: whole tables each, and their part of the rate."""
        if not 1 <= processes <= self.tables:
            raise ValueError(f"{processes} processes for {self.tables} tables: want 1 to {self.tables}")
        plans, first = [], 0
        for number in range(processes):
            tables = (number + 1) * self.tables // processes - first
            slow = (number + 1) * self.chaos.slow_readers // processes - number * self.chaos.slow_readers // processes
            plans.append(
                msgspec.structs.replace(
                    self,
                    tables=tables,
                    first_table=self.first_table + first,
                    rate=msgspec.structs.replace(self.rate, per_s=self.rate.per_s * tables / self.tables),
                    chaos=msgspec.structs.replace(self.chaos, slow_readers=slow),
                )
            )
            first += tables
        return plans
