"""The last word on what a command did not expect: exit code 2, never 1, which would say "found something".

What a command can expect, it says itself and better (``output.could_not_run``). Nothing is repaired here.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from typing import Any

import typer
from typer.core import TyperGroup

from stud_cli.output import could_not_run


class CarefulGroup(TyperGroup):
    """Commands of which none ends with 1 because something broke."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for. What typer knows passes, as does Ctrl-C."""
        try:
            try:
                return super().invoke(ctx)
            finally:
                if sys.stdout is not None:
                    sys.stdout.flush()  # what nobody reads must show here, and not when Python ends
        except (typer.Exit, typer.Abort, typer.TyperException):
            raise
        except BrokenPipeError:
            _write_no_more()
            could_not_run("nobody reads any more what this prints: not all of it was told")
        except Exception as fault:  # noqa: BLE001  (whatever it is)
            if isinstance(fault, OSError) and fault.errno is not None:
                could_not_run(f"this machine does not allow it: {_in_words(fault)}")
            traceback.print_exception(fault)
            could_not_run(
                f"a fault of `stud` itself, above is where ({type(fault).__name__}): please report it; "
                "it says nothing about what was to be looked at"
            )


def _in_words(error: OSError) -> str:
    return f"{error.strerror} ({error.filename})" if error.filename else str(error.strerror)


def _write_no_more() -> None:
    """What is still in the buffer must not fail again when Python ends."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
