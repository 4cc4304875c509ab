"""Puts a page together: one file that loads nothing, runs no script but its own, and quotes every name as text.

Names of tables and accounts are whatever somebody chose. They reach the page in two ways: escaped into text of HTML,
and inside one block of JSON that the script reads and puts in as text. The policy in the page's head forbids every
request, and every script and style but the two whose hashes it names.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any, Final

import msgspec

from stud_cli.drawing import money
from stud_cli.replay.page.scenes import HandScenes, Line
from stud_core.cards import DECK_SIZE, card_name
from stud_core.ruleset import TableConfig

MOST_BYTES: Final = 12 * 1024 * 1024
"""What a phone still opens within a second or two; some 350 hands. Whoever wants more makes several pages."""

_RULES: Final = {"playnow": "PlayNow"}
_HERE: Final = files(__package__)
_IN_SCRIPTS: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


class TooLarge(ValueError):
    """A page would be larger than ``MOST_BYTES``; the text says what to ask for instead."""


def page(config: TableConfig, hands: Sequence[HandScenes], viewer: str = "") -> bytes:
    """Return the page of some hands of a table, as UTF-8. ``viewer``: whose own cards are drawn, empty = nobody's.

    Raises TooLarge, and ValueError where there is nothing to show.
    """
    if not any(hand.scenes for hand in hands):
        raise ValueError("there is nothing to see of these hands")
    style, script = _text("page.css"), _text("page.js")
    title = f"{config.name or config.table_id}, {_which(hands)}"
    sealed = sorted({hand.sealed for hand in hands if hand.sealed})
    eye = f"as {viewer} saw it" if viewer else "as everybody saw it"
    eye += ", some own cards face down" if sealed else ""
    rules = _RULES.get(config.ruleset.name, config.ruleset.name.replace("_", " ").title())
    stakes = f"{rules} · {money(config.small_bet)}/{money(config.big_bet)} {config.currency}"
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types"
    )
    made = Template(_text("page.html")).substitute(
        policy=policy,
        title=escape(title),
        style=style,
        heading=escape(title),
        stakes=escape(stakes),
        eye=escape(eye),
        written="".join([_written(number, hand) for number, hand in enumerate(hands)]),
        footer=escape(_footer(config, hands, viewer, sealed)),
        data=_data(config, hands),
        script=script,
    )
    data = made.encode()
    if len(data) > MOST_BYTES:
        fits = max(1, len(hands) * MOST_BYTES // len(data))
        raise TooLarge(
            f"the page would be {len(data) / 2**20:.1f} MiB, and at most {MOST_BYTES // 2**20} open well everywhere: "
            f"want fewer hands, about {fits} of these {len(hands)}"
        )
    return data


def _which(hands: Sequence[HandScenes]) -> str:
    first, last = hands[0].hand_no, hands[-1].hand_no
    return f"hand {first}" if first == last else f"hands {first} to {last}"


def _footer(config: TableConfig, hands: Sequence[HandScenes], viewer: str, sealed: Sequence[str]) -> str:
    scenes = [scene for hand in hands for scene in hand.scenes]
    whose = f"Down cards are shown to {viewer}, whose they are, or where" if viewer else "Down cards are shown where"
    drawn = "Down cards lie lower and have a dashed edge. "
    return (
        f"Made from the log of table {config.table_id}, versions {scenes[0].v} to {scenes[-1].v}. Times are UTC. "
        f"{drawn}{whose} they were shown to everybody at the table; all others stay hidden."
        + "".join([f" Not shown to {viewer}: {why}." for why in sealed])
    )


def _data(config: TableConfig, hands: Sequence[HandScenes]) -> str:
    listed: list[dict[str, Any]] = []
    first = 0
    for hand in hands:
        title = f"Hand {hand.hand_no}"
        line = {"name": title, "title": title, "first": first, "at": hand.scenes[0].at, "pot": hand.pot}
        listed.append({**line, "how": hand.how or "not over"})
        first += len(hand.scenes)
    data = {
        "seats": config.ruleset.seats,
        "cards": [card_name(card) for card in range(DECK_SIZE)],
        "start": 0,
        "hands": listed,
        "steps": [scene for hand in hands for scene in hand.scenes],
    }
    text = msgspec.json.encode(data).decode()
    for character, written in _IN_SCRIPTS.items():
        text = text.replace(character, written)
    return text


def _written(number: int, hand: HandScenes) -> str:
    """The hand as text: what is read without scripts, on paper, and in an answer by mail."""
    parts = [f'<section data-hand="{number}"><h2>Hand {hand.hand_no}</h2><ol>']
    for scene in hand.scenes:
        at = dt.datetime.fromtimestamp(scene.at / 1000, dt.UTC)
        told = "; ".join([_told(line) for line in scene.say])
        parts.append(f"<li>{at:%H:%M:%S} {told}</li>")
    return "".join([*parts, "</ol></section>"])


def _told(line: Line) -> str:
    why = f" <small>{escape(line.why)}</small>" if line.why else ""
    return f"{escape(line.what)}{why}"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _text(name: str) -> str:
    return _HERE.joinpath(name).read_text(encoding="utf-8")
