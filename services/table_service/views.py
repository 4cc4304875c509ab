"""What everybody sees of a table: the public view, and a lobby row.

A view is complete: a front end draws the table from the last one alone. Nothing here can open a card.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from stud.common.v1 import ruleset_pb2, seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core.events import ActionTaken, By
from stud_core.gate import Wait, hand_gate
from stud_core.pots import build_pots
from stud_core.ruleset import TableConfig
from stud_core.state import Hand, Phase, Sit, Sitting, Table
from stud_wire.codec import to_message
from table_service.last_hand import put_last_hand, put_profile, to_card, words_of_shown

_PHASES = {
    Phase.ANTES: pb.HAND_PHASE_ANTES,
    Phase.DEALING: pb.HAND_PHASE_DEALING,
    Phase.BETTING: pb.HAND_PHASE_BETTING,
    Phase.SHOW_PROMPTS: pb.HAND_PHASE_SHOW_PROMPTS,
}
AT_A_SEAT = (Sit.RESERVED, Sit.SEATED, Sit.LEAVING)

_FREE, _BETWEEN_HANDS, _NOT_DEALT_IN = 2, 12, 15
"""How much is seen of a seat that nobody has, or whose player is in no hand, or was not dealt in."""


def config_message(table: Table) -> ruleset_pb2.TableConfig:
    """Return the table's configuration for the wire."""
    message: ruleset_pb2.TableConfig = to_message(table.config) if table.config else ruleset_pb2.TableConfig()
    return message


def table_view(table: Table, halted: str = "", held: str = "") -> pb.TableView:
    """Return the public view as a message; see ``PublicView``."""
    return pb.TableView.FromString(PublicView().draw(table, halted, held))


class PublicView:
    """The public view of one table, serialised. What has not changed since it was drawn last is not made again: an
    action changes one seat or two, and never what the table was opened with.

    The parts stand in the order of their field numbers, each field once, as if the whole had been serialised.
    """

    def __init__(self) -> None:
        self._config: tuple[TableConfig | None, bytes] = (None, b"")
        self._seats: dict[int, tuple[tuple[Any, ...], bytes]] = {}
        self._last_hand: tuple[Hand | None, bytes] = (None, b"")

    def draw(self, table: Table, halted: str = "", held: str = "", here: Container[str] | None = None) -> bytes:
        """Return a ``TableView``. What a table's log does not say is why it stands still (``halted``), and why it
        starts no hand (``held``), empty when it does neither; and who is
        connected (``here``, None where that is not shown).
        """
        hand = table.hand
        head = pb.TableView(
            life=pb.TableLife.ValueType(int(table.life)),
            paused=halted or table.stands_for or held,
            waiting_for=_waits_for(table, halted, held),
            hand_no=table.hand_no if hand is None else hand.hand_no,
            button=table.button,
        )
        tail = pb.TableView(commitment=table.commitment, verified_hand=table.verified_hand)
        if hand is not None:
            head.phase = _PHASES[hand.phase]
            head.street = hand.street
            _put_hand(tail, hand)
        parts = [self._config_part(table), head.SerializeToString(), *self._seat_parts(table, here)]
        waiting = pb.TableView(waiting=len(table.waiting)).SerializeToString()
        return b"".join([*parts, tail.SerializeToString(), self._last_hand_part(table), waiting])

    def _config_part(self, table: Table) -> bytes:
        if table.config is None or self._config[0] is not table.config:
            message = config_message(table)
            self._config = (table.config, pb.TableView(config=message).SerializeToString())
        return self._config[1]

    def _seat_parts(self, table: Table, here: Container[str] | None) -> list[bytes]:
        hand = table.hand
        by_seat = {s.seat: s for s in table.sittings.values() if s.status in AT_A_SEAT}
        seats = table.config.ruleset.seats if table.config else 0
        parts = []
        for seat in range(1, seats + 1):
            sitting = by_seat.get(seat)
            shown = _free(table, seat) if sitting is None else (*_of_sitting(sitting, here), *_of_hand(hand, seat))
            found = self._seats.get(seat)
            if found is None or found[0] != shown:
                found = self._seats[seat] = (shown, _seat_part(shown))
            parts.append(found[1])
        return parts

    def _last_hand_part(self, table: Table) -> bytes:
        hand = table.hand
        if hand is not None and hand.awarded:
            return _last_hand(hand)  # it goes on: players are asked whether they show
        if self._last_hand[0] is not table.last_hand:
            over = table.last_hand
            self._last_hand = (over, b"" if over is None else _last_hand(over))
        return self._last_hand[1]


def _last_hand(over: Hand) -> bytes:
    view = pb.TableView()
    put_last_hand(view.last_hand, over)
    return view.SerializeToString()


