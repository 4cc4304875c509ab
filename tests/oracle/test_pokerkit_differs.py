"""Every place where PokerKit plays by another rule, in a hand of its own: what it does, and what we do and why.

Nothing here is a fault of either: PokerKit follows other house rules, or none. Amounts are at 5/10 in minor units.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
from pokerkit import FixedLimitSevenCardStud

from stud_core import events as ev
from stud_core.presets import PLAYNOW, WILLIAM_HILL
from stud_core.ruleset import Ruleset
from tests.oracle.beside import CAPPED, TOO_SHORT
from tests.oracle.peer import AUTOMATIONS, Menu, peer_of
from tests.support.core_table import knobs
from tests.support.table_driver import deal
from tests.vectors.positions import ROYAL_DOWN, ROYAL_UP, fifth_street, fourth_street


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """PokerKit warns of a fold where checking is free, and of cards that are named to it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# --- third street ----------------------------------------------------------------------------------------------------


def test_after_a_low_card_without_chips_the_next_player_may_fold_here():
    """B.4, reading 1: fold, bring in or open. PokerKit makes him bring it in or complete."""
    table = deal(PLAYNOW, 3, stacks={1: 50})
    peer = peer_of(table)
    assert table.legal(2) == {"fold", "bring_in 200", "open 500"}
    assert peer.turn == 2
    assert peer.menu == Menu(fold=False, call=None, bring_in=200, wagers=frozenset({500}))


def test_the_price_after_a_short_bring_in_is_the_whole_bring_in_here():
    """B.4 (live rule 217). PokerKit asks for what was put in."""
    table = deal(PLAYNOW, 3, stacks={1: 150})
    table.play("1 bring_in 100")
    peer = peer_of(table)
    assert table.legal(2) == {"fold", "call 200", "complete to 500"}
    assert peer.menu.call == 100


def test_a_stack_below_the_bring_in_completes_nothing_here():
    """B.4, B.21: b or L. PokerKit lets him call his 1.00 a completion, and the next one raises it to 6.00."""
    table = deal(PLAYNOW, 3, stacks={1: 150})
    peer = peer_of(table)
    assert table.legal(1) == {"bring_in 100"}
    assert peer.menu == Menu(fold=False, call=None, bring_in=100, wagers=frozenset({100}))
    peer.state.complete_bet_or_raise_to(100)
    assert peer.menu.wagers == {600}


def test_both_take_the_lowest_suit_of_equal_doors():
    """B.1: clubs, diamonds, hearts, spades; an agreement that the two rule texts of the pages do not make obvious."""
    table = deal(PLAYNOW, up={1: "2s", 2: "2h", 3: "2d", 4: "2c"})
    assert (table.turn, peer_of(table).turn) == (4, 4)


# --- fourth street ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [PLAYNOW, WILLIAM_HILL], ids=lambda rules: rules.name)
def test_an_open_pair_gives_two_sizes_here(rules: Ruleset):
    """P22-P24, P62, W15, W17; B.5. PokerKit knows the lower limit only."""
    table = fourth_street(rules)
    peer = peer_of(table)
    assert table.legal(1) == {"fold", "check", "bet 500", "bet 1000"}
    assert peer.menu == Menu(fold=True, call=0, bring_in=None, wagers=frozenset({500}))


# --- wagers ----------------------------------------------------------------------------------------------------------


def test_two_players_raise_without_end_on_one_page_only():
    """P57; B.6: uncapped. PokerKit and W18-W19 stop after the bet and three raises."""
    actions = ("1 bet 1000", "2 raise 2000", "1 raise 3000", "2 raise 4000")
    table = fifth_street(PLAYNOW, 2)
    table.play(*actions)
    peer = peer_of(table)
    assert table.legal(1) == {"fold", "call 1000", "raise to 5000"}
    assert (peer.menu.wagers, peer.why_no_wager) == (frozenset(), CAPPED)
    page_w = fifth_street(WILLIAM_HILL, 2)
    page_w.play(*actions)
    assert page_w.legal(1) == {"fold", "call 1000"}
    assert peer_of(page_w).menu.wagers == frozenset()


