"""Lobby, own facts and an account, kept by the typed client over real services, through their crashes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from stud.table.v1 import table_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_client import StudError
from stud_service.signing_keys import load_private_key
from stud_service.tokens import mint
from tests.support import node
from tests.support.doc_blocks import blocks
from tests.support.playing import BUY_IN, DEPOSIT, Follower, Table
from tests.support.system import PATIENCE_S, Live, shared, until

pytestmark = [*shared("watching"), pytest.mark.traced]
INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
from stud_cli.main import main
main()
"""


@asynccontextmanager
async def kept(watched: Any) -> AsyncIterator[Any]:
    """Takes whatever comes, so that what is kept is how it is now."""
    taken: list[Any] = []

    async def take() -> None:
        async for thing in watched:
            taken.append(thing)  # noqa: PERF401  (each at once)

    async with watched:
        task = asyncio.create_task(take())
        watched.taken = taken
        try:
            yield watched
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def holds(what: Callable[[], Any], why: str = "") -> None:
    async def is_so() -> bool:
        return bool(what())

    await until(is_so, why or "it to be so")


async def test_the_lobby_is_kept_through_a_crash_of_the_service(live: Live):
    async with (
        kept(live.people.player("lobby-eve").lobby(pb.TableFilter(currency="EUR"))) as lobby,
        await Table.begin(live, "lobby", 3) as table,
    ):
        await holds(lambda: lobby.tables[table.id].playing == 3 if table.id in lobby.tables else False, "three players")
        await table.play_hand(1)
        await table.verified(1)
        await holds(lambda: lobby.tables[table.id].figures.hands >= 1, "figures")
        assert lobby.tables[table.id].figures.fourth_street_percent == 100
        await table.pause("a break")
        await holds(lambda: lobby.tables[table.id].paused == "a break", "the pause")
        await live.stack.restart_service("table")
        await live.ready()
        await holds(lambda: lobby.resumed >= 1, "the stream again")
        assert lobby.tables[table.id].figures.hands >= 1
        await table.resume()
        await table.end()
        await holds(lambda: table.id not in lobby.tables, "the table to go")


async def test_a_players_own_facts_are_kept_through_a_crash_of_the_service(live: Live):
    async with await Table.begin(live, "me", 2) as table:
        (ada, player), (bea, _) = table.players.items()
        async with kept(player.client.me()) as me:
            on_turn, mine = await table.turn()
            if on_turn.account == ada:
                await holds(lambda: [turn.turn_id for turn in me.turns] == [mine.turn_id], "the turn")
            else:
                await holds(lambda: me.sittings and not me.turns, "no turn")
            message = pb.SendHouseMessageRequest(account=ada, text="welcome")
            answer = await live.people.operator.tables.SendHouseMessage(message)
            assert (answer.accounts, answer.watching) == (1, 1)
            await holds(lambda: [told.text for told in me.messages.values()] == ["welcome"], "the message")
            told = len(me.taken)
            await live.stack.restart_service("table")
            await live.ready()
            await holds(lambda: me.resumed >= 1 and len(me.taken) > told, "the stream again")
            on_turn, mine = await table.turn()
            expected = [mine.turn_id] if on_turn.account == ada else []
            await holds(lambda: [turn.turn_id for turn in me.turns] == expected, "the same turn")
            left = await player.client.tables.LeaveSeat(pb.LeaveSeatRequest(table=table.id))
            await table.eye.until(lambda u: u.version >= left.version)
            await table.play_hand(1)
            await holds(lambda: not me.sittings, "the way home")
            assert me.over[-1].table == table.id
            assert me.over[-1].paid > 0
            seen = await player.client.tables.GetMe(pb.GetMeRequest())
            assert not seen.sittings
        assert bea != ada


async def test_an_account_loses_no_entry_through_a_crash_of_the_wallet(live: Live):
    await live.ready()
    client, name = live.people.player("acc-ada"), "acc-ada"
    await client.wallet.OpenAccount(wallet.OpenAccountRequest(currency="EUR"))
    with pytest.raises(StudError, match="ROLE_NOT_ALLOWED"):
        async with live.people.player("acc-eve").account("EUR", name) as other:
            await asyncio.wait_for(anext(other), PATIENCE_S)
    async with kept(client.account("EUR")) as account:
        await holds(lambda: account.taken, "the account")

        async def pay(number: int) -> None:
            paid = wallet.DepositRequest(currency="EUR", account=name, amount=1, reference=f"n{number}")
            await live.people.cashier.wallet.Deposit(paid)

        for number in range(3):
            await pay(number)
        await live.stack.restart_service("wallet")
        await live.ready()
        for number in range(3, 6):
            await pay(number)
        await holds(lambda: account.taken[-1].account.balance == 6, "six deposits")
        references = [t.reference for change in account.taken for t in change.transfers]
        assert references == [f"n{number}" for number in range(6)]
        assert account.resumed >= 1


