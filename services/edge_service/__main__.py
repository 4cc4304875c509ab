"""``python -m edge_service``: run the edge until it is told to stop."""

from __future__ import annotations

import sys

from stud_service.garbage import nothing_collected

if __name__ == "__main__":
    with nothing_collected():
        from edge_service.process import run

    sys.exit(run())
