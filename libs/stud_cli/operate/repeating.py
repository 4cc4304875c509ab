"""The words that make a call once more: what was given, what was filled in from the present state, and its request id.

They are made from what was read, not from what was typed, so that they mean the same when they are read again: options
stand by their names, and what begins with ``-`` stands behind ``--``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Final

import typer

from stud_cli.exit_codes import could_not_run

MOST: Final = 2**63 - 1
"""What every number of a request holds at most."""


def words_again(ctx: typer.Context, filled: Mapping[str, Any]) -> list[str]:
    """Return the words behind ``stud`` that repeat a command; ``filled`` are parameters by name, which win."""
    arguments: list[str] = []
    options: list[str] = []
    for parameter in ctx.command.params:
        name = str(parameter.name)
        if name in filled:
            value = filled[name]
        elif _was_given(ctx, name):
            value = ctx.params[name]
        else:
            continue
        values = value if isinstance(value, list | tuple) else [value]
        if parameter.param_type_name == "argument":
            arguments += [_text(each) for each in values]
        else:
            for each in values:
                options += _option(parameter.opts[0], each)
    if any(word.startswith("-") for word in arguments):
        return [*_path(ctx), *options, "--", *arguments]
    return [*_path(ctx), *arguments, *options]


def keepable(ctx: typer.Context) -> None:
    """Refuse what no service could be sent: bytes that are no text, and numbers beyond 64 bits. Raises CouldNotRun."""
    for parameter in ctx.command.params:
        value = ctx.params.get(str(parameter.name))
        shown = parameter.opts[0].lstrip("-").upper().replace("_", "-")
        for each in value if isinstance(value, list | tuple) else [value]:
            if isinstance(each, int) and not -MOST - 1 <= each <= MOST:
                could_not_run(f"{shown}: {str(each)[:24]}… is too great: want at most {MOST}, either way")
            if isinstance(each, str | Path) and not _is_text(str(each)):
                could_not_run(f"{shown}: {str(each)[:64]!r} is no text: want UTF-8")


def _is_text(text: str) -> bool:
    """Whether it can be written as UTF-8; bytes of a command line that are not arrive as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _was_given(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _option(name: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [name] if value else []
    text = _text(value)
    return [f"{name}={text}"] if text.startswith("-") else [name, text]


def _text(value: Any) -> str:
    return str(value.value if isinstance(value, Enum) else value)


def _path(ctx: typer.Context) -> list[str]:
    """The names of the command and its groups, but for ``stud`` itself."""
    names: list[str] = []
    here: Any = ctx
    while here.parent is not None:
        names.insert(0, str(here.info_name))
        here = here.parent
    return names
