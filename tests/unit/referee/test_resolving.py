"""Two operators decide what the referee cannot; the money follows their choice, and the table goes on."""

from __future__ import annotations

from typing import Any, cast

import pytest

from rules_service.resolving import Answer, Request, Resolver
from rules_service.servicer import RulesServicer
from stud.rules.v1 import rules_service_pb2 as pb
from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.events import ResolutionChoice
from stud_core.verdict_events import HandDisputed, HandResolved, HandVerified, ResolutionProposed
from stud_eventlog import keys
from stud_service.identity import Caller, set_caller
from stud_service.refusals import Refused
from stud_wire.commits import Meta
from tests.support.referee_court import CALLS, Court, steal_from_the_winner

TABLE, REFEREE, VOID = ResolutionChoice.TABLE, ResolutionChoice.REFEREE, ResolutionChoice.VOID


async def stolen() -> Court:
    """A table whose second hand is disputed: 150 were paid to the wrong player."""
    court = Court()
    await court.open()
    await court.hand()
    court.rig.forge_table = steal_from_the_winner
    await court.rig.start()
    await court.rig.play_out(weights=CALLS)
    verdict = await court.hear()
    assert isinstance(verdict, HandDisputed)
    court.rig.forge_table = None
    codes = tuple(finding.code for finding in verdict.findings)
    await court.rig.send(cmd.RecordDispute(2, court.book.disputed_version, codes))
    return court


def ask(court: Court, operator: str, choice: ResolutionChoice = REFEREE, **fields: Any) -> Any:
    """An operator's call; its request_id is his own unless said."""
    content = {"hand_no": 2, "reason": "seen on tape", "request_id": f"r-{operator}-{choice.name}", **fields}
    request = Request("t-1", content["hand_no"], choice, content["reason"], operator, content["request_id"])
    return Resolver(court.runtime, court.referee).resolve(request)


async def refused(reason: str, call: Any) -> Refused:
    with pytest.raises(Refused) as caught:
        await call
    assert caught.value.reason == reason, caught.value
    return caught.value


@pytest.mark.parametrize("choice", [TABLE, REFEREE, VOID])
async def test_two_operators_decide_and_the_table_goes_on(choice: ResolutionChoice):
    court = await stolen()
    dispute = court.book.disputed
    table = {s.sitting_no: s.stack for s in court.rig.state.sittings.values()}
    before = dict(court.rig.state.hand_start_stacks)
    assert await ask(court, "op-1", choice) == Answer(decided=False, version=3)
    assert await ask(court, "op-2", choice) == Answer(decided=True, version=4)
    proposed, resolved = (await court.verdicts())[-2:]
    assert isinstance(proposed, ResolutionProposed)
    assert isinstance(resolved, HandResolved)
    assert resolved.operators == ("op-1", "op-2")
    assert resolved.currency == "XTS"
    assert resolved.choice is choice
    if choice is TABLE:
        assert resolved.postings == dispute.table_postings
        assert {s.sitting_no: s.stack for s in resolved.stacks} == table
    elif choice is REFEREE:
        assert resolved.postings == dispute.referee_postings
        expected = {d.sitting_no: before[d.sitting_no] + d.delta for d in resolved.postings}
        assert {s.sitting_no: s.stack for s in resolved.stacks} == expected
    else:
        assert (resolved.postings, resolved.rake, resolved.stacks) == ((), 0, ())
    assert court.book.final_hand == 2
    assert court.book.disputed is None
    await court.rig.send(cmd.RecordResolution(2, 4, choice, resolved.stacks))
    await court.hand()


async def test_a_table_that_records_other_stacks_than_were_decided_is_found_out():
    court = await stolen()
    await ask(court, "op-1")
    await ask(court, "op-2")
    resolved = (await court.verdicts())[-1]
    wrong = (ev.SeatStack(1, 1, resolved.stacks[0].stack + 5), *resolved.stacks[1:])
    await court.rig.send(cmd.RecordResolution(2, 4, REFEREE, wrong))
    verdict = await court.disputed()
    assert "WRONG_VERDICT" in {finding.code for finding in verdict.findings}


async def test_the_proposer_cannot_decide_alone():
    court = await stolen()
    await ask(court, "op-1")
    await refused("SECOND_OPERATOR_REQUIRED", ask(court, "op-1", request_id="another"))
    assert court.book.final_hand == 1


