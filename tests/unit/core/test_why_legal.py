"""Why an action was legal: the rules of the table's own page, and words; the counterpart of why one is not."""

from __future__ import annotations

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.decide.legal import Grounds, why_legal
from stud_core.evolve import evolve
from stud_core.presets import PLAYNOW
from stud_core.ruleset import Ruleset
from stud_core.state import Table
from tests.support.core_table import knobs
from tests.support.table_driver import TableDriver, deal
from tests.vectors.positions import both, fifth_street, fourth_street, playnow, william_hill


def last_action(table: TableDriver) -> ev.ActionTaken:
    """The first action of the last commit that has one; the dealer's may stand behind it."""
    acted = [[e for e in events if isinstance(e, ev.ActionTaken)] for _, events in table.log]
    return [actions for actions in acted if actions][-1][0]


def grounds(table: TableDriver, before: Table) -> Grounds:
    """Why the last action was legal."""
    return why_legal(before, last_action(table))


def played(table: TableDriver, words: str) -> Grounds:
    before = table.state
    table.play(words)
    return grounds(table, before)


def of(rules: Ruleset, p: str, w: str) -> str:
    return p if rules is PLAYNOW else w


@both
def test_the_bring_in(rules: Ruleset):
    amount = of(rules, "200", "250")
    why, cited = played(deal(rules), f"1 bring_in {amount}")
    assert why == f"the lowest card showing is 2c: it brings in {of(rules, '2', '2.50')}"
    assert cited == (of(rules, "P13", "W8"), of(rules, "P58", "W9"))


@both
def test_a_bring_in_of_less_takes_all_there_is(rules: Ruleset):
    why, cited = played(deal(rules, stacks={1: 150}), "1 bring_in")
    assert why.endswith("or all the chips there are")
    assert cited == (of(rules, "P13", "W8"), of(rules, "P58", "W9"), "B.4")


@both
def test_opening_completing_and_raising_on_third_street(rules: Ruleset):
    table = deal(rules)
    assert played(table, "1 open 500") == (
        "opening in full is the lower limit, 5, number 1 of at most 4 in the round",
        (of(rules, "P58", "W9"), of(rules, "P56", "W18")),
    )
    assert played(table, "2 raise 1000") == (
        "a raise is to 10, number 2 of at most 4 in the round",
        (of(rules, "P53", "B.16"), of(rules, "P50", "W14"), of(rules, "P56", "W18")),
    )
    table = deal(rules)
    table.play("1 bring_in")
    assert played(table, "2 complete 500") == (
        "completing is the lower limit, 5, number 1 of at most 4 in the round",
        (of(rules, "P59", "W14"), of(rules, "P56", "W18"), of(rules, "P60", "B.2")),
    )


@both
def test_sizes_beside_an_open_pair(rules: Ruleset):
    table = fourth_street(rules)
    assert played(table, "1 bet 1000") == (
        "a bet is by the higher limit to 10, number 1 of at most 4 in the round",
        (of(rules, "P20", "B.16"), of(rules, "P62", "W15"), of(rules, "P56", "W18")),
    )
    why, cited = played(table, "2 raise 2000")
    assert why == "a raise is by the higher limit to 20, number 2 of at most 4 in the round"
    assert of(rules, "P24", "W17") in cited


@both
def test_what_is_passive(rules: Ruleset):
    table = fifth_street(rules)
    assert played(table, "1 check") == ("there is nothing to call", (of(rules, "P52", "B.16"),))
    assert played(table, "2 bet 1000")[0] == "a bet is the limit of the street, 10, number 1 of at most 4 in the round"
    rules_of_a_call = (of(rules, "P53", "B.16"), of(rules, "P51", "W13"))
    assert played(table, "3 call") == ("a call takes what is missing, 10", rules_of_a_call)
    assert played(table, "1 fold") == ("facing 10 to call a player may fold", (of(rules, "P53", "W29"),))
    table = fifth_street(rules)
    assert played(table, "1 fold") == ("folding is allowed where checking is free", ("B.20",))


