"""Rule vectors C.10: time, presence, money at the table (rows 128-139, 149).

Rows 131 and 148 belong to the running services; bet-ahead (140-147) has a file of its own. All of them are played over
gRPC too, in tests/component/test_rows_over_grpc.py.
"""

from __future__ import annotations

import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.rejection import Reason
from stud_core.ruleset import Ruleset, TopUp
from tests.support.core_table import account, none, only
from tests.support.table_driver import TableDriver, deal
from tests.vectors.positions import both, fifth_street, playnow, stack_with, william_hill


def missed_action(table: TableDriver, verb: ev.Verb) -> None:
    """S1's clock runs out: ``verb`` is taken for him, and he is out of the next hand."""
    last = table.timeout()
    action = only(last, ev.ActionTaken)
    assert (action.seat, action.verb, action.amount, action.by) == (1, verb, 0, ev.By.TIMEOUT)
    table.passively_to_the_end()
    assert only(table.events(), ev.SatOut) == ev.SatOut(1, 1, ev.OutReason.MISSED_ACTION)
    table.start()
    assert 1 not in table.dealt_in()
    assert table.dealt_in() == (2, 3)


@pytest.mark.rules("P25", "P55")
@playnow
def test_vector_128_silence_without_a_bet_checks(rules: Ruleset):
    table = fifth_street(rules)
    assert table.hand.deadline_ms == table.now_ms + 10_000
    missed_action(table, ev.Verb.CHECK)


@pytest.mark.rules("P25", "P55")
@playnow
def test_vector_129_silence_facing_a_bet_folds(rules: Ruleset):
    table = fifth_street(rules)
    table.play("1 check", "2 bet 1000", "3 call")
    assert table.hand.deadline_ms == table.now_ms + 10_000
    missed_action(table, ev.Verb.FOLD)


@pytest.mark.rules("P25", "P55")
@playnow
@pytest.mark.parametrize("street", [3, 4, 5, 6, 7])
def test_everybody_has_ten_seconds_in_every_round(rules: Ruleset, street: int):
    """Who may check, who must call and who is asked again after a raise."""
    table = fifth_street(rules, street=street)
    for _ in range(5):
        assert table.hand.deadline_ms == table.now_ms + 10_000
        table.now_ms += 4_000
        wager = table.hand.options[-1]
        table.play(f"{table.turn} {wager.verb.name.lower()} {wager.to or ''}")


@pytest.mark.rules("P25", "P55")
@playnow
def test_vector_130_an_action_after_the_deadline(rules: Ruleset):
    table = fifth_street(rules)
    act = table.parse("1 bet 1000")
    table.now_ms = table.hand.deadline_ms + 1
    refusal = table.reject(act)
    assert (refusal.reason, refusal.rule) == (Reason.DEADLINE_PASSED, "B.18")
    last = table.send(cmd.Tick())
    assert (only(last, ev.ActionTaken).verb, only(last, ev.ActionTaken).by) == (ev.Verb.CHECK, ev.By.TIMEOUT)
    assert table.turn == 2
    # The timeout stands: the late action does not come back, whatever the clock says.
    assert table.reject(act).reason is Reason.NOT_YOUR_TURN
    assert table.bets() == {}


@pytest.mark.rules("P25", "P55")
@playnow
def test_vector_130_an_action_in_time(rules: Ruleset):
    table = fifth_street(rules)
    table.now_ms = table.hand.deadline_ms
    table.play("1 bet 1000")
    assert table.bets() == {1: 1000}


@playnow
def test_vector_132_a_stale_turn_number(rules: Ruleset):
    table = fifth_street(rules, 2)
    stale = table.hand.turn_id
    table.play("1 check", "2 bet 1000")
    assert table.turn == 1
    for turn_id in (stale, table.hand.turn_id + 1, 0):
        assert table.reject(cmd.Act(account(1), turn_id, ev.Verb.CALL)).reason is Reason.STALE_TURN
    table.play("1 call")


def bought_in(rules: Ruleset, amount: int) -> bool:
    """Whether this buy-in is funded and sits at a 5/10 table."""
    table = TableDriver(rules, {1: amount}, strict_buy_in=True)
    return table.stacks() == {1: amount}


