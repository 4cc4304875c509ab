"""Every way to cheat or to err that can be planted in a log is disputed, under its own code, and nothing is paid."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.cards import parse_cards
from stud_core.commands import Context
from stud_core.decide import decide
from stud_core.presets import PLAYNOW, WILLIAM_HILL
from stud_core.ruleset import DealOrigin
from stud_core.verdict_events import HandDisputed
from tests.support.core_table import knobs
from tests.support.referee_court import (
    CALLS,
    Court,
    broken_off,
    change_first,
    codes,
    moved,
    passive,
    steal_from_the_winner,
    until_turn,
    with_fields,
)
from tests.support.referee_hands import config_of


@pytest.fixture
async def court() -> Court:
    court = Court()
    await court.open()
    await court.hand()
    return court


# --- figures ---------------------------------------------------------------------------------------------------------


async def test_a_wrong_award(court: Court):
    court.rig.forge_table = steal_from_the_winner
    verdict = await passive(court)
    assert {"WRONG_AWARD", "WRONG_STACK", "WRONG_DELTA"} <= codes(verdict)
    assert verdict.referee_has_figures
    assert verdict.referee_postings != verdict.table_postings
    assert sum(delta.delta for delta in verdict.referee_postings) == 0
    assert sum(delta.delta for delta in verdict.table_postings) == 0


@pytest.mark.parametrize("rules", [PLAYNOW, WILLIAM_HILL], ids=lambda rules: rules.name)
async def test_a_wrong_odd_unit(rules: Any):
    """Two broadways share a pot of 1005 units: the odd one belongs to the first from the left."""
    court = Court(config_of(knobs(rules, burns=False, deal_origin=DealOrigin.FIXED), stacked=True, ante=35))
    await court.open()
    await court.rig.stack(tie_deck(court.rig.config.ruleset.name))

    def forge(_: int, events: list[Any]) -> list[Any]:
        pots = [event for event in events if isinstance(event, ev.PotAwarded)]
        if not pots:
            return events
        first, second = pots[0].shares
        assert first.amount == second.amount + 1
        shares = (
            ev.Share(first.seat, first.amount - 1, first.stack - 1),
            ev.Share(second.seat, second.amount + 1, second.stack + 1),
        )
        at = events.index(pots[0])
        forged = [*events[:at], msgspec.structs.replace(pots[0], shares=shares), *events[at + 1 :]]
        return [moved(e, first.seat, second.seat, 1) if isinstance(e, ev.HandEnded) else e for e in forged]

    court.rig.forge_table = forge
    verdict = await passive(court)
    assert "WRONG_AWARD" in codes(verdict)
    assert verdict.referee_has_figures


def tie_deck(ruleset: str) -> list[int]:
    """Three players, no burns: the first two dealt make the same straight, the third nothing."""
    hands = {
        1: parse_cards("Ac Kd Qh Js Th 2c 3d"),
        2: parse_cards("Ad Kh Qs Jc Td 2h 3s"),
        3: parse_cards("4c 6d 7c 8h 2d 9s 4h"),
    }
    order = [1, 2, 3]
    streets = [[0], [1], [2], [3], [4], [5], [6]]
    deck = [hands[seat][at] for street in streets for at in street for seat in order]
    return deck + [card for card in range(52) if card not in deck]


async def test_a_wrong_rake():
    court = Court(config_of(knobs(PLAYNOW, rake_bps=500)))
    await court.open()

    def forge(_: int, events: list[Any]) -> list[Any]:
        forged = []
        winner = 0
        for event in events:
            if isinstance(event, ev.PotAwarded):
                share = event.shares[0]
                less = (ev.Share(share.seat, share.amount - 5, share.stack - 5), *event.shares[1:])
                event = msgspec.structs.replace(event, rake=event.rake + 5, shares=less)  # noqa: PLW2901
                winner = share.seat
            elif isinstance(event, ev.HandEnded):
                event = msgspec.structs.replace(moved(event, winner, 0, 5), rake=event.rake + 5)  # noqa: PLW2901
            forged.append(event)
        return forged

    def moved(event: ev.HandEnded, seat: int, _to: int, amount: int) -> ev.HandEnded:
        stacks = tuple([ev.SeatStack(s.seat, s.sitting_no, s.stack - amount * (s.seat == seat)) for s in event.stacks])
        loser = next(s.sitting_no for s in event.stacks if s.seat == seat)
        deltas = tuple(
            [ev.Delta(d.sitting_no, d.account, d.delta - amount * (d.sitting_no == loser)) for d in event.deltas]
        )
        return msgspec.structs.replace(event, stacks=stacks, deltas=deltas)

    court.rig.forge_table = forge
    verdict = await passive(court)
    assert "WRONG_RAKE" in codes(verdict)
    assert verdict.referee_has_figures
    assert verdict.referee_rake == verdict.table_rake - 5


@pytest.mark.parametrize(
    ("kind", "fields", "code"),
    [
        (ev.PotAwarded, {"amount": lambda e: e.amount + 1}, "WRONG_POT"),
        (ev.PotAwarded, {"pot_no": 1}, "WRONG_POT"),
        (ev.HandEnded, {"rake": 1}, "NOT_CONSERVED"),
        (ev.HandEnded, {"stacks": lambda e: e.stacks[:-1]}, "WRONG_STACK"),
        (ev.HandEnded, {"deltas": lambda e: e.deltas[:-1]}, "WRONG_DELTA"),
        (ev.HandEnded, {"from_version": lambda e: e.from_version - 1}, "WRONG_RANGE"),
        (ev.HandShown, {"cards": (0, 1, 2)}, "WRONG_CARD"),
    ],
)
async def test_a_wrong_end(court: Court, kind: type, fields: dict[str, Any], code: str):
    court.rig.forge_table = change_first(kind, with_fields(**fields))
    assert code in codes(await passive(court))


async def test_a_winner_that_was_mucked(court: Court):
    def forge(_: int, events: list[Any]) -> list[Any]:
        winners = {share.seat for e in events if isinstance(e, ev.PotAwarded) for share in e.shares}
        return [ev.HandMucked(e.seat) if isinstance(e, ev.HandShown) and e.seat in winners else e for e in events]

    court.rig.forge_table = forge
    assert "WRONG_SHOW" in codes(await passive(court))


async def test_a_pot_that_was_not_paid(court: Court):
    court.rig.forge_table = lambda _, events: [e for e in events if not isinstance(e, ev.PotAwarded)]
    verdict = await passive(court)
    assert "WRONG_POT" in codes(verdict)
    assert verdict.referee_has_figures


# --- play ------------------------------------------------------------------------------------------------------------


async def test_an_illegal_raise(court: Court):
    await court.rig.start()
    await court.rig.step(CALLS)
    hand = court.rig.state.hand
    assert hand is not None
    complete = next(option for option in hand.options if option.verb is ev.Verb.COMPLETE)
    more = {"amount": lambda e: e.amount + 500, "to": lambda e: e.to + 500, "stack": lambda e: e.stack - 500}
    court.rig.forge_table = change_first(ev.ActionTaken, with_fields(**more))
    await court.rig.act(complete)
    verdict = await court.disputed()
    assert "ILLEGAL_ACTION" in codes(verdict)
    assert not verdict.referee_has_figures
    assert verdict.referee_postings == ()


async def test_a_wager_that_was_not_counted(court: Court):
    court.rig.forge_table = change_first(ev.ActionTaken, with_fields(counts=lambda e: not e.counts))
    assert "ILLEGAL_ACTION" in codes(await court.disputed())


async def test_an_action_out_of_turn(court: Court):
    await until_turn(court)
    rig = court.rig
    hand = rig.state.hand
    assert hand is not None
    other = next(seat for seat in hand.order if seat != hand.turn_seat and hand.live[seat])
    stack = rig.state.at(other).stack
    option = hand.options[0]
    forged = ev.ActionTaken(
        hand.turn_id, other, option.verb, 0, hand.bet[other], None, False, False, stack, ev.By.PLAYER
    )
    rig.forge_table = lambda _, events: [forged, *events[1:]]
    rig.auto = False
    await rig.act(option)
    assert "WRONG_ORDER" in codes(await broken_off(court))


@pytest.mark.parametrize("actor", ["", "a9", "a1", "a2", "a3"])
async def test_an_action_that_somebody_else_made(court: Court, actor: str):
    await until_turn(court)
    rig = court.rig
    hand = rig.state.hand
    assert hand is not None
    option = hand.options[1]
    account = rig.state.at(hand.turn_seat).account
    if actor == account:
        return
    act = cmd.Act(account, hand.turn_id, option.verb, option.to, option.size)
    await rig.send(act, actor=actor)
    assert codes(await court.disputed()) == {"WRONG_ACTOR"}


async def test_an_early_timeout(court: Court):
    turn = await until_turn(court)
    rig = court.rig
    ctx = Context(turn.deadline_ms, rig.head.version + 1, "test")
    decided = decide(rig.state, cmd.Tick(), ctx)
    assert isinstance(decided, list)
    await rig.write(decided, at_ms=turn.deadline_ms - 1)
    verdict = await court.disputed()
    assert "EARLY_TIMEOUT" in codes(verdict)


async def test_a_muck_for_somebody_who_still_had_time_to_show():
    court = Court(config_of(PLAYNOW))
    await court.open(showing=True)
    rig = court.rig
    await rig.start()
    while rig.state.hand is not None and rig.state.hand.phase.name != "SHOW_PROMPTS":
        await rig.step(CALLS)
    hand = rig.state.hand
    assert hand is not None
    deadline = hand.prompts[0].deadline_ms
    decided = decide(rig.state, cmd.Tick(), Context(deadline, rig.head.version + 1, "test"))
    assert isinstance(decided, list)
    await rig.write(decided, at_ms=deadline - 1)
    if rig.state.hand is not None:
        await rig.play_out()
    verdict = await court.hear()
    assert isinstance(verdict, HandDisputed)
    assert codes(verdict) == {"EARLY_TIMEOUT"}


async def test_a_late_action(court: Court):
    turn = await until_turn(court)
    rig = court.rig
    hand = rig.state.hand
    assert hand is not None
    act = cmd.Act(rig.state.at(turn.seat).account, hand.turn_id, turn.options[0].verb)
    decided = decide(rig.state, act, Context(rig.now_ms, rig.head.version + 1, "test"))
    assert isinstance(decided, list)
    await rig.write(decided, rig.state.at(turn.seat).account, at_ms=turn.deadline_ms + 1)
    assert "LATE_ACTION" in codes(await court.disputed())


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"options": lambda e: e.options[:-1]}, "WRONG_OPTIONS"),
        ({"to_call": lambda e: e.to_call + 1}, "WRONG_OPTIONS"),
        ({"deadline_ms": lambda e: e.deadline_ms - 1}, "WRONG_OPTIONS"),
    ],
)
async def test_a_turn_that_offers_something_else(court: Court, fields: dict[str, Any], code: str):
    court.rig.forge_table = change_first(ev.TurnStarted, with_fields(**fields), lambda e: len(e.options) > 2)
    verdict = await court.disputed()
    assert code in codes(verdict)
    assert verdict.referee_has_figures


async def test_a_turn_of_somebody_else(court: Court):
    def change(event: ev.TurnStarted) -> ev.TurnStarted:
        return msgspec.structs.replace(event, seat=event.seat % 3 + 1)

    court.rig.forge_table = change_first(ev.TurnStarted, change)
    verdict = await court.disputed()
    assert "WRONG_ORDER" in codes(verdict)


async def test_an_uncalled_bet_that_was_kept(court: Court):
    def forge(_: int, events: list[Any]) -> list[Any]:
        return [e for e in events if not isinstance(e, ev.UncalledReturned)]

    court.rig.forge_table = forge
    await court.rig.start()
    folds = dict.fromkeys(ev.Verb, 0) | {ev.Verb.BRING_IN: 1, ev.Verb.FOLD: 1}
    await court.rig.play_out(weights=folds)
    verdict = await court.hear()
    assert isinstance(verdict, HandDisputed)
    assert "WRONG_UNCALLED" in codes(verdict)


# --- antes and stacks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "fields", "code"),
    [
        (ev.AntePosted, {"amount": 51, "stack": lambda e: e.stack - 1}, "WRONG_ANTE"),
        (ev.AntePosted, {"stack": lambda e: e.stack + 1}, "WRONG_STACK"),
        (ev.HandStarted, {"dealt_in": lambda e: e.dealt_in[::-1]}, "WRONG_START"),
        (ev.HandStarted, {"rules_version": 9}, "WRONG_START"),
        (ev.HandStarted, {"button": 2}, "WRONG_START"),
        (ev.AntesOpened, {"posting": (1, 2)}, "WRONG_ORDER"),
        (ev.ActionTaken, {"stack": lambda e: e.stack + 100}, "WRONG_STACK"),
    ],
)
async def test_a_wrong_start(court: Court, kind: type, fields: dict[str, Any], code: str):
    court.rig.forge_table = change_first(kind, with_fields(**fields))
    assert code in codes(await court.disputed())


async def test_chips_that_nobody_paid_for(court: Court):
    rig = court.rig
    await rig.send(cmd.AddChips("a1", 1000), actor="a1")
    more = {"amount": lambda e: e.amount + 500, "stack": lambda e: e.stack + 500}
    rig.forge_table = change_first(ev.ChipsAdded, with_fields(**more))
    await rig.send(cmd.RecordTopUp(1, 1, 1000))
    assert "WRONG_STACK" in codes(await court.disputed())


async def test_a_seat_with_more_chips_than_were_asked_for():
    court = Court()
    court.rig.forge_table = change_first(ev.PlayerSeated, with_fields(stack=lambda e: e.stack + 1))
    await court.open()
    assert "WRONG_STACK" in codes(await court.disputed())


@pytest.mark.parametrize("fold", [True, False])
async def test_a_void_that_takes_a_paid_pot_back(fold: bool):
    """One operator alone may not (B.21); both opinions say so, whether the hand was shown down or not."""
    court = Court(config_of(PLAYNOW))
    await court.open(showing=True)
    rig = court.rig
    await rig.start()
    weights = dict.fromkeys(ev.Verb, 0) | {ev.Verb.BRING_IN: 1, ev.Verb.FOLD: 1} if fold else CALLS
    while rig.state.hand is not None and rig.state.hand.phase.name != "SHOW_PROMPTS":
        await rig.step(weights)
    hand = rig.state.hand
    assert hand is not None
    refunds = tuple([ev.Refund(seat, hand.paid[seat], hand.start[seat]) for seat in hand.order])
    await rig.write([ev.HandVoided(1, rig.state.from_version, refunds, "test", "op")], "op")
    verdict = await court.hear()
    assert isinstance(verdict, HandDisputed)
    assert codes(verdict) == {"WRONG_ORDER"}
    assert not verdict.referee_has_figures


async def test_a_void_that_kept_something(court: Court):
    await until_turn(court)
    rig = court.rig

    def change(event: ev.HandVoided) -> ev.HandVoided:
        first, *rest = event.refunds
        return msgspec.structs.replace(
            event, refunds=(ev.Refund(first.seat, first.amount - 10, first.stack - 10), *rest)
        )

    rig.forge_table = change_first(ev.HandVoided, change)
    await rig.send(cmd.VoidHand(2, "test", "op"), actor="op")
    verdict = await court.hear()
    assert isinstance(verdict, HandDisputed)
    assert "WRONG_REFUND" in codes(verdict)
    assert not verdict.referee_has_figures
