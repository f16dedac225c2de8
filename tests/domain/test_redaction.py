"""Paths into payloads, and what is hidden at their ends."""

from typing import Any

import pytest

from holdfast import Configuration, Holdfast
from holdfast.domain.redaction import HIDDEN, hidden_words, redacted, scrubbed

PAYLOAD = {
    "card": {"number": "4111 1111", "cvc": 123, "owner": None},
    "items": [{"pin": "9876"}, {"pin": 1}],
    "n": 1,
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("card", {**PAYLOAD, "card": HIDDEN}),
        ("card.number", {**PAYLOAD, "card": {**PAYLOAD["card"], "number": HIDDEN}}),  # type: ignore[dict-item]
        ("card.*", {**PAYLOAD, "card": {"number": HIDDEN, "cvc": HIDDEN, "owner": None}}),
        ("items.*.pin", {**PAYLOAD, "items": [{"pin": HIDDEN}, {"pin": HIDDEN}]}),
        ("items.pin", {**PAYLOAD, "items": [{"pin": HIDDEN}, {"pin": HIDDEN}]}),
        ("*", dict.fromkeys(PAYLOAD, HIDDEN)),
        ("card.number.deeper", PAYLOAD),
        ("nothing", PAYLOAD),
    ],
)
def test_a_path_hides_what_it_names_and_nothing_else(path: str, expected: dict[str, Any]) -> None:
    assert redacted(PAYLOAD, [path]) == expected


def test_nothing_is_hidden_by_no_paths_and_the_payload_itself_stays() -> None:
    redacted(PAYLOAD, ["card"])

    assert redacted(PAYLOAD, None) is PAYLOAD
    assert PAYLOAD["n"] == 1


def test_words_are_what_stands_at_the_ends_of_paths_and_short_ones_are_left() -> None:
    assert hidden_words(PAYLOAD, ["card", "items.*.pin"]) == ["4111 1111", "9876"]


def test_scrubbing_reaches_every_text_of_an_error() -> None:
    error = {"message": "card 4111 1111 refused", "more": ["4111 1111", 1]}

    assert scrubbed(error, ["4111 1111"]) == {"message": f"card {HIDDEN} refused", "more": [HIDDEN, 1]}


@pytest.mark.parametrize("end", ["", " … (cut)", " … (cut)\nmore"])
def test_half_a_word_at_the_end_of_a_text_that_was_cut_is_hidden(end: str) -> None:
    assert scrubbed(f"card 4111 1{end}", ["4111 1111"]) == f"card {HIDDEN}{end}"
    assert scrubbed(f"card 411{end}", ["4111 1111"]) == f"card 411{end}"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"redact": ["card."]}, "a path is like"),
        ({"redact": "card"}, "takes a list"),
        ({"redact": ["other"]}, "which it does not take"),
        ({"redact": ["card.number"], "feed_fields": ["card"]}, "choose one"),
        ({"redact": ["*"], "feed_fields": ["card"]}, "choose one"),
    ],
)
def test_a_redaction_that_cannot_hold_is_refused_where_the_task_is_declared(
    options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(Configuration, match=problem):

        @Holdfast().task(**options)
        def pay(card: dict[str, str]) -> None: ...
