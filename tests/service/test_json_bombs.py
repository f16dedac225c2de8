"""P5: JSON that is meant to hurt, or to be read in two ways: it is refused in words, or everybody reads the same."""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.domain.access import Scope
from holdfast.interfaces.http.asgi import asgi
from holdfast.testing import TestServer
from service.targets import Target, target
from service.threads import answering
from world.often import times


class Door(NamedTuple):
    """Where jobs are enqueued, and the table they come to."""

    client: httpx.Client
    target: Target

    def bring(self, payload: str | bytes) -> httpx.Response:
        raw = payload.encode("utf-8", "surrogatepass") if isinstance(payload, str) else payload
        return self.client.post("/api/v1/jobs", content=b'{"task": "take", "payload": ' + raw + b"}")

    def stored(self, job_id: str) -> str:
        found = self.target.owner.execute("select payload::text from holdfast.job where id = %s", [job_id])
        return str(found.fetchall()[0][0])


@pytest.fixture(scope="module")
def door(holdfast_server: TestServer) -> Iterator[Door]:
    with (
        target(holdfast_server, Scope.ENQUEUE, Scope.READ) as attacked,
        answering(asgi(attacked.app)) as url,
        httpx.Client(
            base_url=url, headers={**attacked.headers, "Content-Type": "application/json"}, trust_env=False
        ) as client,
    ):
        yield Door(client, attacked)


BOMBS: dict[str, str | bytes] = {
    "deep lists": "[" * 100_000 + "]" * 100_000,
    "deep objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "deep and never closed": '{"a":' * 100_000,
    "a huge exponent": '{"a": 1e400000}',
    "a tiny exponent": '{"a": 1e-400000}',
    "an exponent of many digits": '{"a": 1e' + "9" * 10_000 + "}",
    "a whole number of many digits": '{"a": ' + "9" * 10_000 + "}",
    "a fraction of many digits": '{"a": 0.' + "9" * 10_000 + "}",
    "NUL": '{"a": "\\u0000"}',
    "NUL in a key": '{"\\u0000": 1}',
    "a raw NUL": b'{"a": "\x00"}',
    "half a pair": '{"a": "\\ud800"}',
    "the other half": '{"a": "\\udfff"}',
    "half a pair in a key": '{"\\ud800": 1}',
    "half a pair as bytes": b'{"a": "\xed\xa0\x80"}',
    "a key twice": '{"a": 1, "a": 2}',
    "a key twice in two spellings": '{"a": 1, "\\u0061": 2}',
    "NaN": '{"a": NaN}',
    "Infinity": '{"a": -Infinity}',
    "overlong UTF-8": b'{"a": "\xc0\xaf"}',
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "a comma too many": '{"a": 1,}',
    "a comment": '{"a": 1 /* x */}',
    "apostrophes": "{'a': 1}",
    "octal": '{"a": 017}',
    "a plus": '{"a": +1}',
    "hexadecimal": '{"a": 0x10}',
    "two values": '{"a": 1} {"b": 2}',
    "many members": json.dumps(dict.fromkeys(map(str, range(20_000)), 0)),
    "too much": '{"a": "' + "x" * 300_000 + '"}',
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_in_words(door: Door, bomb: str) -> None:
    before = door.target.jobs()

    answer = door.bring(BOMBS[bomb])

    assert 400 <= answer.status_code < 500, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert len(answer.content) < 4_000
    assert door.target.jobs() == before


# Everything that JSON can say, and more: numbers near every limit, text with every character, nests.
NUMBERS = st.one_of(
    st.integers(),
    st.integers(min_value=10**300, max_value=10**1010),
    st.floats(),
    st.decimals(allow_nan=False, allow_infinity=False).map(float),
)
TEXTS = st.text(st.characters(codec=None), max_size=30)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(TEXTS, inner, max_size=5)),
    max_leaves=12,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=6)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Write an object as some programs would, and sometimes break it somewhere."""
    text = json.dumps(draw(OBJECTS), ensure_ascii=draw(st.booleans()))
    if draw(st.integers(0, 3)) == 0:
        place = draw(st.integers(0, len(text)))
        text = (
            text[:place]
            + draw(st.sampled_from(['"', "}", "[", ",", "\\", "\\u0000", "1e9", "\x00", "-"]))
            + text[place:]
        )
    return text


def exactly(text: str) -> Any:
    """Read JSON without losing a digit; 1.0 and 1 are the same number."""
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


def test_what_is_taken_is_read_the_same_by_everybody(door: Door) -> None:
    taken = 0

    @given(text=texts())
    @settings(max_examples=times(40, 10_000), database=None, suppress_health_check=list(HealthCheck))
    def is_the_same(text: str) -> None:
        nonlocal taken
        answer = door.bring(text)
        if answer.status_code != 201:
            assert 400 <= answer.status_code < 500, (text, answer.text)
            return
        taken += 1
        said, job_id = exactly(text), answer.json()["id"]
        shown = door.client.get(f"/api/v1/jobs/{job_id}").text
        assert exactly(door.stored(job_id)) == said
        assert exactly(shown)["payload"] == said

    is_the_same()

    assert taken > times(5, 1_000)
