"""Bots' pace and names, how an evening is told, why a system of one's own is no more."""

from __future__ import annotations

import asyncio
import random

import pytest

from stud.table.v1 import table_service_pb2 as pb
from stud_cli.play.command import _why
from stud_cli.play.company import LEAST, MOST, QUICKER, QUICKEST, Company, Pace
from stud_cli.play.outcome import Outcome
from stud_cli.play.seen import Seen


def seen_from(status: pb.SeatStatus.ValueType, *, live: bool) -> Seen:
    update = pb.TableUpdate()
    update.mine.sitting_no, update.mine.seat = 1, 1
    update.view.seats.add(seat=1, account="hero", status=status, live=live)
    seen = Seen()
    seen.take(update, 0.0)
    return seen


@pytest.mark.parametrize(
    ("seen", "share"),
    [
        (seen_from(pb.SEAT_STATUS_SEATED, live=True), 1.0),
        (seen_from(pb.SEAT_STATUS_SEATED, live=False), QUICKER),
        (seen_from(pb.SEAT_STATUS_LEAVING, live=True), QUICKEST),
        (Seen(), QUICKEST),
    ],
)
def test_bots_think_as_people_do_and_hurry_while_nobody_watches(seen: Seen, share: float):
    pace = Pace(2.0, random.Random(1))
    pace.watch(seen)
    times = [pace() for _ in range(2_000)]
    assert min(times) >= 2.0 * share * LEAST
    assert max(times) == 2.0 * share * MOST
    assert len(set(times)) > 1_000
    pace.hurry()
    assert pace() == 0.0


def test_nobody_is_called_as_the_player_is():
    alone = Company(None, "play", Pace(0.0, random.Random(1)), seed=1, alone=True)  # type: ignore[arg-type]
    assert alone.names(3, "bea") == ["ada", "cleo", "dora"]
    assert len(alone.names(7, "hal")) == 7
    others = Company(None, "t-1", Pace(0.0, random.Random(1)), seed=1, alone=False)  # type: ignore[arg-type]
    assert others.names(2, "hero") == ["ada-t-1", "bea-t-1"]


def outcome(**changes: object) -> Outcome:
    usual: dict[str, object] = {"table": "play", "account": "hero", "currency": "XTS", "hands": 1, "net": 350}
    usual |= {"made_up": 0, "paid": 10_350, "seated": False, "ended": ""}
    return Outcome(**{**usual, **changes})  # type: ignore[arg-type]


def test_how_an_evening_ended():
    assert outcome().lines() == ["hero saw 1 hand at play: +3.50 play money", "paid out 103.50 play money"]
    lost = outcome(net=-5, hands=2, currency="EUR", paid=None, seated=True, ended="the table is closed: q quits")
    assert lost.lines() == [
        "hero saw 2 hands at play: -0.05 EUR",
        "the seat is kept, or is being paid out",
        "the table is closed: q quits",
    ]


async def test_why_a_system_is_no_more():
    async def fails() -> None:
        raise RuntimeError("the log's server died 5 times within a minute")

    async def stops() -> None:
        return

    failed, stopped = asyncio.create_task(fails()), asyncio.create_task(stops())
    await asyncio.wait({failed, stopped})
    assert _why(failed) == "the log's server died 5 times within a minute: q quits"
    assert _why(stopped) == "the system was stopped: q quits"
