"""Every event survives the wire; what this build cannot read is said so, never guessed."""

from __future__ import annotations

import types
import typing
from enum import IntEnum
from random import Random
from typing import Any

import msgspec
import pytest
from google.protobuf.message import Message

from stud.common.v1 import ruleset_pb2, seat_pb2
from stud.events.v1 import commit_pb2, table_events_pb2
from stud_core import deck_events, events, verdict_events
from stud_core.ledger import events as ledger_events
from stud_core.presets import PLAYNOW, WILLIAM_HILL, table_config
from stud_core.ruleset import Ruleset, TableConfig
from stud_wire.codec import WireError, from_message, message_class, to_message
from stud_wire.commits import (
    Meta,
    decode_commit,
    decode_event,
    digest,
    encode_commit,
    encode_event,
    read_event,
)

MODULES = (events, deck_events, verdict_events, ledger_events)
BODY: Any = commit_pb2.Event.DESCRIPTOR.oneofs_by_name["body"]
ONEOF = {field.message_type.name for field in BODY.fields}
EVENTS = sorted(
    {cls for module in MODULES for cls in vars(module).values() if isinstance(cls, type) and cls.__name__ in ONEOF},
    key=lambda cls: cls.__name__,
)
CARD_FIELDS = {"card", "cards", "community"}


