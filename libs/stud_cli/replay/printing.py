"""A replay as text: what happened at a version, a picture of the table, the hands there are, a difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from stud_cli.drawing import WIDTH, card_text, draw, in_brackets, money
from stud_cli.output import table_of
from stud_replay.difference import Change
from stud_replay.entries import Made
from stud_replay.frames import Frame
from stud_replay.hands import HandEntry
from stud_replay.timeline import Timeline
from stud_replay.times import iso


def picture(frame: Frame, width: int = WIDTH) -> RenderableType:
    """Return the table as it was; a player's own cards where they were opened."""
    down: dict[int, Sequence[int]] | None = None
    if frame.mine is not None:
        down = {frame.mine.seat: list(frame.mine.down)}
    return draw(frame.view, frame.version, down, width)


def own_line(frame: Frame, account: str) -> str:
    """Say what a player had in hand, or why their cards stay face down; empty where nobody's eyes are looked through,
    or nothing was dealt to them.
    """
    if frame.mine is None:
        return ""
    if frame.sealed:
        return f"cards of {account} stay face down: {frame.sealed}"
    cards = Text(" ").join(in_brackets([card_text(card) for card in frame.mine.down])).plain
    return f"{account} has {cards} face down: {frame.mine.hand_in_words}" if cards else ""


def no_cards_line(account: str, first: int, last: int) -> str:
    """Say that a player had nothing in hand in the versions that were shown, so that silence means nothing else."""
    where = f"at version {last}" if first == last else f"in versions {first} to {last}"
    return f"{account} has no cards {where}: --hand N shows every step of a hand with those that they had"


def lines(frame: Frame) -> Iterator[Text]:
    """Yield what happened, a line for each event, behind version, time and whose doing it was."""
    head = Text(f"{frame.version:>6}  {iso(frame.at_ms)}", style="bold")
    yield head.append(f"  {made_by(frame)}", style="dim")
    for line in (*said_lines(frame), *clock_lines(frame)):
        yield Text(" " * 8).append_text(line)


def made_by(frame: Frame) -> str:
    """Say who or what made a version; empty for a player's eyes."""
    entry = frame.entry
    if entry.made_by is Made.HIDDEN:
        return ""
    return f"{entry.made_by.words} ({entry.actor})" if entry.actor else entry.made_by.words


def said_lines(frame: Frame) -> Iterator[Text]:
    """Yield a line for each event: what, why, and the rules that say so."""
    for said in frame.said:
        line = Text(said.what)
        line.append(f" -- {said.why}" if said.why else "", style="dim")
        yield line.append(f" [{', '.join(said.rules)}]" if said.rules else "", style="dim")


def clock_lines(frame: Frame) -> Iterator[Text]:
    """Yield a line for each clock that this version set."""
    for clock in frame.clocks:
        if clock.armed and clock.deadline_ms:
            text = f"clock: {clock.account} (seat {clock.seat}), {clock.kind}, until {iso(clock.deadline_ms)}"
            yield Text(text, style="dim")


def log_lines(frame: Frame) -> Iterable[tuple[str, str]]:
    """Yield name and value of what the log says of the entry itself."""
    entry = frame.entry
    yield "version", str(entry.version)
    yield "written", iso(frame.at_ms)
    yield "hash", entry.hash.hex()
    yield "after", entry.previous_hash.hex()
    if entry.made_by is Made.HIDDEN:
        return
    yield "made by", entry.made_by.words
    if entry.cause is not None:
        yield "cause", f"{entry.cause[0]} version {entry.cause[1]}"
    if entry.actor:
        yield "actor", entry.actor
        yield "request id", entry.request_id
    yield "build", entry.build


def entry_table(frame: Frame) -> Table:
    """Return the log's entry as a small table."""
    out = Table(box=None, show_header=False, pad_edge=False)
    for name, value in log_lines(frame):
        out.add_row(Text(name, style="dim"), Text(value, overflow="fold"))
    return out


def index_table(timeline: Timeline) -> Table:
    """Return the hands of a table, oldest first."""
    return hands_table(f"{timeline.table_id}: {timeline.version} versions", timeline.hands.all)


def hands_table(title: str, hands: Sequence[HandEntry]) -> Table:
    """Return hands, a line each."""
    columns = ("hand", "versions", "began", "pot", "ended", "verdict", "players")
    return table_of(title, columns, [_hand_row(hand) for hand in hands], right=("hand", "pot", "players"))


def _hand_row(hand: HandEntry) -> tuple[str, ...]:
    ended = "showdown" if hand.showdown else hand.outcome.value
    began, versions = iso(hand.started_ms)[:19].replace("T", " "), f"{hand.first}-{hand.last}"
    players = str(len(hand.players))
    return str(hand.hand_no), versions, began, money(hand.pot), ended, hand.verdict.value, players


def changes_table(first: int, last: int, changes: Sequence[Change]) -> Table:
    """Return what differs between two versions."""
    if not changes:
        return table_of(f"version {first} to {last}: nothing differs", (), ())
    rows = [(_where(change), change.field.replace("_", " "), change.before, change.after) for change in changes]
    return table_of(f"version {first} to {last}", ("where", "what", "before", "after"), rows)


def _where(change: Change) -> str:
    if not change.seat:
        return "table"
    return f"{change.account} (seat {change.seat})" if change.account else f"seat {change.seat}"
