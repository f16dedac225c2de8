"""The search grammar: what is understood, and how what is not says where and what to write instead."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.domain.search import (
    AttemptTerm,
    BadSearch,
    ErrorTerm,
    IdTerm,
    JsonTerm,
    NameTerm,
    Search,
    StatusTerm,
    Term,
    TimeTerm,
    WordTerm,
    parse,
)
from holdfast.domain.states import Status
from world.often import times
from world.searches import SEARCHES, written


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        ("  ", []),
        ("status:failed", [StatusTerm((Status.FAILED,))]),
        ("STATUS:Failed,retry,failed", [StatusTerm((Status.FAILED, Status.RETRY))]),
        ("queue:billing task:charge*", [NameTerm("queue", "billing"), NameTerm("task", "charge*", has_gaps=True)]),
        ('task:"a b*"', [NameTerm("task", "a b*")]),
        ("tag:vip tag:eu", [NameTerm("tag", "vip"), NameTerm("tag", "eu")]),
        ("subject:booking:7", [NameTerm("subject", "booking:7")]),
        ("attempt:2 attempt:>=1", [AttemptTerm("=", 2), AttemptTerm(">=", 1)]),
        ("age:<1h", [TimeTerm("since", timedelta(hours=1))]),
        ("age:>2d", [TimeTerm("until", timedelta(days=2))]),
        ("since:2h", [TimeTerm("since", timedelta(hours=2))]),
        ("until:2030-01-31T10:00Z", [TimeTerm("until", datetime(2030, 1, 31, 10, tzinfo=UTC))]),
        ("error:Timeout worker:web-3", [ErrorTerm("Timeout"), NameTerm("worker", "web-3")]),
        ("payload.order.id:42", [JsonTerm("payload", ("order", "id"), ("42", 42))]),
        ('payload.a:"42"', [JsonTerm("payload", ("a",), ("42",))]),
        ("payload.a:1.5", [JsonTerm("payload", ("a",), ("1.5", 1.5))]),
        ("payload.a:true payload.b:null", [JsonTerm("payload", ("a",), ("true", True)), JsonTerm("payload", ("b",), ("null", None))]),
        ("payload.a:007", [JsonTerm("payload", ("a",), ("007",))]),
        ('meta.x:""', [JsonTerm("metadata", ("x",), ("",))]),
        ("id:018f2A-3b", [IdTerm(UUID("018f2a3b" + "0" * 24), UUID("018f2a3b" + "f" * 24))]),
        ('ana "two words"', [WordTerm("ana"), WordTerm("two words")]),
        (r'"say \"hi\" \\"', [WordTerm('say "hi" \\')]),
        ('"018f2a3b"', [WordTerm("018f2a3b")]),
        ("018f2a3b", [WordTerm("018f2a3b", IdTerm(UUID("018f2a3b" + "0" * 24), UUID("018f2a3b" + "f" * 24)))]),
    ],
)  # fmt: skip
def test_a_search_is_understood(text: str, terms: list[Term]) -> None:
    assert parse(text) == Search(tuple(terms))


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("task:a stats:failed", 7, "there is no field stats: did you mean status:?"),
        ("http://x", 0, 'quote them: "http://x"'),
        ("status:faild", 7, "did you mean failed?"),
        ("status:failed,", 7, "there is no status ''"),
        ("status:failed status:retry", 14, "write status:failed,retry for either"),
        ("task:", 5, 'task: says nothing: write task:value, or task:"a value with spaces"'),
        ("task:*", 5, "leave it out"),
        ("tag:v*", 4, 'quote it: tag:"v*"'),
        ("attempt:two", 8, "like attempt:2 or attempt:>2"),
        ("attempt:٣", 8, "like attempt:2 or attempt:>2"),
        ("attempt:99999999", 8, "takes a number"),
        ("age:1h", 4, "write age:<1h for younger, age:>1h for older"),
        ("age:<soon", 4, "like age:<1h or age:>7d"),
        ("since:yesterday", 6, "like since:2h, or a time, like since:2030-01-31T10:00Z"),
        ("since:2030-01-31T10:00", 6, "write 2030-01-31T10:00Z or 2030-01-31T10:00+01:00"),
        ("id:xyz", 3, "at least its first 6 digits"),
        ("payload:42", 0, "write payload.order_id:42"),
        ("payload.a:", 10, "write payload.a:42"),
        ("payload" + ".a" * 11 + ":1", 0, "at most 10 members deep"),
        ("task.x:1", 0, "payload.x:value looks into the payload"),
        ('"open', 0, 'close it with "'),
        ('"a"b', 3, "a space is missing after the quotation"),
        ('a"b"', 1, "quote all of it"),
        ('x ""', 2, "these quotation marks are empty"),
        ("a\x00b", 1, "cannot stand in a search"),
        ("a\ud800", 1, "cannot stand in a search"),
        ("a " * 21, 40, "at most 20 terms"),
        ("a" * 1001, 0, "at most 1,000 characters, this one 1,001"),
    ],
)
def test_a_search_that_is_not_understood_says_where_and_what_to_write(
    text: str, position: int, problem: str
) -> None:
    with pytest.raises(BadSearch) as refused:
        parse(text)

    assert (refused.value.position, problem in refused.value.problem) == (position, True), (
        refused.value.problem
    )
    assert f"(at character {position + 1})" in str(refused.value)


@given(
    st.text(max_size=60) | st.from_regex(r'([a-z]{2,8}(\.[a-z]+)?:)?[<>=]*["\\\w*:.-]{0,12}( [a-z]+:\S+)*')
)
def test_every_text_is_understood_or_refused_in_words(text: str) -> None:
    position = 0
    try:
        parse(text)
    except BadSearch as error:
        position = error.position

    assert 0 <= position <= len(text)


@pytest.mark.parametrize(
    ("text", "windowed"),
    [
        ("", False),
        ("status:failed error:Timeout", False),
        ("error:Timeout", True),
        ("error:Timeout age:<30d", False),
        ("queue:billing", True),
        ("task:a*", True),
        ("018f2a3b", True),
    ],
)
def test_only_the_newest_week_is_looked_at_when_nothing_narrows_a_search_down(
    text: str, windowed: bool
) -> None:
    assert parse(text).is_windowed is windowed


@given(SEARCHES)
def test_what_is_written_down_is_read_as_it_was_meant(terms: list[Term]) -> None:
    assert parse(" ".join(map(written, terms))) == Search(tuple(terms))


@given(st.text(alphabet='statusgepyload.x:<>="*\\-0123456789abc ,\x00\ud800é\t\n'))
@settings(max_examples=times(150, 20_000))
def test_whatever_is_typed_is_understood_or_refused_as_a_search(text: str) -> None:
    refused: BadSearch | None = None
    terms: tuple[Term, ...] = ()
    try:
        terms = parse(text).terms
    except BadSearch as error:
        refused = error

    if refused is None:
        assert bool(terms) == bool(text.strip())
    else:
        assert 0 <= refused.position <= len(text)
        assert refused.problem
