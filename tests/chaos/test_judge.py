"""The judge can say no: each promise that is broken on purpose is found, and by its own name."""

from collections.abc import Callable, Iterable

import psycopg
import pytest

from chaos.app import WITH_EFFECT
from chaos.evidence import Approval, Evidence, Job, Move
from chaos.judge import findings, schedule
from chaos.notes import Note, Wanted
from chaos.soak import KEPT, Sample, drawn, grown, levels, most_grown, unseen
from chaos.strikes.strike import Record
from chaos.timing import bound
from holdfast.testing import ScratchDatabase


def job(name: str, task: str = "writes", status: str = "COMPLETED", **facts: object) -> Job:
    told: dict[str, object] = {
        "attempt": 1, "tenant": None, "key": None, "subject": None, "payload": {}, "result": None, "error": None, "metadata": None, "label": None, "moves": 3, "born": 0.5, "ended": 3.0,
    }  # fmt: skip
    return Job(name, task, status, **{**told, **facts})  # type: ignore[arg-type]


def life(name: str, *statuses: str, at: float = 0.0) -> list[Move]:
    moves, attempt = [], 0
    for seq, (before, to) in enumerate(zip((None, *statuses), statuses, strict=False), 1):
        attempt += to == "RUNNING"
        moves.append(Move(name, seq, before, to, attempt, at + seq, "w"))
    return moves


def asked_for(*jobs: Job, kind: str = "", **facts: object) -> list[Note]:
    """What a customer writes down who asks for them, and is told that they are there."""
    told: Note = {
        "what": "enqueue",
        "about": [one.id for one in jobs],
        "kind": kind or jobs[0].task,
        "keys": [jobs[0].key],
        **facts,
    }
    return [{**told, "outcome": "asked", "at": 0.4}, {**told, "outcome": "ok", "at": 0.6}]


def as_wanted(one: Job, **facts: object) -> Wanted:
    return Wanted(one.task, one.payload, one.tenant, one.key, one.subject)._replace(**facts)  # type: ignore[arg-type]


@pytest.fixture
def evidence() -> Evidence:
    """A run in which every promise was kept."""
    flow = [
        job("f0", "adds", payload={"number": 0}, result=0),
        job("f1", "adds", payload={"number": 1}, result=1, ended=13.0),
        job("f2", "adds", payload={"number": 2}, result=3, ended=23.0),
    ]
    jobs = [
        job("a", subject="chaos:1"),
        job("s", "steps"),
        job("r", "runs_elsewhere", payload={"number": 5}, result={"token": "r.1.c", "run": 5}),
        job("q", "asks", result="ann"),
        job("w", "awaits", payload={"number": 7}, result=7),
        job("m", "gathers", payload={"number": 2}, result=13),
        job("m2", "squares", payload={"number": 2}, result=4, parent="m"),
        job("m3", "squares", payload={"number": 3}, result=9, parent="m"),
        job("h", "hooked", payload={"event_id": "evt_1"}, subject="chaos:webhooks"),
        job("t1", "tick", metadata={"slot": "2030-01-01T00:00:00+00:00"}, subject="chaos:ticks"),
        job("t2", "tick", metadata={"slot": "2030-01-01T00:00:01+00:00"}, subject="chaos:ticks"),
        job("i", "in_room", payload={"room": 1}),
        job("j", "in_room", payload={"room": 1}, ended=13.0),
        job("d1", "at_desk", payload={"desk": 1}),
        job("d2", "at_desk", payload={"desk": 1}),
        job("c", status="CANCELLED"),
        *flow,
    ]
    later = {"j": 10, "f1": 10, "f2": 20}
    asked = [one for one in jobs if one.task not in {"tick", "hooked", "adds", "squares"}]
    with_effect = [one.id for one in jobs if one.task in WITH_EFFECT and one.status == "COMPLETED"]
    after = {"f1": ("f0",), "f2": ("f1",)}
    followed = {"a": "chaos:1", "h": "chaos:webhooks", "t1": "chaos:ticks", "t2": "chaos:ticks"}
    return Evidence(
        jobs={one.id: one for one in jobs},
        wanted={
            **{one.id: as_wanted(one, after=after.get(one.id, ())) for one in (*asked, *flow)},
            "never": Wanted("at_desk", {"desk": 1}),
        },
        moves=[
            move
            for one in jobs
            if one.status == "COMPLETED"
            for move in life(one.id, "PENDING", "RUNNING", "COMPLETED", at=later.get(one.id, 0))
        ],
        approvals={"g": Approval("g", "q", "approved", "ann")},
        effects=[(one, 1) for one in with_effect],
        step_effects=["s"],
        deliveries=["evt_1"],
        client_log=[
            *(note for one in asked for note in asked_for(one)),
            *asked_for(*flow, kind="flow"),
            *refused("LimitReached", about=["never"], kind="at_desk", at=2.5),
            {"what": "decide", "about": "g", "outcome": "ok", "verdict": "approve", "actor": "ann", "job": "q", "at": 2.5},
            {"what": "run", "about": "r.1.c", "outcome": "ok", "job": "r", "number": 5, "at": 2.1},
            {"what": "callback", "about": "r.1.c", "outcome": "ok", "action": "completed", "job": "r", "at": 3.1},
            {"what": "webhook", "about": "evt_1", "outcome": "ok", "forged": False, "at": 2.5},
            {"what": "webhook", "about": "evt_2", "outcome": "refused", "forged": True, "at": 2.5},
            {"what": "cancel", "about": "c", "outcome": "ok", "said": "CANCELLED", "at": 2.5},
            {"what": "cancel", "about": "a", "outcome": "refused", "said": "IllegalMove", "at": 3.5},
        ],
        ledger=[
            *({"event": "start", "job": one.id, "attempt": 1} for one in jobs if one.status == "COMPLETED"),
            {"event": "step", "job": "s", "attempt": 1, "step": "first"},
            {"event": "passed", "job": "s", "attempt": 1, "step": "first"},
            {"event": "recalled", "job": "m", "attempt": 1, "kept": None},
            {"event": "kept", "job": "m", "attempt": 1},
        ],
        feed=[
            {"channel": f"subject:{subject}", "id": n + (3 if one == "t2" else 0), "kind": "job.moved", "job": one, "seq": n}
            for one, subject in followed.items()
            for n in (1, 2, 3)
        ],
    )  # fmt: skip


