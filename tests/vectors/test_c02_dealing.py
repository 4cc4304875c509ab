"""Rule vectors C.2: who gets which card (rows 28-35)."""

import json

import msgspec
import pytest

from stud_core import events as ev
from stud_core.commands import LeaveSeat, RecordCashOut
from stud_core.presets import PLAYNOW, WILLIAM_HILL
from stud_core.ruleset import DealOrigin, Ruleset
from tests.support.core_table import only
from tests.support.table_driver import TableDriver, deal
from tests.vectors.positions import both, playnow, william_hill

SEATS = (2, 5, 7)
DOORS = {2: "2c", 5: "7d", 7: "9h"}  # S2 brings in, then S5, then S7


def third_street(table: TableDriver) -> dict[int, list[int]]:
    """Deck positions by seat: first down, second down, door."""
    return {seat: table.dealer.places[3, seat] for seat in table.dealt_in()}


@pytest.mark.rules("P11", "P12")
@playnow
def test_vector_028_two_rounds_down_one_up(rules: Ruleset):
    table = deal(rules, SEATS, up=DOORS)
    request = only(table.events(), ev.DealRequested)
    assert (request.targets, request.burn, request.street) == (SEATS, False, 3)
    assert third_street(table) == {2: [0, 3, 6], 5: [1, 4, 7], 7: [2, 5, 8]}
    assert {s: [box.pos for box in table.hand.down[s]] for s in SEATS} == {2: [0, 3], 5: [1, 4], 7: [2, 5]}
    assert table.dealer.burned == []


@pytest.mark.rules("P10", "P11")
@pytest.mark.knob("deal_origin", DealOrigin.FIXED)
@playnow
def test_vector_029_the_dealer_does_not_move(rules: Ruleset):
    table = deal(rules, SEATS, up=DOORS)
    table.passively_to_the_end()
    table.start()
    assert only(table.events(), ev.HandStarted).button == 0
    assert table.dealt_in() == SEATS
    assert third_street(table) == {2: [0, 3, 6], 5: [1, 4, 7], 7: [2, 5, 8]}


@pytest.mark.rules("W7", "W26", "W27")
@pytest.mark.knob("deal_origin", DealOrigin.BUTTON)
@william_hill
def test_vector_030_left_of_the_button(rules: Ruleset):
    table = deal(rules, SEATS, up=DOORS, button=5)
    assert only(table.events(), ev.HandStarted).button == 5
    assert only(table.events(), ev.DealRequested).targets == (7, 2, 5)
    assert third_street(table) == {7: [0, 3, 6], 2: [1, 4, 7], 5: [2, 5, 8]}
    table.passively_to_the_end()
    table.start()
    assert only(table.events(), ev.HandStarted).button == 7
    assert table.dealt_in() == (2, 5, 7)


@pytest.mark.rules("W26")
@pytest.mark.knob("deal_origin", DealOrigin.BUTTON)
@william_hill
def test_vector_031_the_button_skips_an_empty_seat(rules: Ruleset):
    table = deal(rules, SEATS, up=DOORS)
    assert only(table.events(), ev.HandStarted).button == 7
    table.send(LeaveSeat("a7"))
    table.passively_to_the_end()
    table.settle()
    asked = only(table.history(), ev.CashOutRequested)
    table.send(RecordCashOut(asked.sitting_no, asked.claim or 0))
    table.start()
    assert only(table.events(), ev.HandStarted).button == 2


def fourth_without_s5(rules: Ruleset, button: int | None = None) -> TableDriver:
    table = deal(rules, SEATS, up=DOORS, button=button)
    while table.hand.street == 3:
        if table.turn == 5:
            table.play("5 fold")
        else:
            table.passive()
    return table


