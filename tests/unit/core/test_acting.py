"""Turns, the naming of actions, why an action is illegal, and the betting knobs off their presets."""

from __future__ import annotations

import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.betting import legal_options
from stud_core.presets import PLAYNOW, WILLIAM_HILL
from stud_core.rejection import Reason, Rejection
from stud_core.ruleset import HeadsUp, OpenPair, Ruleset, ShortAllIn
from tests.support.core_table import FREE, knobs, only
from tests.unit.core.house import House

RULES = knobs(PLAYNOW, **FREE)
HILL = knobs(WILLIAM_HILL, **FREE)
PAIR = {1: "9c 9d Ah Kh", 2: "3h Kd 7c 4s", 3: "4c Jh 8d 6c"}
NO_PAIR = {1: "Ac Kd Jh 9s", 2: "Qc Td 8h 6s", 3: "2c 7d 5h 3s"}


def third(rules: Ruleset = RULES, stacks: object = (1, 2, 3), **options: object) -> House:
    house = House(rules, stacks, **options)  # type: ignore[arg-type]
    house.start()
    return house


def fourth(rules: Ruleset = RULES, up: dict[int, str] = PAIR, stacks: object = (1, 2, 3), street: int = 4) -> House:
    house = third(rules, stacks, up=up)
    house.passive(street=street)
    return house


def offered(house: House, seat: int = 0) -> list[tuple[str, int]]:
    options = legal_options(house.state, seat or house.hand.turn_seat)
    return [(option.verb.name.lower(), option.to) for option in options]


def illegal(house: House, verb: str, to: int | None = None, size: ev.Size | None = None) -> Rejection:
    refusal = house.reject(house.command(verb, to, size))
    assert refusal.reason is Reason.ILLEGAL_ACTION
    assert refusal.legal == house.hand.options
    assert f"({refusal.rule})" in refusal.text
    return refusal


# --- whose turn --------------------------------------------------------------


def test_what_is_to_call():
    """What is missing to the price, or all there is when that is less."""
    house = House(RULES, {1: 10_000, 2: 10_000, 3: 1_450}, up={1: "Ac Kd Jh", 2: "Qc Td 8h", 3: "2c 7d 5h"})
    house.start()
    house.passive(street=5)
    turns = [only(house.act(*action), ev.TurnStarted) for action in ((1, "bet"), (2, "raise"), (3, "call"))]
    assert [(turn.seat, turn.to_call) for turn in turns] == [(2, 1_000), (3, 1_200), (1, 1_000)]


def test_where_the_high_board_is_all_in_the_next_clockwise_is_first():
    house = House(RULES, {1: 10_000, 2: 50, 3: 10_000}, up={1: "2c Td 8h", 2: "Ac Kd Jh", 3: "Qc 7d 5h"})
    house.start()
    house.passive(street=4)
    assert (house.hand.first, house.hand.turn_seat) == (3, 3)


def test_after_a_leaver_the_next_clockwise_acts():
    house = House(RULES, [1, 2, 3, 4], up={1: "5c Td 8h", 2: "Ac Kd Jh", 3: "2c 7d 5h", 4: "4c 9d 3h"})
    house.start()
    house.passive(street=5)
    house.send(cmd.LeaveSeat("a3"))
    events = house.act(2, "check")
    assert [(e.seat, e.verb) for e in events if isinstance(e, ev.ActionTaken)] == [
        (2, ev.Verb.CHECK),
        (3, ev.Verb.CHECK),
    ]
    assert house.hand.turn_seat == 4


def test_opening_options():
    """The low card brings it in, with what it has; who opens in its place may fold too."""
    house = third(stacks={1: 250, 2: 10_000, 3: 10_000})
    assert list(house.hand.options) == [ev.Option(ev.Verb.BRING_IN, 200, 200, None, all_in=True)]
    house = third(stacks={1: 50, 2: 10_000, 3: 10_000})
    assert list(house.hand.options) == [
        ev.Option(ev.Verb.FOLD, 0, 0, None, all_in=False),
        ev.Option(ev.Verb.BRING_IN, 200, 200, None, all_in=False),
        ev.Option(ev.Verb.OPEN, 500, 500, None, all_in=False),
    ]


