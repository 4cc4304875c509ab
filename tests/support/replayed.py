"""Replays of what was played in memory, and what cards a text, JSON or picture tells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from stud.common.v1 import card_pb2
from stud_core.cards import parse_card
from stud_core.presets import table_config
from stud_core.ruleset import BuyInLimit, Ruleset
from stud_core.state import Table
from stud_eventlog.types import StoredCommit
from stud_replay.frames import Frame, Projector
from stud_replay.timeline import Timeline
from stud_replay.viewing import OPERATOR, Viewer
from tests.support.system_core import Twins

_SUITS = {"♣": "c", "♦": "d", "♥": "h", "♠": "s"}
_SHORT = re.compile(r"(?<![0-9A-Za-z])([2-9TJQKA])([cdhs♣♦♥♠])(?![0-9A-Za-z])")
_OPAQUE = re.compile(r"[0-9A-Za-z+/]{40,}={0,2}")
"""Hashes and commitments, which may look like a card between two signs; what is sealed is looked for by a canary."""


def timeline_of(commits: Iterable[StoredCommit], table: str = "t-1", **settings: Any) -> Timeline:
    timeline = Timeline(table, **settings)
    for commit in commits:
        timeline.add(commit)
    return timeline


def frames_of(
    commits: Sequence[StoredCommit], viewer: Viewer = OPERATOR, table: str = "t-1", before: Table | None = None
) -> Iterator[Frame]:
    projector = Projector(table, before or Table(), viewer)
    for commit in commits:
        yield projector.show(commit)


def cards_in(text: str) -> set[int]:
    """Every card that a text names, in any of the ways in which cards are written: ``Kd``, ``K♦``, ``CARD_...``."""
    text = _OPAQUE.sub(" ", text)
    found = {parse_card(rank + _SUITS.get(suit, suit)) for rank, suit in _SHORT.findall(text)}
    names = {f'"{name}"': number - 1 for name, number in card_pb2.Card.items() if number}
    return found | {card for name, card in names.items() if name in text}


def cards_seen(table: Table) -> set[int]:
    """Every card that lies face up after a version, of the running hand and of the last one."""
    seen: set[int] = set()
    for hand in (table.hand, table.last_hand):
        if hand is not None:
            seen.update(*hand.up, *hand.shown)
            seen |= {hand.community} if hand.community is not None else set()
    return seen


def commits_of(bodies: Sequence[bytes], stream: str = "{s01}:table:t-1") -> list[StoredCommit]:
    """A log of its own of these commits."""
    out: list[StoredCommit] = []
    for version, body in enumerate(bodies, 1):
        out.append(StoredCommit(stream, version, out[-1].hash if out else bytes(32), version.to_bytes(16, "big"), body))
    return out


class RandomTable(Twins):
    """Random play of the core with all that it may bring: any stacks, time-outs, voids, people who come and go."""

    def __init__(self, ruleset: Ruleset, seed: int, hands: int) -> None:
        rules = replace(ruleset, min_buy_in=BuyInLimit(amount=1), max_buy_in=None)
        super().__init__(table_config(rules, table_id="t-1", name="Random"), seed)
        self.open()
        while self.hands < hands:
            self.play_hand()
        self.commits = commits_of(self.bodies)
