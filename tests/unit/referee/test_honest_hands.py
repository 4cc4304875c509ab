"""Hands that were played by the rules are verified, and both opinions agree on every chip.

Here everything is in it: seals, hash chains, the log. ``tests/oracle`` plays far more hands without those.
"""

from __future__ import annotations

from random import Random

import pytest

from stud_core import events as ev
from stud_core.deck_events import HandOutcome
from stud_core.gate import hand_gate
from stud_core.presets import PLAYNOW, WILLIAM_HILL
from stud_core.ruleset import HeadsUp, OddUnits, OpenPair, RiverShortage, Ruleset, ShortAllIn
from stud_core.verdict_events import HandVerified
from tests.support.choosing import WEIGHTS
from tests.support.core_table import knobs
from tests.support.deep import either
from tests.support.referee_court import Court
from tests.support.referee_hands import config_of

SEEDS = either(8, 280, 2)
HANDS = 12
STACKS = [60, 240, 700, 1300, 5000, 30_000]
STUBBORN = {ev.Verb.FOLD: 0, ev.Verb.CHECK: 6, ev.Verb.CALL: 9, ev.Verb.BRING_IN: 3, ev.Verb.OPEN: 1}
"""Nobody folds: eight players reach the river, and the deck runs short."""


async def play(rules: Ruleset, seed: int, hands: int, weights: dict[ev.Verb, int] = WEIGHTS, seats: int = 0) -> Court:
    """Play hands with everything that may happen around them; every one must be verified."""
    court = Court(config_of(rules), seed)
    rng = court.rig.rng
    await court.open([rng.choice(STACKS) for _ in range(seats or rng.randrange(2, 9))], showing=rng.random() < 0.5)
    for _ in range(hands):
        await court.rig.between_hands()
        if hand_gate(court.rig.state):
            continue
        await court.rig.play_hand(weights=weights, mischief=0.03)
        if court.rig.state.ended_hand > court.book.final_hand:
            verdict = await court.hear()
            assert isinstance(verdict, HandVerified), [(f.code, f.version) for f in verdict.findings]
            assert verdict.hand_no == court.rig.state.ended_hand
            check_figures(court, verdict)
            await court.rig.verdict(court.book.final_version)
    return court


def check_figures(court: Court, verdict: HandVerified) -> None:
    """The referee's figures are the engine's, and no chip is made or lost."""
    events = [event for _, events in court.rig.commits for event in events]
    last = next(event for event in reversed(events) if isinstance(event, ev.HandEnded | ev.HandVoided))
    if isinstance(last, ev.HandVoided):
        assert (verdict.outcome, verdict.postings, verdict.rake) == (HandOutcome.VOIDED, (), 0)
        return
    assert (verdict.outcome, verdict.postings, verdict.rake) == (HandOutcome.ENDED, last.deltas, last.rake)
    assert sum(delta.delta for delta in verdict.postings) + verdict.rake == 0


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("rules", [PLAYNOW, WILLIAM_HILL], ids=lambda rules: rules.name)
async def test_hands_of_both_rulesets_are_verified(rules: Ruleset, seed: int):
    court = await play(rules, seed, HANDS)
    assert court.rig.state.ended_hand > 1


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_hands_under_every_other_knob_are_verified(seed: int):
    await play(turned(PLAYNOW if seed % 2 else WILLIAM_HILL, seed), 1000 + seed, HANDS)


@pytest.mark.parametrize("seats", [7, 8])
@pytest.mark.parametrize("rules", [PLAYNOW, WILLIAM_HILL], ids=lambda rules: rules.name)
async def test_hands_in_which_the_deck_runs_short_are_verified(rules: Ruleset, seats: int):
    court = await play(rules, seats, 8, STUBBORN, seats)
    modes = {event.mode for _, events in court.rig.commits for event in events if isinstance(event, ev.DealRequested)}
    if seats == 8:
        assert ev.DealMode.COMMUNITY in modes or ev.DealMode.RECYCLE in modes


def turned(rules: Ruleset, seed: int) -> Ruleset:
    """A ruleset with all its knobs turned at random."""
    rng = Random(seed)
    return knobs(
        rules,
        completion_counts_as_raise=rng.random() < 0.3,
        max_raises=rng.choice([1, 2, 3, 4]),
        heads_up=rng.choice(list(HeadsUp)),
        heads_up_counts_all_in=rng.random() < 0.4,
        open_pair=rng.choice(list(OpenPair)),
        short_all_in=rng.choice(list(ShortAllIn)),
        river_shortage=rng.choice(list(RiverShortage)),
        burns=rng.random() < 0.5,
        river_burn_reserve=rng.choice([0, 1, 2]),
        community_counts_for_first=rng.random() < 0.5,
        odd_units=rng.choice(list(OddUnits)),
        away_folds_now=rng.random() < 0.4,
        rake_bps=rng.choice([0, 250, 500, 1000]),
        rake_cap=rng.choice([None, 0, 37, 300]),
        no_rake_before_fourth=rng.random() < 0.5,
    )


async def test_a_referee_that_starts_in_the_middle_folds_the_table_from_its_log():
    court = await play(PLAYNOW, 77, 6)
    court.appoint()
    await court.referee.load()
    await court.rig.between_hands()
    await court.hand()


async def test_a_rehearsal_with_a_stacked_deck_is_verified():
    court = Court(config_of(knobs(PLAYNOW, action_clock_ms=0, ante_clock_ms=0, show_clock_ms=0), stacked=True))
    await court.open()
    for shift in (0, 17):
        await court.rig.stack([(card + shift) % 52 for card in range(52)])
        await court.hand()


async def test_a_void_hand_is_verified_with_empty_postings():
    from stud_core import commands as cmd

    court = Court()
    await court.open()
    await court.rig.start()
    for _ in range(4):
        await court.rig.step(STUBBORN)
    await court.rig.send(cmd.VoidHand(1, "test", "op"), actor="op")
    verdict = await court.hear()
    assert isinstance(verdict, HandVerified)
    assert (verdict.outcome, verdict.postings, verdict.rake) == (HandOutcome.VOIDED, (), 0)
    await court.rig.verdict(court.book.final_version)
    await court.hand()


async def test_a_hand_voided_before_its_first_cards_came_is_verified():
    from stud_core import commands as cmd

    court = Court()
    await court.open()
    rig = court.rig
    rig.auto = False
    await rig.start()
    request = next(event for event in rig.commits[-1][1] if isinstance(event, ev.DealRequested))
    await rig.send(cmd.VoidHand(1, "test", "op"), actor="op")
    voided = rig.commits[-1][1][0]
    # The dealer answers what was asked before, in the order of his feed; the table ignores the cards.
    asked, over = rig.log.store.data.logs[rig.table_stream][-2:]  # type: ignore[attr-defined]
    from stud_core import deck as dealer
    from stud_core.deck_events import LogRef

    ref = LogRef(rig.table_stream, asked[0].version, asked[0].version, asked[1])
    await rig.deal(dealer.decide_deal(rig.deck, request, ref, rig.clear, rig.seal))
    rig.auto = True
    await rig.tell_dealer(voided)
    assert over[0].version == rig.head.version - 1
    verdict = await court.hear()
    assert isinstance(verdict, HandVerified), verdict
