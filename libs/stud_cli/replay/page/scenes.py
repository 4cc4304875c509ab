"""From frames to what a page draws: one scene for each version that there is something to see of.

A scene is complete, so that a page can jump anywhere. It has what a frame has, and a frame has what its viewer was
told: nothing here opens a card, and what is between a player and the house is not in the frames of others.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Final

import msgspec

from stud.common.v1 import seat_pb2
from stud.table.v1 import table_service_pb2 as pb
from stud_cli.drawing import money
from stud_replay.frames import Frame, Said
from stud_replay.hands import HandEntry, Outcome, Verdict
from stud_replay.viewing import Viewer

HIDDEN: Final = -1
"""In place of a card that is not shown."""

EVERYBODY: Final = Viewer(account=" ")
"""Whoever stands beside the table: no account is called so, and so nothing is anybody's own."""

STREETS: Final = {3: "third street", 4: "fourth street", 5: "fifth street", 6: "sixth street", 7: "the river"}
END: Final = "the end"

TOLD: Final = frozenset(
    {
        *{"player_seated", "chips_added", "sat_out", "sat_in", "leave_requested"},
        *{"antes_opened", "ante_posted", "ante_missed", "antes_returned", "hand_started", "cards_dealt"},
        *{"clock_restarted", "action_taken", "uncalled_returned", "show_prompted", "hand_shown", "hand_mucked"},
        *{"pot_awarded", "hand_ended", "hand_voided", "table_hand_verified", "table_hand_disputed"},
        *{"table_hand_resolved", "table_paused", "table_resumed", "table_closing", "table_closed"},
    }
)
"""Events that a player wants to hear of; the others are about the machinery, or about money on its way."""

TURN: Final = "turn_started"

_DID: Final = {
    seat_pb2.VERB_CHECK: "checked",
    seat_pb2.VERB_CALL: "called",
    seat_pb2.VERB_BRING_IN: "brought in",
    seat_pb2.VERB_OPEN: "opened",
    seat_pb2.VERB_COMPLETE: "completed",
    seat_pb2.VERB_BET: "bet",
    seat_pb2.VERB_RAISE: "raised",
}


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """A sentence, and why it was legal or due, with the rules that say so."""

    what: str
    why: str = ""


class Seat(msgspec.Struct, frozen=True, omit_defaults=True):
    """A seat that somebody has. ``cards`` are (card of the core or HIDDEN, whether it was dealt face down)."""

    who: str
    stack: int
    cards: tuple[tuple[int, bool], ...] = ()
    bet: int = 0
    note: str = ""
    out: bool = False


