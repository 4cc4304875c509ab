"""Cards that are not those of the committed deck, come too early, or go astray: disputed under their own code."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.deck_events import DeckCardsDealt, DeckCommitted, DeckSealed
from stud_core.verdict_events import HandDisputed
from stud_service.sealing import seal_seed
from tests.support.referee_court import (
    Court,
    broken_off,
    change_first,
    codes,
    passive,
    until_turn,
    with_fields,
)
from tests.support.referee_hands import REFEREE_KEY


@pytest.fixture
async def court() -> Court:
    court = Court()
    await court.open()
    await court.hand()
    return court


async def test_a_wrong_card_from_the_dealer(court: Court):
    def change(event: DeckCardsDealt) -> DeckCardsDealt:
        shown = {card.card for card in event.up}
        other = next(card for card in range(52) if card not in shown)
        return msgspec.structs.replace(event, up=(ev.UpCard(event.up[0].seat, other), *event.up[1:]))

    court.rig.forge_deck = change_first(DeckCardsDealt, change)
    verdict = await court.disputed()
    assert "WRONG_CARD" in codes(verdict)
    assert {finding.stream for finding in verdict.findings} == {court.rig.table_stream, court.rig.deck_stream}


async def test_a_card_that_the_table_changed(court: Court):
    def change(event: ev.CardsDealt) -> ev.CardsDealt:
        swapped = (ev.UpCard(event.up[0].seat, event.up[1].card), ev.UpCard(event.up[1].seat, event.up[0].card))
        return msgspec.structs.replace(event, up=(*swapped, *event.up[2:]))

    court.rig.forge_table = change_first(ev.CardsDealt, change)
    assert "WRONG_CARD" in codes(await court.disputed())


async def test_a_repeated_card(court: Court):
    def change(event: ev.CardsDealt) -> ev.CardsDealt:
        twice = ev.UpCard(event.up[0].seat, event.up[1].card)
        return msgspec.structs.replace(event, up=(twice, *event.up[1:]))

    court.rig.forge_table = change_first(ev.CardsDealt, change)
    await court.rig.start()
    assert "WRONG_CARD" in codes(await broken_off(court))


async def test_a_down_card_from_another_position(court: Court):
    def change(event: DeckCardsDealt) -> DeckCardsDealt:
        first, *rest = event.down
        return msgspec.structs.replace(event, down=(ev.DownCard(first.seat, 51, first.sealed), *rest))

    court.rig.forge_table = change_first(ev.CardsDealt, change)
    court.rig.forge_deck = change_first(DeckCardsDealt, change)
    rig = court.rig
    await rig.start()
    # The table's vault cannot open that box: the hand ends before the showdown.
    folds = dict.fromkeys(ev.Verb, 0) | {ev.Verb.BRING_IN: 1, ev.Verb.FOLD: 1}
    rig.rng.seed(3)
    while rig.state.hand is not None and rig.state.hand.phase.name != "SHOW_PROMPTS":
        await rig.step(folds)
    await rig.time_out()
    verdict = await court.hear()
    assert isinstance(verdict, HandDisputed)
    assert "WRONG_CARD" in codes(verdict)


async def test_a_card_that_was_not_burned(court: Court):
    court.rig.forge_table = change_first(ev.DealRequested, with_fields(burn=False), lambda e: e.street == 4)
    assert "WRONG_BURN" in codes(await passive(court))


async def test_a_burn_that_the_dealer_did_not_make(court: Court):
    court.rig.forge_deck = change_first(DeckCardsDealt, with_fields(burns=()), lambda e: e.deal_no == 2)
    verdict = await passive(court)
    assert codes(verdict) == {"WRONG_BURN"}
    assert verdict.referee_has_figures


async def test_a_deal_for_other_players(court: Court):
    court.rig.forge_table = change_first(
        ev.DealRequested, with_fields(targets=lambda e: e.targets[::-1]), lambda e: e.street == 5
    )
    assert "WRONG_DEAL" in codes(await passive(court))


async def test_an_early_deal(court: Court):
    await until_turn(court, times=1)
    rig = court.rig
    hand = rig.state.hand
    assert hand is not None
    early = ev.DealRequested(hand.hand_no, 2, 4, ev.DealMode.NORMAL, burn=True, targets=hand.order)
    forge = change_first(ev.TurnStarted, lambda _: early)
    rig.forge_table = forge
    await rig.act(next(option for option in hand.options if option.verb is ev.Verb.CALL))
    verdict = await broken_off(court)
    assert "EARLY_DEAL" in codes(verdict)
    assert not verdict.referee_has_figures


async def test_cards_dealt_by_no_request(court: Court):
    def forge(_: int, events: list[Any]) -> list[Any]:
        for event in events:
            if isinstance(event, DeckCardsDealt) and event.deal_no == 2:
                ref = msgspec.structs.replace(event.request, to_version=event.request.to_version - 1)
                return [msgspec.structs.replace(event, request=ref)]
        return events

    court.rig.forge_deck = forge
    assert codes(await passive(court)) == {"EARLY_DEAL"}


async def test_a_deal_answered_before_it_was_asked_for(court: Court):
    """The deck's log holds a second deal; the table ends the hand before it asks for any."""
    rig = court.rig
    await rig.start()
    hand = rig.state.hand
    assert hand is not None
    dealt = next(e for e in reversed(await dealt_events(court)) if isinstance(e, DeckCardsDealt))
    extra = msgspec.structs.replace(dealt, deal_no=2, root=None)
    from stud_wire.commits import Meta

    rig.deck_head = await rig.append(rig.deck_stream, rig.deck_head, [extra], Meta(rig.now_ms))
    await rig.send(cmd.VoidHand(2, "test", "op"), actor="op")
    verdict = await court.hear()
    assert isinstance(verdict, HandDisputed)
    assert codes(verdict) == {"EARLY_DEAL"}


async def dealt_events(court: Court) -> list[Any]:
    from stud_wire.commits import decode_commit

    commits = await court.log.read(court.rig.deck_stream)
    return [event for commit in commits for event in decode_commit(commit.body).events]


async def test_a_wrong_root(court: Court):
    court.rig.forge_deck = change_first(DeckSealed, with_fields(merkle_root=b"x" * 32))
    verdict = await court.disputed()
    assert "WRONG_ROOT" in codes(verdict)


async def test_another_root_at_the_table(court: Court):
    court.rig.forge_table = change_first(ev.CardsDealt, with_fields(root=b"x" * 32))
    assert "WRONG_ROOT" in codes(await court.disputed())


async def test_a_seed_that_is_not_the_committed_one(court: Court):
    court.rig.reseal_seed = lambda place: seal_seed(REFEREE_KEY, b"s" * 32, *place)  # type: ignore[method-assign]
    verdict = await court.disputed()
    assert codes(verdict) == {"WRONG_COMMITMENT"}
    assert not verdict.referee_has_figures


async def test_a_commitment_that_the_table_recorded_differently():
    court = Court()
    court.rig.forge_table = change_first(ev.DeckReady, with_fields(commitment=b"c" * 32))
    await court.open()
    rig = court.rig
    await rig.start()
    await rig.send(cmd.VoidHand(1, "test", "op"), actor="op")
    verdict = await court.hear()
    assert isinstance(verdict, HandDisputed)
    assert "WRONG_COMMITMENT" in codes(verdict)


async def test_a_stacked_deck_where_none_may_be():
    court = Court()
    court.rig.forge_deck = change_first(DeckCommitted, with_fields(stacked=True))
    await court.open()
    verdict = await court.disputed()
    assert codes(verdict) == {"STACKED_DECK"}
