"""What a player may sit down with and add, minor units, by the table's own rules."""

from __future__ import annotations

import re
from typing import Final

from stud.common.v1 import ruleset_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_load.choices import buy_in

_AMOUNT: Final = re.compile(r"([0-9]{1,13})(?:\.([0-9]{1,2}))?")


def suggested(view: pb.TableView, seat: pb.SeatView | None) -> int:
    """Return what to buy in with, or to fill up to it; at least the lower limit where nothing is missing."""
    usual = buy_in(view)
    if seat is None:
        return usual
    room = room_for(view, seat)
    missing = max(usual - seat.stack - seat.pending, view.config.small_bet)
    return missing if room is None else min(missing, room)


def room_for(view: pb.TableView, seat: pb.SeatView) -> int | None:
    """Return how much more the seat may hold; None = there is no limit."""
    rules = view.config.ruleset
    if not rules.HasField("max_buy_in"):
        return None
    return max(0, resolved(rules.max_buy_in, view.config.small_bet) - seat.stack - seat.pending)


def resolved(limit: ruleset_pb2.BuyInLimit, small_bet: int) -> int:
    """Return a limit in minor units."""
    return int(limit.amount or limit.small_bets * small_bet)


def read(text: str) -> int:
    """Return an amount as the screen shows it: ``50`` and ``50.00`` are the same. Raises ValueError."""
    found = _AMOUNT.fullmatch(text.strip().replace(",", ""))
    if found is None:
        raise ValueError(f"{text!r} is no amount: want one such as 50 or 12.50")
    return int(found[1]) * 100 + int((found[2] or "").ljust(2, "0"))
