"""How much one caller may ask for: how often, how much at once, and no more than a share of the loop's time.

Calls that come faster are answered later, each in its turn, and only a long line is refused: RATE_LIMITED, with the
limit and in `retry_after_ms` when the next one is taken. All of it is memory of this process and of the last seconds:
what is as full as it can be is forgotten.

A refusal costs nearly what an answer costs. So those who keep being refused are told one after the other,
`REFUSALS_PER_S` for each of them: a client that waits for its answers cannot ask faster than that. One that has a
thousand calls under way could; then each waits for some seconds, all for different ones. To tell them at once was
tried: they ask again at once, and everybody else waits for them.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from enum import StrEnum
from time import perf_counter
from typing import Generic, TypeVar

from stud_service.refusals import Refused
from stud_service.settings import MANY, ServiceSettings

RATE_LIMITED = "RATE_LIMITED"
REFUSALS_PER_S = 20


class Limit(StrEnum):
    """The limits there are, as metrics and refusals name them."""

    ACCOUNT_CALLS = "ACCOUNT_CALLS"
    ACCOUNT_AT_ONCE = "ACCOUNT_AT_ONCE"
    ACCOUNT_STREAMS = "ACCOUNT_STREAMS"
    CONNECTION_CALLS = "CONNECTION_CALLS"
    STRANGERS = "STRANGERS"
    WRONG_TOKENS = "WRONG_TOKENS"
    HEALTH_WATCHERS = "HEALTH_WATCHERS"
    REFLECTION = "REFLECTION"
    TABLE_COMMANDS = "TABLE_COMMANDS"
    LOBBY_STREAMS = "LOBBY_STREAMS"
    LISTS = "LISTS"
    CLOSED_TABLES = "CLOSED_TABLES"
    EDGE_ADDRESS = "EDGE_ADDRESS"


LINE_S = 5.0
"""How long a call waits for its turn; one that would wait longer is refused: its caller has a deadline."""

LONGEST_HOLD_S = 5.0
"""How long a refusal waits for its turn. Where the line is longer it waits about as long, by half more or less: what
came at the same moment must not be told, and come again, at the same moment. Measured with four times 250 calls under
way: another player's p99 is 34 ms; where all wait equally long it is 110 to 570 ms.
"""

ANONYMOUS_PER_S, ANONYMOUS_BURST = 10, 20
"""Health checks of one connection: faster ones are answered later, none is refused for that."""

WRONG_PER_S, WRONG_BURST = 5, 20
"""Wrong tokens from one host: after these each refusal waits. Its signature costs as much as two calls."""

STAFF = frozenset({"operator", "cashier", "auditor", "service"})
STAFF_FACTOR = 50
"""Whoever has one of these roles may have fifty times as much: a back end acts under one name for many people."""

SWEEP_ABOVE = 1024
ROUNDING_S = 1e-6
SLICE_S = 0.003
"""Heavy work lets others have their turn after this much of it."""

CREDIT_S = 0.05
"""Heavy work that may be done at once after a quiet time."""

Key = TypeVar("Key")


def now_s() -> float:
    """Seconds of the loop's clock, which no one can set."""
    return asyncio.get_running_loop().time()


class Rate(Generic[Key]):
    """A bucket of `burst` calls for each key, filled again by `per_s`. A number for each: when it will be full."""

    def __init__(self, per_s: float, burst: int) -> None:
        self._interval_s = 1 / per_s
        self._whole_s = burst / per_s
        self._full_at: dict[Key, float] = {}
        self._sweep_above = SWEEP_ABOVE

    def __len__(self) -> int:
        return len(self._full_at)

    def take(self, key: Key, factor: int = 1, patience_s: float = 0.0) -> float:
        """Return in how many seconds there is a call for the key. It is taken if that is within its patience, and the
        next one comes after it. `factor`: the key's bucket is that much bigger.
        """
        now = now_s()
        full_at = max(self._full_at.get(key, now), now) + self._interval_s / factor
        wait_s = full_at - now - self._whole_s
        if wait_s <= patience_s + ROUNDING_S:
            self._full_at[key] = full_at
            if len(self._full_at) > self._sweep_above:
                self._sweep(now)
        return wait_s if wait_s > ROUNDING_S else 0.0

    def _sweep(self, now: float) -> None:
        """Forget the full ones; then not again before there are twice as many, so that it costs each call little."""
        self._full_at = {key: at for key, at in self._full_at.items() if at > now}
        self._sweep_above = max(SWEEP_ABOVE, 2 * len(self._full_at))


