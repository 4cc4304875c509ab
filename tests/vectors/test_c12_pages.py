"""What the two pages state and no numbered vector shows by itself."""

from __future__ import annotations

from itertools import combinations

import pytest
from phevaluator import evaluate_cards  # type: ignore[import-untyped]

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.presets import PLAYNOW, STAKES, WILLIAM_HILL, half_small_bet, table_config
from stud_core.ruleset import BringInKind, HeadsUp, Ruleset
from tests.support.core_table import knobs, only
from tests.support.table_driver import TableDriver, deal
from tests.vectors.positions import LEADER, both, fifth_street, fourth_street, playnow, william_hill

# --- stakes and antes ----------------------------------------------------------------------------


# Lower limit, higher limit, ante, bring-in of a PlayNow table and of a William Hill one; stakes below 1/2 are ours.
MICRO_STAKES = {(5, 10, 1, 2, 3), (25, 50, 5, 10, 13), (50, 100, 10, 25, 25)}
STAKES_OF_THE_PAGES = {
    (100, 200, 25, 50, 50),
    (200, 400, 25, 100, 100),
    (300, 600, 50, 100, 150),
    (500, 1_000, 50, 200, 250),
    (1_000, 2_000, 100, 300, 500),
    (2_000, 4_000, 200, 500, 1_000),
}


@pytest.mark.rules("P48", "P58", "W5", "W6", "W9")
@pytest.mark.knob("bring_in", BringInKind.PARAMETER, BringInKind.HALF_SMALL_BET)
def test_stakes_from_1_2_to_20_40_with_antes_that_grow_with_them():
    offered = set()
    for small in STAKES:
        p, w = table_config(PLAYNOW, small_bet=small), table_config(WILLIAM_HILL, small_bet=small)
        assert (p.small_bet, p.big_bet, p.ante) == (w.small_bet, w.big_bet, w.ante)
        offered.add((p.small_bet, p.big_bet, p.ante, p.bring_in, w.bring_in))
    assert offered == MICRO_STAKES | STAKES_OF_THE_PAGES


@pytest.mark.rules("P5", "W4")
@both
@pytest.mark.parametrize("ante", [1, 50, 70])
def test_everybody_antes_before_a_card_is_dealt(rules: Ruleset, ante: int):
    events = deal(rules, 4, ante=ante).events()
    antes = [number for number, event in enumerate(events) if isinstance(event, ev.AntePosted)]
    assert [(events[n].seat, events[n].amount) for n in antes] == [(seat, ante) for seat in (1, 2, 3, 4)]
    cards = [number for number, event in enumerate(events) if isinstance(event, ev.CardsDealt)]
    assert max(antes) < min(cards)


@pytest.mark.rules("P6", "P7", "P8")
@both
def test_auto_post_ante_is_switched_on_and_off(rules: Ruleset):
    """Off, he is asked hand after hand; on, it is posted for him; it stays as it is until he changes his mind."""
    table = TableDriver(rules, dict.fromkeys((1, 2, 3), 10_000), prompted=[2])
    before = False
    for auto_post in (False, False, True, True, False):
        if auto_post is not before:
            table.send(cmd.SetPreferences("a2", auto_post=auto_post))
        before = auto_post
        table.start()
        opened = only(table.events(), ev.AntesOpened)
        assert opened.prompted == (() if auto_post else (2,))
        if not auto_post:
            assert {posted.seat for posted in table.events(ev.AntePosted)} == {1, 3}
            table.send(cmd.PostAnte("a2", table.hand.prompts[0].prompt_id))
        assert {posted.seat for posted in table.events(ev.AntePosted)} == {1, 2, 3}
        table.passively_to_the_end()


# --- cards ---------------------------------------------------------------------------------------


