"""What the dealer does about what the tables say: one commit per message, once."""

import asyncio

import msgspec
import pytest

from dealer_service.listening import table_of
from dealer_service.rebuild import Rebuilt, fold, rebuild
from dealer_service.requests import Requests
from stud.dealer.v1 import dealer_service_pb2 as pb
from stud_core import events as ev
from stud_core.deck import Deck
from stud_core.deck_events import (
    DeckAwaited,
    DeckCardsDealt,
    DeckClosed,
    DeckCommitted,
    DeckSealed,
    HandOutcome,
    LogRef,
    SealedSeed,
)
from stud_eventlog import keys
from stud_eventlog.memory import MemoryEventLog
from stud_eventlog.types import START, Append, FeedEntry, Head, VersionConflict
from stud_service.feeds import Poison
from stud_service.keyring import KeyRing
from stud_service.sealing import BrokenBox
from stud_wire.commits import decode_commit, encode_event
from tests.support.dealer import (
    House,
    Tables,
    as_caller,
    commits,
    deal,
    deck_events,
    opened_by_referee,
    opened_by_table,
    table_ref,
    told,
)

T = "t-1"


@pytest.fixture
def log() -> MemoryEventLog:
    return MemoryEventLog()


@pytest.fixture
def house(log: MemoryEventLog) -> House:
    return House(log)


@pytest.fixture
def tables(log: MemoryEventLog) -> Tables:
    return Tables(log)


async def written(log: MemoryEventLog, table: str = T) -> list[list[str]]:
    return [[type(event).__name__ for event in commit.events] for commit in await commits(log, table)]


def first(kind: type, events: list[object]) -> object:
    return next(event for event in events if isinstance(event, kind))


# What is written


async def test_an_opened_table_gets_a_deck(log: MemoryEventLog, house: House, tables: Tables):
    await tables.open(T)
    await house.read(T)
    (committed,) = await deck_events(log, T)
    assert isinstance(committed, DeckCommitted)
    assert (committed.hand_no, committed.shuffle_version, committed.stacked) == (1, 1, False)
    assert house.seeds.open(T, committed).commitment == committed.commitment
    (commit,) = await commits(log, T)
    assert commit.meta.cause == (keys.table_log(keys.shard_of(T), T), 1)
    assert commit.meta.at_ms == house.runtime.clock()


async def test_nobody_is_told_the_seed_not_even_sealed(log: MemoryEventLog, house: House, tables: Tables):
    await tables.open(T)
    await house.read(T)
    (committed,) = await deck_events(log, T)
    assert await told(log, T) == [msgspec.structs.replace(committed, seed=SealedSeed("", b""))]


async def test_the_first_deal_brings_the_root_in_the_same_commit(log: MemoryEventLog, house: House, tables: Tables):
    await tables.open(T)
    await tables.say(T, ev.DeckReady(1, b""), deal(1, 1))
    await house.read(T)
    assert await written(log) == [["DeckCommitted"], ["DeckSealed", "DeckCardsDealt"]]
    committed, sealed, dealt = await deck_events(log, T)
    clear = house.seeds.open(T, committed)
    assert sealed == DeckSealed(1, clear.root)
    assert dealt.root == clear.root
    assert dealt.request == await table_ref(log, T, 2, 2)
    assert opened_by_table(T, dealt, committed.commitment) == list(clear.cards[:6])
    assert [card.card for card in dealt.up] == list(clear.cards[6:9])
    assert [type(event) for event in await told(log, T)] == [DeckCommitted, DeckCardsDealt]
    assert (await told(log, T))[1] == dealt


async def test_the_end_of_a_hand_closes_its_deck_and_commits_to_the_next(
    log: MemoryEventLog, house: House, tables: Tables
):
    await tables.open(T)
    for hand_no in (1, 2):
        await tables.play(T, hand_no)
    await house.read(T)
    hand = [["DeckSealed", "DeckCardsDealt"], *[["DeckCardsDealt"]] * 4, ["DeckClosed", "DeckCommitted"]]
    assert await written(log) == [["DeckCommitted"], *hand, *hand]
    events = await deck_events(log, T)
    committed = [event for event in events if isinstance(event, DeckCommitted)]
    closed = [event for event in events if isinstance(event, DeckClosed)]
    assert [event.hand_no for event in committed] == [1, 2, 3]
    assert len({event.commitment for event in committed}) == 3
    assert [(event.hand_no, event.outcome) for event in closed] == [(1, HandOutcome.ENDED), (2, HandOutcome.ENDED)]
    # The ranges tile both logs, and each is pinned by the hash that the log has there.
    assert [event.table for event in closed] == [await table_ref(log, T, 1, 7), await table_ref(log, T, 8, 13)]
    stream = keys.deck_log(keys.shard_of(T), T)
    hashes = {stored.version: stored.hash for stored in await log.read(stream)}
    assert [event.deck for event in closed] == [
        LogRef(stream, 1, 6, hashes[6]),
        LogRef(stream, 7, 12, hashes[12]),
    ]
    for event, its_commitment in zip(closed, committed, strict=False):
        clear = opened_by_referee(T, event, its_commitment)
        assert clear.commitment == its_commitment.commitment
        assert clear.root == next(
            e.merkle_root for e in events if isinstance(e, DeckSealed) and e.hand_no == event.hand_no
        )
    assert [event for event in await told(log, T) if isinstance(event, DeckClosed)] == closed


