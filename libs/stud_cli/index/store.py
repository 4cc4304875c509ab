"""The index of hands: one SQLite file beside the log. It holds what is public and may be deleted at any time.

A file of another version, or one that is damaged, is made anew. Several processes may use it at once: each change says
which cursor it stands on, and is not made where another process was faster. Where no file can be kept, the index lives
in memory for one command.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, Self

import msgspec

from stud_cli.index.gathering import Decision, FoundHand, Gathered, Notes, State

SCHEMA: Final = 1
"""Another number in the file: it is of another build, and made anew."""

BUSY_S: Final = 30.0
"""How long one process waits for another one's change; each takes milliseconds."""

_TABLES: Final = """
CREATE TABLE tables (
    no INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, hash BLOB NOT NULL, notes BLOB NOT NULL,
    name TEXT NOT NULL DEFAULT '', ruleset TEXT NOT NULL DEFAULT '', currency TEXT NOT NULL DEFAULT '',
    small_bet INTEGER NOT NULL DEFAULT 0, big_bet INTEGER NOT NULL DEFAULT 0);
CREATE TABLE hands (
    no INTEGER PRIMARY KEY, table_no INTEGER NOT NULL, hand_no INTEGER NOT NULL, from_version INTEGER NOT NULL,
    version INTEGER NOT NULL, started_ms INTEGER NOT NULL, ended_ms INTEGER NOT NULL, pot INTEGER NOT NULL,
    rake INTEGER NOT NULL, showdown INTEGER NOT NULL, voided INTEGER NOT NULL, state INTEGER NOT NULL,
    disputed INTEGER NOT NULL DEFAULT 0, UNIQUE (table_no, hand_no));
CREATE INDEX hands_by_time ON hands (ended_ms, table_no, hand_no);
CREATE INDEX hands_by_pot ON hands (pot);
CREATE INDEX hands_disputed ON hands (disputed) WHERE disputed;
CREATE INDEX hands_voided ON hands (voided) WHERE voided;
CREATE TABLE accounts (no INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE players (
    hand INTEGER NOT NULL, seat INTEGER NOT NULL, sitting_no INTEGER NOT NULL, account INTEGER NOT NULL,
    delta INTEGER NOT NULL, PRIMARY KEY (hand, seat)) WITHOUT ROWID;
CREATE INDEX players_by_account ON players (account, hand);
"""

_NOTES: Final = msgspec.msgpack.Decoder(Notes)


class Cursor(NamedTuple):
    """How far a table's log was read: the commit with this version had this hash. 0 = not at all."""

    version: int = 0
    hash: bytes = bytes(32)


class Moved(Exception):
    """Another process has changed the table's rows meanwhile: look at the cursor again."""


class Store:
    """An open index. ``path`` None: in memory."""

    def __init__(self, connection: sqlite3.Connection, path: Path | None) -> None:
        self.db = connection
        self.path = path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self.db.close()

    # --- cursors ---------------------------------------------------------------------------------------------------

    def cursors(self) -> dict[str, Cursor]:
        """How far each table was read."""
        return {name: Cursor(*at) for name, *at in self.db.execute("SELECT id, version, hash FROM tables")}

    def at(self, table: str) -> tuple[Cursor, Notes]:
        """How far one table was read, and what was noted of it there."""
        row = self.db.execute("SELECT version, hash, notes FROM tables WHERE id = ?", (table,)).fetchone()
        if row is None:
            return Cursor(), Notes()
        return Cursor(row[0], row[1]), _NOTES.decode(row[2])

    # --- changes ---------------------------------------------------------------------------------------------------

    def put(self, table: str, before: Cursor, after: Cursor, notes: Notes, found: Gathered) -> None:
        """Take in what the commits between two cursors say, all or nothing. Raises Moved."""
        with self._change() as db:
            if before.version == 0:
                db.execute(
                    "INSERT INTO tables (id, version, hash, notes) VALUES (?, 0, ?, ?) ON CONFLICT DO NOTHING",
                    (table, before.hash, b""),
                )
            row = db.execute(
                "UPDATE tables SET version = ?, hash = ?, notes = ? WHERE id = ? AND version = ? AND hash = ? "
                "RETURNING no",
                (after.version, after.hash, msgspec.msgpack.encode(notes), table, before.version, before.hash),
            ).fetchone()
            if row is None:
                raise Moved(table)
            (table_no,) = row
            if found.opened is not None:
                said = msgspec.structs.astuple(found.opened)
                words = "name = ?, ruleset = ?, currency = ?, small_bet = ?, big_bet = ?"
                db.execute(f"UPDATE tables SET {words} WHERE no = ?", (*said, table_no))  # noqa: S608
            for hand in found.hands:
                _put_hand(db, table_no, hand)
            for decision in found.decisions:
                _put_decision(db, table_no, decision)

    def forget(self, tables: Iterable[str]) -> None:
        """Drop all that is known of some tables: their logs are not there any more, or are others."""
        with self._change() as db:
            for table in tables:
                of_table = "(SELECT no FROM tables WHERE id = ?)"
                hands = f"(SELECT no FROM hands WHERE table_no = {of_table})"  # noqa: S608
                db.execute(f"DELETE FROM players WHERE hand IN {hands}", (table,))  # noqa: S608
                db.execute(f"DELETE FROM hands WHERE table_no = {of_table}", (table,))  # noqa: S608
                db.execute("DELETE FROM tables WHERE id = ?", (table,))

    @contextlib.contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield self.db
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")


