"""What happens between hands is decided again and booked: seats, presence, money that comes and goes, operators."""

from __future__ import annotations

from typing import Any

import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.presets import PLAYNOW
from stud_core.verdict_events import HandDisputed, HandVerified
from tests.support.core_table import knobs
from tests.support.referee_court import CALLS, Court, change_first, codes, until_turn, with_fields
from tests.support.referee_hands import config_of


@pytest.fixture
async def court() -> Court:
    court = Court()
    await court.open()
    await court.hand()
    return court


async def test_a_whole_life_is_verified(court: Court):
    """Every command that a table knows, in the ranges of a few hands."""
    rig = court.rig
    send = rig.send
    await send(cmd.PauseTable("tea", "op"), actor="op")
    await send(cmd.ResumeTable("op"), actor="op")
    await send(cmd.TakeSeat("a4", 4, 5000), actor="a4")
    await send(cmd.LeaveSeat("a4"), actor="a4")  # gives up a reservation
    await send(cmd.RecordCashOut(4, 0))
    await send(cmd.TakeSeat("a5", 5, 5000), actor="a5")
    await send(cmd.RecordFundingDeclined(5, "INSUFFICIENT_FUNDS", 4999))
    await send(cmd.TakeSeat("a6", 6, 5000), actor="a6")
    rig.now_ms += 40_000
    await send(cmd.Tick())  # that reservation runs out
    await send(cmd.RecordCashOut(6, 0))
    await send(cmd.AddChips("a1", 1000), actor="a1")
    await send(cmd.RecordTopUpDeclined(1, 1, "INSUFFICIENT_FUNDS", 0))
    await send(cmd.AddChips("a1", 1000), actor="a1")
    await send(cmd.RecordTopUpDeclined(1, 2, "INSUFFICIENT_FUNDS"))  # as a log of an older build says it
    await send(cmd.SitOut("a3"), actor="a3")
    await send(cmd.SetPreferences("a2", auto_post=False), actor="a2")
    await court.rig.start()
    await rig.answer_ante(decline=True)  # one ante is too few: returned
    await send(cmd.SitIn("a3"), actor="a3")
    await send(cmd.SitIn("a2"), actor="a2")
    await court.hand()
    await send(cmd.LeaveSeat("a3"), actor="a3")
    await send(cmd.RecordCashOutBlocked(3, "CLAIM_MISMATCH"))
    await send(cmd.RecordCashOut(3, rig.state.sittings[3].claim or 0))
    await send(cmd.PauseTable("SETTLEMENT_BLOCKED", ""))
    await send(cmd.RecordSettlement())
    await send(cmd.SetPreferences("a2", auto_post=False), actor="a2")
    await rig.start()
    hand = rig.state.hand
    assert hand is not None
    await send(cmd.VoidHand(hand.hand_no, "wrong button", "op"), actor="op")  # its antes are not all in
    await send(cmd.SetPreferences("a2", auto_post=True), actor="a2")
    await court.hand()
    await send(cmd.DrainTable("op"), actor="op")
    await send(cmd.ResumeTable("op"), actor="op")
    await send(cmd.SetPreferences("a2", auto_post=False), actor="a2")
    await rig.start()
    if rig.state.hand is not None and rig.state.hand.prompts:
        await rig.time_out()
    await send(cmd.SitIn("a2"), actor="a2")
    await send(cmd.SetPreferences("a2", auto_post=True), actor="a2")
    await court.hand()


async def test_a_table_that_closes_over_questions_without_a_clock_is_verified():
    court = Court(config_of(knobs(PLAYNOW, show_clock_ms=0)))
    await court.open(showing=True)
    rig = court.rig
    await rig.start()
    while rig.state.hand is not None and not rig.state.hand.prompts:
        await rig.step(CALLS)
    await rig.send(cmd.CloseTable("op"), actor="op")
    assert rig.state.hand is None
    verdict = await court.hear()
    assert isinstance(verdict, HandVerified), verdict.findings


async def test_a_table_that_closes_in_mid_hand_is_verified_to_its_end(court: Court):
    rig = court.rig
    await until_turn(court)
    await rig.send(cmd.CloseTable("op"), actor="op")
    await rig.play_out()
    verdict = await court.hear()
    assert isinstance(verdict, HandVerified), verdict.findings
    await rig.verdict(court.book.final_version)
    for sitting in list(rig.state.sittings.values()):
        await rig.send(cmd.RecordCashOut(sitting.sitting_no, sitting.claim or 0))
    assert rig.state.life.name == "CLOSED"


async def test_an_away_player_is_folded_where_the_house_does_so():
    court = Court(config_of(knobs(PLAYNOW, away_folds_now=True)))
    await court.open()
    turn = await until_turn(court)
    rig = court.rig
    account = rig.state.at(turn.seat).account
    await rig.send(cmd.SitOut(account), actor=account)
    await rig.play_out()
    assert isinstance(await court.hear(), HandVerified)


@pytest.mark.parametrize("seat", [1, 2, 3])
async def test_a_player_who_leaves_in_mid_hand_is_verified(court: Court, seat: int):
    await until_turn(court)
    await court.rig.send(cmd.LeaveSeat(f"a{seat}"), actor=f"a{seat}")
    await court.rig.play_out()
    verdict = await court.hear()
    assert isinstance(verdict, HandVerified), verdict.findings


