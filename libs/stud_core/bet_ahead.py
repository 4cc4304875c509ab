"""Bet-ahead: what a player wants done when their turn comes (W28; B.16).

No event and no part of the table. The shell keeps the choice in memory where nobody else can see it, asks after every
commit whether it ``holds``, and sends its ``action`` as the player's own at the instant the turn comes. It moves no
money before that, and is then judged like any other action.
"""

from __future__ import annotations

from typing import Final

import msgspec

from stud_core.betting import chosen_of, legal_options, wager_verb
from stud_core.commands import Act
from stud_core.decide.rules import cite
from stud_core.events import Option, Size, Verb
from stud_core.rejection import Reason, Rejection
from stud_core.ruleset import Ruleset
from stud_core.state import Hand, Phase, Sit, Sitting, Table
from stud_core.wording import phrase, request

BUTTONS: Final = (Verb.FOLD, Verb.CALL, Verb.BET, Verb.RAISE)
"""What W28 shows to a player whose turn it is not. Raise stands for completing too, Fold checks where that is free.
Check, and Call at any price, are no buttons of that page: a knob adds them.
"""


class PreAction(msgspec.Struct, frozen=True, gc=False):
    """A choice, for this street of this hand at this price: ``level`` is the highest bet when it was made.

    A call at ``any_price`` is for whatever there is to call when the turn comes, nothing too: then it checks.
    """

    hand_no: int
    street: int
    level: int
    verb: Verb
    size: Size | None = None
    any_price: bool = False

    @property
    def outlives_connection(self) -> bool:
        """Whether it stands when the player's connection is lost: only Fold does."""
        return self.verb is Verb.FOLD


def choose(
    state: Table, account: str, verb: Verb, size: Size | None = None, *, any_price: bool = False
) -> PreAction | Rejection:
    """Return the choice, or why it cannot be made; what it stands for would be legal if it were the player's turn."""
    sitting = state.of(account)
    if sitting is None:
        return Rejection(Reason.NOT_SEATED, "the account does not sit at this table")
    refusal = _cannot_choose(state, sitting)
    if refusal:
        return Rejection(Reason.PRE_ACTION_NOT_ALLOWED, refusal, "B.16")
    hand = state.running
    button = Verb.RAISE if verb is Verb.COMPLETE else verb
    chosen = PreAction(hand.hand_no, hand.street, hand.level, button, size, any_price)
    if not _is_button(state.rules.ruleset, chosen) or _option(state, hand, sitting.seat, chosen) is None:
        possible = choices(state, account)
        rule = cite(state.rules.ruleset, "B.16", "W28")
        asked = request(verb, None, size) + (" at any price" if any_price else "")
        text = f"{asked} cannot be chosen ahead now ({rule}); possible: "
        text += ", ".join([phrase(option, possible) for option in possible])
        return Rejection(Reason.ILLEGAL_ACTION, text, rule, possible)
    return chosen


def choices(state: Table, account: str) -> tuple[Option, ...]:
    """What the player may choose now, with the amounts of this moment; nothing on their turn."""
    sitting = state.of(account)
    if sitting is None or _cannot_choose(state, sitting):
        return ()
    shown = (*buttons(state.rules.ruleset), Verb.COMPLETE)
    return tuple([option for option in legal_options(state, sitting.seat) if option.verb in shown])


def holds(state: Table, account: str, chosen: PreAction) -> bool:
    """Whether the choice still stands: same street, same price (Fold and Call Any at any), and still possible."""
    return _meant(state, account, chosen) is not None


def action(state: Table, account: str, chosen: PreAction) -> Act | None:
    """The player's action now that it is their turn; None when the choice no longer holds and they are to be asked."""
    option = _meant(state, account, chosen)
    if option is None or state.at(state.running.turn_seat).account != account:
        return None
    return Act(account, state.running.turn_id, option.verb, option.to, option.size, by_pre_action=True)


def _meant(state: Table, account: str, chosen: PreAction) -> Option | None:
    """What the choice stands for as long as it holds."""
    sitting = state.of(account)
    if sitting is None or _cannot_act(state, sitting):
        return None
    hand = state.running
    if (hand.hand_no, hand.street) != (chosen.hand_no, chosen.street):
        return None
    if not (chosen.any_price or chosen.verb is Verb.FOLD) and hand.level != chosen.level:
        return None
    return _option(state, hand, sitting.seat, chosen)


def buttons(ruleset: Ruleset) -> tuple[Verb, ...]:
    """What this table shows to a player whose turn it is not."""
    return (*BUTTONS, Verb.CHECK) if ruleset.pre_check_call_any else BUTTONS


def _is_button(ruleset: Ruleset, chosen: PreAction) -> bool:
    """Whether this table shows a button for the choice."""
    if chosen.any_price:
        return ruleset.pre_check_call_any and chosen.verb is Verb.CALL
    return chosen.verb in buttons(ruleset)


def _cannot_choose(state: Table, sitting: Sitting) -> str:
    if not state.rules.ruleset.pre_actions:
        return "this table has no bet-ahead: wait for the turn"
    refusal = _cannot_act(state, sitting)
    if not refusal and state.running.turn_seat == sitting.seat:
        return "it is this account's turn: act"
    return refusal


def _cannot_act(state: Table, sitting: Sitting) -> str:
    """Why no turn will come to this player in this round."""
    hand = state.hand
    if hand is None or hand.phase is not Phase.BETTING:
        return "nobody is betting now"
    if sitting.status is not Sit.SEATED or sitting.sitting_out:
        return "the player sits out or leaves"
    if not hand.live[sitting.seat] or hand.all_in[sitting.seat]:
        return "the player has folded, is all-in, or was not dealt in"
    return ""


def _option(state: Table, hand: Hand, seat: int, chosen: PreAction) -> Option | None:
    """The one legal action that the choice means now; a size that it has no use for is as wrong as on the turn."""
    options = legal_options(state, seat)
    verb = chosen.verb
    if verb is Verb.RAISE and hand.level:
        verb = wager_verb(hand, state.rules)
    option = chosen_of(hand, options, verb, size=chosen.size)
    if chosen.any_price:
        return option or chosen_of(hand, options, Verb.CHECK, size=chosen.size)
    if verb is Verb.FOLD and option is not None and not state.rules.ruleset.pre_fold_is_literal:
        return chosen_of(hand, options, Verb.CHECK) or option
    return option
