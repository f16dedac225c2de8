"""The judge: compares what customers were answered, what tasks did, what readers saw and what the database says; pure.

What it does not look at is the database's own order, which the auditor does.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple

from chaos.app import PILL_CAP, RETRIES, SUBJECTS, TICK_SECONDS, WITH_EFFECT
from chaos.desks import desks
from chaos.evidence import Approval, Evidence, Job, Move
from chaos.notes import Note
from chaos.timing import RECOVERED_WITHIN, Case, calms, polling, recovery, throughput

ENDED = {"COMPLETED", "FAILED", "CANCELLED"}
ANSWERED_WITHIN = 10.0  # in the calm
ROUNDED = 0.001  # what a delay may lose on its way into the database
# So long after a strike workers come back from it one by one, and an attempt may yet be given a connection that it has broken. Where
# strikes follow sooner than that upon each other, nobody can tell whether a job failed by itself.
BROKEN_FOR = 2.0
NEARLY_ALL = 0.9  # of a job's retries


class Finding(NamedTuple):
    """A promise that was not kept, and the case."""

    rule: str
    case: str


def findings(evidence: Evidence) -> list[Finding]:
    """Everything that does not agree; empty when all of it does."""
    return [
        finding
        for check in (
            acknowledged,
            as_asked,
            beginnings,
            refusals,
            desks,
            unanswered,
            never_answered,
            all_or_none,
            origins,
            cancels,
            ends,
            results,
            effects,
            step_effects,
            ledger,
            claims,
            blame,
            pills,
            drains,
            steps,
            checkpoints,
            children,
            decisions,
            callbacks,
            runs,
            reports,
            webhooks,
            schedule,
            limits,
            feed,
            feed_order,
            feed_ids,
            removals,
            recovery,
            polling,
            throughput,
        )
        for finding in _found(check, evidence)
    ]


def _found(check: Callable[[Evidence], Iterator[Case]], evidence: Evidence) -> Iterator[Finding]:
    """What a check says; one that falls over what it meets has found something, and the others go on."""
    try:
        for rule, case in check(evidence):
            yield Finding(rule, str(case))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is evidence that nobody thought of
        yield Finding(f"the judge fell over in {check.__name__}", f"{type(error).__name__}: {error}")


# -- what was acknowledged -----------------------------------------------------------------------------------------------


def outcomes(notes: Iterable[Note], what: str) -> dict[str, set[str]]:
    """Everything that was answered to whoever asked about one thing."""
    found: dict[str, set[str]] = defaultdict(set)
    for note in notes:
        if note["what"] == what:
            for about in note["about"] if isinstance(note["about"], list) else [note["about"]]:
                found[about].add(note["outcome"])
    return found


def acknowledged(evidence: Evidence) -> Iterator[Case]:
    """B01, B02: what was acknowledged is there, what was refused is not."""
    for job, answers in outcomes(evidence.client_log, "enqueue").items():
        is_there = job in evidence.jobs
        if "ok" in answers and not is_there:
            yield "an acknowledged job is lost", job
        if "refused" in answers and "ok" not in answers and is_there:
            yield "a refused job exists", job


def as_asked(evidence: Evidence) -> Iterator[Case]:
    """B01: what is there is what was asked for, and not only something of that id; what comes by itself is as it was declared."""
    for name, wanted in evidence.wanted.items():
        if (job := evidence.jobs.get(name)) is not None:
            there = wanted._replace(
                task=job.task, payload=job.payload, tenant=job.tenant, key=job.key, subject=job.subject
            )
            if there != wanted:
                yield "a job is not what was asked for", (name, there, wanted)
    for job in evidence.jobs.values():
        if job.subject != SUBJECTS.get(job.task, job.subject):
            yield "a job is not what was asked for", (job.id, job.task, job.subject)


def beginnings(evidence: Evidence) -> Iterator[Case]:
    """No job began before it was due, nor before everything had completed that it was to run after."""
    begun = _begun(evidence)
    for name, wanted in evidence.wanted.items():
        if (job := evidence.jobs.get(name)) is None or name not in begun:
            continue
        if wanted.run_in is not None and begun[name] < job.born + wanted.run_in - ROUNDED:
            yield "a job began before its time", (name, begun[name] - job.born, wanted.run_in)
        for parent in wanted.after:
            before = evidence.jobs.get(parent)
            if before is None or before.status != "COMPLETED" or begun[name] < (before.ended or inf):
                yield "a job began before what it was to run after had completed", (name, parent)


def _begun(evidence: Evidence) -> dict[str, float]:
    """When each job was claimed for the first time, of those whose history is there."""
    begun: dict[str, float] = {}
    for move in evidence.moves:
        if move.to == "RUNNING":
            begun[move.job] = min(move.at, begun.get(move.job, inf))
    return begun


# What customers may be refused, and why: nothing else that they ask for is a mistake of theirs.
MAY_BE_REFUSED = {
    ("enqueue", "LimitReached"),  # at a desk that is taken
    ("enqueue", "DuplicateKey"),
    ("cancel", "IllegalMove"),  # it has ended
    ("cancel", "JobNotFound"),
    ("decide", "ApprovalClosed"),
}


def refusals(evidence: Evidence) -> Iterator[Case]:
    """A customer is refused what cannot be, and nothing else."""
    keys = {(job.tenant, job.task, job.key) for job in evidence.jobs.values() if job.key is not None}
    acknowledged_at = _acknowledged_at(evidence)
    for note in evidence.client_log:
        what, said = note["what"], note.get("said")
        if note["outcome"] != "refused" or what in {"webhook", "callback"}:
            continue
        if (what, said) not in MAY_BE_REFUSED or (said == "LimitReached" and note["kind"] != "at_desk"):
            yield "a customer was refused without a reason", (what, note["about"], said)
        elif said == "DuplicateKey" and not keys.intersection(_keys(evidence, note["about"])):
            yield "a key was refused that no job has", (note["about"], note["keys"])
        elif said == "JobNotFound" and note["about"] not in evidence.removed:
            # One whose answer was lost may come to be when nobody waits for it any more.
            if acknowledged_at.get(note["about"], inf) < note["at"]:
                yield "a job was not found that is there", note["about"]
        elif said == "IllegalMove" and not _had_ended(evidence.jobs.get(note["about"]), note["at"]):
            yield "a cancel was refused of a job that had not ended", (note["about"], note["at"])


def _acknowledged_at(evidence: Evidence) -> dict[str, float]:
    notes = (note for note in evidence.client_log if (note["what"], note["outcome"]) == ("enqueue", "ok"))
    return {job: note["at"] for note in notes for job in note["about"]}


def _keys(evidence: Evidence, jobs: Iterable[str]) -> set[tuple[str | None, str, str | None]]:
    wanted = (evidence.wanted[job] for job in jobs)
    return {(one.tenant, one.task, one.key) for one in wanted if one.key is not None}


def _had_ended(job: Job | None, at: float) -> bool:
    return job is None or (job.ended is not None and job.ended <= at)


def unanswered(evidence: Evidence) -> Iterator[Case]:
    """Whoever asks long after a fault, and is not met by the next, is answered, and soon; and nobody meets what he cannot act on."""
    windows = calms(evidence)
    begins = [calm.since for calm in windows]
    asked_at: dict[Any, float] = {}
    for note in evidence.client_log:
        if note["what"] == "customer died":
            yield "a customer met an error that is none of Holdfast's", note["said"]
        elif note["outcome"] == "asked":
            asked_at[_asked(note)] = note["at"]
        elif (asked := asked_at.get(_asked(note))) is not None:
            place = bisect_right(begins, asked) - 1
            until = windows[place].until if place >= 0 else -inf
            if note["outcome"] == "unknown" and note["at"] < until:
                yield "a customer was not answered in the calm", (note["what"], note["about"])
            elif note["at"] > asked + ANSWERED_WITHIN and asked + ANSWERED_WITHIN < until:
                seconds = note["at"] - asked
                yield (
                    "a customer waited too long in the calm",
                    (note["what"], note["about"], f"{seconds:.1f} s"),
                )


def never_answered(evidence: Evidence) -> Iterator[Case]:
    """Nobody waits for ever: whatever was asked was answered in some way, if only by giving up."""
    waits: Counter[Any] = Counter()
    for note in evidence.client_log:
        waits[_asked(note)] += 1 if note["outcome"] == "asked" else -1
    yield from (("a customer waited for ever", one) for one, times in waits.items() if times > 0)


def _asked(note: Note) -> tuple[Any, ...]:
    """What a note is about, whether it asks or tells the answer."""
    about = note["about"]
    who = note.get("actor") or note.get("request")
    return note["what"], tuple(about) if isinstance(about, list) else about, note.get("action"), who


def all_or_none(evidence: Evidence) -> Iterator[Case]:
    """Jobs that were asked for together are all there, or none is."""
    for note in evidence.client_log:
        if note["what"] == "enqueue" and len({job in evidence.jobs for job in note["about"]}) > 1:
            yield "half of a flow exists", note["about"]


def origins(evidence: Evidence) -> Iterator[Case]:
    """B03, B04: no job came from nowhere, and no two of a task and a tenant have one key."""
    asked = outcomes(evidence.client_log, "enqueue")
    for job in evidence.jobs.values():
        if job.id not in asked and not _comes_by_itself(evidence, job):
            yield "a job came from nowhere", (job.id, job.task)
    keys = Counter((job.tenant, job.task, job.key) for job in evidence.jobs.values() if job.key is not None)
    yield from (("two jobs have one key", key) for key, times in keys.items() if times > 1)


def _comes_by_itself(evidence: Evidence, job: Job) -> bool:
    """Whether it is an event's, which must be known, of a schedule's time, or a job's that has children; or the nemesis has brought it."""
    parent = evidence.jobs.get(job.parent or "")
    return (
        job.task == "hooked"
        or (job.task == "squares" and parent is not None and parent.task == "gathers")
        or (job.task == "tick" and "slot" in (job.metadata or {}))
        or job.label == "nemesis"
    )


