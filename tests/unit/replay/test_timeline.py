"""A timeline folds a log once, keeps what finding needs and states ever further apart, and leads to every version."""

import gc
import tracemalloc
from functools import cache

import pytest
from msgspec.structs import replace

from stud_core import events as ev
from stud_core.evolve import evolve
from stud_core.presets import PLAYNOW
from stud_core.state import Table
from stud_eventlog.types import StoredCommit
from stud_replay.frames import Projector
from stud_replay.marks import Mark
from stud_replay.timeline import Timeline
from stud_wire.commits import Meta, decode_commit, encode_commit
from table_service.views import table_view
from tests.support.replayed import RandomTable, frames_of, timeline_of

HANDS = 6


@cache
def played() -> RandomTable:
    return RandomTable(PLAYNOW, 3, HANDS)


@cache
def states() -> list[Table]:
    """The table after every version, folded from the start."""
    out = [Table()]
    for commit in played().commits:
        out.append(evolve(out[-1], decode_commit(commit.body).events, commit.version))
    return out


@pytest.mark.parametrize(("kept", "spacing"), [(2048, 64), (16, 4), (15, 1), (2, 8)])
def test_every_version_is_reached_from_the_nearest_state(kept: int, spacing: int):
    commits = played().commits
    timeline = timeline_of(commits, kept=kept, spacing=spacing)
    for version in range(1, len(commits) + 1):
        state = timeline.nearest(version)
        assert state.version < version
        assert state == states()[state.version]
    for version in range(1, len(commits) + 1, 17):
        state = timeline.nearest(version)
        projector = Projector("t-1", state)
        for commit in commits[state.version : version - 1]:
            projector.skip(commit)
        assert projector.show(commits[version - 1]).view == table_view(states()[version])
    assert timeline.last == states()[-1]
    assert len(timeline._states) <= kept


def test_states_lie_no_further_apart_than_they_must():
    commits = played().commits
    timeline = timeline_of(commits, kept=16, spacing=1)
    gaps = [version - timeline.nearest(version).version for version in range(1, len(commits) + 1)]
    assert max(gaps) <= 2 * len(commits) / 8


def test_a_state_that_is_kept_is_not_changed_by_what_follows():
    commits = played().commits
    timeline = Timeline("t-1", spacing=1)
    for commit in commits[:40]:
        timeline.add(commit)
    early = timeline.nearest(21)
    for commit in commits[40:]:
        timeline.add(commit)
    assert timeline.nearest(21) is early
    assert early == states()[20]


def test_a_commit_that_does_not_follow_is_refused():
    first, second, third, *_ = played().commits
    timeline = timeline_of([first])
    with pytest.raises(ValueError, match="version 3 does not follow version 1"):
        timeline.add(third)
    with pytest.raises(ValueError, match="version 1 does not follow version 1"):
        timeline.add(first)
    timeline.add(second)
    with pytest.raises(ValueError, match="version 3 does not follow version 0"):
        list(frames_of([third]))


def test_a_version_costs_nine_bytes_and_a_hand_a_line():
    timeline = timeline_of(played().commits, kept=4)
    assert len(timeline.marks) == len(timeline.times) == timeline.version
    assert timeline.times.itemsize + 1 == 9
    assert len(timeline._states) <= 4
    assert len({id(hand.players) for hand in timeline.hands.all}) == len({hand.players for hand in timeline.hands.all})


def test_marks_say_what_happened():
    commits = played().commits
    timeline = timeline_of(commits)
    for commit in commits:
        names = {type(event).__name__ for event in decode_commit(commit.body).events}
        marks = Mark(timeline.marks[commit.version - 1])
        assert (Mark.ACTION in marks) == ("ActionTaken" in names)
        assert (Mark.STREET in marks) == ("CardsDealt" in names)
        assert (Mark.HAND in marks) == ("AntesOpened" in names)
        assert (Mark.VOID in marks) == ("HandVoided" in names)


def memory_of(versions: int) -> int:
    """Bytes that a timeline of so many versions holds."""
    bodies = [encode_commit([event], Meta(1)) for event in (ev.TablePaused("x", "olga"), ev.TableResumed("olga"))]
    commits = [StoredCommit("s", version, bytes(32), bytes(16), bodies[version % 2]) for version in range(1, 3)]
    tracemalloc.start()
    try:
        timeline = Timeline("t-1", kept=64, spacing=1)
        for version in range(1, versions + 1):
            timeline.add(replace(commits[version % 2], version=version))
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def test_a_long_log_costs_little_more_than_its_nine_bytes_a_version():
    """States thin out, frames are not kept: three times the log is the same states and three times nine bytes."""
    memory_of(100)
    short, long = memory_of(4_000), memory_of(12_000)
    assert long - short < 8_000 * 9 * 1.5 + 64 * 1_000
