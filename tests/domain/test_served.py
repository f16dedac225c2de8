"""A name is read as it was written, whatever it holds; what was written before there was an escape reads as it did."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.domain.served import BadEntry, read_served, written_queue, written_served
from world.often import times

NAMES = st.text(st.sampled_from([*'\\,: \t\n/"é', "5", "a"]), min_size=1, max_size=8)


@given(st.dictionaries(NAMES, st.integers(1, 99), min_size=1, max_size=3))
@example({"a,b": 1, "a:5": 2, "a\\,": 3, " a ": 4, ":": 5, ",": 6, "\\": 7, " ": 8})
@settings(max_examples=times(200, 5000), deadline=None)
def test_queues_are_read_as_they_were_written(served: dict[str, int]) -> None:
    assert read_served(written_served(served)) == served


@given(NAMES)
@settings(max_examples=times(200, 5000), deadline=None)
def test_a_queue_is_read_as_it_was_written(name: str) -> None:
    assert read_served(written_queue(name)) == {name: None}


@pytest.mark.parametrize("name", ["billing", "a/b", "a b", "50%", "Straße", ".a", "..", "#", "a?b=c"])
def test_a_name_without_separators_needs_nothing(name: str) -> None:
    assert written_queue(name) == name


@pytest.mark.parametrize(
    ("line", "served"),
    [
        ("billing:5,default:20", {"billing": 5, "default": 20}),
        (" billing:5 , default ", {"billing": 5, "default": None}),
        ("urn:mail:5", {"urn:mail": 5}),
        (r"corp\mail", {r"corp\mail": None}),
        (r"mail\,eu,urn\:mail,a\\b", {"mail,eu": None, "urn:mail": None, r"a\b": None}),
    ],
)
def test_a_line_is_read(line: str, served: dict[str, int | None]) -> None:
    assert read_served(line) == served


@pytest.mark.parametrize(
    "line", [",", "billing,", "billing:", ":5", "billing:0", "billing:many", "a:b", "a:-1", "a: 5"]
)
def test_what_is_no_queue_is_refused(line: str) -> None:
    with pytest.raises(BadEntry):
        read_served(line)
