"""``stud replay``: a table as it was, from nothing but its log."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from stud_cli.exit_codes import could_not_run, said_as
from stud_cli.index.asking import account_id, moment_ms, reason_text, table_id
from stud_cli.inspect.log import open_log
from stud_cli.local.progress import Waiting
from stud_cli.local.stopping import run_with_one_stop
from stud_cli.operate.common import EndpointsOption, KeysOption, TokenFileOption
from stud_cli.operate.desk import at_a_terminal
from stud_cli.output import DataDir, console, last_line, notes
from stud_cli.replay import printing
from stud_cli.replay.own_cards import OwnCards, Services
from stud_cli.replay.page.writing import hand_range, write_page
from stud_cli.replay.reel import Reel
from stud_eventlog.types import EventLogError
from stud_replay import navigation
from stud_replay.difference import difference
from stud_replay.marks import Mark
from stud_replay.plain import as_dict, change_dict, index_dict
from stud_replay.timeline import Timeline


class Asked(msgspec.Struct, frozen=True):
    """What is to be shown; 0, None and empty are what nobody asked for."""

    at: int = 0
    hand: int = 0
    at_ms: int | None = None
    versions: tuple[int, int] | None = None
    diff: tuple[int, int] | None = None
    index: bool = False
    events: bool = False
    log_entry: bool = False
    json: bool = False
    printed: bool = False

    @property
    def to_be_printed(self) -> bool:
        """Whether it is no place to walk about from, or nobody is there to walk."""
        texts = self.versions or self.diff or self.index or self.events or self.log_entry or self.json or self.printed
        return bool(texts) or not (sys.stdout.isatty() and at_a_terminal())


JsonLines = Annotated[
    bool,
    typer.Option("--json", help="Print JSON: one object, or of a range (--hand, --range) one a line, a step each."),
]


def replay(
    table: Annotated[str, typer.Argument(help="Table id; `stud tables` lists them.")],
    at: Annotated[int, typer.Option("--at", help="Version to stop at; 0 = the last.", min=0)] = 0,
    hand: Annotated[int, typer.Option("--hand", help="Every step of this hand; 0 = none.", min=0)] = 0,
    time: Annotated[
        str | None, typer.Option("--time", help="As it was at this moment: ISO 8601, or milliseconds.")
    ] = None,
    versions: Annotated[
        tuple[int, int] | None,
        typer.Option("--range", help="Every step from a version to another.", show_default=False),
    ] = None,
    diff: Annotated[
        tuple[int, int] | None, typer.Option("--diff", help="What differs between two versions.", show_default=False)
    ] = None,
    index: Annotated[
        bool, typer.Option("--index", help="List the table's hands and where they are in its log.")
    ] = False,
    events: Annotated[bool, typer.Option("--events", help="Say every event on the way, and why.")] = False,
    log_entry: Annotated[
        bool, typer.Option("--log", help="Say what the log has of the version: hashes, cause.")
    ] = False,
    printed: Annotated[bool, typer.Option("--print", help="Print, also at a terminal.")] = False,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write hands as one page to look at and to send.", show_default=False)
    ] = None,
    hands: Annotated[str, typer.Option("--hands", help="With --html: a hand (7) or a range (7-12); empty = all.")] = "",
    as_player: Annotated[
        str | None,
        typer.Option("--as", help="Through this player's eyes; their own cards need --reason.", show_default=False),
    ] = None,
    reason: Annotated[
        str | None,
        typer.Option("--reason", help="With --as: why, 1 to 500 characters: the log keeps it.", show_default=False),
    ] = None,
    auditor: Annotated[
        str, typer.Option("--auditor", help="With --as: who you are, as auditor.", show_default="STUD_AS")
    ] = "",
    token_file: TokenFileOption = None,
    keys: KeysOption = None,
    where: EndpointsOption = "",
    data: DataDir = None,
    json_output: JsonLines = False,
) -> None:
    """Show a table as it was: at a version, a hand step by step, at a time. Down cards stay hidden (??).

    At a terminal it opens a screen to walk about in; ? shows its keys.

    With --as a player's own cards of finished hands are opened, by the dealer, which writes down who asked and why.

    Example: stud replay demo-playnow --at 120
    """
    with said_as("{}", ValueError):
        table_id(table)
    with said_as("--time {}", ValueError):
        at_ms = None if time is None else moment_ms(time)
    asked = Asked(at, hand, at_ms, versions, diff, index, events, log_entry, json_output, printed)
    _check(asked, html, hands)
    _check_eyes(as_player, reason, auditor)
    services = Services(auditor, token_file, keys, where)
    if as_player and events:
        could_not_run("--events is everything from the table's first version on: want --hand or --range with --as")
    if as_player and (diff is not None or index):
        could_not_run("--diff and --index say what everybody saw: want --hand, --range, --at or --time with --as")
    own = OwnCards(table, as_player, reason or "", services) if as_player else None
    with said_as(f"table {table}: {{}}", EventLogError, ValueError):
        if html is not None:
            run_with_one_stop(_closing(services, _page(table, hands, html, data, json_output, own)))
        else:
            run_with_one_stop(_closing(services, _replay(table, asked, data, own)))


def _check(asked: Asked, html: Path | None, hands: str) -> None:
    """Refuse what cannot be meant together."""
    if html is None and hands:
        could_not_run("--hands says what goes into a page: name the page with --html FILE")
    if html is not None and (not html.name or html.is_dir()):
        could_not_run(f"--html {str(html)!r} is no file: want the name of the page, such as hand-7.html")
    if html is not None and asked != Asked(json=asked.json):
        could_not_run("a page shows whole hands: want --html with --hands, and nothing else that says what to show")
    places = {
        "--at": asked.at,
        "--hand": asked.hand,
        "--time": asked.at_ms is not None,
        "--range": asked.versions is not None,
        "--diff": asked.diff is not None,
        "--index": asked.index,
    }
    named = [name for name, given in places.items() if given]
    if len(named) > 1:
        could_not_run(f"{' and '.join(named)} say different places: want one of them")
    for name, pair in (("--range", asked.versions), ("--diff", asked.diff)):
        if pair is not None:
            _check_pair(name, *pair)


def _check_pair(name: str, first: int, last: int) -> None:
    """Refuse versions that no log has, and a wrong order. Which are too high only the log can say."""
    if min(first, last) < 1:
        could_not_run(f"{name} {first} {last}: there is no version {min(first, last)}, the first one is 1")
    if first > last:
        could_not_run(f"{name} {first} {last} goes backwards: want the lower version first")
    if name == "--diff" and first == last:
        could_not_run(f"--diff {first} {last}: between a version and itself nothing differs, want two versions")


def _check_eyes(player: str | None, reason: str | None, auditor: str) -> None:
    """Refuse what can open nobody's cards, before anybody is asked to."""
    if (reason is not None or auditor) and player is None:
        could_not_run("--reason and --auditor are for opening a player's own cards: name the player with --as")
    with said_as("--as {}", ValueError):
        if player is not None:
            account_id(player)
    with said_as("--reason: {}", ValueError):
        if reason is not None:
            reason_text(reason)


