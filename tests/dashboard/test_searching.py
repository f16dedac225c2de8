"""Searches as the list of jobs writes and says them."""

import pytest

from holdfast.domain.search import parse
from holdfast.domain.states import Status
from holdfast.interfaces.http.dashboard.columns import MOST_FIELDS, USUAL, read_columns
from holdfast.interfaces.http.dashboard.searching import FIELDS, in_words, statuses_of, with_statuses, within
from holdfast.store.inspect import Given


@pytest.mark.parametrize(
    "text",
    [
        "", "task:charge", 'label:"two words" tag:vip', r'"status:failed" subject:"a \"b\" c"', "payload.a.b:42 age:<1h",
        "STATUS:FAILED task:x", "task:x status:failed,retry 018f2a3b",
    ],
)  # fmt: skip
def test_other_states_leave_the_rest_of_a_search_as_it_is(text: str) -> None:
    terms = [
        term for term in parse(text).terms if not statuses_of(parse(text)) or "StatusTerm" not in str(term)
    ]

    changed = parse(with_statuses(text, (Status.FAILED, Status.WAITING_FOR_APPROVAL)))
    bare = parse(with_statuses(text, ()))

    assert statuses_of(changed) == (Status.FAILED, Status.WAITING_FOR_APPROVAL)
    assert list(changed.terms[1:]) == list(bare.terms) == terms


@pytest.mark.parametrize(
    ("text", "reach", "whole"),
    [
        ("", "7d", "since:7d"), ("status:failed", "7d", "status:failed since:7d"), ("order-42", "7d", "order-42"),
        ("order-42", "24h", "order-42 since:24h"), ("order-42", "all", "order-42 since:36500d"), ("status:failed", "all", "status:failed"),
        ("", "all", ""), ("age:<2h", "7d", "age:<2h"), ("id:018f2a", "24h", "id:018f2a"),
    ],
)  # fmt: skip
def test_a_search_looks_back_as_far_as_was_chosen_unless_it_says_itself(
    text: str, reach: str, whole: str
) -> None:
    assert within(text, reach) == whole


def test_every_kind_of_term_has_words() -> None:
    for example, _ in FIELDS:
        assert in_words(parse(example)).startswith("Jobs ")
    assert in_words(parse("")) == "All jobs"
    assert in_words(parse("status:failed,retry task:charge* since:7d")) == (
        "Jobs that are failed or retry, whose task is charge*, created in the last 7 days"
    )


def test_columns_are_read_with_the_task_and_without_what_is_unknown() -> None:
    many = ",".join(f"payload.f{n}" for n in range(MOST_FIELDS + 3))

    assert [column.name for column in read_columns("")] == list(USUAL)
    assert [column.name for column in read_columns("queue, payload.order.id ,nonsense,payload.,meta.x")] == [
        "task", "queue", "payload.order.id", "meta.x",
    ]  # fmt: skip
    assert len(read_columns(many)) == MOST_FIELDS + 1


def test_a_member_is_written_whole_unless_it_is_long() -> None:
    (_, number, name, inner) = read_columns("payload.order.id,meta.name,payload.order")
    given = Given({"order": {"id": 12345678901234567890, "x": "y" * 200}}, {"name": "Ada"})

    assert (number.of(given), name.of(given)) == ("12345678901234567890", "Ada")
    assert len(inner.of(given) or "") == 80
    assert number.of(Given(None, None)) is number.of(None) is None
