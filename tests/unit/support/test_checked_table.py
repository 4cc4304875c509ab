"""What the checking harness must not let pass: each fault is planted, and noticed by the check that is for it."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from stud_core import commands as cmd
from stud_core.commands import Command, Context
from stud_core.decide import decide, step
from stud_core.evolve import apply, evolve, fold, thaw
from stud_core.presets import PLAYNOW
from stud_core.rejection import Reason, Rejection
from stud_core.state import Table
from tests.support import checked_table
from tests.support.table_driver import TableDriver, deal


def changed(state: Table, seat: int = 1, **fields: Any) -> Table:
    """The same table with another sitting at a seat; the one given is as it was."""
    after = thaw(state, state.version)
    sitting = state.at(seat)
    after.sittings[sitting.sitting_no] = msgspec.structs.replace(sitting, **fields)
    return after


def chip_lost(state: Table) -> Table:
    return changed(state, stack=state.at(1).stack - 1)


@pytest.fixture
def table() -> TableDriver:
    """Between two hands."""
    found = deal(PLAYNOW, 3)
    found.passively_to_the_end()
    return found


# --- decide, evolve and step -----------------------------------------------------------------------------------------


def ours(table: TableDriver) -> tuple[Table, Command, Context]:
    return table.state, cmd.SitOut("a1"), table.ctx()


def test_a_step_that_differs_is_noticed(table: TableDriver, monkeypatch: pytest.MonkeyPatch):
    def falsely(state: Table, command: Command, ctx: Context) -> Any:
        done = step(state, command, ctx)
        assert not isinstance(done, Rejection)
        return done[0], chip_lost(done[1])

    monkeypatch.setattr(checked_table, "step", falsely)
    with pytest.raises(AssertionError, match="step differs"):
        table.send(cmd.SitOut("a1"))


def test_an_evolve_that_loses_a_chip_is_noticed(table: TableDriver, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checked_table, "evolve", lambda *given: chip_lost(evolve(*given)))
    with pytest.raises(AssertionError, match="step differs"):
        table.send(cmd.SitOut("a1"))


@pytest.mark.parametrize("name", ["decide", "evolve", "step"])
def test_a_state_that_was_given_and_changed_is_noticed(name: str, table: TableDriver, monkeypatch: pytest.MonkeyPatch):
    every: dict[str, Callable[..., Any]] = {"decide": decide, "evolve": evolve, "step": step}
    real = every[name]

    def spoiling(state: Table, *given: Any) -> Any:
        answer = real(state, *given)
        state.paid_in += 1
        return answer

    monkeypatch.setattr(checked_table, name, spoiling)
    with pytest.raises(AssertionError, match=r"changed the state it was given|step differs"):
        table.send(cmd.SitOut("a1"))


def test_a_photo_is_taken_of_what_folding_shares(table: TableDriver, monkeypatch: pytest.MonkeyPatch):
    """Two states that share a list change together, so that no comparison of states would see it."""

    def spoiling(state: Table, *given: Any) -> Any:
        state.seats[8] = 99
        try:
            return step(state, *given)
        finally:
            state.seats[8] = 99

    monkeypatch.setattr(checked_table, "step", spoiling)
    with pytest.raises(AssertionError, match=r"changed the state it was given|step differs"):
        table.send(cmd.SitOut("a1"))


def test_a_refusal_that_changes_the_state_is_noticed(table: TableDriver, monkeypatch: pytest.MonkeyPatch):
    def spoiling(state: Table, *given: Any) -> Any:
        state.paid_in += 1
        return decide(state, *given)

    monkeypatch.setattr(checked_table, "decide", spoiling)
    with pytest.raises(AssertionError, match="a refusal changed the state"):
        table.reject(cmd.SitIn("nobody"))


def test_a_refusal_without_a_word_is_noticed(table: TableDriver, monkeypatch: pytest.MonkeyPatch):
    for name in ("decide", "step"):
        monkeypatch.setattr(checked_table, name, lambda *_: Rejection(Reason.NOT_SEATED, ""))
    with pytest.raises(AssertionError, match="says nothing"):
        table.reject(cmd.SitIn("nobody"))


def test_what_is_accepted_is_not_refused(table: TableDriver):
    with pytest.raises(AssertionError, match="accepted"):
        table.reject(cmd.SitOut("a1"))


def test_a_showdown_is_checked_as_what_led_to_it(monkeypatch: pytest.MonkeyPatch):
    found = deal(PLAYNOW, 2)
    found.passively_to(7)

    def falsely(state: Table, command: Command, ctx: Context) -> Any:
        done = step(state, command, ctx)
        if not isinstance(command, cmd.Showdown):
            return done
        assert not isinstance(done, Rejection)
        return done[0], chip_lost(done[1])

    monkeypatch.setattr(checked_table, "step", falsely)
    with pytest.raises(AssertionError, match="step differs"):
        found.passively_to_the_end()


# --- the table after a commit ----------------------------------------------------------------------------------------


def test_an_event_that_loses_a_chip_is_noticed(table: TableDriver, monkeypatch: pytest.MonkeyPatch):
    def losing(state: Table, event: Any) -> None:
        apply(state, event)
        state.sittings = chip_lost(state).sittings

    monkeypatch.setattr(checked_table, "apply", losing)
    with pytest.raises(AssertionError, match="after "):
        table.send(cmd.SitOut("a1"))


def test_a_fold_that_comes_to_another_table_is_noticed(table: TableDriver, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checked_table, "apply", lambda state, event: None)
    with pytest.raises(AssertionError, match="rebuilt table differs"):
        table.send(cmd.SitOut("a1"))


def test_a_log_that_folds_to_another_table_is_noticed(table: TableDriver, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checked_table, "fold", lambda log: fold(log[:-1]))
    with pytest.raises(AssertionError, match="folded from its log differs"):
        table.send(cmd.SitOut("a1"))


@pytest.mark.parametrize("quick", [False, True])
def test_a_quick_run_folds_the_log_where_a_hand_ends(quick: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checked_table, "QUICK", quick)
    found = deal(PLAYNOW, 2)
    folded: list[bool] = []

    def noted(log: Any) -> Table:
        folded.append(found.running)
        return fold(log)

    monkeypatch.setattr(checked_table, "fold", noted)
    found.passively_to_the_end()
    assert folded.count(False) == 1
    assert (True in folded) is not quick


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda table: setattr(table, "state", chip_lost(table.state)), None),
        (lambda table: setattr(table.state, "version", table.state.version + 1), None),
        (lambda table: setattr(table, "state", changed(table.state, pending=-1)), None),
        (lambda table: setattr(table.state, "next_sitting_no", 77), "folded from its log differs"),
    ],
    ids=["a chip is lost", "a version too far", "chips that are owed", "a number of its own"],
)
def test_a_table_that_is_not_as_it_should_be_is_noticed(spoil: Any, told: str | None, table: TableDriver):
    table.check()
    spoil(table)
    with pytest.raises(AssertionError, match=told):
        table.check()


def test_a_card_that_is_there_twice_is_noticed():
    found = deal(PLAYNOW, 3)
    found.check()
    found.hand.up[2] = found.hand.up[1]
    with pytest.raises(AssertionError, match="a card is there twice"):
        found.check()


def test_a_card_that_nobody_dealt_is_noticed():
    found = deal(PLAYNOW, 3, up={1: "2c", 2: "7d", 3: "9h"})
    spare = next(card for card in range(52) if card not in found.dealer.dealt)
    found.hand.up[2] = (spare,)
    with pytest.raises(AssertionError, match="lost or made up"):
        found.check()


def test_cards_are_counted_while_the_next_are_asked_for():
    found = deal(PLAYNOW, 2)
    found.auto_deal = False
    while found.hand.deal is None:
        found.passive()
    found.hand.up[1] = found.hand.up[2]
    with pytest.raises(AssertionError, match="a card is there twice"):
        found.check()