@pytest.mark.rules("P12", "P29", "P31", "W7", "W11", "W12")
@both
def test_two_down_one_up_three_up_one_down_and_a_round_after_each(rules: Ruleset):
    table = deal(rules, up=LEADER)
    for street, (down, up) in {3: (2, 1), 4: (2, 2), 5: (2, 3), 6: (2, 4), 7: (3, 4)}.items():
        assert table.hand.street == street
        for seat in table.dealt_in():
            assert (len(table.hand.down[seat]), len(table.hand.up[seat])) == (down, up)
        asked = set()
        while table.running and table.hand.street == street:
            asked.add(table.turn)
            table.passive()
        assert asked == {1, 2, 3, 4}
    assert not table.running


@pytest.mark.knob("burns", True)
@pytest.mark.rules("P11", "P18", "P26", "P28", "P30", "P31")
@playnow
def test_a_burn_before_every_street_but_the_third(rules: Ruleset):
    table = deal(rules, (2, 5, 7))
    table.passively_to_the_end()
    assert table.dealer.burned == [9, 13, 17, 21]
    for street, first in {4: 10, 5: 14, 6: 18, 7: 22}.items():
        places = [table.dealer.places[street, seat] for seat in (2, 5, 7)]
        assert places == [[first], [first + 1], [first + 2]]


@pytest.mark.knob("burns", False)
@william_hill
def test_no_burn_at_all(rules: Ruleset):
    table = deal(rules, (2, 5, 7))
    table.passively_to_the_end()
    assert table.dealer.burned == []
    order = table.dealt_in()
    dealt = [table.dealer.places[street, seat] for street in (4, 5, 6, 7) for seat in order]
    assert dealt == [[position] for position in range(9, 21)]


@pytest.mark.rules("P15", "P16", "W8")
@both
@pytest.mark.parametrize(("lower", "higher"), [("c", "d"), ("d", "h"), ("h", "s")])
def test_suits_go_from_clubs_to_spades(rules: Ruleset, lower: str, higher: str):
    assert deal(rules, up={1: "7" + higher, 2: "7" + lower, 3: "8c"}).turn == 2


@pytest.mark.rules("P13", "W10")
@both
def test_the_low_card_is_asked_for_the_bring_in_first(rules: Ruleset):
    table = deal(rules, up={1: "9h", 2: "Kc", 3: "5d"})
    asked = table.events(ev.TurnStarted)
    assert [turn.seat for turn in asked] == [3]
    assert {option.verb for option in asked[0].options} == {ev.Verb.BRING_IN, ev.Verb.OPEN}
    assert asked[0].deadline_ms == table.now_ms + 10_000
    table.play("3 bring_in")
    assert only(table.events(), ev.ActionTaken).seat == 3


# --- betting -------------------------------------------------------------------------------------


@pytest.mark.rules("P20", "P52")
@both
def test_who_has_the_action_bets_or_checks_to_the_next(rules: Ruleset):
    table = fourth_street(rules, {seat: LEADER[seat] for seat in (1, 2, 3)})
    assert table.legal(1) == {"fold", "check", "bet 500"}
    table.play("1 check")
    assert table.legal(2) == {"fold", "check", "bet 500"}
    table.play("2 check", "3 check")
    assert table.hand.street == 5


@pytest.mark.rules("P27", "P49", "P50", "P51", "P61", "P63", "P64", "P65", "W13", "W14", "W16")
@both
@pytest.mark.parametrize(("street", "bet"), [(3, 500), (4, 500), (5, 1_000), (6, 1_000), (7, 1_000)])
def test_every_bet_and_raise_is_the_bet_of_its_street(rules: Ruleset, street: int, bet: int):
    if street == 3:
        table = deal(rules)
        table.play("1 bring_in", "2 complete 500")
        first, second = 3, 1
    else:
        table = fifth_street(rules, street=street)
        assert table.legal(1) == {"fold", "check", f"bet {bet}"}
        table.play(f"1 bet {bet}")
        first, second = 2, 3
    assert table.legal(first) == {"fold", f"call {bet}", f"raise to {2 * bet}"}
    table.play(f"{first} raise {2 * bet}")
    assert f"raise to {3 * bet}" in table.legal(second)
    other = 1_000 if bet == 500 else 500
    for amount in (2 * bet + other, 2 * bet + 1, 2 * bet, 4 * bet):
        table.refuse(
            f"{second} raise {amount}", {3: "P50", 4: "P61"}.get(street, "P27"), "W14" if bet == 500 else "W16"
        )


