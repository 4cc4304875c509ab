"""A fault in the core, which sitting out brings about.

`python -m tests.support.system_faulty` is a table service with it, `pytest -p tests.support.system_faulty` a test run.
"""

import sys
from typing import Any

from stud_core import commands, decide

TEXT = "the fault that was planted"


def sit_out(*_: Any) -> Any:
    raise ZeroDivisionError(TEXT)


def plant() -> None:
    decide._HANDLERS[commands.SitOut] = sit_out


def pytest_configure() -> None:
    plant()


if __name__ == "__main__":
    from stud_service.run import run
    from table_service.app import TableApp

    plant()
    sys.exit(run("table", TableApp))
