"""Arguments and options that several commands have, each with its help and what completes it."""

from __future__ import annotations

from typing import Annotated

import typer

from stud_cli.operate.completing import tables

TableId = Annotated[str, typer.Argument(help="Table id; `stud tables` lists them.", autocompletion=tables)]
Reason = Annotated[str, typer.Option("--reason", help="Why, 1 to 500 characters: the log keeps it.")]
ReasonForAll = Annotated[
    str, typer.Option("--reason", help="Why, 1 to 500 characters: the players read it, and the log keeps it.")
]
HandNo = Annotated[int, typer.Argument(help="Hand, from 1.", min=1)]
Currency = Annotated[str, typer.Option("--currency", help="Currency code, such as EUR.")]
Account = Annotated[str, typer.Argument(help="Account of a player.")]
Amount = Annotated[int, typer.Argument(help="Amount in minor units: 1250 is 12.50.")]
