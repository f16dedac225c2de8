"""The product's rules about jobs: its words for their states, when they are tried again, and which two are the same."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from holdfast import Backoff, Status

MAX_ATTEMPTS = 5
BACKOFF = Backoff(base=1, multiplier=2, cap=60, jitter=False)
LONGEST_KEY = 500

# The product never cancels; what an operator cancels with Holdfast's tools is shown as what it is.
STATUSES = {
    "queued": (Status.PENDING, Status.RETRY),
    "running": (Status.RUNNING,),
    "success": (Status.COMPLETED,),
    "failed": (Status.FAILED,),
    "cancelled": (Status.CANCELLED,),
}
WORDS = {status: word for word, statuses in STATUSES.items() for status in statuses}


def backoff_seconds(attempts: int) -> float:
    """Say how long a job waits that has failed so often: 1, 1, 2, 4, 8 … 60 seconds."""
    return BACKOFF.delay(max(attempts, 1) - 1, chance=0)


def can_retry(status: str, attempts: int, max_attempts: int = MAX_ATTEMPTS) -> bool:
    """Whether a job may run again."""
    return status not in {"success", "running"} and attempts < max_attempts


def dedupe_key(job_type: str, org_id: str | None, payload: Mapping[str, Any]) -> str:
    """Name what a job does: the same for payloads that differ only in the order of their keys, at any depth."""
    written = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return f"{job_type}::{org_id or 'global'}::{written}"


def stored_key(key: str) -> str:
    """Give the key as Holdfast keeps it: one that is too long is kept as its digest."""
    return key if len(key) <= LONGEST_KEY else hashlib.sha256(key.encode()).hexdigest()
