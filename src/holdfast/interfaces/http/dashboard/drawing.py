"""Small pictures that the server draws: numbers for the attributes of SVG elements."""

from collections.abc import Sequence
from typing import NamedTuple


class Bar(NamedTuple):
    """A bar, or a part of one that is stacked."""

    x: float
    y: float
    width: float
    height: float


def line(values: Sequence[float], width: float = 100, height: float = 24) -> str:
    """Write the points of a line over values; without any of them it lies on the ground."""
    most = max(values, default=0) or 1
    step = width / max(len(values) - 1, 1)
    drawn = [f"{n * step:.1f},{_up(value, most, height):.1f}" for n, value in enumerate(values)]
    return " ".join(drawn)


def area(values: Sequence[float], width: float = 100, height: float = 24) -> str:
    """Write the points of the area under that line."""
    return f"0,{height:g} {line(values, width, height)} {width:g},{height:g}" if values else ""


def gathered(values: Sequence[float], parts: int) -> list[float]:
    """Add values up so that no more than so many are left; what is over stands in the first, the newest are whole."""
    size = -(-len(values) // parts) or 1
    over = len(values) % size
    first = [sum(values[:over])] if over else []
    return first + [sum(values[at : at + size]) for at in range(over, len(values), size)]


def stacked(
    columns: Sequence[Sequence[float]], width: float, height: float, gap: float = 2
) -> list[list[Bar]]:
    """Place a column of bars for each of these, the first at the bottom."""
    most = max((sum(column) for column in columns), default=0) or 1
    step = width / max(len(columns), 1)
    placed: list[list[Bar]] = []
    for n, column in enumerate(columns):
        bars: list[Bar] = []
        ground = height
        for value in column:
            tall = value / most * height
            ground -= tall
            bars.append(
                Bar(round(n * step + gap / 2, 2), round(ground, 2), round(step - gap, 2), round(tall, 2))
            )
        placed.append(bars)
    return placed


def _up(value: float, most: float, height: float) -> float:
    return height - 1.5 - value / most * (height - 3)
