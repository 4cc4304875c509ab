"""Every service starts when its log lets it."""

import asyncio

import pytest

from tests.support.playing_memory import Game
from tests.support.system_memory import APPS, MemorySystem, simulated


@pytest.mark.parametrize("name", APPS)
def test_a_service_that_is_started_while_the_log_is_away_waits_for_it(tmp_path, name):
    """It was there when the process connected; nobody starts one again that has ended because of a moment's silence."""

    @simulated
    async def run() -> None:
        async with MemorySystem(tmp_path) as system:
            game = Game(system)
            await game.open()
            await system.stop(name)
            system.store.stop()
            starting = asyncio.create_task(system.start(name))
            await asyncio.sleep(30)
            system.store.start()
            await starting
            await game.begin_seats(3)
            await game.play(1)

    run()