async def test_another_choice_replaces_the_proposal():
    court = await stolen()
    await ask(court, "op-1", TABLE)
    assert not (await ask(court, "op-2", REFEREE)).decided
    assert not (await ask(court, "op-1", TABLE, request_id="again")).decided
    assert (await ask(court, "op-2", TABLE, reason="agreed")).decided
    assert (await court.verdicts())[-1].reason == "seen on tape / agreed"


async def test_a_repeated_request_gets_the_first_answer():
    court = await stolen()
    first = await ask(court, "op-1")
    assert await ask(court, "op-1") == first
    decided = await ask(court, "op-2")
    assert await ask(court, "op-1") == first
    assert await ask(court, "op-2") == decided
    court.appoint()
    await court.referee.load()
    assert await ask(court, "op-2") == decided
    await refused("REQUEST_ID_REUSED", ask(court, "op-2", reason="something else"))


async def test_operators_calls_are_remembered_for_good():
    """Also when hands have been judged and decided since, and from nothing but the log."""
    court = await stolen()
    calls = [("op-1", REFEREE), ("op-1", TABLE), ("op-2", TABLE)]
    first = [await ask(court, operator, choice) for operator, choice in calls]
    stacks = (await court.verdicts())[-1].stacks
    await court.rig.send(cmd.RecordResolution(2, 5, TABLE, stacks))
    for _ in range(2):
        await court.hand()
        assert [await ask(court, operator, choice) for operator, choice in calls] == first
    court.rig.forge_table = steal_from_the_winner
    await court.rig.start()
    await court.rig.play_out(weights=CALLS)
    assert isinstance(await court.hear(), HandDisputed)
    await ask(court, "op-1", hand_no=5, request_id="later")
    assert [await ask(court, operator, choice) for operator, choice in calls] == first
    court.appoint()
    await court.referee.load()
    assert [await ask(court, operator, choice) for operator, choice in calls] == first
    for operator, choice in calls:
        own = f"r-{operator}-{choice.name}"
        await refused("REQUEST_ID_REUSED", ask(court, operator, VOID, request_id=own))
        await refused("REQUEST_ID_REUSED", ask(court, operator, choice, hand_no=5, request_id=own))
    await refused("ALREADY_DECIDED", ask(court, "op-3", TABLE, request_id="r-op-1-TABLE"))
    assert [answer.decided for answer in first] == [False, False, True]


async def test_repeated_at_the_same_time():
    import asyncio

    court = await stolen()
    answers = await asyncio.gather(*[ask(court, "op-1") for _ in range(3)])
    assert set(answers) == {Answer(decided=False, version=3)}


async def test_what_is_decided_stays():
    court = await stolen()
    await ask(court, "op-1", VOID)
    await ask(court, "op-2", VOID)
    await refused("ALREADY_DECIDED", ask(court, "op-3", TABLE))
    await refused("ALREADY_DECIDED", ask(court, "op-3", hand_no=1))


async def test_hands_that_are_not_over_cannot_be_decided():
    court = Court()
    await court.open()
    await court.hand()
    await refused("HAND_NOT_ENDED", ask(court, "op-1", VOID))  # its deck is there, nobody has anted
    await refused("UNKNOWN_HAND", ask(court, "op-1", VOID, hand_no=3))
    await court.rig.start()
    await refused("HAND_NOT_ENDED", ask(court, "op-1", VOID))
    request = Request("no-such-table", 1, VOID, "x", "op-1", "r")
    await refused("UNKNOWN_TABLE", Resolver(court.runtime, court.referee).resolve(request))


async def test_hands_are_decided_in_their_order():
    court = await stolen()
    court.book.final_hand = 0
    await refused("HAND_NOT_ENDED", ask(court, "op-1", VOID))


async def test_an_ended_hand_without_any_verdict_can_be_decided():
    court = Court()
    await court.open()
    await court.hand()
    await court.rig.play_hand(mischief=0)
    assert not (await ask(court, "op-1", TABLE)).decided
    assert (await ask(court, "op-2", TABLE)).decided
    ended = (await court.verdicts())[-1]
    assert sum(delta.delta for delta in ended.postings) == 0
    count = len(await court.verdicts())
    await court.hear()
    assert len(await court.verdicts()) == count  # its later verification is skipped


async def test_a_void_hand_can_be_decided_and_has_no_figures():
    court = Court()
    await court.open()
    await court.hand()
    await court.rig.start()
    await court.rig.send(cmd.VoidHand(2, "test", "op"), actor="op")
    await refused("NO_REFEREE_FIGURES", ask(court, "op-1", REFEREE))
    await ask(court, "op-1", TABLE)
    assert (await ask(court, "op-2", TABLE)).decided
    resolved = (await court.verdicts())[-1]
    assert (resolved.postings, resolved.stacks) == ((), ())
    await court.rig.send(cmd.RecordResolution(2, court.book.final_version, TABLE, ()))
    await court.hand()


