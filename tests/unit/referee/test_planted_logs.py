"""Logs that were edited, cut wrongly or numbered wrongly, and verdicts that nobody gave: disputed, never paid."""

from __future__ import annotations

import msgspec
import pytest

from stud_core import events as ev
from stud_core.deck_events import HandOutcome
from stud_core.verdict_events import HandDisputed
from tests.support.referee_court import (
    Court,
    codes,
)


@pytest.fixture
async def court() -> Court:
    court = Court()
    await court.open()
    await court.hand()
    return court


@pytest.mark.parametrize("which", ["table", "deck"])
@pytest.mark.parametrize("place", [0, -1])
async def test_an_edited_byte(court: Court, which: str, place: int):
    await court.rig.play_hand(mischief=0)
    _, closed = await court.rig.notice(2)
    ref = closed.table if which == "table" else closed.deck
    version = ref.from_version if place == 0 else ref.to_version
    body = bytearray(court.rows(ref.stream)[version - 1][0].body)
    body[len(body) // 2] ^= 1
    court.edit(ref.stream, version, bytes(body))
    verdict = await court.hear()
    assert isinstance(verdict, HandDisputed)
    assert codes(verdict) == {"CHAIN_BROKEN"}
    assert verdict.findings[0].version == version
    assert not verdict.referee_has_figures
    assert verdict.currency == "XTS"
    assert court.book.final_hand == 1


async def test_an_edited_byte_before_the_hand_is_found_when_the_table_is_folded(court: Court):
    version = 3
    body = bytearray(court.rows(court.rig.table_stream)[version - 1][0].body)
    body[-1] ^= 1
    court.edit(court.rig.table_stream, version, bytes(body))
    court.appoint()
    await court.referee.load()
    court.heard = await court.log.last_id(court.rig.feed)
    verdict = await court.disputed()
    assert codes(verdict) == {"CHAIN_BROKEN"}
    assert verdict.table_postings


async def test_a_hand_number_that_was_left_out():
    court = Court()
    rig = court.rig
    rig.state.hand_no = 1  # the table counts from 2, and the dealer follows
    rig.forge_deck = lambda version, events: [rig.next_deck(2)] if version == 1 else events
    await court.open()
    verdict = await court.disputed()
    assert verdict.hand_no == 2
    assert "HAND_SKIPPED" in codes(verdict)


async def test_a_hand_that_did_not_wait_for_the_verdict_on_the_last_one(court: Court):
    rig = court.rig
    rig.forge_table = lambda _, events: [
        msgspec.structs.replace(e, verdict_version=e.verdict_version + 7) if isinstance(e, ev.TableHandVerified) else e
        for e in events
    ]
    await rig.play_hand(mischief=0)
    await court.hear()
    await rig.verdict(court.book.final_version)
    verdict = await court.disputed()
    assert "WRONG_VERDICT" in codes(verdict)


async def test_a_range_that_does_not_begin_where_the_last_hand_ended(court: Court):
    await court.rig.play_hand(mischief=0)
    entry, closed = await court.rig.notice(2)
    from dataclasses import replace

    from stud_wire.commits import encode_event

    for shift in (1, -1, 10_000, -closed.table.from_version):
        ref = msgspec.structs.replace(closed.table, from_version=closed.table.from_version + shift)
        wrong = replace(entry, event=encode_event(msgspec.structs.replace(closed, table=ref)))
        court.appoint()
        await court.referee.load()
        await court.referee.handle([wrong])
        verdict = (await court.verdicts())[-1]
        assert isinstance(verdict, HandDisputed)
        assert codes(verdict) == {"WRONG_RANGE"}
        del court.rows(court.referee.verdicts[court.rig.shard].stream)[1:]


@pytest.mark.parametrize("which", ["table", "deck"])
async def test_a_notice_that_names_a_foreign_log(court: Court, which: str):
    await court.rig.play_hand(mischief=0)
    entry, closed = await court.rig.notice(2)
    from dataclasses import replace

    from stud_wire.commits import encode_event

    ref = msgspec.structs.replace(getattr(closed, which), stream="{s01}:table:other")
    await court.referee.handle([replace(entry, event=encode_event(msgspec.structs.replace(closed, **{which: ref})))])
    verdict = (await court.verdicts())[-1]
    assert isinstance(verdict, HandDisputed)
    assert codes(verdict) == {"WRONG_RANGE"}


async def test_an_outcome_that_is_not_the_tables(court: Court):
    await court.rig.play_hand(mischief=0)
    entry, closed = await court.rig.notice(2)
    from dataclasses import replace

    from stud_wire.commits import encode_event

    other = msgspec.structs.replace(closed, outcome=HandOutcome.VOIDED)
    await court.referee.handle([replace(entry, event=encode_event(other))])
    verdict = (await court.verdicts())[-1]
    assert isinstance(verdict, HandDisputed)
    assert codes(verdict) == {"WRONG_RANGE"}
