"""Rules as a request has them -> the core's, and everything that is wrong with them.

Ranges are the core's business (``validate_config``); here is only what a core ruleset cannot hold: a choice that was
not made, or does not exist.
"""

from __future__ import annotations

from enum import IntEnum
from typing import get_type_hints

from stud.common.v1 import ruleset_pb2
from stud_core.presets import PLAYNOW
from stud_core.rejection import Problem, Reason
from stud_core.ruleset import Ruleset, TableConfig
from stud_core.validate import validate_config
from stud_wire.codec import from_message, to_message

_CHOICES: dict[str, type[IntEnum]] = {
    name: kind for name, kind in get_type_hints(Ruleset).items() if isinstance(kind, type) and issubclass(kind, IntEnum)
}


def read_ruleset(message: ruleset_pb2.Ruleset) -> tuple[Ruleset, list[Problem]]:
    """Return the ruleset and what is wrong with it; a wrong choice is replaced by a preset's, so that the rest can be
    judged too.
    """
    problems: list[Problem] = []
    readable = ruleset_pb2.Ruleset()
    readable.CopyFrom(message)
    for name, kind in _CHOICES.items():
        value = getattr(message, name)
        if value not in set(kind):
            problems.append(Problem(Reason.INVALID_RULESET, name, _what_is_wrong(value, kind)))
            setattr(readable, name, int(getattr(PLAYNOW, name)))
    return from_message(Ruleset, readable), problems


def read_config(message: ruleset_pb2.TableConfig) -> tuple[TableConfig, list[Problem]]:
    """Return the configuration and everything that is wrong with it."""
    ruleset, problems = read_ruleset(message.ruleset)
    readable = ruleset_pb2.TableConfig()
    readable.CopyFrom(message)
    readable.ruleset.CopyFrom(to_message(ruleset))
    config = from_message(TableConfig, readable)
    return config, [*problems, *validate_config(config)]


def _what_is_wrong(value: int, kind: type[IntEnum]) -> str:
    wanted = ", ".join([choice.name for choice in kind])
    said = f"{value} is unknown" if value else "the ruleset is not complete"
    return f"{said}: want one of {wanted}"
