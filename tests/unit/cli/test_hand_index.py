"""The index of hands says what the log says, wherever it was stopped and whatever became of the log meanwhile."""

import asyncio
import sqlite3
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stud_cli.index import store as stores
from stud_cli.index import updating
from stud_cli.index.finding import Wanted, find
from stud_cli.index.gathering import Gathered, Notes, State, gather
from stud_cli.index.store import SCHEMA, Store, discard, in_memory, open_store
from stud_cli.index.updating import Progress, Update, bring_up_to_date
from stud_core import events as ev
from stud_core import verdict_events as ve
from stud_eventlog.memory import MemoryEventLog
from stud_wire.commits import decode_commit
from tests.support.hand_index import Made, leaks, rows, shuffled_cuts
from tests.support.referee_court import CALLS, Court, steal_from_the_winner

UNKNOWN_FIELD = b"\x78\x00"
"""Changes a commit's bytes, and nothing of what they say."""


def quiet(_: Progress) -> None:
    pass


async def update(log: MemoryEventLog, store: Store) -> Update:
    return await bring_up_to_date(log, store, quiet)


async def indexed(log: MemoryEventLog) -> dict[str, Any]:
    """What an index made now, from the start, says."""
    with in_memory() as store:
        await update(log, store)
        return rows(store)


def events_of(log: MemoryEventLog, stream: str) -> list[tuple[int, int, Any]]:
    """(version, time, event) of a log, decoded whole."""
    out = []
    for commit, _ in log.store.data.logs[stream]:
        decoded = decode_commit(commit.body)
        out += [(commit.version, decoded.meta.at_ms, event) for event in decoded.events]
    return out


async def cut(log: MemoryEventLog, versions: dict[str, int]) -> MemoryEventLog:
    """A log that ends earlier."""
    out = MemoryEventLog()
    for stream, stored in log.store.data.logs.items():
        out.store.data.logs[stream] = stored[: versions.get(stream, len(stored))]
    return out


# --- what is in it ---------------------------------------------------------------------------------------------------


async def test_every_hand_is_found_with_the_figures_of_its_verdict():
    made = Made(tables=4)
    log = await made.play(12)
    with in_memory() as store:
        done = await update(log, store)
        found = find(store, Wanted(), 100)
    assert (done.tables, done.unread, found.total) == (4, [], 48)
    assert done.progress.hands == 48
    assert done.progress.commits == done.progress.of > 48 * 10
    assert [hand["ended_at_ms"] for hand in found.hands] == sorted(
        [hand["ended_at_ms"] for hand in found.hands], reverse=True
    )
    verdicts: dict[tuple[str, int], ve.HandVerified] = {}
    for stream, stored in log.store.data.logs.items():
        if stream.endswith(":verdicts"):
            verdicts |= {
                (event.table, event.hand_no): event
                for commit, _ in stored
                for event in decode_commit(commit.body).events
                if isinstance(event, ve.HandVerified)
            }
    for hand in found.hands:
        verdict = verdicts[hand["table"], hand["hand_no"]]
        deltas = {who["account"]: who["delta"] for who in hand["players"]}
        assert deltas == {posting.account: posting.delta for posting in verdict.postings}
        assert (hand["from_version"], hand["version"]) == (
            verdict.table_ref.from_version,
            verdict.table_ref.to_version,
        )
        assert (hand["state"], hand["rake"], hand["voided"]) == ("verified", 0, False)


async def test_pot_and_showdown_are_those_of_the_table():
    made = Made(tables=2, seed=3)
    log = await made.play(30)
    with in_memory() as store:
        await update(log, store)
        by_place = {(hand["table"], hand["hand_no"]): hand for hand in find(store, Wanted(), 100).hands}
    showdowns = 0
    for table in made.tables:
        pot, live, start = 0, set(), 0
        for _, at_ms, event in events_of(log, table._log.name):
            if isinstance(event, ev.HandStarted):
                pot, live, start = 0, {who.seat for who in event.dealt_in}, at_ms
            elif isinstance(event, ev.ActionTaken) and event.verb is ev.Verb.FOLD:
                live.discard(event.seat)
            elif isinstance(event, ev.PotAwarded):
                pot += sum(share.amount for share in event.shares) + event.rake
            elif isinstance(event, ev.HandEnded):
                hand = by_place[table.state.rules.table_id, event.hand_no]
                showdowns += len(live) > 1
                assert (hand["pot"], hand["showdown"]) == (pot, len(live) > 1)
                assert (hand["started_at_ms"], hand["ended_at_ms"]) == (start, at_ms)
    assert 5 < showdowns < 55


