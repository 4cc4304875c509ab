"""A service that fails at the worst moment, with cards at hand: `python -m tests.support.system_leaky`.

STUD_TEST_SERVICE says which one. Where it deals with clear cards it raises an exception that quotes some, from a
function with some in its locals. Nothing of that may come out.
"""

import os
import sys
from typing import Any

import dealer_service.listening
import rules_service.referee
import table_service.vault
from dealer_service.app import DealerApp
from rules_service.app import RulesApp
from stud_service.run import run
from table_service.app import TableApp

SERVICE = os.environ.get("STUD_TEST_SERVICE", "")
QUOTED = "Qs Jh"
LOCAL = "canary-in-a-local"
TEXT = "canary-in-a-text"

APPS: dict[str, Any] = {"table": TableApp, "dealer": DealerApp, "rules": RulesApp}


def leak(*_: Any, **__: Any) -> Any:
    down_cards = [LOCAL, 50, 37]
    raise ValueError(f"{TEXT}: the down cards are {QUOTED} and {down_cards[1]}, {down_cards[2]}")


PLACES: dict[str, tuple[Any, str]] = {
    "table": (table_service.vault, "open_down"),
    "dealer": (dealer_service.listening, "decide_deal"),
    "rules": (rules_service.referee, "judge"),
}

if __name__ == "__main__":
    setattr(*PLACES[SERVICE], leak)
    sys.exit(run(SERVICE, APPS[SERVICE]))
