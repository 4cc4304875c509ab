"""Rule vectors C.1: bring-in and completion (rows 1-27)."""

from typing import Any

import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.rejection import Reason
from stud_core.ruleset import BringInKind, Ruleset
from tests.support.core_table import account, none, only
from tests.support.table_driver import TableDriver, deal
from tests.vectors.positions import ROYAL_DOWN, both, bring_in, playnow, william_hill


def opened(rules: Ruleset, players: int = 3) -> TableDriver:
    """S1 has the low door and has brought it in."""
    table = deal(rules, players)
    table.play("1 bring_in")
    return table


def raised_to_the_cap(rules: Ruleset) -> TableDriver:
    """Bring-in S1, completion S2, raises S3, S1, S2."""
    table = opened(rules)
    table.play("2 complete 500", "3 raise 1000", "1 raise 1500", "2 raise 2000")
    return table


def actions(table: TableDriver) -> list[tuple[int, ev.Verb, int]]:
    return [(a.seat, a.verb, a.to) for a in table.events(ev.ActionTaken)]


@pytest.mark.rules("P13", "P16", "W8")
@both
def test_vector_001_the_deuce_of_clubs_brings_in(rules: Ruleset):
    assert deal(rules, up={1: "2c", 2: "2d", 3: "2h", 4: "2s"}).turn == 1


@pytest.mark.rules("P13", "P15", "W8")
@both
def test_vector_002_the_lowest_suit_of_the_lowest_rank(rules: Ruleset):
    assert deal(rules, up={1: "4d", 2: "4c", 3: "4s"}).turn == 2


@pytest.mark.rules("P14")
@both
def test_vector_003_aces_are_high(rules: Ruleset):
    assert deal(rules, up={1: "Ac", 2: "Ks", 3: "3s"}).turn == 3


@pytest.mark.rules("P14")
@both
def test_vector_004_rank_before_suit(rules: Ruleset):
    assert deal(rules, up={1: "3c", 2: "2s"}).turn == 2


@pytest.mark.rules("P15")
@both
def test_vector_005_two_aces(rules: Ruleset):
    assert deal(rules, up={1: "As", 2: "Ad"}).turn == 2


@pytest.mark.rules("P58")
@pytest.mark.knob("bring_in", BringInKind.PARAMETER)
@playnow
def test_vector_006_options_of_the_bring_in(rules: Ruleset):
    table = deal(rules)
    assert table.legal(1) == {"bring_in 200", "open 500"}
    for illegal in ("1 fold", "1 check", "1 call", "1 call 200", "1 bring_in 100"):
        table.refuse(illegal, "P58")
    for illegal in ("1 raise 500", "1 raise 700", "1 complete 500", "1 open 700"):
        assert table.refuse(illegal, "P58").text.endswith("; legal: bring in 200, open to 500")


@pytest.mark.rules("W8", "W9")
@william_hill
def test_vector_007_half_the_lower_limit(rules: Ruleset):
    table = deal(rules)
    assert table.legal(1) == {"bring_in 250", "open 500"}
    for illegal in ("1 fold", "1 check"):
        table.refuse(illegal, "W8")
    for illegal in ("1 bring_in 200", "1 bring_in 300"):
        table.refuse(illegal, "W9")


@pytest.mark.rules("W9")
@william_hill
def test_vector_008_stakes_of_1_2(rules: Ruleset):
    assert deal(rules, limits=(100, 200), ante=25).legal(1) == {"bring_in 50", "open 100"}


@pytest.mark.rules("W9")
@pytest.mark.knob("bring_in", BringInKind.HALF_SMALL_BET)
@william_hill
def test_vector_009_half_of_five_is_three(rules: Ruleset):
    assert deal(rules, limits=(5, 10), ante=1).legal(1) == {"bring_in 3", "open 5"}


@playnow
def test_vector_010_no_option_for_a_called_bring_in(rules: Ruleset):
    table = opened(rules)
    last = table.play("2 call", "3 call")
    assert only(last, ev.DealRequested).street == 4
    assert [seat for seat, _, _ in actions(table)] == [1, 2, 3]
    assert sum(a.amount for a in table.events(ev.ActionTaken)) == 600
    assert [table.hand.paid[seat] for seat in (1, 2, 3)] == [250, 250, 250]


@pytest.mark.rules("P59", "P60")
@playnow
def test_vector_011_a_completion_gives_the_bring_in_their_turn(rules: Ruleset):
    table = opened(rules)
    table.play("2 complete 500")
    assert table.bets() == {1: 200, 2: 500}
    table.play("3 call")
    assert table.bets() == {1: 200, 2: 500, 3: 500}
    assert table.legal(1) == {"fold", "call 300", "raise to 1000"}
    assert table.hand.wagers == 1


@pytest.mark.rules("P56", "P60")
@pytest.mark.knob("completion_counts_as_raise", False)
@playnow
def test_vector_012_complete_and_three_raises(rules: Ruleset):
    table = raised_to_the_cap(rules)
    assert [to for _, _, to in actions(table)] == [200, 500, 1000, 1500, 2000]
    assert table.hand.wagers == 4
    assert table.legal(3) == {"fold", "call 1000"}
    table.refuse("3 raise 2500", "P56")


