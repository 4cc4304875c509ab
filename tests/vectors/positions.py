"""Positions that several vectors start from, and the marks that say which ruleset a row is about.

Cards never make a pair on fourth street unless a name says so, so that the open-pair option is there only where
it is wanted.
"""

from __future__ import annotations

from typing import Any

import pytest

from stud_core.presets import PLAYNOW, WILLIAM_HILL
from stud_core.ruleset import Ruleset
from tests.support.table_driver import TableDriver, deal

both = pytest.mark.parametrize("rules", [PLAYNOW, WILLIAM_HILL], ids=["playnow", "william_hill"])
playnow = pytest.mark.parametrize("rules", [PLAYNOW], ids=["playnow"])
william_hill = pytest.mark.parametrize("rules", [WILLIAM_HILL], ids=["william_hill"])

ANTE = 50

# S1 has the highest board on every street, S3 (or S2 of two) the low door; nobody pairs.
LEADER = {1: "Ac Kd Jh 9s", 2: "Qc Td 8h 6s", 3: "2c 7d 5h 3s", 4: "4d Ts 8c 6h"}

# S1 shows nines on fourth street and keeps the lead; S2 has the low door.
PAIR = {1: "9c 9d Ah Kh", 2: "3h Kd 7c 4s", 3: "4s Jh 8d 6c"}

# Rank 1 of 7462, three times over: whoever is given one cannot be beaten, two of them tie.
ROYAL_UP = {"s": "As Ks Qs Js", "h": "Ah Kh Qh Jh", "d": "Ad Kd Qd Jd"}
ROYAL_DOWN = {"s": "Ts 2c 3c", "h": "Th 2d 3d", "d": "Td 4c 5c"}


def bring_in(rules: Ruleset) -> int:
    """Bring-in at 5/10: 200 posted by the table (P), half the lower limit (W)."""
    return 200 if rules is PLAYNOW else 250


def stack_with(rules: Ruleset, behind: int) -> int:
    """The starting stack that leaves ``behind`` after the ante and a called bring-in."""
    return ANTE + bring_in(rules) + behind


def fourth_street(
    rules: Ruleset, up: dict[int, str] | None = None, behind: dict[int, int] | None = None
) -> TableDriver:
    """Everybody called the bring-in, fourth street is dealt; S1 shows a pair unless ``up`` says otherwise."""
    return _on_street(rules, 4, up or PAIR, behind or {})


def fifth_street(
    rules: Ruleset,
    players: int = 3,
    *,
    behind: dict[int, int] | None = None,
    street: int = 5,
    up: dict[int, str] | None = None,
    down: dict[int, str] | None = None,
) -> TableDriver:
    """Bring-in called, fourth street (or all before ``street``) checked; S1 is first, then S2, S3, S4.

    ``behind`` are the chips a seat has left at this moment (9700 or so unless said).
    """
    boards = {seat: cards for seat, cards in (up or LEADER).items() if seat <= players}
    return _on_street(rules, street, boards, behind or {}, down=down)


def _on_street(rules: Ruleset, street: int, up: dict[int, str], behind: dict[int, int], **options: Any) -> TableDriver:
    stacks = {seat: stack_with(rules, chips) for seat, chips in behind.items()}
    table = deal(rules, up=up, stacks=stacks, bring_in=bring_in(rules), **options)
    table.passively_to(street)
    assert table.hand.street == street
    return table
