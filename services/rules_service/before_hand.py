"""Where a table stood after its last judged hand: what the next hand's range is judged from.

A base is either what the last judgement left, or folded from the start of the table's log. Folding trusts what was
recorded: every hand in it has a verdict of its own.
"""

from __future__ import annotations

from typing import Any

import msgspec

from rules_service.findings import CannotVerify, Obstacle
from rules_service.ranges import check_present, decode_range
from rules_service.second_opinion.account import Account
from stud_core import events as ev
from stud_core.evolve import apply
from stud_core.state import Table
from stud_eventlog.log import CommitLog
from stud_eventlog.reading import read_pages
from stud_eventlog.types import NO_HASH


class BeforeHand(msgspec.Struct):
    """``state`` and ``account`` after ``version``, whose head hash is ``hash``; never changed once made."""

    version: int
    hash: bytes
    state: Table
    account: Account


def nothing() -> BeforeHand:
    """The base of a table whose log has not begun."""
    return BeforeHand(0, NO_HASH, Table(), Account())


async def fold_before(log: CommitLog, stream: str, upto: int) -> BeforeHand:
    """Fold a table's log up to a version. Raises CannotVerify when commits are missing or unknown, Broken when the
    chain is.
    """
    state, account, before, version = Table(), Account(), NO_HASH, 0
    async for page in read_pages(log, stream, up_to=upto):
        for number, commit in enumerate(page, version + 1):
            check_present(stream, number, commit)
        for recorded in decode_range(page, before, None):
            version, before = recorded.version, recorded.hash
            state.version = version
            for event in recorded.events:
                apply(state, event)
                fold_recorded(account, event)
    if version < upto:
        raise CannotVerify(Obstacle.MISSING_LOG, stream, version + 1, "it is missing")
    return BeforeHand(version, before, state, account)


def fold_recorded(account: Account, event: Any) -> None:
    """Fold one recorded event into an account, trusting it."""
    if isinstance(event, ev.HandStarted):
        account.button = event.button or account.button
        places = [account.places.get(player.sitting_no) for player in event.dealt_in]
        account.before = {place.sitting_no: place.stack for place in places if place is not None}
        account.begin(event.dealt_in)
    elif isinstance(event, ev.CardsDealt):
        account.dealt_button = account.button
    elif isinstance(event, ev.HandEnded):
        account.settle(event.hand_no, {entry.sitting_no: entry.stack for entry in event.stacks}, account.before)
    elif isinstance(event, ev.HandVoided):
        account.settle(event.hand_no, {}, account.before)
    else:
        account.apply(event)
