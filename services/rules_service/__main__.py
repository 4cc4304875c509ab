"""``python -m rules_service``: run the rules service until it is told to stop."""

from __future__ import annotations

import sys

from stud_service.garbage import nothing_collected

if __name__ == "__main__":
    with nothing_collected():
        from rules_service.app import RulesApp
        from stud_service.run import run

    sys.exit(run("rules", RulesApp))
