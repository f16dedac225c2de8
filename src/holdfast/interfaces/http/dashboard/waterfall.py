"""The steps of a job as bars over time; what was undone stands beside them, in the rows of what it undoes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from holdfast.interfaces.http.dashboard.rendering import span
from holdfast.interfaces.http.dashboard.svg import element, shortened

WIDTH = 860
_LABELS = 220  # their column
_ROW = 26
_TOP = 30
_BETWEEN = 24  # doing and undoing
_SHARE = 0.62  # of doing, when something was undone
_THINNEST = 3.0
_LONGEST_LABEL = 30
_TICKS = 4
UNDO = "undo "


@dataclass(frozen=True, slots=True)
class Bar:
    """A step: its name, what it is, and from when until when."""

    name: str
    kind: str
    start: datetime
    end: datetime
    tries: int = 1


@dataclass(frozen=True, slots=True)
class _Scale:
    """Which moment stands where."""

    left: float
    width: float
    start: datetime
    seconds: float

    @classmethod
    def of(cls, bars: Sequence[Bar], left: float, width: float) -> "_Scale":
        start = min(bar.start for bar in bars)
        seconds = (max(bar.end for bar in bars) - start).total_seconds()
        return cls(left, width, start, seconds or 1.0)

    def place(self, moment: datetime) -> float:
        return self.left + self.width * (moment - self.start).total_seconds() / self.seconds


def waterfall(done: Sequence[Bar], undone: Sequence[Bar] = ()) -> Markup:
    """Draw steps in the order in which they began, and to their right, with a time of its own, what undid them."""
    rows = _rows(done, undone)
    if not rows:
        return Markup("")
    height = _TOP + _ROW * len(rows) + 6
    place = {name: number for number, name in enumerate(rows)}
    plot = float(WIDTH - _LABELS)
    share = plot * _SHARE if done and undone else plot
    parts: list[Markup] = [_label(name, number) for name, number in place.items()]
    if done:
        scale = _Scale.of(done, _LABELS, share - 8)
        parts += _axis(scale, height, "")
        parts += [_bar(scale, bar, place[bar.name], f"bar kind-{bar.kind}") for bar in done]
    if undone:
        left = _LABELS + (share + _BETWEEN if done else 0.0)
        scale = _Scale.of(undone, left, WIDTH - left - 8)
        parts += _axis(scale, height, "undoing")
        parts += [_bar(scale, bar, place[_undoes(bar)], "bar undo") for bar in undone]
    said = f"{len(done)} steps" + (f", {len(undone)} of them undone" if undone else "")
    return element(
        "svg",
        element("title", said),
        *parts,
        viewBox=f"0 0 {WIDTH} {height}", class_="waterfall", role="img",
    )  # fmt: skip


def _rows(done: Sequence[Bar], undone: Sequence[Bar]) -> list[str]:
    """Name the rows: the steps as they began, then what was undone that is no step of its own."""
    began = [bar.name for bar in sorted(done, key=lambda bar: (bar.start, bar.name))]
    return list(dict.fromkeys([*began, *(_undoes(bar) for bar in undone)]))


def _undoes(bar: Bar) -> str:
    return bar.name.removeprefix(UNDO)


def _label(name: str, number: int) -> Markup:
    return element(
        "text",
        element("title", name),
        shortened(name, _LONGEST_LABEL),
        x=0,
        y=_TOP + _ROW * number + 17,
        class_="row",
    )


def _bar(scale: _Scale, bar: Bar, number: int, kind: str) -> Markup:
    left = scale.place(bar.start)
    width = max(scale.place(bar.end) - left, _THINNEST)
    left = min(left, scale.left + scale.width - _THINNEST)
    took = span(bar.end - bar.start)
    tries = f", {bar.tries} tries" if bar.tries > 1 else ""
    rect = element(
        "rect",
        element("title", f"{bar.name} ({bar.kind}) took {took}{tries}"),
        x=left, y=_TOP + _ROW * number + 5, width=width, height=_ROW - 10, rx=3, class_=kind,
    )  # fmt: skip
    fits_behind = left + width < scale.left + scale.width - 60
    x, anchor = (left + width + 5, "start") if fits_behind else (left - 5, "end")
    if not fits_behind and left - scale.left < 60:  # noqa: PLR2004 - as wide as a word: it stands in the bar
        x, anchor = left + width - 5, "end"
        return rect + _took(took, x, number, anchor, "took inside")
    return rect + _took(took, x, number, anchor, "took")


def _took(text: str, x: float, number: int, anchor: str, kind: str) -> Markup:
    return element("text", text, x=x, y=_TOP + _ROW * number + 17, text_anchor=anchor, class_=kind)


def _axis(scale: _Scale, height: int, title: str) -> list[Markup]:
    ticks = []
    for number in range(_TICKS + 1):
        x = scale.left + scale.width * number / _TICKS
        anchor = "start" if number == 0 else "end" if number == _TICKS else "middle"
        text = title or "0 s" if number == 0 else span(scale.seconds * number / _TICKS)
        if number in {1, 3} and title:
            text = ""
        ticks += [
            element("line", x1=x, x2=x, y1=_TOP - 6, y2=height - 4, class_="tick"),
            element("text", text, x=x, y=_TOP - 12, text_anchor=anchor, class_="axis"),
        ]
    return ticks
