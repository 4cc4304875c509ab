"""Draws a table's public view in a terminal: what `stud demo` shows live and `stud replay` at a version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from stud.table.v1 import table_service_pb2 as pb
from stud_core.cards import card_name

_SUITS = {"c": ("♣", "green"), "d": ("♦", "blue"), "h": ("♥", "red"), "s": ("♠", "white")}
STREETS: Final = {0: "", 3: "third street", 4: "fourth street", 5: "fifth street", 6: "sixth street", 7: "the river"}
_LIFE = {
    pb.TABLE_LIFE_OPEN: "open",
    pb.TABLE_LIFE_DRAINING: "draining",
    pb.TABLE_LIFE_CLOSING: "closing",
    pb.TABLE_LIFE_CLOSED: "closed",
}
HIDDEN = "??"
WIDTH: Final = 96
NARROW_NAME: Final = 12


def money(amount: int) -> str:
    """Return minor units as a decimal number: 1250 -> ``12.50``."""
    sign = "-" if amount < 0 else ""
    return f"{sign}{abs(amount) // 100:,}.{abs(amount) % 100:02d}"


def card_text(code: int, *, plain: bool = False) -> Text:
    """Return a card of the wire (1 to 52) in its suit's colour; ``plain``: in letters alone, ``Ah``."""
    name = card_name(code - 1)
    symbol, colour = _SUITS[name[1]]
    return Text(name if plain else name[0] + symbol, style=colour)


def in_brackets(cards: Sequence[Text]) -> list[Text]:
    """Return down cards that one player alone knew, in one pair of brackets; nothing where there are none."""
    return [Text("[").append_text(Text(" ").join(cards)).append("]")] if cards else []


def cards_text(seat: pb.SeatView, down: Sequence[int] = (), *, plain: bool = False) -> Text:
    """Return a seat's cards in the order dealt: two down, up to four up, the last down. Clear ones that others did not
    see stand in brackets: ``[A♥ K♥] 2♣ 3♣``; ``plain``: in letters alone.
    """
    known: Sequence[int] = seat.shown or down
    hidden = [card_text(code, plain=plain) for code in known] or [Text(HIDDEN, style="dim")] * seat.down_count
    up = [card_text(code, plain=plain) for code in seat.up]
    first, last = hidden[:2], hidden[2:]
    if down and not seat.shown:
        first, last = in_brackets(first), in_brackets(last)
    line = Text(" ").join([*first, *up, *last])
    if seat.dealt_in and not seat.live:
        line.stylize("dim strike")
    return line


def _status(seat: pb.SeatView, view: pb.TableView) -> str:
    if seat.status == pb.SEAT_STATUS_RESERVED:
        return "reserved"
    words = []
    if view.HasField("turn") and view.turn.seat == seat.seat:
        words.append(_turn(seat, view))
    if seat.ante_prompted:
        words.append("ante?")
    if seat.show_prompted:
        words.append("show?")
    if seat.all_in:
        words.append("all-in")
    if seat.sitting_out:
        words.append("sitting out")
    if seat.status == pb.SEAT_STATUS_LEAVING:
        words.append("leaving")
    if seat.dealt_in and not seat.live:
        words.append("folded")
    return ", ".join(words)


def _turn(seat: pb.SeatView, view: pb.TableView) -> str:
    """What the player on turn may do; before the bring-in there is nothing to call."""
    if view.street != 3 or any(other.bet for other in view.seats):
        return f"to act ({money(view.turn.to_call)} to call)"
    post = min(view.config.bring_in, seat.stack)
    return f"to post the bring-in ({money(post)})" + (" or complete" if seat.stack > post else "")


def draw(
    view: pb.TableView, version: int, down: dict[int, Sequence[int]] | None = None, width: int = WIDTH
) -> RenderableType:
    """Return the table as a panel; ``down`` are clear down cards by seat, for whoever may see them. Narrower than usual
    each seat still has one line: names and what players do are cut where they do not fit.
    """
    narrow = width < WIDTH
    body = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("seat", "player", "stack", "bet", "cards", ""):
        justify: Literal["right", "left"] = "right" if column in {"seat", "stack", "bet"} else "left"
        most = NARROW_NAME if narrow and column == "player" else None
        body.add_column(column, justify=justify, no_wrap=narrow, overflow="ellipsis", max_width=most)
    for seat in view.seats:
        mark = "●" if seat.seat == view.button else " "
        if not seat.account:
            body.add_row(f"{mark}{seat.seat}", Text("empty", style="dim"), "", "", "", "")
            continue
        body.add_row(
            f"{mark}{seat.seat}",
            Text(f"{seat.account} ({seat.name})" if seat.name else seat.account),
            money(seat.stack),
            money(seat.bet) if seat.bet else "",
            cards_text(seat, (down or {}).get(seat.seat, ())),
            _status(seat, view),
        )
    return Panel(Group(body, _middle(view)), title=Text(_title(view, version)), title_align="left", width=width)


def _title(view: pb.TableView, version: int) -> str:
    config = view.config
    stakes = f"{money(config.small_bet)}/{money(config.big_bet)} {config.currency}"
    return f"{config.name} · {config.ruleset.name} · {stakes} · hand {view.hand_no} · version {version}"


def _middle(view: pb.TableView) -> Text:
    text = Text()
    street = STREETS.get(view.street, "")
    text.append(f"\n{street or _LIFE.get(view.life, '')}", style="bold")
    if view.community:
        text.append("   community ").append_text(card_text(view.community))
    text.append(f"   pot {money(view.pot_total)}")
    if len(view.pots) > 1:
        text.append("  (" + ", ".join(money(pot.amount) for pot in view.pots) + ")")
    if view.paused:
        text.append(f"   paused: {view.paused}", style="yellow")
    elif view.waiting_for:
        text.append(f"   waiting: {view.waiting_for}", style="dim")
    return text
