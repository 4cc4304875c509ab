"""Showdowns, show prompts, who must show, who is paid, and the rake."""

from __future__ import annotations

import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.cards import parse_cards
from stud_core.decide import decide
from stud_core.evolve import evolve
from stud_core.presets import PLAYNOW
from stud_core.rejection import Reason, Rejection
from stud_core.ruleset import OddUnits
from stud_core.state import Phase, Table
from tests.support.core_table import FREE, kinds, knobs, only
from tests.unit.core.house import House

RULES = knobs(PLAYNOW, **FREE)
UP = {1: "Ac Kd Jh 9s", 2: "Qc Td 8h 6s", 3: "2c 7d 5h 3s"}
DOWN = {1: "As Ad 3h", 2: "Qd 4c 2h", 3: "7c Kh Ts"}  # aces, queens, sevens


def river(showing: tuple[int, ...] = (), **changes: object) -> House:
    """Three players checked to the river; seat 1 is first to act and has the best hand."""
    house = House(knobs(RULES, **changes), up=UP, down=DOWN)
    for seat in (1, 2, 3):
        house.sit(seat, muck_losing=seat not in showing)
    house.start()
    house.passive(street=7)
    return house


def wanting() -> tuple[House, Table]:
    """The state inside the commit whose last action closed the river."""
    house = river()
    house.play("1 bet, 2 call")
    events = decide(house.state, house.command("call"), house.ctx())
    assert isinstance(events, list)
    state = evolve(house.state, events, house.state.version + 1)
    assert state.wants_showdown
    assert state.running.pots == ((3_750, (1, 2, 3)),)
    return house, state


def test_showdown_in_the_commit_of_the_last_action():
    house = river()
    house.play("1 bet, 2 call")
    events = house.play("3 call")
    assert kinds(events) == ["ActionTaken", "HandShown", "HandMucked", "HandMucked", "PotAwarded", "HandEnded"]
    shown = only(events, ev.HandShown)
    assert (shown.seat, shown.cards) == (1, parse_cards("As Ad 3h"))
    ended = only(events, ev.HandEnded)
    assert ended.stacks == (ev.SeatStack(1, 1, 12_500), ev.SeatStack(2, 2, 8_750), ev.SeatStack(3, 3, 8_750))
    assert [d.delta for d in ended.deltas] == [2_500, -1_250, -1_250]
    assert ended.from_version == 1
    assert house.state.from_version == house.state.version + 1
    assert house.state.ended_at_version == house.state.version


def test_only_the_cards_of_this_showdown_will_do():
    house, state = wanting()
    hand = state.running
    right = {seat: house.clear(hand, seat) for seat in (1, 2, 3)}
    every, down = "a showdown takes the cards of every live seat", "a showdown takes every down card"
    twice, none = "a card is there twice", "there is no such card"
    wrong: list[tuple[dict[int, tuple[int, ...]], str]] = [
        ({}, every),
        ({1: right[1], 2: right[2]}, every),
        ({1: right[1], 2: right[2], 4: right[3]}, every),
        (right | {4: (0, 1, 2)}, every),
        (right | {3: right[3][:2]}, down),
        (right | {3: right[2]}, twice),
        (right | {3: (right[3][0], right[3][1], hand.up[1][0])}, twice),
        (right | {3: (right[3][0], right[3][1], 52)}, none),
        (right | {3: (right[3][0], right[3][1], -1)}, none),
        (dict.fromkeys(right, (5, 5, 5)), twice),
    ]
    for cards, text in wrong:
        answer = decide(state, cmd.Showdown(cards), house.ctx())
        assert isinstance(answer, Rejection)
        assert (answer.reason, answer.text) == (Reason.UNEXPECTED_CARDS, text)
    assert isinstance(decide(state, cmd.Showdown(right), house.ctx()), list)


def test_a_showdown_only_when_it_is_wanted():
    assert river().reject(cmd.Showdown({})).reason is Reason.UNEXPECTED_CARDS
    assert House(RULES).reject(cmd.Showdown({})).reason is Reason.UNEXPECTED_CARDS


