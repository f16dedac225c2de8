"""Stories of jobs that outlive their workers: steps that resume, waits, and what is undone."""

import signal

from holdfast.domain.states import Status
from holdfast.interfaces.demo.app import book_trip
from holdfast.interfaces.demo.stage import PATIENCE, Stage, verify

_LONG = 60.0


def resume_at_the_step(stage: Stage) -> str:
    """Kill a worker in the middle of a stepped job: another resumes at the step that was under way."""
    queue = ["-q", "steps:1", "--lease", "2"]
    handle = book_trip.using(queue="steps").enqueue(hotel_takes=_LONG)
    with stage.worker(*queue) as victim:
        stage.until(lambda: len(stage.steps(handle.id)) == 1, "the first step is saved")
        with stage.worker(*queue):
            victim.send_signal(signal.SIGKILL)
            victim.wait()
            result = handle.result(timeout=PATIENCE)

    verify(result == ["flight reserved", "hotel reserved"], f"it returned {result}")
    saved = [(step.name, step.attempt) for step in stage.steps(handle.id)]
    verify(saved == [("flight", 1), ("hotel", 2)], f"its steps were saved as {saved}")
    return "the flight's step was saved before the kill and not run again, the hotel's ran on attempt 2"


def undo_what_had_succeeded(stage: Stage) -> str:
    """Let a job fail after two steps: both are undone, the newest first."""
    handle = book_trip.enqueue(card_works=False)
    stage.until_status(handle.id, Status.FAILED)
    undoing = stage.job(handle.id).compensated_by
    verify(undoing is not None, "nothing undoes it")
    if undoing is not None:
        stage.until_status(undoing, Status.COMPLETED)
        undone = [step.name for step in stage.steps(undoing)]
        verify(undone == ["undo hotel", "undo flight"], f"undone were {undone}")
        born = stage.history(undoing)[0].at
        ended = stage.history(handle.id)[-1].at
        verify(abs((born - ended).total_seconds()) < 1, "the compensation was not born with the failure")
    return "FAILED, and with it a job that undid the hotel, then the flight"
