"""The picture of the state machine with the way that one job has gone: its statuses, and the moves between them."""

from collections import Counter
from collections.abc import Sequence
from textwrap import wrap
from typing import NamedTuple

from markupsafe import Markup

from holdfast.domain.states import LEGAL_MOVES, Status
from holdfast.interfaces.http.dashboard.rendering import state_class, state_word
from holdfast.interfaces.http.dashboard.svg import TIMES, arrow, element

Move = tuple[Status | None, Status]

_WIDTH, _HEIGHT = 136, 40
_LONGEST_LINE, _LINE = 16, 14.0
_MOST_TOLD = 40  # moves that are said aloud


class _Way(NamedTuple):
    """How a move is drawn, and where its count stands."""

    path: str
    x: int
    y: int


# The middle of each box's upper side.
_BOXES: dict[Status, tuple[int, int]] = {
    Status.PENDING: (240, 10),
    Status.RUNNING: (240, 90),
    Status.RETRY: (90, 190),
    Status.WAITING_FOR_APPROVAL: (240, 190),
    Status.WAITING: (390, 190),
    Status.COMPLETED: (90, 300),
    Status.FAILED: (240, 300),
    Status.CANCELLED: (390, 300),
}
_WAYS: dict[tuple[Status, Status], _Way] = {
    (Status.PENDING, Status.RUNNING): _Way("M240 50V90", 250, 74),
    (Status.PENDING, Status.CANCELLED): _Way(
        "M308 30H462Q470 30 470 38V312Q470 320 462 320H458", 452, 100
    ),
    (Status.RUNNING, Status.RETRY): _Way("M192 130 72 190", 112, 156),
    (Status.RETRY, Status.RUNNING): _Way("M100 190 214 130", 158, 174),
    (Status.RUNNING, Status.WAITING_FOR_APPROVAL): _Way("M232 130V190", 214, 164),
    (Status.WAITING_FOR_APPROVAL, Status.RUNNING): _Way("M250 190V130", 258, 164),
    (Status.RUNNING, Status.WAITING): _Way("M288 130 408 190", 362, 156),
    (Status.WAITING, Status.RUNNING): _Way("M380 190 266 130", 326, 176),
    (Status.RUNNING, Status.COMPLETED): _Way("M172 110H18Q10 110 10 118V312Q10 320 18 320H22", 18, 150),
    (Status.RUNNING, Status.FAILED): _Way("M180 130C165 150 165 165 165 190V232C165 262 208 266 214 300", 172, 254),
    (Status.RUNNING, Status.CANCELLED): _Way("M300 130C315 150 315 165 315 190V232C315 262 358 266 366 300", 322, 254),
    (Status.RETRY, Status.FAILED): _Way("M96 230 196 300", 122, 262),
    (Status.RETRY, Status.CANCELLED): _Way("M134 230 336 300", 180, 242),
    (Status.WAITING_FOR_APPROVAL, Status.FAILED): _Way("M240 230V300", 246, 284),
    (Status.WAITING_FOR_APPROVAL, Status.CANCELLED): _Way("M276 230 382 300", 300, 250),
    (Status.WAITING, Status.FAILED): _Way("M372 230 270 300", 284, 294),
    (Status.WAITING, Status.CANCELLED): _Way("M400 230V300", 406, 270),
}  # fmt: skip


def state_picture(moves: Sequence[Move], current: Status) -> Markup:
    """Draw the machine; the moves that a job made are bold and counted, and the box where it is stands out."""
    travelled = Counter((old, new) for old, new in moves if old is not None)
    visits = Counter(new for _, new in moves)
    faint = [pair for pair in _legal() if pair not in travelled]
    bold = [pair for pair in _legal() if pair in travelled]
    return element(
        "svg",
        element("title", "The states of this job"),
        element("desc", _told(moves, current)),
        element("defs", arrow("state-faint", "arrow"), arrow("state-bold", "arrow travelled")),
        *(_edge(pair, 0) for pair in faint),
        *(_edge(pair, travelled[pair]) for pair in bold),
        *(_box(status, visits[status], is_current=status is current) for status in Status),
        viewBox="0 0 480 350", class_="state-picture", role="img",
    )  # fmt: skip


def _legal() -> list[tuple[Status, Status]]:
    return [(old, new) for old in Status for new in Status if new in LEGAL_MOVES[old]]


def _edge(pair: tuple[Status, Status], times: int) -> Markup:
    way = _WAYS[pair]
    kind = "bold" if times else "faint"
    line = element(
        "path",
        d=way.path,
        class_="edge travelled" if times else "edge",
        marker_end=f"url(#state-{kind})",
    )
    count = element("text", f"{TIMES}{times}", x=way.x, y=way.y, class_="times") if times > 1 else Markup("")
    return line + count


def _box(status: Status, visits: int, *, is_current: bool) -> Markup:
    x, y = _BOXES[status]
    kinds = ["box", state_class(status), "visited" if visits else "", "current" if is_current else ""]
    word = state_word(status) + (f" {TIMES}{visits}" if visits > 1 else "")
    return element(
        "g",
        element("rect", x=x - _WIDTH / 2, y=y, width=_WIDTH, height=_HEIGHT, rx=8),
        _words(word, x, y + _HEIGHT / 2 + 4),
        class_=" ".join(filter(None, kinds)),
    )


def _words(text: str, x: int, y: float) -> Markup:
    """Write in the middle of a box, on two lines what is too long for one."""
    lines = wrap(text, _LONGEST_LINE)
    first = y - _LINE / 2 * (len(lines) - 1)
    return Markup("").join(
        element("text", line, x=x, y=first + _LINE * number, text_anchor="middle")
        for number, line in enumerate(lines)
    )


def _told(moves: Sequence[Move], current: Status) -> str:
    names = [state_word(new) for _, new in moves[-_MOST_TOLD:]]
    more = "… " if len(moves) > _MOST_TOLD else ""
    return f"{more}{', then '.join(names)}. It is {state_word(current)} now."