def _waits_for(table: Table, halted: str, held: str) -> str:
    if halted:
        return Wait.PAUSED
    if table.hand is not None:
        return ""
    return hand_gate(table) or (Wait.PAUSED if held else "")


def _put_hand(view: pb.TableView, hand: Hand) -> None:
    """The fields of a running hand that come behind the seats."""
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


def _free(table: Table, seat: int) -> tuple[Any, ...]:
    """What is seen of a free seat: until when it is kept for somebody from the waiting list."""
    return (seat, next((waiter.expires_at_ms for waiter in table.waiting if waiter.seat == seat), 0))


def _of_sitting(sitting: Sitting, here: Container[str] | None) -> tuple[Any, ...]:
    """What is seen of a seat between hands: fields 1 to 6, 17, and 20 to 26 of ``SeatView``."""
    connection = pb.CONNECTION_UNSPECIFIED
    if here is not None:
        connection = pb.CONNECTION_CONNECTED if sitting.account in here else pb.CONNECTION_AWAY
    return (
        sitting.seat,
        sitting.account,
        int(sitting.status),
        sitting.stack,
        sitting.pending,
        sitting.sitting_out,
        sitting.sitting_no,
        sitting.out_until_ms,
        sitting.hands_missed,
        sitting.time_chips,
        connection,
        sitting.profile,
    )


def _of_hand(hand: Hand | None, seat: int) -> tuple[Any, ...]:
    """What is seen of a seat in a hand: whether it is asked for its ante or to show, what it paid, and, where it was
    dealt in, the rest.
    """
    if hand is None:
        return ()
    ante = show = False
    for prompt in hand.prompts:
        if prompt.seat == seat:
            ante, show = prompt.kind is None, prompt.kind is not None
    paid = hand.paid[seat]
    if seat not in hand.order:
        return (ante, show, paid)
    bare = (hand.live[seat], hand.all_in[seat], hand.bet[seat])
    cards = (hand.up[seat], len(hand.down[seat]), hand.shown[seat])
    return (ante, show, paid, *bare, *cards, words_of_shown(hand, seat), hand.taken[seat])


def _seat_part(shown: tuple[Any, ...]) -> bytes:
    """Return a seat's part of a ``TableView``, from what ``_of_sitting`` and ``_of_hand`` say of it."""
    view = pb.TableView()
    out = view.seats.add(seat=shown[0])
    if len(shown) == _FREE:
        out.offered_until_ms = shown[1]
    else:
        out.account, out.status, out.stack, out.pending, out.sitting_out, out.sitting_no = shown[1:7]
        out.leaves_at_ms, out.hands_missed, out.time_chips, out.connection = shown[7:11]
        put_profile(out, shown[11])
    if len(shown) > _BETWEEN_HANDS:
        out.ante_prompted, out.show_prompted, out.paid = shown[12:15]
    if len(shown) > _NOT_DEALT_IN:
        out.dealt_in = True
        out.live, out.all_in, out.bet, up, out.down_count, face_up, out.hand_in_words, taken = shown[15:]
        out.up.extend([to_card(c) for c in up])
        out.shown.extend([to_card(c) for c in face_up])
        if taken is not None:
            _put_action(out.last_action, *taken)
    return view.SerializeToString()


def _put_action(out: pb.SeatAction, street: int, event: ActionTaken) -> None:
    """Say what somebody did; that it was chosen ahead is nobody's business."""
    by = By.PLAYER if event.by is By.PRE_ACTION else event.by
    out.street = street
    out.verb = seat_pb2.Verb.ValueType(int(event.verb))
    out.amount, out.to, out.all_in = event.amount, event.to, event.all_in
    out.size = seat_pb2.Size.ValueType(int(event.size or 0))
    out.by = seat_pb2.ActionOrigin.ValueType(int(by))


def sitting_of(table: Table, account: str) -> Sitting | None:
    """Return the account's sitting that holds a seat, if any."""
    for sitting in table.sittings.values():
        if sitting.account == account and sitting.status in AT_A_SEAT:
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
        seated=sum(s.status in AT_A_SEAT for s in table.sittings.values()),
        life=pb.TableLife.ValueType(int(table.life)),
        paused=table.stands_for,
        hand_no=table.hand_no,
        waiting=len(table.waiting),
        version=table.version,
        playing=sum(s.status is Sit.SEATED and not s.sitting_out for s in table.sittings.values()),
        suggested_buy_in=suggested_buy_in(config),
    )
    if config.max_buy_in is not None:
        line.max_buy_in = config.max_buy_in
    return line


def suggested_buy_in(config: TableConfig) -> int:
    """Return what a buy-in form may begin with, minor units."""
    twice = 2 * config.min_buy_in
    return twice if config.max_buy_in is None else min(twice, config.max_buy_in)