def _put_hand(db: sqlite3.Connection, table_no: int, hand: FoundHand) -> None:
    figures = (hand.started_ms, hand.ended_ms, hand.pot, hand.rake, hand.showdown, hand.voided)
    row = db.execute(
        "INSERT INTO hands (table_no, hand_no, from_version, version, started_ms, ended_ms, pot, rake, showdown, "
        "voided, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING no",
        (table_no, hand.hand_no, hand.from_version, hand.version, *figures, State.WAITING),
    ).fetchone()
    for who in hand.players:
        db.execute("INSERT INTO accounts (name) VALUES (?) ON CONFLICT DO NOTHING", (who.account,))
        db.execute(
            "INSERT INTO players (hand, seat, sitting_no, account, delta) "
            "VALUES (?, ?, ?, (SELECT no FROM accounts WHERE name = ?), ?)",
            (row[0], who.seat, who.sitting_no, who.account, who.delta),
        )


def _put_decision(db: sqlite3.Connection, table_no: int, decision: Decision) -> None:
    place = (table_no, decision.hand_no)
    disputed = decision.state is not State.VERIFIED
    db.execute(
        "UPDATE hands SET state = ?, disputed = disputed OR ?, voided = voided OR ? WHERE table_no = ? AND hand_no = ?",
        (decision.state, disputed, decision.state is State.VOID, *place),
    )
    if decision.deltas is None:
        return
    db.execute("UPDATE hands SET rake = ? WHERE table_no = ? AND hand_no = ?", (decision.rake, *place))
    one = "hand = (SELECT no FROM hands WHERE table_no = ? AND hand_no = ?) AND sitting_no = ?"
    for sitting_no, delta in decision.deltas.items():
        db.execute(f"UPDATE players SET delta = ? WHERE {one}", (delta, *place, sitting_no))  # noqa: S608


# --- opening ---------------------------------------------------------------------------------------------------------


def open_store(path: Path) -> Store:
    """Open an index, making it where it is missing, of another version, or no index at all. Raises OSError, and
    sqlite3.OperationalError where the file cannot be written or another process holds it for too long.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        return Store(_connected(path), path)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        discard(path)
        return Store(_connected(path), path)


def in_memory() -> Store:
    """An index for one command."""
    db = _connection(":memory:")
    db.executescript(_TABLES)
    return Store(db, None)


def discard(path: Path) -> None:
    """Remove an index and what SQLite keeps beside it. Whoever has it open goes on with what they have."""
    for name in (path, *beside(path)):
        name.unlink(missing_ok=True)


def beside(path: Path) -> tuple[Path, ...]:
    """Files that SQLite keeps beside the index while it is in use."""
    return tuple([path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal")])


def _connected(path: Path) -> sqlite3.Connection:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # SQLite itself would let others of the machine read it
    db = _connection(path)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")  # with WAL nothing breaks when the machine fails, at most it is older
        _make(db)
    except BaseException:
        db.close()
        raise
    return db


def _connection(path: Path | str) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)


def _make(db: sqlite3.Connection) -> None:
    """Make the tables in an empty file; raises DatabaseError for another version."""
    if _version(db) == SCHEMA:
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        version = _version(db)  # another process may have made them meanwhile
        if version not in {0, SCHEMA} or (version == 0 and db.execute("SELECT 1 FROM sqlite_master").fetchone()):
            raise sqlite3.DatabaseError(f"an index of version {version}: this build reads {SCHEMA}")
        if version == 0:
            for statement in _TABLES.split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {SCHEMA}")
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def is_damaged(error: sqlite3.Error) -> bool:
    """Whether the file's content is to blame, and making it anew would help."""
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
