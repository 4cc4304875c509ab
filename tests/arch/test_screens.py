"""docs/front-end.md, "Screen by screen": every call of a player belongs to a screen, and every name there exists."""

from __future__ import annotations

import re

from edge_service.player_calls import PLAYER_CALLS
from stud.table.v1 import table_service_pb2 as pb
from stud_service.refusals import CODES
from tests.arch.repository import ROOT

PAGE = ROOT / "docs" / "front-end.md"
SECTION = re.search(r"\n## Screen by screen\n(.*?)\n## ", PAGE.read_text(), re.DOTALL)
assert SECTION is not None
SCREENS = SECTION.group(1)
BESIDE_A_SCREEN = {"GetTable"}
"""What a front end may ask for and no screen needs: a stream tells it."""

NO_FIELDS = {"min"}
"""Of a refusal's metadata."""


def test_every_call_of_a_player_belongs_to_a_screen():
    calls = {path.rsplit("/", 1)[1] for path in PLAYER_CALLS}
    named = set(re.findall(r"`([A-Z][A-Za-z]+)`", SCREENS))
    assert sorted(named - calls) == [], "no call of a player has that name"
    assert calls - named == BESIDE_A_SCREEN, "no screen asks for it"


def test_every_field_and_refusal_that_a_screen_names_exists():
    fields = {field.name for message in pb.DESCRIPTOR.message_types_by_name.values() for field in message.fields}
    paths = re.findall(r"`([a-z_]+(?:\.[a-z_]+)*)`", SCREENS)
    assert len(paths) > 20
    assert {part for path in paths for part in path.split(".")} - fields == NO_FIELDS
    assert set(re.findall(r"\b[A-Z]{4,}_[A-Z_]+\b", SCREENS)) <= CODES.keys()
