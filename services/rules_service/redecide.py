"""The first opinion: the rules engine decides every recorded commit of a hand again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from rules_service.causes import OpenCards, commands_for
from rules_service.findings import Code
from stud_core import commands as cmd
from stud_core import conservation
from stud_core import events as ev
from stud_core.commands import Context
from stud_core.decide import step
from stud_core.evolve import evolve
from stud_core.rejection import Reason, Rejection
from stud_core.state import Table
from stud_wire.commits import Meta


class Recorded(msgspec.Struct, frozen=True, gc=False):
    """A commit of a table's or a deck's log as it was read, with the head hash after it."""

    version: int
    hash: bytes
    events: tuple[Any, ...]
    meta: Meta


def redecide(state: Table, commits: Sequence[Recorded], open_cards: OpenCards) -> tuple[Table, tuple[Code, int] | None]:
    """Return the table after the commits, and the first one the engine would not have made, with its version."""
    for commit in commits:
        after = _again(state, commit, open_cards)
        if not isinstance(after, Table):
            return state, (after, commit.version)
        state = after
    if commits and conservation.check(state) is not None:
        return state, (Code.NOT_CONSERVED, commits[-1].version)
    return state, None


def _again(state: Table, commit: Recorded, open_cards: OpenCards) -> Table | Code:
    """Decide a commit again: the table after it, or what is wrong with it."""
    if not commit.events:  # only facts that this build may skip
        return evolve(state, (), commit.version)
    blame: Code = Code.NOT_DECIDED
    recorded = list(commit.events)
    # A hand that begins here was begun by the engine it names; one that runs has its own in its state.
    engines = [event.engine for event in recorded if isinstance(event, ev.AntesOpened)]
    engine = (engines or [ev.ENGINE])[0] or ev.Engine.FIRST
    ctx = Context(commit.meta.at_ms, commit.version, commit.meta.build, engine)
    for command in commands_for(state, commit.events, commit.meta, open_cards):
        decided = step(state, command, ctx)
        if isinstance(decided, Rejection):
            blame = _refused(state, commit, decided)
            continue
        events, after = decided
        if after.wants_showdown and after.hand is not None:
            # The showdown rides along in the same commit, as at the table (architecture.md, "The core").
            hand = after.hand
            cards = {seat: open_cards(after, seat) for seat in hand.order if hand.live[seat]}
            shown = step(after, cmd.Showdown(cards), ctx)
            if not isinstance(shown, Rejection):
                events, after = [*events, *shown[0]], shown[1]
        if events == recorded:
            return after
        blame = _difference(events, recorded)
    return blame


def _refused(state: Table, commit: Recorded, rejection: Rejection) -> Code:
    """Name what was refused. A player's action is judged by who made it first, then by what it was."""
    event = commit.events[0]
    hand = state.hand
    if isinstance(event, ev.ActionTaken) and hand is not None and event.seat == hand.turn_seat:
        number = state.seats[event.seat]
        if event.by is ev.By.PLAYER and state.sittings[number].account != commit.meta.actor:
            return Code.WRONG_ACTOR
    return _REFUSED.get(rejection.reason, Code.NOT_DECIDED)


def _difference(decided: Sequence[ev.Event], recorded: Sequence[Any]) -> Code:
    """Name the first difference between what the engine decides and what was recorded."""
    pairs = zip([*decided, None], [*recorded, None], strict=False)
    mine, theirs = next((a, b) for a, b in pairs if a != b)
    if type(mine) is type(theirs):
        for field, code in _FIELDS.get(type(mine), ()):
            if getattr(mine, field) != getattr(theirs, field):
                return code
    if isinstance(theirs, ev.ActionTaken | ev.AnteMissed) and not decided:
        return Code.EARLY_TIMEOUT
    if isinstance(theirs, ev.HandMucked) and not decided:
        return Code.EARLY_TIMEOUT
    return _KINDS.get(type(theirs)) or _KINDS.get(type(mine)) or Code.NOT_DECIDED


_REFUSED: Final[dict[str, Code]] = {
    Reason.ILLEGAL_ACTION: Code.ILLEGAL_ACTION,
    Reason.NOT_YOUR_TURN: Code.WRONG_ORDER,
    Reason.STALE_TURN: Code.WRONG_ORDER,
    Reason.NO_HAND: Code.WRONG_ORDER,
    Reason.NO_PROMPT: Code.WRONG_ORDER,
    Reason.STALE_PROMPT: Code.WRONG_ORDER,
    Reason.HAND_NOT_STARTABLE: Code.WRONG_ORDER,
    Reason.HAND_ALREADY_ENDED: Code.WRONG_ORDER,
    Reason.DEADLINE_PASSED: Code.LATE_ACTION,
    Reason.UNEXPECTED_CARDS: Code.WRONG_CARD,
    Reason.CLAIM_MISMATCH: Code.WRONG_STACK,
}

_FIELDS: dict[type, tuple[tuple[str, Code], ...]] = {
    ev.PotAwarded: (
        ("pot_no", Code.WRONG_POT),
        ("amount", Code.WRONG_POT),
        ("rake", Code.WRONG_RAKE),
        ("shares", Code.WRONG_AWARD),
    ),
    ev.HandEnded: (
        ("rake", Code.WRONG_RAKE),
        ("stacks", Code.WRONG_STACK),
        ("deltas", Code.WRONG_DELTA),
        ("from_version", Code.WRONG_RANGE),
    ),
    ev.ActionTaken: (("stack", Code.WRONG_STACK), ("turn_id", Code.WRONG_ORDER)),
    ev.TurnStarted: (("seat", Code.WRONG_ORDER),),
    ev.DealRequested: (("burn", Code.WRONG_BURN),),
    ev.AntePosted: (("amount", Code.WRONG_ANTE), ("stack", Code.WRONG_STACK)),
    ev.HandShown: (("cards", Code.WRONG_CARD),),
}

_KINDS: dict[type, Code] = {
    ev.ChipsAdded: Code.WRONG_STACK,
    ev.AntesOpened: Code.WRONG_START,
    ev.AntePosted: Code.WRONG_ANTE,
    ev.AntesReturned: Code.WRONG_REFUND,
    ev.HandStarted: Code.WRONG_START,
    ev.DealRequested: Code.WRONG_DEAL,
    ev.CardsDealt: Code.WRONG_CARD,
    ev.TurnStarted: Code.WRONG_OPTIONS,
    ev.ActionTaken: Code.ILLEGAL_ACTION,
    ev.UncalledReturned: Code.WRONG_UNCALLED,
    ev.ShowPrompted: Code.WRONG_SHOW,
    ev.HandShown: Code.WRONG_SHOW,
    ev.HandMucked: Code.WRONG_SHOW,
    ev.PotAwarded: Code.WRONG_AWARD,
    ev.HandEnded: Code.WRONG_DELTA,
    ev.HandVoided: Code.WRONG_REFUND,
}