@pytest.mark.rules("W18", "W19")
@william_hill
def test_vector_013_the_same_with_half_the_lower_limit(rules: Ruleset):
    table = raised_to_the_cap(rules)
    assert [to for _, _, to in actions(table)] == [250, 500, 1000, 1500, 2000]
    assert table.hand.wagers == 4
    assert table.legal(3) == {"fold", "call 1000"}
    table.refuse("3 raise 2500", "W19")


@pytest.mark.rules("P56", "P58")
@playnow
def test_vector_014_opening_in_full_is_the_bet(rules: Ruleset):
    table = deal(rules)
    table.play("1 open 500")
    assert table.hand.wagers == 1
    table.play("2 raise 1000", "3 raise 1500", "1 raise 2000")
    assert [to for _, _, to in actions(table)] == [500, 1000, 1500, 2000]
    assert table.hand.wagers == 4
    assert table.legal(2) == {"fold", "call 1000"}
    table.refuse("2 raise 2500", "P56")


@pytest.mark.rules("P59", "W14")
@both
def test_vector_015_only_a_completion_follows_the_bring_in(rules: Ruleset):
    table = opened(rules)
    refusal = table.refuse("2 raise 1000", "P59", "W14")
    assert [o.to for o in refusal.legal if o.verb not in {ev.Verb.FOLD, ev.Verb.CALL}] == [500]
    assert table.legal(2) == {"fold", f"call {bring_in(rules)}", "complete to 500"}
    table.refuse("2 complete 1000", "P59", "W14")


def nobody_calls_the_bring_in(rules: Ruleset, amount: int) -> None:
    table = opened(rules)
    last = table.play("2 fold", "3 fold")
    assert only(last, ev.UncalledReturned) == ev.UncalledReturned(1, amount, 9950)
    pot = only(last, ev.PotAwarded)
    assert (pot.pot_no, pot.amount, pot.rake) == (0, 150, 0)
    assert pot.shares == (ev.Share(1, 150, 10100),)
    prompt = only(last, ev.ShowPrompted)
    assert (prompt.seat, prompt.kind) == (1, ev.PromptKind.UNCALLED_WINNER)
    assert none(last, ev.HandShown, ev.HandEnded)
    table.choose(1, show=False)
    assert none(table.events(), ev.HandShown)
    assert only(table.events(), ev.HandEnded).deltas == (
        ev.Delta(1, "a1", 100), ev.Delta(2, "a2", -50), ev.Delta(3, "a3", -50),
    )  # fmt: skip


@playnow
def test_vector_016_an_uncalled_bring_in_comes_back(rules: Ruleset):
    nobody_calls_the_bring_in(rules, 200)


@william_hill
def test_vector_017_an_uncalled_half_bet_comes_back(rules: Ruleset):
    nobody_calls_the_bring_in(rules, 250)


def low_card_all_in_from_the_ante(rules: Ruleset, players: int = 3, **options: Any) -> TableDriver:
    return deal(rules, players, stacks={1: 50}, **options)


@playnow
def test_vector_018_low_card_without_chips(rules: Ruleset):
    table = low_card_all_in_from_the_ante(rules)
    assert table.stack(1) == 0
    assert table.legal(2) == {"fold", "bring_in 200", "open 500"}


@playnow
def test_vector_019_the_next_one_has_the_same_options(rules: Ruleset):
    table = low_card_all_in_from_the_ante(rules, players=4)
    table.play("2 fold")
    assert table.legal(3) == {"fold", "bring_in 200", "open 500"}


@playnow
def test_vector_020_all_in_for_the_antes_only(rules: Ruleset):
    table = low_card_all_in_from_the_ante(
        rules,
        up={1: "2c 4c 6c 8c", 2: "As Ks Qs Js", 3: "9h 7d 5d 3d"},
        down={1: "Tc Jc Qc", 2: "Th 2d 3h", 3: "Kh Qd 2h"},
    )
    table.play("2 bring_in", "3 call")
    table.passively_to_the_end()
    assert table.pots == [(150, {1, 2, 3}), (400, {2, 3})]
    # S1 has a flush, S2 a straight: each wins what he is eligible for.
    assert table.awarded() == [(1, 400, {2: 400}), (0, 150, {1: 150})]


def bring_in_of_100(rules: Ruleset) -> TableDriver:
    """S1 has the low card and 100 left; unbeatable, so that the awards show which pots are his."""
    up = {1: "2c " + ROYAL_DOWN["h"].split()[0] + " Ah Kh", 2: "7d 9c 4s 8h", 3: "9h 7c 3s 5d"}
    table = deal(rules, up=up, down={1: "Qh Jh 3c"}, stacks={1: 150})
    table.play("1 bring_in")
    return table


@playnow
def test_vector_021_a_short_bring_in_does_not_lower_the_price(rules: Ruleset):
    table = bring_in_of_100(rules)
    posted = only(table.events(), ev.ActionTaken)
    assert (posted.verb, posted.amount, posted.all_in, posted.stack) == (ev.Verb.BRING_IN, 100, True, 0)
    assert table.legal(2) == {"fold", "call 200", "complete to 500"}


