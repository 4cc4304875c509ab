"""Pages of `stud replay --html` in a real browser: they play, they are read aloud, and they let nothing out or in."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stud_cli.replay.page.building import page
from tests.support.chromium import Chromium, browser
from tests.support.hand_index import Made
from tests.support.pages import directed, renamed

__all__ = ["browser"]
HOSTILE = "</script><img src=x onerror=hacked=1><b onclick=hacked=1>{{7*7}}"


async def _pages(folder: Path) -> None:
    made = Made(2, seed=1)
    await made.play(60)
    table = made.tables[0]
    hands = await directed(made.log, table.state.rules.table_id)
    rules = table.state.rules
    (folder / "some.html").write_bytes(page(rules, hands[2:6]))
    (folder / "many.html").write_bytes(page(rules, hands * 4))
    hostile = msgspec.structs.replace(rules, name=HOSTILE)
    (folder / "hostile.html").write_bytes(page(hostile, renamed(hands[2:4], HOSTILE), viewer=HOSTILE))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    asyncio.run(_pages(folder))
    return folder


def step_now(browser: Chromium) -> Any:
    """The step that is shown, as the page's own data has it."""
    at = browser.ask("Number(document.querySelector('#story [aria-current=step]').dataset.step)")
    return browser.ask(f"JSON.parse(document.getElementById('data').textContent).steps[{at}]")


def said(browser: Chromium) -> str:
    text: str = browser.ask("document.querySelector('#say .line').firstChild.textContent")
    return text


def told(step: Any) -> str:
    """All that a step says, as it is read aloud."""
    lines = [*step["say"], *([step["next"]] if "next" in step else [])]
    return "".join([line["what"] + (f" {line['why']}" if "why" in line else "") for line in lines])


@pytest.mark.parametrize(("width", "phone"), [(1280, False), (390, True), (320, True)])
@pytest.mark.parametrize("dark", [False, True])
def test_it_opens_fits_and_asks_for_nothing(browser: Chromium, pages: Path, width: int, phone: bool, dark: bool):
    browser.open(pages / "some.html", width, 800, dark=dark, phone=phone)
    for _ in range(40):
        browser.press("ArrowRight")
        assert browser.ask("document.documentElement.scrollWidth") <= width
        assert browser.ask(OVERFLOWING) == []
    assert browser.complaints() == []
    assert browser.requests() == []
    assert browser.ask("getComputedStyle(document.documentElement).colorScheme") == ("dark" if dark else "light")


OVERFLOWING = """[...document.querySelectorAll('.card')].filter((card) => {
  const [inner, outer] = [card.getBoundingClientRect(), card.closest('.seat, .middle').getBoundingClientRect()];
  return inner.right > outer.right + 1 || inner.bottom > outer.bottom + 1;
}).map((card) => card.textContent)"""
"""Cards that stick out of their seats."""


def test_keys_buttons_and_the_timeline_move_it(browser: Chromium, pages: Path):
    browser.open(pages / "some.html")
    first = step_now(browser)
    assert said(browser) == first["say"][0]["what"]
    browser.press("ArrowRight")
    second = step_now(browser)
    assert second["v"] > first["v"]
    assert said(browser) == second["say"][0]["what"]
    browser.press("ArrowLeft")
    assert step_now(browser) == first
    browser.press("End")
    last = step_now(browser)
    browser.press("PageDown")
    assert step_now(browser)["v"] > last["v"]
    assert browser.ask("document.querySelector('#hands [aria-current]').dataset.hand") == "1"
    browser.press("PageUp")
    assert step_now(browser) == first
    browser.ask("document.getElementById('on').click()")
    assert step_now(browser) == second
    browser.ask("document.getElementById('scrub').value = 5; "
                "document.getElementById('scrub').dispatchEvent(new Event('input'))")  # fmt: skip
    assert browser.ask("document.querySelector('#story [aria-current=step]').dataset.step") == "5"
    browser.ask("document.querySelector('#hands [data-hand=\"2\"]').click()")
    assert browser.ask("document.getElementById('hand-title').textContent") == "Hand 5"
    browser.ask("document.querySelectorAll('#streets button')[1].click()")
    assert step_now(browser)["street"] == "third street"


def test_it_plays_and_pauses(browser: Chromium, pages: Path):
    browser.open(pages / "some.html")
    browser.ask("document.getElementById('speed').value = '4'")
    first = step_now(browser)
    browser.press(" ")
    assert browser.ask("document.getElementById('play').getAttribute('aria-pressed')") == "true"
    browser.wait(f"document.getElementById('ver').textContent !== ' · version {first['v']}'")
    browser.press(" ")
    assert browser.ask("document.getElementById('play').textContent") == "Play"
    stopped = step_now(browser)
    browser.ask("new Promise((done) => setTimeout(done, 700))")
    assert step_now(browser) == stopped


