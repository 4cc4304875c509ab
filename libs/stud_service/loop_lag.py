"""How late the event loop is: whatever holds it up holds up every table, so it is measured from the outside."""

from __future__ import annotations

import asyncio

from stud_service.limits import now_s
from stud_service.meters import Meters
from stud_service.metrics import LOOP_LAG

EVERY_S = 0.5
"""Seldom enough to cost an idle process nothing: a twentieth of a millisecond each time."""


async def watch_lag(meters: Meters) -> None:
    """Never returns."""
    lag = meters.histogram(LOOP_LAG)
    while True:
        due = now_s() + EVERY_S
        await asyncio.sleep(EVERY_S)
        lag.observe(max(0.0, now_s() - due))
