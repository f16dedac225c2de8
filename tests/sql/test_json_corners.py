"""JSON at its corners: what our reader takes, jsonb takes and gives back as the same; what jsonb refuses, our reader has refused."""

import json
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.domain.errors import BadPayload
from holdfast.domain.payload import check_json_object
from sql.support import Machine
from world.often import times, within

# Whether each is taken; jsonb alone takes more: the last of two equal keys, any depth, numbers of a hundred thousand digits.
CORNERS: dict[str, tuple[str, bool]] = {
    "a whole number beyond 2**53": ('{"a": 9007199254740993}', True),
    "a whole number beyond 2**64": ('{"a": 18446744073709551617}', True),
    "minus nothing": ('{"a": -0}', True),
    "minus nothing, with a point": ('{"a": -0.0}', True),
    "a number that no float holds": ('{"a": 0.1000000000000000055511151231257827}', True),
    "the largest float": ('{"a": 1.7976931348623157e308}', True),
    "beyond all floats": ('{"a": 1e400}', False),
    "below all floats": ('{"a": 1e-400}', False),
    "nothing, as large as can be": ('{"a": 0e999}', True),
    "nothing, as small as can be": ('{"a": -0E-999}', True),
    "nothing, larger than that": ('{"a": 0.0e002824585898}', False),
    "nothing, smaller than that": ('{"a": -0.0E-999}', False),
    "few digits that are many in full": ('{"a": 1.' + "0" * 700 + "e-300}", False),
    "a thousand digits": ('{"a": ' + "9" * 1000 + "}", True),
    "a thousand and one digits": ('{"a": ' + "9" * 1001 + "}", False),
    "NUL": ('{"a": "\\u0000"}', False),
    "NUL in a key": ('{"\\u0000": 1}', False),
    "a backslash before u0000": ('{"a": "\\\\u0000"}', True),
    "half a pair": ('{"a": "\\ud800"}', False),
    "the other half first": ('{"a": "\\udc00\\ud800"}', False),
    "a whole pair": ('{"a": "\\ud83d\\ude00"}', True),
    "NaN": ('{"a": NaN}', False),
    "Infinity": ('{"a": Infinity}', False),
    "a key twice": ('{"a": 1, "a": 2}', False),
    "a key twice in two spellings": ('{"a": 1, "\\u0061": 2}', False),
    "64 levels": ('{"a": ' * 63 + "[]" + "}" * 63, True),
    "65 levels": ('{"a": ' * 64 + "[]" + "}" * 64, False),
    "an empty key": ('{"": 1}', True),
    "every escape": ('{"a": "\\"\\\\\\/\\b\\f\\n\\r\\t"}', True),
    "line separators": ('{"a": "\u2028\u2029"}', True),
    "no object": ("[]", False),
    "nothing": ("", False),
}


def exactly(text: str) -> Any:
    """Read JSON without losing a digit; 1.0 and 1 are the same number, and so are 0 and -0."""
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


def is_taken(text: str) -> bool:
    try:
        check_json_object(text)
    except BadPayload:
        return False
    return True


def as_jsonb(machine: Machine, text: str) -> str | None:
    """Give back what jsonb makes of it; None when it refuses."""
    if "\x00" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        return None  # no text of PostgreSQL's at all
    try:
        with machine.connection.transaction(force_rollback=True):
            return str(machine.value("select (%s::text)::jsonb::text", text))
    except psycopg.DataError:
        return None


def must_agree(machine: Machine, text: str) -> bool:
    """Fail when jsonb has no room for what our reader takes, or gives it back as something else."""
    if not is_taken(text):
        return False
    kept = as_jsonb(machine, text)
    assert kept is not None, f"jsonb refuses {text!r}, which we take"
    assert exactly(kept) == exactly(text)
    assert is_taken(kept), f"jsonb gives {text!r} back as what we refuse"
    return True


@pytest.mark.parametrize("corner", CORNERS)
def test_a_corner_is_taken_by_both_or_refused_before_jsonb_sees_it(machine: Machine, corner: str) -> None:
    text, wanted = CORNERS[corner]

    assert must_agree(machine, text) is wanted


NUMBERS = st.one_of(
    st.integers(),
    st.integers(min_value=10**300, max_value=10**1010),
    st.floats(),
    st.decimals(allow_nan=False, allow_infinity=False).map(float),
)
TEXTS = st.text(st.characters(codec=None), max_size=20)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=10,
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Write an object as some programs would, and sometimes break it somewhere."""
    value = draw(st.dictionaries(TEXTS, VALUES, max_size=5))
    text = json.dumps(value, ensure_ascii=draw(st.booleans()))
    if draw(st.integers(0, 2)) == 0:
        place = draw(st.integers(0, len(text)))
        broken = draw(st.sampled_from(['"', "}", "[", ",", "\\", "\\u0000", "\\ud800", "1e9", "e", "-", "0"]))
        text = text[:place] + broken + text[place:]
    return text


@pytest.mark.timeout(within(900))
def test_whatever_is_taken_is_the_same_in_jsonb(machine: Machine) -> None:
    taken = refused = 0

    @given(text=documents())
    @settings(max_examples=times(100, 20_000), database=None, suppress_health_check=list(HealthCheck))
    def agrees(text: str) -> None:
        nonlocal taken, refused
        if must_agree(machine, text):
            taken += 1
        else:
            refused += 1

    agrees()

    assert taken > times(10, 2_000)
    assert refused > times(10, 2_000)