def test_whoever_hears_it_hears_each_step_and_every_card(browser: Chromium, pages: Path):
    """What the browser tells a screen reader: the step in a live region, seats by name, cards in words."""
    browser.open(pages / "some.html")
    steps = browser.ask("JSON.parse(document.getElementById('data').textContent).steps.length")
    hands = browser.ask("JSON.parse(document.getElementById('data').textContent).hands.length")
    heard = 0
    for _ in range(steps + hands):
        step = step_now(browser)
        live = browser.ask("document.querySelector('[aria-live=polite]').textContent")
        assert live == told(step)
        assert step["say"][0]["what"] in browser.ask("document.getElementById('scrub').getAttribute('aria-valuetext')")
        drawn = browser.ask("[...document.querySelectorAll('#felt .card')].map((card) => card.ariaLabel)")
        cards = sum(len(seat.get("cards", [])) for seat in step["seats"].values()) + ("common" in step)
        assert len(drawn) == cards
        assert all(drawn)
        heard += len(drawn)
        browser.press("ArrowRight")
    assert heard > 100
    browser.press("Home")
    browser.press("ArrowRight")
    tree = browser.do("Accessibility.getFullAXTree")["nodes"]
    spoken = [(node.get("role", {}).get("value"), node.get("name", {}).get("value")) for node in tree]
    assert ("status", "") in spoken or any(role == "status" for role, _ in spoken)
    assert any((role == "image" and str(name).startswith(("two of", "ace of", "king of"))) or " of " in str(name)
               for role, name in spoken)  # fmt: skip
    nameless = [role for role, name in spoken if role in {"button", "slider", "combobox", "image"} and not name]
    assert nameless == []
    assert any(role == "group" and str(name).startswith("seat 1, player-") for role, name in spoken)


def test_suits_can_be_told_without_colour(browser: Chromium, pages: Path):
    browser.open(pages / "some.html")
    browser.press("ArrowRight")
    faces = browser.ask("[...document.querySelectorAll('.card:not(.back)')].map((card) => card.textContent)")
    assert faces
    assert all(face[-1] in "cdhs" and face[-2] in "♣♦♥♠" for face in faces)


def test_a_hostile_name_does_nothing(browser: Chromium, pages: Path):
    browser.open(pages / "hostile.html")
    for _ in range(20):
        browser.press("ArrowRight")
    assert browser.ask("typeof hacked") == "undefined"
    assert browser.ask("document.querySelectorAll('img, b[onclick], iframe').length") == 0
    assert browser.ask("document.querySelector('.seat .name').textContent").endswith(HOSTILE)
    assert browser.ask("document.title").startswith(HOSTILE)
    assert (browser.complaints(), browser.requests()) == ([], [])


def test_the_policy_stops_what_a_name_would_want_to_do(browser: Chromium, pages: Path):
    """Were a name ever to get through as markup, this is what would meet it."""
    browser.open(pages / "some.html")
    for attempt in (
        "(() => { const s = document.createElement('script'); s.text = 'hacked=1'; document.body.append(s); })()",
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=hacked=1>')",
        "(() => { const i = new Image(); i.src = 'http://127.0.0.1:9/leak'; document.body.append(i); })()",
    ):
        browser.ask(f"(() => {{ try {{ {attempt} }} catch (_) {{}} }})()")
    gone = browser.ask("fetch('http://127.0.0.1:9/leak').then(() => 'sent', () => 'stopped')")
    assert gone == "stopped"
    assert browser.ask("typeof hacked") == "undefined"
    blocked = [event for event in browser.events if event.get("method") == "Network.loadingFailed"]
    assert {event["params"].get("blockedReason") for event in blocked} <= {"csp"}
    assert len([text for text in browser.complaints() if "Content Security Policy" in text]) >= 3


def test_hundreds_of_hands_still_open(browser: Chromium, pages: Path):
    browser.open(pages / "many.html", 390, 844, phone=True)
    assert browser.ask("document.querySelectorAll('#hands button').length") == 240
    browser.ask("document.querySelector('#hands [data-hand=\"200\"]').click()")
    assert browser.ask("document.querySelector('#hands [aria-current]').dataset.hand") == "200"
    assert browser.complaints() == []


def test_on_paper_it_is_the_hand_in_words(browser: Chromium, pages: Path, tmp_path: Path):
    browser.open(pages / "some.html")
    browser.do("Emulation.setEmulatedMedia", media="print")
    try:
        shown = "[...document.querySelectorAll('{}')].filter((n) => n.offsetParent).length"
        assert browser.ask(shown.format(".written section")) == 1
        assert browser.ask(shown.format(".time, .hands, .story")) == 0
        browser.paper(tmp_path / "page.pdf")
        assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    finally:
        browser.do("Emulation.setEmulatedMedia", media="")


def test_without_scripts_it_is_still_told(browser: Chromium, pages: Path):
    browser.do("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(pages / "some.html")
        assert browser.ask("getComputedStyle(document.querySelector('.written')).display") == "block"
        assert browser.ask("getComputedStyle(document.querySelector('.layout')).display") == "none"
    finally:
        browser.do("Emulation.setScriptExecutionDisabled", value=False)
