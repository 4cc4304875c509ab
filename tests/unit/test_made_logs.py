"""What `benches/make_log.py` makes is a log that the services could have written: referee and tools find nothing."""

from typing import Any

import pytest

from benches import made_table
from rules_service.find_hand import Streams
from rules_service.referee import Referee
from stud_cli.inspect import audit
from stud_cli.inspect.audit import audit_log
from stud_cli.inspect.verify import verify_log
from stud_core import deck_events as de
from stud_core import events as ev
from stud_core import verdict_events as ve
from stud_core.gate import Wait, hand_gate
from stud_eventlog import keys
from stud_eventlog.memory import MemoryEventLog
from stud_service.runtime import Runtime
from stud_service.settings import ServiceSettings
from stud_wire.commits import decode_commit
from table_service.rebuild import rebuild
from tests.support.hand_index import RING, Made


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """What happens now and then happens all the time."""
    monkeypatch.setattr(made_table, "VOIDED_EVERY", 5)
    monkeypatch.setattr(made_table, "DISPUTED_EVERY", 5)
    monkeypatch.setattr(made_table, "LEAVES_EVERY", 3)
    monkeypatch.setattr(made_table, "SHALLOW", 30)
    monkeypatch.setattr(audit, "ON_ITS_WAY_S", 0)


def events_in(log: MemoryEventLog, stream: str) -> list[Any]:
    return [event for commit, _ in log.store.data.logs[stream] for event in decode_commit(commit.body).events]


async def test_the_referee_would_have_said_the_same():
    made = Made(tables=4)
    log = await made.play(20)
    runtime = Runtime("rules", ServiceSettings(), log)
    referee = Referee(runtime, RING.key("referee"))
    for table in made.tables:
        streams = Streams.of(table.state.rules.table_id)
        verdicts = {
            event.hand_no: event
            for event in events_in(log, keys.verdicts(streams.shard))
            if isinstance(event, ve.HandVerified) and event.table == streams.table_id
        }
        base = None
        for closed in [event for event in events_in(log, streams.deck) if isinstance(event, de.DeckClosed)]:
            judgement = await referee.judge(streams, closed, None, base)
            assert judgement.findings == (), (streams.table_id, closed.hand_no)
            base = judgement.after
            if closed.hand_no in verdicts:
                said = verdicts[closed.hand_no]
                figures = judgement.figures
                assert figures is None or (figures.deltas, figures.rake) == (said.postings, said.rake)
                assert (said.table_ref, said.deck_ref, said.outcome) == (closed.table, closed.deck, closed.outcome)
        assert 5 < len(verdicts) < 20


async def test_verify_and_audit_find_nothing():
    log = await Made(tables=4, seed=2).play(20)
    found = await verify_log(log, None, RING.key("referee"))
    assert (found.problems, found.tables, found.hands) == ([], 4, 80)
    assert found.decks_opened > 60
    audited, ledgers = await audit_log(log)
    assert audited.ok, audited.problems
    assert {ledger.currency for ledger in ledgers} == {"EUR", "GBP"}


async def test_everything_that_happens_to_tables_happens():
    log = await Made(tables=4, seed=3).play(25)
    kinds = {type(event) for stream in log.store.data.logs if ":table:" in stream for event in events_in(log, stream)}
    wanted = {ev.HandVoided, ev.TableHandDisputed, ev.TableHandResolved, ev.PlayerLeft, ev.ChipsAdded, ev.HandMucked}
    assert wanted <= kinds


async def test_a_table_is_rebuilt_from_it():
    made = Made(tables=2, seed=4)
    log = await made.play(10)
    for table in made.tables:
        again = (await rebuild(log, table._log.name)).table
        assert again == table.state
        assert hand_gate(again) is Wait.NOTHING  # `stud up` goes on with it


async def test_the_same_seed_makes_the_same_log():
    first, again, other = [await Made(tables=2, seed=seed).play(3) for seed in (5, 5, 6)]
    assert first.store.data.logs == again.store.data.logs != other.store.data.logs
