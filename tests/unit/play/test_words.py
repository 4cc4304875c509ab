"""What the screen says: what happened, what is waited for, what keys do, amounts as they are typed."""

from __future__ import annotations

import re
from typing import Any

import pytest

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_cli.play import buttons, limits
from stud_cli.play.happened import _SAY
from stud_cli.play.screen import sentence
from stud_cli.play.seen import KEPT_LINES, Seen
from stud_cli.play.waiting import WAITING, clocks_stand, waits_for, why_paused
from stud_client import StudError
from table_service.public_events import PUBLIC
from tests.arch.repository import ROOT
from tests.support.replayed import cards_in
from tests.support.told_tables import cards_of, last_of, seen_by, updates

DRAWN = {
    "table_opened", "buy_in_requested", "seat_released", "top_up_pending", "cash_out_requested", "deck_ready",
    "hand_started", "deal_requested", "turn_started", "show_prompted", "hand_ended",
}  # fmt: skip
"""Public events without a line: the picture has them, or the line beside them says it."""


def test_only_public_events_have_a_line_and_none_is_forgotten_that_a_table_has_by_itself():
    assert set(_SAY) | DRAWN <= set(PUBLIC)
    told = [event.WhichOneof("body") for update in updates() for event in update.events]
    assert set(told) <= set(_SAY) | DRAWN
    assert not set(_SAY) & DRAWN


def test_a_whole_table_is_told_without_a_card_that_was_not_shown():
    told: list[str] = []
    seen = Seen()
    for seen in seen_by():
        new = list(seen.said)[len(told) :]
        assert cards_in("\n".join(new)) <= cards_of(seen.view) | last_of(seen.view)
        told += new
    assert seen.hands == 3
    text = "\n".join(told)
    for part in ("antes of", "third street: ", "sits down with", "the pot of", "does not show", " shows ", "is closed"):
        assert part in text
    assert re.search(r"(ada|bea|cleo) (calls|raises|bets|brings|completes|checks)", text)
    assert "seat " not in text


def test_old_lines_go():
    seen = Seen()
    for number in range(2 * KEPT_LINES):
        seen.tell(str(number))
    assert (len(seen.said), seen.said[-1], seen.told) == (KEPT_LINES, str(2 * KEPT_LINES - 1), 2 * KEPT_LINES)


def named_in(field: str) -> set[str]:
    """The names that the contract lists beside a field of the view."""
    proto = (ROOT / "protos/stud/table/v1/table_service.proto").read_text()
    comment = re.search(rf"((?:  //.*\n)+)  string {field} = \d+;", proto.partition("message TableView")[2])
    assert comment is not None
    return set(re.findall(r"\b[A-Z]+_[A-Z_]*[A-Z]\b|\b[A-Z]{6,}\b", comment[1]))


def test_everything_that_is_waited_for_has_words():
    assert named_in("waiting_for") == set(WAITING)
    for name in WAITING:
        assert not re.search("[A-Z_]{4}", waits_for(pb.TableView(waiting_for=name)))
    assert waits_for(pb.TableView(waiting_for="NEW_REASON")) == "waiting (NEW_REASON)"
    assert waits_for(pb.TableView()) == ""


@pytest.mark.parametrize("name", sorted(named_in("paused") - {"PAUSED", "LOG_", "MALFORMED_MESSAGE", "INTERNAL"}))
def test_every_pause_has_words(name: str):
    assert not re.search("[A-Z_]{4}", why_paused(name))


def test_a_pause_of_an_operator_is_told_as_they_wrote_it_and_another_name_as_it_is():
    assert why_paused("lunch until 2") == "paused: lunch until 2"
    assert why_paused("MALFORMED_MESSAGE") == "paused by the house (MALFORMED_MESSAGE)"


def test_a_running_hand_goes_on_beside_a_pause():
    view = pb.TableView(paused="lunch", phase=pb.HAND_PHASE_DEALING, waiting_for="PAUSED")
    assert waits_for(view) == "waiting for cards from the dealer"
    view.paused = "DEALER_SILENT"
    assert "the dealer is silent" in waits_for(view)
    view.paused = "LOG_AWAY"
    assert clocks_stand(view)


def option(verb: Any, to: int = 0, size: Any = 0, *, all_in: bool = False) -> seat_pb2.Option:
    return seat_pb2.Option(verb=verb, amount=to, to=to, size=size, all_in=all_in)