def test_an_action_says_all_that_changed():
    house = third()
    turn = house.hand.turn_id
    bring_in = only(house.act(1, "bring_in"), ev.ActionTaken)
    assert bring_in == ev.ActionTaken(
        turn, 1, ev.Verb.BRING_IN, 200, 200, None, all_in=False, counts=False, stack=9_750, by=ev.By.PLAYER
    )
    turn = house.hand.turn_id
    complete = only(house.act(2, "complete"), ev.ActionTaken)
    assert complete == ev.ActionTaken(
        turn, 2, ev.Verb.COMPLETE, 500, 500, None, all_in=False, counts=True, stack=9_450, by=ev.By.PLAYER
    )


def test_out_of_turn():
    house = third()
    turn = house.hand.turn_id
    assert house.reject(cmd.Act("a2", turn, ev.Verb.FOLD)).reason is Reason.NOT_YOUR_TURN
    assert house.reject(cmd.Act("nobody", turn, ev.Verb.FOLD)).reason is Reason.NOT_SEATED
    stale = house.reject(cmd.Act("a1", turn - 1, ev.Verb.BRING_IN))
    assert (stale.reason, stale.turn_id) == (Reason.STALE_TURN, turn)
    house.play("1 bring_in, 2 fold, 3 fold")
    assert house.reject(cmd.Act("a1", turn, ev.Verb.FOLD)).reason is Reason.NOT_YOUR_TURN
    house.tick(10_000)
    assert house.reject(cmd.Act("a1", turn, ev.Verb.FOLD)).reason is Reason.NO_HAND
    assert house.reject(cmd.Act("nobody", turn, ev.Verb.FOLD)).reason is Reason.NOT_SEATED


def test_the_deadline_is_the_last_moment():
    house = third()
    house.now_ms = house.hand.deadline_ms + 1
    late = house.reject(house.command("bring_in"))
    assert (late.reason, late.rule) == (Reason.DEADLINE_PASSED, "B.18")
    house.now_ms -= 1
    house.act(1, "bring_in")


def test_other_commits_do_not_change_the_turn():
    house = third()
    turn = house.hand.turn_id
    house.send(cmd.SetPreferences("a2", muck_losing=False))
    house.send(cmd.SitOut("a3"))
    assert house.hand.turn_id == turn
    house.act(1, "bring_in")


def test_a_pre_action_is_marked():
    house = third(HILL)
    while house.hand.turn_seat != 1:
        house.passive(street=3)
    act = cmd.Act("a1", house.hand.turn_id, ev.Verb.BRING_IN, by_pre_action=True)
    assert only(house.send(act), ev.ActionTaken).by is ev.By.PRE_ACTION


# --- naming an action --------------------------------------------------------


def test_the_amount_may_be_left_out_where_there_is_one():
    house = third()
    house.act(1, "bring_in")
    house.act(2, "complete")
    assert house.hand.level == 500
    house.act(3, "raise", 1_000, ev.Size.LOW)
    house.act(1, "call")
    house.act(2, "call")
    house.passive(street=5)
    house.act(house.hand.turn_seat, "bet", 1_000, ev.Size.HIGH)


def test_a_size_that_is_not_in_force_is_refused():
    house = fourth(up=NO_PAIR)
    assert illegal(house, "bet", 1_000, ev.Size.HIGH).rule == "P61"
    assert illegal(house, "bet", 500, ev.Size.HIGH).rule == "P61"
    house.act(1, "bet", 500, ev.Size.LOW)


def test_two_sizes_need_a_word():
    house = fourth()
    assert "must be said" in illegal(house, "bet").text
    assert illegal(fourth(HILL), "bet").rule == "W15"
    house.act(1, "bet", None, ev.Size.HIGH)
    assert house.hand.locked


