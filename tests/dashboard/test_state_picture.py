"""The picture of the state machine shows where a job has been."""

from xml.etree import ElementTree as ET

import pytest

from holdfast.domain.states import LEGAL_MOVES, Status
from holdfast.interfaces.http.dashboard.state_picture import Move, state_picture
from holdfast.interfaces.http.dashboard.svg import TIMES

TWICE: list[Move] = [
    (None, Status.PENDING),
    (Status.PENDING, Status.RUNNING),
    (Status.RUNNING, Status.RETRY),
    (Status.RETRY, Status.RUNNING),
    (Status.RUNNING, Status.RETRY),
    (Status.RETRY, Status.RUNNING),
    (Status.RUNNING, Status.COMPLETED),
]


def test_every_status_has_a_box_and_every_legal_move_an_edge() -> None:
    drawn = ET.fromstring(state_picture([], Status.PENDING))

    assert len(drawn.findall("g")) == len(Status)
    assert len(drawn.findall("path")) == sum(map(len, LEGAL_MOVES.values()))


def test_travelled_edges_are_bold_and_counted() -> None:
    drawn = ET.fromstring(state_picture(TWICE, Status.COMPLETED))

    bold = [each for each in drawn.findall("path") if "travelled" in each.attrib["class"]]
    assert len(bold) == 4
    assert [each.text for each in drawn.findall("text")] == [f"{TIMES}2", f"{TIMES}2"]


def test_boxes_say_how_often_a_job_was_there_and_where_it_is_now() -> None:
    drawn = ET.fromstring(state_picture(TWICE, Status.COMPLETED))

    words = {"".join(each.itertext()): each.attrib["class"] for each in drawn.findall("g")}
    assert "visited" in words[f"Running {TIMES}3"]
    assert "current" in words["Completed"]
    assert "visited" not in words["Failed"]
    assert sum("current" in kinds for kinds in words.values()) == 1


@pytest.mark.parametrize("moves", [TWICE, TWICE * 40])
def test_the_way_is_told_in_words_too(moves: list[Move]) -> None:
    drawn = ET.fromstring(state_picture(moves, Status.COMPLETED))

    told = drawn.findtext("desc") or ""
    assert told.endswith("then Completed. It is Completed now.")
    assert len(told) < 1500
