"""What an application that serves ours adds to it: its own rule for who may, its words and links for a job, panels of its own."""

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias
from urllib.parse import urlsplit
from uuid import UUID

from holdfast.domain.access import Principal
from holdfast.domain.errors import Configuration
from holdfast.domain.states import Status
from holdfast.runtime.logs import events

LONGEST_ARGS = 500
MOST_LINKS = 10
MOST_FACTS = 50
_LONGEST_FACT = 2000
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")


@dataclass(frozen=True, slots=True)
class JobFacts:
    """A job as hooks see it; without what its task redacts, and without payload and metadata where whoever looks may not see them."""

    id: UUID
    task: str
    queue: str
    status: Status
    tenant: str | None
    subject: str | None
    label: str | None
    key: str | None
    tags: Sequence[str]
    requested_by: str | None
    payload: Mapping[str, Any] | None
    metadata: Mapping[str, Any] | None

    @classmethod
    def of(cls, job: Any, **given: Any) -> "JobFacts":
        """Take the facts from a job, however much of it is shown."""
        told: dict[str, Any] = {one.name: getattr(job, one.name, None) for one in fields(cls)} | given
        return cls(**{**told, "tags": tuple(told["tags"] or ())})


@dataclass(frozen=True, slots=True)
class JobLink:
    """A way from a job to a page of yours: an address with http or https, or a path on this server."""

    label: str
    href: str

    @property
    def is_safe(self) -> bool:
        """Whether a click on it only goes somewhere: neither a script, nor another site that looks like a path."""
        if not self.href.isprintable() or re.search(r"[\s\\]", self.href):
            return False
        try:
            parts = urlsplit(self.href)
            if parts.scheme:
                return parts.scheme in {"http", "https"} and bool(parts.hostname)
        except ValueError:
            return False
        return self.href.startswith("/") and not self.href.startswith("//")


Authorize: TypeAlias = Callable[[Principal, str, JobFacts | None], Awaitable[bool]]
FormatArgs: TypeAlias = Callable[[JobFacts], str]
JobLinks: TypeAlias = Callable[[JobFacts], Iterable[JobLink]]


@dataclass(frozen=True, slots=True)
class JobPanel:
    """A panel of yours on the page of every job: what it reads are names and values, which it shows as text, or as links."""

    name: str
    title: str
    read: Callable[[Principal, JobFacts], Awaitable[Mapping[str, object]]]

    def __post_init__(self) -> None:
        """Refuse a name that cannot stand in an address."""
        if not _NAME.fullmatch(self.name):
            raise Configuration(f"panel {self.name!r}: a name has small letters, digits and _, 41 at most")


@dataclass(frozen=True, slots=True)
class Hooks:
    """All hooks of a service."""

    authorize: Authorize | None = None
    format_args: FormatArgs | None = None
    job_links: JobLinks | None = None
    panels: Sequence[JobPanel] = ()

    def __post_init__(self) -> None:
        """Refuse two panels of one name."""
        names = [panel.name for panel in self.panels]
        if len(set(names)) < len(names):
            raise Configuration(f"two panels have one name: {', '.join(names)}")

    async def allows(self, principal: Principal, action: str, job: JobFacts | None) -> bool:
        """Ask the application whether somebody may; whatever is not a clear yes is a no."""
        if self.authorize is None:
            return True
        try:
            return await self.authorize(principal, action, job) is True
        except Exception as error:  # noqa: BLE001 - any code can stand in a hook
            events.error("hook:failed", exc_info=error, extra={"hook": "authorize", "action": action})
            return False

    def words_for(self, job: JobFacts) -> str | None:
        """Write what a job was given in a line; None when it is hidden from who looks, or cannot be told."""
        if job.payload is None:
            return None
        if self.format_args is None:
            return _cut(json.dumps(job.payload, ensure_ascii=False), LONGEST_ARGS)
        try:
            return _cut(str(self.format_args(job)), LONGEST_ARGS)
        except Exception as error:  # noqa: BLE001 - as above
            events.error("hook:failed", exc_info=error, extra={"hook": "format_args", "job_id": str(job.id)})
            return None

    def links_for(self, job: JobFacts) -> list[JobLink]:
        """Give the links of a job that lead somewhere, and nowhere else."""
        if self.job_links is None:
            return []
        try:
            return safe_links(self.job_links(job))
        except Exception as error:  # noqa: BLE001 - as above
            events.error("hook:failed", exc_info=error, extra={"hook": "job_links", "job_id": str(job.id)})
            return []


def safe_links(links: Iterable[JobLink]) -> list[JobLink]:
    """Leave out what would not only lead somewhere, and say so in the log."""
    found = list(links)[:MOST_LINKS]
    for link in found:
        if not link.is_safe:
            events.warning("hook:link_refused", extra={"label": link.label, "href": link.href})
    return [link for link in found if link.is_safe]


def facts_of(told: Mapping[str, object]) -> list[tuple[str, str | JobLink]]:
    """Give what a panel read as names and what stands beside them."""
    made: list[tuple[str, str | JobLink]] = []
    for name, value in list(told.items())[:MOST_FACTS]:
        if not isinstance(value, JobLink):
            made.append((str(name), _cut("" if value is None else str(value), _LONGEST_FACT)))
        elif safe_links([value]):
            made.append((str(name), value))
    return made


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