def refused(said: str, **facts: object) -> list[Note]:
    """What a customer writes down who asks and is refused."""
    told: Note = {"what": "enqueue", "about": ["no"], "kind": "plain", "keys": [], "at": 2.5, **facts}
    return [{**told, "outcome": "asked"}, {**told, "outcome": "refused", "said": said}]


def test_a_run_in_which_every_promise_was_kept_has_no_findings(evidence: Evidence) -> None:
    assert findings(evidence) == []


def test_a_schedule_need_not_have_fired_in_a_run_that_hardly_began(evidence: Evidence) -> None:
    evidence.jobs["a"] = evidence.jobs["a"]._replace(born=100.0)
    young = Evidence(jobs={"a": evidence.jobs["a"]}, loaded_until=103.0)

    assert list(schedule(young)) == []
    young.loaded_until = 200.0
    assert list(schedule(young)) == [("the schedule has stopped", [])]


def change(evidence: Evidence, name: str, **facts: object) -> Job:
    evidence.jobs[name] = changed = evidence.jobs[name]._replace(**facts)  # type: ignore[arg-type]
    return changed


SLOTS = 1893456000.0  # when the schedule's times begin


def not_answered(evidence: Evidence) -> None:
    evidence.records, evidence.loaded_until = [struck(SLOTS, SLOTS + 1)], SLOTS + 20
    asked = {"what": "cancel", "about": "c", "outcome": "asked", "at": SLOTS + 12}
    evidence.client_log += [asked, {**asked, "outcome": "unknown", "at": SLOTS + 13}]


def again(evidence: Evidence, how: str) -> Evidence:
    """Add a job that an attempt has given back, and that another has completed."""
    evidence.jobs["y"] = job("y", "plain", attempt=2, label="nemesis", result="2")
    evidence.ledger += [{"event": "start", "job": "y", "attempt": attempt} for attempt in (1, 2)]
    evidence.moves += life("y", "PENDING", "RUNNING", how, "RUNNING", "COMPLETED")
    return evidence


def not_in_history(evidence: Evidence, name: str, to: str) -> None:
    evidence.moves = [move for move in evidence.moves if (move.job, move.to) != (name, to)]


def refused_report(at: float) -> dict[str, object]:
    return {
        "what": "callback",
        "about": "r.1.c",
        "outcome": "refused",
        "action": "started",
        "job": "r",
        "at": at,
    }


def came(evidence: Evidence, one: Job, at: float = 0.0, told: float = 0.6) -> Job:
    """Add a job that a customer has asked for, and that went well."""
    evidence.jobs[one.id] = one
    evidence.wanted[one.id] = as_wanted(one)
    asked, answered = asked_for(one)
    evidence.client_log += [asked, {**answered, "at": told}]
    evidence.ledger.append({"event": "start", "job": one.id, "attempt": 1})
    evidence.moves += life(one.id, "PENDING", "RUNNING", "COMPLETED", at=at)
    if one.task in WITH_EFFECT:
        evidence.effects.append((one.id, 1))
    return one


def refused_key(evidence: Evidence, task: str) -> None:
    """Refuse a key that a job of another task has, or of the same."""
    came(evidence, job("k1", key="k"))
    evidence.wanted["no"] = Wanted(task, {}, key="k")
    evidence.client_log += refused("DuplicateKey", keys=["k"])


def answered_after(evidence: Evidence, seconds: float, at: float = 150.0) -> None:
    """Let somebody wait, in a calm that ends after 200 s."""
    evidence.records, evidence.loaded_until = [struck(100.0, 101.0), struck(200.0, 201.0)], 202.0
    asked = {"what": "cancel", "about": "c", "outcome": "asked", "at": at}
    evidence.client_log += [asked, {**asked, "outcome": "ok", "said": "CANCELLED", "at": at + seconds}]


def poisoned(evidence: Evidence, attempts: int, reason: str | None = None) -> None:
    evidence.jobs["p"] = job("p", "pill", "FAILED", attempt=attempts, label="nemesis")
    evidence.ledger += [{"event": "start", "job": "p", "attempt": n + 1} for n in range(attempts)]
    moves = life("p", "PENDING", *["RUNNING", "RETRY"] * (attempts - 1), "RUNNING", "FAILED")
    evidence.moves += [*moves[:2], moves[2]._replace(reason=reason), *moves[3:]]


def drained(
    evidence: Evidence, reason: str = "released: worker w stopped", crashes: int = 0, retries: int = 0
) -> None:
    """Tell a worker to end that holds y."""
    again(evidence, "RETRY")
    evidence.moves = [
        move._replace(reason=reason, crashes=crashes, retries=retries)
        if (move.job, move.to) == ("y", "RETRY")
        else move
        for move in evidence.moves
    ]
    evidence.records = [Record("drain_worker", 2.0, 3.5, 1, "", away=False, at=2.5, kept=["y"])]


def woken(evidence: Evidence, recalled: int | None, attempt: int = 2, kept: bool = True) -> None:
    """Let the job with children be begun again when they have ended; the first attempt may not know that it has kept anything."""
    change(evidence, "m", attempt=2)
    evidence.effects = [(job, 2 if job == "m" else by) for job, by in evidence.effects]
    evidence.moves = [one for one in evidence.moves if one.job != "m"]
    evidence.moves += life("m", "PENDING", "RUNNING", "WAITING", "RUNNING", "COMPLETED")
    evidence.ledger.append({"event": "start", "job": "m", "attempt": 2})
    if not kept:
        evidence.ledger.remove({"event": "kept", "job": "m", "attempt": 1})
    evidence.ledger.append({"event": "recalled", "job": "m", "attempt": attempt, "kept": recalled})


def cancelled_with_children(evidence: Evidence) -> None:
    """Cancel a job that has children: one of them had begun."""
    change(evidence, "m", status="CANCELLED", result=None)
    change(evidence, "m3", status="CANCELLED", result=None)
    without(evidence, "m", "m3")
    evidence.moves += life("m", "PENDING", "RUNNING", "WAITING", "CANCELLED")
    evidence.moves += life("m3", "PENDING", "CANCELLED")
    evidence.ledger.append({"event": "start", "job": "m", "attempt": 1})
    evidence.client_log.append(
        {"what": "cancel", "about": "m", "outcome": "ok", "said": "CANCELLED", "at": 2.5}
    )


