"""What can be asked of a run, how several processes share it, and when its actions are due."""

from itertools import islice
from random import Random

import msgspec
import pytest

from stud_load.pacing import AtOnce, Fixed, Human, Paces
from stud_load.plan import MAX_RATE, Chaos, LoadPlan, Rate, RateKind, parse_rate


@pytest.mark.parametrize(
    ("text", "rate"),
    [("human", Rate(RateKind.HUMAN)), ("max", MAX_RATE), ("250/s", Rate(RateKind.FIXED, 250.0))],
)
def test_a_rate_is_read_and_written(text: str, rate: Rate):
    assert parse_rate(text) == rate
    assert str(rate) == text


@pytest.mark.parametrize("text", ["", "fast", "0/s", "-3/s", "12", "1e9/s", "nan/s", "12/m", "99999999/s"])
def test_what_is_no_rate_is_told_what_would_be_right(text: str):
    with pytest.raises(ValueError, match=r"want human, max, or actions a second such as 250/s"):
        parse_rate(text)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tables": 0}, "tables 0: want 1 to"),
        ({"players": 9}, "players 9: want 2 to 8"),
        ({"seconds": 0.0}, "seconds 0: want 1 to"),
        ({"chaos": Chaos(reconnect=1.5)}, "reconnect 1.5: want 0 to 1"),
        ({"tables": 100, "rate": Rate(RateKind.FIXED, 2.0)}, "want 12.5/s or more, or fewer tables"),
    ],
)
def test_a_plan_that_cannot_be_is_told_why(change, said: str):
    with pytest.raises(ValueError, match=said):
        msgspec.structs.replace(LoadPlan(), **change).check()


def test_processes_share_tables_rate_and_slow_readers():
    plan = LoadPlan(tables=7, rate=parse_rate("70/s"), chaos=Chaos(slow_readers=2), run_id="r")
    shares = plan.shares(3)
    assert [share.tables for share in shares] == [2, 2, 3]
    assert [share.rate.per_s for share in shares] == [20, 20, 30]
    assert sum(share.chaos.slow_readers for share in shares) == 2
    ids = [share.table_id(number) for share in shares for number in range(share.tables)]
    assert ids == [f"load-r-{number}" for number in range(7)]


def test_there_are_no_more_processes_than_tables():
    with pytest.raises(ValueError, match="3 processes for 2 tables: want 1 to 2"):
        LoadPlan(tables=2).shares(3)


def test_a_report_stays_small_however_long_the_run():
    assert LoadPlan(seconds=20).interval_s == 1
    assert LoadPlan(seconds=86_400).seconds / LoadPlan(seconds=86_400).interval_s == 240


def test_at_a_fixed_rate_actions_are_due_whatever_happens():
    pace = Fixed(10.0, 100.0)
    assert [pace.due(asked) for asked in (100.0, 100.0, 500.0)] == pytest.approx([100.0, 100.1, 100.2])
    assert list(pace.overdue(100.55)) == pytest.approx([100.3, 100.4, 100.5])


def test_the_rate_grows_as_tables_begin():
    pace = Fixed(10.0, 0.0, ramp_s=4.0)
    due = [pace.due(0.0) for _ in range(40)]
    assert sum(moment < 4.0 for moment in due) == 20, "half of what the full rate would bring"
    assert due[20] == pytest.approx(4.0)
    assert due[30] == pytest.approx(5.0)
    assert due == sorted(due)


def test_people_think_three_seconds_on_average():
    pace = Human(3.0, Random(1))
    times = [pace.due(10.0) - 10.0 for _ in range(5000)]
    assert sum(times) / len(times) == pytest.approx(3.0, rel=0.05)
    assert list(pace.overdue(1e9)) == []


def test_the_same_seed_thinks_the_same():
    def thoughts(seed: int, table: str) -> list[float]:
        pace = Paces(LoadPlan(rate=Rate(RateKind.HUMAN), seed=seed), 0.0).of(table)
        return [pace.due(0.0) for _ in range(5)]

    assert thoughts(1, "t") == thoughts(1, "t") != thoughts(2, "t")
    assert thoughts(1, "t") != thoughts(1, "u")


def test_tables_share_a_fixed_rate_and_nothing_else():
    paces = Paces(LoadPlan(rate=parse_rate("2/s"), ramp_s=0), 0.0)
    assert [paces.of("a").due(0), paces.of("b").due(0)] == [0.0, 0.5]
    assert list(islice(paces.overdue(2.0), 5)) == [1.0, 1.5]
    assert Paces(LoadPlan(), 0.0).of("a").due(7.0) == AtOnce().due(7.0) == 7.0
