"""The graph of a flow: jobs in layers, each to the right of what comes before it; large ones as tasks with counts."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from markupsafe import Markup

from holdfast.domain.states import Status
from holdfast.interfaces.http.dashboard.rendering import state_class, state_word
from holdfast.interfaces.http.dashboard.svg import TIMES, arrow, element, shortened

MOST_DRAWN = 300
_BOX_WIDTH, _BOX_HEIGHT = 190, 46
_ACROSS, _DOWN, _MARGIN = 70, 16, 8
_SWEEPS = 4
_LONGEST_LINE = 24


class Edge(NamedTuple):
    """One comes before the other: it is needed, has enqueued it, is undone by it, or was run again as it."""

    before: Hashable
    after: Hashable
    kind: str
    times: int = 1


@dataclass(frozen=True, slots=True)
class Node:
    """A job, or all jobs of a task."""

    key: Hashable
    title: str
    subtitle: str
    status: Status | None = None
    counts: Mapping[Status, int] = field(default_factory=dict)


class Line(NamedTuple):
    """A line of the same graph as a list; one that stood above already is only named."""

    depth: int
    node: Node
    kind: str
    is_repeated: bool


# -- grouping --------------------------------------------------------------------------------------------------------------


def grouped(nodes: Sequence[Node], edges: Sequence[Edge]) -> tuple[list[Node], list[Edge]]:
    """Make one node of all jobs of a task, and one edge of all between two of them."""
    task_of = {node.key: node.title for node in nodes}
    counts: dict[str, Counter[Status]] = defaultdict(Counter)
    for node in nodes:
        counts[node.title].update([node.status] if node.status else [])
    times = Counter(
        (task_of[edge.before], task_of[edge.after], edge.kind)
        for edge in edges
        if task_of[edge.before] != task_of[edge.after]
    )
    made = [
        Node(
            task,
            task,
            f"{found.total():,} job{'' if found.total() == 1 else 's'}",
            _worst(found),
            dict(found),
        )
        for task, found in counts.items()
    ]
    return made, [Edge(*told, count) for told, count in times.items()]


def _worst(counts: Mapping[Status, int]) -> Status | None:
    for status in (Status.FAILED, Status.RUNNING, Status.RETRY, Status.WAITING_FOR_APPROVAL, Status.WAITING):
        if counts.get(status):
            return status
    return next(iter(counts), None)


# -- layout ----------------------------------------------------------------------------------------------------------------


def layers(keys: Sequence[Hashable], edges: Iterable[Edge]) -> list[list[Hashable]]:
    """Put each behind the longest way that leads to it, then near what it is tied to; a circle is cut where it is entered."""
    before, after = _neighbours(keys, edges)
    depth = _depths(keys, before, after)
    made: list[list[Hashable]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for key in keys:
        made[depth[key]].append(key)
    for sweep in range(_SWEEPS):
        order = made[1:] if sweep % 2 == 0 else made[-2::-1]
        for layer in order:
            _near(layer, before if sweep % 2 == 0 else after, made)
    return made


Neighbours = dict[Hashable, list[Hashable]]


def _neighbours(keys: Sequence[Hashable], edges: Iterable[Edge]) -> tuple[Neighbours, Neighbours]:
    before: Neighbours = {key: [] for key in keys}
    after: Neighbours = {key: [] for key in keys}
    for edge in edges:
        before[edge.after].append(edge.before)
        after[edge.before].append(edge.after)
    return before, after


def _depths(keys: Sequence[Hashable], before: Neighbours, after: Neighbours) -> dict[Hashable, int]:
    left = {key: len(before[key]) for key in keys}
    depth = dict.fromkeys(keys, 0)
    settled: set[Hashable] = set()
    ready = [key for key in keys if not left[key]]
    while len(settled) < len(keys):
        if not ready:  # a circle: go in at the first of those that are left
            ready = [next(key for key in keys if key not in settled)]
        key = ready.pop(0)
        if key in settled:
            continue
        settled.add(key)
        for follower in after[key]:
            if follower not in settled:
                depth[follower] = max(depth[follower], depth[key] + 1)
                left[follower] -= 1
                if not left[follower]:
                    ready.append(follower)
    return depth


def _near(layer: list[Hashable], ties: Neighbours, made: Sequence[Sequence[Hashable]]) -> None:
    """Order a layer by the mean place of what its members are tied to."""
    place = {key: number for each in made for number, key in enumerate(each)}
    own = {key: number for number, key in enumerate(layer)}

    def middle(key: Hashable) -> float:
        tied = [place[other] for other in ties[key]]
        return sum(tied) / len(tied) if tied else own[key]

    layer.sort(key=middle)


# -- drawing ---------------------------------------------------------------------------------------------------------------


def flow_graph(
    nodes: Sequence[Node],
    edges: Sequence[Edge],
    current: Hashable,
    address: Callable[[Node], str],
    scale: float | None = 1.0,
) -> Markup:
    """Draw a flow, larger or smaller, or without a scale as wide as there is room; every node is a link."""
    made = layers([node.key for node in nodes], edges)
    tallest = max((len(layer) for layer in made), default=0)
    places = _places(made, tallest)
    width = _MARGIN * 2 + len(made) * (_BOX_WIDTH + _ACROSS) - _ACROSS
    height = _MARGIN * 2 + tallest * (_BOX_HEIGHT + _DOWN) - _DOWN
    return element(
        "svg",
        element("title", f"{len(nodes)} boxes in {len(made)} layers"),
        element("defs", arrow("flow-arrow", "arrow")),
        *(_edge(edge, places) for edge in edges),
        *(_box(node, places[node.key], current, address(node)) for node in nodes),
        viewBox=f"0 0 {width} {height}",
        width=None if scale is None else width * scale, height=None if scale is None else height * scale,
        class_="flow-graph fits" if scale is None else "flow-graph",
    )  # fmt: skip


def _places(made: Sequence[Sequence[Hashable]], tallest: int) -> dict[Hashable, tuple[float, float]]:
    row = _BOX_HEIGHT + _DOWN
    return {
        key: (
            float(_MARGIN + column * (_BOX_WIDTH + _ACROSS)),
            _MARGIN + (tallest - len(layer)) * row / 2 + number * row,
        )
        for column, layer in enumerate(made)
        for number, key in enumerate(layer)
    }


def _edge(edge: Edge, places: Mapping[Hashable, tuple[float, float]]) -> Markup:
    (x, y), (to_x, to_y) = places[edge.before], places[edge.after]
    x, y, to_y = x + _BOX_WIDTH, y + _BOX_HEIGHT / 2, to_y + _BOX_HEIGHT / 2
    bend = max((to_x - x) / 2, 20.0)
    path = f"M{x:.0f} {y:.1f}C{x + bend:.0f} {y:.1f} {to_x - bend:.0f} {to_y:.1f} {to_x:.0f} {to_y:.1f}"
    return element(
        "path",
        element("title", edge.kind + (f" {TIMES}{edge.times}" if edge.times > 1 else "")),
        d=path, class_=f"edge {edge.kind}", marker_end="url(#flow-arrow)",
    )  # fmt: skip


def _box(node: Node, place: tuple[float, float], current: Hashable, address: str) -> Markup:
    x, y = place
    state = state_word(node.status) if node.status else ""
    kinds = ["box", state_class(node.status) if node.status else "", "current" if node.key == current else ""]
    name, under = shortened(node.title, _LONGEST_LINE), shortened(node.subtitle, _LONGEST_LINE)
    told = _counted(node) or state
    return element(
        "a",
        element("title", f"{node.title}, {node.subtitle}: {told}"),
        element("rect", x=x, y=y, width=_BOX_WIDTH, height=_BOX_HEIGHT, rx=7),
        element("text", name, x=x + 10, y=y + 19, class_="name"),
        element("text", under, x=x + 10, y=y + 36, class_="under"),
        href=address, class_=" ".join(filter(None, kinds)),
    )  # fmt: skip


def _counted(node: Node) -> str:
    return ", ".join(f"{count:,} {state_word(status)}" for status, count in node.counts.items())


# -- the same as a list ----------------------------------------------------------------------------------------------------


def outline(nodes: Sequence[Node], edges: Sequence[Edge]) -> list[Line]:
    """List a flow from its beginnings; what comes after several stands under the first, and is named under the others."""
    named = {node.key: node for node in nodes}
    after: dict[Hashable, list[Edge]] = defaultdict(list)
    for edge in edges:
        after[edge.before].append(edge)
    entered = {edge.after for edge in edges}
    seen: set[Hashable] = set()
    lines: list[Line] = []
    begins = [node.key for node in nodes if node.key not in entered]
    for start in [*begins, *named]:  # after the beginnings: circles, which have none
        if start in seen:
            continue
        waiting = [(0, start, "")]
        while waiting:
            depth, key, kind = waiting.pop()
            lines.append(Line(depth, named[key], kind, key in seen))
            if key not in seen:
                seen.add(key)
                waiting += [(depth + 1, edge.after, edge.kind) for edge in reversed(after[key])]
    return lines
