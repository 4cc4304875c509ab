"""A read of many feeds is put together from encoded parts: the bytes are those of the plain command."""

import random
from typing import Any, cast

from stud_eventlog.redis_feeds import RedisFeeds
from stud_eventlog.redis_wire import pack


def test_a_read_has_the_bytes_of_the_plain_command_however_its_positions_and_feeds_change():
    feeds, rng = RedisFeeds(cast("Any", None), cast("Any", None), 3000), random.Random(1)
    positions = {f"{{s{shard:02}}}:verdicts": "0-0" for shard in range(64)}
    for _ in range(200):
        for moved in rng.sample(sorted(positions), 3):
            positions[moved] = f"{rng.randrange(10**13)}-{rng.randrange(3)}"
        if rng.random() < 0.05:
            positions[rng.choice(sorted(positions))] = "0-0"  # a feed that went back in time
        order = rng.sample(sorted(positions), rng.randrange(1, len(positions)))
        count, block_ms = rng.randrange(1, 300), rng.choice((0, 20, 1000, 9000))
        block = ("BLOCK", min(block_ms, 3000)) if block_ms else ()
        plain = ("XREAD", "COUNT", count, *block, "STREAMS", *order, *(positions[feed] for feed in order))
        assert pack([feeds._xread_command(order, positions, count, block_ms), ("PING",)]) == pack([plain, ("PING",)])