def test_losers_who_do_not_muck_are_asked_all_at_once():
    house = river(showing=(2, 3))
    house.play("1 bet, 2 call")
    events = house.play("3 call")
    assert kinds(events) == ["ActionTaken", "HandShown", "ShowPrompted", "ShowPrompted", "PotAwarded"]
    prompts = [e for e in events if isinstance(e, ev.ShowPrompted)]
    version = house.state.version
    assert prompts == [ev.ShowPrompted(version, seat, ev.PromptKind.LOSER, house.now_ms + 10_000) for seat in (2, 3)]
    assert house.hand.phase is Phase.SHOW_PROMPTS
    assert house.hand.pots == ()

    cards = house.clear(house.hand, 3)
    assert house.reject(cmd.ChooseShow("a1", version, show=False)).reason is Reason.NO_PROMPT
    assert house.reject(cmd.ChooseShow("nobody", version, show=False)).reason is Reason.NOT_SEATED
    assert house.reject(cmd.ChooseShow("a3", version - 1, show=False)).reason is Reason.STALE_PROMPT
    for wrong in ((), cards[:2], (*cards[:2], house.hand.up[1][0]), (*cards[:2], cards[0])):
        assert house.reject(cmd.ChooseShow("a3", version, show=True, cards=wrong)).reason is Reason.UNEXPECTED_CARDS

    shown = only(house.send(cmd.ChooseShow("a3", version, show=True, cards=cards)), ev.HandShown)
    assert shown.cards == cards
    assert shown.rank > 0
    assert house.hand.shown[3] == cards
    assert kinds(house.send(cmd.ChooseShow("a2", version, show=False))) == ["HandMucked", "HandEnded"]
    assert house.reject(cmd.ChooseShow("a2", version, show=False)).reason is Reason.NO_PROMPT


def test_the_last_answer_may_be_to_show():
    house = river(showing=(2,))
    house.play("1 bet, 2 call, 3 fold")
    prompt = house.hand.prompts[0]
    shown = house.send(cmd.ChooseShow("a2", prompt.prompt_id, show=True, cards=house.clear(house.hand, 2)))
    assert kinds(shown) == ["HandShown", "HandEnded"]


def test_an_answer_after_the_deadline():
    house = river(showing=(2,))
    house.play("1 bet, 2 call, 3 fold")
    prompt = house.hand.prompts[0]
    house.now_ms = prompt.deadline_ms + 1
    assert house.reject(cmd.ChooseShow("a2", prompt.prompt_id, show=False)).reason is Reason.DEADLINE_PASSED
    assert kinds(house.tick()) == ["HandMucked", "HandEnded"]
    assert not house.at(2).sitting_out, "only actions, bring-ins and antes sit a player out"


def test_a_leaving_loser_mucks():
    house = river(showing=(2, 3))
    house.play("1 bet, 2 call")
    house.send(cmd.LeaveSeat("a2"))
    events = house.play("3 call")
    assert [e.seat for e in events if isinstance(e, ev.HandMucked)] == [2]
    assert only(events, ev.ShowPrompted).seat == 3


def test_who_is_asked_and_leaves_mucks():
    house = river(showing=(2, 3))
    house.play("1 bet, 2 call, 3 call")
    assert kinds(house.send(cmd.LeaveSeat("a2"))) == ["LeaveRequested", "HandMucked"]
    assert kinds(house.send(cmd.LeaveSeat("a1"))) == ["LeaveRequested"]


def test_the_first_shower_shows_also_when_they_lose():
    house = river(showing=())
    events = house.play("1 check, 2 bet, 3 call, 1 raise, 2 raise, 3 fold, 1 call")
    assert [e.seat for e in events if isinstance(e, ev.HandShown)] == [2, 1]
    house = House(RULES, [1, 2, 3], up=UP, down=DOWN | {1: "4h 3h 2d"})
    house.start()
    house.passive()
    order = [e.seat for e in house.happened(ev.HandShown)]
    assert order == [1, 2], "all checked: who acted first shows first, and the winner"


@pytest.mark.rules("P41", "P42")
def test_an_uncalled_winner_may_show():
    house = river()
    events = house.play("1 bet, 2 fold, 3 fold")
    assert kinds(events) == ["ActionTaken", "UncalledReturned", "PotAwarded", "ShowPrompted"]
    assert house.at(1).stack == 10_500, "the money is there before the answer"
    hand = house.hand
    assert (hand.turn_seat, hand.to_call, hand.deadline_ms, hand.options) == (0, 0, 0, ()), "nobody has a turn"
    assert hand.live[:4] == [False, True, False, False]
    prompt = only(events, ev.ShowPrompted)
    assert prompt.kind is ev.PromptKind.UNCALLED_WINNER
    cards = house.clear(house.hand, 1)
    events = house.send(cmd.ChooseShow("a1", prompt.prompt_id, show=True, cards=cards))
    assert events[0] == ev.HandShown(1, cards, 0)
    assert kinds(events) == ["HandShown", "HandEnded"]


