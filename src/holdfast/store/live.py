"""What streams read: channels and jobs, many at once."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar
from uuid import UUID

from holdfast.domain.live import ChannelRow, ChannelTopic, JobRow, JobTopic, Place
from holdfast.store.call import Call, Row, function, single

R = TypeVar("R")


class JobHead(NamedTuple):
    """Whose a job is, and how far it has come."""

    tenant: str | None
    seq: int
    note: int

    @property
    def place(self) -> Place:
        """Where a reader stands that wants to know what comes."""
        return (self.seq, self.note)


def follow_channel(channel: str) -> Call[int]:
    """Say that somebody follows a channel; gives its last id."""
    return function("follow_channel", channel, read=single, types=("text",))


def follow_job(job_id: UUID) -> Call[JobHead | None]:
    """Look how far a job has come; None when there is none."""
    return function("follow_job", job_id, read=lambda rows: JobHead(*rows[0]) if rows else None)


def read_channels(
    topics: Sequence[ChannelTopic], after: Sequence[Place], limit: int
) -> Call[list[list[ChannelRow]]]:
    """Read what came behind a place in each of these channels, oldest first."""
    return function(
        "read_channels", [topic.channel for topic in topics], [topic.sees for topic in topics],
        [place[0] for place in after], limit,
        read=_by_topic(ChannelRow, len(topics)), types=("text[]", "text[]", "bigint[]", "int"),
    )  # fmt: skip


def read_jobs(topics: Sequence[JobTopic], after: Sequence[Place], limit: int) -> Call[list[list[JobRow]]]:
    """Read what came behind a place of each of these jobs: at most so many moves and so many happenings."""
    return function(
        "read_jobs", [topic.job_id for topic in topics], [seq for seq, _ in after], [note for _, note in after], limit,
        read=_by_topic(JobRow, len(topics)), types=("uuid[]", "int[]", "bigint[]", "int"),
    )  # fmt: skip


def _by_topic(kind: Callable[..., R], topics: int) -> Callable[[list[Row]], list[list[R]]]:
    def read(rows: list[Row]) -> list[list[R]]:
        read: list[list[R]] = [[] for _ in range(topics)]
        for number, *row in rows:
            read[number - 1].append(kind(*row))
        return read

    return read