async def test_a_void_closes_the_deck_after_the_deal_before_it_was_answered(
    log: MemoryEventLog, house: House, tables: Tables
):
    await tables.open(T)
    await tables.say(T, deal(1, 1))
    await tables.void(T, 1)
    await house.read(T)
    assert await written(log) == [["DeckCommitted"], ["DeckSealed", "DeckCardsDealt"], ["DeckClosed", "DeckCommitted"]]
    closed = first(DeckClosed, await deck_events(log, T))
    assert isinstance(closed, DeckClosed)
    assert closed.outcome is HandOutcome.VOIDED


async def test_a_river_from_the_burns_and_a_community_card(log: MemoryEventLog, house: House, tables: Tables):
    seats = tuple(range(1, 9))
    await tables.open(T)
    for deal_no in range(1, 5):
        await tables.say(T, deal(1, deal_no, seats, burn=deal_no > 1))
    await tables.say(T, deal(1, 5, (), ev.DealMode.COMMUNITY))
    await house.read(T)
    events = await deck_events(log, T)
    clear = house.seeds.open(T, events[0])
    burns = [pos for event in events if isinstance(event, DeckCardsDealt) for pos in event.burns]
    assert burns == [24, 33, 42]
    river = events[-1]
    turned = min(burns, key=lambda pos: clear.river_rank[pos])
    assert (river.community, river.positions, river.down, river.up) == (clear.cards[turned], (turned,), (), ())


async def test_a_recycled_river(log: MemoryEventLog, house: House, tables: Tables):
    seats = tuple(range(1, 8))
    await tables.open(T)
    for deal_no in range(1, 5):
        await tables.say(T, deal(1, deal_no, seats, burn=deal_no > 1))
    await tables.say(T, deal(1, 5, seats, ev.DealMode.RECYCLE))
    await house.read(T)
    events = await deck_events(log, T)
    clear = house.seeds.open(T, events[0])
    burns = [pos for event in events if isinstance(event, DeckCardsDealt) for pos in event.burns]
    pool = sorted([*burns, *range(45, 52)], key=lambda pos: clear.river_rank[pos])
    assert [card.pos for card in events[-1].down] == pool[:7]
    assert opened_by_table(T, events[-1], clear.commitment) == [clear.cards[pos] for pos in pool[:7]]


async def test_what_is_not_for_the_dealer_is_passed_over(log: MemoryEventLog, house: House, tables: Tables):
    asked = ev.BuyInRequested("EUR", False, 1, 1, "alice", 5000, 1, True, True)
    await tables.say(T, asked)
    await house.read(T)
    assert await deck_events(log, T) == []
    assert len(house.shoes) == 0


def entry_of(stream: str, event: object = None) -> FeedEntry:
    data = encode_event(event) if isinstance(event, msgspec.Struct) else b""
    return FeedEntry("{s07}:table-events", "1-0", stream, 1, 0, bytes(32), data)


async def test_only_tables_are_listened_to(house: House):
    assert table_of(entry_of("{s07}:table:abc")) == "abc"
    for stream in ("{s07}:deck:abc", "{s07}:verdicts", "nonsense"):
        assert table_of(entry_of(stream)) is None
    with pytest.raises(Poison, match="not a table's log"):
        await house.listener.handle([entry_of("{s07}:deck:abc", deal(1, 1))])


# Twice


async def test_everything_again_changes_nothing(log: MemoryEventLog, house: House, tables: Tables):
    await tables.open(T)
    await tables.play(T, 1)
    await tables.say(T, deal(2, 1), ev.DeckReady(2, b""))
    await house.read(T)
    before = await commits(log, T), await told(log, T)
    for _ in range(2):
        await house.read(T)
        await House(log).read(T)  # another process, which knows only the log
    assert (await commits(log, T), await told(log, T)) == before


