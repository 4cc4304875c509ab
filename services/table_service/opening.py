"""CreateTable's request -> a complete table configuration."""

from __future__ import annotations

from stud.common.v1 import ruleset_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_core.presets import HAND_PAUSE_MS, RULESETS, STAKES
from stud_core.ruleset import BringInKind, Ruleset, TableConfig
from stud_service.refusals import Refused
from stud_wire.codec import WireError, from_message, to_message


def config_of(request: pb.CreateTableRequest) -> TableConfig:
    """Return the configuration a request asks for; raises Refused for what cannot be read.

    Ranges are the core's business (``validate_config``): it names every knob that is wrong.
    """
    ruleset = _ruleset(request)
    small = request.small_bet
    stakes = STAKES.get(small)
    ante = request.ante if request.HasField("ante") else (stakes.ante if stakes else small // 10)
    if request.HasField("bring_in"):
        bring_in = request.bring_in
    elif ruleset.bring_in is BringInKind.HALF_SMALL_BET or stakes is None:
        bring_in = (small + 1) // 2
    else:
        bring_in = stakes.bring_in
    return TableConfig(
        table_id=request.table,
        name=request.name or request.table,
        currency=request.currency,
        ruleset=ruleset,
        small_bet=small,
        big_bet=request.big_bet or 2 * small,
        ante=ante,
        bring_in=bring_in,
        hand_pause_ms=request.hand_pause_ms if request.HasField("hand_pause_ms") else HAND_PAUSE_MS,
        stacked=request.stacked,
    )


def _ruleset(request: pb.CreateTableRequest) -> Ruleset:
    if not request.preset:
        return _read(request.ruleset)
    preset = RULESETS.get(request.preset)
    if preset is None:
        raise Refused("UNKNOWN_RULESET", f"there is no preset {request.preset!r}: want one of {', '.join(RULESETS)}")
    _check_overrides(request)
    if not request.override_fields:
        return preset
    merged: ruleset_pb2.Ruleset = to_message(preset)
    for name in request.override_fields:
        _copy_field(request.ruleset, merged, name)
    return _read(merged)


def _check_overrides(request: pb.CreateTableRequest) -> None:
    """Refuse names of no field, and fields that are set but not named: a rake, say, that nobody would take."""
    for name in request.override_fields:
        if name not in ruleset_pb2.Ruleset.DESCRIPTOR.fields_by_name:
            raise Refused("INVALID_FIELD", f"a ruleset has no field {name!r}", field="override_fields")
    left_out = [field.name for field, _ in request.ruleset.ListFields() if field.name not in request.override_fields]
    if left_out:
        text = f"set in ruleset, but not named in override_fields: {', '.join(left_out)}"
        raise Refused("INVALID_FIELD", text, field="override_fields")


def _copy_field(source: ruleset_pb2.Ruleset, target: ruleset_pb2.Ruleset, name: str) -> None:
    """Copy one field; an absent one is cleared, which means "none" for the optional knobs."""
    field = source.DESCRIPTOR.fields_by_name[name]
    target.ClearField(name)  # type: ignore[arg-type]  # any field name
    if field.message_type is not None:
        if source.HasField(name):  # type: ignore[arg-type]
            getattr(target, name).CopyFrom(getattr(source, name))
    elif not field.has_presence or source.HasField(name):  # type: ignore[arg-type]
        setattr(target, name, getattr(source, name))


def _read(message: ruleset_pb2.Ruleset) -> Ruleset:
    try:
        return from_message(Ruleset, message)
    except WireError as error:
        raise Refused("INVALID_RULESET", f"the ruleset is not complete: {error}", field="ruleset") from None
