"""What keeps a task's jobs out of the line: limits, rates and flags, as @app.task takes them and as the database keeps them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from holdfast.domain.errors import Configuration

Policy: TypeAlias = Literal["wait", "reject"]

_MOST_SLOTS = 10_000
_LONGEST_KEY = 200
_LONGEST_PERIOD = 366 * 86_400.0
_PART = re.compile(r"\{([^{}]*)\}|[^{}]+")
_OF_THE_JOB = {"tenant", "subject"}
_ON = {"true", "1", "yes", "on"}


class Limit(TypedDict):
    """At most `max` jobs of one key at once. The key is "task:<name>" unless given; fields in braces come from the payload."""

    key: NotRequired[str]
    max: int
    policy: NotRequired[Policy]
    release_while_waiting: NotRequired[bool]


class Rate(TypedDict):
    """At most `max` starts of one key in any span of `per` seconds."""

    key: NotRequired[str]
    max: int
    per: float | timedelta


def gate_options(
    task: str,
    *,
    limit: Limit | None,
    limits: Sequence[Limit],
    rate: Rate | Sequence[Rate] | None,
    flag: str | None,
    rollout_by: str | None,
) -> dict[str, Any]:
    """Check what was declared and write it as holdfast.task keeps it; what is not there is left out."""
    if limit is not None and limits:
        raise Configuration(f"task {task!r} has limit= and limits=: put all of them into limits=")
    if rollout_by is not None and flag is None:
        raise Configuration(
            f"task {task!r} has rollout_by={rollout_by!r} without flag=: the flag says how many percent"
        )
    if flag is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]{0,199}", flag):
        raise Configuration(
            f"task {task!r} has flag={flag!r}: use letters, digits, _, - and . (it may be an environment variable)"
        )
    listed = [limit] if limit is not None else list(limits)
    rates = [] if rate is None else [rate] if isinstance(rate, Mapping) else list(rate)
    written_limits = [_written_limit(task, one) for one in listed]
    written_rates = [_written_rate(task, one) for one in rates]
    _refuse_repeated(task, "limits", written_limits)
    _refuse_repeated(task, "rates", written_rates)
    options = {"limits": written_limits, "rates": written_rates, "flag": flag, "rollout_by": rollout_by}
    return {name: value for name, value in options.items() if value}


def fields_of(options: Mapping[str, Any]) -> set[str]:
    """Name the payload's fields that keys and rollout are made of."""
    templates = [one["key"] for one in (*options.get("limits", ()), *options.get("rates", ()))]
    named = {field for template in templates for field in _fields(template)} - _OF_THE_JOB
    return named | ({options["rollout_by"]} if "rollout_by" in options else set())


def has_gates(options: Mapping[str, Any]) -> bool:
    """Whether jobs of such a task enter the line through admission only."""
    return not options.keys().isdisjoint({"limits", "rates", "flag"})


def is_on(value: str) -> bool:
    """Read a flag from the environment: true, 1, yes and on, in any case, are on; everything else is off."""
    return value.strip().lower() in _ON


def _written_limit(task: str, limit: Mapping[str, Any]) -> dict[str, Any]:
    _refuse_unknown(task, "limit", limit, {"key", "max", "policy", "release_while_waiting"})
    policy = limit.get("policy", "wait")
    if policy not in {"wait", "reject"}:
        raise Configuration(f"task {task!r} has a limit with policy={policy!r}; choose wait or reject")
    gives_back = limit.get("release_while_waiting", False)
    if not isinstance(gives_back, bool):
        raise Configuration(
            f"task {task!r} has a limit with release_while_waiting={gives_back!r}; it is True or False"
        )
    if gives_back and policy == "reject":
        raise Configuration(
            f"task {task!r}: release_while_waiting goes with policy wait; reject counts a job until it ends"
        )
    return {
        "key": _written_key(task, "limit", limit),
        "max": _whole(task, "limit", limit),
        "policy": policy,
        "release_while_waiting": gives_back,
    }


def _written_rate(task: str, rate: Mapping[str, Any]) -> dict[str, Any]:
    _refuse_unknown(task, "rate", rate, {"key", "max", "per"})
    per = rate.get("per")
    seconds = per.total_seconds() if isinstance(per, timedelta) else per
    if (
        isinstance(seconds, bool)
        or not isinstance(seconds, int | float)
        or not 0 < seconds <= _LONGEST_PERIOD
    ):
        raise Configuration(
            f"task {task!r} has a rate with per={per!r}; give seconds or a timedelta, more than 0, at most a year"
        )
    return {"key": _written_key(task, "rate", rate), "max": _whole(task, "rate", rate), "per": float(seconds)}


def _written_key(task: str, kind: str, given: Mapping[str, Any]) -> str:
    key = given.get("key", f"task:{task}")
    if not isinstance(key, str) or not 0 < len(key) <= _LONGEST_KEY:
        raise Configuration(
            f"task {task!r} has a {kind} with key={key!r}; a key has 1 to {_LONGEST_KEY} characters"
        )
    if "".join(part[0] for part in _PART.finditer(key)) != key or "" in _fields(key):
        raise Configuration(
            f"task {task!r} has a {kind} with key={key!r}; write fields like user:{{user_id}}"
        )
    if key.startswith("queue:"):
        raise Configuration(
            f"task {task!r} has a {kind} with key={key!r}; queues are limited with: holdfast queue limit NAME N"
        )
    return key


def _fields(template: str) -> Iterator[str]:
    return (part[1] for part in _PART.finditer(template) if part[1] is not None)


def _whole(task: str, kind: str, given: Mapping[str, Any]) -> int:
    most = given.get("max")
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= _MOST_SLOTS:
        raise Configuration(f"task {task!r} has a {kind} with max={most!r}; allowed are 1 to {_MOST_SLOTS:,}")
    return most


def _refuse_unknown(task: str, kind: str, given: Mapping[str, Any], known: set[str]) -> None:
    if not isinstance(given, Mapping):
        raise Configuration(f"task {task!r} has a {kind} that is no dictionary: {given!r}")
    unknown = sorted(set(given) - known)
    if unknown:
        raise Configuration(
            f"task {task!r} has a {kind} with {', '.join(unknown)}; it takes {', '.join(sorted(known))}"
        )


def _refuse_repeated(task: str, kind: str, written: list[dict[str, Any]]) -> None:
    keys = [one["key"] for one in written]
    if len(set(keys)) < len(keys):
        raise Configuration(f"task {task!r} has {kind} with one key twice: give each a key= of its own")
