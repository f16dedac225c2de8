from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from holdfast.domain.errors import Configuration
from holdfast.domain.limits import fields_of, gate_options, has_gates, is_on

NOTHING: Mapping[str, Any] = {"limit": None, "limits": (), "rate": None, "flag": None, "rollout_by": None}


def options(**given: Any) -> dict[str, Any]:
    return gate_options("t", **{**NOTHING, **given})


def test_a_task_without_gates_has_no_options() -> None:
    assert options() == {}
    assert not has_gates(options())


def test_what_is_left_out_gets_its_usual_value() -> None:
    assert options(limit={"max": 3}) == {
        "limits": [{"key": "task:t", "max": 3, "policy": "wait", "release_while_waiting": False}]
    }
    assert options(rate={"max": 3, "per": timedelta(minutes=1)}) == {
        "rates": [{"key": "task:t", "max": 3, "per": 60.0}]
    }


@pytest.mark.parametrize("gate", [{"limit": {"max": 1}}, {"rate": {"max": 1, "per": 1}}, {"flag": "X"}])
def test_each_gate_is_one(gate: dict[str, Any]) -> None:
    assert has_gates(options(**gate))


def test_the_fields_of_all_keys_are_known_and_the_jobs_own_are_left_out() -> None:
    given = options(
        limits=[{"key": "{a}:{tenant}", "max": 1}, {"key": "{subject}", "max": 1}],
        rate={"key": "{b}", "max": 1, "per": 1},
        flag="X",
        rollout_by="c",
    )

    assert fields_of(given) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"limit": {"max": 1}, "limits": [{"max": 1}]}, "limit= and limits="),
        ({"limit": {}}, "max=None"),
        ({"limit": {"max": 0}}, "max=0"),
        ({"limit": {"max": True}}, "max=True"),
        ({"limit": {"max": 10_001}}, "10,000"),
        ({"limit": {"max": 1, "policy": "hope"}}, "wait or reject"),
        ({"limit": {"max": 1, "release_while_waiting": 1}}, "True or False"),
        (
            {"limit": {"max": 1, "policy": "reject", "release_while_waiting": True}},
            "counts a job until it ends",
        ),
        ({"limit": {"max": 1, "colour": "red"}}, "colour"),
        ({"limit": "user"}, "no dictionary"),
        ({"limit": {"max": 1, "key": ""}}, "1 to 200"),
        ({"limit": {"max": 1, "key": "{"}}, "user:{user_id}"),
        ({"limit": {"max": 1, "key": "{}"}}, "user:{user_id}"),
        ({"limit": {"max": 1, "key": "queue:mail"}}, "holdfast queue limit"),
        ({"limits": [{"max": 1}, {"max": 2}]}, "one key twice"),
        ({"rate": {"max": 1}}, "per=None"),
        ({"rate": {"max": 1, "per": 0}}, "more than 0"),
        ({"rate": {"max": 1, "per": float("nan")}}, "more than 0"),
        ({"rate": {"max": 1, "per": timedelta(days=400)}}, "a year"),
        ({"rate": [{"max": 1, "per": 1}, {"max": 1, "per": 2}]}, "one key twice"),
        ({"rollout_by": "a"}, "without flag="),
        ({"flag": "no spaces"}, "letters"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_reason(given: dict[str, Any], words: str) -> None:
    with pytest.raises(Configuration, match="task 't'") as refused:
        options(**given)

    assert words in str(refused.value)


@pytest.mark.parametrize("value", ["true", "TRUE", "1", "yes", "Yes", "on", " On "])
def test_these_words_switch_a_flag_on(value: str) -> None:
    assert is_on(value)


@pytest.mark.parametrize("value", ["", "0", "false", "off", "no", "enabled", "y"])
def test_every_other_word_switches_it_off(value: str) -> None:
    assert not is_on(value)
