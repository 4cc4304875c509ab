"""Nothing made of a frame says what is in a sealed box: no JSON, text or picture; a card that is planted is found."""

from __future__ import annotations

import base64
import io
import json
from functools import cache
from typing import Any

import msgspec
import pytest
from rich.console import Console

from stud_cli.replay import printing
from stud_core import events as ev
from stud_core.presets import PLAYNOW, WILLIAM_HILL
from stud_core.ruleset import Ruleset
from stud_replay.frames import Frame
from stud_replay.plain import as_dict, index_dict
from stud_replay.viewing import OPERATOR, Viewer
from stud_wire.commits import decode_commit, encode_commit
from tests.support.replayed import RandomTable, cards_in, commits_of, frames_of, timeline_of

CANARY = b"PLANTED-Kd-7c-CANARY"
BOTH = pytest.mark.parametrize("rules", [PLAYNOW, WILLIAM_HILL], ids=lambda rules: rules.name)


@cache
def played(rules: Ruleset) -> RandomTable:
    return RandomTable(rules, 21, 5)


def told(frame: Frame) -> str:
    """Everything that is made of a frame, one under the other."""
    out = io.StringIO()
    console = Console(width=200, file=out)
    console.print(*printing.lines(frame), printing.picture(frame), printing.entry_table(frame))
    return f"{json.dumps(as_dict(frame))}\n{out.getvalue()}\n{frame!r}"


def seen(frame: Frame) -> set[int]:
    """Every card that everybody has seen by then."""
    seats: list[Any] = [*frame.view.seats, *frame.view.last_hand.seats]
    cards = {card - 1 for seat in seats for card in (*seat.up, *seat.shown)}
    return cards | {frame.view.community - 1, frame.view.last_hand.community - 1}


@BOTH
def test_nothing_names_a_card_before_everybody_saw_it(rules: Ruleset):
    named = 0
    for viewer in (OPERATOR, Viewer("a1"), Viewer("nobody")):
        for frame in list(frames_of(played(rules).commits, viewer))[::3]:
            cards = cards_in(told(frame))
            assert cards <= seen(frame), frame.version
            named += len(cards)
    assert named > 200


@BOTH
def test_nothing_of_a_sealed_box_comes_out(rules: Ruleset):
    def with_canary(body: bytes) -> bytes:
        commit = decode_commit(body)
        return encode_commit([planted(event) for event in commit.events], commit.meta)

    def planted(event: Any) -> Any:
        if not isinstance(event, ev.CardsDealt):
            return event
        boxes = tuple(msgspec.structs.replace(box, sealed=CANARY) for box in event.down)
        return msgspec.structs.replace(event, down=boxes)

    bodies = [with_canary(body) for body in played(rules).bodies]
    assert any(CANARY in body for body in bodies)
    for frame in frames_of(commits_of(bodies)):
        text = told(frame)
        for form in (
            CANARY.decode(),
            base64.b64encode(CANARY).decode()[:20],
            CANARY.hex(),
            str(len(CANARY)) + " bytes",
        ):
            assert form not in text
    assert "CANARY" not in json.dumps(index_dict(timeline_of(commits_of(bodies))))


def test_a_card_that_is_planted_is_found():
    frames = list(frames_of(played(PLAYNOW).commits))
    frame = next(f for f in frames if f.street == 5)
    hidden = next(card for card in range(52) if card not in seen(frame))
    seat = next(seat for seat in frame.view.seats if seat.dealt_in)
    seat.up.append(hidden + 1)  # type: ignore[arg-type]
    before = seen(next(f for f in frames_of(played(PLAYNOW).commits) if f.version == frame.version))
    assert hidden not in before
    assert cards_in(json.dumps(as_dict(frame))) - before == {hidden}
    assert hidden in cards_in(told(frame).split("\n", 1)[1])  # text and picture alone


@BOTH
def test_a_players_own_cards_are_theirs_alone_and_only_those_that_were_dealt_by_then(rules: Ruleset):
    """Cards are given for the fifth hand; they may show in its frames and nowhere else, no earlier than they came."""
    commits = played(rules).commits
    hand = timeline_of(commits).hands.all[4]
    seat, account = hand.players[0]
    frames = {frame.version: frame for frame in frames_of(commits)}
    public = set().union(*[seen(frames[version]) for version in range(hand.first, hand.last + 1)])
    own = tuple(card for card in range(52) if card not in public)[:3]
    eyes = Viewer(account, {5: own}, otherwise="nobody asked")
    shown: set[tuple[int, ...]] = set()
    for frame in [frame for frame in frames_of(commits, eyes) if frame.hand_no == 5 or frame.version % 5 == 0]:
        mine = cards_in(told(frame)) - seen(frame)
        if mine:
            assert frame.hand_no == 5
            dealt = frame.view.seats[seat - 1].down_count
            assert mine == set(own[:dealt])
            shown.add(own[:dealt])
        elif frame.mine is not None and frame.view.seats[seat - 1].down_count and frame.hand_no != 5:
            assert frame.sealed == "nobody asked"
    assert own[:2] in shown
    assert repr(eyes) == f"<Viewer {account}>"
