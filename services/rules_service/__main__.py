"""``python -m rules_service``: run the rules service until it is told to stop."""

from __future__ import annotations

import sys

from rules_service.app import RulesApp
from stud_service.run import run

if __name__ == "__main__":
    sys.exit(run("rules", RulesApp))