def without(evidence: Evidence, *names: str) -> None:
    """Take from the run what these jobs have left there but their rows."""
    evidence.effects = [one for one in evidence.effects if one[0] not in names]
    evidence.moves = [one for one in evidence.moves if one.job not in names]
    evidence.ledger = [note for note in evidence.ledger if note["job"] not in names]


def left_by_a_child(evidence: Evidence) -> None:
    """Let strikes leave a child without a retry, and its parent with nothing to add up."""
    failed_for_want_of_retries(evidence)
    change(evidence, "x", task="squares", payload={"number": 3}, parent="m", label=None)
    without(evidence, "m", "m3")
    evidence.jobs.pop("m3")
    change(evidence, "m", status="FAILED", result=None)
    evidence.moves += life("m", "PENDING", "RUNNING", "FAILED")
    evidence.ledger.append({"event": "start", "job": "m", "attempt": 1})


def died_together(evidence: Evidence, blamed: str) -> None:
    """Kill a worker that held a suspect, x1, and x2, which runs for the first time."""
    lives = {
        "x1": life("x1", "PENDING", "RUNNING", "RETRY", "RUNNING", "RETRY", "RUNNING", "COMPLETED"),
        "x2": life("x2", "PENDING", "RUNNING", "RETRY", "RUNNING", "COMPLETED", at=2.0),
    }
    for name, moves in lives.items():
        attempt = moves[-1].attempt
        evidence.jobs[name] = job(name, "plain", attempt=attempt, label="nemesis", result=str(attempt))
        evidence.ledger += [{"event": "start", "job": name, "attempt": n + 1} for n in range(attempt)]
        evidence.moves += [
            move._replace(crashes=int(name == blamed and move.at == 5.0 and move.to == "RETRY"))
            for move in moves
        ]
    evidence.records = [Record("kill_worker", 4.4, 4.6, 2, "", away=False, jobs=["x1", "x2"], at=4.5)]


def denied(evidence: Evidence) -> None:
    evidence.approvals["g"] = Approval("g", "q", "denied", "ann")
    evidence.client_log = [
        {**note, "verdict": "deny"} if note["what"] == "decide" else note for note in evidence.client_log
    ]


BREAKS: dict[str, Callable[[Evidence], object]] = {
    "an acknowledged job is lost": lambda e: e.jobs.pop("a"),
    "a refused job exists": lambda e: e.jobs.update(never=job("never", "plain", "CANCELLED")),
    "half of a flow exists": lambda e: e.client_log.append(
        {"what": "enqueue", "about": ["a", "gone"], "outcome": "unknown", "at": 1.0}
    ),
    "a job is not what was asked for": lambda e: change(e, "a", tenant="somebody else"),
    "a job began before its time": lambda e: e.wanted.update(a=e.wanted["a"]._replace(run_in=1.7)),
    "a job began before what it was to run after had completed": lambda e: change(e, "f0", ended=12.5),
    "more were at a desk than may be": lambda e: came(e, job("d3", "at_desk", payload={"desk": 1})),
    "a desk refused somebody though it had room": lambda e: e.client_log.extend(
        refused("LimitReached", about=["never"], kind="at_desk", at=4.5)
    ),
    "a job came from nowhere": lambda e: e.jobs.update(x=job("x", "plain", "CANCELLED")),
    "two jobs have one key": lambda e: [change(e, one, key="k") for one in "ij"],
    "an acknowledged cancel is lost": lambda e: change(e, "c", status="FAILED"),
    "a job has not ended": lambda e: change(e, "a", status="RUNNING"),
    "a job failed that should not": lambda e: change(e, "a", status="FAILED"),
    "a job completed that cannot": lambda e: change(e, "a", task="pill"),
    "a job failed that nobody started": lambda e: e.jobs.update(
        x=job("x", "fails", "FAILED", label="nemesis")
    ),
    "a result is not what it should be": lambda e: change(e, "a", task="plain", result="2"),
    "the effect of a completed job is missing": lambda e: e.effects.remove(("a", 1)),
    "an effect is doubled": lambda e: e.effects.append(("a", 1)),
    "an effect of a job that did not complete": lambda e: e.effects.append(("c", 1)),
    "an effect is not of the completing attempt": lambda e: change(e, "a", attempt=2),
    "an effect of a job that is not there": lambda e: e.effects.append(("gone", 1)),
    "a step's transaction took place not exactly once": lambda e: e.step_effects.append("s"),
    "an attempt started twice": lambda e: e.ledger.append({"event": "start", "job": "a", "attempt": 1}),
    "a job completed in an attempt that nobody started": lambda e: e.ledger.pop(0),
    "a job was cancelled that nobody asked to": lambda e: change(e, "i", status="CANCELLED"),
    "a customer was refused without a reason": lambda e: e.client_log.extend(refused("SchemaMismatch")),
    "a key was refused that no job has": lambda e: refused_key(e, task="steps"),
    "a job was not found that is there": lambda e: e.client_log.append(
        {"what": "cancel", "about": "a", "outcome": "refused", "said": "JobNotFound", "at": 2.5}
    ),
    "a cancel was refused of a job that had not ended": lambda e: e.client_log.append(
        {"what": "cancel", "about": "a", "outcome": "refused", "said": "IllegalMove", "at": 2.9}
    ),
    "a customer was not answered in the calm": not_answered,
    "a customer waited too long in the calm": lambda e: answered_after(e, 10.5),
    "a customer waited for ever": lambda e: e.client_log.append(
        {"what": "cancel", "about": "i", "outcome": "asked", "at": 1.0}
    ),
    "jobs were removed that nobody let go": lambda e: e.removed.add("a"),
    "a pill was taken more often than may be": lambda e: poisoned(e, attempts=5),
    "a drain counted as a death": lambda e: drained(e, reason="worker w died"),
    "the schedule has stopped": lambda e: setattr(e, "loaded_until", SLOTS + 60),
    "a genuine event was refused": lambda e: e.client_log.append(
        {"what": "webhook", "about": "evt_1", "outcome": "refused", "forged": False, "at": 2.6}
    ),
    "an attempt ran that the database does not know": lambda e: e.ledger.append(
        {"event": "start", "job": "a", "attempt": 2}
    ),
    "an attempt started that nobody had claimed": lambda e: not_in_history(e, "a", to="RUNNING"),
    "a job was claimed again that nobody had given back": lambda e: not_in_history(
        again(e, "RETRY"), "y", to="RETRY"
    ),
    "a job had more attempts than reasons for them": lambda e: change(e, "a", attempt=2),
    "a finished step was done again": lambda e: e.ledger.append(
        {"event": "step", "job": "s", "attempt": 2, "step": "first"}
    ),
    "a checkpoint was lost": lambda e: woken(e, recalled=None),
    "a checkpoint came from nowhere": lambda e: woken(e, recalled=7),
    "a job has not its children, each once": lambda e: change(e, "m3", payload={"number": 2}, result=4),
    "a job went on without its children": lambda e: change(e, "m3", status="CANCELLED"),
    "an acknowledged decision is not the one that counts": lambda e: e.approvals.update(
        g=Approval("g", "q", "denied", "ben")
    ),
    "a decided approval is lost": lambda e: e.approvals.pop("g"),
    "a denied job completed": denied,
    "a job went on without its approval": lambda e: e.approvals.pop("g"),
    "a job that its run completed is lost": lambda e: e.jobs.pop("r"),
    "an acknowledged end of a run is lost": lambda e: change(e, "r", result={"token": "r.2.d"}),
    "a run is of no job that was asked for": lambda e: change(e, "r", payload={"number": 6}),
    "an attempt had two runs": lambda e: e.client_log.append(
        {"what": "run", "about": "r.1.d", "outcome": "ok", "job": "r", "number": 5, "at": 2.1}
    ),
    "a job completed elsewhere without a run": lambda e: e.client_log.remove(
        next(note for note in e.client_log if note["what"] == "run")
    ),
    "a run that counts was refused": lambda e: e.client_log.append(refused_report(5.0)),
    "a job was blamed for a death that others may have caused": lambda e: died_together(e, blamed="x1"),
    "an event was not taken exactly once": lambda e: e.deliveries.append("evt_1"),
    "an event has not exactly its job": lambda e: e.jobs.pop("h"),
    "a time of the schedule became two jobs": lambda e: change(
        e, "t2", metadata={"slot": "2030-01-01T00:00:00+00:00"}
    ),
    "a time of the schedule is left out": lambda e: change(
        e, "t2", metadata={"slot": "2030-01-01T00:00:06+00:00"}
    ),
    "two jobs were in one room": lambda e: e.moves.extend(
        one._replace(job="j") for one in life("i", "PENDING", "RUNNING", "COMPLETED", at=0.5)
    ),
    "the events have a gap": lambda e: e.feed.pop(1),
    "the reader missed moves": lambda e: e.feed.pop(2),
    "the reader saw what is not history": lambda e: e.feed.append({**e.feed[2], "id": 4, "seq": 4}),
    "a job was seen in another's channel": lambda e: e.feed.append(
        {**e.feed[2], "id": 1, "channel": "subject:chaos:5"}
    ),
    "a job's events came out of order, or twice": lambda e: e.feed.append({**e.feed[1], "id": 4}),
    "a customer met an error that is none of Holdfast's": lambda e: e.client_log.append(
        {"what": "customer died", "about": "x", "outcome": "unknown", "said": "KeyError", "at": 1.0}
    ),
}


