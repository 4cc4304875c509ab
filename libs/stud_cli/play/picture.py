"""Draws a table for one viewer, line by line, as wide as it may be: title, seats, middle, clock. Pure: what is drawn
comes from `Seen`, which holds what was sent and nothing else. Nothing is said by colour alone, and but for suits and
names everything is ASCII.
"""

from __future__ import annotations

from typing import Final

from rich.cells import set_cell_size
from rich.text import Text

from stud.common.v1 import ruleset_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_cli.drawing import STREETS, card_text, cards_text, money
from stud_cli.play.happened import BY, taken
from stud_cli.play.seen import Seen, name_of
from stud_cli.play.waiting import clocks_stand, waits_for
from stud_core.amounts import TEST_CURRENCY
from stud_core.house_rules import saying

NAME: Final = 12
CARDS: Final = 24
"""``[A♥ K♥] 2♣ 3♣ 4♣ 5♣ [6♣]``."""

STACK: Final = 8
BET: Final = 6
"""Least widths; an amount is never cut, wider ones take their room from what players did."""

CUT: Final = ".."
BAR: Final = 20
BUTTON: Final = "D"
TURN: Final = ">"
YOU: Final = "*"


def stakes(config: ruleset_pb2.TableConfig) -> str:
    """Return the limits and the currency, as people say them."""
    currency = "play money" if config.currency == TEST_CURRENCY else config.currency
    return f"{saying.money(config.small_bet)}/{saying.money(config.big_bet)} {currency}"


def title(seen: Seen, width: int) -> Text:
    """Return the table's name, rules, stakes and hand."""
    view = seen.view
    parts = [view.config.name or view.config.table_id, view.config.ruleset.name, stakes(view.config)]
    if view.hand_no:
        parts.append(f"hand {view.hand_no}")
    return fit(Text(" " + " | ".join(parts)), width, style="reverse bold")


def seats(seen: Seen, width: int) -> list[Text]:
    """Return a heading and a line for each seat: marks (D dealer button, > turn, * you), who, chips, cards, what they
    did last.
    """
    view = seen.view
    shown = [_shown(seat, seen) for seat in view.seats]
    stack = max([STACK, *(len(money(seat.stack)) for seat in view.seats)])
    bet = max([BET, *(len(money(seat.bet)) for seat in shown)])
    heading = f"   seat {'player':<{NAME}} {'stack':>{stack}} {'bet':>{bet}}  {'cards':<{CARDS}} last"
    out = [fit(Text(heading), width, style="dim")]
    return out + [_seat(seat, seen, (stack, bet), width) for seat in shown]


def _seat(seat: pb.SeatView, seen: Seen, widths: tuple[int, int], width: int) -> Text:
    view = seen.view
    on_turn = view.HasField("turn") and view.turn.seat == seat.seat
    mine = seen.mine is not None and seen.mine.seat == seat.seat
    button = view.button if view.phase or not view.last_hand.hand_no else view.last_hand.button
    marks = (YOU if mine else " ") + (TURN if on_turn else " ") + (BUTTON if button == seat.seat else " ")
    if not seat.account:
        return Text(f"{marks}{seat.seat:>4} {'-':<{NAME}}", style="dim")
    stack, bet = widths
    line = Text(f"{marks}{seat.seat:>4} {set_cell_size(name_of(seat), NAME)} {money(seat.stack):>{stack}} ")
    line.append(f"{money(seat.bet) if seat.bet else '':>{bet}}  ")
    cards = cards_text(seat, seen.own_down() if mine else (), plain=seen.plain)
    line.append_text(cards).append(" " * max(0, CARDS - cards.cell_len))
    line.append(f" {_did(seat, seen)}")
    if on_turn:
        line.stylize("bold")
    return fit(line, width)


def _shown(seat: pb.SeatView, seen: Seen) -> pb.SeatView:
    """The seat with its cards; between hands with those of the last one, as long as that is shown."""
    last = _of_last_hand(seat, seen.view)
    if last is None:
        return seat
    out = pb.SeatView()
    out.CopyFrom(seat)
    out.up.extend(last.up)
    out.shown.extend(last.shown)
    out.down_count, out.dealt_in, out.live = last.down_count, True, last.live
    return out


def _of_last_hand(seat: pb.SeatView, view: pb.TableView) -> pb.LastHandSeat | None:
    """What the seat's player had in the hand that was paid last; None while another one runs."""
    if view.phase:
        return None
    return next((last for last in view.last_hand.seats if last.sitting_no == seat.sitting_no != 0), None)


def _did(seat: pb.SeatView, seen: Seen) -> str:
    """What is to be said of a player, most urgent first."""
    view = seen.view
    ending = _ending(seat, view)
    if seat.status == pb.SEAT_STATUS_RESERVED:
        return "is paying in"
    if seat.status == pb.SEAT_STATUS_LEAVING:
        return "is leaving"
    if view.HasField("turn") and view.turn.seat == seat.seat:
        return "to act" + (" (away)" if seat.connection == pb.CONNECTION_AWAY else "")
    if seat.ante_prompted:
        return "ante?"
    if seat.show_prompted:
        return "show or muck?"
    if ending:
        return ending
    if seat.sitting_out and not seat.live:
        return "sits out"
    if seat.pending:
        return f"+{saying.money(seat.pending)} coming"
    return _last(seat, view) or ("away" if seat.connection == pb.CONNECTION_AWAY else "")