FOLD, CHECK = option(seat_pb2.VERB_FOLD), option(seat_pb2.VERB_CHECK)
LOW, HIGH = option(seat_pb2.VERB_BET, 500, seat_pb2.SIZE_LOW), option(seat_pb2.VERB_BET, 1000, seat_pb2.SIZE_HIGH)


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ([FOLD, CHECK, HIGH, LOW], "f fold|c check|b bet 5 (lower limit)|h bet 10 (higher limit)"),
        ([FOLD, option(seat_pb2.VERB_CALL, 500), option(seat_pb2.VERB_RAISE, 1000)], "f fold|c call 5|b raise to 10"),
        ([option(seat_pb2.VERB_BRING_IN, 200), option(seat_pb2.VERB_OPEN, 500)], "c bring in 2|b open 5"),
        ([FOLD, option(seat_pb2.VERB_CALL, 350, all_in=True)], "f fold|c call 3.50 all-in|a call 3.50 all-in"),
        (
            [FOLD, option(seat_pb2.VERB_CALL, 200), option(seat_pb2.VERB_COMPLETE, 350, all_in=True)],
            "f fold|c call 2|b complete to 3.50 all-in|a complete to 3.50 all-in",
        ),
        ([], ""),
    ],
)
def test_the_buttons_of_a_turn(options: list[seat_pb2.Option], shown: str):
    found = buttons.of_turn(options)
    assert "|".join(map(str, found)) == shown
    assert all(buttons.pressed(found, button.key) is button for button in found)
    assert buttons.pressed(found, "z") is None


def test_choosing_ahead_takes_capitals_and_says_what_is_chosen():
    options = [FOLD, option(seat_pb2.VERB_CALL, 200), option(seat_pb2.VERB_COMPLETE, 500)]
    assert [str(button) for button in buttons.ahead(options)] == [
        "F fold, or check if that is free",
        "C call 2",
        "B complete to 5",
    ]
    chosen = pb.PreAction(verb=seat_pb2.VERB_RAISE)
    assert [button.words for button in buttons.ahead(options, chosen)][2] == "complete to 5 (chosen)"
    sized = buttons.ahead([LOW, HIGH], pb.PreAction(verb=seat_pb2.VERB_BET, size=seat_pb2.SIZE_HIGH))
    assert ["(chosen)" in button.words for button in sized] == [False, True]


def test_call_any_stands_beside_the_call_where_the_table_has_it():
    options = [FOLD, CHECK, option(seat_pb2.VERB_CALL, 200)]
    assert [button.key for button in buttons.ahead(options)] == ["F", "C", "C"]
    found = buttons.ahead(options, pb.PreAction(verb=seat_pb2.VERB_CALL, any_price=True), any_price=True)
    assert [str(button) for button in found][-1] == "A call whatever it costs (chosen)"
    assert found[-1].any_price
    assert sum("(chosen)" in button.words for button in found) == 1
    assert [button.key for button in buttons.ahead([FOLD], any_price=True)] == ["F"]


@pytest.mark.parametrize(("text", "amount"), [("50", 5000), ("12.5", 1250), (" 0.05 ", 5), ("1,250.00", 125_000)])
def test_amounts_are_typed_as_they_are_shown(text: str, amount: int):
    assert limits.read(text) == amount


@pytest.mark.parametrize("text", ["", "-5", "five", "1.234", "9" * 20])
def test_what_is_no_amount_says_what_one_is(text: str):
    with pytest.raises(ValueError, match="want one such as"):
        limits.read(text)


def view_of(most: int | None) -> pb.TableView:
    view = pb.TableView()
    view.config.small_bet = 500
    view.config.ruleset.min_buy_in.small_bets = 10
    if most is not None:
        view.config.ruleset.max_buy_in.small_bets = most
    return view


def test_what_to_add_fills_up_to_the_usual_buy_in_within_the_limit():
    seat = pb.SeatView(stack=3_000, pending=1_000)
    assert limits.suggested(view_of(None), None) == 10_000
    assert limits.suggested(view_of(None), seat) == 6_000
    assert limits.suggested(view_of(15), seat) == 3_500
    assert limits.suggested(view_of(None), pb.SeatView(stack=20_000)) == 500
    assert limits.suggested(view_of(15), pb.SeatView(stack=20_000)) == 0


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (StudError("STALE_TURN", "that turn is over"), "that turn is over"),
        (StudError("UNAVAILABLE", "connection refused"), "the service cannot be reached now"),
        (
            StudError("TOP_UP_OUT_OF_LIMITS", "no", {"min": "100", "max": "5050"}),
            "outside the limits: want 1 to 50.50",
        ),
        (StudError("INSUFFICIENT_FUNDS", "no", {"balance": "1250"}), "not enough money: the balance is 12.50"),
        (StudError("NO_HAND", ""), "no hand"),
    ],
)
def test_a_refusal_is_a_sentence(error: StudError, said: str):
    assert sentence(error) == said