@pytest.mark.parametrize("rule", BREAKS)
def test_a_broken_promise_is_found(evidence: Evidence, rule: str) -> None:
    BREAKS[rule](evidence)

    assert rule in {finding.rule for finding in findings(evidence)}


def asked_again(evidence: Evidence) -> None:
    """Let a customer be told nothing twice, and ask for the same."""
    asked, answered = asked_for(evidence.jobs["i"])
    evidence.client_log += [asked, {**answered, "outcome": "unknown"}] * 2


def came_to_be_later(evidence: Evidence) -> None:
    """Let a job be there only when nobody waited for it any more."""
    for note in evidence.client_log:
        if note["about"] == ["i"] and note["outcome"] == "ok":
            note["outcome"] = "unknown"
    evidence.client_log.append(
        {"what": "cancel", "about": "i", "outcome": "refused", "said": "JobNotFound", "at": 0.7}
    )


def struck_at_the_end(evidence: Evidence) -> None:
    """Let nobody see for five seconds that those at the desk have ended."""
    evidence.records.append(struck(2.9, 8.0))
    evidence.client_log += refused("LimitReached", about=["never"], kind="at_desk", at=8.9)


def refused_together(evidence: Evidence) -> None:
    """Refuse more than may be at a desk, who came at once."""
    names = ["n0", "n1", "n2"]
    evidence.wanted |= dict.fromkeys(names, Wanted("at_desk", {"desk": 3}))
    evidence.client_log += refused("LimitReached", about=names, kind="at_desk", at=50.0)


def blamed_before(evidence: Evidence) -> None:
    """Tell a worker to end that holds what was blamed for another's death."""
    drained(evidence, crashes=1, retries=1)
    evidence.moves.append(Move("y", 0, None, "PENDING", 0, 0.9, "w", crashes=1, retries=1))


def failed_for_want_of_retries(
    evidence: Evidence,
    attempts: int = 101,
    behind: float = 0.0,
    spared: int = 0,
    how: str = "stop_immediately",
) -> None:
    """Let a long job fail, every eight seconds, until it has no retries left: with a strike in each attempt, or so long before it.

    The first few may be spared.
    """
    evidence.jobs["x"] = job("x", "plain", "FAILED", attempt=attempts, label="nemesis")
    evidence.ledger += [{"event": "start", "job": "x", "attempt": n + 1} for n in range(attempts)]
    moves = life("x", "PENDING", *["RUNNING", "RETRY"] * (attempts - 1), "RUNNING", "FAILED")
    evidence.moves += [
        one._replace(at=one.at * 4, retries=one.attempt * (one.to == "RETRY")) for one in moves
    ]
    claimed = [one.at for one in evidence.moves if (one.job, one.to) == ("x", "RUNNING")]
    for at in claimed[spared:]:
        began = at - behind - 0.1 if behind else at + 0.5
        evidence.records.append(Record(how, began, began + 0.1, 1, "", away=how != "kill_worker"))


