"""Writes that the machine must refuse whoever tries them; the demo tries them as the schema's owner."""

from importlib.resources import files
from typing import Any
from uuid import UUID

from holdfast.domain.states import Status
from holdfast.store.call import Call, nothing


def force_status(job_id: UUID, status: Status) -> Call[None]:
    """Move a job past the functions."""
    return _write("status", job_id=job_id, status=str(status))


def forge_payload(job_id: UUID) -> Call[None]:
    """Change what a job was asked to do."""
    return _write("payload", job_id=job_id)


def erase_history(job_id: UUID) -> Call[None]:
    """Remove what happened to a job."""
    return _write("history", job_id=job_id)


def _write(name: str, **parameters: Any) -> Call[None]:
    text = files("holdfast.store").joinpath("sql", "trespass", f"{name}.sql").read_text("utf-8")
    return Call(text, parameters, nothing, looks=False)
