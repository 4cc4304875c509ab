"""What a made log (`make_log.py`) has besides tables: streams that grow in memory, verdicts, ledgers.

Commits are those of the services: the core decides them, and each names its cause. Nothing is judged here: the tables
are played by the rules, so the verdict on a hand is what its table says. `tests/component/test_made_logs.py` has the
real referee judge some of them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from stud_core.deck_events import DeckClosed
from stud_core.events import HandEnded, HandVoided, ResolutionChoice
from stud_core.ledger import commands as lc
from stud_core.ledger.decide import decide
from stud_core.ledger.evolve import evolve
from stud_core.ledger.names import player
from stud_core.ledger.requests import origin_of
from stud_core.ledger.state import Ledger
from stud_core.rejection import Rejection
from stud_core.verdict_events import Finding, HandDisputed, HandResolved, HandVerified, ResolutionProposed
from stud_eventlog import keys
from stud_eventlog.types import Append, Head
from stud_wire.commits import Meta, encode_commit

BUILD = "made"
DEPOSIT = 100_000_000
"""Minor units: nobody who plays for months at these tables runs out of it soon."""

Cause = tuple[str, int]


class Out:
    """Takes commits as they are made; whoever stores them empties it."""

    def __init__(self) -> None:
        self.appends: list[Append] = []
        self.heads: dict[str, Head] = {}

    def take(self) -> list[Append]:
        """What was made since the last time."""
        taken, self.appends = self.appends, []
        return taken


class Stream:
    """One log: each commit follows from the one before it."""

    def __init__(self, name: str, out: Out, rng: random.Random) -> None:
        self.name = name
        self.head = Head()
        self._out = out
        self._rng = rng

    def append(self, events: Sequence[Any], meta: Meta) -> Head:
        """Write one commit."""
        body = encode_commit(events, meta)
        append = Append(self.name, self.head.version, self.head.hash, self._rng.randbytes(16), body)
        self._out.appends.append(append)
        self.head = self._out.heads[self.name] = append.head
        return self.head


class Book:
    """A currency's ledger."""

    def __init__(self, currency: str, out: Out, rng: random.Random) -> None:
        self.currency = currency
        self.state = Ledger()
        self.stream = Stream(keys.ledger_log(currency), out, rng)
        self._rng = rng

    def book(self, command: Any, now_ms: int, cause: Cause | None = None) -> Cause:
        """Have a command accepted; return where its commit is."""
        events = decide(self.state, command, now_ms)
        if isinstance(events, Rejection) or not events:
            raise AssertionError(f"{command}: {events}")
        origin = origin_of(command)
        meta = Meta(now_ms, origin.actor, origin.request_id, origin.content, cause, BUILD)
        head = self.stream.append(events, meta)
        evolve(self.state, events, head.version, origin)
        return self.stream.name, head.version

    def fill(self, account: str, amount: int, now_ms: int) -> None:
        """See to it that an account is there and can pay an amount."""
        if account not in self.state.accounts:
            self.book(lc.OpenAccount(account, self._request(), account), now_ms)
        if self.state.balance(player(account)) < amount:
            self.book(lc.Deposit(account, DEPOSIT, "paid in", self._request(), "cashier-1"), now_ms)

    def _request(self) -> str:
        return self._rng.randbytes(16).hex()


class Verdicts:
    """The referee's log of one shard."""

    def __init__(self, shard: int, out: Out, rng: random.Random) -> None:
        self.stream = Stream(keys.verdicts(shard), out, rng)
        self._rng = rng

    def verify(self, table: str, currency: str, ended: HandEnded | HandVoided, closed: DeckClosed, cause: Cause,
               now_ms: int) -> tuple[HandVerified, Cause]:  # fmt: skip
        """Say that a hand is right."""
        postings, rake = (ended.deltas, ended.rake) if isinstance(ended, HandEnded) else ((), 0)
        refs = (closed.table, closed.deck)
        event = HandVerified(table, ended.hand_no, closed.outcome, currency, *refs, postings, rake, BUILD)
        return event, self._say(event, Meta(now_ms, cause=cause, build=BUILD))

    def dispute(
        self, table: str, currency: str, ended: HandEnded, closed: DeckClosed, cause: Cause, now_ms: int
    ) -> tuple[HandDisputed, Cause]:
        """Say that a hand is wrong, as a referee with a fault of its own might."""
        event = HandDisputed(
            table=table,
            hand_no=ended.hand_no,
            currency=currency,
            table_ref=closed.table,
            deck_ref=closed.deck,
            findings=(Finding("WRONG_FIGURES", closed.table.stream, closed.table.to_version),),
            table_postings=ended.deltas,
            table_rake=ended.rake,
            referee_postings=(),
            referee_rake=0,
            referee_has_figures=False,
            build=BUILD,
        )
        return event, self._say(event, Meta(now_ms, cause=cause, build=BUILD))

    def resolve(
        self, dispute: HandDisputed, ended: HandEnded, choice: ResolutionChoice, now_ms: int
    ) -> tuple[HandResolved, Cause]:
        """Two operators decide a disputed hand."""
        place = (dispute.table, dispute.hand_no)
        first = ResolutionProposed(*place, choice, "operator-1", "looked at it")
        self._say(first, self._by("operator-1", now_ms))
        kept = choice is ResolutionChoice.TABLE
        event = HandResolved(
            table=dispute.table,
            hand_no=dispute.hand_no,
            currency=dispute.currency,
            choice=choice,
            postings=ended.deltas if kept else (),
            rake=ended.rake if kept else 0,
            stacks=ended.stacks if kept else (),
            operators=("operator-1", "operator-2"),
            reason="looked at it",
        )
        return event, self._say(event, self._by("operator-2", now_ms + 60_000))

    def _by(self, operator: str, now_ms: int) -> Meta:
        return Meta(now_ms, operator, self._rng.randbytes(16).hex(), self._rng.randbytes(32), build=BUILD)

    def _say(self, event: Any, meta: Meta) -> Cause:
        head = self.stream.append([event], meta)
        return self.stream.name, head.version


class House:
    """Ledgers and verdicts of all tables."""

    def __init__(self, seed: int) -> None:
        self.out = Out()
        self.rng = random.Random(f"{seed} house")
        self._books: dict[str, Book] = {}
        self._verdicts: dict[int, Verdicts] = {}

    def book(self, currency: str) -> Book:
        """The ledger of a currency."""
        if currency not in self._books:
            self._books[currency] = Book(currency, self.out, self.rng)
        return self._books[currency]

    def verdicts(self, shard: int) -> Verdicts:
        """The referee's log of a shard."""
        if shard not in self._verdicts:
            self._verdicts[shard] = Verdicts(shard, self.out, self.rng)
        return self._verdicts[shard]