def struck_all_the_time(evidence: Evidence) -> None:
    """Let strikes follow so soon upon each other that the time of one goes over into that of the next."""
    failed_for_want_of_retries(evidence)
    evidence.records = [Record("cut_anywhere", n, n + 1.5, 1, "", away=True) for n in range(1000)]


def took_history(evidence: Evidence) -> None:
    """Let retention take a job that somebody has followed."""
    evidence.is_kept = False
    evidence.removed.add("a")
    evidence.moves = [one for one in evidence.moves if one.job != "a"]


RIGHT: dict[str, Callable[[Evidence], object]] = {
    "what was asked for three times, and told about once": asked_again,
    "a cancel that was refused as the job had just ended": lambda e: e.client_log.append(
        {"what": "cancel", "about": "a", "outcome": "refused", "said": "IllegalMove", "at": 3.0}
    ),
    "a cancel of what came to be later": came_to_be_later,
    "a key that the like of it has": lambda e: refused_key(e, task="writes"),
    "who comes to a desk when another has just left": lambda e: came(
        e, job("d3", "at_desk", payload={"desk": 1}, born=2.9, ended=6.0), at=2.9, told=3.01
    ),
    "who comes to another desk": lambda e: came(e, job("d3", "at_desk", payload={"desk": 2})),
    "who is refused as one has just left": lambda e: e.client_log.extend(
        refused("LimitReached", about=["never"], kind="at_desk", at=3.9)
    ),
    "who is refused while a strike keeps an end from being seen": struck_at_the_end,
    "who is refused because of those who come with him": refused_together,
    "a delay that was kept": lambda e: e.wanted.update(a=e.wanted["a"]._replace(run_in=1.5)),
    "a job that was struck in each of its attempts": failed_for_want_of_retries,
    "a job that was struck all the time": struck_all_the_time,
    "a job that was struck in nearly all of its attempts": lambda e: failed_for_want_of_retries(e, spared=10),
    "a job that was claimed right behind each strike": lambda e: failed_for_want_of_retries(e, behind=1.9),
    "a drain that gave a job back": drained,
    "a drain of what was to run alone": lambda e: drained(e, reason="alone: its last worker died with it"),
    "a drain of what was blamed before": blamed_before,
    "an attempt that finds what the one before it has kept": lambda e: woken(e, recalled=1),
    "an attempt that finds what was kept and not answered": lambda e: woken(e, recalled=1, kept=False),
    "an attempt that finds nothing where nothing was kept": lambda e: woken(e, recalled=None, kept=False),
    "who wakes up and finds what a later attempt has kept": lambda e: woken(e, recalled=2, attempt=1),
    "children that fall with their parent": cancelled_with_children,
    "a parent whose child strikes have left without a retry": left_by_a_child,
    "an answer that took long": lambda e: answered_after(e, 9.5),
    "an answer that a strike came before": lambda e: answered_after(e, 60.0, at=195.0),
    "a genuine event that was not answered once": lambda e: e.client_log.extend(
        {"what": "webhook", "about": "evt_1", "outcome": one, "forged": False, "at": 2.6, "request": 9}
        for one in ("asked", "unknown")
    ),
    "a history that retention took, with what was seen of it": took_history,
}


@pytest.mark.parametrize("right", RIGHT)
def test_what_may_be_is_no_finding(evidence: Evidence, right: str) -> None:
    RIGHT[right](evidence)

    assert findings(evidence) == []


def test_of_a_history_that_retention_took_the_reader_missed_nothing_either(evidence: Evidence) -> None:
    took_history(evidence)
    change(evidence, "a", moves=4)

    assert {finding.rule for finding in findings(evidence)} == {"the reader missed moves"}


def test_a_check_that_falls_over_is_a_finding_and_the_others_go_on(evidence: Evidence) -> None:
    change(evidence, "h", payload={})
    evidence.effects.append(("a", 1))

    found = {finding.rule for finding in findings(evidence)}

    assert found == {"the judge fell over in webhooks", "an effect is doubled"}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda e: e.jobs.pop("c"),
        lambda e: [e.jobs.pop(one) for one in ("t1", "t2")],
        lambda e: e.deliveries.append("evt_2"),
        lambda e: e.deliveries.append("nobody sent it"),
        lambda e: e.feed.append({**e.feed[2], "id": 4, "job": "gone"}),
        lambda e: e.client_log.extend(refused("LimitReached")),
        lambda e: change(e, "t1", metadata=None),
        lambda e: e.feed.clear(),
        lambda e: e.feed.append({**e.feed[2], "id": 4, "job": "i"}),
        lambda e: [change(e, one, subject=None) for one in ("a", "h", "t1", "t2")] + [e.feed.clear()],
        lambda e: change(e, "q", result="ben"),
        lambda e: change(e, "w", result=8),
        lambda e: change(e, "f2", result=2),
        lambda e: e.approvals.update(g=Approval("g", "s", "approved", "ann")),
        lambda e: change(e, "r", result=None),
        lambda e: change(e, "a", key="k"),
        lambda e: change(e, "a", task="says"),
        lambda e: change(e, "i", payload={"room": 2}),
        lambda e: drained(e, crashes=1),
        lambda e: drained(e, retries=1),
        lambda e: failed_for_want_of_retries(e, attempts=100),
        lambda e: change(e, "m2", parent="a"),
        lambda e: [e.jobs.pop(one) for one in ("m2", "m3")],
        lambda e: came(e, job("m4", "squares", payload={"number": 2}, result=4, parent="m")),
        lambda e: change(e, "m", result=12),
        lambda e: change(e, "m2", result=5),
        lambda e: woken(e, recalled=2),
    ],
    ids=[
        "a cancelled job gone", "no time fired", "a forgery taken", "an event from nowhere", "an event of no job", "no desk",
        "a tick of no time", "an empty feed", "an event that nobody follows", "subjects dropped", "another has decided", "another's event",
        "a parent's result lost", "a decision for another job", "a run without a result", "another key", "another task", "another payload",
        "a drain that charges", "a drain that counts as a retry", "a job that failed with a retry left",
        "another's child", "no children", "a third child", "another sum", "another square", "its own checkpoint",
    ],
)  # fmt: skip
def test_what_is_wrong_in_another_way_is_found_too(
    evidence: Evidence, spoil: Callable[[Evidence], object]
) -> None:
    spoil(evidence)

    assert findings(evidence)


