"""What people see of a table: the public view, a viewer's private part, and a lobby row.

A view is complete: a front end draws the table from the last one alone. Nothing here can open a card;
private cards come in as an argument.
"""

from __future__ import annotations

from collections.abc import Sequence

from stud.common.v1 import ruleset_pb2, seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core import bet_ahead
from stud_core.bet_ahead import PreAction
from stud_core.gate import Wait, hand_gate
from stud_core.pots import build_pots
from stud_core.state import Hand, Phase, Sit, Sitting, Table
from stud_wire.codec import encoder, to_message
from table_service.last_hand import put_last_hand, to_card

_PHASES = {
    Phase.ANTES: pb.HAND_PHASE_ANTES,
    Phase.DEALING: pb.HAND_PHASE_DEALING,
    Phase.BETTING: pb.HAND_PHASE_BETTING,
    Phase.SHOW_PROMPTS: pb.HAND_PHASE_SHOW_PROMPTS,
}
_AT_A_SEAT = (Sit.RESERVED, Sit.SEATED, Sit.LEAVING)


def config_message(table: Table) -> ruleset_pb2.TableConfig:
    """Return the table's configuration for the wire."""
    message: ruleset_pb2.TableConfig = to_message(table.config) if table.config else ruleset_pb2.TableConfig()
    return message


def table_view(
    table: Table, config: ruleset_pb2.TableConfig | None = None, halted: str = "", held: str = ""
) -> pb.TableView:
    """Return the public view. ``config`` is the table's own where it has been made before. What its log does not say is
    why it stands still (``halted``), and why it starts no hand (``held``); empty when it does neither.
    """
    hand = table.hand
    view = pb.TableView(
        config=config or config_message(table),
        life=pb.TableLife.ValueType(int(table.life)),
        paused=halted or table.stands_for or held,
        waiting_for=_waits_for(table, halted, held),
        hand_no=table.hand_no if hand is None else hand.hand_no,
        button=table.button,
        commitment=table.commitment,
        verified_hand=table.verified_hand,
    )
    _put_seats(view, table)
    if hand is not None:
        _put_hand(view, hand)
    over = hand if hand is not None and hand.awarded else table.last_hand
    if over is not None:
        put_last_hand(view.last_hand, over)
    return view


def _waits_for(table: Table, halted: str, held: str) -> str:
    if halted:
        return Wait.PAUSED
    if table.hand is not None:
        return ""
    return hand_gate(table) or (Wait.PAUSED if held else "")


def _put_hand(view: pb.TableView, hand: Hand) -> None:
    view.phase = _PHASES[hand.phase]
    view.street = hand.street
    view.pot_total = sum(hand.paid) - hand.awarded
    if hand.community is not None:
        view.community = to_card(hand.community)
    if not hand.awarded:
        behind = [paid - bet for paid, bet in zip(hand.paid, hand.bet, strict=True)]
        for pot in build_pots(behind, hand.live):
            view.pots.add(amount=pot.amount, seats=pot.eligible)
    if hand.prompts:
        view.prompt_deadline_ms = hand.prompts[0].deadline_ms
    if hand.turn_seat:
        view.turn.turn_id = hand.turn_id
        view.turn.seat = hand.turn_seat
        view.turn.to_call = hand.to_call
        view.turn.deadline_ms = hand.deadline_ms


def _put_seats(view: pb.TableView, table: Table) -> None:
    hand = table.hand
    by_seat = {s.seat: s for s in table.sittings.values() if s.status in _AT_A_SEAT}
    seats = table.config.ruleset.seats if table.config else 0
    for seat in range(1, seats + 1):
        out = view.seats.add(seat=seat)
        sitting = by_seat.get(seat)
        if sitting is not None:
            out.account = sitting.account
            out.sitting_no = sitting.sitting_no
            out.status = pb.SeatStatus.ValueType(int(sitting.status))
            out.stack = sitting.stack
            out.pending = sitting.pending
            out.sitting_out = sitting.sitting_out
        if hand is not None and sitting is not None:
            _put_cards(out, hand, seat)