def not_bought_in(rules: Ruleset, amount: int) -> tuple[str, str]:
    """Why this buy-in is refused at a 5/10 table, and by which rule."""
    table = TableDriver(rules, {}, strict_buy_in=True)
    refusal = table.reject(cmd.TakeSeat(account(1), 1, amount))
    return refusal.reason, refusal.rule


@pytest.mark.rules("P3", "P4")
@playnow
def test_vector_133_posted_minimum_and_maximum(rules: Ruleset):
    """50 and 200 are ten and forty times the lower limit."""
    assert not_bought_in(rules, 4_999) == (Reason.BUY_IN_TOO_SMALL, "P4")
    assert bought_in(rules, 5_000)
    assert bought_in(rules, 20_000)
    assert not_bought_in(rules, 20_001) == (Reason.BUY_IN_TOO_LARGE, "P3")


@pytest.mark.rules("W1", "W2")
@pytest.mark.knob("max_buy_in", None)
@william_hill
def test_vector_134_ten_times_the_lower_limit(rules: Ruleset):
    assert not_bought_in(rules, 4_999) == (Reason.BUY_IN_TOO_SMALL, "W2")
    assert bought_in(rules, 5_000)
    assert bought_in(rules, 500_000)


@pytest.mark.knob("top_up", TopUp.WITHIN_LIMITS)
@playnow
def test_vector_135_a_top_up_must_reach_the_minimum(rules: Ruleset):
    up = {1: "Ac Kd Jh 9s", 2: "2c Td 8h 6s"}
    down = {1: "As Ad 3h", 2: "Qc 7d 4h"}
    table = deal(
        rules, up=up, down=down, stacks={1: 5000, 2: 5000}, ante=100, bring_in=400, strict_buy_in=True
    )  # fmt: skip
    table.play("2 bring_in", "1 call", "1 bet 500", "2 call", "1 bet 1000", "2 call")
    table.passively_to_the_end()
    table.settle()
    assert table.stack(2) == 3000
    refusal = table.reject(cmd.AddChips(account(2), 1000))
    assert (refusal.reason, refusal.rule) == (Reason.TOP_UP_OUT_OF_LIMITS, "B.19")
    asked = only(table.send(cmd.AddChips(account(2), 2000)), ev.TopUpRequested)
    added = table.send(cmd.RecordTopUp(asked.sitting_no, asked.top_up_no, 2000))
    assert only(added, ev.ChipsAdded).stack == 5000
    assert table.stack(2) == 5000


@playnow
def test_vector_136_a_top_up_waits_for_the_end_of_the_hand(rules: Ruleset):
    table = fifth_street(rules, behind={2: 700})
    asked = only(table.send(cmd.AddChips(account(2), 9000)), ev.TopUpRequested)
    funded = table.send(cmd.RecordTopUp(asked.sitting_no, asked.top_up_no, 9000))
    assert only(funded, ev.TopUpPending).pending == 9000
    assert none(funded, ev.ChipsAdded)
    assert table.stack(2) == 700
    table.play("1 bet 1000")
    assert table.legal(2) == {"fold", "call 700"}, "what is pending cannot be lost"
    table.play("2 call 700", "3 call")
    table.passively_to_the_end()
    ended = only(table.events(), ev.HandEnded)
    left = next(s.stack for s in ended.stacks if s.sitting_no == 2)
    assert min(d.delta for d in ended.deltas if d.sitting_no == 2) >= -stack_with(rules, 700)
    table.settle()
    added = only([e for _, events in table.log for e in events], ev.ChipsAdded)
    assert (added.amount, added.pending, added.stack) == (9000, 0, left + 9000)
    assert table.stack(2) == left + 9000


