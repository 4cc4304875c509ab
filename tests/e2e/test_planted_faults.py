"""Somebody cheats or the log is edited: the hand is disputed or refused, nothing of it is paid, the table stands still,
and what two operators decide gets it going again with the right money.
"""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from stud.events.v1 import table_events_pb2
from stud.rules.v1 import rules_service_pb2 as rules
from stud.table.v1 import table_service_pb2 as pb
from stud.wallet.v1 import wallet_service_pb2 as wallet
from stud_cli.inspect.audit import audit_log
from stud_cli.inspect.findings import Verification
from stud_cli.inspect.ledgers import read_ledger
from stud_cli.inspect.verdicts import read_verdicts
from stud_cli.inspect.verify import verify_table
from stud_client import StudError, pages
from stud_core import events as ev
from stud_core import verdict_events as ve
from stud_core.evolve import evolve
from stud_core.ledger import events as le
from stud_core.state import Table as TableState
from stud_eventlog import keys
from stud_eventlog.types import Append, FeedItem
from stud_service.keyring import KeyRing
from stud_wire.commits import Meta, encode_commit, encode_event
from tests.support.playing import BUY_IN, DEPOSIT, Table
from tests.support.system import Live, shared, until
from tests.support.system_redis import put_body, put_message

pytestmark = shared("planted")

CHEAT = "tests.support.system_cheat"
STACK: dict[str, Any] = {
    "modules": {"table": CHEAT, "dealer": CHEAT},
    "only": {"table": {"STUD_TEST_SERVICE": "table"}, "dealer": {"STUD_TEST_SERVICE": "dealer"}},
}
TABLE, REFEREE, VOID = (
    table_events_pb2.RESOLUTION_CHOICE_TABLE,
    table_events_pb2.RESOLUTION_CHOICE_REFEREE,
    table_events_pb2.RESOLUTION_CHOICE_VOID,
)


async def disputed(table: Table) -> ve.HandDisputed:
    """Waits for the dispute of the first hand; then nothing of it has been paid and nothing moves."""
    live = table.live
    update = await table.eye.until(lambda u: u.view.paused, "a pause")
    assert (update.view.paused, update.view.waiting_for) == ("HAND_DISPUTED", "DISPUTED")
    assert (update.view.phase, update.view.verified_hand) == (0, 0)
    ledger = await read_ledger(live.log, "EUR")
    assert not ledger.settled[table.id]
    for number, account in enumerate(table.players, 1):
        assert ledger.balances[f"player:{account}"] == DEPOSIT - BUY_IN
        assert ledger.balances[f"escrow:{table.id}:{sitting_of(table, number)}"] == BUY_IN
    operator = live.people.operator
    with pytest.raises(StudError, match="TABLE_PAUSED"):
        await operator.tables.ResumeTable(pb.ResumeTableRequest(table=table.id))
    # Who was dealt in can leave, but is not paid while the hand is disputed.
    found, _ = await audit_log(live.log)
    assert found.disputed == 1
    assert not found.ok
    verdict: ve.HandDisputed = (await read_verdicts(live.log)).disputed[table.id][1]
    return verdict


def sitting_of(table: Table, seat: int) -> int:
    """The sitting number of who sits there."""
    player = next(player for player in table.players.values() if player.last.mine.seat == seat)
    return player.last.mine.sitting_no


def codes(verdict: ve.HandDisputed) -> set[str]:
    return {finding.code for finding in verdict.findings}


async def resolve(table: Table, choice: Any) -> None:
    """One operator proposes, alone he decides nothing, another agrees; the table goes on by itself."""
    first, second = table.live.people.operator.rules, table.live.people.second_operator.rules
    request = rules.ResolveHandRequest(table=table.id, hand_no=1, choice=choice, reason="looked at the log")
    assert not (await first.ResolveHand(request)).decided
    with pytest.raises(StudError, match="SECOND_OPERATOR_REQUIRED"):
        await first.ResolveHand(request)
    assert table.eye.last.view.paused
    assert (await second.ResolveHand(request)).decided
    await table.eye.until(lambda u: u.view.verified_hand == 1, "the resolution at the table")
    with pytest.raises(StudError, match="ALREADY_DECIDED"):
        await first.ResolveHand(request)


async def go_on(table: Table) -> dict[str, int]:
    """Plays another, honest hand, pays everybody out, audits and verifies: what was wrong is decided, and no problem
    any more. Returns what hand 1 gave each player.
    """
    await table.play_hand(2)
    await table.verified(2)
    await table.end()
    live = table.live
    found, _ = await audit_log(live.log)
    assert (found.problems, found.disputed, found.unsettled, found.ok) == ([], 0, 0, True)
    verdicts = await read_verdicts(live.log)
    referee = KeyRing.load(live.stack.keys_dir, "referee").key("referee")
    verified = Verification()
    await verify_table(live.log, table.id, verdicts, referee, verified)
    assert verified.problems == []
    results: dict[int, dict[str, int]] = {
        number: {posting.account: posting.delta for posting in verdict.postings}
        for number, verdict in verdicts.final[table.id].items()
    }
    for account, player in table.players.items():
        answer = await player.client.wallet.GetAccount(wallet.GetAccountRequest(currency="EUR"))
        assert answer.balance == DEPOSIT + sum(result.get(account, 0) for result in results.values())
        assert not answer.escrows
    return {account: results[1].get(account, 0) for account in table.players}


