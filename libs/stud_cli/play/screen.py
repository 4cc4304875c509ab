"""A table on the whole terminal: the picture, the clock, what happened. What `stud watch` shows, and what `stud play`
plays on (`app`). Keys alone; at 80 columns and 24 lines everything is there, on a wide one what happened stands beside.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, ClassVar, Final

from rich.console import Group
from rich.padding import Padding
from rich.text import Text
from rich.traceback import Traceback
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Static

from stud.table.v1 import table_service_pb2 as pb
from stud_cli.exit_codes import could_not_run
from stud_cli.play import picture
from stud_cli.play.seen import Seen
from stud_client import StudError
from stud_client.following import Following
from stud_core.house_rules.saying import money

LEAST: Final = (80, 24)
WIDE: Final = 124
"""From so many columns on what happened stands beside the table."""

BESIDE: Final = 44
TICK_S: Final = 0.25
"""How often the clock is drawn."""

LOGS: Final = ("#said", "#beside")
BOUNDED: Final = frozenset({"BUY_IN_TOO_SMALL", "BUY_IN_TOO_LARGE", "TOP_UP_OUT_OF_LIMITS"})
"""Refusals whose metadata say which amounts would be right, minor units."""

MARKS: Final = "D dealer button   > to act   * you   ?? face down   [ ] what only you see"


class TableScreen(App[None]):
    """Follows one table until it is closed or somebody leaves. ``following`` is open already, and stays its owner's."""

    CSS = f"""
    Screen {{ layout: vertical; }}
    #all {{ height: 1fr; }}
    #small {{ display: none; height: 1fr; }}
    .toosmall #all {{ display: none; }}
    .toosmall #small {{ display: block; }}
    #left {{ width: 1fr; }}
    #table, #below {{ height: auto; }}
    #said {{ height: 1fr; scrollbar-size-vertical: 0; }}
    #beside {{ display: none; width: {BESIDE}; border-left: ascii; scrollbar-size-vertical: 0; }}
    .wide #beside {{ display: block; }}
    .wide #said {{ display: none; }}
    .wide #gap {{ height: 1fr; }}
    #gap {{ height: 0; }}
    #help {{ display: none; height: 1fr; padding: 0 1; }}
    .helped #help {{ display: block; }}
    .helped #said {{ display: none; }}
    .helped #table {{ display: none; }}
    #ask {{ display: none; height: 1; border: none; padding: 0 1; }}
    .asked #ask {{ display: block; }}
    """
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None
    KEYS: ClassVar[str] = "up/down scroll   ? help   q quit"
    HELP: ClassVar[str] = f"{MARKS}\n\nup, down       scroll what happened\nq              quit"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,pageup", "scroll(-1)"),
        Binding("down,pagedown", "scroll(1)"),
        Binding("question_mark", "help"),
        Binding("escape", "back"),
        Binding("q", "leave", priority=False),
        Binding("ctrl+c", "leave", priority=True),
    ]

    def __init__(self, following: Following, *, plain: bool = False, own: bool = False) -> None:
        super().__init__()
        self.following = following
        self.seen = Seen(plain=plain, own=own)
        self.told = ""
        self.ended = ""
        """Why nothing more will come; empty while the table is followed."""
        self._task: asyncio.Task[None] | None = None

    def compose(self) -> ComposeResult:
        """Stack the parts."""
        yield Static(id="small", markup=False)
        with Horizontal(id="all"):
            with Vertical(id="left"):
                yield Static(id="table", markup=False)
                with VerticalScroll(id="said", can_focus=False):
                    yield Static(id="words", markup=False)
                yield Static(self.HELP, id="help", markup=False)
                yield Static(id="gap")
                yield Static(id="below", markup=False)
                yield from self.compose_more()
            with VerticalScroll(id="beside", can_focus=False):
                yield Static(id="words-beside", markup=False)

    def compose_more(self) -> ComposeResult:
        """What stands below everything else."""
        yield from ()

    def on_mount(self) -> None:
        """Begin to follow."""
        self._fit(self.size.width, self.size.height)
        for name in LOGS:
            self.query_one(name, VerticalScroll).anchor()
        self._task = asyncio.get_running_loop().create_task(self._follow())
        self.set_interval(TICK_S, self.draw)
        self.draw()

    async def on_unmount(self) -> None:
        """End what was begun."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def on_resize(self, resized: events.Resize) -> None:
        """Draw for the terminal as it is now; the app's own size still is what it was."""
        self._fit(resized.size.width, resized.size.height)
        self.draw(resized.size.width)

    def _fit(self, width: int, height: int) -> None:
        self.screen.set_class(width < LEAST[0] or height < LEAST[1], "toosmall")
        self.screen.set_class(width >= WIDE, "wide")
        least = " by ".join(map(str, LEAST))
        text = f"This terminal has {width} columns and {height} lines: make it {least} or larger."
        self.query_one("#small", Static).update(Text(text))

    # --- following ---------------------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        try:
            async for update in self.following:
                lines = self.seen.told
                self.seen.take(update, time.monotonic())
                await self.changed(update)
                self.draw()
                if self.seen.told != lines:
                    self.draw_words()
            self.ended = "the table is closed: q quits"
        except StudError as error:
            self.ended = f"{sentence(error)}: q quits"
        self.draw()

    async def changed(self, update: pb.TableUpdate) -> None:
        """Do what an update asks for; nothing for a spectator."""

    @property
    def is_up(self) -> bool:
        """Whether there is anything to draw on: not while the screen is taken down."""
        return all(bool(self.query(part)) for part in ("#table", "#words", "#words-beside", "#below"))

    # --- drawing -----------------------------------------------------------------------------------------------------

    def draw(self, width: int = 0) -> None:
        """Draw everything anew, in a width that is not 0 or that of the screen."""
        if not self.is_up:
            return
        width = width or self.size.width
        left = width - BESIDE if width >= WIDE else width
        now_s, seen = time.monotonic(), self.seen
        if seen.update is None:
            self.query_one("#table", Static).update(Text(self.ended or "looking for the table ..."))
        else:
            lines = [picture.title(seen, left), *picture.seats(seen, left), Text(""), picture.middle(seen, left)]
            lines.append(picture.clock(seen, now_s, left))
            self.query_one("#table", Static).update(Group(*lines))
        self.query_one("#below", Static).update(Group(Text("-" * left, style="dim"), *self.below(left)))

    def below(self, width: int) -> list[Text]:
        """Return the last lines of the screen: what is told, and the keys."""
        return [self.notice(width), fitted(self.KEYS, width, "bold")]

    def notice(self, width: int) -> Text:
        """Return what is wrong, or was told last."""
        trouble = self.following.trouble
        if self.ended:
            return fitted(self.ended, width, "reverse")
        if trouble is not None:
            return fitted(f"reconnecting, nothing is lost meanwhile ({trouble.reason}) ...", width, "reverse")
        return fitted(self.told, width)

    def draw_words(self) -> None:
        """Draw what happened; its end is shown, unless somebody has scrolled away from it."""
        if not self.is_up:
            return
        words = Group(*(Text(line) for line in self.seen.said))
        self.query_one("#words", Static).update(Padding(words, (0, 1)))
        self.query_one("#words-beside", Static).update(words)

    # --- keys --------------------------------------------------------------------------------------------------------

    def action_scroll(self, lines: int) -> None:
        """Scroll what happened."""
        for name in LOGS:
            log = self.query_one(name, VerticalScroll)
            if log.scroll_y + 3 * lines >= log.max_scroll_y:
                log.scroll_end(animate=False)  # and follows again
            else:
                log.release_anchor()
                log.scroll_relative(y=3 * lines, animate=False)

    def action_help(self) -> None:
        """Show all keys, or the table again."""
        self.screen.toggle_class("helped")

    async def action_back(self) -> None:
        """Close what was opened."""
        self.screen.remove_class("helped")
        self.told = ""
        self.draw()

    async def action_leave(self) -> None:
        """Quit."""
        self.exit()

    # --- faults ------------------------------------------------------------------------------------------------------

    def _fatal_error(self) -> None:
        """Say where a fault is, without the values there, as textual would: cards are among them."""
        self.panic(Traceback(width=None, show_locals=False))

    def check(self) -> None:
        """Raises CouldNotRun where the screen was ended by a fault."""
        if self.return_code:
            could_not_run("a fault of the screen, above is where: please report it; seat and chips are as they were")


def fitted(text: str, width: int, style: str = "") -> Text:
    """Return one line of a screen, cut where it does not fit."""
    return picture.fit(Text(f" {text}" if text else "", style=style, no_wrap=True), width)


def sentence(error: StudError) -> str:
    """Return a refusal for people, with what would have been right where the service says it."""
    said: Any = error.text or error.reason.lower().replace("_", " ")
    if error.reason == "UNAVAILABLE":
        return "the service cannot be reached now"
    if error.reason in BOUNDED and {"min", "max"} <= error.metadata.keys():
        least, most = (money(int(error.metadata[bound])) for bound in ("min", "max"))
        return f"outside the limits: want {least} to {most}"
    if error.reason == "INSUFFICIENT_FUNDS" and "balance" in error.metadata:
        return f"not enough money: the balance is {money(int(error.metadata['balance']))}"
    return str(said)
