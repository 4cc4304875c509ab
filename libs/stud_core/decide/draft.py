"""A commit in the making: each event is folded as soon as it is emitted, so that what follows sees its effect."""

from __future__ import annotations

from stud_core.commands import Context
from stud_core.events import Event
from stud_core.evolve import APPLY, thaw
from stud_core.rejection import Rejection
from stud_core.state import Table


class Draft:
    """Events so far and the state after them. The state given is copied, never changed."""

    __slots__ = ("ctx", "events", "state")

    def __init__(self, state: Table, ctx: Context) -> None:
        self.ctx = ctx
        self.state = thaw(state, ctx.version)
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        self.events.append(event)
        APPLY[type(event)](self.state, event)

    def deadline(self, clock_ms: int) -> int:
        """When a clock started now runs out; 0 = never, for a clock of 0."""
        return self.ctx.now_ms + clock_ms if clock_ms else 0


Answer = Draft | list[Event] | Rejection
"""What deciding a command leads to: a commit in the making, events not folded yet, or a refusal."""
