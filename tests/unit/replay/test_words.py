"""Every event has its words, and the rules that they name are the table's own."""

import re
from functools import cache
from typing import Any

import pytest

from stud_core import events as ev
from stud_core.events import Engine
from stud_core.evolve import apply
from stud_core.presets import PLAYNOW, WILLIAM_HILL, table_config
from stud_core.ruleset import Ruleset
from stud_core.state import Table
from stud_replay.frames import Said
from stud_replay.words import _SAY, say
from stud_replay.words.saying import Told
from tests.support.deep import either
from tests.support.replayed import RandomTable, frames_of
from tests.support.table_driver import TableDriver
from tests.vectors.positions import LEADER, ROYAL_UP, both, fifth_street, fourth_street

HANDS = either(60, 1500, 25)
BOTH = pytest.mark.parametrize("rules", [PLAYNOW, WILLIAM_HILL], ids=lambda rules: rules.name)
SEATED: list[ev.Event] = [
    ev.TableOpened(table_config(PLAYNOW, table_id="t-1", name="One")),
    ev.BuyInRequested("EUR", False, 1, 3, "ada", 10_000, 99, True, True),
    ev.PlayerSeated(1, 3, 10_000),
]


@cache
def said(ruleset: Ruleset) -> tuple[Said, ...]:
    played = RandomTable(ruleset, 11, HANDS)
    return tuple(said for frame in frames_of(played.commits) for said in frame.said)


def table(*events: ev.Event) -> Table:
    state = Table()
    for event in (*SEATED, *events):
        apply(state, event)
    return state


def test_every_event_of_a_table_has_its_words():
    kinds: set[type] = set(ev.Event.__args__)
    assert sorted(kind.__name__ for kind in kinds ^ set(_SAY)) == []


@BOTH
def test_rules_are_those_of_the_tables_own_page(rules: Ruleset):
    page, other = ("P", "W") if rules is PLAYNOW else ("W", "P")
    cited = {rule for told in said(rules) for rule in told.rules}
    assert all(re.fullmatch(rf"{page}\d+|B\.\d+", rule) for rule in cited), cited
    assert not any(rule.startswith(other) for rule in cited)
    wanted = {"PlayNow": {"P13", "P25", "P52", "P56", "P58", "P62", "P37"}, "W": {"W8", "W9", "W14", "W18", "W16"}}
    assert wanted["PlayNow" if page == "P" else "W"] <= cited


@BOTH
def test_every_action_says_why_it_was_legal(rules: Ruleset):
    actions = [told for told in said(rules) if told.name == "action_taken"]
    assert len(actions) > 10 * HANDS
    assert all(told.why and told.rules and told.seat and told.account for told in actions)
    verbs = {told.event.action_taken.verb for told in actions}
    assert verbs == {int(verb) for verb in ev.Verb}


@BOTH
def test_amounts_are_told_as_they_were(rules: Ruleset):
    for told in said(rules):
        if told.name == "action_taken" and told.event.action_taken.verb == int(ev.Verb.RAISE):
            to = told.event.action_taken.to
            whole, cents = divmod(to, 100)
            assert f"raises to {whole:,}.{cents:02d}".removesuffix(".00") in told.what


CASES: list[tuple[Any, list[ev.Event], str, str]] = [
    (ev.TablePaused("HAND_DISPUTED", ""), [], "the table is paused: HAND_DISPUTED", "a hand is in dispute"),
    (ev.TablePaused("lunch", "olga"), [], "the table is paused by olga: lunch", "no new hand"),
    (ev.TableResumed(""), [], "the table goes on", "what it was paused for is over"),
    (ev.TableResumed("", "DEAD"), [], "the table goes on", "is over: DEAD"),
    (ev.TableDraining("olga"), [], "starts no more hands, olga", "draining"),
    (ev.TableClosing("olga"), [], "the table is closed by olga", "paid out"),
    (ev.TableClosed(), [], "closed for good", "the last player"),
    (ev.SeatReleased(1, 3, "SEAT_LEFT"), [], "the reservation of ada (seat 3) ends", "took it back"),
    (ev.SeatReleased(1, 3, "INSUFFICIENT_FUNDS", 250), [], "ada",
     "the wallet declined, INSUFFICIENT_FUNDS: there was 2.50"),
    (ev.TopUpRequested("EUR", False, 1, 2, "ada", 500), [], "ada (seat 3) asks for 5 more (top-up 2)", "wallet"),
    (ev.TopUpRefused(1, 2, "INSUFFICIENT_FUNDS", 100), [], "the top-up of ada (seat 3) is refused", "there was 1"),
    (ev.TopUpPending(1, 2, 500, 500), [], "5 for ada (seat 3) has come, 5 waits", "between hands"),
    (ev.ChipsAdded(1, 3, 500, 0, 10_500), [], "5 joins the stack of ada (seat 3): 105", "no hand is running"),
    (ev.CashOutRequested("EUR", 1, "ada", 10_000, 3), [], "ada (seat 3) is to be paid 100", "verdict"),
    (ev.CashOutRequested("EUR", 9, "ada", None, 0), [], "whatever ada had paid in", "never sat"),
    (ev.CashOutHeld(1, "CLAIM_MISMATCH"), [], "the cash-out of ada (seat 3) is held", "CLAIM_MISMATCH"),
    (ev.PlayerLeft(1, 10_000), [], "ada (seat 3) is paid 100", "final"),
    (ev.PlayerLeft(8, 10_000), [], "sitting 8 is paid 100", "final"),
    (ev.PreferencesSet(1, 3, True, False), [], "Auto Post Ante on, Muck Losing Hands off", "own choice"),
    (ev.TableHandVerified(4, 9), [], "hand 4 is verified (verdict 9)", "referee"),
    (ev.TableHandDisputed(4, 9, ("POT", "RANK")), [], "hand 4 is disputed (verdict 9): POT, RANK", "nothing of it"),
    (ev.TableHandResolved(4, 9, ev.ResolutionChoice.VOID, (ev.SeatStack(3, 1, 900),)), [],
     "hand 4 is resolved, it does not count: ada (seat 3) has 9", "two operators"),
    (ev.AntesReturned(4, (), "TABLE_DRAINING"), [], "the antes of hand 4 go back", "no more hands"),
    (ev.AntesReturned(4, (ev.Refund(3, 50, 100),), "mistake"), [], "0.50 to ada (seat 3)", "called off: mistake"),
    (ev.ClockRestarted(None, 8, 99, "FAULT"), [ev.AntesOpened(1, 8, 5, (3,), (), Engine.SECOND)],
     "the clock of ada (seat 3) starts afresh", "never folds a player (FAULT)"),
]  # fmt: skip


