"""The eight statuses of a job and the legal moves between them; SQL keeps the same table and a test compares them."""

from enum import StrEnum


class Status(StrEnum):
    """Where a job is."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    RETRY = "RETRY"
    WAITING_FOR_APPROVAL = "WAITING_FOR_APPROVAL"
    WAITING = "WAITING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @property
    def is_terminal(self) -> bool:
        """Whether a job stays here for ever."""
        return not LEGAL_MOVES[self]


_LEAVES_WAITING = frozenset({Status.RUNNING, Status.FAILED, Status.CANCELLED})

LEGAL_MOVES: dict[Status, frozenset[Status]] = {
    Status.PENDING: frozenset({Status.RUNNING, Status.CANCELLED}),
    Status.RUNNING: frozenset(
        {
            Status.COMPLETED,
            Status.FAILED,
            Status.RETRY,
            Status.WAITING_FOR_APPROVAL,
            Status.WAITING,
            Status.CANCELLED,
        }
    ),
    Status.RETRY: _LEAVES_WAITING,
    Status.WAITING_FOR_APPROVAL: _LEAVES_WAITING,
    Status.WAITING: _LEAVES_WAITING,
    Status.COMPLETED: frozenset(),
    Status.FAILED: frozenset(),
    Status.CANCELLED: frozenset(),
}
