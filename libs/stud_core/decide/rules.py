"""Names of rules for refusals: the house page a table plays by decides which statement is cited."""

from __future__ import annotations

from stud_core.presets import WILLIAM_HILL
from stud_core.ruleset import Ruleset


def cite(ruleset: Ruleset, playnow: str, william_hill: str) -> str:
    """The statement of the page this ruleset descends from (PlayNow, unless it says William Hill)."""
    return william_hill if ruleset.name == WILLIAM_HILL.name else playnow
