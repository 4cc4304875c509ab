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
from tests.support.deep import either
from tests.support.replayed import RandomTable, frames_of

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
    assert set(_SAY) == set(ev.Event.__args__)


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
