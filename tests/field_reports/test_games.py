"""Situations in which other poker servers played on with the wrong people, or played another game than was recorded."""

from __future__ import annotations

import pytest

from stud_core import betting
from stud_core import events as ev
from stud_core.evolve import fold
from stud_core.presets import PLAYNOW
from stud_core.verdict_events import HandDisputed
from stud_wire.commits import decode_commit
from tests.support.referee_court import Court
from tests.vectors.positions import fifth_street

MORE = 100


def test_report_17_a_record_says_what_happened_and_a_newer_engine_reads_the_same_game(monkeypatch: pytest.MonkeyPatch):
    """A log holds cards, amounts and stacks, never "raise": an engine with other bet sizes rebuilds the same table."""
    table = fifth_street(PLAYNOW)
    table.play("1 bet 1000", "2 raise 2000", "3 fold", "1 call 2000")
    log, then = table.log, table.state
    monkeypatch.setattr(betting, "wager_target", lambda hand, config, size: hand.full_level + MORE)
    monkeypatch.setattr(betting, "options_of", lambda *_: ())
    assert fold(log) == then


async def test_report_17_an_engine_that_plays_otherwise_says_so(monkeypatch: pytest.MonkeyPatch):
    """Replayed decision by decision, the same hand under changed rules is disputed, not silently another game."""
    court = Court()
    await court.open()
    await court.hand()
    await court.rig.play_hand(mischief=0.0)
    target = betting.wager_target
    monkeypatch.setattr(betting, "wager_target", lambda *where: target(*where) + MORE)
    betting._plain_options.cache_clear()
    verdict = await court.hear()
    betting._plain_options.cache_clear()
    assert isinstance(verdict, HandDisputed)
    assert {finding.code for finding in verdict.findings} & {"WRONG_OPTIONS", "ILLEGAL_ACTION"}


async def test_report_17_every_commit_seals_what_stood_before_it():
    """Checkpoints: each commit's hash goes over all earlier ones, so a changed figure is found where it stands."""
    court = Court()
    await court.open()
    await court.rig.play_hand(mischief=0.0)
    stream = court.rig.table_stream
    rows = court.rows(stream)
    at = next(c.version for c, _ in rows if any(isinstance(e, ev.ActionTaken) for e in decode_commit(c.body).events))
    court.edit(stream, at, rows[at - 2][0].body)
    verdict = await court.hear()
    assert isinstance(verdict, HandDisputed)
    assert any(finding.stream == stream for finding in verdict.findings)
