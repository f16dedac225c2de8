"""The judge can say no: each promise that is broken on purpose is found, and by its own name."""

from collections.abc import Callable, Iterable

import pytest

from chaos.evidence import Approval, Evidence, Job, Move
from chaos.judge import findings
from chaos.soak import Sample, drawn, grown, unseen
from chaos.strikes.strike import Record
from chaos.timing import bound


def job(name: str, task: str = "writes", status: str = "COMPLETED", **facts: object) -> Job:
    told: dict[str, object] = {
        "attempt": 1, "tenant": None, "key": None, "subject": None, "payload": {}, "result": None, "error": None, "metadata": None, "label": None, "born": 0.0, "ended": 1.0,
    }  # fmt: skip
    return Job(name, task, status, **{**told, **facts})  # type: ignore[arg-type]


def life(name: str, *statuses: str, at: float = 0.0) -> list[Move]:
    moves, attempt = [], 0
    for seq, (before, to) in enumerate(zip((None, *statuses), statuses, strict=False), 1):
        attempt += to == "RUNNING"
        moves.append(Move(name, seq, before, to, attempt, at + seq, "w"))
    return moves


@pytest.fixture
def evidence() -> Evidence:
    """A run in which every promise was kept."""
    jobs = [
        job("a", subject="chaos:1"),
        job("s", "steps"),
        job("r", "runs_elsewhere", result={"token": "r.1.c"}),
        job("q", "asks"),
        job("h", "hooked", payload={"event_id": "evt_1"}),
        job("t1", "tick", metadata={"slot": "2030-01-01T00:00:00+00:00"}),
        job("t2", "tick", metadata={"slot": "2030-01-01T00:00:01+00:00"}),
        job("i", "in_room", payload={"room": 1}),
        job("j", "in_room", payload={"room": 1}),
        job("c", status="CANCELLED"),
    ]
    asked = [one.id for one in jobs if one.task not in {"tick", "hooked"}]
    with_effect = ["a", "s", "q", "h", "t1", "t2", "i", "j"]
    return Evidence(
        jobs={one.id: one for one in jobs},
        moves=[
            move
            for one in jobs
            if one.status == "COMPLETED"
            for move in life(one.id, "PENDING", "RUNNING", "COMPLETED", at=10 if one.id == "j" else 0)
        ],
        approvals={"g": Approval("g", "q", "approved", "ann")},
        effects=[(one, 1) for one in with_effect],
        step_effects=["s"],
        deliveries=["evt_1"],
        client_log=[
            *({"what": "enqueue", "about": [one], "outcome": "ok"} for one in asked),
            {"what": "enqueue", "about": ["never"], "outcome": "refused", "kind": "at_desk", "said": "LimitReached", "keys": []},
            {"what": "decide", "about": "g", "outcome": "ok", "verdict": "approve", "actor": "ann"},
            {"what": "callback", "about": "r.1.c", "outcome": "ok", "action": "completed", "job": "r"},
            {"what": "webhook", "about": "evt_1", "outcome": "ok", "forged": False},
            {"what": "webhook", "about": "evt_2", "outcome": "refused", "forged": True},
            {"what": "cancel", "about": "c", "outcome": "ok", "said": "CANCELLED"},
            {"what": "cancel", "about": "a", "outcome": "refused", "said": "IllegalMove"},
        ],
        ledger=[
            *({"event": "start", "job": one.id, "attempt": 1} for one in jobs if one.status == "COMPLETED"),
            {"event": "step", "job": "s", "attempt": 1, "step": "first"},
            {"event": "passed", "job": "s", "attempt": 1, "step": "first"},
        ],
        feed=[
            {"channel": "x", "id": n, "kind": "job.moved", "job": "a", "seq": n} for n in (1, 2, 3)
        ],
    )  # fmt: skip


def test_a_run_in_which_every_promise_was_kept_has_no_findings(evidence: Evidence) -> None:
    assert findings(evidence) == []


def change(evidence: Evidence, name: str, **facts: object) -> Job:
    evidence.jobs[name] = changed = evidence.jobs[name]._replace(**facts)  # type: ignore[arg-type]
    return changed


def refused(said: str, **facts: object) -> dict[str, object]:
    return {
        "what": "enqueue",
        "about": ["no"],
        "outcome": "refused",
        "kind": "plain",
        "said": said,
        "keys": [],
        **facts,
    }


