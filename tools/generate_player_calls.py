"""Writes which calls a player may make, from the comments of the contract: `--check` only compares.

That each call says who may make it, tests/arch/test_calls.py sees to; that the services mean the same, a test of the
edge, which is what needs the list.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from tools.pages import ROOT, write_or_check

TARGET = ROOT / "services/edge_service/player_calls.py"
PLAYERS = re.compile(r"\bAny role\b|\bPlayers\b|\bplayers (?:open )?their own\b")
CALL = re.compile(r"((?:  //.*\n)*)  rpc (\w+)\(")
PACKAGE = re.compile(r"^package ([\w.]+);\n(?s:.*?)^service (\w+) \{", re.MULTILINE)
HEAD = '''"""Calls that a player may make, by the comments of the contract. Made by `make proto`: do not edit."""

from __future__ import annotations

from typing import Final

PLAYER_CALLS: Final = frozenset(
    {
'''


def calls() -> Iterator[str]:
    """Yield their paths."""
    for path in sorted((ROOT / "protos").rglob("*_service.proto")):
        text = path.read_text()
        service = PACKAGE.search(text)
        if service is None:
            raise ValueError(f"{path.name}: has no package and service")
        for comment, name in CALL.findall(text):
            if PLAYERS.search(re.sub(r"\n\s*//", "", comment)):
                yield f"/{service[1]}.{service[2]}/{name}"


def module() -> str:
    """Return the module as it should be now."""
    return HEAD + "".join([f'        "{path}",\n' for path in calls()]) + "    }\n)\n"


if __name__ == "__main__":
    sys.exit(write_or_check(TARGET, module))