@pytest.mark.parametrize(("rank", "showdown"), [(0, False), (1609, True)])
def test_who_wins_uncalled_and_shows_came_to_no_showdown(rank: int, showdown: bool):
    """Their hand is not ranked; a showdown ranks every hand it shows."""
    dealt_in = (ev.DealtIn(1, 1, "ada", 950), ev.DealtIn(2, 2, "bea", 950))
    deltas = (ev.Delta(1, "ada", 50), ev.Delta(2, "bea", -50))
    stacks = (ev.SeatStack(1, 1, 1050), ev.SeatStack(2, 2, 950))
    found = Gathered()
    events = (
        ev.HandStarted(1, 1, "b", 0, dealt_in),
        ev.PotAwarded(0, 100, 0, (ev.Share(1, 100, 1050),)),
        ev.HandShown(1, (1, 2), rank),
        ev.HandEnded(1, 1, stacks, deltas, 0),
    )
    gather(Notes(), events, 9, 1000, found)
    (hand,) = found.hands
    assert (hand.showdown, hand.pot, [who.delta for who in hand.players]) == (showdown, 100, [50, -50])


async def test_a_voided_hand_moves_nothing():
    made = Made(seed=2)
    table = made.tables[0]
    table._one_in = lambda number: number == 400  # type: ignore[method-assign]  # each hand is voided
    log = await made.play(3)
    with in_memory() as store:
        await update(log, store)
        found = find(store, Wanted(voided=True), 10)
        assert find(store, Wanted(showdown=True), 10).total == 0
    assert found.total == 3
    assert {hand["state"] for hand in found.hands} == {"verified"}
    assert all(who["delta"] == 0 for hand in found.hands for who in hand["players"])
    assert all(hand["pot"] > 0 for hand in found.hands)


@pytest.mark.parametrize("choice", list(ev.ResolutionChoice))
async def test_a_dispute_shows_and_its_resolution_decides_the_figures(choice: ev.ResolutionChoice):
    court = Court(seed=4)
    await court.open()
    court.rig.forge_table = steal_from_the_winner
    await court.rig.start()
    await court.rig.play_out(weights=CALLS)
    court.rig.forge_table = None
    disputed = await court.hear()
    await court.rig.send(command_of(disputed))
    with in_memory() as store:
        await update(court.log, store)
        (hand,) = find(store, Wanted(disputed=True), 10).hands
        assert (hand["state"], hand["disputed"]) == ("disputed", True)
        assert deltas_of(hand) == by_account(disputed.table_postings)
        await court.rig.send(resolution_of(disputed, choice, court.rig.state))
        await update(court.log, store)
        (hand,) = find(store, Wanted(disputed=True), 10).hands
        assert find(store, Wanted(voided=True), 10).total == (choice is ev.ResolutionChoice.VOID)
    wanted = {
        ev.ResolutionChoice.TABLE: by_account(disputed.table_postings),
        ev.ResolutionChoice.REFEREE: by_account(disputed.referee_postings),
        ev.ResolutionChoice.VOID: dict.fromkeys(by_account(disputed.table_postings), 0),
    }
    assert deltas_of(hand) == wanted[choice]
    assert hand["state"] == f"resolved_{choice.name.lower()}"
    assert by_account(disputed.table_postings) != by_account(disputed.referee_postings)


def command_of(disputed: ve.HandDisputed) -> Any:
    from stud_core.commands import RecordDispute

    return RecordDispute(disputed.hand_no, 1, tuple([finding.code for finding in disputed.findings]))


