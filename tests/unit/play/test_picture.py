"""The drawing of a table: it fits 80 columns, says everything without colour, and shows no card that was not sent."""

from __future__ import annotations

import pytest
from rich.text import Text

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_cli.drawing import card_text, money
from stud_cli.play import picture
from stud_cli.play.seen import Seen
from tests.support.replayed import cards_in
from tests.support.told_tables import HERO, cards_of, hidden_cards, last_of, seen_by, until

WIDTHS = (80, 96, 160)
HIDDEN = hidden_cards()


def drawn(seen: Seen, width: int = 80, now_s: float = 0.0) -> list[Text]:
    lines = [picture.title(seen, width), *picture.seats(seen, width), picture.middle(seen, width)]
    return [*lines, picture.clock(seen, now_s, width), picture.own_line(seen, width)]


def text_of(seen: Seen, width: int = 80, now_s: float = 0.0) -> str:
    return "\n".join(line.plain for line in drawn(seen, width, now_s))


@pytest.mark.parametrize("width", WIDTHS)
def test_every_step_fits_and_shows_what_was_sent_and_no_other_card(width: int):
    own_shown = 0
    for seen in seen_by():
        assert all(line.cell_len <= width for line in drawn(seen, width))
        own = set(HIDDEN[seen.view.hand_no]) | set(HIDDEN.get(seen.view.last_hand.hand_no, ()))
        cards = cards_in(text_of(seen, width))
        assert cards <= cards_of(seen.view) | last_of(seen.view) | own
        if seen.mine is not None and seen.mine.down:
            assert {card - 1 for card in seen.mine.down} <= cards
            own_shown += 1
    assert own_shown > 20


def test_a_spectator_sees_nobodys_down_cards_even_where_they_were_sent():
    sent = 0
    for seen in seen_by(own=False):
        assert seen.update is not None
        sent += bool(seen.update.mine.down)
        assert cards_in(text_of(seen)) <= cards_of(seen.view) | last_of(seen.view)
        assert picture.own_line(seen, 80).plain == ""
    assert sent > 20


def test_own_cards_stand_in_brackets_and_opponents_are_face_down():
    seen = until("action_taken")
    line = next(line.plain for line in picture.seats(seen, 80) if HERO in line.plain)
    assert seen.mine is not None
    assert f"[{' '.join(card_text(card).plain for card in seen.mine.down)}]" in line
    assert line.startswith("*")
    assert "?? ??" in next(line.plain for line in picture.seats(seen, 80) if "bea" in line.plain)


def test_own_cards_stay_while_the_hand_is_shown_and_go_with_it():
    shown = 0
    for seen in seen_by():
        mine, last = seen.mine, seen.view.last_hand.hand_no
        if mine is None or seen.view.phase or not last:
            continue
        shown += seen.own_down() != ()
        assert {card - 1 for card in seen.own_down()} <= set(HIDDEN[last])
    assert shown > 3


def test_suits_are_letters_where_signs_cannot_be_shown():
    for seen in seen_by(plain=True):
        text = text_of(seen) + "\n".join(seen.said)
        assert text.isascii()
    assert cards_in(text_of(until("action_taken")))


def test_an_amount_is_never_cut():
    seen = until("action_taken")
    seat = seen.view.seats[0]
    seat.stack, seat.bet = 10**15, 10**14
    line = picture.seats(seen, 80)[1].plain
    assert money(10**15) in line
    assert money(10**14) in line
    assert len(line) <= 80


def test_who_has_the_turn_the_button_and_the_seat_is_marked_by_signs():
    seen = until("turn_started")
    seat = seen.view.turn.seat
    seen.view.button = seat
    line = picture.seats(seen, 80)[seat].plain
    assert (line[1], line[2]) == (">", "D")
    assert "to act" in line


def test_the_clock_runs_down_by_the_servers_clock_and_not_below_zero():
    seen = until("turn_started")
    view, update = seen.view, seen.update
    assert update is not None
    view.turn.deadline_ms = update.sent_at_ms + 10_000
    view.config.ruleset.action_clock_ms = 10_000
    assert "[####################] 10 s" in picture.clock(seen, 0.0, 80).plain
    assert "[##########..........] 5 s" in picture.clock(seen, 5.0, 80).plain
    assert "[....................] 0 s" in picture.clock(seen, 11.0, 80).plain
    view.turn.deadline_ms = 0
    assert "[" not in picture.clock(seen, 0.0, 80).plain
    view.turn.deadline_ms = update.sent_at_ms + 10_000
    view.paused, view.waiting_for = "LOG_DISK", "PAUSED"
    assert picture.clock(seen, 0.0, 80).plain.strip().startswith("nothing can be written for now: clocks stand")


def test_the_clock_of_a_prompt_has_its_own_length():
    seen, update = Seen(), pb.TableUpdate(sent_at_ms=1_000)
    view, rules = update.view, update.view.config.ruleset
    rules.show_clock_ms, rules.ante_clock_ms = 8_000, 16_000
    view.prompt_deadline_ms, view.phase = 5_000, pb.HAND_PHASE_SHOW_PROMPTS
    seen.take(update, 0.0)
    assert picture.clock(seen, 0.0, 80).plain == " waiting for whoever may show or muck  [##########..........] 4 s"
    view.phase = pb.HAND_PHASE_ANTES
    assert picture.clock(seen, 0.0, 80).plain == " waiting for antes  [#####...............] 4 s"