SLOTS = 1893456000.0  # when the schedule's times begin


def not_answered(evidence: Evidence) -> None:
    evidence.loaded_until = SLOTS + 20
    evidence.client_log.append({"what": "cancel", "about": "c", "outcome": "unknown", "at": SLOTS + 12})


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
    "a job came from nowhere": lambda e: e.jobs.update(x=job("x", "plain", "CANCELLED")),
    "two jobs have one key": lambda e: [change(e, one, key="k") for one in "ij"],
    "an acknowledged cancel is lost": lambda e: change(e, "c", status="FAILED"),
    "a job has not ended": lambda e: change(e, "a", status="RUNNING"),
    "a job failed that should not": lambda e: change(e, "a", status="FAILED"),
    "a job completed that cannot": lambda e: change(e, "a", task="pill"),
    "a result is of another attempt": lambda e: change(e, "a", task="plain", result="2"),
    "the effect of a completed job is missing": lambda e: e.effects.remove(("a", 1)),
    "an effect is doubled": lambda e: e.effects.append(("a", 1)),
    "an effect of a job that did not complete": lambda e: e.effects.append(("c", 1)),
    "an effect is not of the completing attempt": lambda e: change(e, "a", attempt=2),
    "an effect of a job that is not there": lambda e: e.effects.append(("gone", 1)),
    "a step's transaction took place not exactly once": lambda e: e.step_effects.append("s"),
    "an attempt started twice": lambda e: e.ledger.append({"event": "start", "job": "a", "attempt": 1}),
    "a job completed in an attempt that nobody started": lambda e: e.ledger.pop(0),
    "a job was cancelled that nobody asked to": lambda e: change(e, "i", status="CANCELLED"),
    "a customer was refused without a reason": lambda e: e.client_log.append(refused("SchemaMismatch")),
    "a key was refused that no job has": lambda e: e.client_log.append(refused("DuplicateKey", keys=["k"])),
    "a job was not found that is there": lambda e: e.client_log.append(
        {"what": "cancel", "about": "a", "outcome": "refused", "said": "JobNotFound"}
    ),
    "a customer was not answered in the calm": not_answered,
    "a customer waited for ever": lambda e: e.client_log.append(
        {"what": "cancel", "about": "i", "outcome": "asked", "at": 1.0}
    ),
    "jobs were removed that nobody let go": lambda e: e.removed.add("a"),
    "the schedule has stopped": lambda e: setattr(e, "loaded_until", SLOTS + 60),
    "a genuine event was refused": lambda e: e.client_log.append(
        {"what": "webhook", "about": "evt_3", "outcome": "refused", "forged": False}
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
    "an acknowledged decision is not the one that counts": lambda e: e.approvals.update(
        g=Approval("g", "q", "denied", "ben")
    ),
    "a decided approval is lost": lambda e: e.approvals.pop("g"),
    "a denied job completed": denied,
    "a job went on without its approval": lambda e: e.approvals.pop("g"),
    "a job that its run completed is lost": lambda e: e.jobs.pop("r"),
    "an acknowledged end of a run is lost": lambda e: change(e, "r", result={"token": "r.2.d"}),
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
    "a job's events came out of order, or twice": lambda e: e.feed.append({**e.feed[1], "id": 4}),
    "a customer met an error that is none of Holdfast's": lambda e: e.client_log.append(
        {"what": "customer died", "about": "x", "outcome": "unknown", "said": "KeyError", "at": 1.0}
    ),
}


@pytest.mark.parametrize("rule", BREAKS)
def test_a_broken_promise_is_found(evidence: Evidence, rule: str) -> None:
    BREAKS[rule](evidence)

    assert rule in {finding.rule for finding in findings(evidence)}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda e: e.jobs.pop("c"),
        lambda e: [e.jobs.pop(one) for one in ("t1", "t2")],
        lambda e: e.deliveries.append("evt_2"),
        lambda e: e.deliveries.append("nobody sent it"),
        lambda e: e.feed.append({**e.feed[2], "id": 4, "job": "gone"}),
        lambda e: e.client_log.append(refused("LimitReached")),
    ],
    ids=["a cancelled job gone", "no time fired", "a forgery taken", "an event from nowhere", "an event of no job", "no desk"],
)  # fmt: skip
def test_what_is_wrong_in_another_way_is_found_too(
    evidence: Evidence, spoil: Callable[[Evidence], object]
) -> None:
    spoil(evidence)

    assert findings(evidence)


