"""Reads the hands that are asked for from a table's log and writes their page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from stud_cli.exit_codes import could_not_run, said_as
from stud_cli.files import write_whole
from stud_cli.local.progress import Waiting
from stud_cli.output import notes
from stud_cli.replay.own_cards import OwnCards
from stud_cli.replay.page.building import page
from stud_cli.replay.page.scenes import EVERYBODY, HandScenes, direct
from stud_cli.replay.reel import Reel
from stud_eventlog.log import CommitLog
from stud_replay.timeline import Timeline
from stud_replay.viewing import Viewer

FOR_ITS_OWNER: Final = 0o600
"""Rights of a page, until its owner sends it."""


class Written(msgspec.Struct):
    """What is in the page."""

    hands: int
    steps: int
    bytes: int


def hand_range(text: str) -> tuple[int, int] | None:
    """Return the first and the last hand of ``7`` or ``7-12``; None for nothing, all hands. Raises ValueError."""
    if not text:
        return None
    first, dash, last = text.partition("-")
    if not (first.isdecimal() and (not dash or last.isdecimal())) or not 1 <= int(first) <= int(last or first):
        raise ValueError(f"{text!r}: want a hand such as 7, or a range such as 7-12")
    return int(first), int(last or first)


async def write_page(
    log: CommitLog,
    table_id: str,
    hands: tuple[int, int] | None,
    out: Path,
    viewer: Viewer = EVERYBODY,
    own: OwnCards | None = None,
) -> Written:
    """Write the page of a table's hands; ``own``: with one player's cards. Raises CouldNotRun, EventLogError,
    WireError, ValueError (no table id).
    """
    with Waiting(notes if notes.is_terminal else None) as waiting:
        reel = Reel(log, table_id, viewer, own)
        await reel.fold(_enough(hands), lambda done, of: waiting.show(f"{table_id} is read", done / of))
        if not reel.timeline.version:
            could_not_run(f"there is no table {table_id!r} in this log")
        _refuse_strangers(reel, hands)
        shown = await scenes_of(reel, hands, lambda share: waiting.show("hands are drawn", share))
    if hands is not None and not shown:
        could_not_run(f"table {table_id} has no hand {hands[0]}: it has played {_played(reel.timeline)} so far")
    with said_as("{}", ValueError):
        data = page(reel.timeline.last.rules, shown, "" if reel.viewer is EVERYBODY else reel.viewer.account)
    write_whole(out, data, FOR_ITS_OWNER)
    return Written(len(shown), sum([len(hand.scenes) for hand in shown]), len(data))


def _refuse_strangers(reel: Reel, hands: tuple[int, int] | None) -> None:
    """A page through the eyes of somebody who was not there would say nothing of theirs."""
    first, last = hands or (0, 2**62)
    account = reel.viewer.account
    dealt_in = {name for hand in reel.timeline.hands.all if first <= hand.hand_no <= last for _, name in hand.players}
    if reel.viewer is not EVERYBODY and dealt_in and account not in dealt_in:
        could_not_run(f"{account} was dealt into none of these hands of table {reel.table_id}")


async def scenes_of(
    reel: Reel, hands: tuple[int, int] | None = None, drawn: Callable[[float], None] = lambda _: None
) -> list[HandScenes]:
    """Return the scenes of hands that were folded, each up to the next one; what was before the first belongs to it."""
    known = reel.timeline.hands.all
    out = []
    for number, hand in enumerate(known):
        if hands is not None and not hands[0] <= hand.hand_no <= hands[1]:
            continue
        first = hand.first if number else 1
        last = known[number + 1].first - 1 if number + 1 < len(known) else reel.timeline.version
        out.append(await direct(hand, reel.frames(first, last), reel.viewer))
        drawn(number / len(known))
    return out


def _enough(hands: tuple[int, int] | None) -> Callable[[Timeline], bool]:
    """How much of the log must be read."""
    return lambda timeline: hands is not None and _played(timeline) > hands[1]


def _played(timeline: Timeline) -> int:
    return timeline.hands.all[-1].hand_no if timeline.hands.all else 0
