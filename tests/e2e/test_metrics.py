"""What a system that has played tells Prometheus: what happened, and nobody's name, card or token."""

import asyncio
import re
from collections import Counter
from typing import Any

import pytest

from stud.common.v1 import seat_pb2
from stud_client import StudError
from stud_core import events as ev
from stud_service.metrics import METRICS
from stud_topology.services import NAMES
from tests.support.choosing import STAY
from tests.support.playing import BUY_IN, Table
from tests.support.scrape import leaks, of_services, samples, scrape, told, value_of
from tests.support.system import Live, shared, until

pytestmark = shared("metrics")
STACK: dict[str, Any] = {}


async def all_told(live: Live) -> dict[str, str]:
    await asyncio.sleep(1.1)  # an answer is kept for a second
    return await asyncio.to_thread(of_services, live.stack.metrics)


async def told_by(live: Live, service: str, name: str, word: str = "") -> float:
    return value_of(await asyncio.to_thread(scrape, live.stack.metrics[service]), name, word, 0)


async def test_what_was_played_is_told(live: Live):
    before = await all_told(live)

    def grown(texts: dict[str, str], service: str, name: str, word: str = "") -> float:
        return value_of(texts[service], name, word) - value_of(before[service], name, word, 0)

    async with await Table.begin(live, "told", 3) as table:
        await table.play_to(4)
        during = await all_told(live)
        assert grown(during, "table", "stud_hands", "BETTING") == 1
        assert grown(during, "table", "stud_viewers") == 4
        assert grown(during, "table", "stud_tables") == 1
        assert grown(during, "wallet", "stud_escrow_minor_units", "EUR") == 3 * BUY_IN
        await table.play_hand(1, {**STAY, seat_pb2.VERB_RAISE: 1})
        await table.verified(1)
        await table.end()
        await until(lambda: _nothing_in_escrow(live, before), "everybody is paid out")
        after = await all_told(live)
        taken = Counter(event.verb.name for event in await live.events(table.id, ev.ActionTaken))
        assert {verb: grown(after, "table", "stud_actions_total", verb) for verb in taken} == taken
        assert grown(after, "table", "stud_act_seconds_count") == taken.total()
        assert grown(after, "table", "stud_hands_ended_total") >= 1
        assert grown(after, "table", "stud_verdict_seconds_count") == grown(after, "table", "stud_hands_ended_total")
        assert grown(after, "rules", "stud_verdicts_total", "VERIFIED") == grown(
            after, "table", "stud_hands_ended_total"
        )
        assert grown(after, "table", "stud_fan_out_viewers_bucket", "4.0") > taken.total()
        assert grown(after, "table", "stud_append_batch_commits_sum") >= len(await live.commits(table.id))
        for name, text in after.items():
            assert value_of(text, "stud_serving") == value_of(text, "stud_log_available") == 1
            assert grown(after, name, "stud_feed_entries_total") > 0
            assert 0 < value_of(text, "stud_log_memory_bytes") < value_of(text, "stud_log_memory_limit_bytes")
            assert grown(after, name, "stud_event_loop_lag_seconds_count") > 0


async def _nothing_in_escrow(live: Live, before: dict[str, str]) -> bool:
    then = value_of(before["wallet"], "stud_escrow_minor_units", "EUR")
    return await told_by(live, "wallet", "stud_escrow_minor_units", "EUR") == then


async def test_each_service_tells_what_the_table_of_metrics_says_and_nothing_else(live: Live):
    for name, text in (await all_told(live)).items():
        families = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE stud_")}
        assert families == told(name), name
    assert {metric.name for metric in METRICS} - told("edge") <= set().union(*map(told, NAMES))


async def test_no_card_token_or_account_is_in_it_and_one_that_is_planted_is_found(live: Live):
    async with await Table.begin(live, "nobody", 3) as table:
        await table.pause("As Kd were dealt to mallory")
        await table.play_to(5)
        texts = await all_told(live)
        accounts = [*table.players, "operator"]
        cards = {str(card) for player in table.players.values() for card in player.last.mine.down}
        assert cards
        secrets = [*accounts, table.id, "mallory", "As Kd"]
        for name, text in texts.items():
            assert leaks(text, secrets) == [], name
        assert value_of(texts["table"], "stud_tables_standing", "OTHER") == 1
        text = texts["table"]
        for planted in (
            f'stud_actions_total{{verb="{accounts[0]}"}} 1',
            'stud_actions_total{verb="Qs"} 1',
            'stud_refusals_total{reason="eyJhbGciOiJFZERTQSJ9.e30"} 1',
            f'stud_tables{{table="{table.id}"}} 1',
            'stud_hands{phase="someone"} 1',
            'process_open_fds{account="x"} 1',
            f"# HELP stud_tables of {table.id}",
        ):
            assert leaks(f"{text}{planted}\n", secrets) != [], planted
        many = "\n".join(f'stud_feed_lag_seconds{{shard="s{n:02}"}} 1' for _ in range(10) for n in range(64))
        assert leaks(f"{text}{many}\n", secrets) != []


async def test_refusals_are_told_by_reason_of_calls_and_of_streams(live: Live):
    before = await told_by(live, "table", "stud_refusals_total", "STALE_TURN")
    async with await Table.begin(live, "refused", 2) as table:
        player, mine = await table.turn()
        stale = player.request(mine, mine.options[0], "stale")
        stale.turn_id = 1 << 40
        with pytest.raises(StudError, match="STALE_TURN"):
            await player.client.tables.Act(stale)
        with pytest.raises(StudError, match="STALE_TURN"):
            await player.playing.act(1 << 40, mine.options[0].verb, request_id="stale-2")
        await asyncio.sleep(1.1)
        text = await asyncio.to_thread(scrape, live.stack.metrics["table"])
        refused = {s.labels["reason"]: s.value for s in samples(text) if s.name == "stud_refusals_total"}
        assert refused["STALE_TURN"] == before + 2


async def test_while_the_log_is_away_everything_is_told_but_what_nobody_knows(live: Live):
    await live.stack.server.stop()
    try:
        await until(lambda: _all_say_away(live), "everybody says that the log is away")
        for name, text in (await all_told(live)).items():
            assert value_of(text, "stud_serving") == 0
            assert value_of(text, "stud_log_trouble", "LOG_AWAY") == 1
            assert told(name) - set(re.findall("^# TYPE (stud_\\w+)", text, re.MULTILINE)) == {
                "stud_log_memory_bytes",
                "stud_log_memory_limit_bytes",
            }
    finally:
        await live.stack.server.start()
    await live.ready()
    assert all(value_of(text, "stud_log_available") == 1 for text in (await all_told(live)).values())


async def _all_say_away(live: Live) -> bool:
    said = [await told_by(live, name, "stud_log_trouble", "LOG_AWAY") for name in NAMES]
    return said == [1.0] * len(NAMES)
