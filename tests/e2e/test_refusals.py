"""What nobody may do: each is refused for its reason, changes nothing, and tells nothing of our insides."""

from tests.support.playing import Table
from tests.support.system import Live, shared

pytestmark = shared("refusals")


async def test_one(live: Live):
    async with await Table.begin(live, "try") as table:
        await table.play_hand(1)
        await table.verified(1)
        await table.pause()
        if table.eye.last.view.phase:
            await table.play_hand(2)
        await table.verified(table.eye.last.view.hand_no)
        await table.close()
        await table.check()