def removals(evidence: Evidence) -> Iterator[Case]:
    """B05: without retention nothing is removed."""
    if evidence.is_kept and evidence.removed:
        yield "jobs were removed that nobody let go", len(evidence.removed)


def cancels(evidence: Evidence) -> Iterator[Case]:
    """A cancel that was acknowledged holds."""
    for note in evidence.client_log:
        if note["what"] == "cancel" and note["outcome"] == "ok" and note["said"] == "CANCELLED":
            found = evidence.jobs.get(note["about"])
            if found is None or found.status != "CANCELLED":
                yield "an acknowledged cancel is lost", note["about"]


def ends(evidence: Evidence) -> Iterator[Case]:
    """Every job has ended, and as its task ends: FAILED are also those whose retries strikes have used up."""
    may_fail = {one.job for one in evidence.approvals.values() if one.decision == "denied"}
    may_fail |= _struck_to_the_end(evidence)
    # Who waits for such a child is told that it failed, however often he asks.
    may_fail |= {job.parent for job in evidence.jobs.values() if job.parent and job.id in may_fail}
    may_fall = _cancelled_with_others(evidence)
    for job in evidence.jobs.values():
        if job.status not in ENDED:
            yield "a job has not ended", (job.id, job.task, job.status)
        elif job.status == "FAILED" and job.task not in {"fails", "pill"} and job.id not in may_fail:
            yield "a job failed that should not", (job.id, job.task, job.error)
        elif job.status == "COMPLETED" and job.task in {"fails", "pill"}:
            yield "a job completed that cannot", (job.id, job.task)
        elif job.status == "CANCELLED" and job.id not in may_fall:
            yield "a job was cancelled that nobody asked to", (job.id, job.task)


