"""JSON that somebody typed or sent."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.errors import BadPayload
from holdfast.domain.json_rules import is_too_deep
from holdfast.domain.payload import check_json_object


def test_an_object_is_returned_as_it_was_written() -> None:
    text = '{ "b": [1.50, {"c": null}], "a": "é\\n" }'

    assert check_json_object(text) == text


def test_bytes_are_read_as_utf_8() -> None:
    assert check_json_object('{"a":"é"}'.encode()) == '{"a":"é"}'


def test_a_byte_order_mark_is_dropped() -> None:
    assert check_json_object("\ufeff{}") == "{}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "payload: is empty"),
        (" \n", "payload: is empty"),
        ("[1]", "payload: expected a JSON object such as {}, got [1]"),
        ("null", "payload: expected a JSON object such as {}, got None"),
        (
            "{'a': 1}",
            "payload: is not valid JSON: Expecting property name enclosed in double quotes at line 1 column 2",
        ),
        ('{"a": 1}x', "payload: is not valid JSON: Extra data"),
        ('{"a": "\n"}', "payload: is not valid JSON: Invalid control character"),
        (b"\xff", "payload: is not UTF-8 text, at byte 0"),
        ('{"a": 1}'.encode("utf-16-le"), "payload: is not valid JSON"),
        ('{"a": [NaN]}', "a[0]: is NaN, which JSON cannot hold"),
        ('{"a": {"b": -Infinity}}', "a.b: is -Infinity, which JSON cannot hold"),
        ('{"a": 1e999}', "a: is '1e999', outside what a number can hold"),
        ('{"a": 1e-999}', "a: is '1e-999', outside what a number can hold"),
        ('{"a": "\\u0000"}', "a: contains the character \\u0000"),
        ('{"\\u0000": 1}', "payload: a key contains the character \\u0000"),
        ('{"a": ["\\ud800"]}', "a[0]: contains half of a surrogate pair"),
        ('{"a": "\ud800"}', "a: contains half of a surrogate pair"),
        ('{"a": {"b": 1, "b": 2}}', "payload: has the key 'b' twice in one object"),
        ('{"a": ' + "9" * 1001 + "}", "a: is a number of 1,001 digits, more than the 1,000 allowed"),
        ('{"a": 0.' + "9" * 1000 + "}", "a: is a number of 1,001 digits, more than the 1,000 allowed"),
        ('{"a": "' + "x" * 262_144 + '"}', "payload: is 262,153 bytes of JSON"),
        ('{"a":' * 65 + "1" + "}" * 65, "a.a.a.a.a.a.a.a.a.…: is nested deeper than 64 levels"),
        ('{"a":' * 20_000 + "1" + "}" * 20_000, "payload: is nested deeper than 64 levels"),
    ],
    ids=range(23),
)
def test_what_jsonb_could_not_hold_is_refused_with_its_place(text: str | bytes, message: str) -> None:
    with pytest.raises(BadPayload) as caught:
        check_json_object(text)

    assert str(caught.value).startswith(message)
    str(caught.value).encode()


@pytest.mark.parametrize(
    "text",
    [
        '{"a":' * 64 + "1" + "}" * 64,
        '{"a": ' + "9" * 1000 + "}",
        '{"a": 0e-999}',
        '{"a": "\\ud83d\\ude00"}',
        '{"a": "\\\\u0000"}',
    ],
)
def test_what_is_within_the_limits_is_accepted(text: str) -> None:
    assert check_json_object(text) == text


def test_brackets_in_text_do_not_hide_how_deep_a_value_is() -> None:
    value: object = 1
    for _ in range(65):
        value = ["]", value, "["]

    assert is_too_deep(json.dumps(value).encode())


@given(st.dictionaries(st.text(st.characters(exclude_characters="\x00", codec="utf-8")), st.integers()))
def test_whatever_json_dumps_writes_is_accepted(value: dict[str, int]) -> None:
    assert json.loads(check_json_object(json.dumps(value))) == value
