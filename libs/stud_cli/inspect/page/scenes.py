"""From a table's history to what a page draws: one scene for each commit that there is something to see of.

A scene is complete, so that a page can jump anywhere. Down cards are the table's boxes to this module: it names one
only where the log shows it to everybody, or where it was handed in (``Opened``) by who may open it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from stud_cli.drawing import money
from stud_cli.inspect.page.saying import STREETS, say, waits_for
from stud_cli.inspect.table_history import Step
from stud_core import events as ev
from stud_core.pots import build_pots
from stud_core.state import Hand, Phase, Sit, Sitting, Table

HIDDEN: Final = -1
"""In place of a card that is not shown."""

Opened = Mapping[tuple[int, int], Sequence[int]]
"""Down cards that may be drawn, by (hand, seat), in the order dealt."""

_AT_A_SEAT: Final = (Sit.RESERVED, Sit.SEATED, Sit.LEAVING)


class Seat(msgspec.Struct, frozen=True, omit_defaults=True):
    """A seat that somebody has. ``cards`` are (card or HIDDEN, whether it was dealt face down)."""

    who: str
    stack: int
    cards: tuple[tuple[int, bool], ...] = ()
    bet: int = 0
    note: str = ""
    out: bool = False


class Scene(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is to be seen after a commit. Seats by number; ``turn`` and ``button`` are seats, 0 = nobody; ``next`` says
    whom the table waits for.
    """

    v: int
    at: int
    say: str
    seats: dict[str, Seat]
    street: str = ""
    pot: int = 0
    pots: tuple[int, ...] = ()
    turn: int = 0
    button: int = 0
    common: int | None = None
    stands: str = ""
    next: str = ""


class HandScenes(msgspec.Struct):
    """The scenes of a hand, and of what followed until the next. ``pot`` is what was awarded."""

    hand_no: int
    scenes: list[Scene] = msgspec.field(default_factory=list)
    pot: int = 0
    how: str = ""


class Director:
    """Makes scenes of a table's steps, in order, for hands of a range (None: all)."""

    def __init__(self, hands: tuple[int, int] | None = None, opened: Opened | None = None) -> None:
        self.hands: list[HandScenes] = []
        self._range = hands
        self._opened = opened or {}
        self._before = Table()

    @property
    def is_over(self) -> bool:
        """Whether nothing that comes is asked for any more."""
        return self._range is not None and self._before.hand_no > self._range[1]

    @property
    def last_hand(self) -> int:
        """The last hand that was begun, 0 = none."""
        return self._before.hand_no

    def take(self, step: Step) -> None:
        """Take in one commit."""
        events, table, before = step.commit.events, step.table, self._before
        self._before = table
        number = max(table.hand_no if table.hand is None else table.hand.hand_no, 1)
        if self._range is not None and not self._range[0] <= number <= self._range[1]:
            return
        said = say(events, before, table)
        if not said:
            return
        if not self.hands or self.hands[-1].hand_no != number:
            self.hands.append(HandScenes(number))
        of_hand = self.hands[-1]
        of_hand.scenes.append(self._scene(step, said))
        _note_end(of_hand, events)

    def _scene(self, step: Step, said: str) -> Scene:
        """A hand that is over stays in sight until the next one begins."""
        table = step.table
        hand = table.hand or table.last_hand
        seats = {
            str(sitting.seat): self._seat(sitting, table, hand)
            for sitting in table.sittings.values()
            if sitting.status in _AT_A_SEAT
        }
        stands = f"the table stands: {table.stands_for}" if table.stands_for else ""
        if hand is None:
            return Scene(step.stored.version, step.commit.meta.at_ms, said, seats, button=table.button, stands=stands)
        running = table.hand is not None and not hand.awarded
        return Scene(
            step.stored.version,
            step.commit.meta.at_ms,
            said,
            seats,
            street=_street(hand) if running else "the end",
            pot=sum(hand.paid) - hand.awarded if table.hand is not None else 0,
            pots=_pots(hand) if running else (),
            turn=hand.turn_seat if running else 0,
            next=waits_for(table) if running else "",
            button=table.button,
            common=hand.community,
            stands=stands,
        )

    def _seat(self, sitting: Sitting, table: Table, hand: Hand | None) -> Seat:
        number = sitting.seat
        dealt_in = hand is not None and number in hand.order and sitting.last_hand == hand.hand_no
        if hand is None or not dealt_in:
            return Seat(sitting.account, sitting.stack, note=_idle(sitting, hand))
        known = hand.shown[number] or tuple(self._opened.get((hand.hand_no, number), ()))
        held = len(hand.down[number])
        down = [(known[at] if at < len(known) else HIDDEN, True) for at in range(held)]
        up = [(card, False) for card in hand.up[number]]
        over = hand is not table.hand or bool(hand.awarded)
        return Seat(
            who=sitting.account,
            stack=sitting.stack,
            cards=(*down[:2], *up, *down[2:]),
            bet=0 if over else hand.bet[number],
            note=_note(sitting, hand),
            out=not hand.live[number],
        )


def _pots(hand: Hand) -> tuple[int, ...]:
    """Pots of the streets before: what is bet on this one lies before its players."""
    behind = [paid - bet for paid, bet in zip(hand.paid, hand.bet, strict=True)]
    return tuple([pot.amount for pot in build_pots(behind, hand.live)])


def _street(hand: Hand) -> str:
    return "antes" if hand.phase is Phase.ANTES else STREETS.get(hand.street, "antes")


def _idle(sitting: Sitting, hand: Hand | None) -> str:
    if sitting.status is Sit.RESERVED:
        return "reserved"
    if sitting.status is Sit.LEAVING:
        return "leaving"
    if sitting.sitting_out:
        return "sitting out"
    return "" if hand is None or hand.phase is Phase.ANTES else "waits for the next hand"


def _note(sitting: Sitting, hand: Hand) -> str:
    number = sitting.seat
    won = sum([share.amount for pot in hand.paid_pots for share in pot.shares if share.seat == number])
    if won:
        return f"wins {money(won)}"
    if not hand.live[number]:
        return "folded"
    if hand.all_in[number]:
        return "all-in"
    return "leaving" if sitting.status is Sit.LEAVING else ""


def _note_end(of_hand: HandScenes, events: Sequence[Any]) -> None:
    """Keep what the list of hands says of it."""
    for event in events:
        if isinstance(event, ev.PotAwarded):
            of_hand.pot += event.amount
        elif isinstance(event, ev.HandEnded):
            won = [delta.account for delta in event.deltas if delta.delta > 0]
            of_hand.how = f"{', '.join(won)} won" if won else "nobody won"
        elif isinstance(event, ev.HandVoided):
            of_hand.how = "void"
        elif isinstance(event, ev.TableHandDisputed):
            of_hand.how = "disputed"
        elif isinstance(event, ev.TableHandResolved):
            of_hand.how = f"disputed, then resolved ({event.choice.name.lower()})"