class Scene(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is to be seen at a version. Seats by number; ``turn`` and ``button`` are seats, 0 = nobody; ``next`` says
    whom the table waits for.
    """

    v: int
    at: int
    say: tuple[Line, ...]
    seats: dict[str, Seat]
    street: str = ""
    pot: int = 0
    pots: tuple[int, ...] = ()
    turn: int = 0
    button: int = 0
    common: int | None = None
    stands: str = ""
    next: Line | None = None


class HandScenes(msgspec.Struct):
    """The scenes of a hand, and of what followed until the next; ``how`` is how it ended, in a few words,
    ``sealed`` why the viewer's own cards are not shown (empty: they are, or they had none).
    """

    hand_no: int
    scenes: list[Scene] = msgspec.field(default_factory=list)
    pot: int = 0
    how: str = ""
    sealed: str = ""


async def direct(hand: HandEntry, frames: AsyncIterator[Frame], viewer: Viewer = EVERYBODY) -> HandScenes:
    """Make the scenes of a hand from its frames, and from those up to the next hand."""
    out = HandScenes(hand.hand_no, pot=hand.pot)
    winners: list[str] = []
    async for frame in frames:
        scene = scene_of(frame, viewer)
        if scene is not None:
            out.scenes.append(scene)
        out.sealed = frame.sealed or out.sealed
        for said in frame.said:
            if said.name == "hand_ended":
                winners = [delta.account for delta in said.event.hand_ended.deltas if delta.delta > 0]
    out.how = _how(hand, winners)
    return out


def scene_of(frame: Frame, viewer: Viewer) -> Scene | None:
    """Return what there is to see at a version; None where nobody at the table saw anything happen."""
    lines = tuple([Line(said.what, _why(said)) for said in frame.said if _is_told(said, frame.said)])
    turn = next((Line(said.what, _why(said)) for said in frame.said if said.name == TURN), None)
    view = frame.view
    if not lines and turn is None:
        return None
    if not lines and turn is not None:
        lines, turn = (turn,), None
    over = view.phase == pb.HAND_PHASE_UNSPECIFIED
    ended = {seat.seat: seat for seat in view.last_hand.seats} if over else {}
    seats = {}
    for seat in view.seats:
        if seat.account:
            last = ended.get(seat.seat)
            mine = last is not None and last.sitting_no == seat.sitting_no
            seats[str(seat.seat)] = _after_hand(seat, last, frame, viewer) if last and mine else _in_hand(seat, frame)
    paying = over or view.phase == pb.HAND_PHASE_SHOW_PROMPTS
    common = view.community or (view.last_hand.community if over else 0)
    return Scene(
        v=frame.version,
        at=frame.at_ms,
        say=lines,
        seats=seats,
        street=_street(view, paying=paying),
        pot=view.pot_total,
        pots=tuple([pot.amount for pot in view.pots]),
        turn=view.turn.seat,
        button=view.button,
        common=common - 1 if common else None,
        stands=f"the table stands: {view.paused}" if view.paused else "",
        next=turn,
    )


def _is_told(said: Said, beside: Iterable[Said]) -> bool:
    """Antes that are posted by themselves are told with the question for them."""
    if said.name == "ante_posted":
        return not any(other.name == "antes_opened" for other in beside)
    return said.name in TOLD


def _why(said: Said) -> str:
    return f"{said.why} [{', '.join(said.rules)}]" if said.why and said.rules else said.why


def _street(view: pb.TableView, *, paying: bool) -> str:
    if view.phase == pb.HAND_PHASE_ANTES:
        return "antes"
    if paying:
        return END if view.HasField("last_hand") else ""
    return STREETS.get(view.street, "antes")


# --- seats -----------------------------------------------------------------------------------------------------------


def _in_hand(seat: pb.SeatView, frame: Frame) -> Seat:
    own = frame.mine.down if frame.mine is not None and frame.mine.seat == seat.seat else ()
    return Seat(
        who=seat.account,
        stack=seat.stack,
        cards=_cards(seat.up, seat.down_count, seat.shown or own),
        bet=seat.bet,
        note=_note(seat, frame.view),
        out=seat.dealt_in and not seat.live,
    )


def _after_hand(seat: pb.SeatView, last: pb.LastHandSeat, frame: Frame, viewer: Viewer) -> Seat:
    """A hand that is over stays in sight until the next one begins."""
    own = viewer.down.get(frame.view.last_hand.hand_no, ()) if seat.account == viewer.account else ()
    note = f"wins {money(last.won)}" if last.won else "" if last.live else "folded"
    return Seat(
        who=seat.account,
        stack=seat.stack,
        cards=_cards(last.up, last.down_count, last.shown or [card + 1 for card in own]),
        note=note or _idle(seat),
        out=not last.live,
    )


def _cards(up: Iterable[int], held: int, known: Iterable[int]) -> tuple[tuple[int, bool], ...]:
    """Cards in the order dealt: two down, up to four up, the last down. Those of the wire begin with 1."""
    seen = [card - 1 for card in known][:held]
    down = [(card, True) for card in [*seen, *[HIDDEN] * (held - len(seen))]]
    return (*down[:2], *[(card - 1, False) for card in up], *down[2:])


def _note(seat: pb.SeatView, view: pb.TableView) -> str:
    if not seat.dealt_in:
        return _idle(seat)
    if not seat.live:
        return "folded"
    did = seat.last_action
    acted = _DID.get(did.verb, "") if did.street == view.street and view.turn.seat != seat.seat else ""
    parts = [acted, "all-in" if seat.all_in else "", "shows?" if seat.show_prompted else ""]
    return ", ".join([part for part in parts if part])


def _idle(seat: pb.SeatView) -> str:
    if seat.status == pb.SEAT_STATUS_RESERVED:
        return "reserved"
    if seat.status == pb.SEAT_STATUS_LEAVING:
        return "leaving"
    if seat.ante_prompted:
        return "ante?"
    return "sitting out" if seat.sitting_out else ""


def _how(hand: HandEntry, winners: list[str]) -> str:
    """How a hand ended, in a few words."""
    if hand.outcome is Outcome.RUNNING:
        return "not over"
    if hand.outcome is Outcome.VOIDED or hand.verdict is Verdict.VOID:
        return "void"
    won = f"{', '.join(winners)} won" if winners else "nobody won"
    if hand.verdict is Verdict.DISPUTED:
        return f"{won}, disputed"
    return f"{won}, disputed and resolved" if hand.was_disputed else won