def _struck_to_the_end(evidence: Evidence) -> set[str]:
    """The jobs without a retry left that have used (nearly) all of them, and the last attempt, beside strikes on the database.

    Who dies with his worker uses none: the strikes are those that keep the database away from somebody, or hit it.
    """
    spent = {move.job for move in evidence.moves if move.retries == RETRIES}
    lives: dict[str, list[Move]] = defaultdict(list)
    for move in sorted(evidence.moves, key=lambda one: (one.job, one.seq)):
        if move.job in spent:
            lives[move.job].append(move)
    times = _struck_times(evidence)
    struck = set()
    for name, life in lives.items():
        beside = [_overlaps(times, since, until) for since, until in _failures(life)]
        if len(beside) > RETRIES and sum(beside) >= NEARLY_ALL * len(beside):
            struck.add(name)
    return struck


def _failures(life: Sequence[Move]) -> Iterator[tuple[float, float]]:
    """From when to when each attempt took that used a retry, or that failed for want of one."""
    used, since = 0, -inf
    for move in life:
        if move.to == "RUNNING":
            since = move.at
        elif move.came_from == "RUNNING" and (move.retries > used or move.to == "FAILED"):
            yield since, move.at
            used = max(used, move.retries)


def _struck_times(evidence: Evidence) -> list[tuple[float, float]]:
    """When the database was away or hit, or what that has broken was still about; what overlaps is one time."""
    times: list[tuple[float, float]] = []
    for began, ended in sorted((one.began, one.ended + BROKEN_FOR) for one in evidence.records if one.away):
        if times and began <= times[-1][1]:
            times[-1] = (times[-1][0], max(times[-1][1], ended))
        else:
            times.append((began, ended))
    return times


