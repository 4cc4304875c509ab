"""``python -m dealer_service``: run the dealer until it is told to stop."""

from __future__ import annotations

import sys

from stud_service.garbage import nothing_collected

if __name__ == "__main__":
    with nothing_collected():
        from dealer_service.app import DealerApp
        from stud_service.run import run

    sys.exit(run("dealer", DealerApp))
