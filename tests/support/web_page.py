"""The page of examples/web: built as anybody builds it, played in a browser by keys and clicks alone. What is done is
decided by what it shows; what a test knows of it is read from it.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.support.chromium import PATIENCE_S, Chromium
from tests.support.node import OLDEST, ROOT

SOURCES = ROOT / "examples/web"
BUILD_WITHIN_S = 150
CHIPS = "200"
"""Bought by whoever has none left; as much as PlayNow's tables of 5 and 10 take."""

LEFT_OUT = ("node_modules", "gen", "dist")

STATE = """(() => {
  const all = (query) => [...document.querySelectorAll(query)];
  const own = document.querySelector('.seat.own');
  return {
    keys: all('#actions button').map((each) => each.dataset.key),
    ahead: all('#ahead button').map((each) => [each.dataset.key, each.ariaPressed === 'true']),
    hands: all('#history li').map((each) => [Number(each.dataset.hand), each.dataset.net]),
    stack: own?.querySelector('.stack')?.dataset.stack ?? '',
    known: own ? own.querySelectorAll('.card.down').length : 0,
    state: document.querySelector('.state')?.textContent ?? '',
    balance: document.getElementById('balance').dataset.balance ?? '',
    escrows: document.getElementById('balance').dataset.escrows ?? '',
    offline: !document.getElementById('offline').hidden,
    notice: document.getElementById('notice').textContent,
    seated: Boolean(own),
    out: Boolean(own?.classList.contains('out')),
  };
})()"""


def _version(node: str) -> int:
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    return int(said.strip().lstrip("v").split(".")[0])


@cache
def _built() -> Path | str:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return "node and npm are not on PATH"
    if _version(node) < OLDEST:
        return f"node is too old: want {OLDEST} or newer"
    files = [*(ROOT / "protos").rglob("*.proto"), *(p for p in SOURCES.rglob("*") if not set(LEFT_OUT) & set(p.parts))]
    content = b"".join(path.read_bytes() for path in sorted(files) if path.is_file())
    place = ROOT / "var/web" / hashlib.sha256(content).hexdigest()[:16]
    if not (place / "index.html").is_file():
        problem = _build(npm, place)
        if problem:
            return problem
    return place


def _build(npm: str, place: Path) -> str:
    """Build beside the place, then move the page there. Return what failed."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as beside:
        folder = Path(beside) / "examples/web"
        shutil.copytree(SOURCES, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
        shutil.copytree(ROOT / "protos", Path(beside) / "protos")
        words = ([npm, "ci", "--prefer-offline", "--fetch-retries=1"], [npm, "run", "build"])
        try:
            subprocess.run(words[0], cwd=folder, check=True, capture_output=True, timeout=BUILD_WITHIN_S)
        except subprocess.SubprocessError as fault:
            return f"npm could not install the packages: {_said(fault)}"
        done = subprocess.run(words[1], cwd=folder, check=False, capture_output=True, timeout=BUILD_WITHIN_S)
        assert done.returncode == 0, (done.stdout + done.stderr).decode()[-4000:]
        if not place.exists():
            (folder / "dist").rename(place)
    return ""


def _said(fault: subprocess.SubprocessError) -> str:
    said = (getattr(fault, "stderr", None) or b"").decode(errors="replace").strip()
    return said[-300:] or type(fault).__name__


def built() -> Path:
    """The folder of the page; skips the test where it cannot be built."""
    found = _built()
    if isinstance(found, str):
        pytest.skip(found)
    return found


class Page:
    """Somebody who plays by it."""

    def __init__(self, browser: Chromium, address: str, query: str = "") -> None:
        self.browser, self.address = browser, f"http://{address}/{query}"
        self.hands: dict[int, int] = {}
        """What came of each hand, in minor units, as the page told it."""
        self._broke_at = -1
        self.done = {"keys": 0, "clicks": 0, "ahead": 0, "shown": 0}

    def open(self, width: int = 1280, height: int = 800, *, phone: bool = False) -> None:
        self.browser.visit(self.address, width, height, phone=phone)
        self.browser.wait("!document.getElementById('login').hidden")

    def log_in(self, token: str) -> None:
        """By keys: the field, the token, the button."""
        self.browser.ask("document.getElementById('token').focus()")
        self.browser.write(token)
        self.browser.press("Tab")
        self.browser.press("Enter")

    def choose_table(self, table: str) -> None:
        line = f"document.querySelector('#tables [data-table={json.dumps(table)}]')"
        self.browser.wait(f"Boolean({line})")
        self.browser.ask(f"{line}.focus()")
        self.browser.press("Enter")
        self.browser.wait("!document.getElementById('table').hidden && document.querySelectorAll('.seat').length > 1")

    def sit(self, seat: int, amount: str) -> None:
        """By keys: the seat, the amount, OK."""
        button = f"document.querySelector('.seat[data-seat=\"{seat}\"] .sit')"
        self.browser.wait(f"Boolean({button})")
        self.browser.ask(f"{button}.focus()")
        self.browser.press("Enter")
        self.pay(amount)

    def pay(self, amount: str) -> None:
        """Answer the dialog about chips, by keys."""
        self.browser.wait("document.getElementById('chips').open")
        self.browser.ask("(document.getElementById('amount').value = '', document.getElementById('amount').focus())")
        self.browser.write(amount)
        self.browser.press("Enter")
        self.browser.wait(
            "!document.getElementById('chips').open || document.getElementById('problem').textContent !== ''"
        )

    def press_button(self, key: str) -> None:
        self.browser.ask(f"document.querySelector('[data-key={json.dumps(key)}]')?.click()")

    def look(self) -> dict[str, Any]:
        """What is to be seen now; results of hands are noted."""
        seen: dict[str, Any] = self.browser.ask(STATE)
        for hand, net in seen["hands"]:
            assert self.hands.setdefault(hand, int(net)) == int(net), "a hand ended twice, and differently"
        return seen

    def until(self, what: str, rng: random.Random, enough: Any) -> dict[str, Any]:
        """Play until something is so; returns what is to be seen then."""
        give_up_at = time.monotonic() + 4 * PATIENCE_S
        while True:
            seen = self.look()
            if enough(seen):
                return seen
            self.step(seen, rng)
            assert time.monotonic() < give_up_at, f"not {what}: {seen}"
            time.sleep(0.01)

    def step(self, seen: dict[str, Any], rng: random.Random) -> None:
        """Do one of the things that can be done, mostly without raising; half of them by the keyboard."""
        if seen["keys"]:
            key = choice(seen["keys"], rng)
            self.done["shown"] += key in {"s", "m"}
            if rng.random() < 0.5:
                self.browser.press(key)
                self.done["keys"] += 1
            else:
                self.press_button(key)
                self.done["clicks"] += 1
        elif seen["ahead"] and rng.random() < 0.1:
            key, is_chosen = rng.choice(seen["ahead"])
            if not is_chosen:
                self.press_button(key)
                self.done["ahead"] += 1
        elif seen["stack"] == "0" and not seen["known"] and self._broke_at != len(self.hands):
            self._broke_at = len(self.hands)
            self.press_button("chips")
            self.pay(CHIPS)
        elif seen["out"] and seen["stack"] not in {"", "0"} and rng.random() < 0.1:
            self.press_button("in")


def choice(keys: list[str], rng: random.Random) -> str:
    calm = [key for key in keys if key in {"c", "b", "p", "s", "m"}]
    return rng.choice(calm) if calm and rng.random() < 0.8 else rng.choice(keys)