def test_an_all_in_may_be_of_either_size():
    house = fourth(stacks={1: 650, 2: 10_000, 3: 10_000})
    assert offered(house) == [("fold", 0), ("check", 0), ("bet", 400), ("bet", 400)]
    illegal(house, "bet", 400)
    house.act(1, "bet", 400, ev.Size.LOW)
    assert (house.hand.wagers, house.hand.locked, house.hand.full_level) == (1, False, 400)


# --- why not -----------------------------------------------------------------


@pytest.mark.parametrize("verb", ["fold", "check", "call"])
@pytest.mark.parametrize(("rules", "rule"), [(RULES, "P58"), (HILL, "W8")])
def test_the_low_card_must_bring_it_in(verb: str, rules: Ruleset, rule: str):
    house = third(rules)
    while house.hand.turn_seat != 1:
        house.passive(street=3)
    assert illegal(house, verb).rule == rule


@pytest.mark.parametrize(
    ("before", "verb", "to", "rule"),
    [
        ("", "raise", 500, "P58"),
        ("", "open", 600, "P58"),
        ("", "bring_in", 100, "P58"),
        ("1 bring_in", "bring_in", None, "P58"),
        ("1 bring_in", "check", None, "P53"),
        ("1 bring_in", "raise", 1_000, "P59"),
        ("1 bring_in", "complete", 1_000, "P59"),
        ("1 bring_in", "call", 500, "P51"),
        ("1 bring_in, 2 complete, 3 raise, 1 raise, 2 raise", "raise", 2_500, "P56"),
    ],
)
def test_third_street(before: str, verb: str, to: int | None, rule: str):
    house = third()
    if before:
        house.play(before)
    assert illegal(house, verb, to).rule == rule


def test_the_cap_of_the_other_page():
    house = third(HILL)
    house.play("1 bring_in, 2 complete, 3 raise, 1 raise, 2 raise")
    refusal = illegal(house, "raise", 2_500)
    assert refusal.rule == "W19"
    assert refusal.text == (
        "raise to 2500 is not allowed: the cap of 3 raises is reached (W19); legal: fold, call 1000"
    )


def test_the_brief_of_a_locked_fourth_street():
    house = fourth()
    house.act(1, "bet", 500)
    house.act(2, "raise", 1_500, ev.Size.HIGH)
    refusal = illegal(house, "raise", 2_000)
    assert refusal.rule == "P24"
    assert refusal.text == (
        "raise to 2000 is not allowed: after a big bet on fourth street raises are by 1000 (P24); "
        "legal: fold, call 1500, raise to 2500"
    )


@pytest.mark.parametrize(
    ("street", "up", "verb", "to", "rule"),
    [
        (4, PAIR, "bet", 700, "P62"),
        (4, PAIR, "call", None, "P52"),
        (4, PAIR, "raise", 500, "P20"),
        (4, NO_PAIR, "bet", 700, "P61"),
        (5, NO_PAIR, "bet", 500, "P27"),
        (5, NO_PAIR, "bring_in", None, "P58"),
    ],
)
def test_later_streets(street: int, up: dict[int, str], verb: str, to: int | None, rule: str):
    assert illegal(fourth(up=up, street=street), verb, to).rule == rule


def test_nobody_could_answer():
    """Heads-up on fifth street, seat 2 all-in with his bet: only a call is left."""
    house = House(RULES, {1: 10_000, 2: 1_250}, up={1: "2c 7d 5h", 2: "Ac Kd Jh"})
    house.start()
    house.passive(street=5)
    house.act(2, "bet")
    assert illegal(house, "raise", 2_000).rule == "B.6"


def test_no_chips_for_more():
    house = House(RULES, {1: 750, 2: 10_000, 3: 10_000}, up=NO_PAIR | {1: "2c 7d 5h", 3: "Ac Kd Jh"})
    house.start()
    house.passive(street=5)
    while house.hand.turn_seat != 3:
        house.passive(street=5)
    house.act(3, "bet")
    assert offered(house) == [("fold", 0), ("call", 500)]
    assert illegal(house, "raise", 2_000).rule == "B.19"


