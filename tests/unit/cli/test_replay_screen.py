"""The time machine, key by key, at 80 by 24 and without a terminal; it shows no card that the table hid."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from textual.widgets import Input

from stud_cli.replay.reel import Reel
from stud_cli.replay.screen.app import HELP, KEYS, TimeMachine
from stud_cli.replay.screen.walk import SPEEDS
from stud_core import events as ev
from stud_eventlog.memory import MemoryEventLog
from stud_eventlog.types import LogUnavailable
from stud_replay.viewing import OPERATOR, Viewer
from stud_wire.commits import decode_commit
from tests.support.history import TABLE, T, closed_table, say
from tests.support.replayed import cards_in

HISTORY = closed_table()
LAST = len(HISTORY.streams[TABLE])
SIZE = (80, 24)


async def machine(start: int = 1, viewer: Viewer = OPERATOR, log: MemoryEventLog | None = None) -> TimeMachine:
    reel = Reel(log or await HISTORY.log(), T, viewer)
    await reel.fold()
    return TimeMachine(reel, start)


def text_of(app: TimeMachine) -> str:
    """What stands on the screen."""
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips(app.screen.size))


def versions_of(kind: type) -> list[int]:
    commits = HISTORY.streams[TABLE]
    return [c.version for c in commits if any(isinstance(event, kind) for event in decode_commit(c.body).events)]


STEPS = {"a": ev.ActionTaken, "s": ev.CardsDealt, "n": ev.AntesOpened}


@pytest.mark.parametrize("key", STEPS)
async def test_a_key_leads_to_the_next_of_its_kind_and_its_capital_back(key: str):
    wanted = versions_of(STEPS[key])
    app = await machine()
    async with app.run_test(size=SIZE) as pilot:
        for version in wanted[:6]:
            await pilot.press(key)
            assert app.walk.at == version
            assert f"version {version} of {LAST}" in text_of(app)
        for version in reversed(wanted[:6][:-1]):
            await pilot.press(key.upper())
            assert app.walk.at == version


async def test_arrows_home_and_end():
    app = await machine(5)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("right", "right", "left")
        assert app.walk.at == 6
        await pilot.press("home")
        assert app.walk.at == 1
        await pilot.press("left")
        assert (app.walk.at, "there is no version before this" in text_of(app)) == (1, True)
        await pilot.press("end")
        assert app.walk.at == LAST
        await pilot.press("right")
        assert "there is no version after this" in text_of(app)


async def test_every_version_fits_its_screen_and_hides_what_was_hidden():
    """80 by 24: the picture, the timeline, the place, what happened and the keys; each card was seen by everybody."""
    app = await machine()
    named = 0
    async with app.run_test(size=SIZE) as pilot:
        for version in range(1, LAST + 1):
            assert app.frame is not None
            assert app.frame.version == version
            shown = text_of(app)
            lines = shown.splitlines()
            assert (len(lines), {len(line) for line in lines}) == (24, {80})
            assert lines[-1].startswith(KEYS)
            view: Any = app.frame.view
            seats = [*view.seats, *view.last_hand.seats]
            seen = {card - 1 for seat in seats for card in (*seat.up, *seat.shown)} | {view.community - 1}
            assert cards_in(shown) <= seen, version
            named += len(cards_in(shown))
            await pilot.press("right")
    assert named > 300


async def test_a_planted_card_is_seen_on_the_screen():
    app = await machine(versions_of(ev.CardsDealt)[2])
    async with app.run_test(size=SIZE):
        assert app.frame is not None
        before = cards_in(text_of(app))
        hidden = next(card for card in range(52) if card not in before)
        app.frame.view.seats[0].up.append(hidden + 1)  # type: ignore[arg-type]
        app.draw()
        assert cards_in(text_of(app)) - before == {hidden}


@pytest.mark.parametrize(
    ("asked", "at"),
    [("hand 2", versions_of(ev.AntesOpened)[1]), ("h3", versions_of(ev.AntesOpened)[2]), ("17", 17), ("v 9", 9),
     ("2100-01-01", LAST)],
)  # fmt: skip
async def test_going_to_a_hand_a_version_or_a_time(asked: str, at: int):
    app = await machine()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("g", *asked.replace(" ", "_"))
        line = app.query_one("#ask", Input)
        line.value = asked
        await pilot.press("enter")
        assert app.walk.at == at


@pytest.mark.parametrize(
    ("key", "asked", "told"),
    [
        ("g", "hand 9", "there is no hand 9 at table t-1: there are hands 1 to 3"),
        ("g", "9999", f"has only {LAST} versions"),
        ("g", "soon", "'soon' is no place: want a hand"),
        ("slash", "aces", "'aces' cannot be looked for"),
        ("slash", "player", "player of what?"),
        ("slash", "pot lots", "'lots': want an amount"),
        ("slash", "   ", ""),
    ],
)
async def test_nonsense_is_told_with_what_would_be_right_and_leads_nowhere(key: str, asked: str, told: str):
    app = await machine(7)
    async with app.run_test(size=(160, 24)) as pilot:
        await pilot.press(key)
        app.query_one("#ask", Input).value = asked
        await pilot.press("enter")
        assert told in text_of(app)
        assert app.walk.at == 7
        await pilot.press("right")
        assert app.walk.at == 8
        assert not told or told not in text_of(app)


async def test_what_is_found_is_walked_through():
    app = await machine()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("slash")
        app.query_one("#ask", Input).value = "player ada showdown"
        await pilot.press("enter")
        assert "3 hands" in text_of(app)
        opened = versions_of(ev.AntesOpened)
        assert app.walk.at == opened[0]
        assert "*" in text_of(app)
        await pilot.press("m", "m", "m")
        assert (app.walk.at, "nothing that was found is behind this" in text_of(app)) == (opened[2], True)
        await pilot.press("M")
        assert app.walk.at == opened[1]
        await pilot.press("slash")
        app.query_one("#ask", Input).value = "refusal"
        await pilot.press("enter")
        assert app.told.startswith("0 refusals of money; a refused call leaves nothing in the log")


async def test_the_line_closes_without_an_answer():
    app = await machine(4)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("g", "9", "escape", "right")
        assert app.walk.at == 5
        assert not app.query_one("#ask", Input).has_class("open")


async def test_panels():
    at = versions_of(ev.ActionTaken)[0]
    app = await machine(at)
    async with app.run_test(size=(100, 40)) as pilot:
        assert " -- " in text_of(app)
        await pilot.press("l")
        assert HISTORY.streams[TABLE][at - 1].prev_hash.hex() in text_of(app).replace("\n", "")
        assert "request id" in text_of(app)
        await pilot.press("l", "question_mark")
        assert all(line.strip() in text_of(app) for line in HELP.splitlines())
        await pilot.press("escape")
        assert " -- " in text_of(app)
        await pilot.press("d", "a")
        assert f"what differs from version {at} to {app.walk.at}" in text_of(app)
        assert "table: turn." in text_of(app)
        await pilot.press("d")
        assert "what differs" not in text_of(app)


async def test_playing_goes_on_by_itself_until_the_end_or_a_key():
    app = await machine(LAST - 3)
    async with app.run_test(size=SIZE) as pilot:
        app.walk.faster(99)
        await pilot.press("space")
        async with asyncio.timeout(30):
            while app.told != "this is the last version":
                await pilot.pause(0.01)
        assert app.walk.at == LAST
        await pilot.press("home", "space")
        assert "playing ×32" in text_of(app)
        await pilot.press("space")
        assert "playing" not in text_of(app)
        await pilot.press("minus", "minus")
        assert "speed ×8" in text_of(app)


async def test_speeds_have_ends():
    walk = (await machine(3)).walk
    walk.faster(-99)
    assert walk.speed == SPEEDS[0]
    walk.faster(99)
    assert walk.speed == SPEEDS[-1]
    assert 0.05 <= walk.pause_s() <= 3.0


async def test_a_table_that_goes_on_is_read_on():
    log = await HISTORY.log()
    app = await machine(LAST, log=log)
    async with app.run_test(size=SIZE) as pilot:
        await say(log, TABLE, ev.TablePaused("lunch", "olga"))
        await pilot.press("r")
        assert "1 more versions" in text_of(app)
        await pilot.press("end")
        assert "the table is paused by olga: lunch" in text_of(app)


async def test_a_log_that_goes_away_leaves_the_picture_and_says_so():
    log = await HISTORY.log()
    app = await machine(1, log=log)
    async with app.run_test(size=(120, 24)) as pilot:

        def away(*_: Any) -> Any:
            raise LogUnavailable("nobody answers")

        log.read_all = away  # type: ignore[method-assign, assignment]
        app.reel._frames.clear()
        await pilot.press("right")
        assert "nobody answers" in text_of(app)
        assert "t-1" in text_of(app)


async def test_through_a_players_eyes_it_says_why_cards_stay_face_down():
    app = await machine(versions_of(ev.CardsDealt)[1], Viewer("ada"))
    async with app.run_test(size=SIZE):
        assert "cards of ada stay face down: nobody had them opened" in text_of(app)
        assert "?? ??" in text_of(app)


async def test_it_is_as_wide_as_the_terminal_is_now():
    app = await machine(versions_of(ev.CardsDealt)[1])
    async with app.run_test(size=SIZE) as pilot:
        for width in (40, 160, 80):
            await pilot.resize_terminal(width, 24)
            await pilot.pause()
            lines = [line.rstrip() for line in text_of(app).splitlines()]
            assert len(lines[0]) == min(96, width)
            assert [len(line) for line in lines if set(line) <= set("#-|*!") and "#" in line] == [width]


async def test_q_leaves():
    app = await machine()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("q")
    assert app.return_code == 0
