"""Stepping and finding: by event, action, street, hand, time, player, pot and end; what is not there is said."""

from functools import cache

import pytest

from stud_core import events as ev
from stud_core.presets import WILLIAM_HILL
from stud_replay.marks import Mark
from stud_replay.navigation import Nowhere, Wanted, at_time, of_hand, of_version, search, step, versions_with
from stud_replay.timeline import Timeline
from stud_replay.times import iso
from stud_wire.commits import Meta, decode_commit, encode_commit
from tests.support.replayed import RandomTable, commits_of, timeline_of

HANDS = 25


@cache
def played() -> RandomTable:
    return RandomTable(WILLIAM_HILL, 5, HANDS)


@cache
def timeline() -> Timeline:
    return timeline_of(played().commits)


def events_of(version: int) -> list[object]:
    return list(decode_commit(played().commits[version - 1].body).events)


STEPS = {Mark.ACTION: ev.ActionTaken, Mark.STREET: ev.CardsDealt, Mark.HAND: ev.AntesOpened}


@pytest.mark.parametrize("kind", STEPS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("back", [False, True])
def test_steps_lead_to_the_next_one_of_a_kind_and_past_nothing(kind: Mark, back: bool):
    last = timeline().version
    wanted = [v for v in range(1, last + 1) if any(isinstance(event, STEPS[kind]) for event in events_of(v))]
    assert len(wanted) > 20
    for version in range(0, last + 2, 7):
        there = [v for v in wanted if (v < version if back else v > version)]
        assert step(timeline(), version, kind, back=back) == (None if not there else there[-1] if back else there[0])
    assert list(versions_with(timeline(), kind)) == wanted


def test_a_step_is_the_next_version_where_no_kind_is_asked_for():
    last = timeline().version
    assert [step(timeline(), at) for at in (0, 1, last)] == [1, 2, None]
    assert [step(timeline(), at, back=True) for at in (1, 2, last + 1)] == [None, 1, last]


def test_hands_tile_and_say_how_they_ended():
    hands = timeline().hands.all
    assert [hand.hand_no for hand in hands] == list(range(1, len(hands) + 1))
    for hand in hands:
        assert any(
            isinstance(event, ev.AntesOpened) and event.hand_no == hand.hand_no for event in events_of(hand.first)
        )
        end = [event for event in events_of(hand.last) if isinstance(event, ev.HandEnded | ev.HandVoided)]
        assert [event.hand_no for event in end] == [hand.hand_no]
        assert (hand.outcome == "voided") == isinstance(end[0], ev.HandVoided)
        assert hand.verdict == "verified"
        between = [event for version in range(hand.first, hand.last + 1) for event in events_of(version)]
        awarded = sum(event.amount for event in between if isinstance(event, ev.PotAwarded))
        refunds = [refund.amount for event in between if isinstance(event, ev.HandVoided) for refund in event.refunds]
        assert hand.pot == (sum(refunds) if hand.outcome == "voided" else awarded)
        assert hand.showdown == any(isinstance(event, ev.HandShown) and event.rank for event in between)
        (started,) = [event for event in between if isinstance(event, ev.HandStarted)]
        assert hand.players == tuple((player.seat, player.account) for player in started.dealt_in)
    assert {hand.outcome.value for hand in hands} == {"ended", "voided"}
    assert {hand.showdown for hand in hands} == {True, False}


def test_a_running_hand_is_there_too():
    first = timeline().hands.all[3]
    cut = timeline_of(played().commits[: first.first + 3])
    running = cut.hands.all[-1]
    assert (running.hand_no, running.outcome.value, running.verdict.value) == (first.hand_no, "running", "")
    assert running.last == cut.version


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted(),
        Wanted(player="a3"),
        Wanted(pot_above=2_000),
        Wanted(showdown=True),
        Wanted(voided=True),
        Wanted(disputed=True),
        Wanted(player="a1", pot_above=500, showdown=True),
        Wanted(player="nobody"),
    ],
    ids=repr,
)
def test_hands_are_found_by_what_they_were(wanted: Wanted):
    hands = timeline().hands.all
    found = list(search(timeline(), wanted))
    expected = [
        hand
        for hand in hands
        if (not wanted.player or wanted.player in {account for _, account in hand.players})
        and (wanted.pot_above is None or hand.pot > wanted.pot_above)
        and (not wanted.showdown or hand.showdown)
        and (not wanted.voided or hand.outcome == "voided")
        and (not wanted.disputed or hand.was_disputed)
    ]
    assert found == expected
    assert len(found) < len(hands) or wanted == Wanted()


