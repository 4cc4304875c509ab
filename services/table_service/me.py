"""What a player is told of one of their sittings wherever they are looking: enough to come to the table in time.

No card is an argument here, and none can be opened: cards are at the table alone.
"""

from __future__ import annotations

import msgspec

from stud.table.v1 import table_service_pb2 as pb
from stud_core.state import Prompt, Sit, Sitting, Table
from table_service.private_views import TopUp, last_top_up, prompt_view, put_top_up
from table_service.views import AT_A_SEAT


class Facts(msgspec.Struct, frozen=True):
    """All that a ``MySitting`` is made of but the version: where it is as before, there is nothing to tell."""

    sitting_no: int
    seat: int
    status: Sit
    stack: int
    pending: int
    sitting_out: bool
    top_up: TopUp | None
    cash_out: int | None
    reserved_until_ms: int
    paused: str
    hand_no: int = 0
    turn_id: int = 0
    to_call: int = 0
    deadline_ms: int = 0
    prompts: tuple[Prompt, ...] = ()


def facts_of(table: Table, sitting: Sitting, paused: str, *, is_due: bool) -> Facts:
    """Return what there is to tell; no turn where a choice ahead ``is_due``, for it is about to take it."""
    hand, seat = table.hand, sitting.seat
    leaves = sitting.status in {Sit.CASHING_OUT, Sit.HELD}
    fixed = (
        sitting.sitting_no,
        seat,
        sitting.status,
        0 if leaves else sitting.stack,
        0 if leaves else sitting.pending,
        sitting.sitting_out,
        last_top_up(sitting),
        sitting.claim if leaves else None,
        sitting.expires_at_ms if sitting.status is Sit.RESERVED else 0,
        paused,
    )
    if hand is None or sitting.status not in AT_A_SEAT:
        return Facts(*fixed)
    asked = hand.turn_seat == seat and hand.live[seat] and not is_due
    return Facts(
        *fixed,
        hand_no=hand.hand_no if hand.live[seat] else 0,
        turn_id=hand.turn_id if asked else 0,
        to_call=hand.to_call if asked else 0,
        deadline_ms=hand.deadline_ms if asked else 0,
        prompts=tuple([prompt for prompt in hand.prompts if prompt.seat == seat]) if hand.prompts else (),
    )


def my_sitting(table: Table, facts: Facts) -> pb.MySitting:
    """Return it for the wire."""
    config = table.rules
    told = pb.MySitting(
        table=config.table_id,
        sitting_no=facts.sitting_no,
        seat=facts.seat,
        status=pb.SeatStatus.ValueType(int(facts.status)),
        table_name=config.name,
        currency=config.currency,
        stack=facts.stack,
        pending=facts.pending,
        sitting_out=facts.sitting_out,
        hand_no=facts.hand_no,
        prompts=[prompt_view(prompt, config.ante) for prompt in facts.prompts],
        cash_out=facts.cash_out,
        reserved_until_ms=facts.reserved_until_ms,
        paused=facts.paused,
        version=table.version,
    )
    if facts.top_up is not None:
        put_top_up(told.last_top_up, facts.top_up)
    if facts.turn_id:
        turn = told.turn
        turn.table, turn.turn_id = config.table_id, facts.turn_id
        turn.to_call, turn.deadline_ms = facts.to_call, facts.deadline_ms
    return told
