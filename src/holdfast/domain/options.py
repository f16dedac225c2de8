"""What can be said about one job when it is enqueued, checked before anything is sent."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeAlias
from uuid import UUID

from holdfast.domain.errors import BadInput
from holdfast.domain.json_rules import Fault, check_plain, shown
from holdfast.domain.task import KeyScope

OnConflict: TypeAlias = Literal["return", "raise", "replace"]
OnParentFailure: TypeAlias = Literal["cancel", "run"]

_MOST = 100
_LONGEST = {"queue": 200, "tenant": 200, "subject": 500, "key": 500, "label": 500}
_NEVER_EMPTY = ("queue", "tenant", "subject", "key")
_LARGEST_METADATA = 65_536


def written_options(
    *,
    run_at: datetime | None,
    run_in: timedelta | float | None,
    queue: str | None,
    priority: int | None,
    key: str | None,
    key_scope: KeyScope | None,
    on_conflict: OnConflict | None,
    tenant: str | None,
    subject: str | None,
    tags: Sequence[str] | None,
    label: str | None,
    metadata: Mapping[str, Any] | None,
    requested_by: str | None,
    trace_parent: str | None,
    retries: int | None,
    timeout: timedelta | float | None,
    after: Sequence[UUID] | None = None,
    on_parent_failure: OnParentFailure | None = None,
    parent: UUID | None = None,
) -> str:
    """Write the options that were given as further members of a job's JSON object, or say which one cannot be."""
    if run_at is not None and run_in is not None:
        raise BadInput("run_at= and run_in= were both given: choose one")
    texts = {
        "queue": queue,
        "key": key,
        "tenant": tenant,
        "subject": subject,
        "label": label,
        "requested_by": requested_by,
        "trace_parent": trace_parent,
    }
    members = {
        "run_at": _moment(run_at),
        "run_in": _seconds("run_in", run_in),
        "priority": _whole("priority", priority, -_MOST),
        "key_scope": _choice("key_scope", key_scope, ("active", "success", "ever")),
        "on_conflict": _choice("on_conflict", on_conflict, ("return", "raise", "replace")),
        **{name: _text(name, value) for name, value in texts.items()},
        "tags": _strings(tags),
        "metadata": _object(metadata),
        "max_retries": _whole("retries", retries, 0),
        "timeout": _more_than_zero(_seconds("timeout", timeout)),
        "after": [str(job_id) for job_id in after] if after else None,
        "on_parent_failure": _choice("on_parent_failure", on_parent_failure, ("cancel", "run")),
        "parent": None if parent is None else str(parent),
    }
    given = {name: value for name, value in members.items() if value is not None}
    return "," + json.dumps(given)[1:-1] if given else ""


def _moment(at: Any) -> str | None:
    if at is None:
        return None
    if not isinstance(at, datetime):
        raise BadInput(f"run_at={shown(at)} is no datetime")
    if at.utcoffset() is None:
        raise BadInput(
            f"run_at={at.isoformat()} has no time zone: use an aware datetime, e.g. datetime.now(UTC) + timedelta(hours=1)"
        )
    return at.astimezone(UTC).isoformat()


def _seconds(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, int | float) or value - value != 0:
        raise BadInput(f"{name}={shown(value)} is neither a number of seconds nor a timedelta")
    return float(value)


def _more_than_zero(timeout: float | None) -> float | None:
    if timeout is not None and timeout <= 0:
        raise BadInput(f"timeout={timeout:g} must be more than 0 seconds")
    return timeout


def _whole(name: str, value: Any, least: int) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MOST:
        raise BadInput(f"{name}={shown(value)}: allowed are whole numbers from {least} to {_MOST}")
    return value


def _choice(name: str, value: str | None, choices: Sequence[str]) -> str | None:
    if value is not None and value not in choices:
        raise BadInput(f"{name}={shown(value)} is not one of {', '.join(choices)}")
    return value


def _text(name: str, value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise BadInput(f"{name}={shown(value)} is no text")
    if not value and name in _NEVER_EMPTY:
        raise BadInput(f"{name}= is empty: leave it out when the job has none")
    if len(value) > _LONGEST.get(name, len(value)):
        raise BadInput(f"{name}= has {len(value)} characters; at most {_LONGEST[name]} fit")
    _check(name, value)
    return value


def _strings(tags: Any) -> list[str] | None:
    if tags is None:
        return None
    if isinstance(tags, str):
        raise BadInput(f"tags={tags!r} is a string: give a list, e.g. tags=[{tags!r}]")
    listed = list(tags)
    for place, tag in enumerate(listed):
        if not isinstance(tag, str):
            raise BadInput(f"tags[{place}] is {shown(tag)}: tags are strings")
    _check("tags", listed)
    return listed


def _object(metadata: Any) -> dict[str, Any] | None:
    if metadata is None:
        return None
    if not isinstance(metadata, Mapping):
        raise BadInput(f"metadata={shown(metadata)} is no dictionary")
    plain = dict(metadata)
    _check("metadata", plain)
    size = len(json.dumps(plain, ensure_ascii=False).encode())
    if size > _LARGEST_METADATA:
        raise BadInput(f"metadata= has {size:,} bytes; at most {_LARGEST_METADATA:,} fit")
    return plain


def _check(name: str, value: object) -> None:
    """Refuse what PostgreSQL cannot keep, with its place."""
    try:
        check_plain(value)
    except Fault as fault:
        raise BadInput(str(fault.within(name).refusal(root={name: value}))) from None
