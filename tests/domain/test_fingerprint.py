"""Messages of one kind of failure have one fingerprint, and a piece of it finds them all."""

import pytest

from holdfast.domain.fingerprint import fingerprint, fixed_part
from holdfast.domain.redaction import HIDDEN


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("order 17 is gone", "order 4,711 is gone"),
        ("card 'A' has expired", "card 'some other' has expired"),
        ("no user ann@example.com", "no user bob.b@mail.example.org"),
        (
            "job 0190a0a0-0000-7000-8000-00000000abcd is lost",
            "job 0190a0a0-1111-7000-8000-00000000ffff is lost",
        ),
        ("object at 0x7f00aa", "object at 0x12"),
        ("timed out after 3.5 s\nat line 9", "timed out after 12 s\nat line 10"),
        (f"no card {HIDDEN} here", "no card 4111 here"),
        ("commit deadbeef1 failed", "commit 0123456789abcdef failed"),
    ],
)
def test_what_differs_from_job_to_job_is_left_out(one: str, other: str) -> None:
    assert fingerprint(one) == fingerprint(other)
    assert "…" in fingerprint(one)


@pytest.mark.parametrize(
    ("one", "other"),
    [("the bank said no", "the bank said yes"), ("utf8 is bad", "utf16 is bad"), ("facade", "decade")],
)
def test_what_tells_failures_apart_stays(one: str, other: str) -> None:
    assert fingerprint(one) != fingerprint(other)


def test_a_long_message_has_a_short_fingerprint() -> None:
    assert len(fingerprint("no " * 10_000)) <= 160


@pytest.mark.parametrize(
    "message", ["order 17 of ann@example.com timed out", "no", "", "17", 'said "no" to 5']
)
def test_the_fixed_part_stands_in_the_message(message: str) -> None:
    assert fixed_part(fingerprint(message)) in message