def _overlaps(times: Sequence[tuple[float, float]], since: float, until: float) -> bool:
    """Whether any of these times, which are in order and apart, has something of this one."""
    place = bisect_right(times, (until, inf)) - 1
    return place >= 0 and times[place][1] >= since


def _cancelled_with_others(evidence: Evidence) -> set[str]:
    """The jobs that somebody asked to cancel, and those of the same flow and children, which fall with them."""
    asked = {note["about"] for note in evidence.client_log if note["what"] == "cancel"}
    flows = (note["about"] for note in evidence.client_log if note["what"] == "enqueue")
    born = {job.id for job in evidence.jobs.values() if job.parent in asked}
    return asked.union(born, *(flow for flow in flows if asked.intersection(flow)))


def results(evidence: Evidence) -> Iterator[Case]:
    """C02: a result is what the attempt that counts came to, from what the job was told of others."""
    decided = {one.job: one for one in evidence.approvals.values() if one.decision == "approved"}
    for job in evidence.jobs.values():
        if job.status == "COMPLETED" and job.task != "runs_elsewhere":  # whose results stand in reports
            due = _due_result(evidence, job, decided.get(job.id))
            if job.result != due:
                yield "a result is not what it should be", (job.id, job.task, job.result, due)


# What a number comes to, where nothing else is told.
COME_TO: dict[str, Callable[[int], int]] = {
    "awaits": lambda number: number,
    "squares": lambda number: number**2,
    "gathers": lambda number: number**2 + (number + 1) ** 2,
}


def _due_result(evidence: Evidence, job: Job, decided: Approval | None) -> Any:
    match job.task:
        case "plain":
            return str(job.attempt)
        case "adds":
            wanted = evidence.wanted.get(job.id)
            parents = [evidence.jobs.get(one) for one in (wanted.after if wanted else ())]
            return job.payload["number"] + sum(one.result or 0 for one in parents if one is not None)
        case task if task in COME_TO:
            return COME_TO[task](job.payload["number"])
        case "asks":
            return decided and decided.decided_by
    return None


# -- what was done -------------------------------------------------------------------------------------------------------


def effects(evidence: Evidence) -> Iterator[Case]:
    """C01, C02: what is written with the completion is there exactly if the job completed, once, by the completing attempt."""
    written = Counter(job for job, _ in evidence.effects)
    attempts = dict(evidence.effects)
    for job in evidence.jobs.values():
        wanted = int(job.status == "COMPLETED" and job.task in WITH_EFFECT)
        if written[job.id] < wanted:
            yield "the effect of a completed job is missing", (job.id, job.task)
        elif written[job.id] > wanted:
            yield (
                "an effect is doubled" if wanted else "an effect of a job that did not complete",
                (job.id, job.task, written[job.id]),
            )
        elif wanted and attempts[job.id] != job.attempt:
            yield "an effect is not of the completing attempt", (job.id, attempts[job.id], job.attempt)
    for one, times in written.items():
        if one not in evidence.jobs:
            yield "an effect of a job that is not there", (one, times)


def step_effects(evidence: Evidence) -> Iterator[Case]:
    """What is written with a step's record is there once, at the latest when the job has completed."""
    steps = Counter(evidence.step_effects)
    for job in evidence.jobs.values():
        if job.task == "steps" and job.status == "COMPLETED" and steps[job.id] != 1:
            yield "a step's transaction took place not exactly once", (job.id, steps[job.id])
    for one, times in steps.items():
        if times > 1:
            yield "a step's transaction took place not exactly once", (one, times)