def resolution_of(disputed: ve.HandDisputed, choice: ev.ResolutionChoice, table: Any) -> Any:
    from stud_core.commands import RecordResolution

    deltas = {posting.sitting_no: posting.delta for posting in disputed.referee_postings}
    before = dict(table.hand_start_stacks)
    stacks = tuple(
        [
            ev.SeatStack(table.sittings[number].seat, number, stack + deltas.get(number, 0))
            for number, stack in before.items()
        ]
    )
    if choice is ev.ResolutionChoice.TABLE:
        stacks = tuple([ev.SeatStack(sitting.seat, n, sitting.stack) for n, sitting in table.sittings.items()])
    return RecordResolution(disputed.hand_no, 2, choice, () if choice is ev.ResolutionChoice.VOID else stacks)


def by_account(postings: tuple[ev.Delta, ...]) -> dict[str, int]:
    return {posting.account: posting.delta for posting in postings}


def deltas_of(hand: dict[str, Any]) -> dict[str, int]:
    return {who["account"]: who["delta"] for who in hand["players"]}


async def test_a_hand_waits_until_it_is_verified():
    court = Court()
    await court.open()
    await court.rig.play_hand(weights=CALLS)
    with in_memory() as store:
        await update(court.log, store)
        assert [hand["state"] for hand in find(store, Wanted(), 10).hands] == [State.WAITING.word]
        await court.hear()
        await court.rig.verdict(court.book.final_version)
        await update(court.log, store)
        assert [hand["state"] for hand in find(store, Wanted(), 10).hands] == [State.VERIFIED.word]


# --- brought up to date ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("few", [2, 16])
async def test_stopped_anywhere_it_comes_to_the_same(few: int, monkeypatch: pytest.MonkeyPatch):
    """In the middle of hands, of pages, between a hand and its verdict."""
    monkeypatch.setattr(updating, "FEW", few)
    made = Made(seed=5)
    log = await made.play(8)
    stream = made.tables[0]._log.name
    whole = await indexed(log)
    with in_memory() as store:
        for version in shuffled_cuts(len(log.store.data.logs[stream]), few):
            await update(await cut(log, {stream: version}), store)
        done = await update(log, store)
        assert rows(store) == whole
        assert done.anew == 0
        assert (await update(log, store)).progress == Progress()


async def test_a_log_that_went_back_or_is_another_is_indexed_anew():
    made = Made(seed=6)
    log = await made.play(5)
    stream = made.tables[0]._log.name
    other = await Made(seed=7).play(5)
    with in_memory() as store:
        for now in (log, await cut(log, {stream: 30}), other, log):
            await update(now, store)
            assert rows(store) == await indexed(now)
    with in_memory() as store:
        await update(log, store)
        assert (await update(other, store)).anew == 1


async def test_another_log_of_the_same_length_is_noticed():
    made, twin = Made(seed=8), Made(seed=9)
    stream = made.tables[0]._log.name
    log, other = await cut(await made.play(2), {stream: 20}), await cut(await twin.play(2), {stream: 20})
    with in_memory() as store:
        await update(log, store)
        await update(other, store)
        assert rows(store) == await indexed(other) != await indexed(log)


async def test_a_table_that_is_gone_is_forgotten():
    log = await Made(tables=3).play(2)
    with in_memory() as store:
        await update(log, store)
        gone = next(stream for stream in log.store.data.logs if ":table:" in stream)
        del log.store.data.logs[gone]
        await update(log, store)
        assert rows(store) == await indexed(log)
        assert find(store, Wanted(), 10).total == 4


async def test_a_broken_log_is_read_as_far_as_it_is_sound_and_named():
    made = Made(tables=2, seed=3)
    log = await made.play(6)
    table = made.tables[0]
    stored = log.store.data.logs[table._log.name]
    broken_at = len(stored) // 2
    commit, stored_hash = stored[broken_at - 1]
    stored[broken_at - 1] = (msgspec.structs.replace(commit, body=commit.body + UNKNOWN_FIELD), stored_hash)
    with in_memory() as store:
        for _ in range(2):
            done = await update(log, store)
            assert [(unread.table, unread.version) for unread in done.unread] == [
                (table.state.rules.table_id, broken_at + 1)
            ]
            mine = find(store, Wanted(table=table.state.rules.table_id), 10).total
            assert 0 < mine < 6
            assert find(store, Wanted(), 20).total == mine + 6


