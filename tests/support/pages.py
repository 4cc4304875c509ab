"""Pages of made tables for tests, what is hidden in their hands, and what a page says."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import msgspec

from stud_cli.replay.page.building import page
from stud_cli.replay.page.scenes import EVERYBODY, HandScenes, Scene
from stud_cli.replay.page.writing import scenes_of
from stud_cli.replay.reel import Reel
from stud_core import deck_events as de
from stud_core import events as ev
from stud_core.cards import card_name
from stud_core.clear_deck import ClearDeck
from stud_eventlog.log import CommitLog
from stud_replay.viewing import Viewer
from stud_service.sealing import open_seed
from stud_wire.commits import decode_commit
from tests.support.hand_index import RING, Made


class Hidden(msgspec.Struct):
    """A hand's down cards by seat, and the version at which a seat showed them."""

    who: dict[int, str] = msgspec.field(default_factory=dict)
    down: dict[int, list[int]] = msgspec.field(default_factory=dict)
    shown_at: dict[int, int] = msgspec.field(default_factory=dict)

    def at(self, version: int) -> set[int]:
        """Cards that nobody but their owners had seen when this version was written."""
        unseen = [cards for seat, cards in self.down.items() if self.shown_at.get(seat, 2**62) > version]
        return {card for cards in unseen for card in cards}


async def hidden_in(made: Made, number: int = 0) -> dict[int, Hidden]:
    """What is hidden in each hand of a table, from its decks."""
    table = made.tables[number]
    table_id = table.state.rules.table_id
    decks: dict[int, ClearDeck] = {}
    commitments: dict[int, bytes] = {}
    async for stored in made.log.read_all(table._deck_log.name):
        for event in decode_commit(stored.body).events:
            if isinstance(event, de.DeckCommitted):
                commitments[event.hand_no] = event.commitment
            elif isinstance(event, de.DeckClosed):
                place = (table_id, event.hand_no, commitments[event.hand_no])
                decks[event.hand_no] = ClearDeck(*place[:2], open_seed(RING.key("referee"), event.seed, *place))
    found: dict[int, Hidden] = {}
    hand_no = 0
    async for stored in made.log.read_all(table._log.name):
        for event in decode_commit(stored.body).events:
            if isinstance(event, ev.HandStarted):
                found.setdefault(event.hand_no, Hidden()).who = {who.seat: who.account for who in event.dealt_in}
            elif isinstance(event, ev.CardsDealt):
                hand_no = event.hand_no
                hand = found.setdefault(hand_no, Hidden())
                for card in event.down:
                    hand.down.setdefault(card.seat, []).append(decks[hand_no].cards[card.pos])
            elif isinstance(event, ev.HandShown):
                found[hand_no].shown_at[event.seat] = stored.version
    return found


async def directed(
    log: CommitLog, table_id: str, hands: tuple[int, int] | None = None, viewer: Viewer = EVERYBODY
) -> list[HandScenes]:
    """The scenes of a table's hands."""
    reel = Reel(log, table_id, viewer)
    await reel.fold()
    return await scenes_of(reel, hands)


async def page_of(made: Made, number: int = 0, hands: tuple[int, int] | None = None) -> bytes:
    """The page of a made table."""
    rules = made.tables[number].state.rules
    return page(rules, await directed(made.log, rules.table_id, hands))


def words(scene: Scene) -> str:
    """All that a scene says."""
    lines = [*scene.say, *([scene.next] if scene.next else [])]
    return "; ".join([f"{line.what} {line.why}" for line in lines])


def renamed(hands: list[HandScenes], name: str) -> list[HandScenes]:
    """The same hands, played by people who are all called so."""
    text = msgspec.json.encode(hands).decode()
    players = set(re.findall(r"player-\d+", text))
    for player in players:
        text = text.replace(player, json.dumps(name)[1:-1])
    return msgspec.json.decode(text, type=list[HandScenes])


def leaks(hands: list[HandScenes], hidden: dict[int, Hidden]) -> list[str]:
    """Cards that scenes draw or name before they were seen."""
    found = []
    for hand in hands:
        for scene in hand.scenes:
            secret = hidden[hand.hand_no].at(scene.v) if hand.hand_no in hidden else set()
            drawn = {card for seat in scene.seats.values() for card, _ in seat.cards} & secret
            said = {card for card in secret if names(words(scene), card)}
            found += [f"hand {hand.hand_no}, version {scene.v}: {card_name(card)}" for card in drawn | said]
    return found


def names(text: str, card: int) -> bool:
    """Whether a text names a card."""
    return re.search(rf"(?<!\w){card_name(card)}(?!\w)", text) is not None


class Reader(HTMLParser):
    """What a browser would make of a page: elements, their attributes, and text by element."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(data.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)
        self.text.setdefault(tag, [])
        if tag in {"script", "style", "li", "h1", "title"}:
            self.text[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._open and self.text.get(self._open[-1]):
            self.text[self._open[-1]][-1] += data

    @property
    def data(self) -> Any:
        """The block of JSON that the page's script reads."""
        return json.loads(self.text["script"][0])
