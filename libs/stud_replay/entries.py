"""What the log itself says of a version: its place in the chain of hashes, what caused it, whose call it was."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from stud_eventlog.types import StoredCommit
from stud_replay.viewing import Viewer
from stud_wire.commits import DecodedCommit


class Made(StrEnum):
    """Who or what made a commit."""

    CALL = "call"
    DEALER = "dealer"
    REFEREE = "referee"
    WALLET = "wallet"
    TABLE = "table"
    HIDDEN = "hidden"

    @property
    def words(self) -> str:
        """For people."""
        return _WORDS[self]


_WORDS = {
    Made.CALL: "somebody's call",
    Made.DEALER: "what the dealer said",
    Made.REFEREE: "what the referee said",
    Made.WALLET: "what the wallet said",
    Made.TABLE: "the table itself: a clock ran out, or something was due",
    Made.HIDDEN: "not for a player's eyes",
}


class LogEntry(msgspec.Struct, frozen=True):
    """A commit's place in its log. A player was told version and hashes; the rest is empty for their eyes.

    ``cause`` is stream and version of the message that made it, None = there was none; ``actor`` the account whose call
    it was, empty = nobody's.
    """

    version: int
    hash: bytes
    previous_hash: bytes
    made_by: Made
    cause: tuple[str, int] | None = None
    actor: str = ""
    request_id: str = ""
    build: str = ""


def entry_of(stored: StoredCommit, commit: DecodedCommit, viewer: Viewer) -> LogEntry:
    """Return what a viewer may know of a commit as it was stored."""
    if viewer.account:
        return LogEntry(stored.version, stored.hash, stored.prev_hash, Made.HIDDEN)
    meta = commit.meta
    made = _made_by(meta.actor, meta.cause)
    return LogEntry(
        stored.version, stored.hash, stored.prev_hash, made, meta.cause, meta.actor, meta.request_id, meta.build
    )


def _made_by(actor: str, cause: tuple[str, int] | None) -> Made:
    if actor:
        return Made.CALL
    if cause is None:
        return Made.TABLE
    stream = cause[0]
    if ":deck:" in stream:
        return Made.DEALER
    if stream.endswith(":verdicts"):
        return Made.REFEREE
    return Made.WALLET if stream.startswith("{ledger:") else Made.TABLE
