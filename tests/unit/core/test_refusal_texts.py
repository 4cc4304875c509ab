"""What people read when a command is refused, word for word. Illegal actions and wrong cards are told elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.amounts import MAX_AMOUNT
from stud_core.decide import decide
from stud_core.presets import PLAYNOW, WILLIAM_HILL, table_config
from stud_core.rejection import Reason, Rejection
from stud_core.ruleset import TopUp
from stud_core.state import Table
from tests.support.core_table import FREE, knobs
from tests.unit.core.house import House

RULES = knobs(PLAYNOW, **FREE)
Command = cmd.Command | Callable[[House], cmd.Command]


def house(*seats: int) -> House:
    return House(PLAYNOW, seats)


def two() -> House:
    return house(1, 2)


def full() -> House:
    return House(knobs(WILLIAM_HILL, seats=2), [1, 2])


def reserved() -> House:
    empty = house()
    empty.send(cmd.TakeSeat("a1", 1, 10_000))
    return empty


def after(*commands: cmd.Command) -> Callable[[], House]:
    def make() -> House:
        table = two()
        for command in commands:
            table.send(command)
        return table

    return make


def asked() -> House:
    """Seat 2 is asked for its ante, seat 1 has posted."""
    table = house(1)
    table.sit(2, auto_post=False)
    table.ready_deck()
    table.send(cmd.StartHand())
    return table


def running() -> House:
    table = two()
    table.start()
    return table


def closing_after_the_hand() -> House:
    table = running()
    table.send(cmd.CloseTable("op"))
    return table


def pending() -> House:
    """Seat 1 has 9950 in front of it and 6000 that wait for the end of the hand."""
    table = running()
    table.send(cmd.AddChips("a1", 6_000))
    table.send(cmd.RecordTopUp(1, 1, 6_000))
    return table


def late(make: Callable[[], House]) -> Callable[[], House]:
    def waited() -> House:
        table = make()
        table.now_ms += 10_001
        return table

    return waited


def showing() -> House:
    """Seat 1 has won uncalled and is asked whether he shows."""
    table = running()
    table.play("1 bring_in, 2 fold")
    return table


def ended() -> House:
    table = showing()
    table.tick(10_000)
    return table


def verified() -> House:
    table = ended()
    table.send(cmd.RecordVerdict(1, 1))
    return table


def disputed() -> House:
    table = ended()
    table.send(cmd.RecordDispute(1, 1, ("WRONG_AWARD",)))
    return table


def broke() -> House:
    table = House(
        RULES, {1: 50, 2: 9_000}, up={1: "2c 4d 6h 8s", 2: "Ac Kd Jh 9s"}, down={1: "Qc Th 3s", 2: "As Ad 3h"}
    )
    table.start()
    table.passive()
    table.send(cmd.RecordVerdict(1, 1))
    table.send(cmd.SitOut("a1"))
    return table


def prompt_of(table: House) -> int:
    return table.hand.prompts[0].prompt_id


def act(account: str, turn: int = 0, *, ahead: bool = False) -> Callable[[House], cmd.Command]:
    return lambda table: cmd.Act(account, turn or table.hand.turn_id, ev.Verb.BRING_IN, by_pre_action=ahead)


closed = after(cmd.CloseTable("op"), cmd.RecordCashOut(1, 10_000), cmd.RecordCashOut(2, 10_000))
draining = after(cmd.DrainTable("op"))
closing = after(cmd.CloseTable("op"))
paused = after(cmd.PauseTable("maintenance", "op"))
leaving = after(cmd.AddChips("a1", 100), cmd.LeaveSeat("a1"))
cashing_out = after(cmd.LeaveSeat("a1"))
gone = after(cmd.LeaveSeat("a1"), cmd.RecordCashOut(1, 10_000))
out = after(cmd.SitOut("a1"))
topping_up = after(cmd.AddChips("a1", 100))

NOBODY = "the account does not sit at this table"
VOID = ev.ResolutionChoice.VOID
REFUSALS: list[tuple[Callable[[], House], Command, Reason, str, str]] = [
    # the table
    (house, cmd.OpenTable(table_config(PLAYNOW)), Reason.TABLE_EXISTS, "this table was opened before", ""),
    (closed, cmd.PauseTable("x", "op"), Reason.TABLE_NOT_OPEN, "the table is closed", ""),
    (closed, cmd.ResumeTable("op"), Reason.TABLE_NOT_OPEN, "the table is closed", ""),
    (draining, cmd.DrainTable("op"), Reason.TABLE_NOT_OPEN, "the table is draining", ""),
    (closing, cmd.CloseTable("op"), Reason.TABLE_NOT_OPEN, "the table is closing", ""),
    (paused, cmd.PauseTable("x", "op"), Reason.TABLE_PAUSED, "the table is paused: maintenance", ""),
    (disputed, cmd.ResumeTable("op"), Reason.TABLE_PAUSED, "a hand is in dispute: ResolveHand ends it", ""),
    (house, cmd.ResumeTable("op"), Reason.TABLE_NOT_PAUSED, "the table is neither paused nor draining", ""),
    (ended, cmd.VoidHand(1, "x", "op"), Reason.HAND_ALREADY_ENDED, "hand 1 is over", ""),
    (running, cmd.VoidHand(2, "x", "op"), Reason.NO_HAND, "no hand 2 is running", ""),
    (
        showing, cmd.VoidHand(1, "x", "op"),
        Reason.HAND_ALREADY_ENDED, "the pots of hand 1 are paid: once it is over, use ResolveHand", "B.21",
    ),
    # verdicts
    (verified, cmd.RecordVerdict(1, 1), Reason.ALREADY_DONE, "hand 1 has its final verdict", ""),
    (ended, cmd.RecordVerdict(2, 1), Reason.NO_HAND, "hand 2 has not ended at this table", ""),
    (disputed, cmd.RecordDispute(1, 1, ()), Reason.ALREADY_DONE, "hand 1 is in dispute", ""),
    (
        ended,
        cmd.RecordResolution(1, 8, ev.ResolutionChoice.REFEREE, (ev.SeatStack(1, 1, 5), ev.SeatStack(5, 7, 100))),
        Reason.UNKNOWN_SITTING, "there is no sitting 7", "",
    ),
    # seats
    (draining, cmd.TakeSeat("b", 3, 10_000), Reason.TABLE_NOT_OPEN, "the table is draining", ""),
    (two, cmd.TakeSeat("a1", 3, 10_000), Reason.ALREADY_SEATED, "an account has one seat at a table", ""),
    (two, cmd.TakeSeat("b", 9, 10_000), Reason.SEAT_OUT_OF_RANGE, "seats are numbered 1 to 8", "P2"),
    (full, cmd.TakeSeat("b", 3, 10_000), Reason.SEAT_OUT_OF_RANGE, "seats are numbered 1 to 2", "W3"),
    (two, cmd.TakeSeat("b", 2, 10_000), Reason.SEAT_TAKEN, "seat 2 is taken", ""),
    (full, cmd.TakeSeat("b", None, 10_000), Reason.TABLE_FULL, "all 2 seats are taken", "W3"),
    (two, cmd.TakeSeat("b", 3, 4_999), Reason.BUY_IN_TOO_SMALL, "the minimum buy-in is 5000, not 4999", "P4"),
    (two, cmd.TakeSeat("b", 3, 20_001), Reason.BUY_IN_TOO_LARGE, "the maximum buy-in is 20000, not 20001", "P3"),
    (gone, cmd.RecordFunding(1, 5), Reason.ALREADY_DONE, "sitting 1 is final", ""),
    (two, cmd.RecordFunding(3, 5), Reason.UNKNOWN_SITTING, "there is no sitting 3", ""),
    (two, cmd.RecordFunding(0, 5), Reason.UNKNOWN_SITTING, "there is no sitting 0", ""),
    (two, cmd.RecordFunding(1, 5), Reason.ALREADY_DONE, "sitting 1 waits for no buy-in", ""),
    (gone, cmd.RecordFundingDeclined(1, "X"), Reason.ALREADY_DONE, "sitting 1 is final", ""),
    (two, cmd.RecordFundingDeclined(3, "X"), Reason.UNKNOWN_SITTING, "there is no sitting 3", ""),
    (two, cmd.RecordFundingDeclined(1, "X"), Reason.ALREADY_DONE, "sitting 1 waits for no buy-in", ""),
    # presence
    (two, cmd.SitOut("b"), Reason.NOT_SEATED, NOBODY, ""),
    (reserved, cmd.SitOut("a1"), Reason.NOT_SEATED, NOBODY, ""),
    (leaving, cmd.SitOut("a1"), Reason.LEAVING, "the account is leaving this table", ""),
    (out, cmd.SitOut("a1"), Reason.ALREADY_SITTING_OUT, "the account is sitting out already", ""),
    (two, cmd.SitIn("b"), Reason.NOT_SEATED, NOBODY, ""),
    (two, cmd.SitIn("a1"), Reason.NOT_SITTING_OUT, "the account is not sitting out", ""),
    (broke, cmd.SitIn("a1"), Reason.NO_CHIPS, "there are no chips to play with: top up first", "B.19"),
    (two, cmd.SetPreferences("b", auto_post=True), Reason.NOT_SEATED, NOBODY, ""),
    (two, cmd.LeaveSeat("b"), Reason.NOT_SEATED, NOBODY, ""),
    (leaving, cmd.LeaveSeat("a1"), Reason.LEAVING, "the account is leaving already", ""),
    # chips
    (two, cmd.AddChips("b", 100), Reason.NOT_SEATED, NOBODY, ""),
    (closing, cmd.AddChips("a1", 100), Reason.LEAVING, "the account is leaving this table", ""),
    (topping_up, cmd.AddChips("a1", 100), Reason.TOP_UP_OPEN, "an earlier top-up is still being paid", ""),
    (
        two, cmd.AddChips("a1", 0),
        Reason.TOP_UP_OUT_OF_LIMITS, "a top-up is an amount of 1 to 1000000000000000, not 0", "B.19",
    ),
    (
        two, cmd.AddChips("a1", MAX_AMOUNT),
        Reason.TOP_UP_OUT_OF_LIMITS, "a stack of 1000000000010000 would exceed the maximum of 20000", "B.19",
    ),
    (
        two, cmd.AddChips("a1", MAX_AMOUNT + 1),
        Reason.TOP_UP_OUT_OF_LIMITS, "a top-up is an amount of 1 to 1000000000000000, not 1000000000000001", "B.19",
    ),
    (
        two, cmd.AddChips("a1", 10_001),
        Reason.TOP_UP_OUT_OF_LIMITS, "a stack of 20001 would exceed the maximum of 20000", "B.19",
    ),
    (
        pending, cmd.AddChips("a1", 4_051),
        Reason.TOP_UP_OUT_OF_LIMITS, "a stack of 20001 would exceed the maximum of 20000", "B.19",
    ),
    (closing_after_the_hand, cmd.AddChips("a1", 100), Reason.TABLE_NOT_OPEN, "the table is closing", ""),
    (gone, cmd.RecordTopUp(1, 1, 5), Reason.ALREADY_DONE, "sitting 1 is final", ""),
    (topping_up, cmd.RecordTopUp(1, 2, 5), Reason.ALREADY_DONE, "top-up 2 of sitting 1 is not open", ""),
    (two, cmd.RecordTopUp(1, 0, 5), Reason.ALREADY_DONE, "top-up 0 of sitting 1 is not open", ""),
    (gone, cmd.RecordTopUpDeclined(1, 1, "X"), Reason.ALREADY_DONE, "sitting 1 is final", ""),
    (gone, cmd.RecordCashOut(1, 5), Reason.ALREADY_DONE, "sitting 1 is final", ""),
    (two, cmd.RecordCashOut(1, 5), Reason.UNKNOWN_SITTING, "sitting 1 asked for no cash-out", ""),
    (gone, cmd.RecordCashOutBlocked(1, "X"), Reason.ALREADY_DONE, "sitting 1 is final", ""),
    (two, cmd.RecordCashOutBlocked(1, "X"), Reason.ALREADY_DONE, "sitting 1 waits for no cash-out", ""),
    # antes
    (two, cmd.StartHand(), Reason.HAND_NOT_STARTABLE, "no hand can start: DECK_NOT_READY", ""),
    (asked, cmd.PostAnte("b", 1), Reason.NOT_SEATED, NOBODY, ""),
    (asked, cmd.PostAnte("a1", 1), Reason.NO_PROMPT, "no ante is being asked for", ""),
    (two, cmd.PostAnte("a1", 1), Reason.NO_PROMPT, "no ante is being asked for", ""),
    (showing, lambda t: cmd.PostAnte("a1", prompt_of(t)), Reason.NO_PROMPT, "no ante is being asked for", ""),
    (asked, cmd.PostAnte("a2", 99), Reason.STALE_PROMPT, "the open prompt is {0.state.version}, not 99", ""),
    (
        late(asked), lambda t: cmd.PostAnte("a2", prompt_of(t)),
        Reason.DEADLINE_PASSED, "the answer came after the deadline", "B.18",
    ),
    # turns
    (running, act("b"), Reason.NOT_SEATED, NOBODY, ""),
    (two, act("b", 1), Reason.NOT_SEATED, NOBODY, ""),
    (two, act("a1", 1), Reason.NO_HAND, "no hand is running", ""),
    (asked, act("a1", 1), Reason.NOT_YOUR_TURN, "it is not this account's turn", ""),
    (running, act("a2"), Reason.NOT_YOUR_TURN, "it is not this account's turn", ""),
    (running, act("a1", 99), Reason.STALE_TURN, "the turn is {0.state.version}, not 99", ""),
    (late(running), act("a1"), Reason.DEADLINE_PASSED, "the action came after the deadline", "B.18"),
    (
        running, act("a1", ahead=True),
        Reason.PRE_ACTION_NOT_ALLOWED, "this table has no bet-ahead: wait for the turn", "B.16",
    ),
    # showing
    (running, cmd.Showdown({}), Reason.UNEXPECTED_CARDS, "there is no showdown", ""),
    (showing, cmd.ChooseShow("b", 1, show=False), Reason.NOT_SEATED, NOBODY, ""),
    (showing, cmd.ChooseShow("a2", 1, show=False), Reason.NO_PROMPT, "nobody asks this account to show", ""),
    (two, cmd.ChooseShow("a1", 1, show=False), Reason.NO_PROMPT, "nobody asks this account to show", ""),
    (
        asked, lambda t: cmd.ChooseShow("a2", prompt_of(t), show=False),
        Reason.NO_PROMPT, "nobody asks this account to show", "",
    ),
    (
        showing, lambda t: cmd.ChooseShow("a1", prompt_of(t), show=True, cards=(1,)),
        Reason.UNEXPECTED_CARDS, "showing takes every down card of the seat", "B.15",
    ),
    # decks
    (after(cmd.RecordDeck(1, b"x")), cmd.RecordDeck(1, b"x"), Reason.ALREADY_DONE, "the deck of hand 1 is known", ""),
    (running, cmd.RecordDeck(1, b"x"), Reason.ALREADY_DONE, "the deck of hand 1 is known", ""),
    (running, cmd.RecordDeck(3, b"x"), Reason.UNEXPECTED_CARDS, "the next hand is 2, not 3", ""),
    (ended, cmd.RecordCards(1, 1, (), ()), Reason.ALREADY_DONE, "hand 1 is over", ""),
    (running, cmd.RecordCards(2, 1, (), ()), Reason.UNEXPECTED_CARDS, "no hand 2 is being dealt", ""),
    (running, cmd.RecordCards(1, 1, (), ()), Reason.ALREADY_DONE, "deal 1 is on the table", ""),
    (running, cmd.RecordCards(1, 2, (), ()), Reason.UNEXPECTED_CARDS, "deal 2 was not asked for", ""),
]  # fmt: skip


@pytest.mark.parametrize(("make", "command", "reason", "text", "rule"), REFUSALS)
def test_the_words_of_a_refusal(make: Callable[[], House], command: Command, reason: Reason, text: str, rule: str):
    table = make()
    refusal = table.reject(command(table) if callable(command) else command)
    assert (refusal.reason, refusal.text, refusal.rule) == (reason, text.format(table), rule)


BOUNDED = {
    Reason.BUY_IN_TOO_SMALL, Reason.BUY_IN_TOO_LARGE, Reason.TOP_UP_OUT_OF_LIMITS, Reason.SEAT_OUT_OF_RANGE,
}  # fmt: skip


@pytest.mark.parametrize(("make", "command", "reason", "text", "rule"), REFUSALS)
def test_a_refusal_says_its_bounds_where_it_has_some(
    make: Callable[[], House], command: Command, reason: Reason, text: str, rule: str
):
    table = make()
    refusal = table.reject(command(table) if callable(command) else command)
    assert (refusal.least is not None, refusal.most is not None) == (reason in BOUNDED, reason in BOUNDED), (text, rule)


ANY, NO_MAXIMUM = {"top_up": TopUp.ANY_AMOUNT}, {"max_buy_in": None}


@pytest.mark.parametrize(
    ("stack", "playing", "changes", "bounds"),
    [
        (4_000, False, {}, (1_000, 16_000)),
        (10_000, False, {}, (1, 10_000)),
        (4_000, True, {}, (1, 16_050)),  # one ante is in the pot
        (4_000, False, ANY, (1, 16_000)),
        (4_000, False, NO_MAXIMUM, (1_000, MAX_AMOUNT)),
        (20_000, False, {}, (1, 0)),
        (20_001, False, {}, (1, 0)),
    ],
)
def test_the_bounds_of_a_top_up_are_what_the_table_takes(
    stack: int, playing: bool, changes: dict[str, Any], bounds: tuple[int, int]
):
    """The least and the greatest amount are accepted, and the next ones are not."""
    table = House(knobs(PLAYNOW, **changes), [1, 2])
    table.refold = False
    for state in (table.state, table.mirror):  # as if he had lost or won, of which no log says anything
        state.paid_in += stack - state.sittings[1].stack
        state.sittings[1].stack = stack
    if playing:
        table.start()
    for amount in (0, -5, MAX_AMOUNT + 1):
        refusal = table.reject(cmd.AddChips("a1", amount))
        assert (refusal.least, refusal.most) == bounds
    least, most = bounds
    for amount in {least, most}:
        answer = decide(table.state, cmd.AddChips("a1", amount), table.ctx())
        assert isinstance(answer, Rejection) is (most == 0)
    for amount in (least - 1, most + 1):
        assert isinstance(decide(table.state, cmd.AddChips("a1", amount), table.ctx()), Rejection)


@pytest.mark.parametrize(("changes", "most"), [({}, 20_000), (NO_MAXIMUM, MAX_AMOUNT)])
def test_the_bounds_of_a_buy_in_are_what_the_table_takes(changes: dict[str, Any], most: int):
    table = House(knobs(PLAYNOW, **changes))
    for amount in (4_999, most + 1):
        refusal = table.reject(cmd.TakeSeat("a1", 1, amount))
        assert (refusal.least, refusal.most) == (5_000, most)
    for amount in (5_000, most):
        assert not isinstance(decide(table.state, cmd.TakeSeat("a1", 1, amount), table.ctx()), Rejection)


def test_every_problem_of_a_configuration_is_told():
    wrong = table_config(knobs(PLAYNOW, max_raises=0), hand_pause_ms=-1)
    refusal = decide(Table(), cmd.OpenTable(wrong), cmd.Context(1, 1))
    assert isinstance(refusal, Rejection)
    assert refusal.reason is Reason.INVALID_RULESET
    assert refusal.text == "max_raises: lies in 1..10; hand_pause_ms: lies in 0..600000"


def test_a_stack_below_the_minimum_is_told():
    table = House(PLAYNOW, {1: 10_000, 2: 5_000}, up={1: "2c", 2: "Ac"})
    table.start()
    table.play("1 bring_in, 2 fold")
    table.tick(10_000)
    table.send(cmd.RecordVerdict(1, 1))
    for amount, stack in ((49, 4_999), (1, 4_951)):
        refusal = table.reject(cmd.AddChips("a2", amount))
        assert (refusal.reason, refusal.rule) == (Reason.TOP_UP_OUT_OF_LIMITS, "B.19")
        assert refusal.text == f"a stack of {stack} would be below the minimum of 5000"
