"""What happened at a table, in words that a player understands; nothing for what only concerns the machinery.

Only what everybody at the table saw is said. A down card is named where it was shown, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from stud_cli.drawing import money
from stud_core import events as ev
from stud_core.cards import card_name
from stud_core.hand_words import hand_in_words
from stud_core.state import Table

STREETS: Final = {
    3: "third street",
    4: "fourth street",
    5: "fifth street",
    6: "sixth street",
    7: "the river",
}
_BY: Final = {
    ev.By.PLAYER: "",
    ev.By.TIMEOUT: " (time ran out)",
    ev.By.PRE_ACTION: " (as chosen before)",
    ev.By.LEAVING: " (leaving)",
}
_OUT: Final = {
    ev.OutReason.REQUESTED: "as they wished",
    ev.OutReason.MISSED_ACTION: "since their time ran out",
    ev.OutReason.MISSED_BRING_IN: "since their time ran out",
    ev.OutReason.MISSED_ANTE: "since they posted no ante",
    ev.OutReason.NO_CHIPS: "without chips",
}
_CHOSEN: Final = {
    ev.ResolutionChoice.TABLE: "it stands as it was played",
    ev.ResolutionChoice.REFEREE: "the referee's figures hold",
    ev.ResolutionChoice.VOID: "it is void, and everybody has what they had before it",
}


def say(events: Sequence[Any], before: Table, after: Table) -> str:
    """Return what a commit says, in sentences; empty when there is nothing to see."""
    names = _Names(before, after)
    parts = [_antes(events, names), *[_one(event, names) for event in events]]
    return ". ".join([part for part in parts if part])


def waits_for(table: Table) -> str:
    """Whose turn it is, in words; empty when it is nobody's."""
    hand = table.hand
    if hand is None or not hand.turn_seat:
        return ""
    to_call = f", {money(hand.to_call)} to call" if hand.to_call else ""
    return f"{table.at(hand.turn_seat).account} is to act{to_call}"


def cards_of(cards: Iterable[int]) -> str:
    """Cards as people write them: ``Ah 10d``."""
    return " ".join([card_name(card).replace("T", "10") for card in cards])


class _Names(dict[int, str]):
    """Accounts by seat, and by sitting; those of ``before`` too, who may be gone. What lies face up before a seat."""

    def __init__(self, before: Table, after: Table) -> None:
        super().__init__()
        self._by_sitting: dict[int, str] = {}
        for table in (before, after):
            self._by_sitting |= {number: sitting.account for number, sitting in table.sittings.items()}
            self.update({seat: self._by_sitting[number] for seat, number in enumerate(table.seats) if number})
        self._hand = after.hand or after.last_hand

    def __missing__(self, seat: int) -> str:
        return f"seat {seat}"

    def who(self, sitting_no: int) -> str:
        return self._by_sitting.get(sitting_no, f"sitting {sitting_no}")

    def board(self, seat: int) -> tuple[int, ...]:
        """A seat's cards that everybody sees, and the common one."""
        if self._hand is None:
            return ()
        common = () if self._hand.community is None else (self._hand.community,)
        return (*self._hand.up[seat], *common)


def _antes(events: Sequence[Any], names: _Names) -> str:
    posted = [event for event in events if isinstance(event, ev.AntePosted)]
    if not posted:
        return ""
    if len({event.amount for event in posted}) == 1 and len(posted) > 1:
        return f"{_list([names[event.seat] for event in posted])} post an ante of {money(posted[0].amount)} each"
    return ", ".join([f"{names[event.seat]} posts an ante of {money(event.amount)}" for event in posted])


def _one(event: Any, names: _Names) -> str:
    teller = _TELLERS.get(type(event))
    return _PLAIN.get(type(event), "") if teller is None else teller(event, names)


def _started(event: ev.HandStarted, names: _Names) -> str:
    button = f", {names[event.button]} has the button" if event.button else ""
    return f"Hand {event.hand_no} begins with {len(event.dealt_in)} players{button}"


def _dealt(event: ev.CardsDealt, names: _Names) -> str:
    street = STREETS[event.street].capitalize()
    if event.community is not None:
        return f"{street}: too few cards are left, so {cards_of([event.community])} is turned up for everybody"
    ups = ", ".join([f"{names[card.seat]} {cards_of([card.card])}" for card in event.up])
    if event.street == 3:
        return f"{street}: two cards face down each, and face up {ups}"
    if event.street == 7:
        return f"{street}: a last card face down for {_list([names[card.seat] for card in event.down])}"
    return f"{street}: {ups}"