@playnow
@pytest.mark.parametrize("bet", [False, True])
def test_vector_137_leaving_in_mid_hand(rules: Ruleset, bet: bool):
    """At his turn: check if free, else fold, at once; the stack comes back once, after the verdict."""
    table = fifth_street(rules)
    table.send(cmd.LeaveSeat(account(2)))
    assert none([e for _, events in table.log for e in events], ev.CashOutRequested)
    last = table.play("1 bet 1000" if bet else "1 check")
    actions = [e for e in last if isinstance(e, ev.ActionTaken)]
    assert [(a.seat, a.verb, a.by) for a in actions[1:]] == [(2, ev.Verb.FOLD if bet else ev.Verb.CHECK, ev.By.LEAVING)]
    assert table.turn == 3
    table.passively_to_the_end()
    stack = table.stack(2)
    assert none([e for _, events in table.log for e in events], ev.CashOutRequested)
    table.settle()
    asked = only([e for _, events in table.log for e in events], ev.CashOutRequested)
    assert (asked.sitting_no, asked.claim, asked.after_hand) == (2, stack, 1)
    assert only(table.send(cmd.RecordCashOut(2, stack)), ev.PlayerLeft).paid == stack
    assert table.reject(cmd.RecordCashOut(2, stack)).reason is Reason.ALREADY_DONE
    assert 2 not in table.state.sittings
    assert table.reject(cmd.LeaveSeat(account(2))).reason is Reason.NOT_SEATED
    table.start()
    assert table.dealt_in() == (1, 3)


@pytest.mark.rules("P2", "P9")
@both
def test_vector_138_one_player_starts_no_hand(rules: Ruleset):
    table = fifth_street(rules, 2)
    table.send(cmd.SitOut(account(2)))
    assert table.running
    assert table.turn == 1
    table.passively_to_the_end()
    only(table.events(), ev.HandEnded)
    table.settle()
    table.send(cmd.RecordDeck(2, b"next"))
    table.now_ms += 60_000
    assert table.reject(cmd.StartHand()).reason is Reason.HAND_NOT_STARTABLE
    table.send(cmd.SitIn(account(2)))
    table.dealer.new_deck()
    table.send(cmd.StartHand())
    assert table.running


@pytest.mark.rules("P2", "W3")
@pytest.mark.knob("seats", 8)
@both
def test_vector_139_the_ninth_player(rules: Ruleset):
    table = TableDriver(rules, dict.fromkeys(range(1, 8), 10_000))
    eighth = only(table.send(cmd.TakeSeat("a8", None, 10_000)), ev.BuyInRequested)
    assert eighth.seat == 8
    rule = "P2" if rules.name == "playnow" else "W3"
    full = table.reject(cmd.TakeSeat("a9", None, 10_000))
    assert (full.reason, full.rule) == (Reason.TABLE_FULL, rule)
    ninth = table.reject(cmd.TakeSeat("a9", 9, 10_000))
    assert (ninth.reason, ninth.rule) == (Reason.SEAT_OUT_OF_RANGE, rule)
    assert table.reject(cmd.TakeSeat("a9", 3, 10_000)).reason is Reason.SEAT_TAKEN


@both
def test_vector_139_the_same_account_twice(rules: Ruleset):
    table = TableDriver(rules, {1: 10_000})
    assert table.reject(cmd.TakeSeat(account(1), 2, 10_000)).reason is Reason.ALREADY_SEATED
    assert table.reject(cmd.TakeSeat(account(1), None, 10_000)).reason is Reason.ALREADY_SEATED
    # A reservation is a seat: a second click while the first buy-in is on its way takes no other one.
    table.send(cmd.TakeSeat("b", 2, 10_000))
    assert table.reject(cmd.TakeSeat("b", 3, 10_000)).reason is Reason.ALREADY_SEATED
    assert table.reject(cmd.TakeSeat("c", 2, 10_000)).reason is Reason.SEAT_TAKEN


@both
def test_vector_149_a_void_returns_every_contribution_once(rules: Ruleset):
    table = fifth_street(rules)
    table.play("1 bet 1000", "2 raise 2000")
    paid = {seat: table.hand.paid[seat] for seat in (1, 2, 3)}
    behind = table.stacks()
    assert sum(paid.values()) == 30_000 - sum(behind.values())
    last = table.void()
    voided = only(last, ev.HandVoided)
    assert {r.seat: r.amount for r in voided.refunds} == paid
    assert {r.seat: r.stack for r in voided.refunds} == {1: 10_000, 2: 10_000, 3: 10_000}
    assert table.stacks() == {1: 10_000, 2: 10_000, 3: 10_000}
    assert none(table.events(), ev.HandShown, ev.ShowPrompted, ev.HandMucked, ev.PotAwarded, ev.HandEnded)
    assert not table.running
    assert table.reject(cmd.VoidHand(1, "again", "op-1")).reason is Reason.HAND_ALREADY_ENDED
    assert table.stacks() == {1: 10_000, 2: 10_000, 3: 10_000}
