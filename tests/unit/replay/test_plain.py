"""The keys of a step as JSON are a promise: those of docs/replay.md, in every frame."""

import json
import re
from itertools import pairwise
from pathlib import Path

from stud_core import events as ev
from stud_core.presets import WILLIAM_HILL
from stud_replay.plain import as_dict, index_dict
from stud_replay.viewing import Viewer
from stud_wire.commits import decode_commit
from tests.support.replayed import RandomTable, frames_of, timeline_of

PAGE = (Path(__file__).parents[3] / "docs/replay.md").read_text()
EVENT = {"event", "seat", "account", "what", "why", "rules", "fields"}
CLOCK = {"kind", "seat", "account", "deadline_ms", "armed"}
LOG = {"version", "hash", "previous_hash", "made_by", "cause", "actor", "request_id", "build"}
FRAME = {"table", "version", "at_ms", "at", "head_hash", "hand_no", "street", "view", "events", "clocks", "log"}
HAND = {
    *(
        "hand_no",
        "from_version",
        "first_version",
        "last_version",
        "started_ms",
        "ended_ms",
        "players",
        "pot",
        "rake",
        "showdown",
    ),
    *("outcome", "verdict", "was_disputed"),
}
COMMITS = RandomTable(WILLIAM_HILL, 4, 3).commits


def test_every_frame_has_these_keys_and_no_others():
    armed = 0
    for frame in frames_of(COMMITS):
        plain = json.loads(json.dumps(as_dict(frame)))
        assert set(plain) == FRAME
        assert set(plain["log"]) == LOG
        assert all(set(event) == EVENT for event in plain["events"])
        assert all(set(clock) == CLOCK for clock in plain["clocks"])
        assert plain["log"]["hash"] == plain["head_hash"]
        armed += sum(clock["armed"] for clock in plain["clocks"])
    assert armed > 20


def test_a_player_is_told_their_own_and_nothing_of_the_logs_entry():
    seen = 0
    for frame in frames_of(COMMITS, Viewer("a1")):
        plain = as_dict(frame)
        assert set(plain) in (FRAME, FRAME | {"mine", "sealed"})
        log = plain["log"]
        assert (log["made_by"], log["cause"], log["actor"], log["request_id"], log["build"]) == (
            "hidden",
            None,
            "",
            "",
            "",
        )
        seen += "mine" in plain
    assert seen > 20


def test_the_index_has_these_keys():
    plain = index_dict(timeline_of(COMMITS))
    assert set(plain) == {"table", "versions", "first_at_ms", "last_at_ms", "hands", "declined"}
    assert all(set(hand) == HAND for hand in plain["hands"])
    assert len(plain["hands"]) == 3


def test_a_hands_range_in_the_index_is_the_one_of_its_verdict():
    """`from_version` means the same here, in `stud hands` and in the table's own end of the hand."""
    commits = RandomTable(WILLIAM_HILL, 5, 25).commits
    events = [event for commit in commits for event in decode_commit(commit.body).events]
    ends = {event.hand_no: event.from_version for event in events if isinstance(event, ev.HandEnded | ev.HandVoided)}
    listed = index_dict(timeline_of(commits))["hands"]
    assert {hand["hand_no"]: hand["from_version"] for hand in listed} == ends
    assert any(hand["from_version"] < hand["first_version"] for hand in listed)
    running = index_dict(timeline_of(commits[: listed[3]["first_version"] + 3]))["hands"][-1]
    assert (running["outcome"], running["from_version"]) == ("running", listed[3]["from_version"])


def test_each_key_stands_on_the_page():
    named = set(re.findall(r"`([a-z_]+)`", PAGE))
    assert FRAME | EVENT | CLOCK | LOG | HAND | set(index_dict(timeline_of(COMMITS))) <= named


def test_each_hash_is_that_of_the_commit_before():
    frames = list(frames_of(COMMITS))
    for before, frame in pairwise(frames):
        assert frame.entry.previous_hash == before.entry.hash
    assert {frame.entry.actor for frame in frames} > {""}
