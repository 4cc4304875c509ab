"""The options that all commands to a running system have. Loads nothing that only asking needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

AsOption = Annotated[
    str, typer.Option("--as", help="Who you are: a token is made with the development key.", show_default="STUD_AS")
]
TokenFileOption = Annotated[
    Path | None, typer.Option("--token-file", help="A file with your token.", show_default="STUD_TOKEN")
]
KeysOption = Annotated[
    Path | None, typer.Option("--keys", help="Directory of the development key.", show_default="STUD_KEYS_DIR")
]
RequestIdOption = Annotated[
    str,
    typer.Option(
        "--request-id", help="Name of this call: the same one may be repeated safely.", show_default="a new one"
    ),
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before what cannot be undone.")]
EndpointsOption = Annotated[
    str,
    typer.Option(
        "--endpoints",
        help="Where the services are: table=HOST:PORT,wallet=HOST:PORT and so on.",
        show_default="STUD_…_ENDPOINT, else var/stud.json of a running `stud up`",
    ),
]


class Asked(msgspec.Struct, frozen=True):
    """What was given for them."""

    as_name: str = ""
    token_file: Path | None = None
    keys: Path | None = None
    where: str = ""
    json_output: bool = False
    request_id: str = ""
    yes: bool = False