def _last(seat: pb.SeatView, view: pb.TableView) -> str:
    """The last action of the running hand; on an earlier street only what still holds."""
    if not view.phase or not seat.dealt_in:
        return ""
    if not seat.live:
        return f"folded{BY.get(seat.last_action.by, '')}"
    if seat.HasField("last_action") and seat.last_action.street == view.street:
        return taken(seat.last_action).replace("brings it in for", "brings in")  # else it is cut at 80 columns
    return "all-in" if seat.all_in else ""


def _ending(seat: pb.SeatView, view: pb.TableView) -> str:
    """What became of a player in the hand that was paid last; also while some are still asked to show."""
    for last in view.last_hand.seats:
        if last.sitting_no == seat.sitting_no != 0:
            if last.won:
                return f"{'back' if view.last_hand.voided else 'won'} {saying.money(last.won)}"
            return "folded" if not last.live else "lost" if last.shown else "mucked"
    return ""


def middle(seen: Seen, width: int) -> Text:
    """Return street, pots and a card for everybody, or how the last hand ended."""
    view = seen.view
    text = Text(f" {_where(view)}", style="bold")
    if view.phase and view.phase != pb.HAND_PHASE_SHOW_PROMPTS:
        text.append(f"   pot {saying.money(view.pot_total)}")
        if len(view.pots) > 1:
            names = ["main", *(f"side {number}" for number in range(1, len(view.pots)))]
            pots = [f"{name} {saying.money(pot.amount)}" for name, pot in zip(names, view.pots, strict=True)]
            text.append(f" ({', '.join(pots)})")
    common = view.community or (0 if view.phase else view.last_hand.community)
    if common:
        text.append("   everybody's card ").append_text(card_text(common, plain=seen.plain))
    return fit(text, width)


def _where(view: pb.TableView) -> str:
    if view.phase == pb.HAND_PHASE_ANTES:
        return "antes"
    if view.phase and view.phase != pb.HAND_PHASE_SHOW_PROMPTS:
        return STREETS.get(view.street) or "the deal"
    return _paid(view.last_hand) or "between hands"


def _paid(last: pb.LastHand) -> str:
    """How the last hand ended, in one line."""
    if not last.hand_no:
        return ""
    if last.voided:
        return f"hand {last.hand_no} was void: every chip went back"
    won = [_winner(seat) for seat in last.seats if seat.won]
    return f"hand {last.hand_no}: " + "; ".join(won)


def _winner(seat: pb.LastHandSeat) -> str:
    words = f" with {seat.hand_in_words}" if seat.hand_in_words else ""
    return f"{name_of(seat)} wins {saying.money(seat.won)}{words}"


def clock(seen: Seen, now_s: float, width: int) -> Text:
    """Return whose turn it is and how long they have, or what is waited for."""
    view = seen.view
    rules = view.config.ruleset
    waits, deadline_ms = waits_for(view), view.prompt_deadline_ms
    total_ms = rules.ante_clock_ms if view.phase == pb.HAND_PHASE_ANTES else rules.show_clock_ms
    if view.HasField("turn"):
        mine = seen.mine is not None and seen.mine.seat == view.turn.seat
        who = next((name_of(seat) for seat in view.seats if seat.seat == view.turn.seat), "")
        price = f", {saying.money(view.turn.to_call)} to call" if view.turn.to_call else ""
        waits = waits or (f"your turn{price}" if mine else f"{who} is to act{price}")
        deadline_ms, total_ms = view.turn.deadline_ms, rules.action_clock_ms
    text = Text(f" {waits}", style="bold" if waits.startswith("your turn") else "")
    if deadline_ms and not clocks_stand(view):
        left_ms = seen.left_ms(deadline_ms, now_s)
        full = min(BAR, round(BAR * left_ms / total_ms)) if total_ms else 0
        text.append(f"  [{'#' * full}{'.' * (BAR - full)}] {-(-left_ms // 1000)} s")
    return fit(text, width)


def own_line(seen: Seen, width: int) -> Text:
    """Return the viewer's own hand in words, and their chips."""
    mine, seat = seen.mine, seen.my_seat
    if mine is None or seat is None:
        return Text("")
    text = Text(f" {name_of(seat)}: ", style="bold")
    down = seen.own_down()
    if down:
        held = pb.SeatView()
        held.CopyFrom(_shown(seat, seen))
        held.ClearField("shown")
        held.live = True
        text.append_text(cards_text(held, down, plain=seen.plain)).append("  ")
    if mine.hand_in_words:
        text.append(f"{mine.hand_in_words}  ")
    text.append(f"stack {saying.money(seat.stack)}")
    if seat.pending:
        text.append(f", {saying.money(seat.pending)} comes between hands")
    return fit(text, width)


def fit(text: Text, width: int, style: str = "") -> Text:
    """Cut a line to a width (``..`` says so), and fill it up to there where it has a style."""
    if text.cell_len > width:
        text.truncate(max(0, width - len(CUT)), overflow="crop")
        text.append(CUT)
    text.truncate(width, pad=bool(style))
    if style:
        text.stylize(style)
    return text
