"""Rule vectors C.5: the cap, and two players left (rows 63-70)."""

import pytest

from stud_core.ruleset import HeadsUp, Ruleset
from tests.support.core_table import knobs
from tests.support.table_driver import TableDriver
from tests.vectors.positions import both, fifth_street, playnow, william_hill


def alternately(table: TableDriver, wagers: int, seats: tuple[int, int] = (1, 2)) -> None:
    """Bet and raises by turns, 1000 each."""
    table.play(f"{seats[0]} bet 1000")
    for number in range(2, wagers + 1):
        table.play(f"{seats[(number - 1) % 2]} raise {number * 1000}")


@pytest.mark.rules("P57")
@playnow
def test_vector_063_heads_up_is_uncapped(rules: Ruleset):
    table = fifth_street(rules, 2)
    alternately(table, 8)
    assert table.hand.wagers == 8
    assert table.hand.level == 8000
    assert table.legal(1) == {"fold", "call 1000", "raise to 9000"}
    table.play("1 raise 9000")
    assert table.bets() == {1: 9000, 2: 8000}


@pytest.mark.rules("W18", "W19")
@pytest.mark.knob("heads_up", HeadsUp.NEVER)
@william_hill
def test_vector_064_never_uncapped(rules: Ruleset):
    table = fifth_street(rules, 2)
    alternately(table, 4)
    assert (table.hand.level, table.hand.wagers) == (4000, 4)
    assert table.legal(1) == {"fold", "call 1000"}
    table.refuse("1 raise 5000", "W19")


def at_the_cap(rules: Ruleset, players: int, street: int) -> set[str]:
    """What is legal after a bet and three raises."""
    table = fifth_street(rules, players, street=street)
    for _ in range(4):
        wager = table.hand.options[-1]
        table.play(f"{table.turn} {wager.verb.name.lower()} {wager.to}")
    assert table.hand.wagers == 4
    return {option.split()[0] for option in table.legal()}


@pytest.mark.rules("P56", "W18", "W19")
@both
@pytest.mark.parametrize("street", [3, 4, 5, 6, 7])
def test_three_raises_are_the_last_in_every_round(rules: Ruleset, street: int):
    assert at_the_cap(rules, 3, street) == {"fold", "call"}


@pytest.mark.rules("P57")
@playnow
@pytest.mark.parametrize("street", [3, 4, 5, 6, 7])
def test_two_players_raise_on_in_every_round(rules: Ruleset, street: int):
    assert at_the_cap(rules, 2, street) == {"fold", "call", "raise"}


@pytest.mark.rules("W18", "W19")
@pytest.mark.knob("heads_up", HeadsUp.NEVER)
@william_hill
@pytest.mark.parametrize("street", [3, 4, 5, 6, 7])
def test_two_players_have_the_same_cap_in_every_round(rules: Ruleset, street: int):
    assert at_the_cap(rules, 2, street) == {"fold", "call"}


def two_remain_before_the_cap(rules: Ruleset) -> TableDriver:
    """Three live: S1 bet, S2 raise, S3 fold, S1 raise, S2 raise."""
    table = fifth_street(rules)
    table.play("1 bet 1000", "2 raise 2000", "3 fold", "1 raise 3000", "2 raise 4000")
    assert table.hand.wagers == 4
    return table


@pytest.mark.rules("P57")
@pytest.mark.knob("heads_up", HeadsUp.TWO_REMAIN_BEFORE_CAP)
@playnow
def test_vector_065_two_remain_before_the_cap(rules: Ruleset):
    table = two_remain_before_the_cap(rules)
    table.play("1 raise 5000")
    assert table.hand.wagers == 5
    assert table.bets() == {1: 5000, 2: 4000}
    assert table.legal(2) == {"fold", "call 1000", "raise to 6000"}


@pytest.mark.rules("P56")
@pytest.mark.knob("heads_up", HeadsUp.TWO_REMAIN_BEFORE_CAP)
@playnow
def test_vector_066_a_fold_does_not_lift_the_cap(rules: Ruleset):
    table = fifth_street(rules)
    table.play("1 bet 1000", "2 raise 2000", "3 raise 3000", "1 raise 4000", "2 fold")
    assert table.hand.wagers == 4
    assert table.legal(3) == {"fold", "call 1000"}
    table.refuse("3 raise 5000", "P56")


@pytest.mark.rules("P57")
@pytest.mark.knob("heads_up_counts_all_in", False)
@playnow
def test_vector_067_an_all_in_third_player_does_not_count(rules: Ruleset):
    table = fifth_street(rules, behind={3: 1000})
    table.play("1 bet 1000", "2 raise 2000", "3 call 1000", "1 raise 3000", "2 raise 4000")
    assert table.hand.wagers == 4
    assert table.legal(1) == {"fold", "call 1000", "raise to 5000"}
    table.play("1 raise 5000")
    assert table.hand.wagers == 5


@pytest.mark.knob("heads_up", HeadsUp.ROUND_START)
@playnow
def test_vector_068_knob_round_start(rules: Ruleset):
    table = two_remain_before_the_cap(knobs(rules, heads_up=HeadsUp.ROUND_START))
    table.refuse("1 raise 5000", "P56")
    assert table.legal(1) == {"fold", "call 1000"}


@pytest.mark.knob("heads_up", HeadsUp.ROUND_START)
@playnow
def test_vector_068_a_round_that_begins_with_two_has_no_cap(rules: Ruleset):
    """Three were dealt in: a hand that had to begin with two would keep its cap."""
    table = fifth_street(knobs(rules, heads_up=HeadsUp.ROUND_START))
    table.play("1 bet 1000", "2 call", "3 fold")
    assert table.hand.street == 6
    alternately(table, 5)
    assert table.legal(2) == {"fold", "call 1000", "raise to 6000"}


@pytest.mark.knob("heads_up", HeadsUp.ROUND_START)
@pytest.mark.knob("heads_up_counts_all_in", False, True)
@playnow
@pytest.mark.parametrize("counts", [False, True])
def test_vector_068_whether_a_third_player_all_in_begins_the_round_too(rules: Ruleset, counts: bool):
    turned = knobs(rules, heads_up=HeadsUp.ROUND_START, heads_up_counts_all_in=counts)
    table = fifth_street(turned, behind={3: 0})
    alternately(table, 4)
    capped = {"fold", "call 1000"}
    assert table.legal(1) == (capped if counts else capped | {"raise to 5000"})


@pytest.mark.knob("heads_up", HeadsUp.HAND_START)
@playnow
@pytest.mark.parametrize("players", [3, 2])
def test_vector_069_knob_hand_start(rules: Ruleset, players: int):
    table = fifth_street(knobs(rules, heads_up=HeadsUp.HAND_START), players)
    if players == 3:
        table.play("1 bet 1000", "2 call", "3 fold")
    else:
        table.play("1 check", "2 check")
    assert table.hand.street == 6
    alternately(table, 4)
    capped = {"fold", "call 1000"}
    # The hand that began with two is the other side of the same knob.
    assert table.legal(1) == (capped if players == 3 else capped | {"raise to 5000"})


@both
def test_vector_070_nobody_left_to_answer_a_raise(rules: Ruleset):
    table = fifth_street(rules, behind={1: 1000, 3: 0})
    table.play("1 bet 1000")
    assert table.hand.all_in[1]
    assert table.hand.all_in[3]
    assert table.legal(2) == {"fold", "call 1000"}
    table.refuse("2 raise 2000", "B.6")
