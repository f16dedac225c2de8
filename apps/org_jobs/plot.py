"""Usage as a picture: SVG, which needs no library and no script."""

from collections.abc import Sequence
from datetime import date, timedelta
from html import escape
from typing import Literal

from apps.org_jobs.usage import Usage

Measure = Literal["runs", "seconds"]

WIDTH, HEIGHT = 720, 240
LEFT, RIGHT, TOP, BOTTOM = 56, 8, 24, 24
LEGEND_LINE = 16
COLOURS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#ff8ab7", "#a463f2", "#97bbf5")


def as_svg(rows: Sequence[Usage], measure: Measure = "runs") -> str:
    """Draw usage: a bar a day, in it a piece for each organisation and type that says its figure when pointed at."""
    names = sorted({_name(row) for row in rows})
    colours = {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(names)}
    days = _days(rows)
    top = (
        max((sum(_value(row, measure) for row in rows if row.day == day) for day in days), default=0.0) or 1.0
    )
    pieces = [
        *_scale(top, measure),
        *_bars(rows, days, top, measure, colours),
        *_dates(days),
        *_legend(colours),
    ]
    height = HEIGHT + LEGEND_LINE * len(names)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="Usage: {measure} per day"'
        f' font-family="sans-serif" font-size="11">\n<rect width="{WIDTH}" height="{height}" fill="white"/>\n'
        + "\n".join(pieces)
        + "\n</svg>\n"
    )


def _name(row: Usage) -> str:
    return f"{row.org_id or 'global'} {row.type}"


def _value(row: Usage, measure: Measure) -> float:
    return float(getattr(row, measure))


def _days(rows: Sequence[Usage]) -> list[date]:
    """Give every day from the first to the last: a day without jobs is a gap, not left out."""
    if not rows:
        return []
    first, last = min(row.day for row in rows), max(row.day for row in rows)
    return [first + timedelta(days=number) for number in range((last - first).days + 1)]


def _scale(top: float, measure: Measure) -> list[str]:
    lines = [f'<text x="{LEFT}" y="14">{measure} per day</text>']
    for share in (0.0, 0.5, 1.0):
        y = HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)
        lines.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        lines.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{share * top:,.4g}</text>')
    return lines


def _bars(
    rows: Sequence[Usage], days: Sequence[date], top: float, measure: Measure, colours: dict[str, str]
) -> list[str]:
    step = (WIDTH - LEFT - RIGHT) / max(len(days), 1)
    bars = []
    for place, day in enumerate(days):
        y = float(HEIGHT - BOTTOM)
        for row in sorted((row for row in rows if row.day == day), key=_name):
            value = _value(row, measure)
            height = value / top * (HEIGHT - BOTTOM - TOP)
            y -= height
            bars.append(
                f'<rect class="bar" x="{LEFT + step * (place + 0.1):.1f}" y="{y:.1f}" width="{step * 0.8:.1f}"'
                f' height="{height:.1f}" fill="{colours[_name(row)]}">'
                f"<title>{day} {escape(_name(row))}: {value:g} {measure}</title></rect>"
            )
    return bars


def _dates(days: Sequence[date]) -> list[str]:
    if not days:
        return [f'<text x="{WIDTH / 2}" y="{HEIGHT / 2}" text-anchor="middle">no usage in this time</text>']
    ends = {LEFT: ("start", days[0]), WIDTH - RIGHT: ("end", days[-1])}
    return [
        f'<text x="{x}" y="{HEIGHT - 6}" text-anchor="{anchor}">{day}</text>'
        for x, (anchor, day) in ends.items()
    ]


def _legend(colours: dict[str, str]) -> list[str]:
    lines = []
    for number, (name, colour) in enumerate(colours.items()):
        y = HEIGHT + LEGEND_LINE * number
        lines.append(f'<rect x="{LEFT}" y="{y}" width="10" height="10" fill="{colour}"/>')
        lines.append(f'<text x="{LEFT + 16}" y="{y + 9}">{escape(name)}</text>')
    return lines
