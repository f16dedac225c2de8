"""Addresses are written of what came: whatever names, prefixes and bytes it has."""

from typing import Any

import pytest
from starlette.requests import Request

from holdfast.interfaces.http.address import here, parts, prefix, query_without


def came(path: str, root_path: str = "", query_string: bytes = b"") -> Request:
    scope: dict[str, Any] = {"type": "http", "method": "GET", "path": path, "headers": []}
    return Request({**scope, "root_path": root_path, "query_string": query_string})


@pytest.mark.parametrize(
    ("path", "root_path", "before", "within"),
    [
        ("/queues/a", "", "", "/queues/a"),
        ("/queues/50%25 <off>?#", "", "", "/queues/50%2525%20%3Coff%3E%3F%23"),
        ("/ops/queues/a", "/ops", "/ops", "/queues/a"),
        ("/ops/queues/a", "/ops/", "/ops", "/queues/a"),
        ("/ops", "/ops", "/ops", "/"),
        ("/my ops/queues", "/my ops", "/my%20ops", "/queues"),
        # A server may leave out of the path what it is mounted at.
        ("/queues/a", "/ops", "/ops", "/queues/a"),
        ("/queues/a", "/q", "/q", "/queues/a"),
        # A browser, and a proxy that looks at paths, would go up there.
        ("/queues/../queues/a", "", "", "/queues/~../queues/a"),
        ("/ops/queues/..", "/ops", "/ops", "/queues/~.."),
        ("/queues/~../a/./b", "", "", "/queues/~../a/~./b"),
    ],
)
def test_a_path_is_written_as_an_address_has_it(path: str, root_path: str, before: str, within: str) -> None:
    request = came(path, root_path)

    assert (prefix(request), here(request)) == (before, within)


def test_names_are_read_as_they_were_written_and_ids_as_they_are() -> None:
    request = came("/x")
    request.scope["path_params"] = {"name": "~../a", "number": 7}

    assert parts(request) == {"name": "../a", "number": 7}


@pytest.mark.parametrize(
    ("query", "written"),
    [
        (b"", ""),
        (b"panel=x", ""),
        (b"q=a%26panel=b&panel=x&page=2", "?q=a%26panel=b&page=2"),
        (b"panels=x&q=", "?panels=x&q="),
        (b"q=\xff&panel", "?q=%FF"),
        ("q=ü%C3%BC+'\"<".encode(), "?q=%C3%BC%C3%BC+'\"<"),
    ],
)
def test_what_was_asked_is_written_without_the_panel(query: bytes, written: str) -> None:
    assert query_without(came("/jobs", query_string=query), "panel") == written
