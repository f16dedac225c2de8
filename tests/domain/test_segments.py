"""A name is one segment of a path: whoever resolves the address comes to that name and to nothing else."""

import posixpath
from urllib.parse import unquote, urljoin

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.domain.segments import leading_there, name_of, segment_of
from world.often import times

_PARTS = st.sampled_from([*"./~%\\?#é ", "..", "edit", "2e", "2F"])
NAMES = st.lists(_PARTS, min_size=1, max_size=12).map("".join)


@given(NAMES)
@example(".")
@example("..")
@example("%2E%2E")
@example("../queues/mail")
@example("~~..")
@example("nightly/edit")
@settings(max_examples=times(100, 2000), deadline=None)
def test_a_name_is_read_as_it_was_written(name: str) -> None:
    address = f"/queues/{segment_of(name)}/pause"

    resolved = urljoin("https://jobs.test/a/b", address)
    path = unquote(resolved.removeprefix("https://jobs.test"))

    assert resolved.count("/") == address.count("/") + 2
    assert name_of(path.removeprefix("/queues/").removesuffix("/pause")) == name


@given(NAMES)
@settings(max_examples=times(100, 2000), deadline=None)
def test_what_was_asked_for_is_written_so_that_it_is_found_again(name: str) -> None:
    came = f"/queues/{name}"

    written = leading_there(came)

    assert {".", ".."}.isdisjoint(written.split("/"))
    assert name_of(written.removeprefix("/queues/")) == name_of(name)


@pytest.mark.parametrize("name", ["mail", "a/b", "50%", "...", ".a", "a.", "~", "~mail", "editor", "Straße"])
def test_what_leads_nowhere_else_is_only_escaped(name: str) -> None:
    assert unquote(segment_of(name)) == name


def test_not_even_a_proxy_that_unescapes_and_resolves_comes_to_another_name() -> None:
    path = f"/queues/{unquote(segment_of('../queues/mail'))}"

    assert posixpath.normpath(path) == path
