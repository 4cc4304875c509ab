"""From a command to one durable commit.

``prepare`` decides, follows with the showdown where one is due, folds on a copy and checks conservation;
nothing here waits. What comes out is ready to be appended: body, outbox, lobby row and the state after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from stud.events.v1 import commit_pb2
from stud_core import conservation, events
from stud_core.commands import Command, Context, Showdown
from stud_core.decide import step
from stud_core.events import Event
from stud_core.interest import own_interest
from stud_core.rejection import Rejection
from stud_core.state import Table
from stud_eventlog.types import FeedItem
from stud_wire.commits import Meta, commit_message

OUTBOX = (
    events.TableOpened,
    events.BuyInRequested,
    events.TopUpRequested,
    events.CashOutRequested,
    events.DealRequested,
    events.HandEnded,
    events.HandVoided,
)
"""Events that other services read (architecture.md, "Who owns which fact")."""

LOBBY = (
    events.TableOpened,
    events.BuyInRequested,
    events.PlayerSeated,
    events.SeatReleased,
    events.CashOutRequested,
    events.CashOutHeld,
    events.PlayerLeft,
    events.WaitingJoined,
    events.WaitingLeft,
    events.HandStarted,
    events.TablePaused,
    events.TableResumed,
    events.TableDraining,
    events.TableClosing,
    events.TableClosed,
    events.TableHandDisputed,
    events.TableHandResolved,
)
"""Events that change the table's line in the lobby."""

OpenCards = Callable[[Table], dict[int, tuple[int, ...]]]
"""Opens the down cards of every live seat of the running hand."""


class NotConserved(Exception):
    """Chips would appear or vanish; the events must not be appended."""


class Prepared(msgspec.Struct):
    """A decision that may be appended: ``message`` is the commit's body before serialisation."""

    events: list[Event]
    after: Table
    message: commit_pb2.Commit
    outbox: tuple[FeedItem, ...]


def prepare(
    before: Table, command: Command, ctx: Context, meta: Meta, open_cards: OpenCards, feed: str
) -> Prepared | Rejection | None:
    """Decide ``command``; None = accepted, but there is nothing to write. Raises NotConserved."""
    decided = own_interest(before, command) or step(before, command, ctx)
    if isinstance(decided, Rejection):
        return decided
    made, after = decided
    if not made:
        return None
    while after.wants_showdown:
        follow = step(after, Showdown(open_cards(after)), ctx)
        if isinstance(follow, Rejection):
            raise NotConserved(f"showdown refused: {follow.text}")
        made, after = [*made, *follow[0]], follow[1]
    problem = conservation.check(after)
    if problem:
        raise NotConserved(problem)
    message = commit_message(made, meta)
    return Prepared(made, after, message, _outbox(made, message.events, feed))


def _outbox(made: Sequence[Event], messages: Sequence[Any], feed: str) -> tuple[FeedItem, ...]:
    pairs = zip(made, messages, strict=True)
    return tuple(FeedItem(feed, message.SerializeToString()) for event, message in pairs if isinstance(event, OUTBOX))