def test_not_reopened():
    house = House(RULES, {1: 10_000, 2: 1_550, 3: 10_000}, up={1: "Ac Kd Jh", 2: "Qc Td 8h", 3: "2c 7d 5h"})
    house.start()
    house.passive(street=5)
    house.act(1, "bet")
    house.act(2, "raise", 1_300)
    house.act(3, "call")
    assert offered(house) == [("fold", 1_000), ("call", 1_300)]
    assert illegal(house, "raise", 2_300).rule == "B.8"


def test_optional_bring_in():
    house = third(stacks={1: 50, 2: 10_000, 3: 10_000, 4: 10_000})
    assert offered(house, 2) == [("fold", 0), ("bring_in", 200), ("open", 500)]
    assert illegal(house, "check").rule == "B.4"
    assert illegal(house, "call").rule == "B.4"
    house.play("2 fold, 3 fold")
    # Nobody else has chips: the last one is not asked, the hand is dealt out.
    assert house.happened(ev.HandEnded)


def test_an_optional_bring_in_for_less():
    house = third(stacks={1: 50, 2: 150, 3: 10_000, 4: 10_000})
    assert offered(house) == [("fold", 0), ("bring_in", 100)]
    house.act(2, "bring_in")
    assert offered(house) == [("fold", 0), ("call", 200), ("complete", 500)]


def test_the_price_of_a_short_bring_in_comes_back_uncalled():
    house = House(RULES, {1: 150, 2: 10_000})
    house.start()
    house.play("1 bring_in")
    assert offered(house) == [("fold", 0), ("call", 200)]
    assert only(house.act(2, "call"), ev.UncalledReturned) == ev.UncalledReturned(2, 100, 9_850)


# --- knobs -------------------------------------------------------------------


@pytest.mark.knob("completion_counts_as_raise", True)
def test_a_completion_may_count_as_a_raise():
    house = third(knobs(RULES, completion_counts_as_raise=True))
    house.play("1 bring_in, 2 complete, 3 raise, 1 raise")
    assert (house.hand.level, house.hand.wagers) == (1_500, 4)
    assert offered(house) == [("fold", 500), ("call", 1_500)]
    house = third(knobs(RULES, completion_counts_as_raise=True))
    house.play("1 open, 2 raise, 3 raise, 1 raise")
    assert (house.hand.level, house.hand.wagers) == (2_000, 4)


@pytest.mark.knob("short_all_in", ShortAllIn.HALF_BET, ShortAllIn.FULL_BET, ShortAllIn.ANY)
@pytest.mark.parametrize(
    ("rule", "total", "counts"),
    [
        (ShortAllIn.HALF_BET, 1_499, False),
        (ShortAllIn.HALF_BET, 1_500, True),
        (ShortAllIn.FULL_BET, 1_500, False),
        (ShortAllIn.FULL_BET, 1_999, False),
        (ShortAllIn.FULL_BET, 2_000, True),
        (ShortAllIn.ANY, 1_001, True),
    ],
)
def test_what_an_all_in_for_less_is_worth(rule: ShortAllIn, total: int, counts: bool):
    """On a bet of 1,000; what counts is raised by 1,000 more, else only who has not acted may make it 2,000."""
    up = {1: "Ac Kd Jh", 2: "Qc Td 8h", 3: "2c 7d 5h"}
    house = House(knobs(RULES, short_all_in=rule), {1: 10_000, 2: 250 + total, 3: 10_000}, up=up)
    house.start()
    house.passive(street=5)
    house.act(1, "bet")
    house.act(2, "raise", total)
    again = ("raise", total + 1_000)
    assert offered(house)[-1] == (again if counts else ("complete", 2_000))
    house.act(3, "call")
    assert offered(house) == [("fold", 1_000), ("call", total)] + [again] * counts