async def test_any_entry_may_come_again_at_any_time(log: MemoryEventLog, house: House, tables: Tables):
    """As after a crash before the cursor was stored: the end of a batch, or all of it, is read again."""
    await tables.open(T)
    for hand_no in (1, 2):
        await tables.play(T, hand_no)
    entries = await house.entries(T)
    done = 0
    for end in range(1, len(entries) + 1):
        for start in range(end):
            await house.listener.handle(entries[start:end])
        versions = (await log.head(keys.deck_log(keys.shard_of(T), T))).version
        assert versions == done + 1
        done = versions


async def test_a_question_that_is_asked_again_is_answered_again(log: MemoryEventLog, house: House, tables: Tables):
    await tables.open(T)
    await tables.say(T, deal(1, 1))
    await tables.say(T, deal(1, 1))
    await house.read(T)
    answers = [event for event in await told(log, T) if isinstance(event, DeckCardsDealt)]
    assert answers[1] == msgspec.structs.replace(answers[0], request=await table_ref(log, T, 3, 3))
    assert await written(log) == [["DeckCommitted"], ["DeckSealed", "DeckCardsDealt"], ["DeckCardsDealt"]]


@pytest.mark.parametrize(
    "changed", [deal(1, 1, (1, 2)), deal(1, 1, (2, 1, 3)), deal(1, 1, burn=True), deal(1, 3), deal(2, 1)]
)
async def test_a_second_deal_is_never_made(
    log: MemoryEventLog, house: House, tables: Tables, changed: ev.DealRequested
):
    await tables.open(T)
    await tables.say(T, deal(1, 1))
    await house.read(T)
    before = await commits(log, T)
    await tables.say(T, changed)
    with pytest.raises(Poison, match=r"DealRequested: (REQUEST_CHANGED|DEAL_SKIPPED|NO_DECK): "):
        await house.read(T)
    # Also when it pretends to be the very entry that was answered.
    original = (await house.entries(T))[1]
    forged = FeedEntry(
        *(original.feed, original.entry_id, original.stream, original.version),
        original.index,
        original.head_hash,
        encode_event(changed),
    )
    with pytest.raises(Poison):
        await house.listener.handle([forged])
    assert await commits(log, T) == before


async def test_an_end_that_contradicts_another_is_refused(log: MemoryEventLog, house: House, tables: Tables):
    await tables.open(T)
    await tables.play(T, 1)
    await house.read(T)
    before = await commits(log, T)
    await tables.void(T, 1)
    with pytest.raises(Poison, match="HandVoided: END_CHANGED"):
        await house.read(T)
    assert await commits(log, T) == before


# Stacked tables


async def test_a_rehearsal_table_waits(log: MemoryEventLog, house: House, tables: Tables):
    await tables.open(T, "XTS", stacked=True)
    await house.read(T)
    await House(log).read(T)
    assert await deck_events(log, T) == [DeckAwaited(1, "XTS")]
    assert await told(log, T) == []


async def test_decks_are_not_stacked_for_money(log: MemoryEventLog, house: House, tables: Tables):
    await tables.open(T, "EUR", stacked=True)
    with pytest.raises(Poison, match="STACKED_NOT_ALLOWED"):
        await house.read(T)
    assert await deck_events(log, T) == []


# The log says otherwise


async def test_two_dealers_make_one_deal(log: MemoryEventLog, tables: Tables):
    """One of them meets a conflict, reads the log again and finds everything done."""
    houses = [House(log), House(log)]
    await tables.open(T)
    await tables.play(T, 1)
    entries = await houses[0].entries(T)

    async def stubborn(house: House) -> int:
        for conflicts in range(100):
            try:
                await house.listener.handle(entries)
            except VersionConflict:
                continue
            return conflicts
        raise AssertionError("it should have come to an end")

    conflicts = await asyncio.gather(*(stubborn(house) for house in houses))
    assert sum(conflicts) > 0
    assert len(await commits(log, T)) == 7
    await houses[1].read(T)
    assert len(await commits(log, T)) == 7


async def test_an_append_of_unknown_outcome_is_found_done(log: MemoryEventLog, house: House, tables: Tables):
    await tables.open(T)
    await tables.say(T, deal(1, 1))
    await house.listener.handle((await house.entries(T))[:1])
    entries = await house.entries(T)
    log.store.stop()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await house.listener.handle(entries[1:])
    log.store.start()
    await log.wait_available()
    for _ in range(3):
        try:
            await house.listener.handle(entries)
        except VersionConflict:
            continue
    assert await written(log) == [["DeckCommitted"], ["DeckSealed", "DeckCardsDealt"]]