async def forged(court: Court, kind: type, **fields: Any) -> set[str]:
    """Forge the next event of a kind, play a hand, and return what is found."""
    court.rig.forge_table = change_first(kind, with_fields(**fields))
    rig = court.rig
    await rig.send(cmd.TakeSeat("a4", 4, 5000), actor="a4")
    if rig.state.sittings.get(4) is not None and rig.state.seats[4] == 4:
        await rig.send(cmd.RecordFunding(4, 5000))
        await rig.send(cmd.AddChips("a4", 700), actor="a4")
        await rig.send(cmd.RecordTopUp(4, 1, 700))
        await rig.send(cmd.LeaveSeat("a4"), actor="a4")
    return codes(await court.disputed())


@pytest.mark.parametrize(
    ("kind", "fields", "code"),
    [
        (ev.TopUpPending, {"amount": 600, "pending": 600}, "WRONG_STACK"),
        (ev.PlayerSeated, {"stack": 6000}, "WRONG_STACK"),
        (ev.TopUpPending, {"pending": 900}, "WRONG_STACK"),
        (ev.ChipsAdded, {"stack": 9000}, "WRONG_STACK"),
        (ev.CashOutRequested, {"claim": 9000}, "WRONG_STACK"),
        (ev.BuyInRequested, {"expires_at_ms": 1}, "NOT_DECIDED"),
    ],
)
async def test_money_that_comes_and_goes_is_booked(court: Court, kind: type, fields: dict[str, Any], code: str):
    assert code in await forged(court, kind, **fields)


async def impossible(court: Court, *events: Any) -> set[str]:
    """Write events that no engine decides, behind the rig's back, and return what is found."""
    from stud_wire.commits import Meta

    rig = court.rig
    rig.head = await rig.append(rig.table_stream, rig.head, events, Meta(rig.now_ms, build="test"))
    await rig.start()
    while rig.state.hand is not None:
        await rig.step(dict.fromkeys(ev.Verb, 1))
    verdict = await court.hear()
    assert isinstance(verdict, HandDisputed)
    return codes(verdict)


@pytest.mark.parametrize(
    "event",
    [
        ev.BuyInRequested("XTS", False, 9, 1, "a9", 100, 0, False, False),
        ev.PlayerSeated(9, 4, 100),
        ev.PlayerSeated(1, 1, 100),
        ev.SeatReleased(1, 1, "X"),
        ev.TopUpPending(9, 1, 100, 100),
        ev.ChipsAdded(9, 1, 100, 0, 100),
        ev.CashOutRequested("XTS", 9, "a9", 100, 0),
        ev.CashOutRequested("XTS", 1, "a1", None, 0),
        ev.SatOut(9, 1, ev.OutReason.REQUESTED),
        ev.PreferencesSet(9, 1, True, True),
        ev.TableOpened(config_of(PLAYNOW)),
        ev.PlayerLeft(9, 0),
        ev.TableClosed(),
    ],
    ids=lambda event: type(event).__name__,
)
async def test_facts_that_cannot_be_are_found(court: Court, event: Any):
    assert "NOT_DECIDED" in await impossible(court, event)


async def test_a_resolution_that_nobody_made_is_found(court: Court):
    resolved = ev.TableHandResolved(1, 1, ev.ResolutionChoice.VOID, (ev.SeatStack(9, 9, 5),))
    assert "WRONG_VERDICT" in await impossible(court, resolved)


async def test_a_player_is_not_cashed_out_of_their_hand(court: Court):
    rig = court.rig
    turn = await until_turn(court)
    place = rig.state.at(turn.seat)
    from stud_wire.commits import Meta

    leave = ev.CashOutRequested("XTS", place.sitting_no, place.account, place.stack, 1)
    rig.head = await rig.append(rig.table_stream, rig.head, [leave], Meta(rig.now_ms, build="test"))
    hand = rig.state.hand
    assert hand is not None
    rig.state.version = rig.head.version
    await rig.send(cmd.VoidHand(hand.hand_no, "x", "op"), actor="op")
    verdict = await court.hear()
    assert isinstance(verdict, HandDisputed)
    assert "WRONG_ORDER" in codes(verdict)


async def test_a_void_that_operators_decided_must_restore_the_stacks_before_the_hand(court: Court):
    from rules_service.resolving import Request, Resolver

    rig = court.rig
    await rig.play_hand(mischief=0)
    for operator in ("op-1", "op-2"):
        request = Request("t-1", 2, ev.ResolutionChoice.VOID, "x", operator, "r")
        await Resolver(court.runtime, court.referee).resolve(request)
    rig.forge_table = change_first(
        ev.TableHandResolved, lambda e: with_fields(stacks=(*e.stacks[1:], ev.SeatStack(1, 1, 5)))(e)
    )
    await rig.send(cmd.RecordResolution(2, court.book.final_version, ev.ResolutionChoice.VOID, ()))
    rig.forge_table = None
    assert "WRONG_STACK" in codes(await court.disputed())
