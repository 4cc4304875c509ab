"""The table in a terminal: cards that may be seen, ?? for those that may not, who acts, who folded."""

import io

import pytest
from rich.console import Console, RenderableType

from stud.common.v1 import card_pb2, ruleset_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_cli.drawing import card_text, cards_text, draw, money
from stud_cli.output import table_of
from stud_core.cards import parse_card


def code(name: str) -> card_pb2.Card.ValueType:
    """A card as the wire has it."""
    return card_pb2.Card.ValueType(parse_card(name) + 1)


def text_of(drawn: RenderableType) -> str:
    console = Console(record=True, width=110, file=io.StringIO())
    console.print(drawn)
    return console.export_text()


def seat(number: int, account: str = "ada", **fields: object) -> pb.SeatView:
    return pb.SeatView(seat=number, account=account, status=pb.SEAT_STATUS_SEATED, **fields)  # type: ignore[arg-type]


def dealt(number: int, account: str = "ada", *, live: bool = True, **fields: object) -> pb.SeatView:
    return seat(number, account, dealt_in=True, live=live, **fields)


def config() -> ruleset_pb2.TableConfig:
    made = ruleset_pb2.TableConfig(name="Main", currency="EUR", small_bet=500, big_bet=1000)
    made.ruleset.name = "playnow"
    return made


@pytest.mark.parametrize(
    ("amount", "text"), [(0, "0.00"), (5, "0.05"), (1250, "12.50"), (-1, "-0.01"), (123_456_789, "1,234,567.89")]
)
def test_money_is_written_with_two_places(amount: int, text: str):
    assert money(amount) == text


@pytest.mark.parametrize(("name", "text", "colour"), [("As", "A♠", "white"), ("Td", "T♦", "blue"), ("2h", "2♥", "red")])
def test_cards_have_suits_in_four_colours(name: str, text: str, colour: str):
    card = card_text(code(name))
    assert (card.plain, card.style) == (text, colour)


def test_cards_stand_in_the_order_they_were_dealt():
    up = [code(name) for name in ("2c", "3c", "4c", "5c")]
    hidden = dealt(1, down_count=3, up=up)
    assert cards_text(hidden).plain == "?? ?? 2♣ 3♣ 4♣ 5♣ ??"
    assert cards_text(dealt(1, down_count=2, up=up[:1])).plain == "?? ?? 2♣"
    mine = [code(name) for name in ("Ah", "Kh", "Qh")]
    assert cards_text(hidden, mine).plain == "[A♥ K♥] 2♣ 3♣ 4♣ 5♣ [Q♥]"
    assert cards_text(dealt(1, down_count=2, up=up[:1]), mine[:2]).plain == "[A♥ K♥] 2♣"
    shown = dealt(1, down_count=3, up=up, shown=mine)
    assert cards_text(shown).plain == "A♥ K♥ 2♣ 3♣ 4♣ 5♣ Q♥"
    assert cards_text(shown, mine).plain == "A♥ K♥ 2♣ 3♣ 4♣ 5♣ Q♥"  # everybody saw them


def test_folded_cards_are_struck_through():
    folded = cards_text(dealt(1, live=False, down_count=2, up=[code("2c")]))
    assert folded.plain == "?? ?? 2♣"
    assert any(span.style == "dim strike" for span in folded.spans)
    assert cards_text(seat(1)).plain == ""


