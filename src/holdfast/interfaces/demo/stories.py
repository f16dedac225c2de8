"""The stories of `holdfast demo --check`: each does something, looks into the database, and says what is true."""

import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta

from holdfast.domain.errors import HoldfastError, IllegalMove, NotRetryable, Unchangeable
from holdfast.domain.states import Status
from holdfast.interfaces.demo.app import (
    Welcome,
    app,
    call_bank,
    charge_expired_card,
    count_primes,
    remind,
    render_report,
    welcome,
)
from holdfast.interfaces.demo.durable_stories import (
    ask_a_person,
    hear_from_outside,
    resume_at_the_step,
    undo_what_had_succeeded,
)
from holdfast.interfaces.demo.stage import PATIENCE, Stage, StoryFailed, verify
from holdfast.store import overview, trespass
from holdfast.store.call import Call

CALLERS = 20
_LONG = 60.0


class _ChangedMindError(Exception):
    """The caller's own reason to roll back."""


def enqueue_in_a_transaction(stage: Stage) -> str:
    """Enqueue twice in a transaction: rollback leaves nothing, commit makes the job."""
    connection = stage.as_login.connection()
    with suppress(_ChangedMindError), connection.transaction():
        lost = welcome.using(conn=connection).enqueue("nobody")
        raise _ChangedMindError
    verify(not stage.is_there(lost.id), "a job survived its transaction's rollback")
    with connection.transaction():
        handle = welcome.using(conn=connection).enqueue("ana")

    result = handle.result(timeout=PATIENCE)

    verify(result == Welcome("ana", "Hello ana!"), f"the result came back as {result!r}")
    verify(
        stage.path(handle.id) == [Status.PENDING, Status.RUNNING, Status.COMPLETED],
        "its history tells something else",
    )
    return "rollback left nothing, commit made the job, its result came back typed"


def retry_with_backoff(stage: Stage) -> str:
    """Run a task that fails twice: it is tried again, later and later, and completes."""
    handle = call_bank.enqueue(failures=2)

    tries = handle.result(timeout=PATIENCE)

    verify(tries == 3, f"it took {tries} attempts, not 3")  # noqa: PLR2004 - two failures and a success
    again = [Status.RUNNING, Status.RETRY]
    verify(
        stage.path(handle.id) == [Status.PENDING, *again, *again, Status.RUNNING, Status.COMPLETED],
        "its history differs",
    )
    failed = [each.error["type"] for each in stage.attempts(handle.id) if each.error]
    verify(failed == ["TimeoutError", "TimeoutError"], f"its attempts' errors are {failed}")
    return "2 failures, 2 waits, then COMPLETED; both errors kept, every move in the history"


def wait_for_the_time(stage: Stage) -> str:
    """Ask for a job in a second: it does not start early."""
    handle = remind.using(run_in=timedelta(seconds=1)).enqueue("stand up")

    handle.result(timeout=PATIENCE)

    born, started, *_ = stage.history(handle.id)
    verify(started.at - born.at >= timedelta(seconds=1), "it started early")
    return f"asked for 1 s, started after {(started.at - born.at).total_seconds():.2f} s"


def compute_in_a_process(stage: Stage) -> str:
    """Run CPU-bound work where it leaves the worker's loop alone."""
    handle = count_primes.enqueue(10_000)

    primes = handle.result(timeout=PATIENCE)

    verify(primes == 1229, f"it counted {primes} primes")  # noqa: PLR2004 - so many there are
    verify(stage.job(handle.id).status is Status.COMPLETED, "it is not COMPLETED")
    return "1,229 primes below 10,000, counted in a child process"


def survive_a_killed_worker(stage: Stage) -> str:
    """Kill a worker in the middle of a job: another process takes the job over."""
    queue = ["-q", "takeover:1", "--lease", "2"]
    handle = render_report.using(queue="takeover").enqueue(pages=1, seconds_a_page=_LONG)
    with stage.worker(*queue) as victim:
        stage.until_status(handle.id, Status.RUNNING)
        first = stage.job(handle.id).worker
        with stage.worker(*queue):
            victim.send_signal(signal.SIGKILL)
            victim.wait()
            handle.result(timeout=PATIENCE)

    job = stage.job(handle.id)
    last = stage.history(handle.id)[-1].actor
    verify(victim.returncode == -signal.SIGKILL, "the first worker was not killed")
    verify(last != first, "the same worker finished it")
    verify((job.attempt, job.retry_count) == (2, 0), "the death was charged to the job")
    returned = next(each for each in stage.history(handle.id) if each.to_status is Status.RETRY)
    verify("died" in (returned.reason or ""), f"the history says {returned.reason!r}")
    return f"{first} was killed, {last} completed the job on attempt 2, no retry used"


