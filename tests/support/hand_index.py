"""Logs for tests of the index of hands, what is in an index, and what must not be."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benches.made_house import House
from benches.made_table import MadeTable
from benches.make_log import FIRST_MS, NEXT_MS, config_of
from stud_cli.index.store import Store
from stud_core.cards import RANKS, SUITS
from stud_eventlog.memory import MemoryEventLog
from stud_service.keyring import KeyRing

RING = KeyRing({name: name[:1].encode() * 32 for name in ("dealer", "down", "referee")})
ACCOUNTS = [f"player-{number}" for number in range(20)]

PUBLIC = {
    "tables": {"no", "id", "version", "hash", "notes", "name", "ruleset", "currency", "small_bet", "big_bet"},
    "hands": {
        *{"no", "table_no", "hand_no", "from_version", "version", "started_ms", "ended_ms", "pot", "rake"},
        *{"showdown", "voided", "state", "disputed"},
    },
    "accounts": {"no", "name"},
    "players": {"hand", "seat", "sitting_no", "account", "delta"},
}
"""Everything that an index has room for; what is not here needs a reason, and a look at whether it is public."""

CARD = re.compile(rf"(?<![\w-])[{RANKS}]\s?[{SUITS}♣♦♥♠](?![\w-])")
"""A card as anything here would write it."""


class Made:
    """A house whose tables are played in memory, hand by hand."""

    def __init__(self, tables: int = 1, seed: int = 1) -> None:
        self.house = House(seed)
        self.log = MemoryEventLog()
        self.tables = [
            MadeTable(self.house, config_of(number), RING, ACCOUNTS, seed, FIRST_MS + number * NEXT_MS)
            for number in range(tables)
        ]

    async def play(self, hands: int) -> MemoryEventLog:
        """Play hands at every table; return the log with all that was played so far."""
        for _ in range(hands):
            for table in self.tables:
                table.play_hand()
        for append in self.house.out.take():
            await self.log.append(append)
        return self.log


def rows(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """What an index says, without the numbers that it gives rows itself."""
    asked = {
        "tables": "SELECT id, version, hash, notes, name, ruleset, currency, small_bet, big_bet FROM tables "
        "ORDER BY id",
        "hands": "SELECT t.id, h.hand_no, h.from_version, h.version, h.started_ms, h.ended_ms, h.pot, h.rake, "
        "h.showdown, h.voided, h.state, h.disputed FROM hands h JOIN tables t ON t.no = h.table_no "
        "ORDER BY t.id, h.hand_no",
        "players": "SELECT t.id, h.hand_no, p.seat, p.sitting_no, a.name, p.delta FROM players p "
        "JOIN hands h ON h.no = p.hand JOIN tables t ON t.no = h.table_no JOIN accounts a ON a.no = p.account "
        "ORDER BY t.id, h.hand_no, p.seat",
    }
    return {name: store.db.execute(text).fetchall() for name, text in asked.items()}


def leaks(store: Store, secrets: list[bytes], path: Path | None = None) -> list[str]:
    """What an index must not hold and does: columns nobody has looked at, cards in words, secrets in any value."""
    found = []
    for (name,) in store.db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        columns = {row[1] for row in store.db.execute(f"PRAGMA table_info({name})")}
        found += [f"column {name}.{column}" for column in sorted(columns - PUBLIC.get(name, set()))]
        for row in store.db.execute(f"SELECT * FROM {name}"):
            found += [f"{name}: {value!r}" for value in row if _is_secret(value, secrets)]
    if path is not None:
        data = path.read_bytes()
        found += [f"{path.name}: bytes" for secret in secrets if secret in data]
    return found


def _is_secret(value: object, secrets: list[bytes]) -> bool:
    if isinstance(value, str):
        return CARD.search(value) is not None or any(secret.hex() in value for secret in secrets)
    return isinstance(value, bytes) and any(secret in value for secret in secrets)


FIELDS = {
    *{"table", "name", "ruleset", "currency", "small_bet", "big_bet", "hand_no", "from_version", "version", "pot"},
    *{"started_at_ms", "ended_at_ms", "rake", "showdown", "voided", "disputed", "state", "players"},
}
"""Of a hand, as `stud hands --json` prints it."""


def leaks_in_json(answer: dict[str, Any]) -> list[str]:
    """What an answer must not hold and does: fields nobody has looked at, and cards in words."""
    found = [f"field {name}" for hand in answer["hands"] for name in sorted(hand.keys() - FIELDS)]
    players = [who for hand in answer["hands"] for who in hand["players"]]
    found += [f"field {name}" for who in players for name in sorted(who.keys() - {"seat", "account", "delta"})]
    return found + [text for text in texts_of(answer) if CARD.search(text)]


def texts_of(value: object) -> Iterator[str]:
    """Every text in a JSON value, names of fields too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from texts_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_of(inner)


def shuffled_cuts(commits: int, seed: int) -> list[int]:
    """Places at which to stop reading a log of so many commits, in order."""
    return sorted(random.Random(seed).sample(range(1, commits), min(40, commits - 1)))
