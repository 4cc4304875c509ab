"""The referee's second implementation against the core: random hands of every kind, and planted faults in some.

3 020 hands in ``make test``; with ``STUD_DEEP`` 100 000, which two workers play in a few minutes (``-s`` shows how far
they are). The sample must have enough of everything, or the test fails: see ``LEAST``.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from tests.oracle import draws
from tests.oracle.forgeries import FORGERIES
from tests.support.deep import either

pytestmark = pytest.mark.timeout(either(120, 1_200))
CHUNKS = either(4, 50, 1)
HANDS = either(755, 2_000)
"""Of each chunk."""

LEAST = {
    "all-ins": 0.3,
    "short antes": 0.02,
    "short wagers": 0.03,
    "side pots": 0.2,
    "showdowns": 0.5,
    "uncalled": 0.1,
    "rake": 0.1,
    "splits": 0.015,
    "odd units": 0.004,
    "high open pairs": 0.02,
    "eight at the river": 0.01,
    "recycled river": 0.002,
    "community river": 0.01,
    "time-outs": 0.02,
    "leavers": 0.005,
    "more time": 0.02,
    "sent off": 0.001,
    "voids": 0.005,
}
"""Share of the hands of a chunk that must have it."""


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_both_implementations_agree_on_every_chip(chunk: int):
    used = Counter[str]()
    counts = draws.play(Random(f"referee {chunk}"), HANDS, used)
    print(f"chunk {chunk}:", ", ".join(f"{name} {number}" for name, number in sorted(counts.items())))
    hands = counts["hands"]
    assert hands >= HANDS
    assert {name: counts[name] for name, share in LEAST.items() if counts[name] < share * hands} == {}
    assert {f"{name}={value}" for name, values in draws.KNOBS.items() for value in values} - set(used) == set()


@pytest.mark.parametrize("name", FORGERIES)
def test_a_wrong_figure_is_found_in_whatever_hand_it_stands(name: str):
    forge, code = FORGERIES[name]
    rng = Random(f"forged {name}")
    found = 0
    for _ in range(4_000):
        found += forged_hand(rng, name)
        if found == either(12, 200, 4):
            return
    raise AssertionError(f"only {found} hands had anything to falsify: {forge.__doc__} {code}")


def forged_hand(rng: Random, name: str) -> bool:
    """Whether a hand could be falsified; if so it was found out, under the right name."""
    forge, code = FORGERIES[name]
    held = draws.table(rng)
    planted: list[bool] = []

    def write(events: list[object]) -> list[object]:
        forged = forge(events)
        planted.append(forged != events)
        return forged

    held.forge = write
    if held.can_play:
        deck = draws.deck(rng, equal=1.0 if name == "odd units" else 0.2)
        held.play_hand(deck, rng.sample(range(52), 52), rng.choice(draws.STYLES), void=name == "refund")
    assert (code in held.codes) == any(planted), (held.codes, planted)
    assert bool(held.codes) == any(planted)
    return any(planted)