def drain_on_sigterm(stage: Stage) -> str:
    """Tell a worker to stop: what it cannot finish it gives back, at once and unharmed."""
    handle = render_report.using(queue="drain").enqueue(pages=1, seconds_a_page=_LONG)
    with stage.worker("-q", "drain:1", "--drain-timeout", "0.5") as leaving:
        stage.until_status(handle.id, Status.RUNNING)
        leaving.terminate()
        code = leaving.wait(PATIENCE)
    verify(code == 0, f"the drained worker ended with code {code}")
    with stage.worker("-q", "drain:1"):
        handle.result(timeout=PATIENCE)

    job = stage.job(handle.id)
    released = next(each for each in stage.history(handle.id) if each.to_status is Status.RETRY)
    verify("released" in (released.reason or ""), f"the history says {released.reason!r}")
    verify((job.attempt, job.retry_count, job.crash_count) == (2, 0, 0), "the release was charged to the job")
    return "exit code 0, the job was released and completed by another worker, no retry used"


def cancel_a_running_job(stage: Stage) -> str:
    """Cancel a job that runs: its worker is free again."""
    handle = render_report.enqueue(pages=1, seconds_a_page=_LONG)
    stage.until_status(handle.id, Status.RUNNING)
    holder = stage.job(handle.id).holder

    app.cancel(handle.id, actor="ana", reason="wrong month")

    last = stage.history(handle.id)[-1]
    verify(
        (last.to_status, last.actor, last.reason) == (Status.CANCELLED, "ana", "wrong month"),
        f"the history says {last}",
    )
    stage.until(lambda: _held(stage, holder) == 0, "its worker holds nothing any more")
    after = welcome.enqueue("ben").result(timeout=PATIENCE)
    verify(after.customer == "ben", "its worker did not go on")
    return "CANCELLED at once by ana, the worker went on with the next job"


def _held(stage: Stage, holder: object) -> int:
    return sum(each.held for each in stage.as_login.perform(overview.workers()) if each.id == holder)


def retry_by_hand(stage: Stage) -> str:
    """Retry a FAILED job: it stays as it is, and a new job names it."""
    handle = charge_expired_card.enqueue("4711")
    stage.until_status(handle.id, Status.FAILED)
    before = stage.history(handle.id)

    again = app.retry(handle.id, actor="ana", reason="new card")

    stage.until_status(again.id, Status.FAILED)
    verify(stage.job(again.id).retry_of == handle.id, "the new job does not name the old one")
    verify(stage.history(handle.id) == before, "the old job's history changed")
    try:
        app.retry(handle.id, actor="ana")
    except NotRetryable:
        return "a new job names the FAILED one, whose history stayed; a second retry of it was refused"
    raise StoryFailed("one job was retried twice")


def enqueue_one_key_at_once(stage: Stage) -> str:
    """Let many callers enqueue one key: there is one job."""
    tomorrow = welcome.using(key="welcome:chen", run_in=timedelta(days=1))
    with ThreadPoolExecutor(CALLERS) as callers:
        handles = list(callers.map(lambda _: tomorrow.enqueue("chen"), range(CALLERS)))

    verify(len({handle.id for handle in handles}) == 1, "they got different jobs")
    verify(sum(handle.created for handle in handles) == 1, "more than one of them made it")
    verify(len(stage.history(handles[0].id)) == 1, "it was born more than once")
    return f"{CALLERS} concurrent enqueues made 1 job, all got its id"


def refuse_the_owner(stage: Stage) -> str:
    """Break the rules as the schema's owner: the database refuses."""
    job_id = welcome.using(run_in=timedelta(days=1)).enqueue("dora").id
    before = stage.job(job_id).payload

    _refused(
        stage,
        IllegalMove,
        trespass.force_status(job_id, Status.COMPLETED),
        "moved a PENDING job to COMPLETED",
    )
    _refused(stage, Unchangeable, trespass.forge_payload(job_id), "changed a payload")
    _refused(stage, Unchangeable, trespass.erase_history(job_id), "erased history")

    verify(
        stage.job(job_id).payload == before and stage.path(job_id) == [Status.PENDING],
        "something changed nevertheless",
    )
    return "an illegal move, a changed payload and an erased history were refused to the owner"


def _refused(stage: Stage, kind: type[HoldfastError], call: Call[None], what: str) -> None:
    try:
        stage.as_owner.perform(call)
    except kind:
        return
    raise StoryFailed(f"the owner {what}")


Story = Callable[[Stage], str]
STORIES: dict[str, Story] = {
    "enqueue in your own transaction": enqueue_in_a_transaction,
    "retry with backoff": retry_with_backoff,
    "run later": wait_for_the_time,
    "compute in a process": compute_in_a_process,
    "kill -9 a worker": survive_a_killed_worker,
    "SIGTERM drains": drain_on_sigterm,
    "cancel a running job": cancel_a_running_job,
    "retry by hand": retry_by_hand,
    "one key, many callers": enqueue_one_key_at_once,
    "the database refuses": refuse_the_owner,
    "resume at the step": resume_at_the_step,
    "undo what had succeeded": undo_what_had_succeeded,
    "ask a person": ask_a_person,
    "hear from outside": hear_from_outside,
}
