"""Pauses between attempts: twice as long each time, bounded, spread, and short again after a success."""

from itertools import pairwise

from stud_eventlog.pauses import Pauses


def test_each_is_twice_as_long_up_to_the_longest():
    pauses = Pauses(0.1, 1.0, lambda: 1.0)
    assert [round(pauses.next_s(), 3) for _ in range(6)] == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    pauses.start_over()
    assert pauses.next_s() == 0.1


def test_it_lasts_from_half_of_it_to_all_of_it():
    assert Pauses(1, 1, lambda: 0.0).next_s() == 0.5
    assert Pauses(1, 1, lambda: 0.5).next_s() == 0.75


def test_nobody_comes_back_together():
    first = [Pauses(1, 1).next_s() for _ in range(50)]
    assert len(set(first)) == 50
    assert all(0.5 <= pause_s <= 1 for pause_s in first)


def test_after_a_thousand_failures_it_still_is_the_longest():
    pauses = Pauses(0.02, 2.0, lambda: 1.0)
    lengths = [pauses.next_s() for _ in range(1_000)]
    assert all(shorter <= longer for shorter, longer in pairwise(lengths))
    assert lengths[-1] == 2.0
