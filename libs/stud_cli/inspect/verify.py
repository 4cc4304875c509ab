"""``stud verify``: are the logs what they claim to be? Hash chains, decks, verdicts, conservation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from rules_service.findings import Obstacle
from stud_cli.exit_codes import FINE, FOUND, could_not_run, said_as
from stud_cli.inspect.decks import check_decks
from stud_cli.inspect.findings import Hand, Verification
from stud_cli.inspect.log import open_log
from stud_cli.inspect.table_history import Step, steps
from stud_cli.inspect.verdicts import Final, Verdicts, read_verdicts
from stud_cli.inspect.watching import Watch
from stud_cli.local.stopping import run_with_one_stop
from stud_cli.output import DataDir, JsonFlag, console, last_line, notes, table_of
from stud_core import conservation
from stud_core import events as ev
from stud_core import verdict_events as ve
from stud_eventlog import keys
from stud_eventlog.log import CommitLog, EventLog
from stud_eventlog.types import ChainBroken, EventLogError
from stud_service.keyring import Key, KeyRing, KeyringError, MissingKey
from stud_wire.codec import WireError
from stud_wire.commits import decode_commit


def verify(
    table: Annotated[str, typer.Argument(help="Only this table; empty = all.")] = "",
    data: DataDir = None,
    json_output: JsonFlag = False,
) -> None:
    """Check every hash chain, fold every table, check decks against commitments and hands against verdicts.

    Decks of closed hands are opened where the referee's key is at hand; running hands stay sealed.

    Example: stud verify --json
    """
    with said_as("the log cannot be verified: {}", EventLogError, ValueError):
        found = run_with_one_stop(_verify(table, data, quiet=json_output))
    if json_output:
        problems = [{"table": p.table, "version": p.version, "what": p.what} for p in found.problems]
        last_line({"tables": found.tables, "hands": found.hands, "ok": not problems, "problems": problems})
    else:
        if found.problems:
            rows = [(p.table, p.version, p.what) for p in found.problems]
            console.print(table_of("Problems", ("table", "version", "what"), rows, right=("version",)))
        verdict = "[red]not ok[/red]" if found.problems else "[green]ok[/green]"
        console.print(f"{found.tables} tables, {found.hands} hands: {verdict}")
    raise typer.Exit(FOUND if found.problems else FINE)


async def _verify(only: str, data: Path | None, *, quiet: bool) -> Verification:
    async with open_log(data) as opened:
        key = referee_key(opened.keys_dir)
        if key is None:
            notes.print("[yellow]note[/yellow] no referee key at hand: decks are compared, not opened")
        found = await verify_log(opened.log, only, key, Watch(None if quiet else notes))
        if only and not found.tables and not found.problems:
            could_not_run(f"there is no table {only!r} in this log")
        if found.has_another_key:
            what = f"the referee's key in {opened.keys_dir} is not this log's: none of {found.decks_closed} decks opens"
            if not found.problems:
                could_not_run(what)
            notes.print(f"[yellow]note[/yellow] {escape(what)}", soft_wrap=True)
        elif key is not None:
            notes.print(f"{found.decks_opened} of {found.decks_closed} decks opened")
        return found


async def verify_log(log: EventLog, only: str | None, key: Key | None, watch: Watch | None = None) -> Verification:
    """Verify one table, or everything. ``watch`` shows how far it is.

    Verdicts are read shard by shard with the tables they are about: there are as many as hands were ever played.
    """
    tables = [only] if only else await _tables(log)
    found = Verification()
    unread = set() if only else set(range(keys.SHARDS))
    verdicts, shard = Verdicts(), -1
    watch = watch or Watch()
    for table_id in watch.over(sorted(tables, key=lambda name: (keys.shard_of(name), name))):
        if keys.shard_of(table_id) != shard:
            shard = keys.shard_of(table_id)
            unread.discard(shard)
            verdicts = await _verdicts(log, found, shard)
        await verify_table(log, table_id, verdicts, key, found)
        watch.hands = found.hands
    for shard in sorted(unread):
        await _verdicts(log, found, shard)
    if not only:
        for currency in await log.scan_streams("ledger"):
            await _verify_chain(log, keys.ledger_log(currency), f"ledger {currency}", found)
    if found.has_another_key:
        found.problems = [problem for problem in found.problems if not problem.what.endswith(f"({Obstacle.WRONG_KEY})")]
    for name, version, what in await found.causes.cut_off(log):
        if not any((p.table, p.version) == (name, version) and p.what.endswith(what) for p in found.problems):
            found.add(name, version, what)
    return found


async def _tables(log: EventLog) -> list[str]:
    """Return every table that has a log, or a deck's log: one without the other is a finding."""
    return sorted({*await log.scan_streams("table"), *await log.scan_streams("deck")})


