"""Questions to the index: which hands fit, newest first."""

from __future__ import annotations

import sqlite3
from typing import Any

import msgspec

from stud_cli.index.gathering import State
from stud_cli.index.store import Store

_COLUMNS = (
    "h.no AS no, t.id AS 'table', t.name AS name, t.ruleset AS ruleset, t.currency AS currency, "
    "t.small_bet AS small_bet, t.big_bet AS big_bet, h.hand_no AS hand_no, h.from_version AS from_version, "
    "h.version AS version, h.started_ms AS started_at_ms, h.ended_ms AS ended_at_ms, h.pot AS pot, h.rake AS rake, "
    "h.showdown AS showdown, h.voided AS voided, h.disputed AS disputed, h.state AS state"
)


class Wanted(msgspec.Struct, frozen=True):
    """What hands must be; empty and None ask for nothing. Money in minor units, times in milliseconds since the epoch;
    a hand's time is that of its end, ``since_ms`` included and ``until_ms`` not.
    """

    table: str = ""
    player: str = ""
    since_ms: int | None = None
    until_ms: int | None = None
    min_pot: int | None = None
    showdown: bool = False
    disputed: bool = False
    voided: bool = False

    def terms(self) -> list[tuple[str, tuple[Any, ...]]]:
        """Conditions in SQL with their arguments."""
        asked: list[tuple[object, str, tuple[Any, ...]]] = [
            (self.table, "h.table_no = (SELECT no FROM tables WHERE id = ?)", (self.table,)),
            (
                self.player,
                "h.no IN (SELECT hand FROM players WHERE account = (SELECT no FROM accounts WHERE name = ?))",
                (self.player,),
            ),
            (self.since_ms is not None, "h.ended_ms >= ?", (self.since_ms,)),
            (self.until_ms is not None, "h.ended_ms < ?", (self.until_ms,)),
            (self.min_pot is not None, "h.pot >= ?", (self.min_pot,)),
            (self.showdown, "h.showdown", ()),
            (self.disputed, "h.disputed", ()),
            (self.voided, "h.voided", ()),
        ]
        return [(term, arguments) for is_asked, term, arguments in asked if is_asked]


class Found(msgspec.Struct):
    """Some hands, newest first, and how many fit in all."""

    hands: list[dict[str, Any]]
    total: int


def find(store: Store, wanted: Wanted, limit: int, skip: int = 0) -> Found:
    """Return at most ``limit`` hands behind the first ``skip``. Those that ended together come by table and number."""
    terms = wanted.terms()
    where = " AND ".join([term for term, _ in terms]) or "1"
    arguments = [value for _, values in terms for value in values]
    (total,) = store.db.execute(f"SELECT COUNT(*) FROM hands h WHERE {where}", arguments).fetchone()  # noqa: S608
    order = "ORDER BY h.ended_ms DESC, h.table_no DESC, h.hand_no DESC LIMIT ? OFFSET ?"
    asked = f"SELECT {_COLUMNS} FROM hands h JOIN tables t ON t.no = h.table_no WHERE {where} {order}"  # noqa: S608
    cursor = store.db.execute(asked, (*arguments, limit, skip))
    names = [column[0] for column in cursor.description]
    return Found([_hand(store.db, dict(zip(names, row, strict=True))) for row in cursor.fetchall()], total)


def knows_table(store: Store, table: str) -> bool:
    """Whether there is such a table."""
    return store.db.execute("SELECT 1 FROM tables WHERE id = ?", (table,)).fetchone() is not None


def knows_player(store: Store, player: str) -> bool:
    """Whether this account was ever dealt in."""
    return store.db.execute("SELECT 1 FROM accounts WHERE name = ?", (player,)).fetchone() is not None


def _hand(db: sqlite3.Connection, row: dict[str, Any]) -> dict[str, Any]:
    number = row.pop("no")
    for flag in ("showdown", "voided", "disputed"):
        row[flag] = bool(row[flag])
    row["state"] = State(row["state"]).word
    asked = (
        "SELECT p.seat, a.name, p.delta FROM players p JOIN accounts a ON a.no = p.account WHERE p.hand = ? "
        "ORDER BY p.seat"
    )
    row["players"] = [
        {"seat": seat, "account": account, "delta": delta} for seat, account, delta in db.execute(asked, (number,))
    ]
    return row