@playnow
def test_vector_022_pots_after_a_short_bring_in(rules: Ruleset):
    table = bring_in_of_100(rules)
    table.play("2 call 200", "3 call 200")
    table.passively_to_the_end()
    assert table.pots == [(450, {1, 2, 3}), (200, {2, 3})]
    assert {seat for seat, amount in table.won().items() if amount >= 450} == {1}
    assert table.won()[1] == 450


@both
def test_vector_023_nobody_to_bet_against(rules: Ruleset):
    table = deal(rules, 4, stacks={1: 50, 2: 50, 4: 50}, up={1: "2c", 2: "7d", 3: "9h", 4: "Js"})
    assert none(table.events(), ev.TurnStarted, ev.ActionTaken)
    assert [d.street for d in table.events(ev.CardsDealt)] == [3, 4, 5, 6, 7]
    assert table.showdown()[0][0] == "shown"
    table.passively_to_the_end()
    assert sum(table.won().values()) == 200
    only(table.events(), ev.HandEnded)


@pytest.mark.rules("P25")
@playnow
def test_vector_024_a_silent_bring_in_is_posted(rules: Ruleset):
    table = deal(rules)
    turn = table.events(ev.TurnStarted)[-1]
    assert turn.deadline_ms == table.now_ms + 10_000
    last = table.timeout()
    posted = only(last, ev.ActionTaken)
    assert (posted.seat, posted.verb, posted.amount, posted.by) == (1, ev.Verb.BRING_IN, 200, ev.By.TIMEOUT)
    table.passively_to_the_end()
    assert only(table.events(), ev.SatOut) == ev.SatOut(1, 1, ev.OutReason.MISSED_BRING_IN)
    table.start()
    assert table.dealt_in() == (2, 3)


@playnow
def test_vector_025_an_ante_for_less(rules: Ruleset):
    table = deal(rules, 4, stacks={4: 30}, up={1: "2c", 2: "7d", 3: "9h", 4: "Js"})
    posted = {a.seat: (a.amount, a.all_in) for a in table.events(ev.AntePosted)}
    assert posted == {1: (50, False), 2: (50, False), 3: (50, False), 4: (30, True)}
    assert table.dealt_in() == (1, 2, 3, 4)
    assert table.hand.up[4]
    # Nothing but the antes is played for: the bring-in comes back uncalled.
    table.play("1 bring_in", "2 fold", "3 fold")
    table.passively_to_the_end()
    assert table.returned() == {1: 200}
    assert [(number, amount) for number, amount, _ in table.awarded()] == [(1, 60), (0, 120)]
    assert table.pots == [(120, {1, 4}), (60, {1})]


@playnow
def test_vector_025_an_ante_for_less_when_all_are_all_in(rules: Ruleset):
    table = deal(rules, 4, stacks={1: 50, 2: 50, 3: 50, 4: 30})
    table.passively_to_the_end()
    assert table.pots == [(120, {1, 2, 3, 4}), (60, {1, 2, 3})]


@pytest.mark.rules("P8")
@playnow
def test_vector_026_no_answer_to_the_ante_prompt(rules: Ruleset):
    table = deal(rules, 3, prompted=[2])
    opened = only(table.events(), ev.AntesOpened)
    assert (opened.prompted, opened.deadline_ms) == ((2,), table.now_ms + 10_000)
    last = table.timeout()
    assert only(last, ev.AnteMissed).seat == 2
    assert only(last, ev.SatOut) == ev.SatOut(2, 2, ev.OutReason.MISSED_ANTE)
    assert table.dealt_in() == (1, 3)
    assert table.stack(2) == 10_000
    table.passively_to_the_end()
    # Back again, he posts the ordinary ante and nothing else.
    table.send(cmd.SitIn(account(2)))
    table.settle()
    table.start()
    table.send(cmd.PostAnte(account(2), only(table.events(), ev.AntesOpened).prompt_id))
    assert table.dealt_in() == (1, 2, 3)
    assert [a.amount for a in table.events(ev.AntePosted) if a.seat == 2] == [50]
    assert table.stack(2) == 9_950


@both
def test_vector_027_one_ante_is_no_hand(rules: Ruleset):
    table = deal(rules, 2, prompted=[2])
    assert table.stack(1) == 9_950
    last = table.timeout()
    returned = only(last, ev.AntesReturned)
    assert returned.refunds == (ev.Refund(1, 50, 10_000),)
    assert none(table.events(), ev.HandStarted, ev.DealRequested, ev.CardsDealt)
    assert table.stacks() == {1: 10_000, 2: 10_000}
    assert not table.running


@both
@pytest.mark.parametrize("seat", [2, 3])
def test_vector_006_nobody_acts_out_of_turn(rules: Ruleset, seat: int):
    table = deal(rules)
    assert table.reject(table.parse(f"{seat} bring_in")).reason is Reason.NOT_YOUR_TURN
