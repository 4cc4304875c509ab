"""CPU and memory of processes."""

import os
import subprocess
import sys
import time

import pytest

from stud_load.usage import Meter


def test_a_process_is_measured():
    meter = Meter({"we": os.getpid(), "nobody": 2**22 + 1})
    meter.start(10.0)
    busy_until = time.process_time() + 0.2
    while time.process_time() < busy_until:
        pass
    samples = meter.tick(11.0, 5)
    assert samples.keys() == {"we"}, "who is not there is left out"
    assert samples["we"].cpu_share == pytest.approx(0.2, abs=0.1)
    assert samples["we"].rss_mib > 10
    assert meter.usage["we"].cpu_s == pytest.approx(samples["we"].cpu_share)
    assert [sample.at_ms for sample in meter.usage["we"].samples] == [5]
    meter.tick(12.0, 6)
    assert meter.usage["we"].peak_mib >= samples["we"].rss_mib


@pytest.mark.process
def test_a_process_that_ends_keeps_what_it_used():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        meter = Meter({"it": process.pid})
        meter.start(0.0)
        assert meter.tick(1.0, 1).keys() == {"it"}
    assert meter.tick(2.0, 2) == {}
    assert meter.tick(3.0, 3) == {}
    assert meter.ended == ["it"]
    assert len(meter.usage["it"].samples) == 1