def test_an_all_in_below_the_bring_in_is_a_bet_where_any_is():
    """A small level completes the bring-in on third street only."""
    up = {1: "Ac Kd", 2: "Qc Td", 3: "2c 7d"}
    house = House(knobs(RULES, short_all_in=ShortAllIn.ANY), {1: 400, 2: 10_000, 3: 10_000}, up=up)
    house.start()
    house.passive(street=4)
    house.act(1, "bet", 150)
    assert offered(house) == [("fold", 0), ("call", 150), ("raise", 650)]


def test_a_small_bet_that_lies_there_already_is_no_wager():
    """All-in for the small bet, declared big: it is completed to the big one only."""
    house = fourth(knobs(RULES, short_all_in=ShortAllIn.FULL_BET), stacks={1: 750, 2: 10_000, 3: 10_000})
    house.act(1, "bet", 500, ev.Size.HIGH)
    assert (house.hand.level, house.hand.full_level) == (500, 0)
    assert offered(house) == [("fold", 0), ("call", 500), ("complete", 1_000)]


def test_only_what_takes_the_last_chips_is_all_in():
    house = House(RULES, {1: 1_250, 2: 10_000}, up={1: "Ac Kd Jh", 2: "2c Td 8h"})
    house.start()
    house.passive(street=5)
    assert list(house.hand.options) == [
        ev.Option(ev.Verb.FOLD, 0, 0, None, all_in=False),
        ev.Option(ev.Verb.CHECK, 0, 0, None, all_in=False),
        ev.Option(ev.Verb.BET, 1_000, 1_000, None, all_in=True),
    ]
    house.act(1, "check")
    house.act(2, "bet")
    assert list(house.hand.options) == [
        ev.Option(ev.Verb.FOLD, 0, 0, None, all_in=False),
        ev.Option(ev.Verb.CALL, 1_000, 1_000, None, all_in=True),
    ]


@pytest.mark.knob("short_all_in", ShortAllIn.FULL_BET)
@pytest.mark.parametrize(("to", "full_level", "wagers"), [(1_900, 1_000, 1), (1_999, 1_000, 1), (2_000, 2_000, 2)])
def test_full_bets_only(to: int, full_level: int, wagers: int):
    up = {1: "Ac Kd Jh", 2: "Qc Td 8h", 3: "2c 7d 5h"}
    house = House(knobs(RULES, short_all_in=ShortAllIn.FULL_BET), {1: 10_000, 2: 250 + to, 3: 10_000}, up=up)
    house.start()
    house.passive(street=5)
    house.act(1, "bet")
    house.act(2, "raise", to)
    assert house.at(2).stack == 0
    assert (house.hand.level, house.hand.full_level, house.hand.wagers) == (to, full_level, wagers)


@pytest.mark.rules("P22")
@pytest.mark.knob("open_pair", OpenPair.HOLDER_ONLY)
def test_only_the_holder_of_the_pair():
    house = fourth(knobs(RULES, open_pair=OpenPair.HOLDER_ONLY))
    assert [option.size for option in house.hand.options[2:]] == [ev.Size.LOW, ev.Size.HIGH]
    house.act(1, "check")
    assert offered(house) == [("fold", 0), ("check", 0), ("bet", 500)]
    house.act(2, "bet")
    assert offered(house)[2:] == [("raise", 1_000)]
    house.act(3, "call")
    house.act(1, "raise", 1_500)
    assert offered(house)[2:] == [("raise", 2_500)], "after a big bet everybody raises big"


@pytest.mark.rules("P22")
@pytest.mark.knob("open_pair", OpenPair.HOLDER_ONLY)
def test_every_holder_of_a_pair_bets_by_either_limit():
    up = {1: "9c 9d Ah Kh", 2: "2c Kd 7c 4s", 3: "8c 8d 5d 6c"}
    house = fourth(knobs(RULES, open_pair=OpenPair.HOLDER_ONLY), up=up)
    assert offered(house)[2:] == [("bet", 500), ("bet", 1_000)]
    house.act(1, "check")
    assert offered(house)[2:] == [("bet", 500)]
    house.act(2, "check")
    assert offered(house)[2:] == [("bet", 500), ("bet", 1_000)]
    house.act(3, "bet", 500)
    assert offered(house)[2:] == [("raise", 1_000), ("raise", 1_500)]


