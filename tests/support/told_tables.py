"""A table's history as a client is told it: updates with what is public, and one player's own part."""

from __future__ import annotations

from collections.abc import Iterator

from stud.events.v1 import commit_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_cli.play.seen import Seen
from stud_replay.viewing import Viewer
from stud_wire.commits import decode_commit, put_event
from table_service.public_events import put_public
from tests.support.history import TABLE, closed_table
from tests.support.replayed import frames_of

HISTORY = closed_table()
HERO = "ada"


def hidden_cards() -> dict[int, tuple[int, ...]]:
    """For each hand three cards that nobody was shown in it, as the hero's own."""
    seen: dict[int, set[int]] = {}
    for frame in frames_of(HISTORY.streams[TABLE]):
        seen.setdefault(frame.hand_no, set()).update(cards_of(frame.view))
        seen.setdefault(frame.view.last_hand.hand_no, set()).update(last_of(frame.view))
    return {hand_no: tuple([card for card in range(52) if card not in cards][:3]) for hand_no, cards in seen.items()}


def cards_of(view: pb.TableView) -> set[int]:
    """Cards of the running hand that everybody sees."""
    found = {card - 1 for seat in view.seats for card in (*seat.up, *seat.shown)}
    return found | ({view.community - 1} if view.community else set())


def last_of(view: pb.TableView) -> set[int]:
    """Cards of the last hand that everybody sees."""
    found = {card - 1 for seat in view.last_hand.seats for card in (*seat.up, *seat.shown)}
    return found | ({view.last_hand.community - 1} if view.last_hand.community else set())


def updates(account: str = HERO) -> Iterator[pb.TableUpdate]:
    """Every step of the table, as that player is told it."""
    viewer = Viewer(account, hidden_cards())
    for commit, frame in zip(HISTORY.streams[TABLE], frames_of(HISTORY.streams[TABLE], viewer), strict=True):
        update = pb.TableUpdate(table="t-1", version=frame.version, view=frame.view, current=True)
        update.sent_at_ms = frame.at_ms
        if frame.mine is not None:
            update.mine.CopyFrom(frame.mine)
        events = []
        for event in decode_commit(commit.body).events:
            events.append(commit_pb2.Event())
            put_event(event, events[-1])
        put_public(update, events)
        yield update


def seen_by(account: str = HERO, *, plain: bool = False, own: bool = True) -> Iterator[Seen]:
    """One `Seen`, again after every step."""
    seen = Seen(plain=plain, own=own)
    for update in updates(account):
        seen.take(update, 0.0)
        yield seen


def until(what: str, account: str = HERO) -> Seen:
    """What is seen when that is on the table for the first time: an event's name."""
    for seen in seen_by(account):
        assert seen.update is not None
        if any(event.WhichOneof("body") == what for event in seen.update.events):
            return seen
    raise AssertionError(what)
