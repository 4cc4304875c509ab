"""The dealer's calls: commitments, stacking, audits, and who may do what."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from dealer_service.history import find_hand
from stud.dealer.v1 import dealer_service_pb2 as pb
from stud_core.deck_events import DeckAudited, DeckCardsDealt, DeckClosed, DeckCommitted
from stud_eventlog import keys
from stud_eventlog.memory import MemoryEventLog
from stud_eventlog.types import Head, LogBehind, LogUnavailable, StoredCommit, VersionConflict
from stud_service.feeds import Poison
from stud_service.log_writer import MAX_CONFLICTS
from stud_service.refusals import Refused
from stud_wire.commits import WRITE_VERSION
from tests.support.dealer import (
    House,
    Tables,
    as_caller,
    commits,
    deal,
    deck_events,
    opened_by_referee,
    started,
    told,
)
from tests.support.wallet import buy_in

T = "t-1"
ORDER = [*range(30, 52), *range(30)]
TOP_DOWN = [card + 1 for card in ORDER]


@pytest.fixture
def log() -> MemoryEventLog:
    return MemoryEventLog()


@pytest.fixture
def house(log: MemoryEventLog) -> House:
    as_caller("operator", account="op-1")
    return House(log)


@pytest.fixture
def tables(log: MemoryEventLog) -> Tables:
    return Tables(log)


def reason(caught: pytest.ExceptionInfo[Refused]) -> str:
    return caught.value.reason


async def commitment(house: House, hand_no: int, table: str = T) -> pb.GetCommitmentResponse:
    return await house.servicer.GetCommitment(pb.GetCommitmentRequest(table=table, hand_no=hand_no), None)


async def stack(
    house: House, hand_no: int = 1, cards: list[int] | None = None, request_id: str = "r-1", table: str = T
) -> bytes:
    request = pb.StackDeckRequest(table=table, hand_no=hand_no, request_id=request_id)
    request.cards.extend(TOP_DOWN if cards is None else cards)  # type: ignore[arg-type]
    return (await house.servicer.StackDeck(request, None)).commitment


async def audit(house: House, hand_no: int, why: str = "a complaint") -> pb.AuditDeckResponse:
    return await house.servicer.AuditDeck(pb.AuditDeckRequest(table=T, hand_no=hand_no, reason=why), None)


# Commitments


async def test_what_was_committed_to_is_public(log: MemoryEventLog, house: House, tables: Tables):
    await tables.open(T)
    await house.read(T)
    as_caller("player")
    (committed,) = await deck_events(log, T)
    expected = pb.GetCommitmentResponse(commitment=committed.commitment, shuffle_version=1)
    assert await commitment(house, 1) == expected
    await tables.say(T, deal(1, 1))
    await house.read(T)
    expected.merkle_root = house.seeds.open(T, committed).root
    assert await commitment(house, 1) == expected
    await tables.end(T, 1)
    await house.read(T)
    expected.closed = True
    assert await commitment(house, 1) == expected
    assert (await commitment(house, 2)).commitment != expected.commitment


async def test_hands_of_long_ago_are_found(log: MemoryEventLog, house: House, tables: Tables):
    """By bisection, also where audits of other hands stand between the commits of a hand."""
    await tables.open(T)
    await house.read(T)
    for hand_no in range(1, 30):
        await tables.play(T, hand_no)
        await house.read(T)
        as_caller("auditor")
        for _ in range(40 if hand_no == 9 else hand_no % 3):
            await audit(house, 1)
    events = await deck_events(log, T)
    committed = {event.hand_no: event for event in events if isinstance(event, DeckCommitted)}
    stream = keys.deck_log(keys.shard_of(T), T)
    last = (await log.head(stream)).version
    for hand_no in range(1, 31):
        record = await find_hand(log, stream, last, hand_no)
        assert record is not None
        assert record.committed == committed[hand_no]
        assert record.closed == (hand_no < 30)
        answer = await commitment(house, hand_no)
        assert (answer.commitment, answer.closed) == (committed[hand_no].commitment, hand_no < 30)
    assert await find_hand(log, stream, last, 31) is None
    assert await find_hand(log, stream, 0, 1) is None


async def test_a_hand_that_was_tampered_with_is_not_shown(log: MemoryEventLog, house: House, tables: Tables):
    await tables.open(T)
    for hand_no in (1, 2):
        await tables.play(T, hand_no)
    await house.read(T)
    stream = keys.deck_log(keys.shard_of(T), T)
    stored, stored_hash = log.store.data.logs[stream][2]
    changed = StoredCommit(stream, stored.version, stored.prev_hash, stored.commit_id, stored.body + b"\x38\x01")
    log.store.data.logs[stream][2] = changed, stored_hash
    assert WRITE_VERSION == 1  # the added bytes say so once more: the content is the same, the bytes are not
    with pytest.raises(Refused) as caught:
        await commitment(house, 1)
    assert reason(caught) == "LOG_BROKEN"


@pytest.mark.parametrize(("table", "hand_no", "expected"), [
    ("t-2", 1, "UNKNOWN_TABLE"),
    (T, 2, "UNKNOWN_HAND"),
    (T, 0, "INVALID_FIELD"),
    (T, -1, "INVALID_FIELD"),
    ("No Table", 1, "INVALID_FIELD"),
    ("", 1, "INVALID_FIELD"),
])  # fmt: skip
async def test_unknown_decks(house: House, tables: Tables, table: str, hand_no: int, expected: str):
    await tables.open(T)
    await house.read(T)
    with pytest.raises(Refused) as caught:
        await commitment(house, hand_no, table)
    assert reason(caught) == expected
    assert len(house.shoes) == 1  # who asks for tables that are none fills no memory


async def test_a_rehearsal_table_has_no_deck_before_it_is_stacked(house: House, tables: Tables):
    await tables.open(T, "XTS", stacked=True)
    await house.read(T)
    with pytest.raises(Refused) as caught:
        await commitment(house, 1)
    assert reason(caught) == "UNKNOWN_HAND"


async def test_who_has_no_name_is_told_nothing(house: House):
    async def nobody() -> None:
        with pytest.raises(Refused) as caught:
            await commitment(House(house.log), 1)
        assert reason(caught) == "UNAUTHENTICATED"

    import contextvars

    await asyncio.get_running_loop().create_task(nobody(), context=contextvars.Context())


# Stacking


@pytest.fixture
async def waiting(house: House, tables: Tables) -> House:
    await tables.open(T, "XTS", stacked=True)
    await house.read(T)
    return house


async def test_a_stacked_deck_is_dealt_as_it_lies(log: MemoryEventLog, waiting: House, tables: Tables):
    answer = await stack(waiting)
    committed = (await deck_events(log, T))[-1]
    assert (committed.commitment, committed.stacked) == (answer, True)
    meta = (await commits(log, T))[-1].meta
    assert (meta.actor, meta.request_id) == ("op-1", "r-1")
    await tables.play(T, 1)
    await waiting.read(T)
    events = await deck_events(log, T)
    dealt = [event for event in events if isinstance(event, DeckCardsDealt)]
    assert [card.card for card in dealt[0].up] == ORDER[6:9]
    (closed,) = [event for event in events if isinstance(event, DeckClosed)]
    assert events[-1] == closed  # and it waits for the deck of the next hand
    clear = opened_by_referee(T, closed, committed)
    assert clear.cards == tuple(ORDER)
    assert (clear.commitment, clear.root) == (answer, dealt[0].root)
    assert (await commitment(waiting, 1)).stacked
    public = [event for event in await told(log, T) if isinstance(event, DeckCommitted)]
    assert (public[0].stacked_order, public[0].seed.box) == (b"", b"")


async def test_hands_are_stacked_one_by_one(log: MemoryEventLog, waiting: House, tables: Tables):
    for hand_no in (1, 2, 3):
        await stack(waiting, hand_no, request_id=f"r-{hand_no}")
        await tables.play(T, hand_no)
        await waiting.read(T)
    closed = [event for event in await deck_events(log, T) if isinstance(event, DeckClosed)]
    ranges = [(event.deck.from_version, event.deck.to_version) for event in closed]
    assert [first for first, _ in ranges] == [1, *[last + 1 for _, last in ranges[:-1]]]


async def test_a_repeated_request_gets_the_first_answer(log: MemoryEventLog, waiting: House, tables: Tables):
    first = await stack(waiting)
    assert await stack(waiting) == first
    assert await stack(House(log)) == first  # also after a restart
    await tables.play(T, 1)
    await waiting.read(T)
    assert await stack(waiting) == first
    second = await stack(waiting, 2, request_id="r-2")
    assert await stack(waiting) == first
    assert await stack(waiting, 2, request_id="r-2") == second
    assert len([event for event in await deck_events(log, T) if isinstance(event, DeckCommitted)]) == 2


async def test_a_request_id_is_forgotten_after_the_last_hand(waiting: House, tables: Tables):
    for hand_no in (1, 2, 3):
        await stack(waiting, hand_no, request_id=f"r-{hand_no}")
        await tables.play(T, hand_no)
        await waiting.read(T)
    with pytest.raises(Refused) as caught:
        await stack(waiting, 1)
    assert reason(caught) == "DECK_ALREADY_COMMITTED"


async def test_a_request_id_is_for_one_content(waiting: House):
    await stack(waiting)
    for hand_no, cards in ((1, TOP_DOWN[::-1]), (2, TOP_DOWN)):
        with pytest.raises(Refused) as caught:
            await stack(waiting, hand_no, cards)
        assert reason(caught) == "REQUEST_ID_REUSED"
    as_caller("operator", account="op-2")  # whose ids are his own
    with pytest.raises(Refused) as caught:
        await stack(waiting)
    assert reason(caught) == "DECK_ALREADY_COMMITTED"


async def test_requests_that_meet_get_one_deck(log: MemoryEventLog, house: House, tables: Tables):
    """Both wait for the table; the second finds that the first was its own repetition."""
    asked = [asyncio.create_task(stack(house)) for _ in range(2)]
    await asyncio.sleep(0.01)
    await tables.open(T, "XTS", stacked=True)
    await house.read(T)
    first, second = await asyncio.gather(*asked)
    assert first == second
    assert len([event for event in await deck_events(log, T) if isinstance(event, DeckCommitted)]) == 1


async def test_stacking_waits_for_the_end_of_the_hand_before(waiting: House, tables: Tables):
    await stack(waiting)
    await tables.play(T, 1)
    asked = asyncio.create_task(stack(waiting, 2, request_id="r-2"))
    await asyncio.sleep(0.01)
    assert not asked.done()
    await waiting.read(T)
    assert (await commitment(waiting, 2)).commitment == await asked


async def test_what_does_not_come_in_time_is_refused(house: House, tables: Tables):
    with pytest.raises(Refused) as caught:
        await stack(house)
    assert reason(caught) == "UNKNOWN_TABLE"
    assert len(house.shoes) == 0
    await tables.open(T, "XTS", stacked=True)
    await house.read(T)
    await stack(house)
    with pytest.raises(Refused) as caught:
        await stack(house, 2, request_id="r-2")
    assert reason(caught) == "HAND_RUNNING"
    assert await stack(house) == (await commitment(house, 1)).commitment


@pytest.mark.parametrize(
    "cards",
    [[], TOP_DOWN[:51], [*TOP_DOWN[:51], TOP_DOWN[0]], [*TOP_DOWN[:51], 0], [*TOP_DOWN[:51], 53], [*TOP_DOWN, 1]],
    ids=["none", "51", "twice", "unspecified", "no card", "53"],
)
async def test_a_stacked_deck_has_52_different_cards(waiting: House, cards: list[int]):
    with pytest.raises(Refused) as caught:
        await stack(waiting, cards=cards)
    assert reason(caught) == "INVALID_DECK"


async def test_decks_are_not_stacked_at_other_tables(house: House, tables: Tables):
    await tables.open(T)
    await house.read(T)
    with pytest.raises(Refused) as caught:
        await stack(house, 2)
    assert reason(caught) == "STACKED_DECKS_OFF"


async def test_a_dealer_without_the_flag_stacks_and_deals_nothing(log: MemoryEventLog, waiting: House, tables: Tables):
    await stack(waiting)
    strict = House(log, stacked=False)
    with pytest.raises(Refused) as caught:
        await stack(strict)
    assert reason(caught) == "STACKED_DECKS_OFF"
    await tables.say(T, deal(1, 1))
    with pytest.raises(Poison, match="STACKED_DECKS_OFF"):
        await strict.read(T)


@pytest.mark.parametrize("role", ["player", "cashier", "auditor", "service"])
async def test_only_operators_stack(waiting: House, role: str):
    as_caller(role)
    with pytest.raises(Refused) as caught:
        await stack(waiting)
    assert reason(caught) == "ROLE_NOT_ALLOWED"


async def test_a_write_needs_a_request_id(waiting: House):
    with pytest.raises(Refused) as caught:
        await stack(waiting, request_id="")
    assert reason(caught) == "REQUEST_ID_REQUIRED"


# Audits


@pytest.fixture
async def played(house: House, tables: Tables) -> House:
    await tables.open(T)
    await tables.play(T, 1)
    await tables.say(T, started(2), deal(2, 1))
    await house.read(T)
    as_caller("auditor", account="aud-1")
    return house


async def test_an_audit_opens_the_whole_deck(log: MemoryEventLog, played: House):
    answer = await audit(played, 1)
    clear = played.seeds.open(T, (await deck_events(log, T))[0])
    assert [card - 1 for card in answer.cards] == list(clear.cards)
    assert list(answer.river_rank) == list(clear.river_rank)
    assert answer.proven


async def test_an_audit_is_written_down_before_anything_is_opened(log: MemoryEventLog, played: House):
    for why in ("first", "second"):
        await audit(played, 1, why)
    audits = [commit for commit in await commits(log, T) if isinstance(commit.events[0], DeckAudited)]
    assert [commit.events[0] for commit in audits] == [DeckAudited(1, "aud-1", why) for why in ("first", "second")]
    assert {commit.meta.actor for commit in audits} == {"aud-1"}
    before = await told(log, T)
    assert DeckAudited not in {type(event) for event in before}


async def test_an_audit_that_is_not_written_down_opens_nothing(
    log: MemoryEventLog, played: House, monkeypatch: pytest.MonkeyPatch
):
    async def failing(_: Any) -> Head:
        raise LogUnavailable("gone")

    monkeypatch.setattr(log, "append", failing)
    played.servicer._seeds = None  # type: ignore[assignment]  # whoever opens a deck fails
    with pytest.raises(Refused) as caught:
        await audit(played, 1)
    assert reason(caught) == "LOG_UNAVAILABLE"


async def test_play_goes_on_between_audits(log: MemoryEventLog, played: House, tables: Tables):
    for deal_no in range(2, 6):
        await audit(played, 1)
        await tables.say(T, deal(2, deal_no, burn=True))
        await played.read(T)
    await tables.end(T, 2)
    await played.read(T)
    assert (await audit(played, 2)).proven
    closed = [event for event in await deck_events(log, T) if isinstance(event, DeckClosed)]
    assert closed[1].deck.from_version == closed[0].deck.to_version + 1


async def test_a_running_hand_stays_sealed(log: MemoryEventLog, played: House):
    before = await commits(log, T)
    for hand_no, expected in ((2, "HAND_RUNNING"), (3, "UNKNOWN_HAND")):
        with pytest.raises(Refused) as caught:
            await audit(played, hand_no)
        assert reason(caught) == expected
    assert await commits(log, T) == before


@pytest.mark.parametrize("role", ["player", "operator", "cashier", "service"])
async def test_only_auditors_audit(log: MemoryEventLog, played: House, role: str):
    before = await commits(log, T)
    as_caller(role)
    with pytest.raises(Refused) as caught:
        await audit(played, 1)
    assert reason(caught) == "ROLE_NOT_ALLOWED"
    assert await commits(log, T) == before


@pytest.mark.parametrize("why", ["", "   ", "x" * 501, "a\nb"])
async def test_an_audit_has_a_reason(played: House, why: str):
    with pytest.raises(Refused) as caught:
        await audit(played, 1, why)
    assert reason(caught) == "INVALID_FIELD"


async def test_a_wrong_root_is_found(log: MemoryEventLog, house: House, tables: Tables):
    from stud_core.deck_events import DeckSealed

    await tables.open(T)
    await house.read(T)
    async with house.shoes.use(T) as shoe:
        await shoe.record([DeckSealed(1, bytes(32))])
    await tables.say(T, started(1))
    await tables.void(T, 1)
    await house.read(T)
    as_caller("auditor")
    assert not (await audit(house, 1)).proven


# Faults of the log, as callers see them


FAULTS: list[tuple[Exception, str]] = [
    (LogUnavailable("gone"), "LOG_UNAVAILABLE"),
    (VersionConflict("{s00}:deck:t-1", 1, 2), "LOG_UNAVAILABLE"),
    (LogBehind("{s00}:deck:t-1", Head(), Head()), "LOG_BEHIND"),
]


@pytest.mark.parametrize(("fault", "expected"), FAULTS, ids=lambda value: type(value).__name__)
async def test_faults_of_the_log_are_said_as_such(
    house: House, tables: Tables, monkeypatch: pytest.MonkeyPatch, fault: Exception, expected: str
):
    await tables.open(T, "XTS", stacked=True)
    await house.read(T)
    attempts = []

    async def failing(append: Any) -> Head:
        attempts.append(append)
        raise fault

    with monkeypatch.context() as patched:
        patched.setattr(house.log, "append", failing)
        with pytest.raises(Refused) as caught:
            await stack(house)
    assert reason(caught) == expected
    assert len(attempts) == (MAX_CONFLICTS if isinstance(fault, VersionConflict) else 1)
    assert await stack(house)


# Who has an interest: p1, p2 and p3 were dealt into the first hand


async def test_who_was_dealt_in_or_sits_there_does_not_audit(log: MemoryEventLog, played: House, tables: Tables):
    await tables.say(T, buy_in(9, "aud-9"))
    before = await commits(log, T)
    for account in ("p1", "p2", "p3", "aud-9"):
        as_caller("auditor", account=account)
        with pytest.raises(Refused) as caught:
            await audit(played, 1)
        assert reason(caught) == "OWN_INTEREST"
        assert "another auditor" in caught.value.text
    assert await commits(log, T) == before


async def test_where_nobody_knows_who_was_dealt_in_nobody_audits(log: MemoryEventLog, played: House):
    """An audit can wait until the table's log is put right."""
    rows = log.store.data.logs[keys.table_log(keys.shard_of(T), T)]
    kept, stored_hash = rows[1]
    rows[1] = (replace(kept, body=b"\xff\xff"), stored_hash)
    before = await commits(log, T)
    with pytest.raises(Refused) as caught:
        await audit(played, 1)
    assert reason(caught) == "LOG_BROKEN"
    assert await commits(log, T) == before
    rows[1] = (kept, stored_hash)
    assert (await audit(played, 1)).proven


async def test_who_sits_at_a_rehearsal_does_not_stack_its_deck(house: House, tables: Tables):
    await tables.open(T, "XTS", stacked=True)
    await tables.say(T, buy_in(1, "op-1"))
    await house.read(T)
    with pytest.raises(Refused) as caught:
        await stack(house)
    assert reason(caught) == "OWN_INTEREST"
    as_caller("operator", account="op-2")
    assert await stack(house)
