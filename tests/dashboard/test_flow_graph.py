"""Flows as layers of boxes, and as a list."""

from xml.etree import ElementTree as ET

from holdfast.domain.states import Status
from holdfast.interfaces.http.dashboard.flow_graph import Edge, Node, flow_graph, grouped, layers, outline

DIAMOND = [
    Edge("a", "b", "needed"),
    Edge("a", "c", "needed"),
    Edge("b", "d", "needed"),
    Edge("c", "d", "needed"),
]


def nodes(names: str, status: Status = Status.PENDING) -> list[Node]:
    return [Node(name, name, f"job {name}", status) for name in names]


def test_everything_stands_behind_the_longest_way_that_leads_to_it() -> None:
    made = layers("abcd", [*DIAMOND, Edge("a", "d", "needed")])

    assert made == [["a"], ["b", "c"], ["d"]]


def test_a_layer_is_ordered_by_what_it_is_tied_to() -> None:
    straight = layers("abxy", [Edge("a", "y", "needed"), Edge("b", "x", "needed")])

    assert straight == [["a", "b"], ["y", "x"]]


def test_a_circle_is_drawn_all_the_same() -> None:
    made = layers("abc", [Edge("a", "b", "needed"), Edge("b", "c", "child"), Edge("c", "b", "needed")])

    assert {key for layer in made for key in layer} == {"a", "b", "c"}


def test_every_node_is_a_link_and_the_current_one_is_marked() -> None:
    drawn = ET.fromstring(flow_graph(nodes("abcd"), DIAMOND, "c", lambda node: f"/jobs/{node.key}"))

    links = {each.attrib["href"]: each.attrib["class"] for each in drawn.findall("a")}
    assert list(links) == ["/jobs/a", "/jobs/b", "/jobs/c", "/jobs/d"]
    assert [href for href, kinds in links.items() if "current" in kinds] == ["/jobs/c"]
    assert len(drawn.findall("path")) == len(DIAMOND)


def test_names_are_escaped() -> None:
    hostile = [Node("x", "<img src=x onerror=alert(1)>", '"><script>', Status.FAILED)]

    picture = flow_graph(hostile, [], "x", lambda _node: 'javascript:"')

    ET.fromstring(picture)
    assert "<img" not in picture
    assert "<script" not in picture


def test_many_jobs_become_their_tasks_with_counts() -> None:
    many = [Node(0, "split", "0", Status.COMPLETED)]
    many += [Node(n, "resize", str(n), Status.FAILED if n == 7 else Status.COMPLETED) for n in range(1, 500)]
    edges = [Edge(0, n, "child") for n in range(1, 500)]

    tasks, ties = grouped(many, edges)

    assert [(task.title, task.subtitle) for task in tasks] == [("split", "1 job"), ("resize", "499 jobs")]
    assert tasks[1].counts == {Status.COMPLETED: 498, Status.FAILED: 1}
    assert tasks[1].status is Status.FAILED
    assert ties == [Edge("split", "resize", "child", 499)]


def test_the_list_names_everything_once_and_points_back() -> None:
    lines = outline(nodes("abcd"), DIAMOND)

    assert [(line.depth, line.node.key, line.is_repeated) for line in lines] == [
        (0, "a", False),
        (1, "b", False),
        (2, "d", False),
        (1, "c", False),
        (2, "d", True),
    ]


def test_the_list_enters_a_circle_somewhere() -> None:
    lines = outline(nodes("ab"), [Edge("a", "b", "needed"), Edge("b", "a", "needed")])

    assert [line.node.key for line in lines] == ["a", "b", "a"]
