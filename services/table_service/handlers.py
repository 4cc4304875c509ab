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
    JoinWaitingList,
    LeaveSeat,
    LeaveWaitingList,
    PostAnte,
    SetPreferences,
    SitIn,
    SitOut,
    TakeSeat,
    UseTimeChip,
)
from stud_core.events import Profile, Size, Verb
from stud_core.state import Sit
from stud_service.checks import require_request_id
from stud_service.refusals import Refused
from stud_wire.commits import digest
from table_service.actor import TableActor
from table_service.ahead import Price, Wish
from table_service.clocks import answers_open
from table_service.mail import Outcome
from table_service.views import sitting_of

SEAT_ANSWER_S = 5.0
"""How long TakeSeat waits for the wallet before it answers PENDING (architecture.md, "Buying in")."""

MakeCommand = Callable[[TableActor, str, Any], Command]


def content_of(request: Message) -> bytes:
    """Digest of a request's kind and content, for REQUEST_ID_REUSED."""
    return digest((request.DESCRIPTOR.full_name.encode(), request.SerializeToString(deterministic=True)))


async def perform(actor: TableActor, account: str, name: str, request: Any) -> Outcome:
    """Do what a player asks; ``name`` is the PlayRequest's field. Raises Refused.

    Only what answers the player's own open turn or prompt is never too much.
    """
    if name in CHOICES:
        if not actor.may_choose(account):
            _admit(actor, account, request)
        return CHOICES[name](actor, account, request)
    command = (COMMANDS.get(name) or BESIDE[name])(actor, account, request)
    if not answers_open(actor.table, command):
        _admit(actor, account, request)
    return await submit(actor, account, request, command)


def _admit(actor: TableActor, account: str, request: Any) -> None:
    """Count what answers no turn and no prompt; what was accepted before is found in memory, and not counted again.
    Raises Refused(RATE_LIMITED).
    """
    try:
        known = actor.requests.find(account, request.request_id, content_of(request)) is not None
    except Refused:
        known = True  # its id is another one's: that is quickly said
    if not known:
        actor.admit(account)


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


def use_time_chip(_: TableActor, account: str, r: pb.UseTimeChipRequest) -> Command:
    return UseTimeChip(account, r.turn_id)


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
    """Choose ahead; it is judged by the table as everybody sees it."""
    price = Price(r.hand_no, r.street, r.price)

    def choose(request_id: str, content: bytes) -> bool:
        return actor.ahead.set(actor.table, account, price, Wish(_verb(r), _size(r), r.any_price), request_id, content)

    return _once(actor, account, r, choose)


def clear_pre_action(actor: TableActor, account: str, r: pb.ClearPreActionRequest) -> Outcome:
    return _once(actor, account, r, lambda _id, _content: actor.ahead.clear(actor.table, account, r.hand_no))


def _once(
    actor: TableActor,
    account: str,
    request: pb.SetPreActionRequest | pb.ClearPreActionRequest,
    change: Callable[[str, bytes], bool],
) -> Outcome:
    """Make a change that is not written down; a repeated request changes nothing, and is told what came of it."""
    actor.check_decides()
    request_id, content = require_request_id(request.request_id), content_of(request)
    done = actor.requests.find(account, request_id, content)
    if done is not None:
        return Outcome(done.version, repeated=True)
    changed = change(request_id, content)
    actor.requests.note(account, request_id, content, actor.head.version)
    if changed:
        actor.choice_changed(account)
    return Outcome(actor.head.version)


CHOICES: Mapping[str, Callable[[TableActor, str, Any], Outcome]] = {
    "set_pre_action": set_pre_action,
    "clear_pre_action": clear_pre_action,
}
"""Name of the PlayRequest's field -> what keeps or drops a choice ahead; none of it is written."""

COMMANDS: Mapping[str, MakeCommand] = {
    "act": act,
    "use_time_chip": use_time_chip,
    "post_ante": post_ante,
    "choose_show": choose_show,
    "sit_out": sit_out,
    "sit_in": sit_in,
    "set_preferences": set_preferences,
    "add_chips": add_chips,
    "leave_seat": leave_seat,
}
"""Name of the PlayRequest's field -> how its command is made."""


def join_waiting_list(_: TableActor, account: str, r: pb.JoinWaitingListRequest) -> Command:
    return JoinWaitingList(account, _amount(r.amount))


def leave_waiting_list(_: TableActor, account: str, __: pb.LeaveWaitingListRequest) -> Command:
    return LeaveWaitingList(account)


BESIDE: Mapping[str, MakeCommand] = {
    "join_waiting_list": join_waiting_list,
    "leave_waiting_list": leave_waiting_list,
}
"""What is asked for by a call alone: nobody plays who waits for a seat."""

ABOUT_MONEY = frozenset({"add_chips", "leave_seat"})
"""What is remembered for good, as TakeSeat is: at a closed table too."""


def _amount(amount: int) -> int:
    if amount < 1:
        raise Refused("INVALID_FIELD", f"amount {amount}: want 1 or more minor units", field="amount", min="1")
    return amount


async def take_seat(
    actor: TableActor, account: str, request: pb.TakeSeatRequest, profile: Profile
) -> pb.TakeSeatResponse:
    """Reserve a seat, wait for the wallet, answer SEATED, PENDING, or raise why it came to nothing.

    A repeated call is answered for its first sitting: LEFT when that is over, even if it ended without a player, unless
    the wallet declined it: that counts as refused, so a call after it is not a repeated one.
    """
    _admit(actor, account, request)
    command = TakeSeat(
        account,
        request.seat or None,
        _amount(request.amount),
        request.auto_post if request.HasField("auto_post") else None,
        request.muck_losing if request.HasField("muck_losing") else None,
        profile,
    )
    outcome = await submit(actor, account, request, command)
    try:
        async with asyncio.timeout(SEAT_ANSWER_S):
            return _answer(actor, outcome, await _settled(actor, outcome.number))
    except TimeoutError:
        return _answer(actor, outcome, pb.SEAT_OUTCOME_PENDING)


async def _settled(actor: TableActor, sitting_no: int) -> pb.SeatOutcome.ValueType:
    """Wait until a reservation has come to an end, and say what has become of the sitting."""
    while True:
        changed = actor.settled
        sitting = actor.table.sittings.get(sitting_no)
        if sitting is None or sitting.status in {Sit.CASHING_OUT, Sit.HELD}:
            return pb.SEAT_OUTCOME_LEFT
        if sitting.status is not Sit.RESERVED:
            return pb.SEAT_OUTCOME_SEATED
        await changed.wait()


def _answer(actor: TableActor, outcome: Outcome, came_to: pb.SeatOutcome.ValueType) -> pb.TakeSeatResponse:
    released = actor.requests.released.get(outcome.number)
    if released is not None and (released.declined or not outcome.repeated):
        text = "the wallet did not fund the seat" if released.declined else "the seat was given up"
        balance = {} if released.balance is None else {"balance": str(released.balance)}
        raise Refused(released.reason, text, **balance)
    sitting = actor.table.sittings.get(outcome.number)
    seat = sitting.seat if sitting is not None and came_to != pb.SEAT_OUTCOME_LEFT else 0
    return pb.TakeSeatResponse(outcome=came_to, sitting_no=outcome.number, seat=seat, version=outcome.version)