@pytest.mark.parametrize(
    ("spared", "behind", "how"),
    [(101, 0.0, "stop_immediately"), (11, 0.0, "stop_immediately"), (0, 2.1, "stop_immediately"), (0, 0.0, "kill_worker")],
    ids=["no strike", "none in the first eleven", "strikes before them", "strikes on workers"],
)  # fmt: skip
def test_a_job_whose_retries_no_strikes_on_the_database_have_used_up_should_not_have_failed(
    evidence: Evidence, spared: int, behind: float, how: str
) -> None:
    failed_for_want_of_retries(evidence, spared=spared, behind=behind, how=how)

    assert {finding.rule for finding in findings(evidence)} == {"a job failed that should not"}


def struck(began: float, ended: float) -> Record:
    return Record("kill_worker", began, ended, 1, "", away=False)


@pytest.mark.parametrize(
    ("asked_at", "told_at", "is_wrong"),
    [(1012, 1013, True), (1008, 1013, False), (1022, 1031, False), (1012, 1031, True)],
)
def test_between_two_faults_everybody_is_answered_too(
    evidence: Evidence, asked_at: float, told_at: float, is_wrong: bool
) -> None:
    evidence.records, evidence.loaded_until = [struck(1000, 1001), struck(1030, 1032)], SLOTS
    evidence.client_log += [
        {"what": "cancel", "about": "c", "outcome": "asked", "at": asked_at},
        {"what": "cancel", "about": "c", "outcome": "unknown", "at": told_at},
    ]

    assert bool(findings(evidence)) is is_wrong


def test_a_zombie_may_pass_what_a_later_attempt_has_done_while_it_was_frozen(evidence: Evidence) -> None:
    evidence.ledger += [
        {"event": "step", "job": "s", "attempt": 3, "step": "last"},
        {"event": "passed", "job": "s", "attempt": 2, "step": "last"},
    ]

    assert findings(evidence) == []


@pytest.mark.parametrize("how", ["RETRY", "WAITING", "WAITING_FOR_APPROVAL"])
def test_a_job_that_was_given_back_may_have_one_more_attempt(evidence: Evidence, how: str) -> None:
    assert findings(again(evidence, how)) == []

    evidence.ledger.append({"event": "start", "job": "y", "attempt": 3})
    change(evidence, "y", attempt=3, result="3")
    evidence.moves[-1:] = [
        Move("y", 5, how, "RUNNING", 3, 6.0, "w"),
        Move("y", 6, "RUNNING", "COMPLETED", 3, 7.0, "w"),
    ]

    assert {finding.rule for finding in findings(evidence)} == {
        "a job was claimed again that nobody had given back",
        "a job had more attempts than reasons for them",
    }


def test_of_a_job_that_retention_took_nobody_can_tell_why_it_had_another_attempt(evidence: Evidence) -> None:
    again(evidence, "RETRY").moves[-5:] = []
    evidence.is_kept, evidence.removed = False, {"y"}
    assert findings(evidence) == []

    evidence.ledger.append({"event": "start", "job": "y", "attempt": 3})

    assert {finding.rule for finding in findings(evidence)} == {
        "an attempt ran that the database does not know"
    }


def test_a_run_may_be_refused_that_somebody_has_ended_before(evidence: Evidence) -> None:
    evidence.client_log = [note for note in evidence.client_log if note["what"] != "callback"]
    evidence.client_log += [
        refused_report(5.0),
        {"what": "cancel", "about": "r", "outcome": "unknown", "at": 2.0},
    ]
    change(evidence, "r", status="CANCELLED", result=None)
    evidence.moves = [
        move._replace(to="CANCELLED") if (move.job, move.to) == ("r", "COMPLETED") else move
        for move in evidence.moves
    ]
    assert findings(evidence) == []

    evidence.client_log.append(refused_report(2.5))

    assert {finding.rule for finding in findings(evidence)} == {"a run that counts was refused"}


def test_whoever_died_with_others_is_blamed_for_nothing_and_alone_he_may_be(evidence: Evidence) -> None:
    died_together(evidence, blamed="nobody")
    assert findings(evidence) == []

    evidence.moves = [
        one._replace(crashes=1) if one.job == "x1" and one.at == 5.0 else one for one in evidence.moves
    ]
    assert findings(evidence)
    together = list(evidence.moves)
    evidence.moves = [
        one._replace(actor="its name before") if one.job == "x2" else one for one in evidence.moves
    ]
    assert findings(evidence) == []
    evidence.moves = together
    evidence.records[0].jobs.remove("x2")

    assert findings(evidence) == []


def test_with_retention_a_job_may_be_gone(evidence: Evidence) -> None:
    evidence.is_kept, evidence.removed = False, {"a"}
    evidence.client_log.append({"what": "cancel", "about": "a", "outcome": "refused", "said": "JobNotFound"})

    assert findings(evidence) == []


def test_who_falls_with_a_flow_was_cancelled_with_it(evidence: Evidence) -> None:
    evidence.jobs["d"] = job("d", status="CANCELLED")
    evidence.client_log += asked_for(evidence.jobs["c"], evidence.jobs["d"])

    assert findings(evidence) == []


def died(evidence: Evidence, took: float, jobs: int = 1, how: str = "kill_worker") -> None:
    """Let a worker die with jobs that come back after so long."""
    at = 100.0 * (len(evidence.records) + 1)
    names = [f"x{len(evidence.records)}-{n}" for n in range(jobs)]
    for name in names:
        evidence.jobs[name] = job(name, "plain", attempt=2, label="nemesis", result="2")
        evidence.ledger += [{"event": "start", "job": name, "attempt": n} for n in (1, 2)]
        evidence.moves += [
            one._replace(at=at + (took - 3 + one.seq if one.seq > 2 else one.seq - 3))
            for one in life(name, "PENDING", "RUNNING", "RETRY", "RUNNING", "COMPLETED")
        ]
    evidence.records.append(Record(how, at - 0.1, at + 0.1, jobs, "", away=False, jobs=names, at=at))


BOUND = bound(3.0)


