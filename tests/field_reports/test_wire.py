"""Reports in which the connection itself is part of the fault: real processes, real gRPC."""

from __future__ import annotations

import asyncio

from stud.table.v1 import table_service_pb2 as pb
from tests.support.playing import Player, Table
from tests.support.system import Live, shared

pytestmark = shared("field-reports")


async def test_report_06_one_action_over_several_connections_is_in_the_log_once(live: Live):
    """Slow answers make a client send again, over its stream and beside it: all are told the same version."""
    async with await Table.begin(live, "report-six") as table:
        player, mine = await table.turn()
        option = table.choose(mine)
        request = player.request(mine, option, "pressed")
        over_stream = asyncio.ensure_future(player.act(option, mine, "pressed"))
        answers = await asyncio.gather(*(player.client.tables.Act(request) for _ in range(3)))
        assert {answer.version for answer in answers} == {await over_stream}
        await table.play_hand()
        await table.verified()
        await table.end()
        await table.check()


async def test_report_14_and_18_a_client_that_comes_back_with_the_next_hand_knows_everything(live: Live):
    """The client is gone when hand 1 ends. Another one of the same account connects while hand 2 is dealt: it is shown
    the whole table with its own cards, and acts."""
    async with await Table.begin(live, "report-fourteen") as table:
        account, gone = next(iter(table.players.items()))
        await table.play_hand()
        await gone.session.close()
        back = Player(live.people.player(account), account, table.id)
        async with back:
            table.players[account] = back
            update = await back.until(
                lambda u: u.view.hand_no == 2 and u.view.street and u.mine.down, "cards of hand 2"
            )
            assert back.updates[0].reset
            assert len(update.mine.down) == 2
            assert {seat.account for seat in update.view.seats if seat.dealt_in} == set(table.players)
            await table.play_hand(2)
            assert any(request.startswith(account) for request in back.acknowledged)
            shown = await back.client.tables.GetTable(pb.GetTableRequest(table=table.id))
            assert (shown.update.reset, shown.update.mine.seat) == (True, update.mine.seat)
            await table.verified(2)
            await table.end()
            await table.check()
