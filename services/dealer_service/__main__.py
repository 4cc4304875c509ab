"""``python -m dealer_service``: run the dealer until it is told to stop."""

from __future__ import annotations

import sys

from dealer_service.app import DealerApp
from stud_service.run import run

if __name__ == "__main__":
    sys.exit(run("dealer", DealerApp))