def test_it_says_who_won_with_what():
    ends = [picture.middle(seen, 160).plain for seen in seen_by() if not seen.view.phase]
    assert any(" wins " in line and " with " in line for line in ends)


SEAT = pb.SeatView(seat=1, account="ada", sitting_no=1, stack=500, status=pb.SEAT_STATUS_SEATED)
ACTION = pb.SeatAction(verb=seat_pb2.VERB_BRING_IN, amount=200, to=200, street=3)


@pytest.mark.parametrize(
    ("seat", "said"),
    [
        (pb.SeatView(status=pb.SEAT_STATUS_RESERVED), "is paying in"),
        (pb.SeatView(status=pb.SEAT_STATUS_LEAVING), "is leaving"),
        (pb.SeatView(ante_prompted=True), "ante?"),
        (pb.SeatView(show_prompted=True), "show or muck?"),
        (pb.SeatView(sitting_out=True), "sits out"),
        (pb.SeatView(pending=700), "+7 coming"),
        (pb.SeatView(dealt_in=True, live=True, all_in=True), "all-in"),
        (pb.SeatView(dealt_in=True, live=True, last_action=ACTION), "brings in 2"),
        (pb.SeatView(dealt_in=True), "folded"),
        (pb.SeatView(connection=pb.CONNECTION_AWAY), "away"),
    ],
)
def test_what_is_said_of_a_player(seat: pb.SeatView, said: str):
    seen = Seen()
    update = pb.TableUpdate()
    update.view.street, update.view.phase = 3, pb.HAND_PHASE_BETTING
    whole = update.view.seats.add()
    whole.CopyFrom(SEAT)
    whole.MergeFrom(seat)
    seen.take(update, 0.0)
    assert picture.seats(seen, 80)[1].plain.endswith(f" {said}")


def test_a_time_out_is_told_from_a_fold():
    action = pb.SeatAction(verb=seat_pb2.VERB_FOLD, by=seat_pb2.ACTION_ORIGIN_TIMEOUT, street=3)
    seen = Seen()
    update = pb.TableUpdate()
    update.view.street, update.view.phase = 4, pb.HAND_PHASE_BETTING
    update.view.seats.append(pb.SeatView(seat=1, account="ada", dealt_in=True, last_action=action))
    seen.take(update, 0.0)
    assert "folded (time" in picture.seats(seen, 80)[1].plain


def test_side_pots_are_named():
    seen = until("action_taken")
    del seen.view.pots[:]
    seen.view.pots.extend([pb.PotView(amount=300), pb.PotView(amount=200), pb.PotView(amount=1)])
    assert "(main 3, side 1 2, side 2 0.01)" in picture.middle(seen, 80).plain


def test_a_void_hand_says_so():
    seen = Seen()
    update = pb.TableUpdate()
    update.view.last_hand.hand_no, update.view.last_hand.voided = 7, True
    seen.take(update, 0.0)
    assert picture.middle(seen, 80).plain == " hand 7 was void: every chip went back"


def test_the_line_of_ones_own_turn_is_bold():
    seen = until("turn_started")
    assert seen.mine is not None
    seen.mine.seat = seen.view.turn.seat
    assert picture.clock(seen, 0.0, 80).style == "bold"
    seen.mine.seat = seen.view.turn.seat % 3 + 1
    assert picture.clock(seen, 0.0, 80).style == ""


def test_while_players_are_asked_to_show_it_says_who_was_paid():
    seen, update = Seen(), pb.TableUpdate()
    update.view.phase, update.view.street, update.view.last_hand.hand_no = pb.HAND_PHASE_SHOW_PROMPTS, 7, 3
    update.view.last_hand.seats.add(seat=1, account="ada", won=36_900)
    seen.take(update, 0.0)
    assert picture.middle(seen, 80).plain == " hand 3: ada wins 369"


def test_who_goes_by_a_name_is_called_by_it():
    seen, update = Seen(), pb.TableUpdate()
    update.view.street, update.view.phase = 3, pb.HAND_PHASE_BETTING
    update.view.seats.add().CopyFrom(SEAT)
    update.view.seats[0].name = "Ada Lee"
    update.view.turn.seat = 1
    seen.take(update, 0.0)
    for line in (picture.seats(seen, 80)[1], picture.clock(seen, 0.0, 80)):
        assert "Ada Lee" in line.plain
        assert "ada" not in line.plain


def test_what_does_not_fit_says_so():
    assert picture.fit(Text("0123456789"), 6).plain == "0123.."
    assert picture.fit(Text("0123456789"), 10).plain == "0123456789"
    assert picture.fit(Text("01"), 4, style="bold").plain == "01  "
    assert picture.fit(Text("0123"), 1).plain == "."


def test_players_are_called_by_the_name_they_go_by():
    seen, update = Seen(), pb.TableUpdate()
    update.view.seats.append(pb.SeatView(seat=1, account="p-4711", name="Ada", sitting_no=1))
    update.view.last_hand.hand_no = 3
    update.view.last_hand.seats.add(seat=1, account="p-4711", name="Ada", won=500)
    update.events.add().sat_in.seat = 1
    seen.take(update, 0.0)
    assert "Ada" in picture.seats(seen, 80)[1].plain
    assert picture.middle(seen, 80).plain == " hand 3: Ada wins 5"
    assert list(seen.said) == ["Ada is back"]