@pytest.mark.parametrize(("event", "before", "what", "why"), CASES, ids=lambda case: type(case).__name__)
def test_what_is_said_of_what_seldom_happens(event: ev.Event, before: list[ev.Event], what: str, why: str):
    told = say(table(*before), event)
    assert what in told.what
    assert why in told.why


THREE = {seat: LEADER[seat] for seat in (1, 2, 3)}


def told_of(table: TableDriver, kind: type) -> list[Told]:
    """What is said of every event of a kind, each on the table as it was just before it."""
    state, out = Table(), []
    for _, events in table.log:
        for event in events:
            if isinstance(event, kind):
                out.append(say(state, event))
            apply(state, event)
    return out


@both
def test_whose_turn_it_is_when_whoever_began_has_folded(rules: Ruleset):
    table = fifth_street(rules)
    table.play("1 fold")
    first, second = told_of(table, ev.TurnStarted)[-2:]
    assert first.why.startswith("the highest cards showing, Ac Kd Jh, act first")
    assert second.why.startswith("the next player clockwise who still owes a decision")


@both
def test_whose_turn_it_is_when_the_best_board_is_all_in(rules: Ruleset):
    table = fourth_street(rules, THREE, behind={1: 500})
    table.play("1 bet 500", "2 call", "3 call")
    (told,) = [told for told in told_of(table, ev.TurnStarted) if "is all-in" in told.why]
    assert told.seat == table.turn == 2
    assert "B.9" in told.rules


@both
def test_streets_that_come_at_once_say_so(rules: Ruleset):
    table = fourth_street(rules, THREE, behind={1: 500, 2: 500})
    table.play("1 bet 500", "2 call", "3 call")
    deals = told_of(table, ev.DealRequested)
    assert [("B.9" in told.rules) for told in deals] == [False, False, True, True, True]
    assert deals[-1].why == "the betting of sixth street is over; fewer than two players can still bet"


@both
def test_who_shows_first_and_who_wins_what(rules: Ruleset):
    royal = {1: ROYAL_UP["s"], 2: "9c 8d 7c 3h", 3: "2c 4d 6s 5h"}
    down = {1: "Ts 2h 3c", 2: "9h 9d 2d", 3: "3d 4s Tc"}
    table = fifth_street(rules, street=7, up=royal, down=down)
    table.play("1 check", "2 bet 1000", "3 fold", "1 call")
    shown = told_of(table, ev.HandShown)
    assert [told.seat for told in shown] == [2, 1]
    assert shown[0].why == "who bet or raised last on the river shows first"
    assert shown[1].why == "cards speak: a winner of a called pot shows"
    (pot,) = told_of(table, ev.PotAwarded)
    assert pot.why == "the best five cards win it"
    table = fifth_street(rules, street=7, up=royal, down=down)
    table.play("1 check", "2 check", "3 check")
    assert told_of(table, ev.HandShown)[0].why.startswith("nobody bet the river")


@both
def test_a_side_pot_is_shown_for_first_and_one_that_nobody_else_can_win_is_said_to_be(rules: Ruleset):
    up = {1: "Ac Kd Jh 9s", 2: "Qc Td 8h 6s", 3: "2c 7d 5h 3s"}
    down = {1: "As Ah Ad", 2: "Qd Qh 4c", 3: "4d 6c 8s"}
    table = fifth_street(rules, street=7, up=up, down=down, behind={1: 0})
    table.play("2 check", "3 check")
    assert told_of(table, ev.HandShown)[0].seat == 2
    assert {told.why for told in told_of(table, ev.PotAwarded)} <= {
        "the best five cards win it",
        "nobody else has put in as much, so nobody else can win it",
    }
