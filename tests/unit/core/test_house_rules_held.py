"""What the page of house rules says of hands, all-ins and show prompts, held against the engine."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise, permutations

import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.cards import parse_cards
from stud_core.house_rules import house_rules
from stud_core.presets import PLAYNOW, WILLIAM_HILL, table_config
from stud_core.ranks import rank_best
from stud_core.ruleset import Ruleset, ShortAllIn
from tests.support.core_table import account, knobs, only
from tests.support.table_driver import TableDriver, deal
from tests.vectors.positions import LEADER, both, fifth_street, fourth_street


def told(rules: Ruleset, title: str) -> str:
    return dict(house_rules(table_config(rules)))[title]


# --- hands -------------------------------------------------------------------

# The best and the worst of every sort, in the page's words.
SORTS = {
    "straight flush": ("As Ks Qs Js Ts", "5d 4d 3d 2d Ad"),
    "four of a kind": ("Ac Ad Ah As Kc", "2c 2d 2h 2s 3c"),
    "full house": ("Ac Ad Ah Ks Kc", "2c 2d 2h 3s 3c"),
    "flush": ("Ah Kh Qh Jh 9h", "7c 5c 4c 3c 2c"),
    "straight": ("Ac Kd Qh Js Tc", "5c 4d 3h 2s Ac"),
    "three of a kind": ("Ac Ad Ah Ks Qc", "2c 2d 2h 4s 3c"),
    "two pair": ("Ac Ad Kh Ks Qc", "3c 3d 2h 2s 4c"),
    "pair": ("Ac Ad Kh Qs Jc", "2c 2d 5h 4s 3c"),
    "high card": ("Ac Kd Qh Js 9c", "7c 5d 4h 3s 2c"),
}


def rank(cards: str) -> int:
    return rank_best(parse_cards(cards))


@pytest.mark.rules("P46", "W23")
@both
def test_hands_are_listed_as_they_are_ranked(rules: Ruleset):
    listed = re.match(r"From the highest down: (.*?)\. ", told(rules, "Hands"))
    assert listed is not None
    names = listed[1].replace(" (ten to ace: royal flush)", "").split(", ")
    assert names == list(SORTS)
    ranks = [rank(cards) for name in names for cards in SORTS[name]]
    assert ranks == sorted(set(ranks))
    assert ranks[0] == 1
    assert all(rank(worse) - rank(better) == 1 for (_, better), (worse, _) in pairwise(SORTS.values()))


@pytest.mark.rules("P46", "W23")
@both
def test_an_ace_is_high_and_low_in_straights_and_nowhere_in_between(rules: Ruleset):
    assert "A-2-3-4-5 is a straight, the lowest one" in told(rules, "Hands")
    ace_to_five, two_to_six = rank("Ac 2d 3h 4s 5c"), rank("2d 3h 4s 5c 6c")
    assert rank("Tc Jd Qh Ks Ac") < two_to_six < ace_to_five < rank("Ac Ad Ah Ks Qc")
    assert rank("Qc Kd Ah 2s 3c") > rank("Ac Ad Kh Qs Jc"), "no straight goes on over the ace"


@pytest.mark.rules("P17", "P46", "W23", "W24")
@both
def test_suits_never_decide_a_pot(rules: Ruleset):
    assert "Suits never decide a pot, only which of equal low cards starts." in told(rules, "Hands")
    for hands in SORTS.values():
        for cards in hands:
            others = {rank(cards.translate(str.maketrans("cdhs", "".join(suits)))) for suits in permutations("cdhs")}
            assert others == {rank(cards)}


# --- all-ins for less --------------------------------------------------------

ADD_UP = "Several such all-ins add up: each is measured from the last full bet or raise."


@both
@pytest.mark.parametrize(
    ("rule", "first", "second", "wagers"),
    [
        (ShortAllIn.HALF_BET, 1_300, 1_499, 1),
        (ShortAllIn.HALF_BET, 1_300, 1_500, 2),
        (ShortAllIn.FULL_BET, 1_500, 1_999, 1),
        (ShortAllIn.FULL_BET, 1_500, 2_000, 2),
    ],
)
def test_several_all_ins_add_up_as_the_page_says(
    rules: Ruleset, rule: ShortAllIn, first: int, second: int, wagers: int
):
    """A bet of 10, then two players who are all-in for less than a full raise of each other."""
    rules = knobs(rules, short_all_in=rule)
    assert ADD_UP in told(rules, "All-in")
    table = fifth_street(rules, 4, behind={2: first, 3: second})
    table.play("1 bet 1000", f"2 all_in {first}", f"3 all_in {second}")
    assert table.hand.wagers == wagers
    table.play("4 call")
    may_raise = any(option.verb in {ev.Verb.RAISE, ev.Verb.COMPLETE} for option in table.hand.options)
    assert may_raise is (wagers == 2), "seat 1 has acted: only a full raise opens the betting to him again"


def test_where_every_all_in_counts_nothing_adds_up():
    assert "add up" not in told(knobs(PLAYNOW, short_all_in=ShortAllIn.ANY), "All-in")


@both
@pytest.mark.parametrize(
    ("total", "size", "full", "bound"),
    [
        (749, "low", False, False),
        (750, "low", True, False),
        (750, "high", False, False),
        (999, "high", False, False),
        (1_000, "high", True, True),
    ],
)
def test_an_all_in_beside_an_open_pair_is_measured_by_what_was_chosen(
    rules: Ruleset, total: int, size: str, full: bool, bound: bool
):
    """On a bet of 5, by 5 or by 10; the others must go by 10 only after one by 10 that counts."""
    words = "your chips are measured by your choice, and 10 binds the others only if that counts as full"
    assert words in told(rules, "The open pair")
    table = fourth_street(rules, behind={2: total})
    table.play("1 bet 500 low", f"2 all_in {total} {size}")
    assert (table.hand.wagers, table.hand.locked) == (2 if full else 1, bound)
    sizes = {option.size for option in table.hand.options if option.size is not None}
    assert sizes == ({ev.Size.HIGH} if bound else {ev.Size.LOW, ev.Size.HIGH})


# --- show prompts ------------------------------------------------------------


def uncalled(rules: Ruleset) -> TableDriver:
    table = fifth_street(rules)
    table.play("1 bet 1000", "2 fold", "3 fold")
    return table


def beaten(rules: Ruleset) -> TableDriver:
    """Seat 1 shows first and wins with three aces; the others want to be asked."""
    boards = {seat: LEADER[seat] for seat in (1, 2, 3)}
    table = deal(rules, up=boards, down={1: "As Ad 2h", 2: "5d 4c 3c", 3: "9d Th Js"}, showing=[2, 3])
    table.passively_to(7)
    table.play("1 bet 1000", "2 call", "3 call")
    return table


@both
@pytest.mark.parametrize("decided", [uncalled, beaten])
def test_who_does_not_say_in_time_whether_they_show_stays_hidden(
    rules: Ruleset, decided: Callable[[Ruleset], TableDriver]
):
    assert "Without an answer in time your cards stay hidden." in told(rules, "Showdown")
    table = decided(rules)
    asked = [prompt.seat for prompt in table.hand.prompts]
    assert asked
    events = table.timeout()
    assert [event.seat for event in events if isinstance(event, ev.HandMucked)] == asked
    assert not [event for event in events if isinstance(event, ev.HandShown)]
    assert not table.running
    assert not any(table.state.at(seat).sitting_out for seat in asked), "nobody sits out for that"


# --- who shows ----------------------------------------------------------------


def one_claimant(rules: Ruleset, down: dict[int, str]) -> TableDriver:
    """S1 leads and is all-in on fifth street; S2 and S3 bet on sixth, S3 folds on the river: that pot is S2's alone."""
    table = fifth_street(rules, behind={1: 1_000}, down=down)
    table.play("1 bet 1000", "2 call", "3 call")
    table.play("2 bet 1000", "3 call", "2 bet 1000", "3 fold")
    return table