def test_an_all_in_below_half_is_completed_here_and_raised_there():
    """B.8: 13.00 on a bet of 10.00 does not count; the next wager makes it 20.00. PokerKit adds a bet: 23.00."""
    table = fifth_street(PLAYNOW, behind={2: 1300})
    table.play("1 bet 1000", "2 raise 1300")
    peer = peer_of(table)
    assert table.legal(3) == {"fold", "call 1300", "complete to 2000"}
    assert peer.menu == Menu(fold=True, call=1300, bring_in=None, wagers=frozenset({2300}))
    assert peer.state.completion_betting_or_raising_count == 2
    assert table.hand.wagers == 1


def test_an_all_in_of_half_or_more_reopens_the_betting_here():
    """B.8 (live rule 129): 15.00 on a bet of 10.00 counts, whoever has acted may raise. PokerKit wants a full bet."""
    table = fifth_street(PLAYNOW, behind={2: 1500})
    table.play("1 bet 1000", "2 raise 1500", "3 call 1500")
    peer = peer_of(table)
    assert table.legal(1) == {"fold", "call 500", "raise to 2500"}
    assert (peer.menu.wagers, peer.why_no_wager) == (frozenset(), TOO_SHORT)


def test_short_all_ins_together_are_measured_from_the_last_full_bet_here():
    """B.8.4: 13.00, then 19.00: together more than half a bet, so the betting is open again; there they are short."""
    table = fifth_street(PLAYNOW, 4, behind={2: 1300, 3: 1900})
    table.play("1 bet 1000", "2 raise 1300", "3 all_in 1900", "4 call 1900")
    assert table.legal(1) == {"fold", "call 900", "raise to 2900"}
    assert peer_of(table).why_no_wager == TOO_SHORT


def test_the_last_player_with_chips_is_not_asked_here():
    """B.21: S2 is all-in for his call, S1 folds where he could check, and S3 has nobody to bet against."""
    table = fifth_street(PLAYNOW, behind={2: 1000})
    table.play("1 bet 1000", "2 call 1000", "3 call 1000")
    peer = peer_of(table)
    table.play("1 fold")
    peer.state.fold()
    assert table.turn is None
    assert peer.turn == 3
    assert peer.menu == Menu(fold=True, call=0, bring_in=None, wagers=frozenset())


def test_folding_for_free_is_refused_there_in_a_tournament():
    """W29, B.20: our Fold is always there. PokerKit warns at a cash table and refuses in a tournament."""
    table = fifth_street(PLAYNOW)
    assert "fold" in table.legal(1)
    peer = peer_of(table)
    assert peer.menu.fold
    warnings.simplefilter("error")
    with pytest.raises(UserWarning, match="no reason for this player to fold"):
        peer.state.verify_folding()


# --- chips -----------------------------------------------------------------------------------------------------------


def test_an_unmatched_part_of_an_ante_is_a_pot_here():
    """B.14, B.21: it is won, not returned, so that what was anted is what the pots hold. PokerKit gives it back."""
    table = deal(PLAYNOW, 2, stacks={1: 30})
    assert [(pot.pot_no, pot.amount) for pot in table.events(ev.PotAwarded)] == [(1, 20), (0, 60)]
    assert table.returned() == {}
    peer = peer_of(table)
    assert peer.state.total_pot_amount == 0
    assert [list(op.bets) for op in peer.state.operations if type(op).__name__ == "BetCollection"] == [[30, 30]]
    assert peer.stacks == table.stacks()


def test_a_short_ante_plays_for_its_own_part_there_only_with_trimming():
    """B.4: who antes less plays for the pot made of that much of each. PokerKit needs its switch for it."""
    table = deal(PLAYNOW, 3, stacks={1: 20})
    assert [(pot.amount, set(pot.eligible)) for pot in table.hand.pots] == [(60, {1, 2, 3}), (60, {2, 3})]
    assert peer_of(table).pots == [(60, {1, 2, 3}), (60, {2, 3})]
    stacks = [20, 10_000, 10_000]
    untrimmed = FixedLimitSevenCardStud.create_state(AUTOMATIONS, False, 50, 200, 500, 1000, stacks, 3)
    assert [(pot.amount, pot.player_indices) for pot in untrimmed.pots] == [(120, (0, 1, 2))]