@pytest.mark.parametrize(
    ("took", "found"),
    [
        ([BOUND - 0.1], None),
        ([BOUND + 0.1], None),  # a busy machine
        ([BOUND + 3.1], "a dead worker's job came back too late"),
        ([BOUND + 0.1] * 3, None),
        ([1.0, 2.0, BOUND + 0.1, BOUND + 2.0], None),
        ([1.0, *[BOUND + 0.1] * 3], "dead workers' jobs came back too late"),
        ([1.0, 2.0, *[BOUND + 0.1] * 3], "dead workers' jobs came back too late"),
    ],
)
@pytest.mark.parametrize("jobs", [1, 20])
def test_a_death_counts_once_and_more_than_half_may_not_be_noticed_late(
    evidence: Evidence, took: list[float], found: str | None, jobs: int
) -> None:
    for seconds in took:
        died(evidence, seconds, jobs)

    assert {finding.rule for finding in findings(evidence)} == ({found} if found else set())


def test_while_the_database_is_away_nobody_need_come_back(evidence: Evidence) -> None:
    died(evidence, BOUND + 3.1)
    evidence.records.append(Record("failover", 101.0, 103.0, 1, "", away=True))

    assert findings(evidence) == []


@pytest.mark.parametrize(("actor", "is_late"), [("sweeper", True), ("w", False)])
def test_a_pill_that_kills_its_worker_is_a_death_and_one_in_a_process_of_its_own_is_none(
    evidence: Evidence, actor: str, is_late: bool
) -> None:
    poisoned(evidence, 4)
    evidence.moves = [
        one._replace(at=one.at * 10, actor=actor) if one.job == "p" else one for one in evidence.moves
    ]

    assert ("a dead worker's job came back too late" in {one.rule for one in findings(evidence)}) is is_late


def test_a_pill_may_be_taken_again_when_it_was_given_back_unharmed(evidence: Evidence) -> None:
    poisoned(evidence, 4)
    assert findings(evidence) == []

    evidence.moves = [one for one in evidence.moves if one.job != "p"]
    evidence.ledger = [note for note in evidence.ledger if note["job"] != "p"]
    poisoned(evidence, 5, reason="released: worker w stopped")

    assert findings(evidence) == []


def untold(evidence: Evidence, *waits: float, away: float | None = None) -> None:
    """Let jobs be born while nobody hears of them, and each be claimed after so long."""
    evidence.records = [Record("lose_notifications", 100.0, 103.0, 9, "", away=False)]
    if away is not None:
        evidence.records.insert(0, Record("failover", away - 1, away, 1, "", away=True))
    evidence.loaded_until = 104.0
    for n, seconds in enumerate(waits):
        at = 100.1 + n / 100
        came(evidence, job(f"x{n}", "says", born=at, ended=at + 99))
        evidence.moves[-3:] = [
            one._replace(at=at + (seconds if one.seq > 1 else 0)) for one in evidence.moves[-3:]
        ]


@pytest.mark.parametrize(
    ("waits", "found"),
    [
        ([0.6, 0.6, 0.6], None),
        ([0.7, 0.7], None),
        ([0.7, 0.7, 0.7], "nobody looks for jobs"),
        ([0.6, 0.7, 9.0], None),  # somebody has claimed meanwhile: those waited in a line
        ([3.7], "nobody looked for a job"),
    ],
)
def test_who_hears_nothing_must_look_for_jobs(
    evidence: Evidence, waits: list[float], found: str | None
) -> None:
    untold(evidence, *waits)

    assert {finding.rule for finding in findings(evidence)} == ({found} if found else set())


def test_nobody_need_look_whose_database_was_away_just_before(evidence: Evidence) -> None:
    untold(evidence, 2.0, 2.0, 2.0, away=99.0)
    assert findings(evidence) == []

    untold(evidence, away=80.0)

    assert {finding.rule for finding in findings(evidence)} == {"nobody looks for jobs"}


def test_customers_who_can_hardly_ask_are_found(evidence: Evidence) -> None:
    """What comes by itself does not hide it: times of the schedule, and parts of flows."""
    evidence.records = [Record("failover", 0.0, 1.0, 1, "", away=True)]
    evidence.rate, evidence.loaded_until = 8.0, 27.5
    evidence.client_log += [{**note, "at": 12.0} for note in asked_for(*evidence.jobs.values(), kind="flow")]
    for n in range(80):
        evidence.jobs[f"x{n}"] = job(
            f"x{n}", "plain", label="nemesis", result="1", born=11.2 + n / 10, ended=20.0
        )

    assert "customers can hardly ask" in {finding.rule for finding in findings(evidence)}


@pytest.mark.parametrize(
    ("shares", "found"),
    [
        ([0.96] * 4, set()),
        ([0.5] * 4, {"customers are answered less often than they could ask"}),
        ([0.5, 0.5, 0.96, 0.98, 1.0], set()),  # a busy machine
        ([0.5, 0.5, 0.96, 1.0], set()),  # in half of them, at least
        ([0.5, 0.5, 0.9, 1.0], {"customers are answered less often than they could ask"}),
        ([0.5] * 3, set()),  # too few to tell that from a fault
        ([0.2, 1.0, 1.0, 1.0], {"customers can hardly ask"}),
    ],
)
def test_customers_who_are_answered_less_often_after_faults_are_found(
    evidence: Evidence, shares: list[float], found: set[str]
) -> None:
    evidence.rate, evidence.loaded_until = 10.0, 40.0 * len(shares)
    evidence.records = [struck(40.0 * n, 40.0 * n + 2) for n in range(len(shares))]
    for n, share in enumerate(shares):
        for m in range(round(10.0 * (40 - 12 - 8) * share)):
            at = 40.0 * n + 12.01 + m / 11
            evidence.client_log += [{**note, "at": at} for note in asked_for(evidence.jobs["i"])]

    assert {finding.rule for finding in findings(evidence)} == found


def test_a_job_whose_answer_nobody_heard_may_be_there_or_not(evidence: Evidence) -> None:
    evidence.client_log += [
        {"what": "enqueue", "about": [one], "outcome": "unknown", "at": 1.0} for one in ("c", "not there")
    ]

    assert findings(evidence) == []


def test_a_job_with_an_outside_run_takes_as_long_as_it_takes(evidence: Evidence) -> None:
    """Its worker's last words may have handed it over."""
    died(evidence, BOUND + 3.1)
    change(
        evidence, "x0-0", task="runs_elsewhere", payload={"number": 6}, result={"run": 6, "token": "x0-0.2.c"}
    )
    evidence.client_log.append(
        {"what": "run", "about": "x0-0.2.c", "outcome": "ok", "job": "x0-0", "number": 6, "at": 1.0}
    )

    assert findings(evidence) == []


