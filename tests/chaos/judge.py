"""The judge: compares what customers were answered, what tasks did, what readers saw and what the database says; pure.

What it does not look at is the database's own order, which the auditor does.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple

from chaos.app import TICK_SECONDS, WITH_EFFECT
from chaos.evidence import Evidence, Move
from chaos.notes import Note
from chaos.timing import RECOVERED_WITHIN, Case, calms, recovery, throughput

ENDED = {"COMPLETED", "FAILED", "CANCELLED"}


class Finding(NamedTuple):
    """A promise that was not kept, and the case."""

    rule: str
    case: str


def findings(evidence: Evidence) -> list[Finding]:
    """Everything that does not agree; empty when all of it does."""
    return [
        Finding(rule, str(case))
        for check in (
            acknowledged,
            refusals,
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
            steps,
            decisions,
            callbacks,
            reports,
            webhooks,
            schedule,
            limits,
            feed,
            feed_order,
            feed_ids,
            removals,
            recovery,
            throughput,
        )
        for rule, case in check(evidence)
    ]


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
    keys = {job.key for job in evidence.jobs.values() if job.key is not None}
    for note in evidence.client_log:
        what, said = note["what"], note.get("said")
        if note["outcome"] != "refused" or what in {"webhook", "callback"}:
            continue
        if (what, said) not in MAY_BE_REFUSED or (said == "LimitReached" and note["kind"] != "at_desk"):
            yield "a customer was refused without a reason", (what, note["about"], said)
        elif said == "DuplicateKey" and not keys.intersection(note["keys"]):
            yield "a key was refused that no job has", (note["about"], note["keys"])
        elif said == "JobNotFound" and evidence.is_kept and note["about"] in evidence.jobs:
            yield "a job was not found that is there", note["about"]


def unanswered(evidence: Evidence) -> Iterator[Case]:
    """Whoever asks long after a fault, and is not met by the next, is answered."""
    windows = calms(evidence)
    begins = [since for since, _ in windows]
    asked_at: dict[Any, float] = {}
    for note in evidence.client_log:
        if note["outcome"] == "asked":
            asked_at[_asked(note)] = note["at"]
        elif note["outcome"] == "unknown":
            at: float = note["at"]
            place = bisect_right(begins, asked_at.get(_asked(note), at)) - 1
            if place >= 0 and at < windows[place][1]:
                yield "a customer was not answered in the calm", (note["what"], note["about"])


def never_answered(evidence: Evidence) -> Iterator[Case]:
    """Nobody waits for ever: whatever was asked was answered in some way, if only by giving up."""
    waits: Counter[Any] = Counter()
    for note in evidence.client_log:
        waits[_asked(note)] += 1 if note["outcome"] == "asked" else -1
    yield from (("a customer waited for ever", one) for one, times in waits.items() if times > 0)


def _asked(note: Note) -> tuple[Any, ...]:
    """What a note is about, whether it asks or tells the answer."""
    about = note["about"]
    return note["what"], tuple(about) if isinstance(about, list) else about, note.get("action")


def all_or_none(evidence: Evidence) -> Iterator[Case]:
    """Jobs that were asked for together are all there, or none is."""
    for note in evidence.client_log:
        if note["what"] == "enqueue" and len({job in evidence.jobs for job in note["about"]}) > 1:
            yield "half of a flow exists", note["about"]


def origins(evidence: Evidence) -> Iterator[Case]:
    """B03, B04: no job came from nowhere, and no two of a task and a tenant have one key."""
    asked = outcomes(evidence.client_log, "enqueue")
    for job in evidence.jobs.values():
        if job.id not in asked and job.task not in {"hooked", "tick"} and job.label != "nemesis":
            yield "a job came from nowhere", (job.id, job.task)
    keys = Counter((job.tenant, job.task, job.key) for job in evidence.jobs.values() if job.key is not None)
    yield from (("two jobs have one key", key) for key, times in keys.items() if times > 1)


def removals(evidence: Evidence) -> Iterator[Case]:
    """B05: without retention nothing is removed."""
    if evidence.is_kept and evidence.removed:
        yield "jobs were removed that nobody let go", len(evidence.removed)


def cancels(evidence: Evidence) -> Iterator[Case]:
    """A cancel that was acknowledged holds; and no customer met an error that he cannot act on."""
    for note in evidence.client_log:
        if note["what"] == "cancel" and note["outcome"] == "ok" and note["said"] == "CANCELLED":
            found = evidence.jobs.get(note["about"])
            if found is None or found.status != "CANCELLED":
                yield "an acknowledged cancel is lost", note["about"]
        if note["what"] == "customer died":
            yield "a customer met an error that is none of Holdfast's", note["said"]


def ends(evidence: Evidence) -> Iterator[Case]:
    """Every job has ended, and as its task ends."""
    denied = {one.job for one in evidence.approvals.values() if one.decision == "denied"}
    may_fall = _cancelled_with_others(evidence)
    for job in evidence.jobs.values():
        if job.status not in ENDED:
            yield "a job has not ended", (job.id, job.task, job.status)
        elif job.status == "FAILED" and job.task not in {"fails", "pill"} and job.id not in denied:
            yield "a job failed that should not", (job.id, job.task, job.error)
        elif job.status == "COMPLETED" and job.task in {"fails", "pill"}:
            yield "a job completed that cannot", (job.id, job.task)
        elif job.status == "CANCELLED" and job.id not in may_fall:
            yield "a job was cancelled that nobody asked to", (job.id, job.task)


def _cancelled_with_others(evidence: Evidence) -> set[str]:
    """The jobs that somebody asked to cancel, and those of the same flow, which fall with them."""
    asked = {note["about"] for note in evidence.client_log if note["what"] == "cancel"}
    flows = (note["about"] for note in evidence.client_log if note["what"] == "enqueue")
    return asked.union(*(flow for flow in flows if asked.intersection(flow)))


def results(evidence: Evidence) -> Iterator[Case]:
    """C02 where nothing is written but the result: it is that of the attempt which counts, not of one that was given up."""
    for job in evidence.jobs.values():
        if job.task == "plain" and job.status == "COMPLETED" and job.result != str(job.attempt):
            yield "a result is of another attempt", (job.id, job.result, job.attempt)


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
    """C03: no attempt starts twice, and the one that completed a job had started."""
    starts = Counter((note["job"], note["attempt"]) for note in evidence.ledger if note["event"] == "start")
    for one, times in starts.items():
        if times > 1:
            yield "an attempt started twice", one
    for job in evidence.jobs.values():
        if job.status == "COMPLETED" and (job.id, job.attempt) not in starts:
            yield "a job completed in an attempt that nobody started", (job.id, job.task, job.attempt)
    for one, attempt in starts:
        found = evidence.jobs.get(one)
        if found is not None and attempt > found.attempt:
            yield "an attempt ran that the database does not know", (one, attempt)


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
            if before.attempt > 1 and others and after.crashes > _blamed_until(lives[job], record.at):
                yield "a job was blamed for a death that others may have caused", (job, before.attempt)


def _came_back(life: list[Move], died_at: float) -> tuple[Move, Move] | None:
    """The claim of whoever held the job when he died, and the move that took it from him."""
    for before, after in pairwise(life):
        if before.at <= died_at < after.at:
            return (before, after) if (before.to, after.to) == ("RUNNING", "RETRY") else None
    return None


def _blamed_until(life: list[Move], at: float) -> int:
    return max((move.crashes for move in life if move.at <= at), default=0)


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


def decisions(evidence: Evidence) -> Iterator[Case]:
    """D02, D03: a decision that was acknowledged is the one that counts, and its job did what was decided."""
    for note in evidence.client_log:
        if note["what"] != "decide" or note["outcome"] != "ok":
            continue
        found = evidence.approvals.get(note["about"])
        wanted = {"approve": "approved", "deny": "denied"}[note["verdict"]]
        if found is None:
            yield "a decided approval is lost", note["about"]
        elif (found.decision, found.decided_by) != (wanted, note["actor"]):
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
            elif job.status != "COMPLETED" or job.result["token"] != note["about"]:
                yield "an acknowledged end of a run is lost", (job.id, job.status, job.result)


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
    slots = Counter(
        job.metadata["slot"] for job in evidence.jobs.values() if job.task == "tick" and job.metadata
    )
    for slot, times in slots.items():
        if times > 1:
            yield "a time of the schedule became two jobs", slot
    times_of = sorted(datetime.fromisoformat(slot).timestamp() for slot in slots)
    if not times_of or times_of[-1] < evidence.loaded_until - RECOVERED_WITHIN:
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
    """G01, G02: the reader missed nothing, and saw nothing that is not history."""
    seen = _seen(evidence)
    wanted: dict[str, set[int]] = defaultdict(set)
    for move in evidence.moves:
        job = evidence.jobs.get(move.job)
        if job is not None and job.subject is not None:
            wanted[move.job].add(move.seq)
    for job_id, seqs in wanted.items():
        if missed := sorted(seqs - set(seen[job_id])):
            yield "the reader missed moves", (job_id, missed)
        if invented := sorted(set(seen[job_id]) - seqs):
            yield "the reader saw what is not history", (job_id, invented)
    for job_id in seen.keys() - evidence.jobs.keys():
        yield "the reader saw what is not history", (job_id, seen[job_id])


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
