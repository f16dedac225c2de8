"""The product's words in the log: what Holdfast tells about a job also says jobId, bookingId and type."""

import logging
from typing import Any
from uuid import UUID

log = logging.getLogger("booking_side_effects")

_SUBJECT = "booking:"
_WORDS = {"job_id": "jobId", "task": "type", "attempt": "attempts", "duration_ms": "durationMs"}


def subject_of(booking_id: int) -> str:
    """Say what a booking's jobs are about."""
    return f"{_SUBJECT}{booking_id}"


def in_our_words(record: logging.LogRecord) -> bool:
    """Add the product's words to an event about one of its jobs; Holdfast's own stay."""
    facts = record.__dict__
    subject = facts.get("subject")
    if isinstance(subject, str) and subject.startswith(_SUBJECT):
        facts["bookingId"] = int(subject.removeprefix(_SUBJECT))
        facts.update({ours: facts[theirs] for theirs, ours in _WORDS.items() if theirs in facts})
    return True


def tell(event: str, job_id: UUID, booking_id: int, job_type: str, **facts: Any) -> None:
    """Log an event of the product about one job."""
    level = logging.ERROR if event.endswith(":error") else logging.INFO
    extra = {"jobId": str(job_id), "bookingId": booking_id, "type": job_type, **facts}
    log.log(level, event, extra=extra)