async def test_where_the_referee_cannot_judge_their_figures_cannot_be_chosen():
    court = await stolen()
    kept = court.rows(court.rig.deck_stream)[:]
    _, closed = await court.rig.notice(2)
    del court.rows(court.rig.deck_stream)[closed.deck.from_version]
    await refused("NO_REFEREE_FIGURES", ask(court, "op-1", REFEREE))
    court.log.store.data.logs[court.rig.deck_stream][:] = kept


async def test_the_table_figures_of_a_lost_end_cannot_be_chosen():
    court = await stolen()
    _, closed = await court.rig.notice(2)
    del court.rows(court.rig.table_stream)[closed.table.to_version - 1 :]
    await refused("NO_REFEREE_FIGURES", ask(court, "op-1", TABLE))
    assert not (await ask(court, "op-1", VOID)).decided


async def test_a_damaged_log_does_not_keep_operators_from_deciding():
    court = await stolen()
    court.edit(court.rig.table_stream, 1, b"\xff\xff")
    court.edit(court.rig.deck_stream, 1, b"\xff\xff")
    await ask(court, "op-1", TABLE)
    assert (await ask(court, "op-2", TABLE)).decided
    for version in range(1, len(court.rows(court.rig.table_stream)) + 1):
        court.edit(court.rig.table_stream, version, b"\xff\xff")
    court.referee.verdicts[court.rig.shard].book.table("t-1").final_hand = 1
    await refused("UNKNOWN_TABLE", ask(court, "op-3", VOID))


# --- who has an interest ----------------------------------------------------------------------------------------------
# Accounts a1, a2, a3 were dealt into the disputed hand.


async def test_whoever_was_in_the_hand_neither_proposes_nor_decides():
    court = await stolen()
    count = len(await court.verdicts())
    for choice in (TABLE, REFEREE, VOID):
        assert "another operator" in (await refused("OWN_INTEREST", ask(court, "a1", choice))).text
    assert len(await court.verdicts()) == count
    await ask(court, "op-1", VOID)
    await refused("OWN_INTEREST", ask(court, "a2", VOID))
    assert (await ask(court, "op-2", VOID)).decided
    await refused("OWN_INTEREST", ask(court, "a3", TABLE))  # before it is said that it is decided


async def test_whoever_sits_at_the_table_decides_nothing_though_they_were_not_in_the_hand():
    """From the reservation until he is paid."""
    court = await stolen()
    send = court.rig.send
    await send(cmd.TakeSeat("op-1", 4, 5000), actor="op-1")
    await refused("OWN_INTEREST", ask(court, "op-1"))
    await send(cmd.RecordFunding(4, 5000))
    await refused("OWN_INTEREST", ask(court, "op-1"))
    await send(cmd.LeaveSeat("op-1"), actor="op-1")
    await refused("OWN_INTEREST", ask(court, "op-1"))
    await send(cmd.RecordCashOut(4, 5000))
    await send(cmd.TakeSeat("op-1", 5, 5000), actor="op-1")
    await send(cmd.LeaveSeat("op-1"), actor="op-1")  # he never sat, and is asked after all the same
    await refused("OWN_INTEREST", ask(court, "op-1"))
    await send(cmd.RecordCashOut(5, 0))
    await send(cmd.TakeSeat("op-1", 6, 5000), actor="op-1")
    await send(cmd.RecordFundingDeclined(6, "INSUFFICIENT_FUNDS", 0))
    assert not (await ask(court, "op-1")).decided


async def test_a_proposal_by_whoever_has_an_interest_counts_as_none():
    """He sat down since, or a build of before took it from him."""
    court = await stolen()
    await ask(court, "op-1")
    await court.rig.send(cmd.TakeSeat("op-1", 4, 5000), actor="op-1")
    assert not (await ask(court, "op-2")).decided
    assert (await ask(court, "op-3")).decided
    assert (await court.verdicts())[-1].operators == ("op-2", "op-3")

    court = await stolen()
    verdicts = court.referee.verdicts[court.rig.shard]
    old = ResolutionProposed("t-1", 2, VOID, "a1", "I lost")
    await verdicts.write("t-1", lambda _: (old, Meta(1, "a1", "r-old")))
    assert court.book.proposal == old
    assert not (await ask(court, "op-1", VOID)).decided
    assert (await ask(court, "op-2", VOID)).decided
    assert (await court.verdicts())[-1].operators == ("op-1", "op-2")


