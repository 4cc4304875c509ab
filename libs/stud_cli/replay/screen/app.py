"""The time machine: the table drawn, the timeline below it, what happened and why; everything by a key.

What stands where is decided in `walk`; what is shown comes from frames. It fits 80 columns and 24 lines, and says
nothing by colour alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.timer import Timer
from textual.widgets import Input, Static

from stud_cli.drawing import WIDTH
from stud_cli.replay import printing
from stud_cli.replay.reel import Reel
from stud_cli.replay.screen.walk import Walk, bar, place
from stud_eventlog.types import EventLogError
from stud_replay.difference import difference
from stud_replay.frames import Frame
from stud_replay.marks import Mark
from stud_replay.times import iso

KEYS: Final = "←→ step  a act  s street  n hand  space play  g go  / find  l log  d diff  ? all"

HELP: Final = """\
right, left       the next version, the one before
a, A              the next action, the one before
s, S              the next street, the one before
n, N              the next hand, the one before
home, end         the first version, the last
up, down          scroll what happened
space             play, and stop playing
+, -              faster, slower
g                 go to a hand (hand 7), a version (120) or a moment (2026-03-31T21:05)
/                 find hands: player NAME, pot AMOUNT, showdown, disputed, voided; or refusal
m, M              the next thing found, the one before
l                 what the log has of this version, instead of what happened
d                 mark this version; anywhere else: what differs from it; again: no more
r                 read on, where the table has gone on meanwhile
q                 leave"""


class TimeMachine(App[None]):
    """One table's timeline on a screen. ``start`` is the version to begin at."""

    CSS = """
    Screen { layout: vertical; }
    #table { height: auto; }
    #bar, #place, #keys { height: 1; }
    #keys, #place { text-style: bold; }
    #said { height: 1fr; }
    #ask { display: none; height: 1; border: none; padding: 0; }
    #ask.open { display: block; }
    """
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right", "step('ANY')"),
        Binding("left", "step('ANY', True)"),
        Binding("a", "step('ACTION')"),
        Binding("A", "step('ACTION', True)"),
        Binding("s", "step('STREET')"),
        Binding("S", "step('STREET', True)"),
        Binding("n", "step('HAND')"),
        Binding("N", "step('HAND', True)"),
        Binding("home", "end(True)"),
        Binding("end", "end(False)"),
        Binding("up", "scroll(-1)"),
        Binding("down", "scroll(1)"),
        Binding("space", "play"),
        Binding("plus", "speed(1)"),
        Binding("minus", "speed(-1)"),
        Binding("g", "ask('go to', 'hand 7, 120 or 2026-03-31T21:05')"),
        Binding("slash", "ask('find', 'player ada pot 100.00 showdown')"),
        Binding("m", "match(False)"),
        Binding("M", "match(True)"),
        Binding("l", "show('log')"),
        Binding("d", "mark"),
        Binding("r", "read_on"),
        Binding("question_mark", "show('keys')"),
        Binding("escape", "back"),
        Binding("q", "quit"),
    ]

    def __init__(self, reel: Reel, start: int) -> None:
        super().__init__()
        self.reel = reel
        self.walk = Walk(reel.timeline, start)
        self.frame: Frame | None = None
        self.panel = "said"
        self.marked: Frame | None = None
        self.told = ""
        self._asking: Callable[[str], str | None] = lambda _: None
        self._playing: Timer | None = None

    def compose(self) -> ComposeResult:
        """Stack the parts from top to bottom."""
        yield Static(id="table", markup=False)
        yield Static(id="bar", markup=False)
        yield Static(id="place", markup=False)
        with VerticalScroll(id="said", can_focus=False):
            yield Static(id="words", markup=False)
        yield Input(id="ask", compact=True, disabled=True)
        yield Static(KEYS, id="keys", markup=False)

    async def on_mount(self) -> None:
        """Show the first picture."""
        await self.look()

    async def on_resize(self, resized: events.Resize) -> None:
        """Draw again as wide as the terminal is now; the app's own size still is what it was."""
        self.draw(resized.size.width)

    # --- looking -----------------------------------------------------------------------------------------------------

    async def look(self) -> None:
        """Show the version at which the walk stands; a log that cannot be read is told, and the picture stays."""
        try:
            self.frame = await self.reel.frame(self.walk.at)
        except (EventLogError, ValueError) as error:
            self.told = str(error)
            self.stop()
        self.query_one("#said", VerticalScroll).scroll_home(animate=False)
        self.draw()

    def draw(self, width: int = 0) -> None:
        """Draw everything anew, in a width that is not 0 or that of the screen."""
        frame = self.frame
        if frame is None:
            self.query_one("#place", Static).update(Text(self.told))
            return
        width = width or self.size.width
        self.query_one("#table", Static).update(printing.picture(frame, min(WIDTH, width)))
        line = bar(self.reel.timeline, frame.version, width, self.walk.matches)
        self.query_one("#bar", Static).update(Text(line))
        self.query_one("#place", Static).update(Text(self._place(frame), no_wrap=True, overflow="ellipsis"))
        self.query_one("#words", Static).update(self._panel(frame))

    def _place(self, frame: Frame) -> str:
        if self.told:
            return self.told
        playing = f" · playing ×{self.walk.speed:g}" if self._playing is not None else ""
        return f"{place(self.reel.timeline, frame.version)} · {iso(frame.at_ms)}{playing}"

    def _panel(self, frame: Frame) -> RenderableType:
        if self.panel == "keys":
            return Text(HELP)
        if self.panel == "log":
            return printing.entry_table(frame)
        if self.marked is not None and self.marked.version != frame.version:
            return self._difference(self.marked, frame)
        own = printing.own_line(frame, self.reel.viewer.account)
        who = [Text(text, style="bold") for text in (printing.made_by(frame), own) if text]
        said = [Padding(line, (0, 0, 0, 2)) for line in (*printing.said_lines(frame), *printing.clock_lines(frame))]
        return Group(*who, *said)

    @staticmethod
    def _difference(marked: Frame, frame: Frame) -> RenderableType:
        before, after = sorted((marked, frame), key=lambda one: one.version)
        changes = [Text(change.words) for change in difference(before.view, after.view)]
        return Group(Text(f"what differs from version {before.version} to {after.version}", style="bold"), *changes)

    # --- walking -----------------------------------------------------------------------------------------------------

    async def _moved(self, moved: bool, otherwise: str) -> None:
        self.told = "" if moved else otherwise
        await self.look()

    async def action_step(self, kind: str, back: bool = False) -> None:
        """Go to the next version of a kind, or the one before."""
        self.stop()
        words = {"ANY": "version", "ACTION": "action", "STREET": "street", "HAND": "hand"}[kind]
        end = "before this" if back else "after this"
        await self._moved(self.walk.step(Mark[kind], back=back), f"there is no {words} {end}")

    async def action_match(self, back: bool) -> None:
        """Go to the next thing that was found."""
        self.stop()
        way = "before this" if back else "behind this"
        await self._moved(self.walk.match(back=back), f"nothing that was found is {way}: / looks for something")

    async def action_end(self, first: bool) -> None:
        """Go to the first version, or the last."""
        self.stop()
        if first:
            self.walk.first()
        else:
            self.walk.last()
        await self._moved(True, "")

    def action_scroll(self, lines: int) -> None:
        """Scroll what happened."""
        self.query_one("#said", VerticalScroll).scroll_relative(y=lines, animate=False)

    async def action_read_on(self) -> None:
        """Take in what the log holds by now."""
        before = self.reel.timeline.version
        try:
            await self.reel.fold()
        except (EventLogError, ValueError) as error:
            self.told = str(error)
        else:
            self.told = f"{self.reel.timeline.version - before} more versions"
        self.draw()

    # --- asking ------------------------------------------------------------------------------------------------------

    def action_ask(self, what: str, example: str) -> None:
        """Open the line in which a place or a search is written."""
        self.stop()
        self._asking = self.walk.find if what == "find" else self.walk.go_to
        line = self.query_one("#ask", Input)
        line.value, line.placeholder = "", f"{what}: {example}"
        line.add_class("open")
        line.disabled = False
        line.focus()

    async def on_input_submitted(self, asked: Input.Submitted) -> None:
        """Go where was asked for, or say what would have been right."""
        self._close()
        if not asked.value.strip():
            return
        try:
            self.told = self._asking(asked.value) or ""
        except ValueError as error:
            self.told = str(error)
        await self.look()

    def _close(self) -> None:
        line = self.query_one("#ask", Input)
        line.remove_class("open")
        self.set_focus(None)
        line.disabled = True

    async def action_back(self) -> None:
        """Close what was opened."""
        self._close()
        self.panel, self.told = "said", ""
        self.draw()

    # --- panels ------------------------------------------------------------------------------------------------------

    def action_show(self, panel: str) -> None:
        """Show a panel instead of what happened, or that again."""
        self.panel = "said" if self.panel == panel else panel
        self.draw()

    def action_mark(self) -> None:
        """Mark a version to compare others with, or take the mark away."""
        self.marked = self.frame if self.marked is None else None
        self.panel = "said"
        self.told = "" if self.marked is None else f"version {self.marked.version} is marked: go anywhere"
        self.draw()

    # --- playing -----------------------------------------------------------------------------------------------------

    async def action_play(self) -> None:
        """Play on from here, or stop."""
        if self._playing is not None:
            self.stop()
        else:
            self.told = ""
            self._wait()
        self.draw()

    def action_speed(self, by: int) -> None:
        """Play faster, or slower."""
        self.walk.faster(by)
        self.told = "" if self._playing is not None else f"speed ×{self.walk.speed:g}"
        self.draw()

    def stop(self) -> None:
        """Stop playing."""
        if self._playing is not None:
            self._playing.stop()
            self._playing = None

    def _wait(self) -> None:
        self._playing = self.set_timer(self.walk.pause_s(), self._play_on)

    async def _play_on(self) -> None:
        if self._playing is None:
            return
        if self.walk.step():
            self._wait()
            await self.look()
        else:
            self.stop()
            self.told = "this is the last version"
            self.draw()