@pytest.mark.rules("P18")
@pytest.mark.knob("burns", True)
@playnow
def test_vector_032_fourth_street_is_burnt(rules: Ruleset):
    table = fourth_without_s5(rules)
    request = table.events(ev.DealRequested)[-1]
    assert (request.street, request.burn, request.targets) == (4, True, (2, 7))
    assert table.dealer.burned == [9]
    assert (table.dealer.places[4, 2], table.dealer.places[4, 7]) == ([10], [11])


@pytest.mark.knob("burns", False)
@william_hill
def test_vector_033_fourth_street_without_burn(rules: Ruleset):
    table = fourth_without_s5(rules, button=5)
    request = table.events(ev.DealRequested)[-1]
    assert (request.street, request.burn, request.targets) == (4, False, (7, 2))
    assert table.dealer.burned == []
    assert (table.dealer.places[4, 7], table.dealer.places[4, 2]) == ([9], [10])


@both
def test_vector_034_an_all_in_player_gets_their_cards(rules: Ruleset):
    table = deal(rules, 3, stacks={1: 50})
    assert table.hand.all_in[1]
    table.passively_to_the_end()
    for request in table.events(ev.DealRequested):
        assert 1 in request.targets, request
    assert [d.street for d in table.events(ev.CardsDealt)] == [3, 4, 5, 6, 7]


CLEAR_CARDS = {"up", "community", "shown", "cards", "card"}  # fields that may hold a card in clear


def clear_cards(value: object, key: str = "") -> set[int]:
    """Every card number in a decoded state or event, wherever a field may hold one."""
    if isinstance(value, dict):
        return {card for name, part in value.items() for card in clear_cards(part, name)}
    if isinstance(value, list):
        return {card for part in value for card in clear_cards(part, key)}
    return {value} if key in CLEAR_CARDS and isinstance(value, int) else set()


def test_vector_035_the_helper_sees_every_field_that_can_hold_a_card():
    """A new field of type "card" must be named above, or the next test is blind to it."""
    table = deal(PLAYNOW, 2)
    table.passively_to(7)
    tagged = {
        name
        for struct in (ev.UpCard, ev.CardsDealt, ev.HandShown, type(table.hand))
        for name in struct.__struct_fields__
        if name in CLEAR_CARDS
    }
    assert tagged == {"card", "community", "up", "cards", "shown"}


@both
@pytest.mark.parametrize("players", [2, 8])
def test_vector_035_no_down_card_in_state_or_events(rules: Ruleset, players: int):
    """The core's part of the row: boxes only, until a hand is shown; burns and deck order nowhere.

    What each viewer's stream holds is shown by the tests of the running services.
    """
    table = deal(rules, players, seed=players)
    while table.running:
        hidden = {c for seat in table.hand.order for c in table.dealer.open(table.hand.down[seat])}
        state = clear_cards(json.loads(msgspec.json.encode(table.state)))
        assert not hidden & state
        assert not {table.dealer.card_at[p] for p in table.dealer.burned} & state
        for event in table.events():
            assert not hidden & clear_cards(json.loads(msgspec.json.encode(event))), event
        if table.hand.street == 7 and table.turn is not None:
            break
        table.passive()
    table.passively_to_the_end()
    shown = {c for e in table.events(ev.HandShown) for c in e.cards}
    told = {c for e in table.events() for c in clear_cards(json.loads(msgspec.json.encode(e)))}
    ups = {u.card for e in table.events(ev.CardsDealt) for u in e.up}
    community = {e.community for e in table.events(ev.CardsDealt) if e.community is not None}
    assert told == shown | ups | community
    mucked = {e.seat for e in table.events(ev.HandMucked)}
    assert not mucked & {e.seat for e in table.events(ev.HandShown)}


def test_vector_035_deals_carry_no_deck_order():
    for rules in (PLAYNOW, WILLIAM_HILL):
        table = deal(rules, 3)
        table.passively_to_the_end()
        for dealt in table.events(ev.CardsDealt):
            fields = set(type(dealt).__struct_fields__)
            assert not fields & {"burns", "burn", "deck", "order", "stub", "seed"}