def test_what_comes_back_uncalled_was_never_bet():
    """All-in for 800 on the river and called for 500: 300 are his again, and he is not all-in."""
    house = House(RULES, up=UP, down=DOWN)
    house.sit(1, 1_050)
    house.sit(2, 750, muck_losing=False)
    house.start()
    house.passive(street=7)
    house.play("1 bet 800, 2 call")
    assert house.hand.phase is Phase.SHOW_PROMPTS
    assert house.happened(ev.UncalledReturned) == [ev.UncalledReturned(1, 300, 300)]
    assert house.hand.bet[:3] == [0, 500, 500]
    assert house.hand.paid[:3] == [0, 750, 750]
    assert [house.hand.all_in[1], house.hand.all_in[2]] == [False, True]


def test_side_pots_settle_among_themselves_first():
    # Seat 1 is all-in on fifth; two and three go on, and three bets the river.
    house = House(RULES, up=UP, down=DOWN)
    for seat, stack in {1: 1_250, 2: 10_000, 3: 10_000}.items():
        house.sit(seat, stack, muck_losing=False)
    house.start()
    house.passive(street=5)
    house.play("1 bet, 2 call, 3 call")
    house.passive(street=7)
    events = house.play("2 check, 3 bet, 2 call")
    shows = [(type(e).__name__, e.seat) for e in events if isinstance(e, ev.HandShown | ev.ShowPrompted)]
    assert shows == [("HandShown", 3), ("HandShown", 2), ("HandShown", 1)]
    pots = [e for e in events if isinstance(e, ev.PotAwarded)]
    assert [(pot.pot_no, pot.amount, [share.seat for share in pot.shares]) for pot in pots] == [
        (1, 2_000, [2]),
        (0, 3_750, [1]),
    ]


def test_a_pot_of_ones_own_is_no_contest():
    """Seat 1 covers the only other live hand: the rest of the folded money is his, called by nobody now."""
    house = House(RULES, {1: 10_000, 2: 10_000, 3: 950}, up=UP, down={1: "4c 2h 3d", 2: "Qd 4s 2s", 3: "7c 7s 7h"})
    house.start()
    house.passive(street=5)
    house.play("1 bet, 2 raise, 3 call, 1 raise, 2 fold")
    assert house.happened(ev.UncalledReturned) == [ev.UncalledReturned(1, 1_000, 7_750)]
    assert [e.seat for e in house.happened(ev.HandShown)] == [1, 3]
    awards = [(pot.amount, [share.seat for share in pot.shares]) for pot in house.happened(ev.PotAwarded)]
    assert awards == [(2_600, [1]), (2_850, [3])]


@pytest.mark.parametrize(("down", "shown"), [("Kc 8c 6h", [3, 1]), ("7c 7h Ks", [3])])
def test_a_pot_of_ones_own_is_not_shown_for(down: str, shown: list[int]):
    """The last pot is seat 1's alone. Seat 3 has the high board, shows first, and loses to aces with a pair only."""
    up = UP | {3: "2c 5h 7d 7s"}
    house = House(RULES, {1: 10_000, 2: 10_000, 3: 950}, up=up, down={1: "As 2h 3d", 2: "Qd 4s 2s", 3: down})
    house.start()
    house.passive(street=5)
    house.play("1 bet, 2 raise, 3 call, 1 raise, 2 fold")
    assert [e.seat for e in house.happened(ev.HandShown)] == shown
    assert [e.seat for e in house.happened(ev.HandMucked)] == [seat for seat in (1, 3) if seat not in shown]


