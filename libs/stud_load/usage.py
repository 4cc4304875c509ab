"""CPU and memory of processes on this machine, by name. What cannot be looked at is left out."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import psutil


class Sample(msgspec.Struct):
    """A process at the end of an interval: share of one core in it, memory in MiB. ``at_ms``: since the epoch."""

    at_ms: int
    cpu_share: float
    rss_mib: float


class Usage(msgspec.Struct):
    """A process over the window: seconds of CPU, greatest memory, and how it went."""

    cpu_s: float = 0.0
    peak_mib: float = 0.0
    samples: list[Sample] = []


class Meter:
    """Looks at some processes again and again."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        self._processes: dict[str, psutil.Process] = {}
        for name, pid in pids.items():
            try:
                self._processes[name] = psutil.Process(pid)
            except psutil.Error:
                continue
        self.ended: list[str] = []
        """Who ended meanwhile; what is started again in their place is not measured."""
        self.usage = {name: Usage() for name in self._processes}
        self._cpu_s: dict[str, float] = {}
        self._since_s = 0.0

    def start(self, now_s: float) -> None:
        """Begin to count."""
        self._since_s = now_s
        for name, process in list(self._processes.items()):
            self._cpu_s[name] = self._looked_at(name, process)[0]

    def tick(self, now_s: float, at_ms: int) -> dict[str, Sample]:
        """Note how each process went since the last time; return it."""
        took_s, self._since_s = max(1e-9, now_s - self._since_s), now_s
        samples: dict[str, Sample] = {}
        for name, process in list(self._processes.items()):
            cpu_s, rss_mib = self._looked_at(name, process)
            if name not in self._processes:
                continue
            used_s = cpu_s - self._cpu_s.get(name, cpu_s)
            self._cpu_s[name] = cpu_s
            sample = samples[name] = Sample(at_ms, used_s / took_s, rss_mib)
            usage = self.usage[name]
            usage.cpu_s += used_s
            usage.peak_mib = max(usage.peak_mib, rss_mib)
            usage.samples.append(sample)
        return samples

    def _looked_at(self, name: str, process: psutil.Process) -> tuple[float, float]:
        try:
            with process.oneshot():
                times = process.cpu_times()
                return times.user + times.system, process.memory_info().rss / 2**20
        except psutil.Error:
            del self._processes[name]
            self.ended.append(name)
            return 0.0, 0.0