def ledger(evidence: Evidence) -> Iterator[Case]:
    """C03: no attempt starts twice, the one that completed a job had started, and so had what failed."""
    starts = Counter((note["job"], note["attempt"]) for note in evidence.ledger if note["event"] == "start")
    for one, times in starts.items():
        if times > 1:
            yield "an attempt started twice", one
    for job in evidence.jobs.values():
        if job.status == "COMPLETED" and (job.id, job.attempt) not in starts:
            yield "a job completed in an attempt that nobody started", (job.id, job.task, job.attempt)
        if job.status == "FAILED" and not any((job.id, n) in starts for n in _may_have_failed(job)):
            yield "a job failed that nobody started", (job.id, job.task, job.attempt)
    for one, attempt in starts:
        found = evidence.jobs.get(one)
        if found is not None and attempt > found.attempt:
            yield "an attempt ran that the database does not know", (one, attempt)


def _may_have_failed(job: Job) -> Iterable[int]:
    """The attempts one of which must have started: what fails does so by itself, what is denied or dies may have been claimed again."""
    return [job.attempt] if job.task == "fails" else range(1, job.attempt + 1)


# Where a job goes that an attempt has given back, or lost, so that another may claim it.
GIVEN_BACK = {"RETRY", "WAITING", "WAITING_FOR_APPROVAL"}


def claims(evidence: Evidence) -> Iterator[Case]:
    """C03: who started had claimed the job, and every attempt but the first follows a move that gave the job back.

    Retention takes the history with the job: how many attempts were due to a job that it took, nobody can tell any more.
    """
    claimed: set[tuple[str, int]] = set()
    given_back: set[tuple[str, int]] = set()
    for move in sorted(evidence.moves, key=lambda one: (one.job, one.seq)):
        if move.to == "RUNNING":
            claimed.add((move.job, move.attempt))
            if move.attempt > 1 and (move.job, move.attempt - 1) not in given_back:
                yield "a job was claimed again that nobody had given back", (move.job, move.attempt)
        elif move.came_from == "RUNNING" and move.to in GIVEN_BACK:
            given_back.add((move.job, move.attempt))
    starts = {(note["job"], note["attempt"]) for note in evidence.ledger if note["event"] == "start"}
    for job, attempt in sorted(starts - claimed):
        if job in evidence.jobs and job not in evidence.removed:
            yield "an attempt started that nobody had claimed", (job, attempt)
    started = Counter(job for job, _ in starts)
    returns = Counter(job for job, _ in given_back)
    for one in evidence.jobs.values():
        attempts = max(started[one.id], one.attempt)
        if attempts > 1 + returns[one.id] and one.id not in evidence.removed:
            yield "a job had more attempts than reasons for them", (one.id, attempts, returns[one.id])


def blame(evidence: Evidence) -> Iterator[Case]:
    """No job is blamed for the death of a worker that held others too.

    Certainly no suspect is whoever is in its first attempt; and it counts where it came back from that death no earlier. A process that was
    declared dead and goes on under another name is another worker: what it held before is none of the new one's.
    """
    killed = [record for record in evidence.records if record.name == "kill_worker" and len(record.jobs) > 1]
    hit = {job for record in killed for job in record.jobs}
    lives: dict[str, list[Move]] = defaultdict(list)
    for move in sorted(evidence.moves, key=lambda one: (one.job, one.seq)):
        if move.job in hit:
            lives[move.job].append(move)
    for record in killed:
        back = {job: pair for job in record.jobs if (pair := _came_back(lives[job], record.at))}
        beside = [(before.actor, after.at) for before, after in back.values() if before.attempt == 1]
        for job, (before, after) in back.items():
            others = [at for holder, at in beside if holder == before.actor and at >= after.at]
            if (
                before.attempt > 1
                and others
                and after.crashes > _charged_until(lives[job], record.at).crashes
            ):
                yield "a job was blamed for a death that others may have caused", (job, before.attempt)


def _came_back(life: list[Move], died_at: float) -> tuple[Move, Move] | None:
    """The claim of whoever held the job when he died, and the move that took it from him."""
    for before, after in pairwise(life):
        if before.at <= died_at < after.at:
            return (before, after) if (before.to, after.to) == ("RUNNING", "RETRY") else None
    return None


class Charged(NamedTuple):
    """What a job was charged with by some time."""

    crashes: int
    retries: int


def _charged_until(life: list[Move], at: float) -> Charged:
    known = [move for move in life if move.at <= at]
    return Charged(
        max((move.crashes for move in known), default=0), max((move.retries for move in known), default=0)
    )


