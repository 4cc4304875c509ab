"""The twins notice when what is written is not what is live."""

from typing import Any

import msgspec
import pytest

from stud_core import events as ev
from stud_core.presets import PLAYNOW, table_config
from stud_wire.commits import decode_commit
from tests.support import system_core
from tests.support.core_table import FREE, knobs
from tests.support.system_core import Twins


def twins(seed: int = 1) -> Twins:
    found = Twins(table_config(knobs(PLAYNOW, **FREE), table_id="t-1", name="Twins"), seed)
    found.open()
    return found


def test_they_stay_the_same_over_hands_and_from_the_first_byte():
    found = twins()
    while found.hands < 5:
        found.play_hand()
    assert found.twin == found.state == found.rebuild()
    assert len(found.bodies) == found.state.version
    assert found.refused


@pytest.mark.parametrize("what", ["an event is left out", "an amount is another", "who asked is another"])
def test_bytes_that_say_something_else_are_noticed(what: str, monkeypatch: pytest.MonkeyPatch):
    def falsely(body: bytes) -> Any:
        commit = decode_commit(body)
        first = commit.events[0]
        if what == "an event is left out":
            return msgspec.structs.replace(commit, events=commit.events[1:])
        if what == "who asked is another":
            return msgspec.structs.replace(commit, meta=msgspec.structs.replace(commit.meta, actor="somebody"))
        if isinstance(first, ev.AntesOpened):
            return commit
        changed = [
            msgspec.structs.replace(e, amount=e.amount + 1) if hasattr(e, "amount") else e for e in commit.events
        ]
        return msgspec.structs.replace(commit, events=tuple(changed))

    found = twins()
    monkeypatch.setattr(system_core, "decode_commit", falsely)
    with pytest.raises((AssertionError, LookupError)):
        found.play_hand()
