"""Write the figures anew: ``python -m tests.exhaustive.regenerate``, by hand, after a rule has changed on purpose.

The figures come from the oracle, never from the engine, so that a fault of the engine cannot be written down as right.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.exhaustive.counting import as_figures, count
from tests.exhaustive.scenarios import deep_scenarios, scenarios

FIGURES = Path(__file__).with_name("figures.json")


def text() -> str:
    """The file: a line for each scenario, so that a change shows where it is."""
    every = {s.name: as_figures(count(s)) for s in (*scenarios(), *deep_scenarios())}
    lines = [f"  {json.dumps(name)}: {json.dumps(figures)}" for name, figures in sorted(every.items())]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    FIGURES.write_text(text())
    print(f"{FIGURES.name}: {len(FIGURES.read_text().splitlines()) - 2} scenarios")
