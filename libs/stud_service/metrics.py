"""What a process tells Prometheus: the one table of it. The page for operators is made from this table, and the alert
rules and the dashboard are held against it.

A label has words of ours as values, the few that its pattern allows; anything else is told as OTHER. So nothing that
somebody chose (an account, a table's name, what an operator wrote) and no card can be in one, and there are never more
series than the table says.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from stud_core.events import Verb
from stud_core.state import SYSTEM_PAUSES, Phase
from stud_eventlog import keys
from stud_eventlog.trouble import CODES as LOG_TROUBLES
from stud_service.limits import Limit
from stud_service.refusals import CODES
from stud_topology.services import EDGE, NAMES, PROCESSES

OTHER: Final = "OTHER"


class Label(NamedTuple):
    """`values` is a pattern of all that it may be, besides OTHER."""

    name: str
    meaning: str
    values: re.Pattern[str]


def _words(name: str, meaning: str, *words: str) -> Label:
    return Label(name, meaning, re.compile("|".join(sorted(words))))


_VERB = _words("verb", "what was done", *Verb.__members__)
_PHASE = _words("phase", "what the hand waits for", *Phase.__members__)
_REASON = _words("reason", "as in docs/errors.md", *CODES)
_PAUSE = _words("reason", "why; OTHER is what an operator gave", *CODES, *SYSTEM_PAUSES, *LOG_TROUBLES)
_TROUBLE = _words("code", "as under `paused` in docs/runbook.md", *LOG_TROUBLES)
_VERDICT = _words("verdict", "what was found", "VERIFIED", "DISPUTED")
_WATCHED = _words("what", "what is watched", "lobby", "me")
_SHARD = _words("shard", "s00 to s63", *map(keys.shard_name, range(keys.SHARDS)))
_CURRENCY = Label("currency", "a currency that is served", re.compile("[A-Z]{3}"))
_SOURCE = _words(
    "source", "what is read again and again", "public_key", "jwks_file", "jwks_url", "revoked", "certificate"
)
_LIMIT = _words("kind", "which limit", *Limit)
_BUILD = Label("build", "STUD_BUILD", re.compile(".{1,64}"))

SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
NUMBERS: Final = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 1024.0)


class Metric(NamedTuple):
    """`bounds` are the upper bounds of a histogram's buckets, `of` the services that tell it."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    meaning: str
    label: Label | None = None
    bounds: tuple[float, ...] = ()
    of: tuple[str, ...] = NAMES


EVERY: Final = tuple(process.name for process in PROCESSES)
"""What the edge tells too."""

BUILD_INFO = Metric("stud_build_info", "gauge", "1; the build that runs", _BUILD, of=EVERY)
SERVING = Metric("stud_serving", "gauge", "1 where the service serves, as its health says", of=EVERY)
REFUSALS = Metric("stud_refusals_total", "counter", "calls and commands that were refused", _REASON, of=EVERY)
LOOP_LAG = Metric(
    "stud_event_loop_lag_seconds", "histogram", "how late a timer of the process fires", None, SECONDS, EVERY
)

LIMITED = Metric("stud_limited_total", "counter", "calls and commands that were refused as too many", _LIMIT, of=EVERY)
WAITED = Metric("stud_waited_total", "counter", "calls that a limit made wait for their turn", _LIMIT)
UNDER_WAY = Metric("stud_calls_under_way", "gauge", "calls and streams that hold a place now", _LIMIT)
TOKEN_KEYS = Metric("stud_token_keys", "gauge", "keys that tokens are verified with")
REVOKED = Metric("stud_tokens_revoked", "gauge", "revoked tokens that would still be good")
TRUST_STALE = Metric(
    "stud_trust_stale_seconds",
    "gauge",
    "for how long a source of trust could not be read; 0 where it could; meanwhile what it said last is good",
    _SOURCE,
)
CERTIFICATE_DAYS = Metric(
    "stud_certificate_days_left", "gauge", "days until the service's own certificate ends; +Inf without TLS"
)

