"""``python -m table_service``: run the table service until it is told to stop."""

from __future__ import annotations

import sys

from stud_service.garbage import nothing_collected

if __name__ == "__main__":
    with nothing_collected():
        from stud_service.run import run
        from table_service.app import TableApp

    sys.exit(run("table", TableApp))
