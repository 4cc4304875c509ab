"""A hand is judged by the engine that it was begun by: what that one decides is right, what another one does is not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stud_core import commands as cmd
from stud_core import deck as dealer
from stud_core import events as ev
from stud_core.deck_events import LogRef
from stud_core.presets import PLAYNOW, WILLIAM_HILL
from stud_core.verdict_events import HandDisputed, HandVerified
from tests.support.referee_court import CALLS, Change, Court, change_first, codes, with_fields
from tests.support.referee_hands import config_of


async def hill() -> Court:
    court = Court(config_of(WILLIAM_HILL))
    await court.open((0, 10_000, 0, 0, 10_000, 0, 10_000))
    await court.hand(weights=CALLS)
    return court


async def void_undealt(court: Court) -> Any:
    """A hand voided before its cards came; the dealer answers what was asked before, and the table ignores it."""
    rig = court.rig
    rig.auto = False
    await rig.start()
    assert rig.state.hand is not None
    request = rig.state.hand.deal
    assert request is not None
    await rig.send(cmd.VoidHand(rig.state.hand.hand_no, "test", "op"), actor="op")
    voided = rig.commits[-1][1][0]
    asked, _ = court.rows(rig.table_stream)[-2:]
    ref = LogRef(rig.table_stream, asked[0].version, asked[0].version, asked[1])
    await rig.deal(dealer.decide_deal(rig.deck, request, ref, rig.clear, rig.seal))
    rig.auto = True
    await rig.tell_dealer(voided)
    return await court.hear()


def begun_by_the_first(version: int, events: list[Any]) -> list[Any]:
    """A table of the first build: it does not say its engine."""
    return [msgspec.structs.replace(e, engine=None) if isinstance(e, ev.AntesOpened) else e for e in events]


def button_at(seat: int, order: tuple[int, ...]) -> Change:
    """Another button, and everybody dealt to in its order."""

    def change(event: ev.HandStarted) -> ev.HandStarted:
        by_seat = {player.seat: player for player in event.dealt_in}
        return msgspec.structs.replace(event, button=seat, dealt_in=tuple([by_seat[s] for s in order]))

    return change


@pytest.mark.rules("W26")
@pytest.mark.parametrize("folded", [False, True], ids=["kept", "folded anew"])
async def test_the_button_stays_after_a_hand_without_a_card(folded: bool):
    court = await hill()
    assert court.rig.state.button == 7
    verdict = await void_undealt(court)
    assert isinstance(verdict, HandVerified), verdict.findings
    await court.rig.verdict(court.book.final_version)
    if folded:
        court.appoint()
        await court.referee.load()
    await court.hand(weights=CALLS)
    assert court.rig.state.button == 2


async def test_a_button_that_moved_after_a_hand_without_a_card_is_found():
    court = await hill()
    await void_undealt(court)
    await court.rig.verdict(court.book.final_version)
    court.rig.forge_table = change_first(ev.HandStarted, button_at(5, (7, 2, 5)))
    await court.rig.start()
    await court.rig.send(cmd.VoidHand(3, "test", "op"), actor="op")
    verdict = await court.hear()
    assert isinstance(verdict, HandDisputed)
    assert "WRONG_START" in codes(verdict)


@pytest.mark.parametrize("folded", [False, True], ids=["kept", "folded anew"])
async def test_where_the_first_engine_began_the_hand_the_button_moved_on(folded: bool):
    court = await hill()
    court.rig.forge_table = begun_by_the_first
    verdict = await void_undealt(court)
    assert isinstance(verdict, HandVerified), verdict.findings
    await court.rig.verdict(court.book.final_version)
    if folded:
        court.appoint()
        await court.referee.load()

    def moved(version: int, events: list[Any]) -> list[Any]:
        button = button_at(5, (7, 2, 5))
        out = [button(e) if isinstance(e, ev.HandStarted) else e for e in begun_by_the_first(version, events)]
        order = (7, 2, 5)
        first = [e for e in out if isinstance(e, ev.DealRequested) and e.deal_no == 1]
        return [msgspec.structs.replace(e, targets=order) if e in first else e for e in out]

    court.rig.forge_table = moved
    await court.hand(weights=CALLS)
    assert court.rig.state.button == 5


# ------------------------------------------------------------------- preferences


async def asked(*, showing: bool) -> Court:
    court = Court(config_of(PLAYNOW))
    await court.open(showing=showing)
    rig = court.rig
    if not showing:
        await rig.send(cmd.SetPreferences("a2", auto_post=False), actor="a2")
    await rig.start()
    while rig.state.hand is not None and not rig.state.hand.prompts:
        await rig.step(CALLS)
    return court


def seat_asked(court: Court) -> int:
    assert court.rig.state.hand is not None
    return court.rig.state.hand.prompts[0].seat


@pytest.mark.rules("P6", "P44")
@pytest.mark.parametrize("showing", [False, True])
async def test_an_answer_by_preference_is_verified(showing: bool):
    court = await asked(showing=showing)
    account = f"a{seat_asked(court)}"
    await court.rig.send(cmd.SetPreferences(account, auto_post=True, muck_losing=True), actor=account)
    await court.rig.play_out(weights=CALLS)
    verdict = await court.hear()
    assert isinstance(verdict, HandVerified), verdict.findings


@pytest.mark.parametrize(("showing", "code"), [(False, "WRONG_ANTE"), (True, "WRONG_SHOW")])
async def test_a_preference_whose_answer_did_not_come_is_found(showing: bool, code: str):
    court = await asked(showing=showing)
    seat = seat_asked(court)
    wish = ev.PreferencesSet(seat, seat, True, True)
    await court.rig.write([wish], actor=f"a{seat}")
    await court.rig.play_out(weights=CALLS)
    verdict = await court.hear()
    assert isinstance(verdict, HandDisputed)
    assert code in codes(verdict)


@pytest.mark.parametrize("showing", [False, True])
@pytest.mark.parametrize("restarted", [False, True])
async def test_one_that_came_too_late_is_a_wish(showing: bool, restarted: bool):
    court = await asked(showing=showing)
    rig = court.rig
    if restarted:
        rig.now_ms += 5_000
        await rig.send(cmd.RestartClocks("test"))
    seat = seat_asked(court)
    rig.now_ms += 10_001
    await rig.send(cmd.SetPreferences(f"a{seat}", auto_post=True, muck_losing=True), actor=f"a{seat}")
    assert seat_asked(court) == seat
    await rig.send(cmd.Tick())
    await rig.play_out(weights=CALLS)
    verdict = await court.hear()
    assert isinstance(verdict, HandVerified), verdict.findings


@pytest.mark.parametrize("showing", [False, True])
async def test_in_a_hand_of_the_first_engine_it_is_a_wish(showing: bool):
    court = Court(config_of(PLAYNOW))
    court.rig.forge_table = begun_by_the_first
    await court.open(showing=showing)
    rig = court.rig
    if not showing:
        await rig.send(cmd.SetPreferences("a2", auto_post=False), actor="a2")
    await rig.start()
    while rig.state.hand is not None and not rig.state.hand.prompts:
        await rig.step(CALLS)
    seat = seat_asked(court)
    await rig.send(cmd.SetPreferences(f"a{seat}", auto_post=True, muck_losing=True), actor=f"a{seat}")
    assert seat_asked(court) == seat
    await rig.play_out(weights=CALLS)
    verdict = await court.hear()
    assert isinstance(verdict, HandVerified), verdict.findings


# ------------------------------------------------------------------- what a table says


@pytest.mark.parametrize("engine", [None, ev.Engine.FIRST])
async def test_the_first_engine_never_named_itself(engine: ev.Engine | None):
    court = Court(config_of(PLAYNOW))
    await court.open()
    court.rig.forge_table = change_first(ev.AntesOpened, with_fields(engine=engine))
    await court.rig.start()
    await court.rig.play_out(weights=CALLS)
    assert isinstance(await court.hear(), HandDisputed if engine else HandVerified)
