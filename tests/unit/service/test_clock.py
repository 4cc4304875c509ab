"""The one clock of a service: it goes on whatever the wall clock does, and follows it at one moment."""

import pytest

from stud_service.clock import READINGS, STEP_MS, Clock

HOUR_MS = 3_600_000


class Clocks:
    """A wall clock that can be set, and monotonic time; milliseconds."""

    def __init__(self) -> None:
        self.wall_ms = 1_700_000_000_000
        self.monotonic_ms = 5_000
        self.still_ms = [0] * 100
        """For how long the process stands still after each reading of the wall clock."""

    def pass_ms(self, ms: int) -> None:
        self.wall_ms += ms
        self.monotonic_ms += ms

    def wall_ns(self) -> int:
        now = self.wall_ms
        self.pass_ms(self.still_ms.pop(0))
        return now * 1_000_000

    def monotonic_ns(self) -> int:
        return self.monotonic_ms * 1_000_000

    def clock(self) -> Clock:
        return Clock(self.wall_ns, self.monotonic_ns)


def test_it_is_the_wall_clock_as_long_as_nobody_sets_that():
    clocks = Clocks()
    clock = clocks.clock()
    for _ in range(5):
        assert clock() == clocks.wall_ms
        clocks.pass_ms(999)
        assert clock.follow() == 0
    assert clock.steps == 0


@pytest.mark.parametrize("by_ms", [HOUR_MS, -HOUR_MS, STEP_MS + 1, -STEP_MS - 1])
def test_a_step_of_the_wall_clock_changes_nothing_until_it_is_followed(by_ms):
    clocks = Clocks()
    clock = clocks.clock()
    before = clock()
    clocks.wall_ms += by_ms
    clocks.pass_ms(10)
    assert clock() == before + 10
    assert clock.follow() == by_ms
    assert (clock(), clock.steps) == (clocks.wall_ms, 1)
    assert clock.follow() == 0


@pytest.mark.parametrize("by_ms", [STEP_MS, -STEP_MS, 1])
def test_a_small_difference_is_no_step(by_ms):
    clocks = Clocks()
    clock = clocks.clock()
    clocks.wall_ms += by_ms
    assert (clock.follow(), clock.steps) == (0, 0)


def test_small_differences_add_up_to_a_step():
    clocks = Clocks()
    clock = clocks.clock()
    followed = []
    for _ in range(20):
        clocks.wall_ms += 100
        followed.append(clock.follow())
    assert [by_ms for by_ms in followed if by_ms] == [STEP_MS + 100]


def test_a_process_that_stands_still_between_two_readings_is_no_step():
    clocks = Clocks()
    clock = clocks.clock()
    clocks.still_ms = [20_000, 20_000, 0, *[0] * 100]
    assert clock.follow() == 0
    clocks.still_ms = [60] * READINGS
    assert clock.follow() == 0  # what it reads at last is good enough