async def _page(
    table_id: str, hands: str, out: Path, data: Path | None, json_output: bool, own: OwnCards | None
) -> None:
    with said_as("--hands {}", ValueError):
        wanted = hand_range(hands)
    async with open_log(data) as opened:
        written = await write_page(opened.log, table_id, wanted, out, own=own)
    if json_output:
        last_line({"table": table_id, "html": str(out), **msgspec.structs.asdict(written)})
        return
    size = f"{written.bytes / 1024:,.0f} KiB"
    console.print(f"{out}: {written.hands} hands, {written.steps} steps, {size}", markup=False, soft_wrap=True)


async def _closing(services: Services, work: Awaitable[None]) -> None:
    try:
        await work
    finally:
        await services.close()


async def _replay(table_id: str, asked: Asked, data: Path | None, own: OwnCards | None) -> None:
    async with open_log(data) as opened:
        reel = Reel(opened.log, table_id, own=own)
        with Waiting(notes if notes.is_terminal and not asked.json else None) as waiting:
            # What became of the hand decides whether its cards are opened, and a walk goes anywhere.
            whole = own is not None or not asked.to_be_printed
            await reel.fold(
                _never if whole else _enough(asked),
                lambda done, of: waiting.show(f"{done} of {of} versions", done / of),
            )
        if not reel.timeline.version:
            could_not_run(f"there is no table {table_id!r} in this log")
        if own is not None and not _ever_sat(reel.timeline, own.viewer.account):
            could_not_run(f"{own.viewer.account} was dealt into no hand of table {table_id}")
        if not asked.to_be_printed:
            await _walk(reel, asked)
        elif asked.index:
            _show_index(reel.timeline, asked)
        elif asked.diff is not None:
            await _show_difference(reel, *asked.diff, asked)
        else:
            await _show(reel, asked)


