"""What tables count for operators, at each commit and each answer. On the hot path: numbers, and nothing kept."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from stud_core.commands import Act
from stud_core.events import ActionTaken, Event, HandEnded, HandVoided, TableHandVerified, Verb
from stud_service.meters import Meters
from stud_service.metrics import ACT_SECONDS, ACTIONS, FAN_OUT, HANDS_ENDED, VERDICT_SECONDS
from table_service.mail import Mail

VERBS = ("", *Verb.__members__)
"""By number: a member takes its time to say its name."""


class TableMeters:
    """Of one table; all tables of a process count together."""

    __slots__ = ("_act_s", "_actions", "_fan_out", "_hands", "_verdict_s")

    def __init__(self, meters: Meters) -> None:
        self._actions = meters.counter(ACTIONS)
        self._act_s = meters.histogram(ACT_SECONDS)
        self._fan_out = meters.histogram(FAN_OUT)
        self._hands = meters.counter(HANDS_ENDED)
        self._verdict_s = meters.histogram(VERDICT_SECONDS)

    def answered(self, mail: Mail) -> None:
        """A command was accepted and is durable. A choice ahead waited for its turn, not for us."""
        if mail.actor and isinstance(mail.command, Act) and not mail.ahead:
            self._act_s.observe(perf_counter() - mail.asked_s)

    def committed(self, events: Sequence[Event], viewers: int, since_end_ms: int) -> None:
        """A commit is durable. `since_end_ms`: from the end of the last hand to this commit."""
        self._fan_out.observe(viewers)
        for event in events:
            if isinstance(event, ActionTaken):
                self._actions[VERBS[event.verb]] += 1
            elif isinstance(event, TableHandVerified):
                self._verdict_s.observe(max(0, since_end_ms) / 1000)
            elif isinstance(event, HandEnded | HandVoided):
                self._hands[""] += 1
