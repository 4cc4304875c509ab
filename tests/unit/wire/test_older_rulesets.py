"""Rules that an older build wrote, in a log or a request, lack the newer knobs: they are complete all the same."""

from __future__ import annotations

import pytest
from google.protobuf import descriptor_pb2

from stud.common.v1 import ruleset_pb2
from stud_core.presets import RULESETS, table_config
from stud_core.ruleset import TableConfig
from stud_service.rulesets import read_config
from stud_wire.codec import to_message
from tests.arch.repository import ROOT


def promised() -> set[str]:
    """Knobs of the contract that was released last."""
    files = descriptor_pb2.FileDescriptorSet.FromString((ROOT / "protos/baseline.binpb").read_bytes())
    (found,) = [m for f in files.file if f.package == "stud.common.v1" for m in f.message_type if m.name == "Ruleset"]
    return {field.name for field in found.field}


def written_before(config: TableConfig) -> ruleset_pb2.TableConfig:
    message: ruleset_pb2.TableConfig = to_message(config)
    for field in message.ruleset.DESCRIPTOR.fields:
        if field.name not in promised():
            message.ruleset.ClearField(field.name)  # type: ignore[arg-type]  # a name that is known to be one
    return message


@pytest.mark.parametrize("name", RULESETS)
def test_a_table_can_be_opened_without_the_newer_knobs(name: str):
    _, problems = read_config(written_before(table_config(RULESETS[name])))
    assert problems == [], "a newer knob is optional, and absent means what was played before: docs/extending.md"