@pytest.mark.knob("open_pair", OpenPair.OFF)
def test_no_option_at_all():
    house = fourth(knobs(RULES, open_pair=OpenPair.OFF))
    assert offered(house)[2:] == [("bet", 500)]
    assert house.hand.options[2].size is None


def spread(first: int) -> House:
    """Limits of 100 and 500, an open pair at seat 1, who has ``first`` left on fourth street."""
    house = House(
        RULES, {1: 100 + first, 2: 10_000, 3: 10_000}, up=PAIR, small_bet=100, big_bet=500, ante=50, bring_in=50
    )
    house.start()
    house.passive(street=4)
    return house


def test_a_big_all_in_raise_is_measured_by_the_big_bet():
    for stack, full in ((350, 350), (300, 100)):
        house = spread(stack)
        house.act(1, "check")
        house.act(2, "bet", 100)
        house.act(3, "call")
        house.act(1, "raise", stack, ev.Size.HIGH)
        assert (house.hand.level, house.hand.full_level) == (stack, full)
        assert ("raise" in dict(offered(house))) == (full == 350)


def test_a_small_size_below_the_price_is_not_offered():
    """With a big bet of more than two small ones an all-in declared big can pass the small size and be short."""
    house = spread(150)
    house.act(1, "bet", 150, ev.Size.HIGH)
    assert (house.hand.level, house.hand.full_level) == (150, 0)
    assert offered(house) == [("fold", 0), ("call", 150), ("complete", 500)]


@pytest.mark.knob("heads_up_counts_all_in", False, True)
@pytest.mark.parametrize(
    ("heads_up", "all_in_counts", "legal"),
    [
        (HeadsUp.TWO_REMAIN_BEFORE_CAP, False, True),
        (HeadsUp.TWO_REMAIN_BEFORE_CAP, True, False),
        (HeadsUp.ROUND_START, False, False),
        (HeadsUp.HAND_START, False, False),
        (HeadsUp.NEVER, False, False),
    ],
)
def test_the_cap_with_a_third_player_all_in(heads_up: HeadsUp, all_in_counts: bool, legal: bool):
    up = {1: "Ac Kd Jh", 2: "Qc Td 8h", 3: "2c 7d 5h"}
    rules = knobs(RULES, heads_up=heads_up, heads_up_counts_all_in=all_in_counts)
    house = House(rules, {1: 10_000, 2: 10_000, 3: 1_250}, up=up)
    house.start()
    house.passive(street=5)
    house.play("1 bet, 2 raise, 3 call, 1 raise, 2 raise")
    assert (("raise", 5_000) in offered(house)) == legal


def test_the_cap_is_looked_at_when_it_is_reached():
    """Three bet and raise; only two are left when the last raise is made, so it is not the last."""
    rules = knobs(RULES, heads_up=HeadsUp.TWO_REMAIN_BEFORE_CAP)
    house = House(rules, [1, 2, 3], up={1: "Ac Kd Jh", 2: "Qc Td 8h", 3: "2c 7d 5h"})
    house.start()
    house.passive(street=5)
    house.play("1 bet, 2 raise, 3 raise, 1 fold")
    assert not house.hand.uncapped
    house.play("2 raise, 3 raise, 2 raise")
    assert house.hand.level == 6_000


