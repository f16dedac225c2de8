"""What holds a job back, in words: which key, rate, pause or flag, and what happens next."""

from holdfast.domain.job import Job
from holdfast.domain.spans import span


def held_back(job: Job) -> str:
    """Say what a job that is held back waits for."""
    kind, _, rest = (job.held_by or "").partition(":")
    facts = job.hold or {}
    match kind:
        case "limit":
            return f"waits for a slot of {rest}{_taken(facts)}"
        case "rate":
            when = facts.get("next_in")
            soon = "" if when is None else f", the next one is free in {span(when)}"
            return f"waits for a start under the rate of {rest}{soon}"
        case "task":
            return _paused(rest, facts)
        case "flag":
            return _switched_off(rest.rpartition(":")[0], facts)
        case "jobs":
            return "waits for the jobs that it is to run after"
        case _:
            return f"held by {job.held_by}"


def _taken(facts: dict[str, object]) -> str:
    if not facts.get("most"):
        return ""
    by = f" by job {facts['by']}" if facts.get("by") and facts["most"] == 1 else ""
    return f" ({facts['taken']} of {facts['most']} taken{by})"


def _paused(task: str, facts: dict[str, object]) -> str:
    if not facts:
        return f"task {task} was resumed a moment ago, it enters the line again"
    since = f" {span(float(str(facts['ago'])))} ago" if facts.get("ago") is not None else ""
    why = f": {facts['reason']}" if facts.get("reason") else ""
    back = facts.get("resumes_in")
    then = "until it is resumed" if back is None else f"resumes in {span(float(str(back)))}"
    return f"task {task} paused by {facts['by']}{since}{why}, {then}"


def _switched_off(flag: str, facts: dict[str, object]) -> str:
    by = (
        f" (set by {facts['by']}{': ' + str(facts['reason']) if facts.get('reason') else ''})"
        if facts
        else ""
    )
    if facts.get("share"):
        return f"flag {flag} is on for {facts['share']} %{by}, and this job is not among them; it runs when it is"
    return f"flag {flag} is off{by}; it runs when the flag is on"
