"""Open questions, and what else a player may say that answers them."""

from __future__ import annotations

from stud_core.commands import SetPreferences
from stud_core.events import Engine, PromptKind
from stud_core.state import Prompt, Sitting, Table


def prompt_of(prompts: tuple[Prompt, ...], seat: int) -> Prompt | None:
    """The question that is open to a seat."""
    for prompt in prompts:
        if prompt.seat == seat:
            return prompt
    return None


def answered_by(state: Table, command: SetPreferences) -> Prompt | None:
    """The question that is answered by switching on what would have answered it (P6, P44); None when there is none.

    Not in a hand that the first engine began, and not by what was on already: then it is a wish for later hands.
    """
    hand, sitting = state.hand, state.of(command.account)
    if hand is None or sitting is None or hand.engine is Engine.FIRST:
        return None
    if state.seats[sitting.seat] != sitting.sitting_no:
        return None
    prompt = prompt_of(hand.prompts, sitting.seat)
    return prompt if prompt is not None and _settles(prompt, command, sitting) else None


def _settles(prompt: Prompt, command: SetPreferences, sitting: Sitting) -> bool:
    if prompt.kind is None:
        return command.auto_post is True and not sitting.auto_post
    return prompt.kind is PromptKind.LOSER and command.muck_losing is True and not sitting.muck_losing
