"""A service on a machine whose clock is set: the file STUD_TEST_CLOCK says by how many milliseconds it is off.

Run as a module with STUD_TEST_SERVICE naming the service. Only what the service's own clock reads is changed.
"""

import os
import runpy
import time
from pathlib import Path

ADDED = Path(os.environ["STUD_TEST_CLOCK"])
_real_ns = time.time_ns


def _set_ns() -> int:
    try:
        return _real_ns() + int(ADDED.read_text()) * 1_000_000
    except (OSError, ValueError):  # nobody has set it yet, or is just writing
        return _real_ns()


time.time_ns = _set_ns

if __name__ == "__main__":
    runpy.run_module(f"{os.environ['STUD_TEST_SERVICE']}_service", run_name="__main__")
