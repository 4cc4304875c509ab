"""Rule vectors C.3: who is first to act from fourth street on (rows 36-47)."""

from itertools import combinations
from typing import Any

import pytest

from stud_core import events as ev
from stud_core.ruleset import DealOrigin, Ruleset
from tests.support.core_table import none
from tests.support.table_driver import TableDriver, deal
from tests.vectors.positions import both, bring_in, fifth_street, playnow, stack_with, william_hill


def shown(rules: Ruleset, first: str, second: str, **options: Any) -> TableDriver:
    """S1 and S2 with these boards, everything called and checked until the last of the cards lies there."""
    table = deal(rules, up={1: first, 2: second}, **options)
    table.passively_to(2 + len(first.split()))
    assert [len(table.hand.up[seat]) for seat in (1, 2)] == [len(first.split())] * 2
    assert table.hand.first == table.turn
    return table


@pytest.mark.rules("P19")
@both
def test_vector_036_a_pair_beats_ace_king(rules: Ruleset):
    assert shown(rules, "Ac Kd", "2c 2d").turn == 2


@pytest.mark.rules("P26")
@both
def test_vector_037_no_straights_or_flushes_on_three_cards(rules: Ruleset):
    assert shown(rules, "3h 4h 5h", "Ac 9d 2s").turn == 2


@pytest.mark.rules("P28")
@both
def test_vector_038_no_straights_or_flushes_on_four_cards(rules: Ruleset):
    assert shown(rules, "5h 6h 7h 8h", "2c 2d Kh 9s").turn == 2


@both
def test_vector_039_trips_over_two_pair(rules: Ruleset):
    assert shown(rules, "Kc Kd Qc Qd", "9c 9d 9h 2s").turn == 2


@pytest.mark.rules("P26")
@both
def test_vector_040_the_kicker_decides(rules: Ruleset):
    assert shown(rules, "8c 8d Qh", "8h 8s Kc").turn == 2


@both
def test_vector_041_no_wheel_on_four_cards(rules: Ruleset):
    assert shown(rules, "2c 2h 9h 3s", "Ac 2d 3h 4s").turn == 1


@pytest.mark.rules("P17", "P21")
@both
def test_vector_042_equal_boards_by_position(rules: Ruleset):
    assert shown(rules, "Kc 2d", "Ks 2c").turn == 1


@pytest.mark.rules("P21")
@pytest.mark.knob("deal_origin", DealOrigin.FIXED)
@playnow
def test_the_dealers_left_decides_between_equal_boards_hand_after_hand(rules: Ruleset):
    """S2 brings it in; with a button S2 and S3 would lead the second and the third hand."""
    table = deal(rules, up={1: "Kd 4c", 2: "Kc 4d", 3: "Kh 4s"})
    for _ in range(3):
        assert table.turn == 2
        table.passively_to(4)
        assert table.turn == 1
        table.passively_to_the_end()
        table.start()


@pytest.mark.rules("P19", "P26", "P28")
@both
@pytest.mark.parametrize(("cards", "pair"), [(n, pair) for n in (2, 3, 4) for pair in combinations(range(n), 2)])
def test_every_card_that_shows_counts(rules: Ruleset, cards: int, pair: tuple[int, int]):
    """S2 pairs any two of his cards and acts before ace, king, jack and nine."""
    higher, board = ["Ac", "Kd", "Jh", "9s"], ["3c", "5d", "7h", "8s"]
    board[pair[0]], board[pair[1]] = "2c", "2d"
    assert shown(rules, " ".join(higher[:cards]), " ".join(board[:cards])).turn == 2


@william_hill
def test_vector_043_position_counts_from_the_button(rules: Ruleset):
    table = shown(rules, "Kc 2d", "Ks 2c", button=1)
    assert table.dealt_in() == (2, 1)
    assert table.turn == 2


@pytest.mark.rules("P28")
@both
def test_vector_044_quads(rules: Ruleset):
    assert shown(rules, "Ac Ad Ah Kc", "2c 2d 2h 2s").turn == 2


@both
def test_vector_045_next_clockwise_of_an_all_in_leader(rules: Ruleset):
    table = deal(rules, up={1: "9s 9h", 2: "2c 4d", 3: "3c Kd"}, stacks={1: 50})
    table.passively_to(4)
    assert table.hand.all_in[1]
    assert table.turn == 2


@both
@pytest.mark.parametrize(
    ("second", "third", "leader"), [("Qc Td 8h 6s", "2c 7d 5h 3s", 2), ("2d Td 8h 6s", "Kc 7d 5h 3s", 3)]
)
def test_vector_046_the_leader_of_sixth_street_is_gone(rules: Ruleset, second: str, third: str, leader: int):
    table = fifth_street(rules, street=6, up={1: "Ac Kd Jh 9s", 2: second, 3: third})
    assert table.turn == 1
    table.play("1 fold")
    table.passively_to(7)
    assert table.turn == leader


@both
def test_vector_047_one_player_with_chips_is_not_asked(rules: Ruleset):
    called = stack_with(rules, 0)
    table = deal(rules, 3, stacks={1: called, 2: called})
    table.play("1 bring_in", "2 call", f"3 call {bring_in(rules)}")
    assert [a.seat for a in table.events(ev.ActionTaken)] == [1, 2, 3]
    events = table.events()
    after = events[max(i for i, e in enumerate(events) if isinstance(e, ev.ActionTaken)) :]
    assert none(after, ev.TurnStarted)
    assert [d.street for d in table.events(ev.CardsDealt)] == [3, 4, 5, 6, 7]
    assert table.showdown()[0][0] == "shown"
