"""Finding one's way on a timeline: the next or last action, street, hand; a time; hands by what they were."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final

import msgspec

from stud_replay.hands import HandEntry
from stud_replay.marks import Mark
from stud_replay.timeline import Timeline
from stud_replay.times import iso

NOT_IN_THE_LOG: Final = (
    "a refused call leaves nothing in the log: it is in the service's own lines and metrics. What the log has is money "
    "that was not there or does not fit: declined buy-ins and top-ups, held cash-outs"
)
"""What to say to whoever looks for refusals."""


class Nowhere(ValueError):
    """There is no such version, hand or time; the text says what there is."""


class Wanted(msgspec.Struct, frozen=True):
    """What a hand must be; what is not said is not asked for. ``pot_above`` in minor units, exclusive."""

    player: str = ""
    pot_above: int | None = None
    showdown: bool = False
    disputed: bool = False
    voided: bool = False


def step(timeline: Timeline, version: int, kind: Mark = Mark.ANY, *, back: bool = False) -> int | None:
    """Return the nearest version after (before) ``version`` in which there was something of a kind; None = none."""
    marks = timeline.marks
    versions = range(version - 1, 0, -1) if back else range(version + 1, timeline.version + 1)
    for at in versions:
        if kind is Mark.ANY or marks[at - 1] & kind:
            return at
    return None


def versions_with(timeline: Timeline, kind: Mark, first: int = 1) -> Iterator[int]:
    """Yield the versions from ``first`` in which there was something of a kind."""
    at = step(timeline, first - 1, kind)
    while at is not None:
        yield at
        at = step(timeline, at, kind)


def of_version(timeline: Timeline, version: int) -> int:
    """Return ``version``; 0 = the last one. Raises Nowhere."""
    last = timeline.version
    if version < 0:
        raise Nowhere(f"there is no version {version}: want 1 to {last}")
    if version > last:
        raise Nowhere(f"table {timeline.table_id} has only {last} versions: want 1 to {last}")
    return version or last


def of_hand(timeline: Timeline, hand_no: int) -> HandEntry:
    """Return a hand. Raises Nowhere, which says which there are."""
    found = timeline.hands.get(hand_no)
    if found is not None:
        return found
    hands = timeline.hands.all
    if not hands:
        raise Nowhere(f"no hand was started at table {timeline.table_id} yet")
    there = f"hands {hands[0].hand_no} to {hands[-1].hand_no}" if len(hands) > 1 else f"hand {hands[0].hand_no} only"
    raise Nowhere(f"there is no hand {hand_no} at table {timeline.table_id}: there are {there}")


def at_time(timeline: Timeline, at_ms: int) -> int:
    """Return the last version that was written by then, milliseconds since the epoch. Raises Nowhere before the first.

    Where a clock was set back, times do not rise with versions; it is the last version all the same.
    """
    times = timeline.times
    for version in range(len(times), 0, -1):
        if times[version - 1] <= at_ms:
            return version
    first = f"its first version is of {iso(times[0])}" if times else "it has no version yet"
    raise Nowhere(f"table {timeline.table_id} was opened later: {first}")


def hand_at(timeline: Timeline, version: int) -> HandEntry | None:
    """Return the last hand that began at a version or before it."""
    index = bisect_right(timeline.hands.all, version, key=_first)
    return timeline.hands.all[index - 1] if index else None


def hands_between(timeline: Timeline, first: int, last: int) -> list[HandEntry]:
    """Return the hands that were played, at least in part, between two versions."""
    hands = timeline.hands.all
    begun = hands[: bisect_right(hands, last, key=_first)]
    return begun[bisect_left(begun, first, key=_last) :]


def _first(hand: HandEntry) -> int:
    return hand.first


def _last(hand: HandEntry) -> int:
    return hand.last


def search(timeline: Timeline, wanted: Wanted) -> Iterator[HandEntry]:
    """Yield the hands that are as wanted, in order."""
    return (hand for hand in timeline.hands.all if _is(hand, wanted))


def _is(hand: HandEntry, wanted: Wanted) -> bool:
    if wanted.player and all(account != wanted.player for _, account in hand.players):
        return False
    if wanted.pot_above is not None and hand.pot <= wanted.pot_above:
        return False
    return not (
        (wanted.showdown and not hand.showdown)
        or (wanted.disputed and not hand.was_disputed)
        or (wanted.voided and hand.outcome != "voided")
    )