def judged(*events: ev.Event) -> Timeline:
    """The first hand, and what was said of it."""
    first = timeline().hands.all[0]
    bodies = [commit.body for commit in played().commits[: first.last]]
    return timeline_of(commits_of([*bodies, *[encode_commit([event], Meta(1)) for event in events]]))


def test_a_verdict_is_told_and_a_dispute_is_not_forgotten():
    disputed = ev.TableHandDisputed(1, 7, ("POT",))
    assert judged().hands.all[0].verdict == "waiting"
    assert [hand.hand_no for hand in search(judged(disputed), Wanted(disputed=True))] == [1]
    for choice, word in zip(ev.ResolutionChoice, ("resolved_table", "resolved_referee", "resolved_void"), strict=True):
        (hand,) = search(judged(disputed, ev.TableHandResolved(1, 8, choice, ())), Wanted(disputed=True))
        assert (hand.verdict, hand.was_disputed) == (word, True)


def test_versions_and_hands_that_are_not_there_are_told_with_those_that_are():
    last, hands = timeline().version, len(timeline().hands.all)
    assert (of_version(timeline(), 0), of_version(timeline(), 7)) == (last, 7)
    with pytest.raises(Nowhere, match=f"has only {last} versions: want 1 to {last}"):
        of_version(timeline(), last + 1)
    with pytest.raises(Nowhere, match=f"there is no version -1: want 1 to {last}"):
        of_version(timeline(), -1)
    assert of_hand(timeline(), 4) is timeline().hands.all[3]
    with pytest.raises(Nowhere, match=f"there is no hand 999 at table t-1: there are hands 1 to {hands}"):
        of_hand(timeline(), 999)
    with pytest.raises(Nowhere, match="there are hand 1 only"):
        of_hand(judged(), 2)
    with pytest.raises(Nowhere, match="no hand was started at table t-1 yet"):
        of_hand(timeline_of(played().commits[:2]), 1)


def test_a_time_leads_to_the_last_version_written_by_then():
    times = list(timeline().times)
    assert at_time(timeline(), times[-1] + 1) == len(times)
    for version in range(1, len(times), 9):
        at = times[version - 1]
        assert at_time(timeline(), at) == max(v for v in range(1, len(times) + 1) if times[v - 1] <= at)
    with pytest.raises(Nowhere, match=f"was opened later: its first version is of {iso(times[0])}"):
        at_time(timeline(), times[0] - 1)


def test_a_clock_that_was_set_back_hides_no_version():
    bodies = [encode_commit([ev.TablePaused("x", "")], Meta(at_ms)) for at_ms in (100, 200, 50, 60)]
    assert at_time(timeline_of(commits_of(bodies)), 60) == 4
    assert at_time(timeline_of(commits_of(bodies)), 55) == 3


def test_refusals_in_the_log_are_those_of_money():
    bodies = [
        encode_commit([event], Meta(1))
        for event in (
            ev.BuyInRequested("EUR", False, 1, 1, "ada", 100, 5, True, True),
            ev.SeatReleased(1, 1, "INSUFFICIENT_FUNDS", 3),
            ev.BuyInRequested("EUR", False, 2, 1, "ada", 100, 5, True, True),
            ev.SeatReleased(2, 1, "SEAT_LEFT"),
        )
    ]
    assert list(versions_with(timeline_of(commits_of(bodies)), Mark.REFUSAL)) == [2]
