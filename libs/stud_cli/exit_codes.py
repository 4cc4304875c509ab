"""How commands end: 0 fine, 1 found something, 2 could not run, 130 interrupted (as shells have it).

Commands raise; only here does a failure become one sentence and an exit code. Where a command knows better words for a
failure than the failure itself, it gives them (``said_as``). What nobody expected ends with 2 too, never with 1, which
would say "found something". Nothing is repaired here.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import typer
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup

from stud_cli.output import notes

FINE, FOUND, COULD_NOT_RUN = 0, 1, 2


class CouldNotRun(Exception):
    """A command cannot do its work; the text says why, and what would help."""


def could_not_run(text: str) -> NoReturn:
    """Give a command up."""
    raise CouldNotRun(text)


@contextlib.contextmanager
def said_as(sentence: str, *failures: type[Exception]) -> Iterator[None]:
    """Give a command up where one of these happens inside; ``{}`` in the sentence is what the failure itself says."""
    try:
        yield
    except failures as failure:
        raise CouldNotRun(sentence.replace("{}", _in_words(failure))) from failure


@contextlib.contextmanager
def told_when_interrupted(how_far: Callable[[], str]) -> Iterator[None]:
    """Say how far a command came when it is interrupted inside."""
    try:
        yield
    except KeyboardInterrupt:
        notes.print(how_far(), markup=False, soft_wrap=True)
        raise


@contextlib.contextmanager
def printed_or(sentence: Callable[[str], str]) -> Iterator[None]:
    """Give a command up where what is printed inside cannot be written; ``sentence`` makes of why what is said then."""
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as failure:
        why = "nobody reads it" if isinstance(failure, BrokenPipeError) else _in_words(failure)
        raise CouldNotRun(sentence(why)) from failure


class _Careful:
    """A command that ends with 1 only where it said itself that it found something."""

    _found = False

    def main(self, *args: Any, **options: Any) -> Any:
        """Run to the end of the process. typer, rich and Python have a 1 of their own for what cannot be written."""
        if isinstance(sys.stdout, io.TextIOWrapper):  # a suit that the terminal has no sign for: its number, not "?"
            sys.stdout.reconfigure(errors="backslashreplace")
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
                if sys.stdout is not None and not isinstance(sys.exc_info()[1], CouldNotRun):
                    sys.stdout.flush()  # what nobody reads must show here, and not when Python ends
        except typer.Exit as end:
            self._found = end.exit_code == FOUND
            raise
        except (typer.Abort, typer.TyperException) as wrong:
            if isinstance(wrong, typer.TyperException) and str(getattr(wrong, "option_name", ""))[1:2].isdecimal():
                wrong.message += " (a number below zero? put -- before the words that are no options)"
            raise
        except Exception as failure:  # noqa: BLE001  (whatever it is)
            notes.print(f"[red]error[/red] {escape(_sentence(failure))}", soft_wrap=True)
            raise typer.Exit(COULD_NOT_RUN) from None


class CarefulGroup(_Careful, TyperGroup):
    """Commands, none of which ends with 1 because something broke."""


class CarefulCommand(_Careful, TyperCommand):
    """One such command, for ``python -m``."""


def _sentence(failure: Exception) -> str:
    """What is said of a failure; for an unexpected one its place is printed too."""
    if isinstance(failure, CouldNotRun):
        return str(failure)
    if isinstance(failure, BrokenPipeError):
        _all_is_written()
        return "nobody reads any more what this prints: not all of it was told"
    if isinstance(failure, OSError) and failure.errno is not None:
        return f"this machine does not allow it: {_in_words(failure)}"
    traceback.print_exception(failure)
    return (
        f"a fault of `stud` itself, above is where ({type(failure).__name__}): please report it; "
        "it says nothing about what was to be looked at"
    )


def _in_words(failure: Exception) -> str:
    if not isinstance(failure, OSError) or failure.strerror is None:
        return str(failure)
    return f"{failure.strerror} ({failure.filename})" if failure.filename else failure.strerror


def _all_is_written() -> bool:
    """Whether everything printed was written; what was not must not fail again when Python ends."""
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
