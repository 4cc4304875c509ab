"""What everybody is told of a table's events: what is named, and nothing else of any event there is or will be."""

import typing
from typing import Any

import pytest
from google.protobuf.message import Message

from stud.common.v1 import seat_pb2
from stud.events.v1 import commit_pb2, table_events_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core import events as ev
from stud_core.events import Verb
from stud_wire.commits import Meta, commit_message
from table_service.public_events import PUBLIC, put_public
from tests.support.choosing import STAY
from tests.support.playing_memory import Game
from tests.support.streams import Stream
from tests.support.system_memory import MemorySystem, simulated

OF_THE_HOUSE = {"preferences_set", "top_up_requested", "top_up_refused", "cash_out_held", "player_left"}
_FIELDS: Any = commit_pb2.Event.DESCRIPTOR.oneofs[0].fields
BODIES: dict[str, str] = {field.message_type.name: field.name for field in _FIELDS}
KINDS = typing.get_args(ev.Event)


def public_of(*events: commit_pb2.Event) -> list[commit_pb2.Event]:
    update = pb.TableUpdate()
    put_public(update, events)
    return list(update.events)


def fill(message: Message) -> None:
    """Set every field of a message to something that is not its default."""
    for field in message.DESCRIPTOR.fields:
        if field.message_type is not None:
            part: Any = getattr(message, field.name)
            fill(part.add() if field.is_repeated else part)
            continue
        value: Any = {"string": "x", "bytes": b"x", "bool": True}.get(_kind(field), 1)
        if field.is_repeated:
            getattr(message, field.name).append(value)
        else:
            setattr(message, field.name, value)


def _kind(field: Any) -> str:
    names = {field.TYPE_STRING: "string", field.TYPE_BYTES: "bytes", field.TYPE_BOOL: "bool"}
    return names.get(field.type, "number")


def filled(name: str) -> commit_pb2.Event:
    event = commit_pb2.Event()
    getattr(event, name).SetInParent()
    fill(getattr(event, name))
    return event


def test_every_event_of_a_table_is_public_or_said_to_be_not():
    named = {BODIES[kind.__name__] for kind in KINDS}
    assert set(PUBLIC) | OF_THE_HOUSE == named
    assert not set(PUBLIC) & OF_THE_HOUSE


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.__name__))
def test_of_every_event_only_the_fields_that_are_named_leave(kind):
    name = BODIES[kind.__name__]
    sent = public_of(filled(name))
    if name in OF_THE_HOUSE:
        assert sent == []
        return
    (event,) = sent
    body = getattr(event, name)
    allowed = PUBLIC[name].split()
    assert set(allowed) <= {field.name for field in body.DESCRIPTOR.fields}
    assert {field.name for field, _ in body.ListFields()} == set(allowed)


@pytest.mark.parametrize("name", sorted(set(BODIES.values()) - {BODIES[kind.__name__] for kind in KINDS}))
def test_no_event_of_another_log_is_ever_public(name):
    assert public_of(filled(name)) == []


def test_sealed_cards_and_how_an_action_was_chosen_stay_behind():
    dealt = filled("cards_dealt")
    (event,) = public_of(dealt)
    assert [(card.seat, card.pos, card.sealed) for card in event.cards_dealt.down] == [(1, 1, b"")]
    assert dealt.cards_dealt.down[0].sealed == b"x"
    for by in ev.By:
        act = commit_pb2.Event()
        act.action_taken.by = seat_pb2.ActionOrigin.ValueType(int(by))
        (event,) = public_of(act)
        assert event.action_taken.by == int(ev.By.PLAYER if by is ev.By.PRE_ACTION else by)


def test_what_never_sat_is_paid_back_unseen():
    """A declined seat and one that was given up before the chips came look the same in what everybody else is told."""
    refusals: list[list[Any]] = [
        [ev.SeatReleased(3, 2, "INSUFFICIENT_FUNDS", 5)],
        [ev.SeatReleased(3, 2, "SEAT_LEFT"), ev.CashOutRequested("EUR", 3, "ada", claim=None, after_hand=0)],
    ]
    seen = [public_of(*commit_message(events, Meta(0)).events) for events in refusals]
    released = commit_pb2.Event(seat_released=table_events_pb2.SeatReleased(sitting_no=3, seat=2))
    assert seen == [[released], [released]]
    left = commit_message([ev.CashOutRequested("EUR", 3, "ada", claim=0, after_hand=0)], Meta(0)).events
    assert public_of(*left)


SECRETS = ("INSUFFICIENT_FUNDS", "auto_post", "muck_losing", "PRE_ACTION", "balance", "olga", "amount: 777")


@simulated
async def test_an_opponent_learns_nothing_of_wishes_and_purses_while_the_log_keeps_all(tmp_path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(3)
        eve = Stream(game, "eve", watch=True)
        for name in ("ada", "bea"):
            game.actor.ahead.connected(name)
        await game.send("ada", pb.SetPreferencesRequest(auto_post=False, muck_losing=False))
        await game.send("bea", pb.AddChipsRequest(amount=2_000_000))
        await game.deposit("poor", 300)
        with pytest.raises(Exception, match="INSUFFICIENT_FUNDS"):
            await game.seat("poor", deposit=0)
        await game.until_turn(street=5)
        hand = game.hand
        nxt = game.table.at(hand.order[(hand.order.index(hand.turn_seat) + 1) % len(hand.order)]).account
        game.actor.ahead.connected(nxt)
        ahead = pb.SetPreActionRequest(hand_no=1, street=5, price=hand.level, verb=seat_pb2.VERB_BET)
        await game.send(nxt, ahead)
        await game.act({Verb.CHECK: 1})
        await game.until(lambda table: table.running.level)
        await game.play(1, STAY)
        await game.operate(pb.PauseTableRequest(reason="lunch"))
        seen = str([eve.answers.get_nowait() for _ in range(eve.answers.qsize())])
        await eve.close()
        assert "lunch" in seen
        knobs = ("auto_post_default", "muck_losing_default")  # of the house, in the view's configuration
        for knob in knobs:
            seen = seen.replace(knob, "")
        assert not [secret for secret in SECRETS if secret in seen]
        stored = b"".join(commit.body for commit, _ in system.store.data.logs[game.actor.stream])
        assert b"INSUFFICIENT_FUNDS" in stored
        assert b"olga" in stored
