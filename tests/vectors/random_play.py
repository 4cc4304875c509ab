"""Random legal play: the cheapest way to see many hands."""

from __future__ import annotations

from random import Random

from stud_core.state import Phase
from tests.support.choosing import choose
from tests.support.table_driver import TableDriver


def play_hands(table: TableDriver, hands: int, rng: Random) -> None:
    """Start and play up to ``hands`` hands, as long as two players have chips."""
    for _ in range(hands):
        if sum(stack > 0 for stack in table.stacks().values()) < 2:
            return
        table.start()
        play_out(table, rng)
        table.settle()


def play_out(table: TableDriver, rng: Random) -> None:
    """Play the running hand to its end; now and then somebody lets the clock run out."""
    while table.running:
        hand = table.hand
        if hand.phase is Phase.SHOW_PROMPTS or rng.random() < 0.01:
            if hand.phase is Phase.SHOW_PROMPTS and rng.random() < 0.5:
                table.choose(hand.prompts[0].seat, show=rng.random() < 0.5)
            else:
                table.timeout()
            continue
        table.take(choose(rng, hand.options))