def test_odd_units_go_one_each_on_one_page_and_to_the_first_there():
    """P47, B.14: one unit each from the left. PokerKit and W25 give all that is left over to the first."""
    up = {1: ROYAL_UP["s"], 2: ROYAL_UP["h"], 3: ROYAL_UP["d"], 4: "4h 6s 9c Jc"}
    down = {1: ROYAL_DOWN["s"], 2: ROYAL_DOWN["h"], 3: ROYAL_DOWN["d"]}
    table = deal(PLAYNOW, up=up, down=down, ante=54)
    table.passively_to_the_end()
    assert table.won() == {1: 339, 2: 339, 3: 338}
    assert peer_of(table).pushed == [{1: 340, 2: 338, 3: 338}]


def test_rake_is_taken_by_a_function_of_ones_own_there():
    """B.14: once per hand, of called money, main pot first. PokerKit takes none by default."""
    table = fifth_street(knobs(PLAYNOW, rake_bps=500), 2)
    table.play("1 bet 1000", "2 fold")
    peer = peer_of(table)
    assert peer.over
    assert [pot.rake for pot in table.events(ev.PotAwarded)] == [30]
    assert sum(peer.stacks.values()) == 20_000
    assert sum(table.stacks().values()) == 20_000 - 30


# --- cards -----------------------------------------------------------------------------------------------------------


def test_equal_boards_are_told_apart_by_the_button_here():
    """P21, W26: first in deal order. PokerKit knows no button in stud; it is told the players in deal order, and
    asked with their seats in ascending order it lets the lowest one begin."""
    table = deal(WILLIAM_HILL, up={1: "Ac 4h", 2: "Ah 4d", 3: "2c 7d"}, button=1)
    table.passively_to(4)
    assert table.dealt_in() == (2, 3, 1)
    assert (table.turn, peer_of(table).turn) == (2, 2)
    names = ["Kc", "Kd", "Ac", "Qh", "Qs", "Ah", "8c", "8d", "2c"]
    plain = FixedLimitSevenCardStud.create_state(AUTOMATIONS, True, 50, 250, 500, 1000, [10_000] * 3, 3)
    for at in range(3):
        plain.deal_hole("".join(names[3 * at : 3 * at + 3]))
    plain.post_bring_in()
    plain.check_or_call()
    plain.check_or_call()
    plain.burn_card("??")
    for card in ("4h", "4d", "7d"):
        plain.deal_hole(card)
    assert plain.actor_index == 0


EIGHT = {1: "2c Ts 4h 6s", 2: "7d Ks 8h 3s", 3: "9h Qd 5s 2d", 4: "Js 3c 6d 8c", 5: "8d 5c Jh Qc", 6: "Td 9c Kh 4c"}
EIGHT |= {7: "5h 6c 3d 9s", 8: "6h Jd Qs 7c"}


def test_eight_to_the_river_share_a_card_in_both():
    """P35, W20-W21; the place where both rule texts and PokerKit agree that one card must do for all."""
    table = deal(WILLIAM_HILL, up=EIGHT, community="7s")
    table.passively_to(7)
    peer = peer_of(table)
    assert [str(card[0]) and len(card) for card in peer.state.board_cards] == [1]
    assert table.hand.community is not None
    table.passively_to_the_end()
    assert peer_of(table).stacks == table.stacks()


def test_a_community_card_makes_the_board_of_who_is_first_here():
    """B.13, reading 1: with the common queen three pair up, and S5 has the best kickers; S6 has the high card."""
    table = deal(WILLIAM_HILL, up=EIGHT, community="Qh")
    table.passively_to(7)
    assert (table.turn, peer_of(table).turn) == (5, 6)


def test_folded_cards_are_dealt_again_there():
    """P36: never. Seven are left of eight at the river: we turn a common card, PokerKit deals from the muck."""
    table = deal(PLAYNOW, up=EIGHT)
    table.passively_to(6)
    table.play(f"{table.turn} bet 1000")
    folded = table.turn
    table.play(f"{folded} fold")
    table.passively_to(7)
    with pytest.raises(ValueError, match="board"):
        peer_of(table)
    assert table.dealer.river is not None
    assert table.dealer.river.mode is ev.DealMode.COMMUNITY
