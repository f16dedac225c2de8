"""Steps as bars over time."""

from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree as ET

from holdfast.interfaces.http.dashboard.waterfall import WIDTH, Bar, waterfall

START = datetime(2026, 3, 1, tzinfo=UTC)


def bar(name: str, since: float, until: float, kind: str = "step", tries: int = 1) -> Bar:
    return Bar(name, kind, START + timedelta(seconds=since), START + timedelta(seconds=until), tries)


def rects(picture: str) -> dict[str, dict[str, str]]:
    drawn = ET.fromstring(picture)
    return {(each.findtext("title") or "").partition(" (")[0]: each.attrib for each in drawn.findall("rect")}


def test_a_job_without_steps_has_no_picture() -> None:
    assert waterfall([]) == ""


def test_bars_stand_where_their_time_was() -> None:
    drawn = rects(waterfall([bar("a", 0, 5), bar("b", 5, 10)]))

    assert float(drawn["a"]["width"]) == float(drawn["b"]["width"])
    assert float(drawn["b"]["x"]) == float(drawn["a"]["x"]) + float(drawn["a"]["width"])
    assert float(drawn["a"]["y"]) < float(drawn["b"]["y"])


def test_no_bar_is_invisible_or_leaves_the_picture() -> None:
    drawn = rects(waterfall([bar("long", 0, 86_400), bar("short", 86_400, 86_400)]))

    assert float(drawn["short"]["width"]) >= 2
    assert float(drawn["short"]["x"]) + float(drawn["short"]["width"]) <= WIDTH


def test_what_undoes_a_step_stands_in_its_row_to_the_right() -> None:
    drawn = rects(
        waterfall(
            [bar("book", 0, 1, "step"), bar("pay", 1, 2)],
            [bar("undo pay", 60, 61, "undo"), bar("undo book", 61, 62, "undo")],
        )
    )

    assert drawn["undo pay"]["y"] == drawn["pay"]["y"]
    assert drawn["undo book"]["y"] == drawn["book"]["y"]
    assert float(drawn["undo pay"]["x"]) > float(drawn["pay"]["x"]) + float(drawn["pay"]["width"])
    assert float(drawn["undo book"]["x"]) > float(drawn["undo pay"]["x"])
    assert "undo" in drawn["undo pay"]["class"]


def test_a_compensation_of_the_whole_task_gets_a_row_of_its_own() -> None:
    drawn = rects(waterfall([], [bar("undo task", 0, 1, "undo")]))

    assert list(drawn) == ["undo task"]


def test_names_are_escaped_and_cut() -> None:
    picture = waterfall([bar("<script>alert(1)</script>" * 4, 0, 1)])

    ET.fromstring(picture)
    assert "<script" not in picture
    assert "…" in picture