def _ever_sat(timeline: Timeline, account: str) -> bool:
    return any(account == name for hand in timeline.hands.all for _, name in hand.players)


def _never(_: Timeline) -> bool:
    return False


def _enough(asked: Asked) -> Callable[[Timeline], bool]:
    """How much of the log must be read."""
    if asked.hand:
        return lambda timeline: bool(timeline.hands.all) and timeline.hands.all[-1].hand_no > asked.hand
    last = max([asked.at, *(asked.versions or ()), *(asked.diff or ())])
    return lambda timeline: 0 < last <= timeline.version


async def _walk(reel: Reel, asked: Asked) -> None:
    """Open the screen where was asked for: a hand at its beginning."""
    from stud_cli.replay.screen.app import TimeMachine

    first, last = _range(reel.timeline, asked)
    await TimeMachine(reel, first if asked.hand else last).run_async()


async def _show(reel: Reel, asked: Asked) -> None:
    first, last = _range(reel.timeline, asked)
    is_range = bool(asked.hand or asked.versions)
    if asked.json:
        async for frame in reel.frames(first if is_range else last, last):
            last_line(as_dict(frame))
        return
    told = ""
    if is_range or asked.events:
        async for frame in reel.frames(first, last):
            for line in printing.lines(frame):
                console.print(line, soft_wrap=True)
            told = _tell_own(printing.own_line(frame, reel.viewer.account), told)
    frame = await reel.frame(last)
    console.print(printing.picture(frame))
    told = _tell_own(printing.own_line(frame, reel.viewer.account), told)
    if reel.viewer.account and not told:
        _tell_own(printing.no_cards_line(reel.viewer.account, first if is_range else last, last), "")
    if asked.log_entry:
        console.print(printing.entry_table(frame))


def _tell_own(line: str, told: str) -> str:
    """Say what a player holds, or why it is not shown, where that is not what was told last; return what was."""
    if line and line != told:
        console.print(line, markup=False, soft_wrap=True)
    return line or told


def _range(timeline: Timeline, asked: Asked) -> tuple[int, int]:
    """First and last version to be shown. Raises Nowhere."""
    if asked.hand:
        found = navigation.of_hand(timeline, asked.hand)
        return found.first, found.last
    if asked.at_ms is not None:
        return 1, navigation.at_time(timeline, asked.at_ms)
    if asked.versions is not None:
        first, last = [navigation.of_version(timeline, version) for version in asked.versions]
        return first, last
    return 1, navigation.of_version(timeline, asked.at)


def _show_index(timeline: Timeline, asked: Asked) -> None:
    if asked.json:
        last_line(index_dict(timeline))
    else:
        console.print(printing.index_table(timeline))
        declined = [str(version) for version in navigation.versions_with(timeline, Mark.REFUSAL)]
        console.print(f"declined at versions: {', '.join(declined) or 'none'}; {navigation.NOT_IN_THE_LOG}")


async def _show_difference(reel: Reel, first: int, last: int, asked: Asked) -> None:
    first, last = navigation.of_version(reel.timeline, first), navigation.of_version(reel.timeline, last)
    before, after = await reel.frame(first), await reel.frame(last)
    changes = difference(before.view, after.view)
    if asked.json:
        told: dict[str, Any] = {"table": reel.table_id, "from_version": first, "to_version": last}
        last_line({**told, "changes": [change_dict(change) for change in changes]})
    else:
        console.print(printing.changes_table(first, last, changes))
