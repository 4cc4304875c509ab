"""The ``stud`` command."""

from __future__ import annotations

from contextlib import suppress

import typer

from stud_cli.exit_codes import CarefulGroup
from stud_cli.hands.adjudicate import adjudicate
from stud_cli.hands.rehearse import rehearse
from stud_cli.inspect.audit import audit
from stud_cli.inspect.dead_letters import app as dead_app
from stud_cli.inspect.replay import replay
from stud_cli.inspect.verify import verify
from stud_cli.local.demo import demo
from stud_cli.local.keys import init, token
from stud_cli.local.up import up
from stud_cli.rules import rules
from stud_cli.tables import tables
from stud_service import dumps
from stud_service.settings import load_settings

app = typer.Typer(
    cls=CarefulGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
    help="Seven-card stud: run it, watch it, replay it, audit it. Example: stud demo --hands 5",
)
for command in (up, demo, rules, tables, token, replay, verify, audit, adjudicate, rehearse, init):
    app.command()(command)
app.add_typer(dead_app, name="dead")


def main() -> None:
    """Run the command line."""
    _forbid_dumps()
    app()


def _forbid_dumps() -> None:
    """Some commands read keys. Whoever allows dumps allows them for what is started from here too."""
    with suppress(ValueError):  # settings that cannot be used: the command says so, if it needs them
        if load_settings("table").allow_core:
            return
    dumps.forbid()
