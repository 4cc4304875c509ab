"""Buckets, places, and a share of the loop's time."""

import asyncio
import time
from collections import Counter
from random import Random

import pytest

from stud_service import limits as module
from stud_service.limits import Limit, Limits, Places, Rate, Share, now_s
from stud_service.refusals import Refused
from stud_service.settings import ServiceSettings
from tests.support.deep import either
from tests.support.system_memory import simulated

WINDOW_S = 0.05


@simulated
async def test_a_bucket_gives_its_burst_at_once_and_then_its_rate():
    rate: Rate[str] = Rate(2, 20)
    assert [rate.take("ada") for _ in range(20)] == [0.0] * 20
    assert rate.take("ada") == pytest.approx(0.5)
    assert rate.take("bea") == 0  # each has his own
    await asyncio.sleep(0.25)
    assert rate.take("ada") == pytest.approx(0.25)  # who is refused loses nothing by it
    await asyncio.sleep(0.25)
    assert rate.take("ada") == 0
    assert rate.take("ada") == pytest.approx(0.5)
    await asyncio.sleep(10)
    assert [bool(rate.take("ada")) for _ in range(21)] == [False] * 20 + [True]


@simulated
async def test_who_comes_back_when_they_were_told_to_is_taken():
    rng, rate = Random(1), Rate[str](5, 3)
    taken = 0
    for _ in range(1000):
        wait_s = rate.take("ada", factor := 1)
        if wait_s:
            await asyncio.sleep(wait_s)
            assert rate.take("ada", factor) == 0
        taken += 1
        await asyncio.sleep(rng.random() / 10)
    assert taken <= 3 + 5 * asyncio.get_running_loop().time() + 1


@simulated
async def test_a_bigger_bucket_is_bigger_and_faster():
    rate: Rate[str] = Rate(2, 20)
    taken = 0
    while not rate.take("olga", 10):
        taken += 1
    assert taken in range(190, 211)
    await asyncio.sleep(1)
    taken = 0
    while not rate.take("olga", 10):
        taken += 1
    assert taken in range(19, 22)


@simulated
async def test_what_is_full_again_is_forgotten():
    rate: Rate[int] = Rate(10, 20)
    for number in range(100_000):
        rate.take(number)
        if number % 100 == 0:
            await asyncio.sleep(0.01)
    assert len(rate) < 4 * module.SWEEP_ABOVE


@simulated
async def test_places_are_held_while_somebody_is_there():
    places: Places[str] = Places(2, 3, "streams", Limit.ACCOUNT_STREAMS)

    def reason(who: str) -> str:
        with pytest.raises(Refused) as refused, places.hold(who):
            pass
        assert refused.value.metadata["retry_after_ms"] == "1000"
        return f"{refused.value.reason} {refused.value.metadata['limit']}"

    with places.hold("ada"), places.hold("ada"):
        assert reason("ada") == "RATE_LIMITED 2"
        with places.hold("bea"):
            assert reason("cleo") == "RATE_LIMITED 3"
        with pytest.raises(ZeroDivisionError), places.hold("bea"):
            raise ZeroDivisionError
        with places.hold("bea"):
            pass
    assert (len(places), places._held) == (0, {})


@simulated
async def test_refusals_of_one_account_come_one_after_the_other():
    """However many calls it has at once: so it cannot make more of them than that."""
    limits = Limits(ServiceSettings())
    loop = asyncio.get_running_loop()
    began = loop.time()
    await asyncio.gather(*[limits.hold("eve") for _ in range(21)])
    assert loop.time() - began == pytest.approx(20 / module.REFUSALS_PER_S)
    began = loop.time()
    await asyncio.gather(*[limits.hold("eve") for _ in range(1000)])
    assert loop.time() - began <= 1.5 * module.LONGEST_HOLD_S
    began = loop.time()
    await limits.hold("ada")
    assert loop.time() == began


