"""The words that make a call once more: what was given, what was filled in from the present state, and its request id.

They are made from what was read, not from what was typed, so that they mean the same when they are read again: options
stand by their names, and what begins with ``-`` stands behind ``--``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import typer


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
