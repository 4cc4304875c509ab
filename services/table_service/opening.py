"""CreateTable's request -> a complete table configuration, or everything that is wrong with it, at once."""

from __future__ import annotations

from collections.abc import Sequence

from stud.common.v1 import ruleset_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core.presets import PLAYNOW, RULESETS, Parameters, table_config
from stud_core.rejection import Problem
from stud_core.ruleset import Ruleset, TableConfig
from stud_core.validate import validate_config
from stud_eventlog import keys
from stud_service.refusals import Refused
from stud_service.rulesets import read_ruleset
from stud_wire.codec import to_message

MAX_ID = 64
LOOKED_AT_HERE = frozenset({"table_id", "currency"})
FOLLOWS_FROM_THE_SMALL_BET = frozenset({"big_bet", "ante", "bring_in"})


def config_of(request: pb.CreateTableRequest, currencies: Sequence[str]) -> TableConfig:
    """Return the configuration a request asks for at a house that serves these currencies.

    Raises Refused for the first thing wrong; its problems name every field that is. Ranges are the core's business.
    """
    ruleset, problems = _ruleset(request)
    config = _config(request, ruleset)
    problems = [*_names(request, currencies), *problems]
    found = [problem for problem in validate_config(config) if problem.field not in LOOKED_AT_HERE]
    if any(problem.field == "small_bet" for problem in found):
        derived = FOLLOWS_FROM_THE_SMALL_BET - {field.name for field, _ in request.ListFields()}
        found = [problem for problem in found if problem.field not in derived]
    if any(problem.field == "preset" for problem in problems):  # it was judged by a ruleset nobody asked for
        found = [problem for problem in found if problem.field in request.DESCRIPTOR.fields_by_name]
    problems += found
    if problems:
        raise Refused.of_problems(problems)
    return config


def _config(request: pb.CreateTableRequest, ruleset: Ruleset) -> TableConfig:
    """What is not said follows from the small bet, as everywhere (``table_config``)."""
    said: Parameters = {
        "table_id": request.table,
        "name": request.name or request.table,
        "currency": request.currency,
        "small_bet": request.small_bet,
        "stacked": request.stacked,
    }
    if request.big_bet:
        said["big_bet"] = request.big_bet
    if request.HasField("ante"):
        said["ante"] = request.ante
    if request.HasField("bring_in"):
        said["bring_in"] = request.bring_in
    if request.HasField("hand_pause_ms"):
        said["hand_pause_ms"] = request.hand_pause_ms
    return table_config(ruleset, **said)


def _names(request: pb.CreateTableRequest, currencies: Sequence[str]) -> list[Problem]:
    problems = []
    try:
        keys.check_table_id(request.table)
    except ValueError:
        text = f"want 1 to {MAX_ID} of the characters a-z, 0-9 and '-'"
        problems.append(Problem("INVALID_FIELD", "table", text, 1, MAX_ID))
    if request.currency not in currencies:
        text = f"{request.currency[:8]!r} is not served: want one of {', '.join(currencies)}"
        problems.append(Problem("UNKNOWN_CURRENCY", "currency", text))
    return problems


def _ruleset(request: pb.CreateTableRequest) -> tuple[Ruleset, list[Problem]]:
    if not request.preset:
        return read_ruleset(request.ruleset)
    preset = RULESETS.get(request.preset)
    if preset is None:
        text = f"there is no preset {request.preset[:64]!r}: want one of {', '.join(RULESETS)}"
        return PLAYNOW, [Problem("UNKNOWN_RULESET", "preset", text), *_overrides(request)]
    merged: ruleset_pb2.Ruleset = to_message(preset)
    for name in request.override_fields:
        if name in merged.DESCRIPTOR.fields_by_name:
            _copy_field(request.ruleset, merged, name)
    ruleset, problems = read_ruleset(merged)
    return ruleset, [*_overrides(request), *problems]


def _overrides(request: pb.CreateTableRequest) -> list[Problem]:
    """Names that are not fields, and fields that are set but not named: a rake, say, that nobody would take."""
    known = request.ruleset.DESCRIPTOR.fields_by_name
    texts = [f"a ruleset has no field {name[:64]!r}" for name in request.override_fields if name not in known]
    set_here = [field.name for field, _ in request.ruleset.ListFields()]
    left_out = [name for name in set_here if name not in request.override_fields]
    texts += [f"set in ruleset, but not named in override_fields: {name}" for name in left_out]
    return [Problem("INVALID_FIELD", "override_fields", text) for text in texts]


def _copy_field(source: ruleset_pb2.Ruleset, target: ruleset_pb2.Ruleset, name: str) -> None:
    """Copy one field; an absent one is cleared, which means "none" for the optional knobs."""
    field = source.DESCRIPTOR.fields_by_name[name]
    target.ClearField(name)  # type: ignore[arg-type]  # any field name
    if field.message_type is not None:
        if source.HasField(name):  # type: ignore[arg-type]
            getattr(target, name).CopyFrom(getattr(source, name))
    elif not field.has_presence or source.HasField(name):  # type: ignore[arg-type]
        setattr(target, name, getattr(source, name))
