"""Commands whose modules are loaded when they are run, not when ``stud`` starts: most of them need gRPC, the log's
client and half of the system, which the others, and ``stud --help``, need not wait for.

The line that ``stud --help`` shows of each stands here beside its place, so that nothing is loaded to be listed; a test
compares it with what the command says itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Final, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from stud_cli.exit_codes import CarefulGroup
from stud_cli.interrupts import ended_by_ctrl_c


class Place(NamedTuple):
    """Where a command is: a function, or an app of its own."""

    module: str
    name: str
    summary: str


class Commands(Mapping[str, Any]):
    """Commands by name, each loaded when it is looked up."""

    def __init__(self, places: Mapping[str, Place]) -> None:
        self._places = places
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = _load(name, self._places[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _load(name: str, place: Place) -> Any:
    with ended_by_ctrl_c():
        found = getattr(import_module(place.module), place.name)
    if not isinstance(found, typer.Typer):
        app = typer.Typer(add_completion=False, pretty_exceptions_show_locals=False)
        app.command(name)(found)
        return typer.main.get_command(app)
    group = typer.main.get_command(found)
    group.name = name
    return group


PLACES: Final = {
    "up": Place(
        "stud_cli.local.up",
        "up",
        "Start the log's server and all services, start again what dies, stop them in order on Ctrl-C.",
    ),
    "demo": Place(
        "stud_cli.local.demo",
        "demo",
        "Start everything, let bots play, close the tables, cash everybody out, and audit.",
    ),
    "play": Place(
        "stud_cli.play.command",
        "play",
        "Play stud at a terminal: draws the table, and your keys act.",
    ),
    "watch": Place(
        "stud_cli.play.watch",
        "watch",
        "Watch a table of the running system at a terminal; down cards stay hidden (??).",
    ),
    "load": Place(
        "stud_cli.load.command",
        "app",
        "Fill a system with bots, measure it, and check what they played.",
    ),
    "bench": Place(
        "stud_cli.bench.command",
        "bench",
        "Measure the system beside what it could reach on this machine: a bare server, PokerKit, eventsourcing, XADD.",
    ),
    "rules": Place(
        "stud_cli.rules",
        "rules",
        "Print the complete house rules of a preset or of a table, with examples in its own stakes.",
    ),
    "tables": Place("stud_cli.tables", "tables", "List the tables of the running system."),
    "table": Place(
        "stud_cli.operate.table",
        "app",
        "Open a table, look at it, pause, resume, drain and close it. Example: stud table show t-1",
    ),
    "hand": Place(
        "stud_cli.operate.hand",
        "app",
        "What became of a hand; void it; decide a dispute. Example: stud hand show t-1 17",
    ),
    "cashout": Place(
        "stud_cli.operate.cash_out",
        "app",
        "Cash-outs that are held, and what two operators pay. Example: stud cashout list",
    ),
    "account": Place(
        "stud_cli.operate.account",
        "app",
        "Accounts and their money. Example: stud account show ada --currency EUR",
    ),
    "bots": Place(
        "stud_cli.operate.bots",
        "bots",
        "Seat bots at a table of the running system and let them play, with money made up for it.",
    ),
    "proposals": Place(
        "stud_cli.operate.proposals",
        "proposals",
        "List what waits for a second operator, oldest first, with the command by which one agrees.",
    ),
    "token": Place(
        "stud_cli.local.keys",
        "token",
        "Make a token with the development key (made on first use under the keys directory).",
    ),
    "keys": Place("stud_cli.local.trust", "app", "What services trust: keys and revocations. Example: stud keys show"),
    "hands": Place(
        "stud_cli.index.command",
        "hands",
        "Find hands over all tables, newest first: by player, time, pot, how they ended.",
    ),
    "replay": Place(
        "stud_cli.replay.command",
        "replay",
        "Show a table as it was: at a version, a hand step by step, at a time. Down cards stay hidden (??).",
    ),
    "verify": Place(
        "stud_cli.inspect.verify",
        "verify",
        "Check every hash chain, fold every table, check decks against commitments and hands against verdicts.",
    ),
    "audit": Place(
        "stud_cli.inspect.audit",
        "audit",
        "Recompute every balance from the ledger's entries and check it against tables and verdicts.",
    ),
    "adjudicate": Place(
        "stud_cli.hands.adjudicate",
        "adjudicate",
        "Play recorded hands through the rules and compare who acts, what it costs and who is paid.",
    ),
    "rehearse": Place(
        "stud_cli.hands.rehearse",
        "rehearse",
        "Play recorded hands through table, dealer, referee and wallet, and compare what comes out.",
    ),
    "init": Place(
        "stud_cli.local.keys",
        "init",
        "Write the marker of a new log, once; services refuse a log without it, since it may have lost its data.",
    ),
    "dead": Place(
        "stud_cli.inspect.dead_letters", "app", "Messages that could not be handled. Example: stud dead list"
    ),
}


class Offered(NamedTuple):
    """A name as a shell offers it."""

    value: str
    help: str
    type: str = "plain"


class LoadingGroup(CarefulGroup):
    """All commands of ``stud``."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = Commands(PLACES)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names in the order of the help."""
        return list(PLACES)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Complete names by what is said of them here, so that nothing is loaded to be offered."""
        if incomplete.startswith("-"):
            return list(super().shell_complete(ctx, incomplete))
        names = [name for name in PLACES if name.startswith(incomplete)]
        return [Offered(name, PLACES[name].summary) for name in names]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """List commands by what is said of them here."""
        lines: Any = {name: TyperCommand(name, help=place.summary) for name, place in PLACES.items()}
        listed = TyperGroup(name=self.name, commands=lines, params=self.params, help=self.help)
        listed.format_help(ctx, formatter)