class Places(Generic[Key]):
    """How many at the same time, for each key and in all."""

    def __init__(self, each: int, total: int, what: str, kind: Limit) -> None:
        self._each, self._total, self._what, self._kind = each, total, what, kind
        self._held: Counter[Key] = Counter()
        self._in_all = 0

    def __len__(self) -> int:
        return self._in_all

    @contextmanager
    def hold(self, key: Key, factor: int = 1) -> Iterator[None]:
        """Raises Refused(RATE_LIMITED) where there is no place left."""
        most = self._each * factor
        if self._held[key] >= most:
            raise limited(f"{most} {self._what} at a time are all that one may have", 1.0, most, self._kind)
        if self._in_all >= self._total:
            raise limited(f"all {self._total} places for {self._what} are taken", 1.0, self._total, self._kind)
        self._held[key] += 1
        self._in_all += 1
        try:
            yield
        finally:
            self._in_all -= 1
            self._held[key] -= 1
            if not self._held[key]:
                del self._held[key]


def limited(text: str, wait_s: float, limit: float, kind: Limit) -> Refused:
    """Returns the refusal of somebody who asks for too much; `limit` is how much they may have."""
    wait_ms = max(1, math.ceil(wait_s * 1000))
    return Refused(RATE_LIMITED, text, retry_after_ms=str(wait_ms), limit=f"{limit:g}", kind=kind)


def count(why: Refused, refusals: Counter[str], by_limit: Counter[str]) -> None:
    """Counts a refusal by its reason, and by the limit that it comes of."""
    refusals[why.reason] += 1
    if why.reason == RATE_LIMITED:
        by_limit[why.metadata.get("kind", "")] += 1