def test_every_seat_says_how_it_stands():
    view = pb.TableView(config=config(), hand_no=7, street=5, button=1, life=pb.TABLE_LIFE_OPEN, pot_total=4200)
    view.seats.extend(
        [
            dealt(1, "ada", stack=10_000, bet=500, down_count=2, up=[code("As")]),
            dealt(2, "bea", live=False, down_count=2, up=[code("Kd")]),
            dealt(3, "cleo", all_in=True, down_count=2, up=[code("Qh")]),
            seat(4, "dora", sitting_out=True),
            pb.SeatView(seat=5, account="emil", status=pb.SEAT_STATUS_RESERVED),
            pb.SeatView(seat=6, account="fred", status=pb.SEAT_STATUS_LEAVING),
            seat(7, "gus", ante_prompted=True),
            dealt(8, "hal", show_prompted=True, down_count=2),
        ]
    )
    view.turn.CopyFrom(pb.TurnView(seat=1, to_call=500))
    lines = {line.split()[1].lstrip("●"): line for line in text_of(draw(view, 33)).splitlines()[2:10]}
    assert [*lines] == [str(number) for number in range(1, 9)]
    wanted = {
        "1": ("●1", "ada", "100.00", "5.00", "?? ?? A♠", "to act (5.00 to call)"),
        "2": ("bea", "?? ?? K♦", "folded"),
        "3": ("cleo", "all-in"),
        "4": ("dora", "sitting out"),
        "5": ("emil", "reserved"),
        "6": ("fred", "leaving"),
        "7": ("gus", "ante?"),
        "8": ("hal", "show?"),
    }
    for number, words in wanted.items():
        assert all(word in lines[number] for word in words), lines[number]


@pytest.mark.parametrize(
    ("stack", "bet", "street", "told"),
    [
        (10_000, 0, 3, "to post the bring-in (2.50) or complete"),
        (200, 0, 3, "to post the bring-in (2.00)"),
        (10_000, 250, 3, "to act (2.50 to call)"),
        (10_000, 0, 4, "to act (0.00 to call)"),
    ],
)
def test_before_the_bring_in_there_is_nothing_to_call(stack: int, bet: int, street: int, told: str):
    view = pb.TableView(config=config(), hand_no=7, street=street, turn=pb.TurnView(seat=1, to_call=bet))
    view.config.bring_in = 250
    view.seats.extend([dealt(1, "ada", stack=stack, down_count=2), dealt(2, "bea", stack=5, bet=bet, down_count=2)])
    (line,) = (line for line in text_of(draw(view, 33)).splitlines() if "ada" in line)
    assert line.rstrip("│ ").endswith(told)


def test_the_frame_and_the_middle_say_what_is_played():
    view = pb.TableView(config=config(), hand_no=7, street=7, pot_total=4200, community=code("9s"))
    view.pots.extend([pb.PotView(amount=4000), pb.PotView(amount=200)])
    view.seats.append(pb.SeatView(seat=1))
    text = text_of(draw(view, 33))
    assert "Main · playnow · 5.00/10.00 EUR · hand 7 · version 33" in text
    assert "the river   community 9♠   pot 42.00  (40.00, 2.00)" in text
    assert "empty" in text


def test_a_table_that_waits_says_why():
    view = pb.TableView(config=config(), life=pb.TABLE_LIFE_DRAINING, waiting_for="verdict")
    assert "draining   pot 0.00   waiting: verdict" in text_of(draw(view, 1))
    view.paused = "DISPUTED"
    assert "paused: DISPUTED" in text_of(draw(view, 1))
    assert "waiting" not in text_of(draw(view, 1))


def test_who_may_see_cards_sees_them():
    view = pb.TableView(config=config(), street=3)
    view.seats.append(dealt(2, down_count=2, up=[code("As")]))
    assert "?? ?? A♠" in text_of(draw(view, 1))
    assert "[K♦ K♣] A♠" in text_of(draw(view, 1, {2: [code("Kd"), code("Kc")]}))


def test_names_are_never_taken_for_markup():
    """Whoever opens a table names it; a name must not colour, hide or break anything."""
    view = pb.TableView(config=config())
    view.config.name = "[red]Main[/nonsense]"
    view.seats.append(seat(1, "[bold]ada"))
    text = text_of(draw(view, 1))
    assert "[red]Main[/nonsense] · playnow" in text
    assert "[bold]ada" in text
    rows = table_of("Parked", ("reason",), [("[/nonsense]",)])
    assert "[/nonsense]" in text_of(rows)
