"""What every service tells of its log: whether it is there, what is wrong with it, how full it is, how fast it takes
commits.
"""

from __future__ import annotations

from collections.abc import Mapping

from stud_service.meters import Value
from stud_service.metrics import (
    APPEND_COMMITS,
    APPEND_SECONDS,
    LOG_AVAILABLE,
    LOG_MEMORY,
    LOG_MEMORY_LIMIT,
    LOG_TROUBLE,
    Metric,
)
from stud_service.runtime import Runtime


def tell_of_the_log(runtime: Runtime) -> None:
    seconds, commits = runtime.meters.histogram(APPEND_SECONDS), runtime.meters.histogram(APPEND_COMMITS)

    def batch(size: int, took_s: float) -> None:
        commits.observe(size)
        seconds.observe(took_s)

    def told() -> Mapping[Metric, Value]:
        found: dict[Metric, Value] = {
            LOG_AVAILABLE: int(runtime.log.available),
            LOG_TROUBLE: {} if runtime.trouble is None else {runtime.trouble.code: 1},
        }
        if runtime.log.available and runtime.log.memory is not None:
            found[LOG_MEMORY], found[LOG_MEMORY_LIMIT] = runtime.log.memory.used, runtime.log.memory.limit
        return found

    runtime.log.on_batch = batch
    runtime.meters.source(told)