def pills(evidence: Evidence) -> Iterator[Case]:
    """What kills its worker is stopped when it has done so alone as often as may be: it has no more attempts than those deaths.

    Not charged are its first, by which it becomes a suspect, and what was given back unharmed.
    """
    lives: dict[str, list[Move]] = defaultdict(list)
    for move in sorted(evidence.moves, key=lambda one: (one.job, one.seq)):
        job = evidence.jobs.get(move.job)
        if job is not None and job.task == "pill":
            lives[move.job].append(move)
    for name, life in lives.items():
        released = sum((move.reason or "").startswith("released") for move in life)
        if evidence.jobs[name].attempt > PILL_CAP + 1 + released:
            yield "a pill was taken more often than may be", (name, evidence.jobs[name].attempt)


def drains(evidence: Evidence) -> Iterator[Case]:
    """Whoever was told to end is not dead: what he held is blamed for nothing."""
    lives: dict[str, list[Move]] = defaultdict(list)
    kept = {job for record in evidence.records for job in record.kept}
    for move in sorted(evidence.moves, key=lambda one: (one.job, one.seq)):
        if move.job in kept:
            lives[move.job].append(move)
    for record in evidence.records:
        for job in record.kept:
            following = next((move for move in lives[job] if move.at > record.at), None)
            if following is None:
                continue
            reason = following.reason or ""
            before = _charged_until(lives[job], record.at)
            if reason.endswith(" died") or following.crashes > before.crashes:
                yield "a drain counted as a death", (job, reason, following.crashes)
            if reason.startswith("released") and following.retries > before.retries:
                yield "a drain counted as a failure", (job, reason, following.retries)


def steps(evidence: Evidence) -> Iterator[Case]:
    """A step that an attempt has passed is not done again by a later one.

    Whoever wakes up passes what a later attempt has done meanwhile: that was not done before it.
    """
    done: dict[tuple[str, str], int] = {}
    passed: dict[tuple[str, str], int] = {}
    for note in evidence.ledger:
        if note["event"] == "step":
            at = (note["job"], note["step"])
            done[at] = min(done.get(at, note["attempt"]), note["attempt"])
    for note in evidence.ledger:
        at = (note["job"], note.get("step", ""))
        if note["event"] == "passed" and note["attempt"] >= done.get(at, note["attempt"] + 1):
            passed[at] = min(passed.get(at, note["attempt"]), note["attempt"])
    for note in evidence.ledger:
        if note["event"] == "step" and note["attempt"] > passed.get(
            (note["job"], note["step"]), note["attempt"]
        ):
            yield "a finished step was done again", (note["job"], note["step"], note["attempt"])


def checkpoints(evidence: Evidence) -> Iterator[Case]:
    """An attempt finds the checkpoint of the last one before it that was told it is kept, or a later one; none that no attempt has made.

    Whoever wakes up may find what a later attempt has kept meanwhile.
    """
    kept: dict[str, list[int]] = defaultdict(list)
    started: dict[str, set[int]] = defaultdict(set)
    for note in evidence.ledger:
        if note["event"] == "kept":
            kept[note["job"]].append(note["attempt"])
        elif note["event"] == "start":
            started[note["job"]].add(note["attempt"])
    for note in evidence.ledger:
        if note["event"] != "recalled":
            continue
        found, attempt = note["kept"], note["attempt"]
        last = max((one for one in kept[note["job"]] if one < attempt), default=0)
        if (found or 0) < last:
            yield "a checkpoint was lost", (note["job"], attempt, found, last)
        elif found is not None and (found == attempt or found not in started[note["job"]]):
            yield "a checkpoint came from nowhere", (note["job"], attempt, found)


def children(evidence: Evidence) -> Iterator[Case]:
    """A job has its children once, however often it was begun, and has completed only with them; or none, if it has not come so far."""
    born: dict[str, list[Job]] = defaultdict(list)
    for job in evidence.jobs.values():
        if job.parent is not None:
            born[job.parent].append(job)
    for job in evidence.jobs.values():
        if job.task == "gathers":
            number = job.payload["number"]
            numbers = sorted(one.payload["number"] for one in born[job.id])
            if numbers != [number, number + 1] and (numbers or job.status == "COMPLETED"):
                yield "a job has not its children, each once", (job.id, number, numbers)
            elif job.status == "COMPLETED" and {one.status for one in born[job.id]} != {"COMPLETED"}:
                yield "a job went on without its children", job.id


