"""What happened lately, over all jobs: their moves, and the attempts that outside executors have. Every look is bounded."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from holdfast.domain.states import Status
from holdfast.store.call import Call, Row, query
from holdfast.store.hidden import Told, hidden_in

LOOKED = 2000


class MovePlace(NamedTuple):
    """A place in the list of moves; the list goes on behind it."""

    xid: int = 2**63 - 1
    job_id: UUID = UUID(int=2**128 - 1)
    seq: int = 2**31 - 1


class Move(NamedTuple):
    """A move of a job."""

    xid: int
    job_id: UUID
    seq: int
    from_status: str | None
    to_status: str
    attempt: int
    at: datetime
    actor: str
    reason: str | None
    task: str
    label: str | None
    tenant: str | None

    @property
    def place(self) -> MovePlace:
        """Where it stands."""
        return MovePlace(self.xid, self.job_id, self.seq)


class Moves(NamedTuple):
    """Moves that fit, and where the look ended; None: there is nothing behind."""

    items: list[Move]
    following: MovePlace | None


class OutsideRun(NamedTuple):
    """An attempt in the hands of an outside executor."""

    job_id: UUID
    attempt: int
    task: str
    executor: str
    state: str
    tries: int
    created_at: datetime
    sent_at: datetime | None
    started_at: datetime | None
    seen_at: datetime | None
    over_at: datetime | None
    run_id: str | None
    run_url: str | None
    error: str | None
    cancelled_at: datetime | None


def newest_moves(
    tenant: str | None, statuses: Sequence[Status] | None, behind: MovePlace | None, limit: int
) -> Call[Moves]:
    """List moves, the newest first; of a tenant those of its newest jobs."""
    place = behind or MovePlace()
    looked = LOOKED if statuses and tenant is None else limit + 1

    def read(rows: list[Row]) -> Moves:
        seen = [(_without_hidden(Move(*row[:-2]), row[-2]), bool(row[-1])) for row in rows]
        fitting = [move for move, fits in seen if fits]
        if len(fitting) > limit:
            return Moves(fitting[:limit], fitting[limit - 1].place)
        ended = len(seen) < looked
        return Moves(fitting, None if ended else seen[-1][0].place)

    name = "newest_moves" if tenant is None else "moves_of_tenant"
    given = {"tenant": tenant} if tenant is not None else {}
    return query(
        name, read, statuses=None if statuses is None else list(statuses), looked=looked,
        xid=place.xid, job_id=place.job_id, seq=place.seq, **given,
    )  # fmt: skip


def outside_runs(behind: tuple[UUID, int] | None, limit: int) -> Call[list[OutsideRun]]:
    """List attempts that were handed over, those of the newest jobs first."""
    job_id, attempt = behind or (MovePlace().job_id, 0)
    return query(
        "outside_runs",
        lambda rows: [_run_without_hidden(OutsideRun(*told), hidden) for *told, hidden in rows],
        job_id=job_id,
        attempt=attempt,
        limit=limit,
    )


def _without_hidden(move: Move, told: Told) -> Move:
    text = hidden_in(told).text
    return move._replace(reason=text(move.reason), label=text(move.label))


def _run_without_hidden(run: OutsideRun, told: Told) -> OutsideRun:
    text = hidden_in(told).text
    return run._replace(run_url=text(run.run_url), error=text(run.error))