@both
def test_a_call_for_less(rules: Ruleset):
    table = fifth_street(rules, behind={2: 300})
    table.play("1 bet 1000")
    why, cited = played(table, "2 call")
    assert (why, cited) == (
        "10 to call; a call for less takes all the chips there are",
        (of(rules, "P53", "B.16"), "B.19"),
    )


@both
def test_all_ins_for_less_count_or_do_not(rules: Ruleset):
    table = fifth_street(rules, behind={2: 1_600})
    table.play("1 bet 1000")
    why, cited = played(table, "2 raise 1600")
    assert "all-in for 16 counts as a full one, number 2 of at most 4" in why
    assert {"B.8", "B.19"} <= set(cited)
    table = fifth_street(rules, behind={2: 1_400})
    table.play("1 bet 1000")
    why, cited = played(table, "2 raise 1400")
    assert why == "a raise is to 20, all-in for 14 does not count as a full one"
    assert of(rules, "P56", "W18") not in cited


@playnow
def test_two_players_raise_without_end(rules: Ruleset):
    table = fifth_street(rules, 2)
    table.play("1 bet 1000", "2 raise 2000", "1 raise 3000", "2 raise 4000")
    why, cited = played(table, "1 raise 5000")
    assert why == "a raise is to 50, only two players are left, so raises are unlimited"
    assert {"P57", "B.6"} <= set(cited)


@both
def test_a_clock_that_ran_out(rules: Ruleset):
    table = deal(rules)
    for default, needed in (("the bring-in is posted", "P58 W9"), ("so the hand is folded", "P53 W29")):
        before = table.state
        table.now_ms += 60_000
        table.send(cmd.Tick())
        why, cited = grounds(table, before)
        assert why.startswith(f"the clock of 10 seconds ran out: {'' if 'posted' in default else 'there is a bet'}")
        assert default in why
        assert cited[0] == of(rules, "P25", "B.18")
        assert {"B.18", of(rules, *needed.split())} <= set(cited)
    table = fifth_street(rules)
    before = table.state
    table.now_ms += 60_000
    table.send(cmd.Tick())
    assert grounds(table, before)[0].startswith("the clock of 10 seconds ran out: checking is free")


@both
def test_whoever_leaves_or_has_pressed_sit_out(rules: Ruleset):
    table = fifth_street(rules)
    before = table.state
    table.send(cmd.LeaveSeat("a1"))
    why, cited = why_legal(before_leaving(before, table), last_action(table))
    assert why.startswith("the player is leaving: checking is free")
    assert "B.21" in cited
    table = fifth_street(knobs(rules, away_folds_now=True))
    before = table.state
    table.send(cmd.SitOut("a1"))
    why, cited = why_legal(before, last_action(table))
    assert why.startswith("the player pressed Sit Out, and this house folds their hand")
    assert cited[0] == "B.17"


def before_leaving(before: Table, table: TableDriver) -> Table:
    """The table once the wish to leave is recorded, as a replay folds it event by event."""
    leaving = [event for event in table.log[-1][1] if isinstance(event, ev.LeaveRequested)]
    return evolve(before, leaving, table.state.version)


@william_hill
def test_a_choice_ahead(rules: Ruleset):
    table = fifth_street(rules)
    before = table.state
    turn = table.hand.turn_id
    table.send(cmd.Act("a1", turn, ev.Verb.CHECK, by_pre_action=True))
    why, cited = grounds(table, before)
    assert why == "chosen ahead of the turn; there is nothing to call"
    assert cited == ("W28", "B.16")


@both
def test_where_the_low_card_has_no_chips(rules: Ruleset):
    table = deal(rules, 4, stacks={1: 50})
    amount = of(rules, "2", "2.50")
    assert played(table, "2 fold") == ("the low card has no chips, so the others need not open", ("B.4",))
    why, cited = played(table, "3 bring_in")
    assert (why, cited) == (f"the low card has no chips: the next player may bring it in for {amount}", ("B.4",))
