"""Commands are loaded when they are run."""

import subprocess
import sys
from typing import Any

import pytest
import typer

from stud_cli.loading import PLACES
from stud_cli.main import app
from tests.unit.cli.test_commands import run

ROOT: Any = typer.main.get_command(app)
HEAVY = ("grpc", "redis", "google.protobuf", "structlog", "asyncio", "stud_core")


@pytest.mark.parametrize("name", PLACES)
def test_the_list_says_of_a_command_what_it_says_itself(name: str):
    told = " ".join(ROOT.commands[name].help.partition("\n\n")[0].split())
    assert PLACES[name].summary == told


def test_help_lists_all_commands_in_order():
    shown = run("--help").output
    places = [shown.index(f"│ {name} ") for name in PLACES]
    assert places == sorted(places)


@pytest.mark.process
def test_help_loads_nothing_that_only_commands_need():
    code = (
        "import sys; from stud_cli.main import app; app(['--help'], standalone_mode=False); "
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_word_that_is_nearly_a_command_is_answered_with_it():
    refused = run("verifi")
    assert refused.exit_code == 2
    assert "Did you mean 'verify'?" in refused.output
