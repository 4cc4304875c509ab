"""A real browser for tests of pages: Chromium without a window, told what to do over its own pipe.

Nothing is installed for it: the DevTools protocol is JSON, each message ended by a zero byte, on the descriptors 3 and
4 of the browser (``--remote-debugging-pipe``). Where there is no Chromium the tests that want one are skipped.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE_S = 60.0

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-extensions",
    "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars", "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)  # fmt: skip

KEYS = {
    "ArrowLeft": 37, "ArrowRight": 39, "PageUp": 33, "PageDown": 34, "Home": 36, "End": 35, "Tab": 9,
    "Enter": 13, " ": 32,
}  # fmt: skip


def binary() -> str:
    """The browser's program; skips the test where there is none."""
    for name in NAMES:
        found = shutil.which(name)
        if found is not None:
            return found
    pytest.skip(f"no browser on PATH ({', '.join(NAMES)}): `apt-get install chromium` brings one")


class Chromium:
    """One browser with one page."""

    def __init__(self, program: str) -> None:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self._to = _far_pipe()
        self._from, to_write = _far_pipe()
        quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
        told = [(os.POSIX_SPAWN_DUP2, to_read, 3), (os.POSIX_SPAWN_DUP2, to_write, 4)]
        words = [program, *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"]
        self._pid = os.posix_spawn(program, words, os.environ, file_actions=[*quiet, *told])
        os.close(to_read)
        os.close(to_write)
        self._rest = b""
        self._number = 0
        self._session = ""
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        target = self.do("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.do("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility"):
            self.do(f"{domain}.enable")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._to)
        os.close(self._from)
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        self._profile.cleanup()

    # --- the protocol ------------------------------------------------------------------------------------------------

    def do(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Have the browser do something; return its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            heard = self._next()
            if heard.get("id") == self._number:
                assert "error" not in heard, f"{method}: {heard['error']}"
                answer: dict[str, Any] = heard["result"]
                return answer
            self.events.append(heard)

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + PATIENCE_S
        while b"\0" not in self._rest:
            left = until - time.monotonic()
            ready, _, _ = select.select([self._from], [], [], max(left, 0))
            data = os.read(self._from, 1 << 20) if ready else b""
            assert data, "the browser says nothing any more"
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\0")
        heard: dict[str, Any] = json.loads(line)
        return heard

    # --- a page ------------------------------------------------------------------------------------------------------

    def open(
        self, path: Path, width: int = 1280, height: int = 800, *, dark: bool = False, phone: bool = False
    ) -> None:
        """Open a file."""
        self.visit(path.resolve().as_uri(), width, height, dark=dark, phone=phone)

    def visit(
        self, address: str, width: int = 1280, height: int = 800, *, dark: bool = False, phone: bool = False
    ) -> None:
        """Open an address."""
        self.do(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=2 if phone else 1, mobile=phone,
        )  # fmt: skip
        self.do("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        ])  # fmt: skip
        self.events.clear()
        self.do("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")

    def ask(self, expression: str) -> Any:
        """Evaluate JavaScript in the page; return its value."""
        said = self.do("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until something is true in the page."""
        until = time.monotonic() + PATIENCE_S
        while not self.ask(expression):
            assert time.monotonic() < until, f"never true: {expression}"
            time.sleep(0.02)

    def press(self, key: str) -> None:
        """Press a key and let it go."""
        text = {"text": {"Enter": "\r"}.get(key, key)} if len(key) == 1 or key == "Enter" else {}
        code = KEYS.get(key, ord(key.upper()) if len(key) == 1 else 0)
        for kind in ("keyDown", "keyUp"):
            self.do("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **text)
            text = {}

    def write(self, text: str) -> None:
        """Put a text where the focus is, as if it were typed or pasted."""
        self.do("Input.insertText", text=text)

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """Save what is to be seen as PNG."""
        data = self.do("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def paper(self, path: Path) -> None:
        """Print to a PDF file."""
        path.write_bytes(base64.b64decode(self.do("Page.printToPDF", printBackground=False)["data"]))

    def complaints(self) -> list[str]:
        """What the browser has told of scripts and of what the page's policy forbade, since the page was opened."""
        found = []
        for event in self.events:
            if event.get("method") == "Log.entryAdded":
                found.append(event["params"]["entry"]["text"])
            elif event.get("method") == "Runtime.exceptionThrown":
                found.append(str(event["params"]["exceptionDetails"]))
        return found

    def requests(self) -> list[str]:
        """What was asked for since the page was opened, beside the page itself."""
        sent = [event for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent if event["params"].get("type") != "Document"]


def _far_pipe() -> tuple[int, int]:
    """Both ends of a pipe, away from the numbers that the browser wants its own to have."""
    ends = os.pipe()
    far = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return far[0], far[1]


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium(binary()) as chromium:
        yield chromium