class Limits:
    """The limits of a process. `calls` and `at_once` are by account, `refusals` by account or connection, `connections`
    by connection, `strangers` by host.
    """

    def __init__(self, settings: ServiceSettings, waited: Counter[str] | None = None) -> None:
        """`waited` counts calls that a limit made wait, by the limit."""
        self.waited: Counter[str] = Counter() if waited is None else waited
        self._calls_per_s = settings.calls_per_s
        self._connection_per_s = settings.connection_calls_per_s
        self.calls: Rate[str] = Rate(settings.calls_per_s, settings.calls_burst)
        self.at_once: Places[str] = Places(settings.calls_at_once, MANY, "calls", Limit.ACCOUNT_AT_ONCE)
        self.connections: Rate[str] = Rate(settings.connection_calls_per_s, settings.connection_calls_burst)
        self.wrong: Rate[str] = Rate(WRONG_PER_S, WRONG_BURST)
        self.anonymous: Rate[str] = Rate(ANONYMOUS_PER_S, ANONYMOUS_BURST)
        self.refusals: Rate[str] = Rate(REFUSALS_PER_S, 1)
        self.strangers: Places[str] = Places(
            settings.strangers_per_host, settings.strangers, "calls without a good token", Limit.STRANGERS
        )
        self.streams: Places[str] = Places(
            settings.streams_per_account, settings.streams, "streams", Limit.ACCOUNT_STREAMS
        )
        self.watchers: Places[str] = Places(
            settings.health_watchers, settings.health_watchers, "health watchers", Limit.HEALTH_WATCHERS
        )
        self.reflections: Places[str] = Places(
            settings.reflection_streams, settings.reflection_streams, "reflection streams", Limit.REFLECTION
        )

    def under_way(self) -> dict[str, float]:
        """Returns how many calls hold places of each kind now."""
        places = {
            Limit.ACCOUNT_AT_ONCE: self.at_once,
            Limit.ACCOUNT_STREAMS: self.streams,
            Limit.STRANGERS: self.strangers,
            Limit.HEALTH_WATCHERS: self.watchers,
            Limit.REFLECTION: self.reflections,
        }
        return {str(kind): len(place) for kind, place in places.items()}

    async def connection(self, connection: str) -> None:
        """Count a call, and wait for its connection's turn. Raises Refused(RATE_LIMITED) where that takes too long."""
        wait_s = self.connections.take(connection, patience_s=LINE_S)
        if wait_s > LINE_S + ROUNDING_S:
            per_s = self._connection_per_s
            text = f"{per_s} calls a second are all that a connection may make"
            raise limited(text, wait_s - LINE_S, per_s, Limit.CONNECTION_CALLS)
        await self._wait(wait_s, Limit.CONNECTION_CALLS)

    async def call(self, account: str, roles: AbstractSet[str] = frozenset()) -> None:
        """Count a call, and wait for its turn. Raises Refused(RATE_LIMITED) where that would take too long."""
        factor = factor_of(roles)
        wait_s = self.calls.take(account, factor, LINE_S)
        if wait_s > LINE_S + ROUNDING_S:
            per_s = self._calls_per_s * factor
            text = f"{per_s} calls a second are all that an account may make"
            raise limited(text, wait_s - LINE_S, per_s, Limit.ACCOUNT_CALLS)
        await self._wait(wait_s, Limit.ACCOUNT_CALLS)

    async def _wait(self, seconds: float, kind: Limit) -> None:
        if seconds:
            self.waited[kind] += 1
            await asyncio.sleep(seconds)

    def note(self, account: str, roles: AbstractSet[str] = frozenset()) -> bool:
        """Count a call that is taken in any case; returns whether it is one too many."""
        return self.calls.take(account, factor_of(roles)) > 0

    async def hold(self, who: str) -> None:
        """Wait until it is the turn of somebody's next refusal."""
        await _in_turn(self.refusals, who)

    async def slow(self, connection: str) -> None:
        """Wait where a connection asks too often for what needs no token."""
        await _in_turn(self.anonymous, connection)

    async def wrong_token(self, connection: str) -> None:
        """Wait where wrong tokens come too often from the host of a connection ("ipv4:127.0.0.1:50000")."""
        self.waited[Limit.WRONG_TOKENS] += 1
        await _in_turn(self.wrong, host_of(connection))


def host_of(connection: str) -> str:
    """Returns the host of a connection as gRPC names it: "ipv4:127.0.0.1:50000"."""
    return connection.rpartition(":")[0]


async def _in_turn(rate: Rate[str], who: str) -> None:
    wait_s = rate.take(who, patience_s=LONGEST_HOLD_S)
    if wait_s > LONGEST_HOLD_S:
        wait_s = LONGEST_HOLD_S * (0.5 + random.random())  # noqa: S311  (spreads refusals, no secret)
    if wait_s:
        await asyncio.sleep(wait_s)


def factor_of(roles: AbstractSet[str]) -> int:
    return 1 if STAFF.isdisjoint(roles) else STAFF_FACTOR


class Share:
    """Heavy work of this process, all of it together: a share of the loop's time, in small steps.

    Between two steps `with share.work():` comes `await share.rest()`. What waits for others in between is not counted.
    """

    def __init__(self, percent: int) -> None:
        self.alone = asyncio.Lock()
        """For what should not even wait in numbers."""
        self._part = percent / 100
        self._owed_until = -math.inf
        self._unbroken_s = 0.0

    @contextmanager
    def work(self) -> Iterator[None]:
        began = perf_counter()
        try:
            yield
        finally:
            self.worked(perf_counter() - began)

    def worked(self, seconds: float) -> None:
        self._unbroken_s += seconds
        self._owed_until = max(self._owed_until, now_s()) + seconds / self._part

    async def rest(self) -> None:
        """Give way: for a moment after every few milliseconds of work, and for longer where the share is used up."""
        wait_s = self._owed_until - now_s() - CREDIT_S / self._part
        if wait_s <= 0 and self._unbroken_s < SLICE_S:
            return
        self._unbroken_s = 0.0
        await asyncio.sleep(max(wait_s, 0))