LOG_AVAILABLE = Metric("stud_log_available", "gauge", "1 where the log answers and holds what it acknowledged")
LOG_TROUBLE = Metric(
    "stud_log_trouble", "gauge", "1 for what is wrong with the log; no series where nothing is", _TROUBLE
)
LOG_MEMORY = Metric("stud_log_memory_bytes", "gauge", "memory that the log's server uses, as last looked at")
LOG_MEMORY_LIMIT = Metric(
    "stud_log_memory_limit_bytes", "gauge", "its `maxmemory`; without one, the memory of its machine"
)
APPEND_SECONDS = Metric(
    "stud_append_seconds", "histogram", "from sending a batch of commits to its last answer", None, SECONDS
)
APPEND_COMMITS = Metric("stud_append_batch_commits", "histogram", "commits in a batch", None, NUMBERS)

FEED_ENTRIES = Metric("stud_feed_entries_total", "counter", "entries read from feeds")
FEED_LAG = Metric("stud_feed_lag_seconds", "gauge", "age of the oldest entry that is read and not yet passed", _SHARD)
FEEDS_STALLED = Metric("stud_feeds_stalled", "gauge", "feeds that stand still")
PARKED_LINES = Metric("stud_parked_lines", "gauge", "tables with a message that could not be handled")

_TABLE, _RULES, _WALLET = ("table",), ("rules",), ("wallet",)
ACTIONS = Metric("stud_actions_total", "counter", "players' actions that are durable", _VERB, of=_TABLE)
ACT_SECONDS = Metric(
    "stud_act_seconds", "histogram", "from a player's command to its durable result", None, SECONDS, _TABLE
)
FAN_OUT = Metric("stud_fan_out_viewers", "histogram", "viewers that are told of a commit", None, NUMBERS, _TABLE)
VIEWERS = Metric("stud_viewers", "gauge", "Play and Watch streams that follow a table", of=_TABLE)
WATCHERS = Metric("stud_watchers", "gauge", "streams of the lobby, and of players' own facts", _WATCHED, of=_TABLE)
VIEWERS_DROPPED = Metric("stud_viewers_dropped_total", "counter", "viewers that were too slow", of=_TABLE)
TABLES = Metric("stud_tables", "gauge", "tables in memory that are not closed", of=_TABLE)
TABLES_STANDING = Metric("stud_tables_standing", "gauge", "tables that start no hand", _PAUSE, of=_TABLE)
HANDS = Metric("stud_hands", "gauge", "running hands", _PHASE, of=_TABLE)
HANDS_ENDED = Metric("stud_hands_ended_total", "counter", "hands that ended, voided ones too", of=_TABLE)
VERDICT_SECONDS = Metric(
    "stud_verdict_seconds", "histogram", "from a hand's end to the table's having the verdict", None, SECONDS, _TABLE
)
DISPUTES = Metric("stud_disputes", "gauge", "tables whose last hand is in dispute", of=_TABLE)

VERDICTS = Metric("stud_verdicts_total", "counter", "verdicts of the referee", _VERDICT, of=_RULES)
UNVERIFIED = Metric("stud_hands_unverified", "gauge", "hands that the referee cannot judge now", of=_RULES)

ESCROW = Metric("stud_escrow_minor_units", "gauge", "chips in escrow, in minor units", _CURRENCY, of=_WALLET)
UNSETTLED = Metric(
    "stud_tables_unsettled",
    "gauge",
    "tables with a final verdict that waits to be booked for longer than ten seconds",
    of=_WALLET,
)
BLOCKED = Metric("stud_settlements_blocked", "gauge", "tables whose settlement is blocked", _CURRENCY, of=_WALLET)
CASH_OUTS_HELD = Metric("stud_cash_outs_held", "gauge", "cash-outs that are held", _CURRENCY, of=_WALLET)

_EDGE = (EDGE.name,)
EDGE_CALLS = Metric("stud_edge_calls", "gauge", "calls and streams of browsers that are under way", of=_EDGE)
EDGE_UPDATES = Metric("stud_edge_updates_total", "counter", "updates that were handed on to browsers", of=_EDGE)
EDGE_CONNECTIONS = Metric("stud_edge_connections", "gauge", "connections of browsers", of=_EDGE)
EDGE_CONNECTIONS_REFUSED = Metric(
    "stud_edge_connections_refused_total", "counter", "connections that were one too many", of=_EDGE
)
EDGE_CUT_OFF = Metric("stud_edge_cut_off_total", "counter", "readers that took nothing, and were cut off", of=_EDGE)

METRICS: Final = tuple(found for found in list(globals().values()) if isinstance(found, Metric))
"""All of them, in the order of this file."""
