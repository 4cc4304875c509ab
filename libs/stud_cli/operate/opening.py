"""A table as an operator describes it (options, ``--set``, a TOML file) -> the request that opens it, or everything
that is wrong with it, at once.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from stud.table.v1 import table_service_pb2 as pb
from stud_cli.exit_codes import said_as
from stud_cli.operate.knobs import INVALID_FIELD, nearly, no_number, overrides, pairs, whole
from stud_core.presets import PLAYNOW, RULESETS
from stud_core.rejection import Problem
from stud_core.ruleset import TableConfig
from stud_service.refusals import Refused
from stud_wire.codec import to_message
from table_service.opening import config_of

RULES: Final = "rules"
"""The part of the file that has the knobs."""

NUMBERS: Final = ("small_bet", "big_bet", "ante", "bring_in", "hand_pause_ms")
TEXTS: Final = ("table", "name", "currency", "preset")
SWITCHES: Final = ("stacked",)
FIELDS: Final = (*TEXTS, *NUMBERS, *SWITCHES)
MAX_NUMBER: Final = 2**31 - 1
"""Of a pause; amounts may be greater."""


class Plan(msgspec.Struct):
    """What is to be opened, and everything that is wrong with it; ``config`` is None where anything is. Without
    ``readable`` it cannot even be asked for.
    """

    request: pb.CreateTableRequest
    problems: list[Problem]
    readable: bool
    config: TableConfig | None = None


def read_file(path: Path) -> dict[str, Any]:
    """Return what a table's file says. Raises CouldNotRun."""
    with said_as(f"{path} cannot be read ({{}}): want a file in TOML, as in docs/operators.md", OSError, ValueError):
        return tomllib.loads(path.read_text())


def planned(
    told: Mapping[str, Any], file: Mapping[str, Any], settings: Sequence[str], currencies: Sequence[str]
) -> Plan:
    """Return a plan; options (``told``, None where not given) win over the file, ``--set`` over its knobs."""
    fields, problems = _fields(told, file)
    in_file = file.get(RULES, {})
    if not isinstance(in_file, Mapping):
        problems.append(Problem(INVALID_FIELD, RULES, "want a part of its own: [rules]"))
        in_file = {}
    by_hand, wrong = pairs(settings)
    values, unreadable = overrides({**in_file, **by_hand})
    request = pb.CreateTableRequest(**fields, override_fields=list(values))
    preset = RULESETS.get(request.preset, PLAYNOW)
    ruleset = to_message(msgspec.structs.replace(preset, **values))
    for field in ruleset.DESCRIPTOR.fields:
        if field.name not in values:
            ruleset.ClearField(field.name)
    request.ruleset.CopyFrom(ruleset)
    problems += [*wrong, *unreadable]
    if not request.preset:
        problems.append(Problem(INVALID_FIELD, "preset", f"want one of {', '.join(RULESETS)}"))
    elif request.preset not in RULESETS and (meant := nearly(request.preset, RULESETS)):
        problems.append(Problem(INVALID_FIELD, "preset", f"there is no preset {request.preset[:64]!r}{meant}"))
    plan = Plan(request, problems, readable=not problems)
    _judge(plan, currencies)
    return plan


def _judge(plan: Plan, currencies: Sequence[str]) -> None:
    """As the service will: what cannot be read was told already, and is not told twice."""
    judged = pb.CreateTableRequest()
    judged.CopyFrom(plan.request)
    judged.preset = judged.preset or PLAYNOW.name
    known = {problem.field for problem in plan.problems}
    try:
        config = config_of(judged, currencies)
    except Refused as refused:
        plan.problems += [problem for problem in refused.problems if problem.field not in known]
    else:
        plan.config = None if plan.problems else config


def _fields(told: Mapping[str, Any], file: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    fields: dict[str, Any] = {}
    problems = []
    for name, value in {**file, **{name: value for name, value in told.items() if value is not None}}.items():
        if name == RULES:
            continue
        text = _wrong(name, value)
        if text:
            problems.append(Problem(INVALID_FIELD, name[:64], text))
        else:
            fields[name] = whole(value) if name in NUMBERS else value
    return fields, problems


def _wrong(name: str, value: Any) -> str:
    """Say what is wrong with a field of a table; empty where it can be asked for."""
    if name not in FIELDS:
        return f"a table has no such field{nearly(name, FIELDS)} (knobs stand under [{RULES}])"
    if name in NUMBERS:
        most = MAX_NUMBER if name == "hand_pause_ms" else 10**15
        number = whole(value)
        return "" if number is not None and -most <= number <= most else no_number(value, most)
    if name in SWITCHES:
        return "" if isinstance(value, bool) else "want true or false"
    return "" if isinstance(value, str) else f"{str(value)[:64]!r}: want a text"
