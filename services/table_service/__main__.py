"""``python -m table_service``: run the table service until it is told to stop."""

from __future__ import annotations

import sys

from stud_service.run import run
from table_service.app import TableApp

if __name__ == "__main__":
    sys.exit(run("table", TableApp))
