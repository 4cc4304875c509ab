"""What the event log may refuse, and why.

EventLogError
├── VersionConflict   somebody else wrote first; nothing of this append was written
├── LogUnavailable    no answer, or the server refuses work for now; nothing of this call was written
├── LogBehind         the log lacks commits it had acknowledged to this process
├── ChainBroken       a stored commit does not follow from the one before it
├── NotInitialised    the mark of an initialised log is missing
│   └── AnotherLog    it is there, but is that of another log than the one that was met before
├── UnusableUrl       the address of the server cannot be one
└── UnsafeServer      the server's settings may lose acknowledged commits
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stud_eventlog.types import Head


class EventLogError(Exception):
    """The base of everything that this package raises on purpose (besides ValueError for impossible arguments)."""


class VersionConflict(EventLogError):
    """The stream is not where the writer believed. `actual` may equal `expected`: then its head is another commit."""

    def __init__(self, stream: str, expected: int, actual: int) -> None:
        self.stream, self.expected, self.actual = stream, expected, actual
        if actual == expected:
            text = f"version {actual} is there with another hash than prev_hash; read the stream again and decide anew"
        else:
            text = f"expected version {expected}, but it is at {actual}; an append would have to expect {actual}"
        super().__init__(f"{stream}: {text}")


class LogUnavailable(EventLogError):
    """The log cannot serve this call now.

    An append that raises it has surely not been written, unless the log was closed under it (the message says so).
    """


class LogBehind(EventLogError):
    """The log lost commits that it had acknowledged, and their bytes are no longer held here.

    Nothing may be appended to the stream until somebody has looked.
    """

    def __init__(self, stream: str, acknowledged: Head, found: Head) -> None:
        self.stream, self.acknowledged, self.found = stream, acknowledged, found
        super().__init__(
            f"{stream}: version {acknowledged.version} ({acknowledged.hash.hex()[:12]}…) was acknowledged, but the "
            f"log holds {found.version} ({found.hash.hex()[:12]}…); it should hold at least the acknowledged one"
        )


class ChainBroken(EventLogError):
    """The stored bytes at `version` are not the successor of what is before them: edited, missing or malformed."""

    def __init__(self, stream: str, version: int, why: str = "its hash should follow from the commit before") -> None:
        self.stream, self.version, self.why = stream, version, why
        super().__init__(f"{stream}: broken at version {version}: {why}")


class NotInitialised(EventLogError):
    """The log was never initialised, or lost everything. Starting over silently would hide a loss of data."""

    def __init__(self) -> None:
        super().__init__(
            "the log has no mark of initialisation (stud:initialised): either it is new and must be initialised once, "
            "explicitly, or it lost its data and must be restored"
        )


class AnotherLog(NotInitialised):
    """The log was initialised anew under this process: what it had acknowledged is not in it."""

    def __init__(self) -> None:
        EventLogError.__init__(
            self,
            "the log has another mark of initialisation (stud:initialised) than before: it was emptied and initialised "
            "again, or is another one; what was acknowledged must be restored",
        )


class UnusableUrl(EventLogError, ValueError):
    """The address that was given cannot be one. The text does not quote it: it may hold a password."""

    def __init__(self) -> None:
        super().__init__(
            "the address of the log cannot be used: want redis://[user:password@]host:port[/db], rediss:// or unix://, "
            "for instance redis://127.0.0.1:7100/0"
        )


class UnsafeServer(EventLogError):
    """The server could lose acknowledged commits. `problems` has a line per setting, with the right value."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = list(problems)
        super().__init__("the server may lose acknowledged commits: " + "; ".join(self.problems))
