"""What a player's request does, the same for a unary call and for a message on a Play stream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.message import Message

from stud.table.v1 import table_service_pb2 as pb
from stud_core.commands import (
    Act,
    AddChips,
    ChooseShow,
    Command,
    LeaveSeat,
    PostAnte,
    SetPreferences,
    SitIn,
    SitOut,
    TakeSeat,
)
from stud_core.events import Size, Verb
from stud_core.state import Sit
from stud_service.checks import require_request_id
from stud_service.refusals import Refused
from stud_wire.commits import digest
from table_service.actor import TableActor
from table_service.ahead import Price
from table_service.mail import Outcome
from table_service.views import sitting_of

SEAT_ANSWER_S = 5.0
"""TakeSeat waits so long for the wallet, then answers PENDING (architecture 5)."""

MakeCommand = Callable[[TableActor, str, Any], Command]


def content_of(request: Message) -> bytes:
    """Digest of a request's kind and content, for REQUEST_ID_REUSED."""
    return digest((request.DESCRIPTOR.full_name.encode(), request.SerializeToString(deterministic=True)))


async def perform(actor: TableActor, account: str, name: str, request: Any) -> Outcome:
    """Do what a player asks; ``name`` is the PlayRequest's field. Raises Refused."""
    if name in CHOICES:
        return CHOICES[name](actor, account, request)
    return await submit(actor, account, request, COMMANDS[name](actor, account, request))


async def submit(actor: TableActor, account: str, request: Any, command: Command) -> Outcome:
    """Submit a command under the caller's name and request id."""
    request_id = require_request_id(request.request_id)
    if actor.ahead.waits_under(account, request_id):
        raise Refused("REQUEST_ID_REUSED", f"request_id {request_id!r} is that of the choice ahead: send a new id")
    return await actor.submit(command, actor=account, request_id=request_id, digest=content_of(request))


def _verb(request: pb.ActRequest | pb.SetPreActionRequest) -> Verb:
    try:
        return Verb(request.verb)
    except ValueError:
        wanted = ", ".join(verb.name for verb in Verb)
        raise Refused("INVALID_FIELD", f"verb {request.verb} is unknown: want one of {wanted}", field="verb") from None


def _size(request: pb.ActRequest | pb.SetPreActionRequest) -> Size | None:
    if not request.size:
        return None
    try:
        return Size(request.size)
    except ValueError:
        raise Refused("INVALID_FIELD", f"size {request.size} is unknown: want LOW or HIGH", field="size") from None


def act(_: TableActor, account: str, r: pb.ActRequest) -> Command:
    return Act(account, r.turn_id, _verb(r), r.to if r.HasField("to") else None, _size(r))


def post_ante(_: TableActor, account: str, r: pb.PostAnteRequest) -> Command:
    return PostAnte(account, r.prompt_id, not r.decline)


def choose_show(actor: TableActor, account: str, r: pb.ChooseShowRequest) -> Command:
    sitting = sitting_of(actor.table, account)
    cards = actor.vault.seat_cards(actor.table, sitting.seat) if sitting is not None and r.show else ()
    return ChooseShow(account, r.prompt_id, r.show, cards)


def sit_out(_: TableActor, account: str, __: pb.SitOutRequest) -> Command:
    return SitOut(account)


def sit_in(_: TableActor, account: str, __: pb.SitInRequest) -> Command:
    return SitIn(account)


def set_preferences(_: TableActor, account: str, r: pb.SetPreferencesRequest) -> Command:
    return SetPreferences(
        account,
        r.auto_post if r.HasField("auto_post") else None,
        r.muck_losing if r.HasField("muck_losing") else None,
    )


def add_chips(_: TableActor, account: str, r: pb.AddChipsRequest) -> Command:
    return AddChips(account, _amount(r.amount))


def leave_seat(_: TableActor, account: str, __: pb.LeaveSeatRequest) -> Command:
    return LeaveSeat(account)


def set_pre_action(actor: TableActor, account: str, r: pb.SetPreActionRequest) -> Outcome:
    """Choose ahead, or answer what came of the same choice; it is judged by the table as everybody sees it."""
    request_id, content = require_request_id(r.request_id), content_of(r)
    done = actor.requests.find(account, request_id, content)
    if done is not None:
        return Outcome(done.version, repeated=True)
    price = Price(r.hand_no, r.street, r.price)
    if actor.ahead.set(actor.table, account, price, _verb(r), _size(r), request_id, content):
        actor.choice_changed(account)
    return Outcome(actor.head.version)


def clear_pre_action(actor: TableActor, account: str, r: pb.ClearPreActionRequest) -> Outcome:
    if actor.ahead.clear(actor.table, account, r.hand_no, require_request_id(r.request_id), content_of(r)):
        actor.choice_changed(account)
    return Outcome(actor.head.version)


CHOICES: Mapping[str, Callable[[TableActor, str, Any], Outcome]] = {
    "set_pre_action": set_pre_action,
    "clear_pre_action": clear_pre_action,
}
"""Name of the PlayRequest's field -> what keeps or drops a choice ahead; nothing of it is written."""

COMMANDS: Mapping[str, MakeCommand] = {
    "act": act,
    "post_ante": post_ante,
    "choose_show": choose_show,
    "sit_out": sit_out,
    "sit_in": sit_in,
    "set_preferences": set_preferences,
    "add_chips": add_chips,
    "leave_seat": leave_seat,
}
"""Name of the PlayRequest's field -> how its command is made."""


def _amount(amount: int) -> int:
    if amount < 1:
        raise Refused("INVALID_FIELD", f"amount {amount}: want 1 or more minor units", field="amount", min="1")
    return amount


async def take_seat(actor: TableActor, account: str, request: pb.TakeSeatRequest) -> pb.TakeSeatResponse:
    """Reserve a seat, wait for the wallet, answer SEATED, PENDING, or raise the wallet's refusal."""
    command = TakeSeat(
        account,
        request.seat or None,
        _amount(request.amount),
        request.auto_post if request.HasField("auto_post") else None,
        request.muck_losing if request.HasField("muck_losing") else None,
    )
    outcome = await submit(actor, account, request, command)
    try:
        async with asyncio.timeout(SEAT_ANSWER_S):
            return await _seated(actor, outcome)
    except TimeoutError:
        sitting = actor.table.sittings.get(outcome.number)
        return pb.TakeSeatResponse(
            outcome=pb.SEAT_OUTCOME_PENDING,
            sitting_no=outcome.number,
            seat=sitting.seat if sitting else 0,
            version=outcome.version,
        )


async def _seated(actor: TableActor, outcome: Outcome) -> pb.TakeSeatResponse:
    while True:
        changed = actor.settled
        sitting = actor.table.sittings.get(outcome.number)
        if sitting is None or sitting.status is not Sit.RESERVED:
            reason = actor.released.get(outcome.number)
            if reason is not None:
                raise Refused(
                    reason, "the wallet did not fund the seat" if sitting is None else "the seat was given up"
                )
            return pb.TakeSeatResponse(
                outcome=pb.SEAT_OUTCOME_SEATED,
                sitting_no=outcome.number,
                seat=sitting.seat if sitting else 0,
                version=outcome.version,
            )
        await changed.wait()
