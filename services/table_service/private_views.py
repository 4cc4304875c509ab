"""What only one player sees of a table: their down cards, what they may do, what they have asked for.

Nothing here can open a card; the player's own come in as an argument.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core import bet_ahead
from stud_core.bet_ahead import PreAction
from stud_core.events import Option
from stud_core.hand_words import hand_in_words
from stud_core.state import Prompt, Sitting, Table, Waiter
from stud_wire.codec import encoder
from table_service.last_hand import common, to_card


class TopUp(msgspec.Struct, frozen=True):
    """How far the player's last request for more chips has come. What waits to be added is added all at once."""

    number: int
    amount: int
    refused: str
    balance: int | None
    state: pb.TopUpState.ValueType


class Own(msgspec.Struct, frozen=True):
    """All that a private view is made of: where it is as before, so is the view."""

    sitting_no: int
    seat: int
    down: tuple[int, ...]
    auto_post: bool
    muck_losing: bool
    top_up: TopUp | None
    turn_id: int = 0
    options: tuple[Option, ...] = ()
    pre_options: tuple[Option, ...] = ()
    price: int | None = None
    chosen: PreAction | None = None
    prompts: tuple[Prompt, ...] = ()
    ante: int = 0
    cards: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return "<Own>"  # there are down cards in it


def own(
    table: Table, sitting: Sitting, down: Sequence[int], chosen: PreAction | None = None, *, is_due: bool = False
) -> Own:
    """Return what this sitting's player sees; ``down`` are their clear down cards, ``chosen`` their choice ahead.

    The choice ``is_due`` when their turn has come and is about to be taken by it: nothing is left for them to answer.
    """
    hand, seat = table.hand, sitting.seat
    fixed = (sitting.sitting_no, seat, tuple(down), sitting.auto_post, sitting.muck_losing, last_top_up(sitting))
    if hand is None:
        return Own(*fixed)
    asked = hand.turn_seat == seat and hand.live[seat] and not is_due
    ahead = table.rules.ruleset.pre_actions
    return Own(
        *fixed,
        turn_id=hand.turn_id if asked else 0,
        options=hand.options if asked else (),
        pre_options=bet_ahead.choices(table, sitting.account) if ahead else (),
        price=hand.level if ahead else None,
        chosen=chosen if ahead else None,
        prompts=tuple([prompt for prompt in hand.prompts if prompt.seat == seat]) if hand.prompts else (),
        ante=table.rules.ante,
        cards=(*down, *hand.up[seat], *common(hand)) if down else (),
    )


def private_view(mine: Own) -> pb.PrivateView:
    """Return it for the wire."""
    view = pb.PrivateView(
        sitting_no=mine.sitting_no,
        seat=mine.seat,
        down=[to_card(c) for c in mine.down],
        auto_post=mine.auto_post,
        muck_losing=mine.muck_losing,
        turn_id=mine.turn_id,
        price=mine.price or 0,
        hand_in_words=hand_in_words(mine.cards),
    )
    if mine.top_up is not None:
        put_top_up(view.last_top_up, mine.top_up)
    for option in mine.options:
        encoder(Option)(option, view.options.add())
    for option in mine.pre_options:
        encoder(Option)(option, view.pre_options.add())
    if mine.chosen is not None:
        view.pre_action.verb = seat_pb2.Verb.ValueType(int(mine.chosen.verb))
        view.pre_action.size = seat_pb2.Size.ValueType(int(mine.chosen.size or 0))
        view.pre_action.any_price = mine.chosen.any_price
    view.prompts.extend([prompt_view(prompt, mine.ante) for prompt in mine.prompts])
    return view


def prompt_view(prompt: Prompt, ante: int) -> pb.PromptView:
    """Return an open question; one for an ante says how much that is."""
    return pb.PromptView(
        prompt_id=prompt.prompt_id,
        kind=seat_pb2.PromptKind.ValueType(int(prompt.kind or 0)),
        amount=ante if prompt.kind is None else 0,
        deadline_ms=prompt.deadline_ms,
    )


def waiting_view(table: Table, account: str) -> pb.PrivateView | None:
    """Return what somebody on the waiting list sees, None where the account is not on it."""
    place = waiting_place(table, account)
    return None if place is None else pb.PrivateView(waiting=place_view(*place))


def waiting_place(table: Table, account: str) -> tuple[int, Waiter] | None:
    """Return an account's position on the waiting list, from 1, and what is kept for it; None = it is not on it."""
    return next((found for found in enumerate(table.waiting, 1) if found[1].account == account), None)


def place_view(position: int, waiter: Waiter) -> pb.WaitingView:
    """Return it for the wire."""
    return pb.WaitingView(position=position, amount=waiter.amount, seat=waiter.seat, expires_at_ms=waiter.expires_at_ms)


def last_top_up(sitting: Sitting) -> TopUp | None:
    """Return how far the sitting's last request for more chips has come; None = there was none."""
    if not sitting.top_up_no:
        return None
    if sitting.top_up_open:
        state = pb.TOP_UP_STATE_REQUESTED
    elif sitting.top_up_refused:
        state = pb.TOP_UP_STATE_REFUSED
    else:
        state = pb.TOP_UP_STATE_PENDING if sitting.pending else pb.TOP_UP_STATE_ADDED
    return TopUp(sitting.top_up_no, sitting.top_up_amount, sitting.top_up_refused, sitting.top_up_balance, state)


def put_top_up(out: pb.TopUpView, top_up: TopUp) -> None:
    """Fill in a request for more chips."""
    out.top_up_no = top_up.number
    out.amount = top_up.amount
    out.reason = top_up.refused
    out.state = top_up.state
    if top_up.balance is not None:
        out.balance = top_up.balance
