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
from typer.core import TyperCommand, TyperGroup

from stud_cli.output import COULD_NOT_RUN, FOUND, could_not_run


class _Careful:
    """A command that ends with 1 only where it said itself that it found something."""

    _found = False

    def main(self, *args: Any, **options: Any) -> Any:
        """Run to the end of the process. typer, rich and Python have a 1 of their own for what cannot be written."""
        try:
            return super().main(*args, **options)  # type: ignore[misc]
        except SystemExit as end:
            told = _all_is_written()
            if not told or (end.code == FOUND and not self._found):
                raise SystemExit(COULD_NOT_RUN) from None
            raise
        except OSError:  # not even what went wrong could be written
            _all_is_written()
            raise SystemExit(COULD_NOT_RUN) from None

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for. What typer knows passes, as does Ctrl-C."""
        try:
            try:
                return super().invoke(ctx)  # type: ignore[misc]
            finally:
                if sys.stdout is not None:
                    sys.stdout.flush()  # what nobody reads must show here, and not when Python ends
        except typer.Exit as end:
            self._found = end.exit_code == FOUND
            raise
        except (typer.Abort, typer.TyperException):
            raise
        except BrokenPipeError:
            _all_is_written()
            could_not_run("nobody reads any more what this prints: not all of it was told")
        except Exception as fault:  # noqa: BLE001  (whatever it is)
            if isinstance(fault, OSError) and fault.errno is not None:
                could_not_run(f"this machine does not allow it: {_in_words(fault)}")
            traceback.print_exception(fault)
            could_not_run(
                f"a fault of `stud` itself, above is where ({type(fault).__name__}): please report it; "
                "it says nothing about what was to be looked at"
            )


class CarefulGroup(_Careful, TyperGroup):
    """Commands of which none ends with 1 because something broke."""


class CarefulCommand(_Careful, TyperCommand):
    """One such command, for ``python -m``."""


def _in_words(error: OSError) -> str:
    return f"{error.strerror} ({error.filename})" if error.filename else str(error.strerror)


def _all_is_written() -> bool:
    """Whether what was printed could be; what could not must not fail again when Python ends."""
    written = True
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            written = False
            with contextlib.suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream.fileno())
                os.close(nowhere)
    return written
