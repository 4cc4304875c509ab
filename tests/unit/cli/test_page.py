"""`stud replay --html`: what a page says is what happened, it leaks nothing, and no name can do anything in it."""

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benches import made_table
from stud_cli.exit_codes import CouldNotRun
from stud_cli.replay.page import building
from stud_cli.replay.page.building import TooLarge, page
from stud_cli.replay.page.scenes import EVERYBODY, HIDDEN, TOLD, TURN, HandScenes, Line
from stud_cli.replay.page.writing import hand_range, write_page
from stud_core import events as ev
from stud_core.cards import card_name
from stud_replay.viewing import Viewer
from stud_service.checks import require_account
from stud_service.refusals import Refused
from stud_wire.commits import decode_commit
from table_service.public_events import PUBLIC
from tests.arch.repository import ROOT
from tests.support.hand_index import CARD, Made
from tests.support.pages import Reader, directed, hidden_in, leaks, names, page_of, renamed, words

HOSTILE = [
    "</script><img src=x onerror=alert(1)>",
    "<!--<script>",
    "]]>&lt;\u2028'\"`${1+1}",
    "\u202eevil\u0000",
]


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made_table, "VOIDED_EVERY", 8)
    monkeypatch.setattr(made_table, "DISPUTED_EVERY", 8)
    monkeypatch.setattr(made_table, "LEAVES_EVERY", 4)
    monkeypatch.setattr(made_table, "SHALLOW", 30)


async def played(seed: int = 1, hands: int = 12, tables: int = 2) -> Made:
    made = Made(tables, seed)
    await made.play(hands)
    return made


def table_id(made: Made, number: int = 0) -> str:
    return made.tables[number].state.rules.table_id


# --- what it says ----------------------------------------------------------------------------------------------------


async def test_every_hand_is_there_with_what_its_log_says():
    made = await played()
    for number in range(2):
        hands = await directed(made.log, table_id(made, number))
        assert [hand.hand_no for hand in hands] == list(range(1, 13))
        said = " ".join([words(scene) for hand in hands for scene in hand.scenes])
        for verb in ("folds", "checks", "calls", "brings in", "completes to", "bets", "raises to"):
            assert verb in said, verb
        assert re.search(r"hand 3 .{0,40}verified", said)
        pots = [0] * 13
        hand_no = 0
        async for stored in made.log.read_all(made.tables[number]._log.name):
            for event in decode_commit(stored.body).events:
                hand_no = event.hand_no if isinstance(event, ev.HandStarted) else hand_no
                pots[hand_no] += event.amount if isinstance(event, ev.PotAwarded) else 0
        paid = {hand.hand_no: hand.pot for hand in hands if "void" not in hand.how}
        assert paid == {number: pots[number] for number in paid}
        assert len(paid) > 6


async def test_each_scene_says_something_and_keeps_every_chip():
    """From the antes to the end of a hand what lies on the table and before its players does not change."""
    made = await played(seed=2, hands=20)
    hands = await directed(made.log, table_id(made))
    for hand in hands:
        start = next(at for at, scene in enumerate(hand.scenes) if f"hand {hand.hand_no} begins" in words(scene))
        end = next(at for at, scene in enumerate(hand.scenes) if re.search(r"hand \d+ is (over|void)", words(scene)))
        chips = [scene.pot + sum(seat.stack for seat in scene.seats.values()) for scene in hand.scenes[start : end + 1]]
        assert len(set(chips)) == 1, (hand.hand_no, chips)
        assert all(scene.say and all(line.what for line in scene.say) for scene in hand.scenes)


async def test_a_range_of_hands_is_all_that_is_made():
    made = await played()
    assert [hand.hand_no for hand in await directed(made.log, table_id(made), (4, 6))] == [4, 5, 6]


async def test_text_without_script_tells_every_step_and_hides_what_the_table_hides():
    made = await played(seed=3)
    read = Reader(await page_of(made, hands=(2, 5)))
    told = [text for text in read.text["li"] if text]
    assert len(told) == len(read.data["steps"])
    assert all(step["say"][0]["what"] in line for step, line in zip(read.data["steps"], told, strict=True))


