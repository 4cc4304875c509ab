"""Load: bots that play over the public API, what they measure, and the checks that say whether it was poker.

    report = await run(LoadPlan(tables=16, players=8, rate=parse_rate("300/s"), seconds=20), target)
    assert report.ok, report.violations

`run` needs endpoints and tokens and nothing else. It knows no log, no key and no process it was not told of.
"""

from stud_load.plan import Chaos, LoadPlan, Rate, parse_rate
from stud_load.report import Report
from stud_load.running import run
from stud_load.target import Target

__all__ = ["Chaos", "LoadPlan", "Rate", "Report", "Target", "parse_rate", "run"]