@pytest.mark.knob("odd_units", OddUnits.HIGH_CARD_BY_SUIT)
@pytest.mark.parametrize(
    ("up", "down", "shares"),
    [
        # The highest card of the seven lies open …
        ({1: "Ac Kd Jh 9s", 2: "As Kh Jd 9c"}, {1: "Qd Tc 3d", 2: "Qc Td 4d"}, {1: 376, 2: 377}),
        # … or is a down card.
        ({1: "Kc Jd Th 8s", 2: "Ks Jh Td 8c"}, {1: "As 5c 3d", 2: "Ad 5d 4d"}, {1: 377, 2: 376}),
    ],
)
def test_odd_units_by_the_highest_card(up: dict[int, str], down: dict[int, str], shares: dict[int, int]):
    rules = knobs(RULES, odd_units=OddUnits.HIGH_CARD_BY_SUIT)
    house = House(rules, [1, 2, 3], ante=51, up=up | {3: "2c 7d 5h 3s"}, down=down)
    house.start()
    house.play("3 bring_in, 1 call, 2 call")
    while house.hand.turn_seat != 3:
        house.act(house.hand.turn_seat, "check")
    house.act(3, "fold")
    house.passive()
    assert {share.seat: share.amount for share in house.happened(ev.PotAwarded)[0].shares} == shares


@pytest.mark.knob("rake_bps", 0, 1, 333, 999, 1_000)
@pytest.mark.parametrize(("bps", "rake"), [(0, 0), (1, 0), (333, 24), (999, 74), (1_000, 75)])
def test_rake_is_so_many_hundredths_of_a_percent_rounded_down(bps: int, rake: int):
    """Of 7.50: 333 basis points are 24.975 cents, 999 are 74.925."""
    house = House(knobs(RULES, rake_bps=bps), [1, 2, 3])
    house.start()
    house.passive(street=5)
    while house.hand.phase is Phase.BETTING:
        verbs = [option.verb for option in house.hand.options]
        house.act(house.hand.turn_seat, "bet" if ev.Verb.BET in verbs else "fold")
    assert [(award.amount, award.rake) for award in house.happened(ev.PotAwarded)] == [(750, rake)]


@pytest.mark.knob("no_rake_before_fourth", True, False)
@pytest.mark.parametrize(("before_fourth", "rake"), [(True, 0), (False, 15)])
def test_rake_before_fourth_street(before_fourth: bool, rake: int):
    house = House(knobs(RULES, rake_bps=1_000, no_rake_before_fourth=before_fourth), [1, 2, 3])
    house.start()
    house.play("1 bring_in, 2 fold, 3 fold")
    award = house.happened(ev.PotAwarded)[0]
    assert (award.amount, award.rake) == (150, rake)
    house.tick(10_000)
    assert house.happened(ev.HandEnded)[0].rake == rake
    assert house.state.rake_taken == rake


@pytest.mark.knob("no_rake_before_fourth", True, False)
@pytest.mark.parametrize("before_fourth", [True, False])
def test_a_hand_that_ends_on_fourth_street_is_raked(before_fourth: bool):
    house = House(knobs(RULES, rake_bps=1_000, no_rake_before_fourth=before_fourth), [1, 2, 3])
    house.start()
    house.passive(street=4)
    winner = house.hand.turn_seat
    house.act(winner, "bet")
    while house.hand.phase is Phase.BETTING:
        house.act(house.hand.turn_seat, "fold")
    assert [(award.amount, award.rake) for award in house.happened(ev.PotAwarded)] == [(750, 75)]


@pytest.mark.knob("rake_cap", None, 0, 100, 200)
@pytest.mark.parametrize(("cap", "main", "side"), [(None, 150, 105), (200, 150, 50), (100, 100, 0), (0, 0, 0)])
def test_rake_that_the_main_pot_cannot_bear_comes_from_the_next(cap: int | None, main: int, side: int):
    house = House(knobs(RULES, rake_bps=1_000, rake_cap=cap), {1: 50, 2: 10_000, 3: 10_000}, up=UP, down=DOWN)
    house.start()
    house.passive(street=5)
    house.play("2 bet, 3 call")
    house.passive()
    assert [(award.amount, award.rake) for award in house.happened(ev.PotAwarded)] == [(2_400, side), (150, main)]
    assert house.happened(ev.HandEnded)[0].rake == house.state.rake_taken == main + side


@pytest.mark.knob("rake_cap", 100)
def test_rake_is_capped_and_allotted():
    """The main pot bears it all; the side pot, though paid before it, gives nothing. Without a cap it were 124."""
    house = House(knobs(RULES, rake_bps=1_500, rake_cap=100), {1: 250, 2: 290, 3: 10_000}, up=UP, down=DOWN)
    house.start()
    house.passive(street=5)
    house.play("2 bet, 3 call")
    house.passive()
    assert [(award.amount, award.rake) for award in house.happened(ev.PotAwarded)] == [(80, 0), (750, 100)]
    assert sum(delta.delta for delta in house.happened(ev.HandEnded)[0].deltas) == -100
