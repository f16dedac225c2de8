"""A job as text that makes another like it: JSON, Python, or a call of the API."""

import json
import shlex
from pprint import pformat
from typing import Any

from holdfast.domain.encryption import MEMBER
from holdfast.domain.redaction import HIDDEN
from holdfast.interfaces.http.api.job_views import JobView

# The key stays behind: a copy with it would be the job itself.
_OPTIONS = ("queue", "tenant", "subject", "priority", "label", "tags", "metadata")


def as_python(job: JobView) -> str:
    """Write the call that enqueues a job like this."""
    options = ", ".join(f"{name}={value!r}" for name, value in _options(job).items())
    using = f".using({options})" if options else ""
    payload = pformat(job.payload, width=100, sort_dicts=False)
    return f"app.tasks[{job.task!r}]{using}.enqueue(**{payload})"


def as_curl(job: JobView, address: str) -> str:
    """Write the call of the API that enqueues a job like this, for a shell; the key is the caller's own."""
    body = json.dumps({"task": job.task, "payload": job.payload, **_options(job)}, ensure_ascii=False)
    return (
        f"curl {shlex.quote(address)} \\\n"
        '  -H "Authorization: Bearer $HOLDFAST_KEY" \\\n'
        "  -H 'Content-Type: application/json' \\\n"
        f"  --data {shlex.quote(body)}"
    )


def is_partly_hidden(value: Any) -> bool:
    """Whether something in it is redacted or encrypted, so that a copy is no copy."""
    if isinstance(value, dict):
        return MEMBER in value or any(map(is_partly_hidden, value.values()))
    if isinstance(value, list):
        return any(map(is_partly_hidden, value))
    return bool(value == HIDDEN)


def _options(job: JobView) -> dict[str, Any]:
    return {name: value for name in _OPTIONS if (value := getattr(job, name))}
