"""Entries of a ledger as whoever asks is shown them: a player is not told whose the other players' accounts are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stud.events.v1 import ledger_events_pb2
from stud.wallet.v1 import wallet_service_pb2 as pb
from stud_core.ledger.names import player
from stud_core.ledger.postings import postings_of
from stud_eventlog.log import CommitLog
from stud_eventlog.types import StoredCommit
from stud_wire.commits import decode_commit
from wallet_service.account_index import runs, touched
from wallet_service.book import Book

READ_S = 0.0002
"""What reading a commit costs of the loop's time, whatever is then done with it."""


async def read_transfers(
    log: CommitLog, book: Book, versions: Iterable[int], account: str, shown_to: str
) -> list[pb.Transfer]:
    """Return the entries of these versions that touch an account, as ``shown_to`` may see them (empty: whole)."""
    found: list[pb.Transfer] = []
    for first, number in runs(versions):
        for stored in await log.read(book.stream, after=first - 1, limit=number):
            with book.heavy.work():
                found += _transfers(stored, account, shown_to)
            book.heavy.worked(READ_S)
            await book.heavy.rest()
    return found


def _transfers(stored: StoredCommit, account: str, shown_to: str) -> list[pb.Transfer]:
    commit = decode_commit(stored.body)
    return [
        _transfer(event, stored.version, commit.meta.at_ms, shown_to)
        for event in commit.events
        if account in touched(event)
    ]


def _transfer(event: Any, version: int, at_ms: int, shown_to: str) -> pb.Transfer:
    return pb.Transfer(
        version=version,
        at_ms=at_ms,
        kind=type(event).__name__,
        table=getattr(event, "table", ""),
        hand_no=getattr(event, "hand_no", 0),
        reference=getattr(event, "reference", ""),
        postings=[
            ledger_events_pb2.Posting(account=_shown(line.account, shown_to), amount=line.amount)
            for line in postings_of(event)
        ],
    )


def _shown(name: str, shown_to: str) -> str:
    others = shown_to and name.startswith(player("")) and name != player(shown_to)
    return player("(another)") if others else name