def _put_cards(out: pb.SeatView, hand: Hand, seat: int) -> None:
    for prompt in hand.prompts:
        if prompt.seat == seat:
            out.ante_prompted = prompt.kind is None
            out.show_prompted = prompt.kind is not None
    if seat not in hand.order:
        out.paid = hand.paid[seat]
        return
    out.dealt_in = True
    out.live = hand.live[seat]
    out.all_in = hand.all_in[seat]
    out.bet = hand.bet[seat]
    out.paid = hand.paid[seat]
    out.up.extend([to_card(c) for c in hand.up[seat]])
    out.down_count = len(hand.down[seat])
    out.shown.extend([to_card(c) for c in hand.shown[seat]])


def private_view(
    table: Table, sitting: Sitting, down: Sequence[int], chosen: PreAction | None = None, *, is_due: bool = False
) -> pb.PrivateView:
    """Return what only this sitting's player sees; ``down`` are their clear down cards, ``chosen`` their choice ahead.

    The choice ``is_due`` when their turn has come and is about to be taken by it: nothing is left for them to answer.
    """
    mine = pb.PrivateView(
        sitting_no=sitting.sitting_no,
        seat=sitting.seat,
        down=[to_card(c) for c in down],
        auto_post=sitting.auto_post,
        muck_losing=sitting.muck_losing,
    )
    if sitting.top_up_no:
        mine.last_top_up.CopyFrom(_last_top_up(sitting))
    hand = table.hand
    if hand is None:
        return mine
    if hand.turn_seat == sitting.seat and hand.live[sitting.seat] and not is_due:
        mine.turn_id = hand.turn_id
        for option in hand.options:
            encoder(type(option))(option, mine.options.add())
    if table.rules.ruleset.pre_actions:
        _put_ahead(mine, table, hand, sitting, chosen)
    for prompt in hand.prompts:
        if prompt.seat == sitting.seat:
            mine.prompts.add(
                prompt_id=prompt.prompt_id,
                kind=seat_pb2.PromptKind.ValueType(int(prompt.kind or 0)),
                amount=table.config.ante if prompt.kind is None and table.config else 0,
                deadline_ms=prompt.deadline_ms,
            )
    return mine


def _last_top_up(sitting: Sitting) -> pb.TopUpView:
    """How far the player's last request for more chips has come. What waits to be added is added all at once."""
    last = pb.TopUpView(
        top_up_no=sitting.top_up_no,
        amount=sitting.top_up_amount,
        reason=sitting.top_up_refused,
        balance=sitting.top_up_balance,
    )
    if sitting.top_up_open:
        last.state = pb.TOP_UP_STATE_REQUESTED
    elif sitting.top_up_refused:
        last.state = pb.TOP_UP_STATE_REFUSED
    else:
        last.state = pb.TOP_UP_STATE_PENDING if sitting.pending else pb.TOP_UP_STATE_ADDED
    return last


def _put_ahead(mine: pb.PrivateView, table: Table, hand: Hand, sitting: Sitting, chosen: PreAction | None) -> None:
    """The buttons of W28: what may be chosen, at which price, and what is."""
    for option in bet_ahead.choices(table, sitting.account):
        encoder(type(option))(option, mine.pre_options.add())
    mine.price = hand.level
    if chosen is not None:
        mine.pre_action.verb = seat_pb2.Verb.ValueType(int(chosen.verb))
        mine.pre_action.size = seat_pb2.Size.ValueType(int(chosen.size or 0))


def sitting_of(table: Table, account: str) -> Sitting | None:
    """Return the account's sitting that holds a seat, if any."""
    for sitting in table.sittings.values():
        if sitting.account == account and sitting.status in _AT_A_SEAT:
            return sitting
    return None


def summary(table: Table) -> pb.TableSummary:
    """Return the table's line in the lobby."""
    config = table.config
    if config is None:
        return pb.TableSummary()
    line = pb.TableSummary(
        table=config.table_id,
        name=config.name,
        currency=config.currency,
        ruleset=config.ruleset.name,
        small_bet=config.small_bet,
        big_bet=config.big_bet,
        ante=config.ante,
        min_buy_in=config.min_buy_in,
        seats=config.ruleset.seats,
        seated=sum(s.status in _AT_A_SEAT for s in table.sittings.values()),
        life=pb.TableLife.ValueType(int(table.life)),
        paused=table.stands_for,
        hand_no=table.hand_no,
        version=table.version,
    )
    if config.max_buy_in is not None:
        line.max_buy_in = config.max_buy_in
    return line
