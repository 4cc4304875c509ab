"""No hidden card, no seed and no key leaves the dealer: planted canaries, and every stored value decoded."""

import json
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from stud.dealer.v1 import dealer_service_pb2 as pb
from stud_core.clear_deck import ClearDeck
from stud_core.deck_events import DeckCardsDealt
from stud_eventlog import keys
from stud_eventlog.memory import MemoryEventLog
from stud_service.feeds import Poison
from stud_service.keyring import KeyRing
from stud_wire.commits import decode_commit, decode_event
from tests.support.dealer import House, Tables, as_caller, deal, deck_events
from tests.support.runtime import logged

T = "t-1"
SEED = b"canary-seed-canary-seed-canary-s"
KEYS = {name: (f"canary-{name}-" * 4).encode()[:32] for name in ("dealer", "down", "referee")}


@pytest.fixture
def lines() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Everything that is logged, from the lowest level on."""
    with logged("dealer", "debug") as told:
        yield told


@pytest.fixture
def log() -> MemoryEventLog:
    return MemoryEventLog()


@pytest.fixture
def house(log: MemoryEventLog) -> House:
    return House(log, ring=KeyRing(KEYS), draw=lambda: SEED)


def forms(secret: bytes) -> list[str]:
    return [secret.hex(), repr(secret), str(list(secret)), secret.decode(errors="replace"), "canary-"]


def assert_clean(text: str, *clear: ClearDeck) -> None:
    for secret in (SEED, *KEYS.values()):
        for form in forms(secret):
            assert form not in text
    for deck in clear:
        for hidden in (deck.cards, deck.river_rank):
            assert str(list(hidden))[1:30] not in text
            assert bytes(hidden).hex()[:16] not in text


def integers(value: Any) -> Iterator[int]:
    """All numbers within a decoded event."""
    if isinstance(value, int):
        yield value
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from integers(getattr(value, name))
    elif isinstance(value, tuple):
        for part in value:
            yield from integers(part)


async def play(house: House, log: MemoryEventLog) -> ClearDeck:
    tables = Tables(log)
    await tables.open(T)
    await tables.play(T, 1, (1, 2, 3, 4, 5, 6))
    await tables.say(T, deal(2, 1))
    await house.read(T)
    return house.seeds.open(T, (await deck_events(log, T))[0])


async def test_stored_values_hold_no_key_seed_or_order(house: House, log: MemoryEventLog):
    clear = await play(house, log)
    stored = [
        *[commit.body for commits in log.store.data.logs.values() for commit, _ in commits],
        *[entry.event for feed in log.store.data.feeds.values() for entry in feed],
    ]
    assert len(stored) > 10
    for value in stored:
        for secret in (SEED, *KEYS.values(), bytes(clear.cards), bytes(clear.river_rank)):
            assert secret not in value
            assert secret[:8] not in value


async def test_decoded_without_keys_no_value_is_a_card_that_was_not_turned_up(house: House, log: MemoryEventLog):
    """A card is one byte, so the fields are looked at: each number is a position, a seat, a count, or an up card."""
    await play(house, log)
    for commits in log.store.data.logs.values():
        for stored, _ in commits:
            for event in decode_commit(stored.body).events:
                if not isinstance(event, DeckCardsDealt):
                    continue
                allowed = {
                    *(event.hand_no, event.deal_no, event.request.from_version, event.request.to_version),
                    *(card.seat for card in event.up),
                    *(card.seat for card in event.down),
                    *(card.card for card in event.up),
                    *(*event.burns, *event.positions, *(card.pos for card in event.down)),
                }
                assert set(integers(event)) <= allowed
                assert {len(card.sealed) for card in event.down} <= {17}
    for feed in log.store.data.feeds.values():
        for entry in feed:
            assert SEED not in repr(decode_event(entry.event)).encode()


async def test_same_card_other_box(house: House, log: MemoryEventLog):
    """Boxes say nothing about equal cards: with this draw both hands have the same deck, and no box comes twice."""
    await play(house, log)
    boxes = [
        card.sealed for event in await deck_events(log, T) if isinstance(event, DeckCardsDealt) for card in event.down
    ]
    assert len(boxes) == 12 + 6 + 6
    assert len(set(boxes)) == len(boxes)


async def test_nothing_secret_is_logged(house: House, log: MemoryEventLog, lines: Callable[[], list[dict[str, Any]]]):
    clear = await play(house, log)
    as_caller("auditor", account="aud-1")
    await house.servicer.AuditDeck(pb.AuditDeckRequest(table=T, hand_no=1, reason="a complaint"), None)
    told = lines()
    assert {"deck", "deck_audited"} <= {line["event"] for line in told}
    (audited,) = [line for line in told if line["event"] == "deck_audited"]
    assert (audited["table"], audited["hand"], audited["auditor"], audited["proven"]) == (T, 1, "aud-1", True)
    assert_clean(json.dumps(told), clear)


async def test_no_object_of_the_dealer_shows_a_secret(house: House, log: MemoryEventLog):
    clear = await play(house, log)
    async with house.shoes.use(T) as shoe:
        shoe.clear()
        shown = [
            repr(thing) for thing in (house.seeds, house.ring, shoe, shoe.deck, shoe.clear(), clear.seed, clear.cards)
        ]
        shown += [str(vars(shoe)), str(vars(house.shoes))]
    assert_clean(" ".join(shown), clear)


async def test_a_traceback_with_locals_shows_no_secret(house: House, log: MemoryEventLog):
    """The worst a crash reporter can do: print every local of every frame."""
    clear = await play(house, log)
    tables = Tables(log)
    tables.heads[T] = await log.head(keys.table_log(keys.shard_of(T), T))
    await tables.say(T, deal(2, 1, (1, 2)))
    stranger = House(log, ring=KeyRing({**KEYS, "dealer": b"x" * 32}))
    for broken in (house, stranger):
        with pytest.raises(Poison) as caught:
            await broken.read(T)
        told = "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())
        assert "entries" in told
        assert_clean(told, clear)
        assert_clean(str(caught.value), clear)


async def test_a_refused_deck_is_not_quoted(house: House, log: MemoryEventLog):
    as_caller("operator")
    cards = [*range(1, 52), 1]
    request = pb.StackDeckRequest(table=T, hand_no=1, request_id="r-1", cards=cards)
    with pytest.raises(Exception, match="INVALID_DECK") as caught:
        await house.servicer.StackDeck(request, None)
    assert "51 different ones" not in str(caught.value)
    assert str(caught.value) == "INVALID_DECK: a deck has 52 different cards, not 51: want all 52, top first"
    assert caught.value.__cause__ is None