async def test_another_key_parks_and_tells_no_secret(log: MemoryEventLog, house: House, tables: Tables):
    await tables.open(T)
    await house.read(T)
    await tables.say(T, deal(1, 1))
    stranger = House(log, ring=KeyRing({"dealer": b"X" * 32, "down": b"W" * 32, "referee": b"R" * 32}))
    with pytest.raises(Poison, match="WrongKey: the seed of table t-1, hand 1 is under key 'dealer-"):
        await stranger.read(T)


async def planted(log: MemoryEventLog, house: House, **changes: object) -> None:
    """Replace the first commitment by another one, as somebody with access to the log might."""
    made = msgspec.structs.replace(house.seeds.new_deck(T, 1), **changes)
    async with house.shoes.use(T) as shoe:
        await shoe.record([made])


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"commitment": bytes(32)}, "BrokenBox"),
        ({"shuffle_version": 9}, "UnknownShuffle: shuffle version 9"),
    ],
)
async def test_a_deck_that_cannot_be_opened_parks(
    log: MemoryEventLog, house: House, tables: Tables, changes: dict[str, object], why: str
):
    await tables.open(T)
    await planted(log, house, **changes)
    await tables.say(T, deal(1, 1))
    with pytest.raises(Poison, match=why):
        await house.read(T)


async def test_a_deck_that_is_not_the_one_committed_to_is_not_opened(house: House, monkeypatch: pytest.MonkeyPatch):
    """The box binds the commitment, so this takes a fault of ours; it is noticed all the same."""
    made = house.seeds.new_deck(T, 1)
    monkeypatch.setattr("stud_core.shuffle._COMMITMENT", b"another tag")
    with pytest.raises(BrokenBox, match="not the one committed to"):
        house.seeds.open(T, made)


# Memory


async def test_rebuilding_reads_two_hands_and_gives_what_the_whole_log_gives(
    log: MemoryEventLog, house: House, tables: Tables
):
    await tables.open(T)
    stream = keys.deck_log(keys.shard_of(T), T)
    for hand_no in range(1, 14):
        await tables.play(T, hand_no)
        await house.read(T)
        if hand_no % 4 == 0:
            as_caller("auditor")
            await house.servicer.AuditDeck(pb.AuditDeckRequest(table=T, hand_no=hand_no, reason="a test"), None)
    whole = Rebuilt(Deck(), Head(), Requests())
    copy = MemoryEventLog()
    async for stored in log.read_all(stream):
        fold(whole, decode_commit(stored.body), stored.head)
        await copy.append(Append(stream, stored.version - 1, stored.prev_hash, stored.commit_id, stored.body))
        assert await rebuild(copy, stream) == whole
    assert whole.deck.hand_no == 14


async def test_tables_come_and_go_from_memory(log: MemoryEventLog, tables: Tables):
    house = House(log, capacity=3)
    names = [f"t-{n}" for n in range(8)]
    for name in names:
        await tables.open(name)
    await asyncio.gather(*(house.read(name) for name in names))
    assert len(house.shoes) == 3
    for hand_no in (1, 2):
        for name in names:
            await tables.play(name, hand_no)
            await house.read(name)
    for name in names:
        assert len(await written(log, name)) == 13
    assert len(house.shoes) == 3


async def test_a_table_in_use_stays_in_memory(log: MemoryEventLog, tables: Tables):
    house = House(log, capacity=1)
    await tables.open(T)
    await house.read(T)
    async with house.shoes.use(T) as shoe:
        await tables.open("t-2")
        await house.read("t-2")
        assert len(house.shoes) == 1
    async with house.shoes.use(T) as again:
        assert again is shoe
    assert repr(shoe) == "<Shoe of table t-1>"


async def test_a_shoe_that_was_not_read_is_not_used(house: House):
    async with house.shoes.use(T) as shoe:
        shoe._writer.in_doubt = True
        with pytest.raises(RuntimeError, match="was not loaded"):
            _ = shoe.deck


# Outbox


async def test_the_feed_says_where_in_the_log_it_stands(log: MemoryEventLog, house: House, tables: Tables):
    await tables.open(T)
    await house.read(T)
    (entry,) = await log.read_feeds({keys.dealer_feed(keys.shard_of(T)): START}, 10, 0)
    stream = keys.deck_log(keys.shard_of(T), T)
    assert (entry.stream, entry.version, entry.head_hash) == (stream, 1, (await log.head(stream)).hash)
