"""One player's down cards, opened for an auditor: nobody else's, written down before, never of a hand that runs."""

from typing import Any

import pytest
from msgspec.structs import replace

from stud.dealer.v1 import dealer_service_pb2 as pb
from stud_core.deck_events import DeckAudited, DeckCardsDealt, DeckCommitted
from stud_eventlog import keys
from stud_eventlog.memory import MemoryEventLog
from stud_eventlog.types import Head, LogUnavailable
from stud_service.refusals import Refused
from tests.support.dealer import House, Tables, as_caller, commits, deal, deck_events, opened_by_table, started

T = "t-1"


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


@pytest.fixture
async def played(house: House, tables: Tables) -> House:
    """A hand that is over, and a second one that runs."""
    await tables.open(T)
    await tables.play(T, 1)
    await tables.say(T, started(2), deal(2, 1))
    await house.read(T)
    as_caller("auditor", account="aud-1")
    return house


def reason(caught: pytest.ExceptionInfo[Refused]) -> str:
    return caught.value.reason


async def stack(house: House) -> None:
    request = pb.StackDeckRequest(table=T, hand_no=1, request_id="r-1")
    request.cards.extend(range(1, 53))  # type: ignore[arg-type]
    await house.servicer.StackDeck(request, None)


async def own(house: House, hand_no: int, account: str, why: str = "a complaint") -> pb.AuditDownCardsResponse:
    request = pb.AuditDownCardsRequest(table=T, hand_no=hand_no, account=account, reason=why)
    return await house.servicer.AuditDownCards(request, None)


async def dealt_to(log: MemoryEventLog, house: House, seat: int, hand_no: int = 1) -> list[int]:
    """The down cards of a seat, by the boxes that the table was sent."""
    about = [event for event in await deck_events(log, T) if getattr(event, "hand_no", 0) == hand_no]
    (committed,) = [event for event in about if isinstance(event, DeckCommitted)]
    cards = []
    for dealt in [event for event in about if isinstance(event, DeckCardsDealt)]:
        opened = opened_by_table(T, dealt, committed.commitment)
        cards += [card for box, card in zip(dealt.down, opened, strict=True) if box.seat == seat]
    return cards


async def test_one_players_down_cards_are_opened_and_nobody_elses(log: MemoryEventLog, played: House):
    for seat in (1, 2, 3):
        answer = await own(played, 1, f"p{seat}")
        assert answer.proven
        assert [card - 1 for card in answer.cards] == await dealt_to(log, played, seat)
        assert len(answer.cards) == 3
    audits = [event for event in await deck_events(log, T) if isinstance(event, DeckAudited)]
    assert audits == [DeckAudited(1, "aud-1", "a complaint", account) for account in ("p1", "p2", "p3")]


async def test_of_a_hand_of_long_ago_too(log: MemoryEventLog, played: House, tables: Tables):
    for deal_no in range(2, 6):
        await tables.say(T, deal(2, deal_no, burn=True))
    await tables.end(T, 2)
    await played.read(T)
    await own(played, 1, "p2")
    for hand_no in (1, 2):
        assert [card - 1 for card in (await own(played, hand_no, "p2")).cards] == await dealt_to(
            log, played, 2, hand_no
        )


async def test_of_the_last_hand_behind_which_there_is_no_deck(log: MemoryEventLog, house: House, tables: Tables):
    """At a rehearsal table the next deck is stacked by hand, so the closed one is the newest."""
    await tables.open(T, "XTS", stacked=True)
    await house.read(T)
    await stack(house)
    await tables.play(T, 1)
    await house.read(T)
    as_caller("auditor", account="aud-1")
    assert [card - 1 for card in (await own(house, 1, "p3")).cards] == await dealt_to(log, house, 3)


async def test_of_a_hand_that_was_voided_those_that_were_dealt(log: MemoryEventLog, house: House, tables: Tables):
    await tables.open(T)
    await house.read(T)
    await tables.say(T, started(1), deal(1, 1))
    await house.read(T)
    await tables.void(T, 1)
    await house.read(T)
    as_caller("auditor", account="aud-1")
    answer = await own(house, 1, "p1")
    assert [card - 1 for card in answer.cards] == await dealt_to(log, house, 1)
    assert len(answer.cards) == 2


async def test_down_cards_that_are_not_written_down_are_not_opened(
    log: MemoryEventLog, played: House, monkeypatch: pytest.MonkeyPatch
):
    async def failing(_: Any) -> Head:
        raise LogUnavailable("gone")

    monkeypatch.setattr(log, "append", failing)
    played.servicer._seeds = None  # type: ignore[assignment]  # whoever opens a deck fails
    with pytest.raises(Refused) as caught:
        await own(played, 1, "p1")
    assert reason(caught) == "LOG_UNAVAILABLE"


REFUSED_AUDITS = {
    "a running hand": ((2, "p1", "why"), "HAND_RUNNING"),
    "a hand to come": ((3, "p1", "why"), "UNKNOWN_HAND"),
    "no reason": ((1, "p1", " "), "INVALID_FIELD"),
    "nobody": ((1, "", "why"), "INVALID_FIELD"),
    "not dealt in": ((1, "p4", "why"), "INVALID_FIELD"),
}


@pytest.mark.parametrize("name", REFUSED_AUDITS)
async def test_whose_cards_stay_sealed(log: MemoryEventLog, played: House, name: str):
    before = await commits(log, T)
    asked, expected = REFUSED_AUDITS[name]
    with pytest.raises(Refused) as caught:
        await own(played, *asked)
    assert reason(caught) == expected
    assert await commits(log, T) == before


@pytest.mark.parametrize("role", ["player", "operator", "cashier", "service"])
async def test_only_auditors_see_a_players_cards(log: MemoryEventLog, played: House, role: str):
    before = await commits(log, T)
    as_caller(role, account="p1")
    with pytest.raises(Refused) as caught:
        await own(played, 1, "p1")
    assert reason(caught) == "ROLE_NOT_ALLOWED"
    assert await commits(log, T) == before


async def test_whoever_was_dealt_in_opens_nobodys_cards_and_not_their_own(log: MemoryEventLog, played: House):
    before = await commits(log, T)
    as_caller("auditor", account="p1")
    for account in ("p1", "p2"):
        with pytest.raises(Refused) as caught:
            await own(played, 1, account)
        assert reason(caught) == "OWN_INTEREST"
    assert await commits(log, T) == before


async def test_a_table_log_that_was_changed_gives_nobody_anybodys_cards(log: MemoryEventLog, played: House):
    """Another account at a seat would be another one's cards."""
    stream = keys.table_log(keys.shard_of(T), T)
    rows = log.store.data.logs[stream]
    at = next(n for n, (commit, _) in enumerate(rows) if b"p2" in commit.body)
    changed = replace(rows[at][0], body=rows[at][0].body.replace(b"p2", b"p9"))
    for forged in ((changed, rows[at][1]), (changed, changed.hash)):
        log.store.data.logs[stream] = [*rows[:at], forged, *rows[at + 1 :]]
        before = await commits(log, T)
        with pytest.raises(Refused) as caught:
            await own(played, 1, "p9")
        assert reason(caught) == "LOG_BROKEN"
        assert await commits(log, T) == before
    log.store.data.logs[stream] = rows[: at + 1]
    with pytest.raises(Refused) as caught:
        await own(played, 1, "p2")
    assert reason(caught) == "LOG_BROKEN"
