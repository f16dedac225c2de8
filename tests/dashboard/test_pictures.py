"""Parts of time, small pictures and tables: pure functions of what pages of figures are made."""

from datetime import UTC, datetime, timedelta

import pytest

from holdfast.domain.search import NameTerm, parse
from holdfast.interfaces.http.dashboard.drawing import area, gathered, line, stacked
from holdfast.interfaces.http.dashboard.stretch import MOST_SPANS, Stretched, stretch_of
from holdfast.interfaces.http.dashboard.terms import term
from holdfast.interfaces.tables import as_csv

NOW = datetime(2030, 1, 31, 10, 7, 30, tzinfo=UTC)


@pytest.mark.parametrize(("window", "minutes"), [("1h", 1), ("24h", 4), ("7d", 30)])
def test_a_window_ends_now_in_spans_that_are_not_too_many(window: str, minutes: int) -> None:
    stretch = stretch_of(Stretched.model_validate({"window": window}), NOW)

    assert stretch.width == timedelta(minutes=minutes)
    assert stretch.first < stretch.last
    assert stretch.last - stretch.width <= NOW <= stretch.last
    assert len(stretch.places) <= MOST_SPANS + 1


@pytest.mark.parametrize("days", [0.004, 0.5, 3, 30, 92, 4000])
def test_any_zoom_has_few_spans_on_whole_minutes(days: float) -> None:
    last = int(NOW.timestamp())
    zoomed = Stretched.model_validate({"from": last - int(days * 86400), "to": last})

    stretch = stretch_of(zoomed, NOW)

    assert 1 <= len(stretch.places) <= MOST_SPANS + 1
    assert stretch.first.second == stretch.first.microsecond == 0
    assert stretch.stride(100) == timedelta(minutes=1)
    assert stretch.stride(10**6) % timedelta(minutes=1) == timedelta()
    assert stretch.width % stretch.stride(10**6) == timedelta()


def test_a_span_that_has_just_begun_counts_the_minutes_that_have_passed() -> None:
    stretch = stretch_of(Stretched.model_validate({"window": "24h"}), NOW)

    assert stretch.minutes(stretch.places[-1]) == 3.5
    assert stretch.minutes(stretch.places[0]) == 4


def test_a_line_stays_within_its_picture() -> None:
    points = [tuple(map(float, point.split(","))) for point in line([0, 5, 2.5]).split()]

    assert points == [(0, 22.5), (50, 1.5), (100, 12)]
    assert line([0, 0]) == "0.0,22.5 100.0,22.5"
    assert area([]) == line([]) == ""


def test_values_are_gathered_without_losing_any() -> None:
    assert gathered([1, 2, 3, 4, 5], 2) == [3, 12]
    assert gathered([1, 2], 10) == [1, 2]
    assert gathered([], 10) == []


def test_bars_are_stacked_from_the_ground() -> None:
    (first, second) = stacked([[2, 2], [0, 1]], 20, 100)

    assert [(bar.y, bar.height) for bar in first] == [(50, 50), (0, 50)]
    assert [(bar.y, bar.height) for bar in second] == [(100, 0), (75, 25)]
    assert first[0].x + first[0].width < second[0].x


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@a", "\tx"])
def test_a_text_is_not_calculated(text: str) -> None:
    assert as_csv(["a"], [[text]]).splitlines()[1].strip('"').startswith("'")


def test_numbers_stay_numbers() -> None:
    assert as_csv(["a", "b"], [[-1, None]]).splitlines() == ["a,b", "-1,"]


@pytest.mark.parametrize("value", ["plain", "two words", 'a "b" \\c', "has*star", "a:b", "ünï"])
def test_a_term_means_exactly_its_value(value: str) -> None:
    (found,) = parse(term("task", value)).terms

    assert found == NameTerm("task", value)
