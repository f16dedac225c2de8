"""What may be shown of an event, and how many come in a second."""

from typing import Any

import pytest

from holdfast.domain.bucket import Bucket
from holdfast.domain.webhook import HIDDEN, SignedRequest, field_of, redacted

SENT: dict[str, Any] = {
    "id": "evt_1",
    "data": {
        "object": {"client_secret": "x", "Email": "a@b", "items": [{"price": 1, "owner": {"name": "Ann"}}]}
    },
    "livemode": True,
    "has_password": False,
    "token": None,
}


def test_what_a_fields_name_says_is_private_is_hidden_wherever_it_stands() -> None:
    shown = redacted(SENT)

    assert shown["data"]["object"] == {
        "client_secret": HIDDEN, "Email": HIDDEN, "items": [{"price": 1, "owner": {"name": HIDDEN}}],
    }  # fmt: skip
    assert (shown["id"], shown["livemode"], shown["has_password"], shown["token"]) == (
        "evt_1",
        True,
        False,
        None,
    )


@pytest.mark.parametrize(
    ("path", "hidden"),
    [
        ("id", {"id": HIDDEN}),
        ("data.*", {"data": {"object": HIDDEN}}),
        ("data.object.items.price", {"data": {"object": {"items": [{"price": HIDDEN}]}}}),
        ("object.items", {}),
        ("*.object", {"data": {"object": HIDDEN}}),
    ],
)
def test_paths_count_from_the_outermost_object_and_pass_through_lists(
    path: str, hidden: dict[str, Any]
) -> None:
    sent = {"id": 1, "data": {"object": {"items": [{"price": 1}]}}}

    assert redacted(sent, [path]) == {**sent, **hidden}


def test_what_is_shown_is_a_copy() -> None:
    redacted(SENT, ["data"])

    assert SENT["data"]["object"]["client_secret"] == "x"


def test_a_field_is_a_text_or_a_whole_number() -> None:
    body = {"event": {"id": 7, "is": True, "name": "n", "list": []}}

    assert [field_of(body, f"event.{name}") for name in ("id", "is", "name", "list", "no")] == [
        "7",
        None,
        "n",
        None,
        None,
    ]
    assert field_of([], "id") is None


def test_a_header_that_came_twice_is_as_none() -> None:
    request = SignedRequest.of([("X-A", "1"), ("x-a", "1"), ("X-B", "2")], b"", 0)

    assert (request.header("x-a"), request.header("X-b")) == (None, "2")


def test_a_bucket_gives_its_burst_and_then_so_many_a_second() -> None:
    bucket = Bucket(per_second=2, burst=3)

    assert [bucket.take(10.0) for _ in range(4)] == [0, 0, 0, 0.5]
    assert [bucket.take(10.5), bucket.take(10.5)] == [0, 0.5]
    assert [bucket.take(5.0), bucket.take(1000.0)] == [0.5, 0]  # a clock that goes back gives nothing