@pytest.mark.rules("P37", "P38", "P41")
@both
def test_a_pot_that_one_player_alone_can_win_is_not_called(rules: Ruleset):
    """He bet last and shows first; of the two pots only the one that both can win makes its winner show."""
    words = told(rules, "Showdown")
    assert "The first to show and every winner of a called pot are shown." in words
    assert "A pot that only one player can win is not called, and changes nothing in the order." in words
    table = one_claimant(rules, {1: "As Ad 2h", 2: "5d 4c 3c", 3: "9d Th Js"})
    assert set(table.won()) == {1, 2}
    assert table.showdown() == [("shown", 2), ("shown", 1)]


@both
def test_a_pot_of_one_claimant_does_not_bring_them_forward(rules: Ruleset):
    """Nobody can bet the river: who would have acted first shows first, the claimant hides what lost the main pot."""
    table = fifth_street(rules, behind={1: 1_000}, down={1: "As Ad 2h", 2: "5d 4c 3c", 3: "9d Th Js"})
    table.play("1 bet 1000", "2 raise 2000", "3 call", "2 check", "3 fold")
    assert set(table.won()) == {1, 2}
    assert table.showdown() == [("shown", 1), ("mucked", 2)]


@pytest.mark.rules("P37")
@both
def test_who_shares_a_side_pot_shows_before_who_does_not(rules: Ruleset):
    assert "who shares a side pot comes before those who do not" in told(rules, "Showdown")
    table = fifth_street(rules, behind={1: 1_000}, down={1: "As Ad 2h", 2: "5d 4c 3c", 3: "9d Th Js"})
    table.play("1 bet 1000", "2 call", "3 call", "2 bet 1000", "3 call", "2 check", "3 check")
    assert [seat for _, seat in table.showdown()] == [2, 3, 1]