@pytest.mark.parametrize(
    ("stuck", "waited", "found"),
    [(0, 0, set()), (10, 0, {"throughput did not come back"}), (100, 100, set()), (100, 90, {"throughput did not come back"})],
)  # fmt: skip
def test_standstill_in_the_calm_after_a_fault_is_found_and_a_line_that_is_worked_off_is_not(
    evidence: Evidence, stuck: int, waited: int, found: set[str]
) -> None:
    evidence.records = [Record("stop_immediately", 0.0, 1.0, 1, "", away=True)]
    evidence.rate, evidence.loaded_until = 5.0, 40.0
    for n in range(30):  # an answer is one, whatever it says
        evidence.client_log += [{**note, "at": 11.0 + n / 2} for note in asked_for(evidence.jobs["i"])]
    for n in range(100):
        name = f"p{n}"
        ended = 50 if n < stuck else 13 + n / 5
        evidence.jobs[name] = job(name, "plain", label="nemesis", result="1", born=12 + n / 5, ended=ended)
        evidence.moves += life(name, "PENDING", "RUNNING", "COMPLETED")
        evidence.ledger.append({"event": "start", "job": name, "attempt": 1})
    for n in range(waited):
        name = f"w{n}"
        evidence.jobs[name] = job(name, "plain", label="nemesis", result="1", born=5.0, ended=12 + n / 5)
        evidence.moves += life(name, "PENDING", "RUNNING", "COMPLETED")
        evidence.ledger.append({"event": "start", "job": name, "attempt": 1})

    assert {finding.rule for finding in findings(evidence)} == found


@pytest.mark.parametrize(
    ("place", "end", "found"),
    [(0, 1.6, True), (0, 1.2, False), (1, 1.6, True), (2, 1.2, False), (2, 1.6, True), (3, 1.6, True)],
)
def test_what_grows_evenly_through_a_soak_is_found(place: int, end: float, found: bool) -> None:
    samples: list[Sample] = [
        (float(at), tuple(50.0 * (1 + (end - 1) * at / 3600 * (n == place)) for n in range(4)))
        for at in range(0, 3600, 2)
    ]

    assert bool(grown(samples)) is found


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        (range(2, 3600, 2), None),
        ([], "for 3600 s from the 0th second on"),
        (range(2, 1500, 2), "for 2102 s from the 1498th second on"),
        ([*range(2, 100, 2), *range(260, 3600, 2)], None),
    ],
)
def test_a_soak_that_nobody_watched_is_found(seen: Iterable[int], told: str | None) -> None:
    assert unseen([(float(at), (1.0,) * 4) for at in seen], 3600.0, 3.0) == told


def test_who_has_a_longer_lease_may_be_away_for_longer() -> None:
    samples: list[Sample] = [(float(at), (1.0,) * 4) for at in (*range(2, 100, 2), *range(300, 3600, 2))]

    assert unseen(samples, 3600.0, 3.0)
    assert not unseen(samples, 3600.0, 4.0)


@pytest.mark.parametrize("place", range(4))
def test_what_ends_a_soak_two_fifths_higher_is_found_though_a_strike_has_raised_it_before(place: int) -> None:
    """Evenly, from the middle of the second sixth to that of the last; behind the highest point of that strike it would hide."""
    samples: list[Sample] = [
        (float(at), tuple((70.0 if 900 <= at < 930 else 50.0 * (1 + 0.4 * (at - 900) / 2400)) if n == place else 50.0 for n in range(4)))
        for at in range(0, 3600, 2)
    ]  # fmt: skip

    assert len(grown(samples)) == 1
    assert [round(one.at_the_end / one.before, 1) for one in levels(samples)] == [
        1.4 if n == place else 1 for n in range(4)
    ]


@pytest.mark.parametrize("place", [2, 3])
def test_one_step_behind_a_crash_is_no_growth(place: int) -> None:
    samples: list[Sample] = [
        (float(at), tuple(50.0 * (1.2 if at >= 2100 and n == place else 1.0) for n in range(4)))
        for at in range(0, 3600, 2)
    ]

    assert grown(samples) == []
    assert [round(one.at_the_end / one.before, 1) for one in levels(samples)][place] == 1.2


@pytest.mark.parametrize("period", [60, 433, 601])
def test_what_goes_up_and_down_around_a_level_does_not_grow(period: int) -> None:
    """As tables do with retention: by a fifth in either direction, and down at once."""
    sawtooth: list[Sample] = [
        (float(at), (50.0 * (0.8 + 0.4 * (at % period) / period),) * 4) for at in range(0, 3600, 2)
    ]

    assert grown(sawtooth) == []


def test_what_grows_through_a_soak_is_found_and_what_goes_up_and_down_is_not() -> None:
    flat: list[Sample] = [(float(n), (50.0 + n % 7, 20.0, 30.0 + n % 5, 10.0)) for n in range(600)]
    leak: list[Sample] = [(at, (seen[0] + at / 10, *seen[1:])) for at, seen in flat]

    assert grown(flat) == []
    assert {said.partition(":")[0] for said in grown(leak)} == {"memory of a worker, MB"}
    assert drawn(flat).count("<polyline") == 4


def test_what_a_soak_leaves_out_is_there(holdfast_db: ScratchDatabase) -> None:
    with psycopg.connect(holdfast_db.owner_url) as connection:
        found = connection.execute(
            "select relname from pg_class where relnamespace = 'holdfast'::regnamespace and relname = any(%s)",
            [list(KEPT)],
        ).fetchall()

    assert {name for (name,) in found} == set(KEPT)


def test_a_soak_names_the_tables_and_indexes_that_grew_most() -> None:
    sizes = [(float(n), {"flat": 9 << 20, "job": n << 14, "job_pkey": n << 15}) for n in range(600)]

    assert [(name, round(before, 1), round(end, 1)) for name, before, end in most_grown(sizes)] == [
        ("job_pkey", 4.7, 17.2),
        ("job", 2.3, 8.6),
    ]
    assert most_grown([]) == []


def test_a_table_that_was_not_there_before_has_grown_from_nothing() -> None:
    sizes = [(float(n), {"late": 1 << 20} if n > 300 else {}) for n in range(600)]

    assert most_grown(sizes) == [("late", 0.0, 1.0)]
