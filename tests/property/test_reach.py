"""What the machine's moves lead to: a check of everything is worth nothing at tables where nothing happens.

Seeded, so that reaching a rare moment does not depend on luck.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum
from random import Random
from typing import Any, get_args

from stud_core import commands as cmd
from stud_core import events as ev
from stud_core.presets import PLAYNOW, WILLIAM_HILL, table_config
from stud_core.ruleset import Ruleset
from stud_core.state import Life
from tests.property.illegal import illegal_commands
from tests.property.moves import Moves
from tests.property.strategies import one_chip_up
from tests.property.waits import Awaited
from tests.support.core_table import knobs
from tests.support.deep import not_quick

CALL = 3
OFF_IN_BOTH: Any = {"seats": 2, "waiting_list": 8, "offer_ms": 20_000, "time_bank_ms": 15_000, "time_bank_chips": 2}
"""What neither preset has: a seat that is worth waiting for, and more time."""


class Table(Moves):
    def try_every_action(self) -> None:
        """Left to the machine: here it matters where play leads."""


def play_at_random(ruleset: Ruleset, seed: int, seen: Counter[str]) -> None:
    rng = Random(seed)
    calm = seed % 8 < 2  # nobody folds: only then the deck runs short
    table = Table(table_config(one_chip_up(ruleset), currency="XTS"), seed)
    for _ in range(8):
        table.join(rng.choice([3, 6, 10, 10]), rng.randrange(9))
    for _ in range(90):
        seen[name(table.awaited)] += 1
        chance = rng.random()
        if chance < 0.02 and table.state.waiting:
            table.offer(cmd.LeaveWaitingList(rng.choice(table.state.waiting).account))
        elif chance < 0.06:
            table.disturb(rng.randrange(256), rng.randrange(256))
        elif chance < 0.09:
            table.time_out(rng.choice([0, 1]))
        elif chance < 0.11:
            table.join(rng.randrange(256), rng.randrange(9), funded=False)
        elif chance < 0.14:
            table.answer_wallet(rng.randrange(256))
        else:
            table.move(CALL if calm else rng.randrange(256) | (rng.random() < 0.5))
    while table.awaited is not Awaited.NOTHING:
        seen[name(table.awaited)] += 1
        if table.state.hand is None and table.state.life is Life.OPEN:
            table.disturb(9, 0)
        table.move(CALL if table.state.hand else rng.randrange(256))
    seen[name(table.awaited)] += 1
    has_cards = False
    for _, events in table.log:
        for event, after in zip(events, (*events[1:], None), strict=True):
            seen.update(notable(event))
            has_cards = not isinstance(event, ev.HandStarted) and (has_cards or isinstance(event, ev.CardsDealt))
            seen["voided without a card"] += isinstance(event, ev.HandVoided) and not has_cards
            if isinstance(event, ev.PreferencesSet):
                seen[f"preference, then {type(after).__name__}"] += 1
    for command in illegal_commands(table):
        table.reject(command)


def name(member: Enum) -> str:
    """Members of different enums are equal where their numbers are."""
    return f"{type(member).__name__}.{member.name}"


def notable(event: Any) -> list[str]:
    """The event's kind, the members of enums in it, and what makes a pot interesting."""
    fields = [getattr(event, field) for field in event.__struct_fields__]
    found = [type(event).__name__, *[name(value) for value in fields if isinstance(value, Enum)]]
    if isinstance(event, ev.PotAwarded):
        found += ["side pot"] if event.pot_no else []
        found += ["odd units"] if len({share.amount for share in event.shares}) > 1 else []
    if isinstance(event, ev.ActionTaken) and event.verb >= ev.Verb.OPEN and not event.counts:
        found.append("short all-in")
    return found


@not_quick("it takes many hands to reach it all")
def test_everything_that_can_happen_at_a_table_happens():
    seen: Counter[str] = Counter()
    for seed in range(70):
        play_at_random((PLAYNOW, WILLIAM_HILL)[seed % 2], seed, seen)
    for seed in range(70, 120):
        play_at_random(knobs(WILLIAM_HILL, **OFF_IN_BOTH), seed, seen)
    enums = (Awaited, ev.Verb, ev.Size, ev.By, ev.DealMode, ev.PromptKind, ev.ResolutionChoice, ev.OutReason)
    wanted = [kind.__name__ for kind in get_args(ev.Event)] + [name(member) for kind in enums for member in kind]
    wanted += ["side pot", "odd units", "short all-in", "voided without a card"]
    wanted += [f"preference, then {answer}" for answer in ("NoneType", "AntePosted", "HandMucked")]
    assert [what for what in wanted if not seen[what]] == []
