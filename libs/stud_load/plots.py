"""Line plots as SVG: what a page needs that must work without a network."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

import msgspec

WIDTH: Final = 900
HEIGHT: Final = 260
LEFT: Final = 64
RIGHT: Final = 150
TOP: Final = 34
BOTTOM: Final = 34
COLOURS: Final = ("#3366cc", "#dc7633", "#2e8b57", "#b03a8c", "#b8860b", "#5f6a6a", "#c0392b", "#1abc9c")
TICKS: Final = 5

Point = tuple[float, float]


class Series(msgspec.Struct, frozen=True):
    """One line and what it is called."""

    name: str
    points: Sequence[Point]


class Axis(msgspec.Struct, frozen=True):
    """One direction of a plot: its least and greatest value, and where it is labelled."""

    least: float
    most: float
    ticks: Sequence[tuple[float, str]]

    def share(self, value: float) -> float:
        """Return where a value lies, 0 to 1."""
        return (value - self.least) / ((self.most - self.least) or 1.0)


def even(values: Iterable[float], unit: str = "") -> Axis:
    """Return an axis from 0 with even steps of 1, 2 or 5."""
    most = max(values, default=0.0) or 1.0
    rough = most / TICKS
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough)
    count = math.ceil(most / step)
    return Axis(0.0, count * step, [(n * step, f"{n * step:,g}{unit}") for n in range(count + 1)])


def plot(title: str, series: Sequence[Series], x: Axis, y: Axis, unit: str) -> str:
    """Return a plot; ``unit`` is said of values under the pointer."""
    drawn = [_grid(x, y), f'<text x="{LEFT}" y="18" class="title">{escape(title)}</text>']
    for number, line in enumerate(series):
        drawn.append(_line(line, COLOURS[number % len(COLOURS)], number, (x, y), unit))
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">{"".join(drawn)}</svg>'


def _grid(x: Axis, y: Axis) -> str:
    lines = []
    for value, text in y.ticks:
        down = _down(y, value)
        lines.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{down:.1f}" y2="{down:.1f}" class="grid"/>')
        lines.append(f'<text x="{LEFT - 6}" y="{down + 4:.1f}" class="tick end">{escape(text)}</text>')
    for value, text in x.ticks:
        lines.append(f'<text x="{_across(x, value):.1f}" y="{HEIGHT - 12}" class="tick middle">{escape(text)}</text>')
    return "".join(lines)


def _line(line: Series, colour: str, number: int, axes: tuple[Axis, Axis], unit: str) -> str:
    places = [(_across(axes[0], x), _down(axes[1], y), y) for x, y in line.points]
    path = " ".join(f"{across:.1f},{down:.1f}" for across, down, _ in places)
    name = escape(line.name)
    dots = "".join(
        f'<circle cx="{across:.1f}" cy="{down:.1f}" r="5"><title>{name}: {y:,.4g} {escape(unit)}</title></circle>'
        for across, down, y in places
    )
    label = f'<text x="{WIDTH - RIGHT + 10}" y="{TOP + 10 + 17 * number}" fill="{colour}">{name}</text>'
    return f'<polyline points="{path}" stroke="{colour}"/>{dots}{label}'


def _across(axis: Axis, value: float) -> float:
    return LEFT + axis.share(value) * (WIDTH - LEFT - RIGHT)


def _down(axis: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - axis.share(value) * (HEIGHT - TOP - BOTTOM)