async def _verdicts(log: CommitLog, found: Verification, shard: int) -> Verdicts:
    """Read a shard's verdicts. Where its log is broken that is a problem, and its hands then lack their verdicts."""
    out = Verdicts()
    try:
        await read_verdicts(log, [shard], out)
    except (ChainBroken, WireError) as error:
        found.add(f"verdicts of shard {shard}", getattr(error, "version", 0), str(error))
    found.causes.merge(out.causes)
    return out


def referee_key(keys_dir: Path | None) -> Key | None:
    """Return the key that opens decks, where it is at hand. Raises CouldNotRun for a directory that cannot be used."""
    if keys_dir is None:
        return None
    try:
        with said_as("{}", KeyringError):
            return KeyRing.load(keys_dir, "referee").key("referee")
    except MissingKey:
        return None


async def _verify_chain(log: CommitLog, stream: str, name: str, found: Verification) -> None:
    try:
        async for stored in log.read_all(stream):
            found.causes.note(decode_commit(stored.body))
    except (ChainBroken, WireError) as error:
        found.add(name, getattr(error, "version", 0), str(error))


async def verify_table(log: CommitLog, table_id: str, verdicts: Verdicts, key: Key | None, found: Verification) -> None:
    """Verify one table, its deck, and what was decided about its hands."""
    hands: dict[int, Hand] = {}
    last: Step | None = None
    try:
        async for step in steps(log, table_id):
            last = step
            found.causes.note(step.commit)
            _check_step(step, table_id, found)
            _note_hand(step, hands)
    except (ChainBroken, WireError) as error:
        found.add(table_id, getattr(error, "version", 0), str(error))
    found.tables += last is not None
    _drop_decided(table_id, hands, found)
    ended = [hand for hand in hands.values() if hand.ended is not None]
    found.hands += len(ended)
    try:
        config = None if last is None else last.table.config
        await check_decks(log, table_id, config, hands, key, found)
    except (ChainBroken, WireError) as error:
        found.add(table_id, getattr(error, "version", 0), f"deck log: {error}")
    known = verdicts.final.get(table_id, {})
    if any(hand.taken and hand.hand_no not in known for hand in hands.values()):
        verdicts = await _fresh_verdicts(log, table_id, verdicts)
    for hand in ended:
        _check_verdict(table_id, hand, verdicts, found, is_last=hand is ended[-1])
    for table, hand_no in verdicts.doubled:
        if table == table_id:
            found.add(
                table_id, hands[hand_no].version if hand_no in hands else 0, f"hand {hand_no}: two final verdicts"
            )


def _drop_decided(table_id: str, hands: dict[int, Hand], found: Verification) -> None:
    """Forget what was wrong inside a hand that two operators have decided since."""
    spans = [range(hand.from_version, hand.resolved_at) for hand in hands.values() if hand.resolved_at]
    found.problems = [p for p in found.problems if p.table != table_id or not any(p.version in span for span in spans)]


