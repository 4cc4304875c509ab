"""Frames, hands and clocks as plain JSON values, for scripts and pages. Their keys are a promise: docs/replay.md.

Messages of the contract (``view``, ``mine``, an event's ``fields``) are in protobuf's own JSON with the field names of
the contract: numbers of 64 bits are strings, fields that are zero are left out, bytes are base64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from stud_replay.clocks import Clock
from stud_replay.difference import Change
from stud_replay.entries import LogEntry
from stud_replay.frames import Frame, Said
from stud_replay.hands import HandEntry
from stud_replay.marks import Mark
from stud_replay.navigation import versions_with
from stud_replay.timeline import Timeline
from stud_replay.times import iso


def as_dict(frame: Frame) -> dict[str, Any]:
    """Return a frame as JSON values."""
    plain = {
        "table": frame.table,
        "version": frame.version,
        "at_ms": frame.at_ms,
        "at": iso(frame.at_ms),
        "head_hash": frame.entry.hash.hex(),
        "hand_no": frame.hand_no,
        "street": frame.street,
        "view": message_dict(frame.view),
        "events": [_said(said) for said in frame.said],
        "clocks": [_clock(clock) for clock in frame.clocks],
        "log": _entry(frame.entry),
    }
    if frame.mine is not None:
        plain["mine"] = message_dict(frame.mine)
        plain["sealed"] = frame.sealed
    return plain


def index_dict(timeline: Timeline) -> dict[str, Any]:
    """Return what there is to look at: versions, their times, and the hands."""
    times, hands = timeline.times, timeline.hands.all
    return {
        "table": timeline.table_id,
        "versions": timeline.version,
        "first_at_ms": times[0] if times else 0,
        "last_at_ms": times[-1] if times else 0,
        "hands": [hand_dict(hand, begins) for hand, begins in zip(hands, _begins(hands), strict=True)],
        "declined": list(versions_with(timeline, Mark.REFUSAL)),
    }


def _begins(hands: Sequence[HandEntry]) -> list[int]:
    """Where the range of the log begins that belongs to each hand: behind the end of the one before."""
    return [1, *[hand.last + 1 for hand in hands]][: len(hands)]


def hand_dict(hand: HandEntry, from_version: int) -> dict[str, Any]:
    """Return a line of the index as JSON values."""
    return {
        "hand_no": hand.hand_no,
        "from_version": from_version,
        "first_version": hand.first,
        "last_version": hand.last,
        "started_ms": hand.started_ms,
        "ended_ms": hand.ended_ms,
        "players": [{"seat": seat, "account": account} for seat, account in hand.players],
        "pot": hand.pot,
        "rake": hand.rake,
        "showdown": hand.showdown,
        "outcome": hand.outcome.value,
        "verdict": hand.verdict.value,
        "was_disputed": hand.was_disputed,
    }


def change_dict(change: Change) -> dict[str, Any]:
    """Return a difference as JSON values."""
    return {
        "seat": change.seat,
        "account": change.account,
        "field": change.field,
        "before": change.before,
        "after": change.after,
        "words": change.words,
    }


def message_dict(message: Message) -> dict[str, Any]:
    """Return a message as JSON values, with the contract's field names."""
    return MessageToDict(message, preserving_proto_field_name=True)


def _said(said: Said) -> dict[str, Any]:
    body: Message = getattr(said.event, said.name)
    return {
        "event": said.name,
        "seat": said.seat,
        "account": said.account,
        "what": said.what,
        "why": said.why,
        "rules": list(said.rules),
        "fields": message_dict(body),
    }


def _clock(clock: Clock) -> dict[str, Any]:
    return {
        "kind": clock.kind.value,
        "seat": clock.seat,
        "account": clock.account,
        "deadline_ms": clock.deadline_ms,
        "armed": clock.armed,
    }


def _entry(entry: LogEntry) -> dict[str, Any]:
    return {
        "version": entry.version,
        "hash": entry.hash.hex(),
        "previous_hash": entry.previous_hash.hex(),
        "made_by": entry.made_by.value,
        "cause": None if entry.cause is None else {"stream": entry.cause[0], "version": entry.cause[1]},
        "actor": entry.actor,
        "request_id": entry.request_id,
        "build": entry.build,
    }
