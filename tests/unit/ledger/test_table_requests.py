"""Whatever a table asks, with whatever figures and in whatever order: a fact answers it, never a refusal.

A refusal would park the table's line in the wallet, and with it the money of everybody else at that table.
"""

import copy
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from stud_core.amounts import MAX_AMOUNT
from stud_core.ledger import commands as cmd
from stud_core.ledger import events as ev
from stud_core.ledger.evolve import fold
from stud_core.ledger.postings import unsound
from stud_eventlog.memory import MemoryEventLog
from tests.support.deep import either
from tests.support.ledger import NEVER, Till, settlement
from tests.support.wallet import Floor, buy_in, cash_out, top_up, verified, working

EXAMPLES = either(300, 3000, 50)
NOW = 1000

accounts = st.sampled_from(("ann", "bob", "iced", "nobody", ""))
tables = st.sampled_from(("t-1", "t-2"))
sittings = st.integers(0, 4)
hands = st.integers(0, 4)
edges = st.sampled_from((0, 1, 499, 500, 501, MAX_AMOUNT, MAX_AMOUNT + 1, 2**63 - 1, 10**19))
amounts = st.one_of(edges, st.integers(-10, 2000), st.integers(-10, 10**19))
refusals = st.sampled_from(("", "", "", "STACKED_NOT_ALLOWED"))
results = st.lists(st.tuples(sittings, accounts, amounts | st.integers(-600, 600)), max_size=3)

buy_ins = st.builds(cmd.FundBuyIn, tables, sittings, accounts, amounts, st.sampled_from((NOW, NEVER)), refusals)
top_ups = st.builds(cmd.FundTopUp, tables, sittings, st.integers(0, 3), accounts, amounts, refusals)
cash_outs = st.builds(cmd.CashOut, tables, sittings, accounts, st.none() | amounts, hands)
verdicts = st.builds(
    lambda table, hand_no, deltas, rake, even: settlement(
        hand_no,
        *deltas,
        *([(1, "ann", -rake - sum(delta for _, _, delta in deltas))] if even else []),
        rake=rake,
        table=table,
    ),
    tables,
    hands,
    results,
    st.integers(-1, 20),
    st.booleans(),
)
FACTS: dict[Any, tuple[type, ...]] = {
    cmd.FundBuyIn: (ev.BuyInFunded, ev.BuyInDeclined),
    cmd.FundTopUp: (ev.TopUpFunded, ev.TopUpDeclined),
    cmd.CashOut: (ev.CashedOut, ev.CashOutBlocked),
    cmd.SettleHand: (ev.HandSettled, ev.SettlementBlocked),
}


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(st.one_of(buy_ins, buy_ins, top_ups, cash_outs, verdicts), max_size=30))
def test_every_request_of_a_table_is_answered_by_a_fact(requests: list[Any]):
    till = Till(ann=2000, bob=10**15, iced=500)
    till.gives(cmd.FreezeAccount("iced", "op", "why"))
    answered: set[tuple[str, int]] = set()
    for request in requests:
        kind: Any = type(request)
        before = copy.deepcopy(till.state)
        answer = till.gives(request, NOW)
        assert unsound(before, answer) == ""
        number: int = getattr(request, "top_up_no", getattr(request, "hand_no", 0))
        place = (request.table, getattr(request, "sitting_no", 0))
        if answer:
            assert isinstance(answer[0], FACTS[kind])
            answered.add(place)
        elif kind is cmd.FundTopUp:
            assert number <= till.state.sittings[place].top_up_no
        elif kind is cmd.SettleHand:
            assert number <= till.state.settled.get(place[0], 0) or place[0] in till.state.blocked
        else:  # a buy-in, or the cash-out that overtook it, has had its answer
            assert place in answered
    till.check()
    assert fold(till.commits) == till.state


async def test_one_player_with_absurd_amounts_holds_up_nobody():
    """The wallet itself, with what a table of an older build may still say."""
    log = MemoryEventLog()
    floor = Floor(log)
    async with working(log) as office:
        await office.fund(ann=1000, bob=1000)
        await floor.say("t-1", buy_in(1, "ann"), buy_in(2, "mallory", MAX_AMOUNT + 1), buy_in(3, "bob"))
        await floor.say("t-1", top_up(3, 1, "bob", 2**63 - 1), top_up(9, 1, "bob", -5), buy_in(1, "mallory", -7))
        await floor.judge(verified("t-1", 1, (1, "ann", -100), (3, "bob", 100)))
        await floor.say("t-1", cash_out(3, "mallory", -3, 1), cash_out(1, "ann", 400, 1))
        answers = await floor.hears(
            "t-1",
            *(ev.BuyInFunded, ev.BuyInDeclined, ev.BuyInFunded),
            *(ev.TopUpDeclined, ev.TopUpDeclined, ev.BuyInDeclined),
            *(ev.CashOutBlocked, ev.CashedOut),
        )
        assert [answer.reason for answer in answers if hasattr(answer, "reason")] == [
            *("BUY_IN_TOO_LARGE", "TOP_UP_OUT_OF_LIMITS", "SITTING_MISMATCH", "SITTING_MISMATCH")
        ]
        assert answers[-1].amount == 400
        assert await log.dead_list() == []
    await log.close()