@pytest.mark.knob("heads_up", HeadsUp.ROUND_START, HeadsUp.HAND_START)
@pytest.mark.parametrize(
    ("heads_up", "players", "uncapped"),
    [
        (HeadsUp.ROUND_START, [1, 2], True),
        (HeadsUp.ROUND_START, [1, 2, 3], True),
        (HeadsUp.HAND_START, [1, 2], True),
        (HeadsUp.HAND_START, [1, 2, 3], False),
    ],
)
def test_a_round_that_begins_heads_up_has_no_cap(heads_up: HeadsUp, players: list[int], uncapped: bool):
    """Of three players one folds on fourth street: fifth street begins heads up, the hand did not."""
    house = House(knobs(RULES, heads_up=heads_up), players, up={1: "Ac Kd Jh", 2: "2c Td 8h", 3: "3d 7s 4h"})
    house.start()
    house.passive(street=4)
    if 3 in players:
        house.play("1 bet, 2 call, 3 fold")
    house.passive(street=5)
    house.play("1 bet, 2 raise, 1 raise, 2 raise")
    assert (offered(house)[-1] == ("raise", 5_000)) is uncapped
    assert house.hand.uncapped is uncapped


@pytest.mark.knob("away_folds_now", True)
def test_away_players_fold_at_their_turn():
    house = third(knobs(RULES, away_folds_now=True))
    house.send(cmd.SitOut("a3"))
    house.play("1 bring_in, 2 call")
    assert not house.hand.live[3]
    last = house.happened(ev.ActionTaken)[-1]
    assert (last.seat, last.verb, last.by) == (3, ev.Verb.FOLD, ev.By.LEAVING)
    # On his own turn it is at once, also where checking is free.
    seat = house.hand.turn_seat
    assert house.hand.to_call == 0
    turn = house.hand.turn_id
    events = house.send(cmd.SitOut(f"a{seat}"))
    action = only(events, ev.ActionTaken)
    assert (action.verb, action.turn_id) == (ev.Verb.FOLD, turn)
    assert only(events, ev.ShowPrompted).kind is ev.PromptKind.UNCALLED_WINNER, "the last one in has won"


@pytest.mark.knob("away_folds_now", True)
@pytest.mark.parametrize("away_folds_now", [True, False])
def test_who_only_missed_their_clock_has_their_turns_in_this_hand(away_folds_now: bool):
    """B.18: he sits out from the next hand on; to fold at once is for who pressed Sit Out."""
    house = fourth(knobs(RULES, away_folds_now=away_folds_now), up={1: "Ac Kd Qh", 2: "2c Td 8h", 3: "3d 7s 4h"})
    assert house.hand.turn_seat == 1
    house.now_ms = house.hand.deadline_ms + 1
    house.tick()
    assert house.state.at(1).out_reason is ev.OutReason.MISSED_ACTION
    house.play("2 check, 3 check")
    assert (house.hand.street, house.hand.turn_seat) == (5, 1)
    house.play("1 bet")


def test_where_both_limits_are_the_same_an_open_pair_changes_nothing():
    house = House(RULES, (1, 2, 3), up=PAIR, big_bet=500)
    house.start()
    house.passive(street=4)
    assert offered(house) == [("fold", 0), ("check", 0), ("bet", 500)]
    text = house.reject(house.command("bet", 1_000)).text
    assert (
        text == "bet to 1000 is not allowed: on fourth street wagers are by 500 (P61); legal: fold, check, bet to 500"
    )
    house.play("1 bet, 2 raise")
    assert house.hand.level == 1_000


def test_the_cap_of_one_raise_is_said_in_the_singular():
    flat = {1: "Ac Kd Qh", 2: "2c Td 8h", 3: "3d 7s 4h"}
    house = fourth(knobs(RULES, max_raises=1, heads_up=HeadsUp.NEVER), up=flat)
    house.play("1 bet, 2 raise")
    assert "the cap of 1 raise is reached" in house.reject(house.command("raise")).text


@pytest.mark.rules("P9")
@pytest.mark.knob("away_folds_now", False)
@pytest.mark.parametrize("on_turn", [False, True])
def test_sitting_out_in_a_hand_keeps_the_clock(on_turn: bool):
    house = third()
    if on_turn:
        house.act(1, "bring_in")
    house.send(cmd.SitOut("a2"))
    if not on_turn:
        house.act(1, "bring_in")
    assert (house.hand.turn_seat, house.hand.deadline_ms) == (2, house.now_ms + 10_000)
    house.act(2, "call")