def _acted(event: ev.ActionTaken, names: _Names) -> str:
    done = {
        ev.Verb.FOLD: "folds",
        ev.Verb.CHECK: "checks",
        ev.Verb.CALL: f"calls {money(event.amount)}",
        ev.Verb.BRING_IN: f"brings it in for {money(event.to)}",
        ev.Verb.OPEN: f"opens for {money(event.to)}",
        ev.Verb.COMPLETE: f"completes to {money(event.to)}",
        ev.Verb.BET: f"bets {money(event.to)}",
        ev.Verb.RAISE: f"raises to {money(event.to)}",
    }[event.verb]
    all_in = " and is all-in" if event.all_in else ""
    return f"{names[event.seat]} {done}{all_in}{_BY[event.by]}"


def _shown(event: ev.HandShown, names: _Names) -> str:
    rank = f": {hand_in_words((*event.cards, *names.board(event.seat)))}" if event.rank else ""
    return f"{names[event.seat]} shows {cards_of(event.cards)}{rank}"


def _awarded(event: ev.PotAwarded, names: _Names) -> str:
    pot = "the pot" if event.pot_no == 0 else f"side pot {event.pot_no}"
    shares = _list([f"{names[share.seat]} wins {money(share.amount)}" for share in event.shares])
    rake = f" ({money(event.rake)} rake)" if event.rake else ""
    return f"{shares} from {pot}{rake}"


def _ended(event: ev.HandEnded, _names: _Names) -> str:
    moved = [f"{delta.account} {'+' if delta.delta > 0 else ''}{money(delta.delta)}" for delta in event.deltas]
    return f"Hand {event.hand_no} is over: {', '.join(moved)}"


def _voided(event: ev.HandVoided, _names: _Names) -> str:
    return f"Hand {event.hand_no} is void ({event.reason}): everybody has back what they put in"


def _asked(event: ev.ShowPrompted, names: _Names) -> str:
    return f"{names[event.seat]} is asked whether to show"


def _seated(event: ev.PlayerSeated, names: _Names) -> str:
    return f"{names.who(event.sitting_no)} sits down in seat {event.seat} with {money(event.stack)}"


_TELLERS: Final[Mapping[type, Callable[[Any, _Names], str]]] = {
    ev.PlayerSeated: _seated,
    ev.ChipsAdded: lambda e, names: f"{names.who(e.sitting_no)} has {money(e.amount)} more, {money(e.stack)} now",
    ev.SatOut: lambda e, names: f"{names.who(e.sitting_no)} sits out {_OUT[e.reason]}",
    ev.SatIn: lambda e, names: f"{names.who(e.sitting_no)} is back",
    ev.LeaveRequested: lambda e, names: f"{names.who(e.sitting_no)} leaves",
    ev.PlayerLeft: lambda e, names: f"{names.who(e.sitting_no)} is paid out",
    ev.HandStarted: _started,
    ev.CardsDealt: _dealt,
    ev.ActionTaken: _acted,
    ev.UncalledReturned: lambda e, names: f"{money(e.amount)} that nobody called go back to {names[e.seat]}",
    ev.ShowPrompted: _asked,
    ev.HandShown: _shown,
    ev.HandMucked: lambda e, names: f"{names[e.seat]} does not show",
    ev.PotAwarded: _awarded,
    ev.HandEnded: _ended,
    ev.HandVoided: _voided,
    ev.TableHandVerified: lambda e, _: f"The referee has checked hand {e.hand_no}: it is right",
    ev.TableHandDisputed: lambda e, _: f"The referee disputes hand {e.hand_no}",
    ev.TableHandResolved: lambda e, _: f"Hand {e.hand_no} was looked at: {_CHOSEN[e.choice]}",
}


_PLAIN: Final[Mapping[type, str]] = {
    ev.AntesReturned: "The antes go back: too few players",
    ev.ClockRestarted: "The clock starts afresh, after a fault of ours",
    ev.TablePaused: "The table pauses",
    ev.TableResumed: "The table goes on",
    ev.TableClosing: "The table closes",
    ev.TableClosed: "The table is closed",
}


def _list(words: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
