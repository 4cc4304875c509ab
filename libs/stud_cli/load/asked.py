"""What ``stud load`` can be asked: its options and what is said of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stud_load.plan import Transport

# The load

Tables = Annotated[int, typer.Option(help="Tables.", min=1)]
Players = Annotated[int, typer.Option(help="Players at each table.", min=2, max=8)]
Spectators = Annotated[int, typer.Option(help="Spectators of each table.", min=0)]
Ruleset = Annotated[str, typer.Option(help="playnow or william_hill.")]
RateText = Annotated[
    str, typer.Option(help="human (think times of 3 s on average), max, or actions a second over all tables: 250/s.")
]
Ramp = Annotated[float, typer.Option(help="Seconds over which tables begin.", min=0)]
Warm = Annotated[float, typer.Option(help="Seconds from then until it is measured.", min=0)]
Seconds = Annotated[float, typer.Option(help="Seconds that are measured.", min=1)]
Processes = Annotated[int, typer.Option(help="Processes that the bots share.", min=1)]
TransportName = Annotated[Transport, typer.Option(help="play: streams; unary: a call for each command.")]
Plain = Annotated[bool, typer.Option("--plain", help="Streams as older clients have them: more and longer messages.")]
Seed = Annotated[int, typer.Option(help="Seed of choices and think times; decks are always random.")]
AskAntes = Annotated[bool, typer.Option("--ask-antes", help="Players post each ante by themselves.")]

# Chaos

Reconnect = Annotated[
    float, typer.Option(help="Chance (0 to 1) for each viewer and hand that the stream is cut.", min=0, max=1)
]
SlowReaders = Annotated[int, typer.Option(help="Spectators that take an update a second.", min=0)]
LeaveRejoin = Annotated[bool, typer.Option("--leave-rejoin", help="Players leave and sit down again.")]
BadCommands = Annotated[bool, typer.Option("--bad-commands", help="Players send wrong commands too.")]

# Where

Run = Annotated[
    Path | None, typer.Option("--run", help="File of a running `stud up`: var/stud.json.", show_default=False)
]
Endpoints = Annotated[
    str | None, typer.Option(help="Another system: table=HOST:PORT,wallet=HOST:PORT,…", show_default=False)
]
Keys = Annotated[
    Path | None, typer.Option("--keys", help="Directory of the key that tokens are made with.", show_default=False)
]

# Reports

Out = Annotated[Path | None, typer.Option("--out", help="Write the whole report here, as JSON.", show_default=False)]
Html = Annotated[Path | None, typer.Option("--html", help="Write it here as a page with plots.", show_default=False)]
File = Annotated[Path, typer.Argument(help="A report that --out wrote.")]