# --- nothing hidden --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_no_card_is_drawn_or_named_before_everybody_saw_it(seed: int):
    made = await played(seed, hands=20)
    for number in range(2):
        hidden = await hidden_in(made, number)
        hands = await directed(made.log, table_id(made, number))
        assert sum(len(hand.at(10**9)) for hand in hidden.values()) > 50
        assert leaks(hands, hidden) == []
        shown = [
            card for hand in hands for scene in hand.scenes for seat in scene.seats.values() for card in seat.cards
        ]
        assert sum(card != HIDDEN and down for card, down in shown) > 10  # what was shown is drawn


async def test_a_planted_card_is_found_in_scenes_and_in_words():
    made = await played()
    hidden = await hidden_in(made)
    hand_no, seat, cards = next(
        (number, seat, cards) for number, hand in hidden.items() for seat, cards in hand.down.items()
        if seat not in hand.shown_at
    )  # fmt: skip
    viewer = Viewer(account=hidden[hand_no].who[seat], down={hand_no: tuple(cards)})
    opened = await directed(made.log, table_id(made), None, viewer)
    assert leaks(opened, hidden)
    hands = await directed(made.log, table_id(made))
    scene = hands[hand_no - 1].scenes[1]
    said = msgspec.structs.replace(scene, say=(*scene.say, Line(f"they hold {card_name(cards[0])}")))
    hands[hand_no - 1].scenes[1] = said
    assert leaks(hands, hidden)


async def test_the_file_holds_no_card_but_those_of_its_scenes():
    """Looked for in the whole text, around the parts that are known to be cards."""
    made = await played(seed=3)
    hidden = await hidden_in(made)
    read = Reader(await page_of(made, hands=(3, 3)))
    unseen = hidden[3].at(10**9)
    assert unseen
    for step in read.data["steps"]:
        rest = {name: value for name, value in step.items() if name not in {"seats", "say", "next", "common"}}
        assert CARD.search(str(rest)) is None, rest
    for line in read.text["li"]:
        assert not [card for card in unseen if names(line, card)], line


async def test_who_may_see_their_own_cards_sees_those_alone():
    made = await played(seed=4)
    hidden = await hidden_in(made)
    hand_no, seat, cards = next(
        (number, seat, cards) for number, hand in hidden.items() for seat, cards in hand.down.items()
        if seat not in hand.shown_at
    )  # fmt: skip
    viewer = Viewer(account=hidden[hand_no].who[seat], down={hand_no: tuple(cards)})
    hands = await directed(made.log, table_id(made), (hand_no, hand_no), viewer)
    mine = hidden[hand_no].down.pop(seat)
    assert leaks(hands, hidden) == []
    drawn = [card for scene in hands[0].scenes for card, _ in scene.seats[str(seat)].cards if str(seat) in scene.seats]
    assert set(mine[:2]) <= set(drawn)


def test_only_what_everybody_is_told_is_told():
    """Nobody can be called as the page's own viewer is, and no event between a player and the house is in it."""
    assert TOLD | {TURN} <= PUBLIC.keys()
    with pytest.raises(Refused):
        require_account(EVERYBODY.account)


async def test_whose_cards_stay_face_down_is_said_with_the_reason(tmp_path: Path):
    made = await played()
    who = made.tables[0].state.at(next(seat for seat, n in enumerate(made.tables[0].state.seats) if n)).account
    out = tmp_path / "own.html"
    await write_page(made.log, table_id(made), (12, 12), out, Viewer(account=who))
    told = out.read_text()
    assert f"as {who} saw it, some own cards face down" in told
    assert f"Not shown to {who}: nobody had them opened." in told
    with pytest.raises(CouldNotRun, match="nobody-here was dealt into none of these hands"):
        await write_page(made.log, table_id(made), (12, 12), out, Viewer(account="nobody-here"))


