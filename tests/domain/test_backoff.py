"""How long a failed job waits."""

import math
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.backoff import LONGEST_DELAY, Backoff, BackoffRule, Delays, as_backoff
from holdfast.domain.errors import BadInput

CHANCES = st.floats(min_value=0, max_value=1, exclude_max=True)
SECONDS = st.floats(min_value=0, max_value=LONGEST_DELAY)


def test_the_default_schedule_without_jitter_doubles_from_one_second_to_five_minutes() -> None:
    backoff = Backoff(jitter=False)

    schedule = [backoff.delay(retry, chance=0.5) for retry in range(11)]

    assert schedule == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


def test_jitter_is_on_unless_switched_off() -> None:
    assert Backoff().delay(3, chance=0.25) == 2.0


@given(retry=st.integers(0, 10**400), chance=CHANCES)
def test_full_jitter_lies_between_nothing_and_the_delay_whatever_the_retry(retry: int, chance: float) -> None:
    ceiling = Backoff(jitter=False).delay(retry, chance)

    assert 0 <= Backoff().delay(retry, chance) <= ceiling <= 300


@given(base=SECONDS, multiplier=st.floats(1, 1e300), cap=SECONDS, retry=st.integers(0, 10**9), chance=CHANCES)
def test_no_delay_is_over_the_cap(
    base: float, multiplier: float, cap: float, retry: int, chance: float
) -> None:
    assert 0 <= Backoff(base, multiplier, cap).delay(retry, chance) <= cap


def test_a_base_of_zero_never_waits() -> None:
    assert Backoff(base=0, jitter=False).delay(10**6, chance=0.9) == 0


def test_the_last_delay_of_a_list_repeats() -> None:
    rule = as_backoff([1, 5, 25])

    assert [rule.delay(retry, chance=0.5) for retry in range(5)] == [1, 5, 25, 25, 25]


def test_a_list_has_jitter_when_asked() -> None:
    rule = Backoff.of([1, 5, 25], jitter=True)

    assert [rule.delay(retry, chance=0.5) for retry in range(4)] == [0.5, 2.5, 12.5, 12.5]


def test_a_list_may_hold_timedeltas() -> None:
    assert Delays((timedelta(minutes=1), 5)).delay(0, chance=0) == 60


@pytest.mark.parametrize("value", [60, 60.0, timedelta(minutes=1)])
def test_one_number_is_the_delay_of_every_retry_exactly(value: Any) -> None:
    rule = as_backoff(value)

    assert [rule.delay(retry, chance=0.1) for retry in (0, 7)] == [60, 60]


def test_a_function_sees_the_retry_and_its_error() -> None:
    rule = as_backoff(lambda retry, error: timedelta(seconds=retry if isinstance(error, KeyError) else 99))

    assert rule.delay(7, chance=0, error=KeyError()) == 7


def test_a_function_is_called_with_an_error_even_where_none_was_recorded() -> None:
    rule = as_backoff(lambda _retry, error: float(len(error.args)))

    assert rule.delay(0, chance=0) == 1


@pytest.mark.parametrize("answer", [math.nan, -1, None, "60", True])
def test_a_functions_nonsense_gives_way_to_the_default_schedule(answer: Any) -> None:
    assert as_backoff(lambda _retry, _error: answer).delay(3, chance=0.5) == 4


def test_a_function_that_raises_gives_way_to_the_default_schedule() -> None:
    def broken(retry: int, error: BaseException) -> float:
        raise KeyError(retry)

    assert as_backoff(broken).delay(3, chance=0.5) == 4


def test_a_rule_is_used_as_it_is() -> None:
    rule = Backoff(base=3)

    assert as_backoff(rule) is rule
    assert isinstance(rule, BackoffRule)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (-1, "between 0 and"),
        (math.nan, "between 0 and"),
        (math.inf, "between 0 and"),
        (timedelta(seconds=-1), "between 0 and"),
        (LONGEST_DELAY + 1, "between 0 and"),
        ([], "empty"),
        ([1, -2], r"delays\[1\] must be between"),
        ([1, "2"], r"delays\[1\] must be seconds"),
        ([True], r"delays\[0\] must be seconds"),
        (True, "must be seconds"),
        (None, "expected Backoff"),
        ("60", "expected Backoff"),
        (Backoff, "call it"),
    ],
)
def test_nonsense_is_refused_with_the_reason(value: Any, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        as_backoff(value)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"base": -1}, "base"),
        ({"base": math.nan}, "base"),
        ({"base": True}, "base"),
        ({"cap": -1}, "cap"),
        ({"multiplier": 0.5}, "multiplier"),
        ({"multiplier": math.inf}, "multiplier"),
        ({"multiplier": math.nan}, "multiplier"),
        ({"multiplier": True}, "multiplier"),
    ],
)
def test_a_backoff_that_cannot_work_is_refused_when_it_is_made(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        Backoff(**settings)