def struck(began: float, ended: float) -> Record:
    return Record("kill_worker", began, ended, 1, "", away=False)


@pytest.mark.parametrize(
    ("asked_at", "told_at", "is_wrong"), [(1012, 1013, True), (1008, 1013, False), (1012, 1031, False)]
)
def test_between_two_faults_everybody_is_answered_too(
    evidence: Evidence, asked_at: float, told_at: float, is_wrong: bool
) -> None:
    evidence.records = [struck(1000, 1001), struck(1030, 1032)]
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
    evidence.client_log.append({"what": "enqueue", "about": ["c", "d"], "outcome": "ok"})

    assert findings(evidence) == []


def test_half_of_many_jobs_that_come_back_after_the_bound_are_found(evidence: Evidence) -> None:
    for n in range(20):
        name = f"d{n}"
        evidence.jobs[name] = job(name, attempt=2, label="nemesis")
        evidence.effects.append((name, 2))
        evidence.ledger += [{"event": "start", "job": name, "attempt": each} for each in (1, 2)]
        evidence.moves += life(name, "PENDING", "RUNNING", "RETRY", "RUNNING", "COMPLETED")
    evidence.records = [
        Record("kill_worker", 2.0, 2.2, 1, "", away=False, jobs=[f"d{n}" for n in range(20)], at=2.1)
    ]
    assert findings(evidence) == []

    late = bound(evidence.lease)
    evidence.moves = [
        move._replace(at=move.at + late) if move.job[0] == "d" and move.seq > 2 else move
        for move in evidence.moves
    ]

    assert {finding.rule for finding in findings(evidence)} == {"dead workers' jobs came back too late"}


def test_customers_who_can_hardly_ask_are_found(evidence: Evidence) -> None:
    evidence.records = [Record("failover", 0.0, 1.0, 1, "", away=True)]
    evidence.rate, evidence.loaded_until = 25.0, 40.0

    assert "customers can hardly ask" in {finding.rule for finding in findings(evidence)}


def test_a_job_whose_answer_nobody_heard_may_be_there_or_not(evidence: Evidence) -> None:
    evidence.client_log += [
        {"what": "enqueue", "about": [one], "outcome": "unknown", "at": 1.0} for one in ("c", "not there")
    ]

    assert findings(evidence) == []


def test_a_job_that_comes_back_after_the_bound_is_found_and_one_within_it_is_not(evidence: Evidence) -> None:
    moves = life("d", "PENDING", "RUNNING", "RETRY", "RUNNING", "COMPLETED")
    evidence.jobs["d"] = job("d", attempt=2, label="nemesis")
    evidence.effects.append(("d", 2))
    evidence.ledger += [{"event": "start", "job": "d", "attempt": n} for n in (1, 2)]
    evidence.records = [Record("kill_worker", 2.0, 2.2, 1, "", away=False, jobs=["d"], at=2.1)]
    evidence.moves += moves
    assert findings(evidence) == []

    late = bound(evidence.lease) + 3
    evidence.moves[-3:] = [move._replace(at=move.at + late) for move in moves[-3:]]

    assert {finding.rule for finding in findings(evidence)} == {"a dead worker's job came back too late"}

    # Its worker's last words have handed it over: an outside run takes as long as it takes.
    change(evidence, "d", task="runs_elsewhere")
    evidence.effects.remove(("d", 2))

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
    [(0, 1.6, True), (0, 1.2, False), (1, 1.6, True), (2, 1.6, False), (2, 2.5, True)],
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
        ([*range(2, 100, 2), *range(200, 3600, 2)], None),
    ],
)
def test_a_soak_that_nobody_watched_is_found(seen: Iterable[int], told: str | None) -> None:
    assert unseen([(float(at), (1.0,) * 4) for at in seen], 3600.0) == told


def test_what_grows_through_a_soak_is_found_and_what_goes_up_and_down_is_not() -> None:
    flat: list[Sample] = [(float(n), (50.0 + n % 7, 20.0, 30.0 + n % 5, 10.0)) for n in range(600)]
    leak: list[Sample] = [(at, (seen[0] + at / 10, *seen[1:])) for at, seen in flat]

    assert grown(flat) == []
    assert [said.partition(":")[0] for said in grown(leak)] == ["memory of a worker, MB"]
    assert drawn(flat).count("<polyline") == 4