@asynccontextmanager
async def without(live: Live, service: str) -> AsyncIterator[None]:
    await live.stack.kill_service(service)
    try:
        yield
    finally:
        await live.stack.start_service(service)


# --- who cheats -------------------------------------------------------------------------------------------------------


async def test_a_wrong_award_is_disputed_and_the_referees_figures_pay_the_winner(live: Live):
    async with await Table.begin(live, "cheat-award") as table:
        await table.play_hand(1)
        verdict = await disputed(table)
        assert "WRONG_AWARD" in codes(verdict)
        shown = await live.events(table.id, ev.HandShown)
        (award,) = await live.events(table.id, ev.PotAwarded)
        (end,) = await live.events(table.id, ev.HandEnded)
        winner = min(shown, key=lambda event: event.rank).seat
        assert award.shares[0].seat != winner
        await resolve(table, REFEREE)
        results = await go_on(table)
        paid = {delta.account: min(delta.delta, 0) for delta in end.deltas}
        account = next(account for account, p in table.players.items() if p.updates[0].mine.seat == winner)
        expected = dict.fromkeys(paid, -award.amount // 3)  # nobody folded, all paid alike
        expected[account] += award.amount
        assert results == expected


async def test_a_card_shown_at_another_seat_is_disputed_and_the_hand_voided(live: Live):
    async with await Table.begin(live, "cheat-card") as table:
        await table.play_hand(1)
        assert "WRONG_CARD" in codes(await disputed(table))
        await resolve(table, VOID)
        results = await go_on(table)
        assert set(results.values()) == {0}


async def test_a_card_from_another_place_of_the_deck_is_disputed_and_the_hand_voided(live: Live):
    """The dealer cheats and the table does not know: the commitment made before the antes tells."""
    async with await Table.begin(live, "cheat-deck") as table:
        await table.play_hand(1)
        assert "WRONG_CARD" in codes(await disputed(table))
        await resolve(table, VOID)
        results = await go_on(table)
        assert set(results.values()) == {0}


# --- who writes into the log ------------------------------------------------------------------------------------------


async def test_cards_dealt_before_the_round_was_over_are_disputed(live: Live):
    """A commit that no command led to, in a sound chain: the table folds it, the dealer obeys, the referee does not."""
    async with await Table.begin(live, "early") as table:
        await table.turn()
        async with without(live, "table"):
            state = TableState()
            for version, commit in await live.commits(table.id):
                state = evolve(state, commit.events, version)
            hand = state.running
            targets = tuple(seat for seat in hand.order if hand.live[seat])
            early = ev.DealRequested(1, 2, 4, ev.DealMode.NORMAL, burn=False, targets=targets)
            await forge(live, table, early)
            forged = await live.head(table.id)
        await table.eye.until(lambda u: u.version > forged.version, "the next street")
        await table.play_hand(1)
        assert "EARLY_DEAL" in codes(await disputed(table))
        (end,) = await live.events(table.id, ev.HandEnded)
        await resolve(table, TABLE)
        assert await go_on(table) == {delta.account: delta.delta for delta in end.deltas}


async def forge(live: Live, table: Table, event: Any) -> None:
    """Appends an event to a table's log, and tells whoever reads its feed."""
    shard = keys.shard_of(table.id)
    stream, head = keys.table_log(shard, table.id), await live.head(table.id)
    body = encode_commit([event], Meta(time.time_ns() // 1_000_000, build="forged"))
    outbox = (FeedItem(keys.table_feed(shard), encode_event(event)),)
    await live.log.append(Append(stream, head.version, head.hash, b"somebody-else-00", body, outbox))


async def ready_for(table: Table, hand_no: int) -> bool:
    return any(event.hand_no == hand_no for event in await table.live.events(table.id, ev.DeckReady))


@asynccontextmanager
async def edited(live: Live, stream: str, version: int) -> AsyncIterator[None]:
    """One byte of a commit is another one; afterwards the right bytes are back, as from a copy."""
    (stored,) = await live.log.read(stream, version - 1, 1)
    await put_body(live.stack.redis_url, stream, version, stored.body[:-1] + bytes([stored.body[-1] ^ 1]))
    try:
        yield
    finally:
        await put_body(live.stack.redis_url, stream, version, stored.body)


@pytest.mark.parametrize("log", ["table", "deck"])
async def test_an_edited_byte_is_disputed_and_the_hand_voided(live: Live, log: str):
    """Edited after the hand and before the referee has read it: only the hash chain can tell."""
    async with await Table.begin(live, f"edited-{log}") as table:
        shard = keys.shard_of(table.id)
        stream = keys.table_log(shard, table.id) if log == "table" else keys.deck_log(shard, table.id)
        async with without(live, "rules"):
            await table.play_hand(1)
            await until(lambda: ready_for(table, 2), "the next deck")  # then nobody writes any more
            assert table.eye.last.view.waiting_for == "VERIFYING"
            middle = (await live.log.head(stream)).version // 2 + 1
            tampering = edited(live, stream, middle)
            await tampering.__aenter__()
        update = await table.eye.until(lambda u: u.view.paused, "a pause")
        assert update.view.paused == "HAND_DISPUTED"
        verdict = (await read_verdicts(live.log)).disputed[table.id][1]
        assert codes(verdict) == {"CHAIN_BROKEN"}
        assert not (await read_ledger(live.log, "EUR")).settled[table.id]
        await resolve(table, VOID)
        await tampering.__aexit__(None, None, None)
        assert set((await go_on(table)).values()) == {0}


async def test_messages_that_no_log_has_move_no_chip(live: Live):
    """Put into the feeds of table and wallet by hand: for commits that say something else, and for none at all."""
    async with await Table.begin(live, "forged") as table:
        player, _ = await table.turn()
        shard = keys.shard_of(table.id)
        head = await live.head(table.id)
        ledger_head = await live.log.head(keys.ledger_log("EUR"))
        (real, *_) = await live.events(table.id, ev.BuyInRequested)
        asked = msgspec.structs.replace(real, sitting_no=77, account=player.account)
        paid = le.TopUpFunded(table.id, 1, 1, player.account, BUY_IN)
        requests = (keys.table_feed(shard), keys.table_log(shard, table.id), asked)
        answers = (keys.ledger_feed("EUR", shard), keys.ledger_log("EUR"), paid)
        await put_message(live.stack.redis_url, *requests, head.version, head.hash)
        await put_message(live.stack.redis_url, *answers, ledger_head.version, ledger_head.hash)
        await table.play_hand(1)
        await table.verified(1)
        assert "feed_differs_from_log" in live.service_log("wallet")
        assert "feed_differs_from_log" in live.service_log("table")
        ledger = await read_ledger(live.log, "EUR")
        assert ledger.balances[f"escrow:{table.id}:77"] == 0
        assert ledger.balances[f"player:{player.account}"] == DEPOSIT - BUY_IN

        for version in (head.version + 1_000, 0, -5, 2**70, "1:", "?"):
            await put_message(live.stack.redis_url, *requests, version, head.hash)
            await put_message(live.stack.redis_url, *answers, version, ledger_head.hash)
        await table.play_hand(2)
        await table.verified(2)
        assert [letter for letter in await live.log.dead_list() if letter.table_id == table.id] == []
        async with await Table.begin(live, "beside", 2) as other:  # nobody's reader stands still
            await other.play_hand(1)
            await other.verified(1)
            await other.end()
        await table.end()


async def test_a_table_whose_log_was_edited_is_refused_until_the_bytes_are_back(live: Live):
    async with await Table.begin(live, "refused") as table:
        player, mine = await table.play_to(street=5)
        stream = keys.table_log(keys.shard_of(table.id), table.id)
        get = pb.GetTableRequest(table=table.id)
        await live.stack.kill_service("table")
        async with edited(live, stream, 3):
            await live.stack.start_service("table")
            for call in (
                player.client.tables.GetTable(get),
                player.client.tables.Act(player.request(mine, table.choose(mine), "act")),
                live.people.operator.tables.PauseTable(pb.PauseTableRequest(table=table.id, reason="look")),
            ):
                with pytest.raises(StudError) as refused:
                    await call
                assert refused.value.reason == "LOG_BROKEN"
            ask = live.people.operator.tables.ListTables
            lobby = [line async for page in pages(ask, pb.ListTablesRequest()) for line in page.tables]
            assert [line.paused for line in lobby if line.table == table.id] == ["LOG_BROKEN"]
            assert "log_broken" in live.service_log("table")
            async with await Table.begin(live, "sound", 2) as other:  # the others are served
                await other.play_hand(1)
                await other.verified(1)
                await other.end()
        await table.follow_again()
        await player.turn(mine.turn_id)
        await table.play_hand(1)
        await table.verified(1)
        await go_on(table)


# --- what the referee cannot judge ------------------------------------------------------------------------------------


async def test_an_operator_voids_a_running_hand_and_everybody_has_what_they_had(live: Live):
    async with await Table.begin(live, "voided") as table:
        await table.play_to(street=6)
        void = pb.VoidHandRequest(table=table.id, hand_no=1, reason="the lights went out")
        await live.people.operator.tables.VoidHand(void)
        await table.verified(1)
        assert {seat.stack for seat in table.eye.last.view.seats if seat.account} <= {BUY_IN, BUY_IN - 50}
        with pytest.raises(StudError, match="HAND_ALREADY_ENDED"):
            await live.people.operator.tables.VoidHand(void)
        assert set((await go_on(table)).values()) == {0}