async def test_who_sits_down_while_the_hand_is_judged_has_an_interest_when_it_is_decided():
    court = await stolen()
    judge = court.referee.judge

    async def slowly(*args: Any, **options: Any) -> Any:
        await court.rig.send(cmd.TakeSeat("op-1", 4, 5000), actor="op-1")
        return await judge(*args, **options)

    court.referee.judge = slowly  # type: ignore[method-assign]
    await refused("OWN_INTEREST", ask(court, "op-1"))
    assert court.book.proposal is None


async def test_of_a_damaged_log_the_disputed_figures_say_who_was_in_the_hand():
    court = await stolen()
    for version in range(2, len(court.rows(court.rig.table_stream)) + 1):
        court.edit(court.rig.table_stream, version, b"\xff\xff")
    await refused("OWN_INTEREST", ask(court, "a1", VOID))
    assert not (await ask(court, "op-1", VOID)).decided


async def test_what_was_decided_before_anybody_asked_for_interests_stays_valid():
    """A table of before paused, was drained and voided by its own players: its hands verify."""
    court = Court()
    await court.open()
    send = court.rig.send
    for command in (cmd.PauseTable("tea", "a1"), cmd.ResumeTable("a1"), cmd.DrainTable("a2"), cmd.ResumeTable("a2")):
        await send(command, actor=command.operator)
    await court.hand()
    await court.rig.start()
    await send(cmd.VoidHand(2, "I lost", "a3"), actor="a3")
    assert isinstance(await court.hear(), HandVerified)


async def listed(court: Court, **fields: Any) -> pb.ListProposalsResponse:
    set_caller(Caller("op-9", frozenset(["operator"])))
    service = RulesServicer(court.runtime, court.referee, Resolver(court.runtime, court.referee))
    return await service.ListProposals(pb.ListProposalsRequest(**fields), cast("Any", None))


async def test_what_waits_for_a_second_operator_is_listed_until_somebody_agrees():
    court = await stolen()
    court.runtime.clock = lambda: 4_711
    assert not (await listed(court)).proposals
    await ask(court, "op-1", VOID)
    await ask(court, "op-1", REFEREE)  # another choice replaces it
    (line,) = (await listed(court)).proposals
    told = line.proposed
    assert (told.table, told.hand_no, told.choice, told.operator) == ("t-1", 2, int(REFEREE), "op-1")
    assert (told.reason, line.at_ms, line.version) == ("seen on tape", 4_711, 4)
    assert (await listed(court, table="t-1")).proposals == [line]
    assert not (await listed(court, table="t-2")).proposals
    court.appoint()  # as after a restart
    await court.referee.load()
    assert (await listed(court)).proposals == [line]
    await ask(court, "op-2", REFEREE)
    assert not (await listed(court)).proposals


async def test_pages_of_proposals_and_a_log_that_cannot_be_read():
    court = await stolen()
    await ask(court, "op-1", VOID)
    other = next(table for table in map("t-{}".format, range(2, 500)) if keys.shard_of(table) != court.rig.shard)
    shard = court.referee.verdicts[keys.shard_of(other)]
    proposed = ResolutionProposed(other, 1, VOID, "op-2", "why")
    await shard.write(other, lambda _: (proposed, Meta(1, "op-2", "r-1", b"")))
    first = await listed(court, page_size=1)
    second = await listed(court, page_size=1, page_token=first.next_page_token)
    assert [line.proposed.table for line in (*first.proposals, *second.proposals)] == ["t-1", other]
    assert not second.next_page_token
    await refused("INVALID_FIELD", listed(court, page_size=1001))
    await refused("INVALID_FIELD", listed(court, table="No Table"))
    court.edit(shard.stream, 1, b"edited")
    court.appoint()
    await court.referee.load()
    answer = await listed(court)
    assert [line.proposed.table for line in answer.proposals] == ["t-1"]
    assert list(answer.unread) == [shard.stream]


async def test_players_are_not_told_what_is_proposed():
    court = await stolen()
    set_caller(Caller("ada", frozenset(["player", "cashier"])))
    service = RulesServicer(court.runtime, court.referee, Resolver(court.runtime, court.referee))
    await refused("ROLE_NOT_ALLOWED", service.ListProposals(pb.ListProposalsRequest(), cast("Any", None)))
