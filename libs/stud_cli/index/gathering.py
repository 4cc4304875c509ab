"""From a table's events to what an index keeps of its hands. Pure: events in, rows out.

Only what every observer of a table has seen: who was dealt in, what the pot was, who won what. Cards are not kept at
all, so none can leak. Whoever continues in the middle of a log needs `Notes`, which are small and kept beside the
cursor.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

import msgspec

from stud_core import events as ev

KINDS: Final = frozenset(
    {
        ev.TableOpened,
        ev.HandStarted,
        ev.HandShown,
        ev.PotAwarded,
        ev.HandEnded,
        ev.HandVoided,
        ev.TableHandVerified,
        ev.TableHandDisputed,
        ev.TableHandResolved,
    }
)
"""Events that say something about a hand as a whole; the others need not be decoded."""


class State(IntEnum):
    """What has become of a hand that is over. The numbers are stored."""

    WAITING = 0
    VERIFIED = 1
    DISPUTED = 2
    TABLE = 3
    REFEREE = 4
    VOID = 5

    @property
    def word(self) -> str:
        """For people and scripts."""
        return _WORDS[self]


_WORDS: Final = {
    State.WAITING: "waiting",
    State.VERIFIED: "verified",
    State.DISPUTED: "disputed",
    State.TABLE: "resolved_table",
    State.REFEREE: "resolved_referee",
    State.VOID: "resolved_void",
}
_CHOICES: Final = {
    ev.ResolutionChoice.TABLE: State.TABLE,
    ev.ResolutionChoice.REFEREE: State.REFEREE,
    ev.ResolutionChoice.VOID: State.VOID,
}


class Player(msgspec.Struct, frozen=True):
    """Somebody who was dealt in; ``delta`` in minor units, as the hand stands now."""

    seat: int
    sitting_no: int
    account: str
    delta: int = 0


class FoundHand(msgspec.Struct, frozen=True):
    """A hand that is over: ``pot`` is what was awarded, rake included (what was given back, where it was voided)."""

    hand_no: int
    from_version: int
    version: int
    started_ms: int
    ended_ms: int
    pot: int
    rake: int
    showdown: bool
    voided: bool
    players: tuple[Player, ...]


class Decision(msgspec.Struct, frozen=True):
    """What was said of a hand afterwards; ``deltas`` by sitting and ``rake`` where others than the table's hold."""

    hand_no: int
    state: State
    deltas: dict[int, int] | None = None
    rake: int = 0


class Opened(msgspec.Struct, frozen=True):
    """What a table is called and plays."""

    name: str
    ruleset: str
    currency: str
    small_bet: int
    big_bet: int


class Notes(msgspec.Struct):
    """What must be known of a table to go on in the middle of its log: of the hand that runs, and of the last one.

    ``ended`` has (delta, stack) by sitting, as the last hand's end told it.
    """

    started_ms: int = 0
    players: tuple[Player, ...] = ()
    pot: int = 0
    showdown: bool = False
    ended: dict[int, tuple[int, int]] = msgspec.field(default_factory=dict)


class Gathered(msgspec.Struct):
    """What some commits of a table say, in order."""

    opened: Opened | None = None
    hands: list[FoundHand] = msgspec.field(default_factory=list)
    decisions: list[Decision] = msgspec.field(default_factory=list)


def gather(notes: Notes, events: tuple[Any, ...], version: int, at_ms: int, into: Gathered) -> None:
    """Take in one commit; changes ``notes`` and ``into``."""
    for event in events:
        match event:
            case ev.HandStarted():
                players = tuple([Player(who.seat, who.sitting_no, who.account) for who in event.dealt_in])
                notes.started_ms, notes.players, notes.pot, notes.showdown = at_ms, players, 0, False
            case ev.HandShown():
                notes.showdown |= event.rank > 0  # whoever wins uncalled and shows is not ranked
            case ev.PotAwarded():
                notes.pot += event.amount
            case ev.HandEnded():
                into.hands.append(_ended(notes, event, version, at_ms))
            case ev.HandVoided():
                into.hands.append(_voided(notes, event, version, at_ms))
            case ev.TableOpened():
                config = event.config
                into.opened = Opened(
                    config.name, config.ruleset.name, config.currency, config.small_bet, config.big_bet
                )
            case ev.TableHandVerified():
                into.decisions.append(Decision(event.hand_no, State.VERIFIED))
            case ev.TableHandDisputed():
                into.decisions.append(Decision(event.hand_no, State.DISPUTED))
            case ev.TableHandResolved():
                into.decisions.append(_resolved(notes, event))
            case _:
                pass


def _ended(notes: Notes, event: ev.HandEnded, version: int, at_ms: int) -> FoundHand:
    deltas = {delta.sitting_no: delta.delta for delta in event.deltas}
    notes.ended = {entry.sitting_no: (deltas.get(entry.sitting_no, 0), entry.stack) for entry in event.stacks}
    players = tuple([msgspec.structs.replace(who, delta=deltas.get(who.sitting_no, 0)) for who in notes.players])
    return FoundHand(
        hand_no=event.hand_no,
        from_version=event.from_version,
        version=version,
        started_ms=notes.started_ms,
        ended_ms=at_ms,
        pot=notes.pot,
        rake=event.rake,
        showdown=notes.showdown,
        voided=False,
        players=players,
    )


def _voided(notes: Notes, event: ev.HandVoided, version: int, at_ms: int) -> FoundHand:
    notes.ended = {}
    return FoundHand(
        hand_no=event.hand_no,
        from_version=event.from_version,
        version=version,
        started_ms=notes.started_ms,
        ended_ms=at_ms,
        pot=sum([refund.amount for refund in event.refunds]),
        rake=0,
        showdown=False,
        voided=True,
        players=notes.players,
    )


def _resolved(notes: Notes, event: ev.TableHandResolved) -> Decision:
    """Two operators decided: with other figures than the table's, everybody's delta is another."""
    state = _CHOICES[event.choice]
    if state is State.TABLE:
        return Decision(event.hand_no, state)
    if state is State.VOID:
        return Decision(event.hand_no, state, dict.fromkeys(notes.ended, 0))
    stacks = {entry.sitting_no: entry.stack for entry in event.stacks}
    deltas = {number: delta + stacks.get(number, stack) - stack for number, (delta, stack) in notes.ended.items()}
    return Decision(event.hand_no, state, deltas, -sum(deltas.values()))