def value_of(name: str, hint: Any, rng: Random) -> Any:
    """A value of a field's type; never the default, so that a lost field shows."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        (inner,) = [part for part in typing.get_args(hint) if part is not type(None)]
        return None if rng.random() < 0.3 else value_of(name, inner, rng)
    if typing.get_origin(hint) is tuple:
        return tuple(value_of(name, typing.get_args(hint)[0], rng) for _ in range(rng.randint(1, 3)))
    if isinstance(hint, type) and issubclass(hint, IntEnum):
        return rng.choice(list(hint))
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return made(hint, rng)
    if hint is int:
        return rng.randint(0, 51) if name in CARD_FIELDS else rng.randint(1, 2**31 - 1)
    if hint is str:
        return f"{name}-{rng.randint(1, 99)}"
    if hint is bytes:
        return rng.randbytes(8)
    assert hint is bool, hint
    return rng.random() < 0.5


def made(cls: type[msgspec.Struct], rng: Random) -> Any:
    hints = typing.get_type_hints(cls)
    return cls(**{name: value_of(name, hints[name], rng) for name in cls.__struct_fields__})


def test_every_event_of_the_contract_has_a_core_class() -> None:
    assert {cls.__name__ for cls in EVENTS} == ONEOF


@pytest.mark.parametrize("cls", EVENTS, ids=lambda cls: cls.__name__)
def test_an_event_comes_back_as_it_was(cls: type[msgspec.Struct]) -> None:
    rng = Random(cls.__name__)
    for _ in range(20):
        event = made(cls, rng)
        assert decode_event(encode_event(event)) == event


@pytest.mark.parametrize("cls", EVENTS, ids=lambda cls: cls.__name__)
def test_core_class_and_message_have_the_same_fields(cls: type[msgspec.Struct]) -> None:
    message: type[Message] = message_class(cls)
    assert [field.name for field in message.DESCRIPTOR.fields] == list(cls.__struct_fields__)


def test_zero_is_a_value_and_not_an_absence() -> None:
    deuce = events.CardsDealt(1, 2, 7, (events.UpCard(1, 0),), (), 0, b"")
    assert decode_event(encode_event(deuce)) == deuce
    unpaid = events.CashOutRequested("EUR", 1, "ann", 0, 0)
    assert decode_event(encode_event(unpaid)) == unpaid
    never_sat = events.CashOutRequested("EUR", 1, "ann", None, 0)
    assert decode_event(encode_event(never_sat)) == never_sat


@pytest.mark.parametrize("rules", [PLAYNOW, WILLIAM_HILL], ids=lambda rules: rules.name)
def test_rulesets_and_configurations_come_back(rules: Ruleset) -> None:
    config = table_config(rules, table_id="t-1")
    assert from_message(TableConfig, to_message(config)) == config


def test_a_commit_comes_back_with_who_when_and_why() -> None:
    facts = [events.SatOut(1, 2, events.OutReason.REQUESTED), events.TableClosed()]
    meta = Meta(5, "ann", "r-1", b"\1" * 32, ("{s01}:deck:t-1", 7), "1.0")
    commit = decode_commit(encode_commit(facts, meta))
    assert (list(commit.events), commit.meta, commit.write_version) == (facts, meta, 1)
    assert decode_commit(encode_commit(facts, Meta(5))).meta == Meta(5)


def test_an_unknown_event_stops_the_reader_unless_it_may_be_skipped() -> None:
    with pytest.raises(WireError, match="too old"):
        decode_event(commit_pb2.Event().SerializeToString())
    assert decode_event(commit_pb2.Event(ignorable=True).SerializeToString()) is None
    skipped = commit_pb2.Commit(write_version=1, events=[commit_pb2.Event(ignorable=True)])
    assert decode_commit(skipped.SerializeToString()).events == ()


def test_a_newer_commit_is_refused() -> None:
    for version in (0, 2):
        with pytest.raises(WireError, match="format"):
            decode_commit(commit_pb2.Commit(write_version=version).SerializeToString())


@pytest.mark.parametrize("data", [b"\xff", b"\x08", b"\x12\xff\xff"])
def test_bytes_that_are_no_message_are_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        decode_event(data)
    with pytest.raises(WireError):
        decode_commit(data)


@pytest.mark.parametrize("cls", EVENTS, ids=lambda cls: cls.__name__)
def test_bytes_and_message_are_read_alike(cls: type[msgspec.Struct]) -> None:
    rng = Random(cls.__name__)
    for _ in range(5):
        data = encode_event(made(cls, rng))
        assert decode_event(data) == read_event(commit_pb2.Event.FromString(data))


def test_an_event_that_is_not_written_as_we_do_is_read_all_the_same() -> None:
    folded = events.HandMucked(3)
    usual = encode_event(folded)
    head, seat = usual[:2], usual[3:]
    marked = b"\x08\x01" + usual
    twice = usual + encode_event(events.HandMucked(5))
    long_length = head + bytes((0x80 | len(seat), 0x80, 0x00)) + seat
    assert [decode_event(data) for data in (marked, twice, long_length)] == [folded, events.HandMucked(5), folded]
    for size in (127, 128, 16_383, 16_384, 100_000):
        closed = events.TableHandDisputed(1, 2, ("x" * size,))
        assert decode_event(encode_event(closed)) == closed


def test_an_event_that_was_cut_or_went_on_is_refused() -> None:
    turn = encode_event(events.TurnStarted(5, 3, 100, 7, (events.Option(events.Verb.FOLD, 0, 0, None, False),)))
    for data in [*(turn[:size] for size in range(1, len(turn))), turn + b"\x07"]:
        with pytest.raises(WireError):
            decode_event(data)
    with pytest.raises(WireError):  # what may be done is no message
        decode_event(turn.replace(b"\x2a\x02\x08\x01", b"\x2a\x02\x08\xff"))


def test_options_that_recur_are_decoded_once() -> None:
    options = (events.Option(events.Verb.FOLD, 0, 0, None, False), events.Option(events.Verb.CHECK, 0, 0, None, False))
    one, two = (decode_event(encode_event(events.TurnStarted(turn, 3, 0, 7, options))) for turn in (5, 6))
    assert one is not None
    assert two is not None
    assert one.options == options
    assert one.options is two.options


def test_values_out_of_range_are_refused() -> None:
    card = commit_pb2.Event()
    card.cards_dealt.up.add(seat=1, card=53)
    missing = commit_pb2.Event()
    missing.cards_dealt.up.add(seat=1)
    verb = commit_pb2.Event(
        action_taken=table_events_pb2.ActionTaken(turn_id=1, seat=1, by=seat_pb2.ACTION_ORIGIN_PLAYER)
    )  # no verb
    for message in (card, missing, verb):
        with pytest.raises(WireError):
            decode_event(message.SerializeToString())
    with pytest.raises(WireError, match="DealOrigin"):
        from_message(Ruleset, ruleset_pb2.Ruleset(name="half"))


def test_a_class_without_a_message_is_a_programming_error() -> None:
    class Nothing(msgspec.Struct):
        pass

    with pytest.raises(WireError, match="no message"):
        to_message(Nothing())

    class Share(msgspec.Struct):
        colour: int

    with pytest.raises(WireError, match="no field"):
        to_message(Share(1))


def test_the_digest_of_a_request_depends_on_where_parts_end() -> None:
    assert digest([b"ab", b"c"]) != digest([b"a", b"bc"])
    assert digest([b"ab"]) == digest([b"ab"])