@pytest.mark.rules("P27", "P49", "P51", "P58", "P59", "P61", "P63", "P64", "P65", "W13", "W14", "W16")
@both
@pytest.mark.parametrize("limits", [(300, 600), (700, 1_600), (2_000, 4_000)])
def test_the_stakes_of_the_table_are_the_limits_of_its_rounds(rules: Ruleset, limits: tuple[int, int]):
    small, big = limits
    up = {seat: LEADER[seat] for seat in (1, 2, 3)}
    table = deal(rules, up=up, stacks=dict.fromkeys(up, 90_000), limits=limits, bring_in=half_small_bet(small))
    assert table.hand.options[-1].to == small
    table.play("3 bring_in")
    for bet in (small, small, big, big, big):
        for total in (bet, 2 * bet):
            wager = table.hand.options[-1]
            assert wager.to == total
            table.play(f"{table.turn} {wager.verb.name.lower()} {total}")
        for _ in range(2):
            table.play(f"{table.turn} call")


@pytest.mark.rules("P54")
@both
@pytest.mark.parametrize("street", [4, 5, 6, 7])
def test_who_checked_may_raise(rules: Ruleset, street: int):
    table = fifth_street(rules, street=street)
    bet = 500 if street == 4 else 1_000
    table.play("1 check", f"2 bet {bet}", "3 fold", f"1 raise {2 * bet}")
    assert table.bets() == {1: 2 * bet, 2: bet}


@pytest.mark.rules("P56", "W18", "W19")
@pytest.mark.knob("max_raises", 1, 2, 3, 10)
@both
@pytest.mark.parametrize("raises", [1, 2, 3, 10])
def test_a_round_has_one_bet_and_so_many_raises(rules: Ruleset, raises: int):
    capped = knobs(rules, max_raises=raises, heads_up=HeadsUp.NEVER)
    table = fifth_street(capped, behind=dict.fromkeys((1, 2, 3), 50_000))
    table.play("1 bet 1000")
    for number in range(1, raises + 1):
        assert len(table.legal()) == 3
        table.play(f"{table.turn} raise {1_000 * (number + 1)}")
    assert table.hand.wagers == 1 + raises
    assert table.legal() == {"fold", "call 2000"}
    table.refuse(f"{table.turn} raise {1_000 * (raises + 2)}", "P56", "W19")


# --- the end -------------------------------------------------------------------------------------


@pytest.mark.rules("P1", "P46", "W22", "W23")
@both
@pytest.mark.parametrize("seed", range(6))
def test_the_best_five_of_ones_own_seven_win(rules: Ruleset, seed: int):
    """Seven cards ranked as all their 21 choices of five, beside what the table paid."""
    table = deal(rules, 5, up={}, seed=seed)
    table.passively_to(7)
    own = {seat: (*table.hand.up[seat], *table.dealer.open(table.hand.down[seat])) for seat in table.dealt_in()}
    ranks = {seat: min(evaluate_cards(*five) for five in combinations(cards, 5)) for seat, cards in own.items()}
    assert {len(cards) for cards in own.values()} == {7}
    table.passively_to_the_end()
    best = min(ranks.values())
    assert set(table.won()) == {seat for seat, rank in ranks.items() if rank == best}
    assert {shown.seat: shown.rank for shown in table.events(ev.HandShown)}.items() <= ranks.items()


@pytest.mark.rules("W27")
@both
def test_a_new_hand_is_dealt_to_everybody_who_is_ready(rules: Ruleset):
    table = deal(rules, 4)
    table.passively_to_the_end()
    table.start()
    started = [event.hand_no for event in table.history() if isinstance(event, ev.HandStarted)]
    assert started == [1, 2]
    assert set(table.dealt_in()) == {1, 2, 3, 4}