async def _fresh_verdicts(log: CommitLog, table_id: str, known: Verdicts) -> Verdicts:
    """Read a shard's verdicts again: the table may have taken one that was not there when they were read."""
    try:
        return await read_verdicts(log, [keys.shard_of(table_id)])
    except (ChainBroken, WireError):
        return known  # reported by whoever read them first


def _check_step(step: Step, table_id: str, found: Verification) -> None:
    problem = conservation.check(step.table)
    if problem:
        found.add(table_id, step.stored.version, problem)
    for event in step.commit.events:
        if isinstance(event, ev.HandEnded) and sum(d.delta for d in event.deltas) + event.rake != 0:
            found.add(table_id, step.stored.version, f"hand {event.hand_no}: deltas and rake do not sum to zero")


def _note_hand(step: Step, hands: dict[int, Hand]) -> None:
    for event in step.commit.events:
        if isinstance(event, ev.DeckReady):
            hands.setdefault(event.hand_no, Hand(event.hand_no)).ready.append(event)
        elif isinstance(event, ev.CardsDealt):
            hands.setdefault(event.hand_no, Hand(event.hand_no)).deals.append(event)
        elif isinstance(event, ev.HandEnded | ev.HandVoided):
            hand = hands.setdefault(event.hand_no, Hand(event.hand_no))
            hand.ended = event
            hand.from_version = event.from_version
            hand.version = step.stored.version
            hand.head_hash = step.stored.hash
        elif isinstance(event, ev.TableHandVerified | ev.TableHandResolved) and event.hand_no in hands:
            hands[event.hand_no].taken = event
            hands[event.hand_no].taken_at = step.stored.version
            if isinstance(event, ev.TableHandResolved):
                hands[event.hand_no].resolved_at = step.stored.version


def _check_verdict(table_id: str, hand: Hand, verdicts: Verdicts, found: Verification, *, is_last: bool) -> None:
    """Only the last hand may still wait for its verdict, and only while the table waits too."""
    final = verdicts.final.get(table_id, {}).get(hand.hand_no)
    where = (table_id, hand.version)
    if final is None:
        if hand.hand_no in verdicts.disputed.get(table_id, {}):
            found.add(*where, f"hand {hand.hand_no}: disputed, not resolved")
        elif hand.taken:
            found.add(*where, f"hand {hand.hand_no}: the table took a verdict that the referee's log does not hold")
        elif not is_last:
            found.add(*where, f"hand {hand.hand_no}: no verdict, and yet play went on")
        return
    if hand.taken is not None and not _is_taken(hand.taken, final, verdicts.versions[table_id, hand.hand_no]):
        found.add(
            table_id, hand.taken_at, f"hand {hand.hand_no}: the table took another verdict than the referee's log has"
        )
    if isinstance(final, ve.HandResolved):
        return
    ref = final.table_ref
    if (ref.from_version, ref.to_version, ref.head_hash) != (hand.from_version, hand.version, hand.head_hash):
        found.add(*where, f"hand {hand.hand_no}: the verdict is about other bytes than the log holds")
    ended = hand.ended
    if isinstance(ended, ev.HandEnded) and (set(final.postings), final.rake) != (set(ended.deltas), ended.rake):
        found.add(*where, f"hand {hand.hand_no}: the verdict's figures are not the table's")


def _is_taken(taken: ev.TableHandVerified | ev.TableHandResolved, final: Final, version: int) -> bool:
    """Whether what the table took is the verdict that stands in the referee's log, and says the same."""
    if taken.verdict_version != version:
        return False
    if isinstance(taken, ev.TableHandVerified) or isinstance(final, ve.HandVerified):
        return isinstance(taken, ev.TableHandVerified) and isinstance(final, ve.HandVerified)
    void = taken.choice is ev.ResolutionChoice.VOID  # then the stacks are the table's own from before the hand
    return taken.choice is final.choice and (void or taken.stacks == final.stacks)