@simulated
async def test_an_account_s_calls_come_in_turn_and_only_a_long_line_is_refused():
    limits, loop = Limits(ServiceSettings(calls_per_s=5, calls_burst=10)), asyncio.get_running_loop()
    began = loop.time()
    for _ in range(10):
        await limits.call("ada")
    assert loop.time() == began
    for _ in range(20):  # who waits for his answers is never refused
        await limits.call("ada")
    assert loop.time() - began == pytest.approx(20 / 5)
    calls = [asyncio.create_task(limits.call("ada", frozenset({"player"}))) for _ in range(100)]
    refused = [why for why in await asyncio.gather(*calls, return_exceptions=True) if isinstance(why, Refused)]
    assert len(refused) == 100 - 5 * module.LINE_S
    assert (refused[0].reason, refused[0].metadata["limit"]) == ("RATE_LIMITED", "5")
    assert loop.time() - began == pytest.approx(4 + module.LINE_S)


@simulated
async def test_who_was_refused_is_taken_when_they_were_told_to_come_back():
    limits = Limits(ServiceSettings(calls_per_s=5, calls_burst=1))
    line = [asyncio.create_task(limits.call("ada")) for _ in range(26)]
    await asyncio.sleep(0)
    with pytest.raises(Refused) as refused:
        await limits.call("ada")
    await asyncio.sleep(int(refused.value.metadata["retry_after_ms"]) / 1000)
    await limits.call("ada")
    await asyncio.gather(*line)


@simulated
async def test_staff_has_more():
    limits, loop = Limits(ServiceSettings(calls_per_s=5, calls_burst=10)), asyncio.get_running_loop()
    for role in module.STAFF:
        for _ in range(10 * module.STAFF_FACTOR):
            await limits.call(role, frozenset({role, "player"}))
    assert loop.time() == 0


@simulated
async def test_what_is_taken_in_any_case_is_counted():
    limits = Limits(ServiceSettings(calls_per_s=5, calls_burst=10))
    assert [limits.note("ada") for _ in range(12)] == [False] * 10 + [True] * 2
    await limits.call("ada")
    assert asyncio.get_running_loop().time() == pytest.approx(0.2)


@simulated
async def test_heavy_work_has_its_share_of_the_time_and_no_more():
    share, loop = Share(10), asyncio.get_running_loop()
    began = loop.time()
    for _ in range(1000):
        share.worked(0.002)
        await share.rest()
    assert loop.time() - began == pytest.approx(20, abs=1)
    await asyncio.sleep(60)
    began = loop.time()
    for _ in range(20):  # after a quiet time a short question is answered at once
        share.worked(0.002)
        await share.rest()
    assert loop.time() - began < 0.2


async def test_heavy_work_lets_others_have_their_turn():
    share, turns = Share(100), 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    for _ in range(20):
        with share.work():
            time.sleep(module.SLICE_S)  # noqa: ASYNC251  (the work)
        await share.rest()
    task.cancel()
    assert turns >= 20


@pytest.mark.parametrize("what", ["hold", "wrong_token", "slow"])
@pytest.mark.parametrize("at_once", [1, 30, 1000, *either([5000], [5000], [])])
def test_however_many_calls_are_refused_they_are_told_evenly(what, at_once):
    """Not in waves, each of which would stop everybody else for as long as it takes to tell all of them."""

    @simulated
    async def run() -> None:
        limits, told, began = Limits(ServiceSettings()), Counter[int](), now_s()

        async def ask() -> None:
            while True:
                await getattr(limits, what)("ipv4:127.0.0.1:50000")
                told[int((now_s() - began) / WINDOW_S)] += 1
                await asyncio.sleep(0.001)

        asked = [asyncio.create_task(ask()) for _ in range(at_once)]
        await asyncio.sleep(60)
        for task in asked:
            task.cancel()
        later = [told[window] for window in range(int(20 / WINDOW_S), int(60 / WINDOW_S))]
        assert sum(told.values()) < 60 * (20 + at_once / 4)
        assert max(later) < 2 + 3 * WINDOW_S * (20 + at_once / 5)

    run()
