"""The rules that need no database."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.org_jobs.rules import backoff_seconds, can_retry, dedupe_key, stored_key
from apps.org_jobs.settings import Settings
from holdfast import Configuration

WORDS = st.text(max_size=5)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=12,
)
however_slow = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # of a busy machine


@pytest.mark.parametrize(
    ("attempts", "seconds"),
    [(0, 1), (1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 32), (7, 60), (8, 60), (10_000, 60)],
)
def test_a_job_waits_as_the_table_says_without_jitter(attempts: int, seconds: float) -> None:
    assert {backoff_seconds(attempts) for _ in range(5)} == {seconds}


@pytest.mark.parametrize("attempts", [0, 1, 4, 5, 6])
@pytest.mark.parametrize("status", ["success", "running"])
def test_what_succeeded_or_runs_can_never_be_retried(status: str, attempts: int) -> None:
    assert not can_retry(status, attempts)
    assert not can_retry(status, attempts, max_attempts=100)


@pytest.mark.parametrize("status", ["queued", "failed"])
def test_a_job_can_be_retried_only_below_the_cap(status: str) -> None:
    assert [can_retry(status, attempts) for attempts in (0, 4, 5, 6)] == [True, True, False, False]
    assert [can_retry(status, attempts, max_attempts=2) for attempts in (1, 2)] == [True, False]


def test_a_dedupe_key_names_type_organisation_and_payload() -> None:
    assert dedupe_key("send", "acme", {"b": 1, "a": {"d": "é", "c": None}}) == (
        'send::acme::{"a":{"c":null,"d":"é"},"b":1}'
    )
    assert dedupe_key("send", None, {}) == "send::global::{}"


@however_slow
@given(payload=st.dictionaries(WORDS, ANYTHING, max_size=4))
def test_the_order_of_keys_does_not_matter_at_any_depth(payload: dict[str, Any]) -> None:
    assert dedupe_key("send", "acme", turned(payload)) == dedupe_key("send", "acme", payload)


@however_slow
@given(one=st.dictionaries(WORDS, ANYTHING, max_size=4), other=st.dictionaries(WORDS, ANYTHING, max_size=4))
def test_other_payloads_have_other_keys(one: dict[str, Any], other: dict[str, Any]) -> None:
    are_equal = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)

    assert (dedupe_key("send", "acme", one) == dedupe_key("send", "acme", other)) is are_equal


def test_another_type_organisation_or_order_of_a_list_is_another_key() -> None:
    keys = {
        dedupe_key("send", "acme", {"to": [1, 2]}),
        dedupe_key("send", "acme", {"to": [2, 1]}),
        dedupe_key("send", "globex", {"to": [1, 2]}),
        dedupe_key("post", "acme", {"to": [1, 2]}),
        dedupe_key("send", None, {"to": [1, 2]}),
    }

    assert len(keys) == 5


def test_a_key_that_is_too_long_is_kept_as_its_digest() -> None:
    long = dedupe_key("send", "acme", {"text": "x" * 1000})

    assert stored_key("short") == "short"
    assert len(stored_key(long)) == 64
    assert stored_key(long) != stored_key(long + "x")


def turned(value: Any) -> Any:
    """Give the same value with all its keys in the opposite order."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(value)}
    return [turned(one) for one in value] if isinstance(value, list) else value


def test_who_says_nothing_is_in_production_without_a_tick() -> None:
    assert not Settings.read({}).may_tick
    assert not Settings.read({"APP_ENV": "production"}).may_tick
    assert Settings.read({"APP_ENV": "production", "JOBS_TICK": "on"}).may_tick
    assert Settings.read({"APP_ENV": "development"}).may_tick


@pytest.mark.parametrize(
    "environment",
    [{"APP_ENV": "prod"}, {"JOBS_TICK": "yes"}, {"JOBS_TICK_JOBS": "0"}, {"JOBS_TICK_JOBS": "many"}],
)
def test_settings_that_cannot_be_understood_are_refused_by_name(environment: dict[str, str]) -> None:
    with pytest.raises(Configuration, match=next(iter(environment))):
        Settings.read(environment)