def decisions(evidence: Evidence) -> Iterator[Case]:
    """D02, D03: a decision that was acknowledged is the one that counts, and its job did what was decided."""
    for note in evidence.client_log:
        if note["what"] != "decide" or note["outcome"] != "ok":
            continue
        found = evidence.approvals.get(note["about"])
        wanted = {"approve": "approved", "deny": "denied"}[note["verdict"]]
        if found is None:
            yield "a decided approval is lost", note["about"]
        elif (found.job, found.decision, found.decided_by) != (note["job"], wanted, note["actor"]):
            yield "an acknowledged decision is not the one that counts", (note["about"], found)
        elif wanted == "denied" and (job := evidence.jobs.get(found.job)) and job.status == "COMPLETED":
            yield "a denied job completed", job.id
    approved = {one.job for one in evidence.approvals.values() if one.decision == "approved"}
    for job in evidence.jobs.values():
        if job.task == "asks" and job.status == "COMPLETED" and job.id not in approved:
            yield "a job went on without its approval", job.id


def callbacks(evidence: Evidence) -> Iterator[Case]:
    """E01: a run's end that was acknowledged is the job's, unless the job was cancelled before it."""
    for note in evidence.client_log:
        if note["what"] == "callback" and note["outcome"] == "ok" and note["action"] == "completed":
            job = evidence.jobs.get(note["job"])
            if job is None:
                yield "a job that its run completed is lost", note["job"]
            elif job.status != "COMPLETED" or (job.result or {}).get("token") != note["about"]:
                yield "an acknowledged end of a run is lost", (job.id, job.status, job.result)


def runs(evidence: Evidence) -> Iterator[Case]:
    """Whatever completed elsewhere was started there, with what its job was told; and of an attempt there is one run."""
    begun = {note["about"]: note for note in evidence.client_log if note["what"] == "run"}
    for note in begun.values():
        found = evidence.jobs.get(note["job"])
        if found is None or found.payload.get("number") != note["number"]:
            yield "a run is of no job that was asked for", (note["about"], note["number"])
    for attempt, times in Counter((token.split(".")[0], token.split(".")[1]) for token in begun).items():
        if times > 1:
            yield "an attempt had two runs", attempt
    for job in evidence.jobs.values():
        if job.task == "runs_elsewhere" and job.status == "COMPLETED":
            told = job.result or {}
            if told.get("token") not in begun or told.get("run") != job.payload["number"]:
                yield "a job completed elsewhere without a run", (job.id, job.result)


def reports(evidence: Evidence) -> Iterator[Case]:
    """C2 of the attacks: whoever reports of a run that counts is heard, also when he repeats himself because he was not answered.

    He may be refused when something else has ended the attempt before. What retention took is known to nobody any more.
    """
    ended = {
        (move.job, move.attempt): move.at
        for move in evidence.moves
        if move.came_from == "RUNNING" and move.to != "COMPLETED"
    }
    for note in evidence.client_log:
        if (
            note["what"] == "callback"
            and note["outcome"] == "refused"
            and note["job"] not in evidence.removed
        ):
            attempt = int(note["about"].split(".")[1])
            if ended.get((note["job"], attempt), note["at"]) >= note["at"]:
                yield "a run that counts was refused", (note["about"], note["action"])


def webhooks(evidence: Evidence) -> Iterator[Case]:
    """E03: an event that was acknowledged is one job and one row of the handler's; one that is forged, or that nobody sent, is none."""
    jobs = Counter(job.payload["event_id"] for job in evidence.jobs.values() if job.task == "hooked")
    rows = Counter(evidence.deliveries)
    forged = {note["about"]: note["forged"] for note in evidence.client_log if note["what"] == "webhook"}
    answers = outcomes(evidence.client_log, "webhook")
    for event in forged.keys() | rows.keys() | jobs.keys():
        heard = answers.get(event, set())
        least, most = int("ok" in heard), int(event in forged and not forged[event])
        if not least <= rows[event] <= most:
            yield "an event was not taken exactly once", (event, rows[event], sorted(heard))
        if jobs[event] != rows[event]:
            yield "an event has not exactly its job", (event, jobs[event], rows[event])
        if "refused" in heard and most:
            yield "a genuine event was refused", event


