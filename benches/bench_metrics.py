"""What counting costs: nanoseconds for each observation, beside the decision on the action that it counts."""

from __future__ import annotations

import time
from collections.abc import Callable

from stud_core.commands import Act
from stud_core.events import ActionTaken, By, Verb
from stud_service.exposition import Exposition
from stud_service.meters import Meters
from stud_service.metrics import ACT_SECONDS, ACTIONS, FEED_LAG, REFUSALS
from table_service.mail import Mail
from table_service.meters import TableMeters

ROUNDS = 200_000


def ns_each(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return nanoseconds for one call, the loop around it taken off; the best of five."""
    best = float("inf")
    for _ in range(5):
        began = time.perf_counter_ns()
        for _ in range(rounds):
            pass
        between = time.perf_counter_ns()
        for _ in range(rounds):
            work()
        best = min(best, ((time.perf_counter_ns() - between) - (between - began)) / rounds)
    return best


def main() -> None:
    """Print them."""
    meters = Meters()
    counter, histogram, table = meters.counter(ACTIONS), meters.histogram(ACT_SECONDS), TableMeters(meters)
    event = ActionTaken(1, 1, Verb.CALL, 500, 500, None, all_in=False, counts=False, stack=1, by=By.PLAYER)
    events = [event]
    mail = Mail(Act("alice", 1, Verb.CALL, None, None), 0, "alice", future=None)  # type: ignore[arg-type]  # not told

    def count() -> None:
        counter["CALL"] += 1

    def observe() -> None:
        histogram.observe(0.004)

    def commit() -> None:
        table.committed(events, 8, 1000)

    def answer() -> None:
        table.answered(mail)

    costs = {"a counter": count, "a histogram": observe, "a commit of one action": commit, "its answer": answer}
    for name, work in costs.items():
        print(f"{name:<28} {ns_each(work):8,.0f} ns")
    meters.counter(REFUSALS).update({"STALE_TURN": 1, "RATE_LIMITED": 2})
    meters.source(lambda: {FEED_LAG: {f"s{shard:02}": 0.0 for shard in range(64)}})
    exposition = Exposition(meters)
    print(f"{'an answer to Prometheus':<28} {ns_each(exposition.text, 200):8,.0f} ns, {len(exposition.text()):,} bytes")


if __name__ == "__main__":
    main()
