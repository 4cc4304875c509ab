"""Messages from the house: to whom they go, how long they stay, and how many there may be."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from stud.table.v1 import table_service_pb2 as pb
from stud_service.refusals import Refused
from table_service import house_messages
from table_service.house_messages import DAY_MS, MOST_EACH, HouseMessages
from tests.support.playing_memory import Game
from tests.support.system_memory import MemorySystem, simulated
from tests.support.watchers import MeWatcher


async def send(system: MemorySystem, text: str = "hello", *, who: str = "olga", **fields: Any) -> Any:
    fields.setdefault("request_id", f"{who} {text} {fields}"[:64].replace("\n", " "))
    request = pb.SendHouseMessageRequest(text=text, **fields)
    return await system.call("SendHouseMessage", request, who, "operator")


async def texts(system: MemorySystem, account: str) -> list[str]:
    return [message.text for message in (await system.call("GetMe", pb.GetMeRequest(), account)).messages]


@simulated
async def test_a_message_reaches_the_account_now_and_later_and_nobody_else(tmp_path: Path):
    async with MemorySystem(tmp_path, "table") as system:
        ada, bea = MeWatcher(system, "ada"), MeWatcher(system, "bea")
        for watcher in (ada, bea):
            await watcher.until(len)
        answer = await send(system, "hello, ada", account="ada")
        assert (answer.accounts, answer.watching) == (1, 1)
        await ada.until(lambda _: ada.texts)
        assert (await send(system, "again", account="ada")).message_no > answer.message_no
        await ada.until(lambda _: len(ada.texts) == 2)
        late = MeWatcher(system, "ada")
        await late.until(len)
        assert late.texts == ada.texts == await texts(system, "ada") == ["hello, ada", "again"]
        assert bea.texts == await texts(system, "bea") == []
        for watcher in (ada, bea, late):
            await watcher.close()


@simulated
async def test_a_message_to_a_table_reaches_all_who_have_a_sitting_there(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(2)
        answer = await send(system, "a break at ten", table=game.id)
        assert (answer.accounts, answer.watching) == (2, 0)
        await game.seat("cleo")
        for account, found in (("ada", 1), ("bea", 1), ("cleo", 0)):
            assert len(await texts(system, account)) == found
        message = (await system.call("GetMe", pb.GetMeRequest(), "ada")).messages[0]
        assert (message.table, message.until_ms - message.at_ms) == (game.id, DAY_MS)


@simulated
async def test_the_same_request_sends_once_and_is_answered_as_it_was(tmp_path: Path):
    async with MemorySystem(tmp_path, "table") as system:
        first = await send(system, account="ada", request_id="r")
        assert await send(system, account="ada", request_id="r") == first
        assert await texts(system, "ada") == ["hello"]
        assert await send(system, account="ada", request_id="r", who="otto") != first
        with pytest.raises(Refused, match="REQUEST_ID_REUSED"):
            await send(system, "other", account="ada", request_id="r")


@pytest.mark.parametrize(
    ("fields", "reason", "field"),
    [
        ({"account": "ada", "text": ""}, "INVALID_FIELD", "text"),
        ({"account": "ada", "text": "x" * 501}, "INVALID_FIELD", "text"),
        ({"account": "ada", "text": "two\nlines"}, "INVALID_FIELD", "text"),
        ({"account": "ada", "table": "t-1"}, "INVALID_FIELD", "account"),
        ({}, "INVALID_FIELD", "account"),
        ({"account": "a b"}, "INVALID_FIELD", "account"),
        ({"account": "ada", "keep_ms": DAY_MS + 1}, "INVALID_FIELD", "keep_ms"),
        ({"account": "ada", "keep_ms": -1}, "INVALID_FIELD", "keep_ms"),
        ({"account": "ada", "request_id": ""}, "REQUEST_ID_REQUIRED", "request_id"),
        ({"table": "none"}, "UNKNOWN_TABLE", None),
    ],
)
@simulated
async def test_what_cannot_be_sent_is_refused_and_nothing_is_kept(
    tmp_path: Path, fields: dict[str, Any], reason: str, field: str | None
):
    async with MemorySystem(tmp_path, "table") as system:
        with pytest.raises(Refused) as refused:
            await send(system, **fields)
        assert (refused.value.reason, refused.value.metadata.get("field")) == (reason, field)
        assert not await texts(system, "ada")


@simulated
async def test_only_operators_send_and_none_to_those_they_play_with(tmp_path: Path):
    async with MemorySystem(tmp_path) as system:
        game = Game(system)
        await game.begin(2)
        request = pb.SendHouseMessageRequest(text="hello", account="bea", request_id="r")
        for role in ("player", "cashier", "auditor"):
            with pytest.raises(Refused, match="ROLE_NOT_ALLOWED"):
                await system.call("SendHouseMessage", request, "eve", role)
        for fields in ({"account": "bea"}, {"account": "ada"}, {"table": game.id}):
            with pytest.raises(Refused, match="OWN_INTEREST"):
                await send(system, who="ada", **fields)
        await send(system, who="ada", account="dora")


@simulated
async def test_a_message_is_gone_when_its_time_is_over(tmp_path: Path):
    async with MemorySystem(tmp_path, "table") as system:
        await send(system, "short", account="ada", keep_ms=5_000)
        await send(system, "long", account="bea")
        watcher = MeWatcher(system, "ada")
        await watcher.until(len)
        assert watcher.texts == ["short"]
        await watcher.close()
        await asyncio.sleep(7)
        assert await texts(system, "ada") == []
        assert await texts(system, "bea") == ["long"]
        assert set(system.tables.registry.people.messages._of) == {"bea"}


def test_an_account_has_twenty_messages_and_the_latest_accounts_have_any(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(house_messages, "MOST_ACCOUNTS", 3)
    monkeypatch.setattr(house_messages, "MOST_REQUESTS", 2)
    kept = HouseMessages()
    for number in range(MOST_EACH + 5):
        kept.send(["ada"], "", f"m{number}", 1_000, DAY_MS)
    assert [message.text for message in kept.of("ada", 1_000)] == [f"m{n}" for n in range(5, MOST_EACH + 5)]
    for account in ("bea", "cleo", "dora"):
        kept.send([account], "", "hello", 1_000, DAY_MS)
    assert [bool(kept.of(account, 1_000)) for account in ("ada", "bea", "cleo", "dora")] == [False, True, True, True]
    for number in range(3):
        kept.remember("olga", str(number), house_messages.Sent(b"", number, 1, 0))
    assert [kept.sent_before("olga", str(number), b"") is None for number in range(3)] == [True, False, False]


def test_numbers_grow_when_the_clock_does_not():
    kept = HouseMessages()
    numbers = [kept.send(["ada"], "", "hello", now_ms, DAY_MS) for now_ms in (5_000, 5_000, 4_000, 9_000)]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == 9_000
