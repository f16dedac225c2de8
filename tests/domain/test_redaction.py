"""Paths into payloads, and what is hidden at their ends."""

import json
from typing import Any

import pytest

from holdfast import Configuration, Holdfast
from holdfast.domain.redaction import HIDDEN, Hidden, hidden_words, redacted, scrubbed

PAYLOAD = {
    "card": {"number": "4111 1111", "cvc": 123, "owner": None},
    "items": [{"pin": "9876"}, {"pin": 1}],
    "n": 1,
}
SPECIAL = 'a+b "é\n'


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
    assert hidden_words({"pins": ["987654", "12"]}, ["pins"]) == ["987654"]


@pytest.mark.parametrize(
    "text",
    [
        "GET /?key=a%2Bb+%22%C3%A9%0A failed",
        "GET /?key=a%2Bb%20%22%C3%A9%0A failed",
        str({"key": SPECIAL}),
        json.dumps({"key": SPECIAL}),
        json.dumps({"key": SPECIAL}, ensure_ascii=False),
    ],
)
def test_a_word_is_hidden_as_python_json_and_addresses_spell_it(text: str) -> None:
    words = hidden_words({"key": SPECIAL}, ["key"])

    assert HIDDEN in scrubbed(text, words)
    assert "a" not in scrubbed(text, words).replace(HIDDEN, "").replace("failed", "")


def test_each_line_of_a_long_secret_is_hidden_by_itself() -> None:
    words = hidden_words({"key": "-----BEGIN KEY-----\nMIIEvQIBADANBg\nshort\n"}, ["key"])

    assert scrubbed(["| MIIEvQIBADANBg", "short"], words) == [f"| {HIDDEN}", "short"]


def test_scrubbing_reaches_names_and_numbers() -> None:
    assert scrubbed({"pin 987654": 987654, "n": 98765, "is": True}, ["987654"]) == {
        f"pin {HIDDEN}": HIDDEN,
        "n": 98765,
        "is": True,
    }


def test_what_an_encrypted_payload_hides_is_known_by_its_place_alone() -> None:
    hidden = Hidden.of({"$encrypted": {"key": "2026-01", "text": "c2VjcmV0"}}, ["*"])

    assert hidden.words == ()
    assert hidden.value({"a": 1}) == {"a": HIDDEN}


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