# --- what may be done ----------------------------------------------------------


@both
def test_nobody_raises_what_no_opponent_can_answer(rules: Ruleset):
    assert "You cannot bet or raise if no opponent could put in more." in told(rules, "The cap")
    for behind, raises in ((1_000, False), (1_001, True)):
        table = fifth_street(rules, 2, behind={1: behind})
        table.play("1 bet 1000")
        assert any(option.verb is ev.Verb.RAISE for option in table.hand.options) is raises


@pytest.mark.rules("W29")
@both
def test_folding_is_allowed_where_checking_is_free(rules: Ruleset):
    assert "If nobody has bet you check, bet or fold; facing a bet you call, raise or fold." in told(
        rules, "The betting"
    )
    table = fifth_street(rules)
    assert table.legal(1) == {"check", "bet 1000", "fold"}
    table.play("1 fold")
    assert table.legal(2) == {"check", "bet 1000", "fold"}


@pytest.mark.rules("W26")
@pytest.mark.parametrize("posting", [(1, 4), (1, 4, 8), (4, 8)])
def test_the_first_button_is_the_highest_seat_that_posts(posting: tuple[int, ...]):
    words = told(WILLIAM_HILL, "The deal")
    assert "A dealer button, first at the highest seat that posts, moves on to the next player" in words
    assert "after every hand that had cards" in words
    assert "button" not in told(PLAYNOW, "The deal")
    table = TableDriver(WILLIAM_HILL, {1: 10_000, 4: 10_000, 8: 10_000})
    for seat in {1, 4, 8} - set(posting):
        table.send(cmd.SitOut(account(seat)))
    table.start()
    assert only(table.events(), ev.HandStarted).button == posting[-1]


@both
def test_switching_a_preference_on_answers_as_the_page_says(rules: Ruleset):
    assert "Switching it on while you are asked posts." in told(rules, "Antes")
    assert "Switching it on while you are asked hides." in told(rules, "Showdown")
    table = deal(rules, 2, prompted=[2])
    posted = table.send(cmd.SetPreferences(account(2), auto_post=True))
    assert only(posted, ev.AntePosted).seat == 2
    table = beaten(rules)
    hidden = table.send(cmd.SetPreferences(account(2), muck_losing=True))
    assert only(hidden, ev.HandMucked).seat == 2