def schedule(evidence: Evidence) -> Iterator[Case]:
    """F04: every time of the schedule became one job, and none is left out."""
    ticks = [job.metadata or {} for job in evidence.jobs.values() if job.task == "tick"]
    slots = Counter(one["slot"] for one in ticks if "slot" in one)
    for slot, times in slots.items():
        if times > 1:
            yield "a time of the schedule became two jobs", slot
    times_of = sorted(datetime.fromisoformat(slot).timestamp() for slot in slots)
    began = min((job.born for job in evidence.jobs.values()), default=evidence.loaded_until)
    if max([began, *times_of]) < evidence.loaded_until - RECOVERED_WITHIN:
        yield "the schedule has stopped", times_of[-1:]
    for before, after in pairwise(times_of):
        if round(after - before) != TICK_SECONDS:
            yield "a time of the schedule is left out", (before, after)


def limits(evidence: Evidence) -> Iterator[Case]:
    """No two jobs of a room ran at once, by the history."""
    rooms = {job.id: job.payload["room"] for job in evidence.jobs.values() if job.task == "in_room"}
    changes: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for move in evidence.moves:
        if move.job in rooms and "RUNNING" in {move.to, move.came_from}:
            changes[rooms[move.job]].append((move.at, 1 if move.to == "RUNNING" else -1))
    for room, moves in changes.items():
        inside = 0
        for _, change in sorted(moves):
            inside += change
            if inside > 1:
                yield "two jobs were in one room", room
                break


# -- what was seen -------------------------------------------------------------------------------------------------------


def feed(evidence: Evidence) -> Iterator[Case]:
    """G01, G02: the reader missed nothing, and saw nothing that is not history, each in the channel that was asked for."""
    seen = _seen(evidence)
    subjects = _subjects(evidence)
    happened = _happened(evidence, subjects.keys())
    for job_id, seqs in happened.items():
        if missed := sorted(seqs - set(seen[job_id])):
            yield "the reader missed moves", (job_id, missed)
    for job_id, told in seen.items():
        if invented := sorted(set(told) - happened.get(job_id, set())):
            yield "the reader saw what is not history", (job_id, invented)
    for note in evidence.feed:
        job_id, channel = note["job"], note["channel"]
        if note["kind"].startswith("job.") and channel != f"subject:{subjects.get(job_id)}":
            yield "a job was seen in another's channel", (job_id, channel, subjects.get(job_id))


def _subjects(evidence: Evidence) -> dict[str, str]:
    """The jobs that somebody follows, by what was asked for and not by what is there."""
    asked = {job: wanted.subject for job, wanted in evidence.wanted.items() if wanted.subject is not None}
    declared = {job.id: SUBJECTS[job.task] for job in evidence.jobs.values() if job.task in SUBJECTS}
    return asked | declared


def _happened(evidence: Evidence, jobs: Iterable[str]) -> dict[str, set[int]]:
    """The moves of jobs; of one whose history retention took, as many as it had."""
    happened: dict[str, set[int]] = {
        one: set(range(1, evidence.jobs[one].moves + 1)) if one in evidence.removed else set()
        for one in jobs
        if one in evidence.jobs
    }
    for move in evidence.moves:
        if move.job in happened:
            happened[move.job].add(move.seq)
    return happened


def feed_order(evidence: Evidence) -> Iterator[Case]:
    """G03: the reader saw each job's moves in their order, once."""
    for job_id, told in _seen(evidence).items():
        if told != sorted(set(told)):
            yield "a job's events came out of order, or twice", (job_id, told)


def _seen(evidence: Evidence) -> dict[str, list[int]]:
    """The moves of each job as they were read."""
    seen: dict[str, list[int]] = defaultdict(list)
    for note in evidence.feed:
        if note["kind"].startswith("job.") and note["seq"] is not None:
            seen[note["job"]].append(note["seq"])
    return seen


def feed_ids(evidence: Evidence) -> Iterator[Case]:
    """The ids of a channel have no gap for its reader."""
    last: dict[str, int] = defaultdict(int)
    for note in evidence.feed:
        if note["id"] != last[note["channel"]] + 1:
            yield "the events have a gap", (note["channel"], last[note["channel"]], note["id"])
        last[note["channel"]] = note["id"]