# --- names are text --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_name_stays_text(name: str):
    made = await played(hands=3, tables=1)
    config = msgspec.structs.replace(made.tables[0].state.rules, name=name, currency="EUR")
    hands = await directed(made.log, table_id(made))
    plain, hostile = Reader(page(config, hands)), Reader(page(config, renamed(hands, name), viewer=name))
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in plain.tags]
    assert {tag for tag, _ in hostile.tags}.isdisjoint({"img", "iframe", "object", "embed", "link", "base", "form"})
    assert [attributes for _, attributes in hostile.tags] == [attributes for _, attributes in plain.tags]
    assert all(not attribute.startswith("on") for _, attributes in hostile.tags for attribute in attributes)
    assert hostile.data["steps"][0]["seats"]
    assert {seat["who"] for step in hostile.data["steps"] for seat in step["seats"].values()} == {name}
    assert hostile.text["title"][0].startswith(name.replace("\u0000", "\ufffd")[:5])


async def test_the_policy_lets_nothing_in_and_no_script_but_its_own():
    made = await played(hands=2, tables=1)
    data = await page_of(made)
    read = Reader(data)
    policy = next(a["content"] for tag, a in read.tags if a.get("http-equiv") == "Content-Security-Policy") or ""
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for text, kind in ((read.text["style"][0], "style-src"), (read.text["script"][1], "script-src")):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert re.search(rb"https?:|//[a-z]|url\(|@import|\bsrc=", data) is None
    assert not [attributes for _, attributes in read.tags if {"src", "style", "srcset"} & set(attributes)]


# --- bounds and refusals ---------------------------------------------------------------------------------------------


async def test_a_page_that_is_too_large_is_refused_with_what_would_fit(monkeypatch: pytest.MonkeyPatch):
    made = await played()
    hands = await directed(made.log, table_id(made))
    whole = len(page(made.tables[0].state.rules, hands))
    monkeypatch.setattr(building, "MOST_BYTES", whole - 1)
    with pytest.raises(TooLarge, match=r"want fewer hands, about 11 of these 12"):
        page(made.tables[0].state.rules, hands)
    assert page(made.tables[0].state.rules, hands[:11])


def test_nothing_to_see_is_no_page():
    with pytest.raises(ValueError, match="nothing to see"):
        page(Made().tables[0].state.rules, [HandScenes(1)])


async def test_a_page_is_written_whole_for_its_owner(tmp_path: Path):
    made = await played()
    out = tmp_path / "hand.html"
    written = await write_page(made.log, table_id(made), (2, 3), out)
    assert (written.hands, written.bytes) == (2, out.stat().st_size)
    assert out.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [out]
    with pytest.raises(CouldNotRun, match="has no hand 99: it has played 12 so far"):
        await write_page(made.log, table_id(made), (99, 99), out)
    with pytest.raises(CouldNotRun, match="cannot be written"):
        await write_page(made.log, table_id(made), None, tmp_path / "nowhere" / "hand.html")
    with pytest.raises(CouldNotRun, match="there is no table 't-9'"):
        await write_page(made.log, "t-9", None, out)


@pytest.mark.parametrize("text", ["0", "x", "3-1", "-2", "1-", "1-2-3", "1.5"])
def test_what_is_no_range_of_hands(text: str):
    with pytest.raises(ValueError, match="want a hand such as 7, or a range such as 7-12"):
        hand_range(text)


@pytest.mark.parametrize(("text", "wanted"), [("", None), ("7", (7, 7)), ("7-12", (7, 12))])
def test_a_range_of_hands(text: str, wanted: Any):
    assert hand_range(text) == wanted


def test_the_parts_of_a_page_are_in_the_wheel():
    from hatchling.builders.wheel import WheelBuilder

    shipped = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    parts = {path.name for path in Path(building.__file__).parent.iterdir() if path.suffix in {".html", ".css", ".js"}}
    assert parts == {"page.html", "page.css", "page.js"}
    assert {f"stud_cli/replay/page/{name}" for name in parts} <= shipped