async def test_an_account_says_where_the_chips_are(live: Live):
    async with await Table.begin(live, "chips", 2) as table:
        account, player = next(iter(table.players.items()))
        async with player.client.account("EUR", after_version=0) as watched:
            change = await asyncio.wait_for(anext(watched), PATIENCE_S)
            assert change.account.balance == DEPOSIT - BUY_IN
            assert [(escrow.table, escrow.balance) for escrow in change.account.escrows] == [(table.id, BUY_IN)]
            assert [transfer.kind for transfer in change.transfers] == ["Deposited", "BuyInFunded"]
        assert account


async def test_one_stream_serves_several_tables_through_a_crash_and_one_that_is_not_there(live: Live):
    async with await Table.begin(live, "one", 2) as one, await Table.begin(live, "two", 2) as two:
        account, player = next(iter(one.players.items()))
        await two.deposit(account)
        seat = pb.TakeSeatRequest(table=two.id, amount=BUY_IN, seat=5, auto_post=True, muck_losing=True)
        await player.client.tables.TakeSeat(seat)
        several = player.client.several()
        missing = several.play("no-such-table")
        async with several, Follower(several.play(one.id)) as at_one, Follower(several.play(two.id)) as at_two:
            for follower, table in ((at_one, one), (at_two, two)):
                update = await follower.until(lambda u: u.current and u.mine.sitting_no)
                assert update.table == table.id
            async with missing:
                with pytest.raises(StudError, match="UNKNOWN_TABLE"):
                    await asyncio.wait_for(anext(missing), PATIENCE_S)
            with pytest.raises(StudError, match="already"):
                async with several.play(one.id) as again:
                    await asyncio.wait_for(anext(again), PATIENCE_S)
            sessions: list[Any] = [at_one.session, at_two.session]
            results = await asyncio.gather(*(session.set_preferences(muck_losing=False) for session in sessions))
            for follower, result in zip((at_one, at_two), results, strict=True):
                await follower.until(lambda u, v=result.version: u.version >= v and not u.mine.muck_losing)  # type: ignore[misc]
            assert [session.resumed for session in sessions] == [0, 0]
            await live.stack.restart_service("table")
            await live.ready()
            results = await asyncio.gather(*(session.set_preferences(muck_losing=True) for session in sessions))
            for follower, result in zip((at_one, at_two), results, strict=True):
                await follower.until(lambda u, v=result.version: u.version >= v and u.mine.muck_losing)  # type: ignore[misc]
                versions = [update.version for update in follower.updates]
                assert versions == sorted(versions)
            assert min(session.resumed for session in sessions) >= 1


async def test_the_first_table_may_be_the_one_that_is_not_there(live: Live):
    async with await Table.begin(live, "there", 2) as table:
        player = next(iter(table.players.values()))
        several = player.client.several()
        async with several, several.play("no-such-table") as missing, Follower(several.play(table.id)) as there:
            with pytest.raises(StudError, match="UNKNOWN_TABLE"):
                await asyncio.wait_for(anext(missing), PATIENCE_S)
            await there.until(lambda u: u.current and u.mine.sitting_no)


async def test_the_command_shows_the_lobby_as_it_changes(live: Live):
    async with await Table.begin(live, "cli", 2) as table:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", INTERRUPTIBLE, "tables", "--watch", "--json", "--free", "1"),
            cwd=live.stack.data_dir,
            env={
                "STUD_TABLE_ENDPOINT": live.stack.endpoints["table"],
                "STUD_KEYS_DIR": str(live.stack.keys_dir),
                "PATH": os.environ["PATH"],
            },
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        try:

            async def told(paused: str) -> dict[str, Any]:
                async with asyncio.timeout(PATIENCE_S):
                    while True:
                        lines = json.loads(await process.stdout.readline())["tables"]  # type: ignore[union-attr]
                        found = [line for line in lines if (line["table"], line["paused"]) == (table.id, paused)]
                        if found:
                            line: dict[str, Any] = found[0]
                            return line

            assert (await told(""))["playing"] == 2
            await table.pause("a break")
            assert (await told("a break"))["suggested_buy_in"] == BUY_IN
            process.send_signal(signal.SIGINT)
            assert await asyncio.wait_for(process.wait(), PATIENCE_S) == 130
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


async def test_the_front_end_pages_javascript_sees_the_lobby_and_its_own_turn(live: Live, tmp_path: Path):
    (example,) = blocks("front-end.md", "js")
    (tmp_path / "example.js").write_text(example)
    (tmp_path / "protos").symlink_to(node.ROOT / "protos")
    (tmp_path / "var").mkdir()
    (tmp_path / "var" / "stud.json").write_text(json.dumps({"endpoints": dict(live.stack.endpoints)}))
    async with await Table.begin(live, "js", 2) as table:
        player, mine = await table.turn()
        message = pb.SendHouseMessageRequest(account=player.account, text="welcome")
        await live.people.operator.tables.SendHouseMessage(message)
        token = mint(player.account, ["player"], 3600, load_private_key(live.stack.keys_dir))
        said = await node.said(tmp_path / "example.js", cwd=tmp_path, STUD_TOKEN=token)
    assert f"{table.id}: 2 of 8 play" in said
    assert f"your turn at {table.id}: {mine.turn_id}" in said
    assert "the house says: welcome" in said