# --- the file --------------------------------------------------------------------------------------------------------


async def test_only_the_owner_may_read_it(tmp_path: Path):
    path = tmp_path / "index" / "hands.sqlite3"
    log = await Made().play(1)
    with open_store(path) as store:
        await update(log, store)
        for file in (path, *[beside for beside in stores.beside(path) if beside.exists()]):
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_what_was_indexed_is_there_the_next_time(tmp_path: Path):
    path = tmp_path / "hands.sqlite3"
    log = await Made().play(3)
    with open_store(path) as store:
        await update(log, store)
    with open_store(path) as store:
        assert (await update(log, store)).progress == Progress()
        assert find(store, Wanted(), 10).total == 3


def older(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA + 7}")


def foreign(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE anything (a)")


def garbage(path: Path) -> None:
    path.write_bytes(b"not an index at all" * 1000)


@pytest.mark.parametrize("spoil", [older, foreign, garbage])
async def test_a_file_that_is_none_of_ours_is_made_anew(spoil: Any, tmp_path: Path):
    path = tmp_path / "hands.sqlite3"
    log = await Made().play(3)
    with open_store(path) as store:
        await update(log, store)
        whole = rows(store)
    spoil(path)
    with open_store(path) as store:
        assert find(store, Wanted(), 10).total == 0
        await update(log, store)
        assert rows(store) == whole


async def test_two_at_once_come_to_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Both begin with nothing and read in small pages; each meets what the other has done."""
    path = tmp_path / "hands.sqlite3"
    log = await Made(tables=3).play(6)
    monkeypatch.setattr(updating, "PAGE", 7)
    with open_store(path) as first, open_store(path) as second:
        done = await asyncio.gather(update(log, first), update(log, second))
        assert rows(first) == rows(second) == await indexed(log)
    read = sum(one.progress.commits for one in done)
    assert read == sum(len(log.store.data.logs[table]) for table in log.store.data.logs if ":table:" in table)


async def test_deleted_under_its_reader_it_still_answers(tmp_path: Path):
    path = tmp_path / "hands.sqlite3"
    log = await Made().play(3)
    with open_store(path) as store:
        await update(log, store)
        discard(path)
        assert find(store, Wanted(), 10).total == 3


# --- nothing hidden --------------------------------------------------------------------------------------------------


async def test_it_holds_only_what_is_public(tmp_path: Path):
    path = tmp_path / "hands.sqlite3"
    made = Made(tables=2)
    log = await made.play(10)
    secrets = secrets_in(log)
    assert len(secrets) > 100
    with open_store(path) as store:
        await update(log, store)
        assert leaks(store, secrets) == []
    with open_store(path) as store:
        assert leaks(store, secrets, path) == []


def secrets_in(log: MemoryEventLog) -> list[bytes]:
    """Sealed boxes and request ids: nothing that an index needs, and long enough to be looked for."""
    found = []
    for stream, stored in log.store.data.logs.items():
        for commit, _ in stored:
            decoded = decode_commit(commit.body)
            found += [bytes.fromhex(decoded.meta.request_id)] if decoded.meta.request_id else []
            for event in decoded.events if ":table:" in stream else ():
                found += [card.sealed for card in event.down] if isinstance(event, ev.CardsDealt) else []
    return found


@pytest.mark.parametrize(
    "plant",
    [
        "UPDATE tables SET name = 'alice has Ah Kd'",
        "ALTER TABLE players ADD COLUMN down BLOB",
        "UPDATE tables SET notes = CAST(x'{secret}' AS BLOB)",
        "INSERT INTO accounts (name) VALUES ('{secret}')",
    ],
)
async def test_a_planted_card_or_secret_is_found(plant: str):
    log = await Made().play(1)
    secrets = secrets_in(log)
    with in_memory() as store:
        await update(log, store)
        store.db.execute(plant.format(secret=secrets[0].hex()))
        assert leaks(store, secrets)
