"""Approvals: asked once, decided once, by those who may, about what was asked."""

import re
import secrets
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg.types.json import Jsonb

from holdfast.domain.approval import Approval
from holdfast.domain.states import Status
from holdfast.store.approval import approvals_between, approvals_of, list_approvals
from holdfast.store.call import Call, perform_sync
from holdfast.testing import ScratchDatabase
from sql.asking import GATE, approval, ask, asked, decide, digest, mint, try_token, votes
from sql.support import Machine, machine_on

UNKNOWN = {
    "result": "unknown",
    **dict.fromkeys(
        ("job_id", "decision", "decided_by", "decided_at", "reason", "approvals", "quorum", "problem")
    ),
}

# -- asking ----------------------------------------------------------------------------------------------------------------


def test_a_job_that_asks_waits_and_holds_no_worker(each_machine: Machine) -> None:
    gate = asked(each_machine, expires_in=60)

    job = each_machine.job(gate.job_id)
    assert (job["status"], job["approval_id"]) == ("WAITING_FOR_APPROVAL", gate.approval_id)
    assert (job["holder"], job["deadline_at"], job["claim_order"], job["due_at"]) == (None,) * 4
    assert each_machine.claim(each_machine.worker()) == []


def test_the_history_says_what_is_asked_of_whom_and_until_when(each_machine: Machine) -> None:
    gate = asked(each_machine, expires_in=60, quorum=2, on_expiry="deny")

    told = each_machine.history(gate.job_id)[-1]["metadata"]["approval"]
    assert told.pop("expires_at")
    assert told == {
        "id": str(gate.approval_id),
        "name": "refund",
        "question": "Refund 900 €?",
        "approvers": ["ann", "ben"],
        "quorum": 2,
        "on_expiry": "deny",
    }


def test_the_feed_tells_neither_the_question_nor_the_approvers(machine: Machine) -> None:
    gate = asked(machine)
    decide(machine, gate.approval_id, "ann", reason="because")

    notes = machine.rows(
        "select kind, data from holdfast.activity where job_id = %s order by id", gate.job_id
    )
    assert [note["kind"] for note in notes] == ["approval.asked", "approval.decided"]
    assert not re.search("Refund|ann|ben|because", str([note["data"] for note in notes]))


def test_only_the_attempt_that_owns_the_job_asks(machine: Machine) -> None:
    worker = machine.worker()
    machine.enqueue()
    (claimed,) = machine.claim(worker)

    with machine.refused("HF011", "no longer owns"):
        ask(machine, {**claimed, "claim_id": uuid4()})
    with machine.refused("HF011", "no longer owns"):
        ask(machine, {**claimed, "attempt": 2})
    machine.complete(worker, claimed)
    with machine.refused("HF011", "no longer owns"):
        ask(machine, claimed)

    assert machine.count("holdfast.approval") == 0


def test_asking_again_after_a_lost_answer_asks_once(machine: Machine) -> None:
    gate = asked(machine)

    again = ask(machine, gate.claimed)

    assert again == {"approval_id": gate.approval_id, "decision": None}
    assert machine.path(gate.job_id)[-2:] == [Status.RUNNING, Status.WAITING_FOR_APPROVAL]
    assert machine.count("holdfast.approval") == 1


@pytest.mark.parametrize("stale", [{}, {"attempt": 2}], ids=["an earlier attempt", "another claim"])
def test_only_the_attempt_that_asked_is_told_so_again(machine: Machine, stale: dict[str, int]) -> None:
    gate = asked(machine)
    decide(machine, gate.approval_id, "ann")
    (again,) = machine.claim(machine.worker("other"))
    ask(machine, again)
    ask(machine, again, name="more")

    with machine.refused("HF011", "no longer owns"):
        ask(machine, {**gate.claimed, **stale}, name="more" if stale else "refund")


@pytest.mark.parametrize(
    ("gate", "word"),
    [
        ({"question": ""}, "1 to 2,000"),
        ({"question": None}, "1 to 2,000"),
        ({"question": "x" * 2001}, "1 to 2,000"),
        ({"facts": [1]}, "object"),
        ({"facts": {"x": "y" * 70_000}}, "65,536"),
        ({"approvers": "ann"}, "list of names"),
        ({"approvers": [""]}, "1 to 200"),
        ({"approvers": [" ann"]}, "1 to 200"),
        ({"approvers": ["x" * 201]}, "1 to 200"),
        ({"approvers": ["system"]}, "clock"),
        ({"approvers": [str(n) for n in range(101)]}, "100 approvers"),
        ({"quorum": 0}, "quorum"),
        ({"quorum": 101, "approvers": []}, "quorum"),
        ({"quorum": 3}, "never be reached"),
        ({"quorum": 2, "approvers": ["ann", "Ann"]}, "never be reached"),
        ({"expires_in": 0}, "expire"),
        ({"expires_in": -5}, "expire"),
        ({"on_expiry": "shrug"}, "fail, deny or approve"),
    ],
)
def test_a_gate_that_makes_no_sense_is_refused_and_asks_nobody(
    machine: Machine, gate: dict[str, Any], word: str
) -> None:
    job_id = machine.enqueue()
    (claimed,) = machine.claim(machine.worker())

    with machine.refused("HF005", "'refund'", word):
        ask(machine, claimed, **gate)

    assert machine.status(job_id) is Status.RUNNING


def test_a_quorum_that_needs_the_requester_is_refused(machine: Machine) -> None:
    machine.enqueue(requested_by="ann")
    (claimed,) = machine.claim(machine.worker())

    with machine.refused("HF005", "never be reached"):
        ask(machine, claimed, quorum=2)

    assert ask(machine, claimed, quorum=2, self_approval=True)["approval_id"]


# -- deciding as a person ----------------------------------------------------------------------------------------------------


def test_an_approved_job_stays_where_it_is_and_can_be_claimed(each_machine: Machine) -> None:
    gate = asked(each_machine)

    answer = decide(each_machine, gate.approval_id, "ann", origin="10.0.0.1", reason="seen")

    assert (answer["result"], answer["decision"], answer["decided_by"]) == ("decided", "approved", "ann")
    assert each_machine.status(gate.job_id) is Status.WAITING_FOR_APPROVAL
    (claimed,) = each_machine.claim(each_machine.worker())
    assert (claimed["id"], claimed["attempt"]) == (gate.job_id, 2)
    told = each_machine.history(gate.job_id)[-1]["metadata"]["approval"]
    assert told.pop("at")
    assert told == {
        "id": str(gate.approval_id), "name": "refund", "decision": "approved", "by": "ann", "from": "10.0.0.1", "reason": "seen",
    }  # fmt: skip


def test_the_next_attempt_gets_the_decision_and_saves_it_as_a_step(each_machine: Machine) -> None:
    gate = asked(each_machine)
    decide(each_machine, gate.approval_id, "ann", origin="cli", reason="fine")
    (claimed,) = each_machine.claim(each_machine.worker())

    first, second = ask(each_machine, claimed), ask(each_machine, claimed)

    step = each_machine.one("select * from holdfast.step where job_id = %s", gate.job_id)
    assert (step["name"], step["kind"], step["attempt"]) == ("refund", "approval", 2)
    assert first == second
    told = step["value"]
    assert told.pop("decided_at")
    assert told == {
        "approval_id": str(gate.approval_id), "decided_by": "ann", "origin": "cli", "reason": "fine", "approved_by": ["ann"],
    }  # fmt: skip


def test_a_gated_job_enters_the_line_through_admission(machine: Machine) -> None:
    gate = asked(machine)
    machine.run("update holdfast.job set ties = 1 where id = %s", gate.job_id)

    decide(machine, gate.approval_id, "ann")

    job = machine.job(gate.job_id)
    assert (job["claim_order"], job["due_at"] is not None, job["held_by"]) == (None, True, None)


def test_an_approved_job_waits_for_a_slot_as_any_other(each_machine: Machine) -> None:
    each_machine.register("t", options={"limits": [{"key": "one", "max": 1, "release_while_waiting": True}]})
    worker, job_id, other = each_machine.worker(), each_machine.enqueue(), each_machine.enqueue()
    each_machine.one("select * from holdfast.admit_due(10)")
    (first,) = each_machine.claim(worker)
    approval_id = ask(each_machine, first)["approval_id"]
    (second,) = each_machine.claim(worker)

    decide(each_machine, approval_id, "ann")
    each_machine.one("select * from holdfast.admit_due(10)")

    assert (first["id"], second["id"]) == (job_id, other)
    assert each_machine.job(job_id)["held_by"] == "limit:one"
    assert each_machine.claim(worker) == []
    each_machine.complete(worker, second)
    assert [row["id"] for row in each_machine.claim(worker)] == [job_id]


def test_an_approved_job_of_a_paused_task_goes_on_when_the_task_does(machine: Machine) -> None:
    gate = asked(machine)
    decide(machine, gate.approval_id, "ann")

    machine.value("select holdfast.pause_task('t')")
    machine.one("select * from holdfast.admit_due(10)")
    assert machine.claim(machine.worker()) == []
    machine.value("select holdfast.resume_task('t')")
    machine.one("select * from holdfast.admit_due(10)")

    assert [row["id"] for row in machine.claim(machine.worker())] == [gate.job_id]


def test_whoever_sleeps_is_woken_by_an_approval(lasting: Machine) -> None:
    gate = asked(lasting)
    lasting.value("select holdfast.fall_asleep(%s, '{default}')", lasting.worker())
    lasting.run("listen holdfast_wake")

    decide(lasting, gate.approval_id, "ann")

    assert [note.payload for note in lasting.connection.notifies(timeout=0.5)] == ["default"]


def test_a_denial_fails_the_job_with_who_and_why(each_machine: Machine) -> None:
    gate = asked(each_machine)

    answer = decide(each_machine, gate.approval_id, "ben", "deny", "too much", "cli")

    job, recorded = each_machine.job(gate.job_id), each_machine.history(gate.job_id)[-1]
    assert (answer["result"], answer["decision"]) == ("decided", "denied")
    assert (job["status"], job["approval_id"], job["finished_at"] is not None) == ("FAILED", None, True)
    assert job["error"] == {
        "type": "ApprovalDenied", "kind": "approval", "recoverable": False,
        "message": "approval refund was denied by ben: too much",
    }  # fmt: skip
    assert (recorded["actor"], recorded["reason"]) == ("ben", "too much")
    told = recorded["metadata"]["approval"]
    assert (told["decision"], told["by"], told["from"], told["reason"]) == (
        "denied",
        "ben",
        "cli",
        "too much",
    )
    assert recorded["metadata"]["type"] == "ApprovalDenied"


@pytest.mark.parametrize("reason", [None, "", "  "])
def test_a_denial_needs_a_reason(machine: Machine, reason: str | None) -> None:
    gate = asked(machine)

    answer = decide(machine, gate.approval_id, "ann", "deny", reason)

    assert (answer["result"], answer["problem"]) == ("refused", "a denial needs a reason")
    assert votes(machine, gate.approval_id) == []


def test_one_denial_denies_whatever_the_quorum(machine: Machine) -> None:
    gate = asked(machine, approvers=["ann", "ben", "cho"], quorum=2)
    decide(machine, gate.approval_id, "ann")

    decide(machine, gate.approval_id, "ben", "deny", "no")

    assert machine.status(gate.job_id) is Status.FAILED


def test_whoever_approved_may_yet_deny_before_the_quorum(machine: Machine) -> None:
    gate = asked(machine, quorum=2)
    decide(machine, gate.approval_id, "ann")

    assert decide(machine, gate.approval_id, "ann", "deny", "I misread")["decision"] == "denied"


def test_a_quorum_counts_each_person_once(each_machine: Machine) -> None:
    gate = asked(each_machine, approvers=[], quorum=2)

    answers = [decide(each_machine, gate.approval_id, who) for who in ("ann", "ann", " Ann ", "ben")]

    assert [(a["result"], a["approvals"]) for a in answers] == [
        ("counted", 1),
        ("counted", 1),
        ("counted", 1),
        ("decided", 2),
    ]
    assert approval(each_machine, gate.approval_id)["decided_by"] == "ben"


def test_a_job_below_its_quorum_is_not_claimable(machine: Machine) -> None:
    gate = asked(machine, quorum=2)

    decide(machine, gate.approval_id, "ann")

    assert machine.claim(machine.worker()) == []


def test_only_the_approvers_decide_where_any_are_named(machine: Machine) -> None:
    gate = asked(machine)

    answer = decide(machine, gate.approval_id, "mallory")

    assert (answer["result"], answer["problem"]) == ("refused", "only ann, ben may decide")
    assert machine.claim(machine.worker()) == []


def test_anybody_authorised_decides_where_nobody_is_named(machine: Machine) -> None:
    gate = asked(machine, approvers=[])

    assert decide(machine, gate.approval_id, "zoe")["result"] == "decided"


@pytest.mark.parametrize("approvers", [[], ["ann", "ben"]])
@pytest.mark.parametrize("who", ["ann", "ANN", " ann "])
@pytest.mark.parametrize("decision", ["approve", "deny"])
def test_the_requester_does_not_decide(
    machine: Machine, approvers: list[str], who: str, decision: str
) -> None:
    gate = asked(machine, enqueued={"requested_by": "ann"}, approvers=approvers)

    answer = decide(machine, gate.approval_id, who, decision, "me")

    assert answer["result"] == "refused"
    assert "cancel the job" in answer["problem"]
    assert machine.status(gate.job_id) is Status.WAITING_FOR_APPROVAL


def test_the_requester_decides_where_the_gate_says_so(machine: Machine) -> None:
    gate = asked(machine, enqueued={"requested_by": "ann"}, self_approval=True)

    assert decide(machine, gate.approval_id, "ann")["result"] == "decided"


def test_the_second_decision_is_told_who_was_first(machine: Machine) -> None:
    gate = asked(machine)
    decide(machine, gate.approval_id, "ann", reason="fine")

    answer = decide(machine, gate.approval_id, "ben", "deny", "no")

    assert (answer["result"], answer["decision"], answer["decided_by"], answer["reason"]) == (
        "already", "approved", "ann", "fine",
    )  # fmt: skip
    assert answer["decided_at"] is not None
    assert [vote["who"] for vote in votes(machine, gate.approval_id)] == ["ann"]


def test_an_unknown_approval_is_unknown(machine: Machine) -> None:
    assert decide(machine, uuid4(), "ann") == UNKNOWN


@pytest.mark.parametrize("who", [None, "", "   ", "x" * 201, "system", "System "])
def test_nobody_and_the_clock_do_not_decide_as_a_person(machine: Machine, who: str | None) -> None:
    gate = asked(machine, approvers=[])

    with machine.refused("HF005", "nobody's name"):
        decide(machine, gate.approval_id, who)


@pytest.mark.parametrize("decision", [None, "", "Approve", "reject", "approve; drop table"])
def test_a_decision_is_approve_or_deny(machine: Machine, decision: str | None) -> None:
    gate = asked(machine)

    with machine.refused("HF005", "approve or deny"):
        decide(machine, gate.approval_id, "ann", decision, "r")


@pytest.mark.parametrize("words", [{"reason": "x" * 2001}, {"origin": "x" * 501}])
def test_words_without_end_are_refused(machine: Machine, words: dict[str, str]) -> None:
    gate = asked(machine)

    with machine.refused("HF005", "at most"):
        decide(machine, gate.approval_id, "ann", "approve", **words)


def test_hostile_words_are_kept_as_words(machine: Machine) -> None:
    nasty = "'; drop table holdfast.job; -- %s {0} \\ \x1b[31m <script>alert(1)</script>"
    gate = asked(machine, question=nasty, facts={nasty: nasty}, approvers=[])

    decide(machine, gate.approval_id, nasty, "deny", nasty, nasty)

    job = machine.job(gate.job_id)
    assert job["error"]["message"] == f"approval refund was denied by {nasty}: {nasty}"
    assert machine.history(gate.job_id)[-1]["actor"] == nasty


def test_the_name_of_who_decided_does_not_stick_to_the_session(machine: Machine) -> None:
    gate = asked(machine)
    machine.run("set local holdfast.actor = 'zoe'")

    decide(machine, gate.approval_id, "ann", "deny", "no")

    assert machine.history(gate.job_id)[-1]["actor"] == "ann"
    assert machine.value("select holdfast.actor()") == "zoe"


# -- what a decision is about --------------------------------------------------------------------------------------------------


def test_a_decision_about_something_else_that_was_seen_is_refused(machine: Machine) -> None:
    gate = asked(machine)
    bound = approval(machine, gate.approval_id)["bound_hash"]

    wrong = decide(machine, gate.approval_id, "ann", seen="0" * 64)
    right = decide(machine, gate.approval_id, "ann", seen=bound)

    assert (wrong["result"], right["result"]) == ("refused", "decided")
    assert votes(machine, gate.approval_id)[0]["bound_hash"] == bound


@pytest.mark.parametrize(
    "changed",
    [
        {"question": "Refund 9000 €?"},
        {"facts": {"amount": 9000}},
        {"facts": {"amount": 900, "to": "mallory"}},
        {"approvers": ["ann", "ben", "mallory"]},
        {"quorum": 2},
    ],
)
def test_an_approval_does_not_count_for_another_question(machine: Machine, changed: dict[str, Any]) -> None:
    gate = asked(machine)
    decide(machine, gate.approval_id, "ann")
    (claimed,) = machine.claim(machine.worker())

    with machine.refused("HF021", "'refund'", "another question"):
        ask(machine, claimed, **changed)

    assert machine.count("holdfast.step") == 0


def test_an_approval_counts_whatever_the_order_of_facts_and_approvers(machine: Machine) -> None:
    gate = asked(machine, facts={"a": 1, "b": {"c": 1, "d": 2}})
    decide(machine, gate.approval_id, "ann")
    (claimed,) = machine.claim(machine.worker())

    again = ask(machine, claimed, facts={"b": {"d": 2, "c": 1}, "a": 1}, approvers=["ben", "ann", "ben"])

    assert again["decision"] is not None


def test_two_jobs_with_the_same_question_are_bound_apart(machine: Machine) -> None:
    one, other = asked(machine), asked(machine)

    hashes = {approval(machine, gate.approval_id)["bound_hash"] for gate in (one, other)}

    assert len(hashes) == 2


def test_a_second_gate_of_a_job_is_another_approval(machine: Machine) -> None:
    gate = asked(machine)
    decide(machine, gate.approval_id, "ann")
    (claimed,) = machine.claim(machine.worker())
    ask(machine, claimed)

    second = ask(machine, claimed, "refund#2")

    assert (second["decision"], second["approval_id"] != gate.approval_id) == (None, True)
    assert machine.claim(machine.worker()) == []
    assert decide(machine, second["approval_id"], "ben", "deny", "twice is enough")["decision"] == "denied"


def test_the_history_names_the_approval_that_was_decided_though_the_clock_was_set_back(
    machine: Machine,
) -> None:
    worker = machine.worker(lease=10**6)
    job = machine.enqueue()
    (claimed,) = machine.claim(worker)
    decide(machine, ask(machine, claimed, "one")["approval_id"], "ann")
    (claimed,) = machine.claim(worker)
    ask(machine, claimed, "one")
    machine.advance(-1800)
    second = ask(machine, claimed, "two")["approval_id"]
    decide(machine, second, "ben")

    machine.claim(worker)

    assert machine.history(job)[-1]["metadata"]["approval"]["id"] == str(second)


# -- tokens --------------------------------------------------------------------------------------------------------------------


def test_a_token_decides_for_its_approver(each_machine: Machine) -> None:
    gate = asked(each_machine)
    secret = mint(each_machine, gate.approval_id, "ann")

    answer = try_token(each_machine, gate.approval_id, secret)

    (vote,) = votes(each_machine, gate.approval_id)
    assert (answer["result"], answer["decided_by"]) == ("decided", "ann")
    assert (vote["who"], vote["how"], vote["origin"]) == ("ann", "token", "mail")


def test_a_token_is_used_once(machine: Machine) -> None:
    gate = asked(machine, quorum=2)
    secret = mint(machine, gate.approval_id, "ann")
    assert try_token(machine, gate.approval_id, secret)["result"] == "counted"

    assert try_token(machine, gate.approval_id, secret) == UNKNOWN
    assert try_token(machine, gate.approval_id, secret, "deny", "no") == UNKNOWN


def test_a_new_delivery_voids_the_token_before(machine: Machine) -> None:
    gate = asked(machine)
    old, new = mint(machine, gate.approval_id, "ann"), mint(machine, gate.approval_id, "ann")

    assert try_token(machine, gate.approval_id, old) == UNKNOWN
    assert try_token(machine, gate.approval_id, new)["result"] == "decided"


def test_a_refused_try_does_not_use_the_token_up(machine: Machine) -> None:
    gate = asked(machine)
    secret = mint(machine, gate.approval_id, "ann")

    assert try_token(machine, gate.approval_id, secret, "deny")["result"] == "refused"
    assert try_token(machine, gate.approval_id, secret, "deny", "no")["result"] == "decided"


def test_the_loser_with_a_right_token_is_told_who_won(machine: Machine) -> None:
    gate = asked(machine)
    late = mint(machine, gate.approval_id, "ben")
    try_token(machine, gate.approval_id, mint(machine, gate.approval_id, "ann"))

    answer = try_token(machine, gate.approval_id, late, "deny", "no")

    assert (answer["result"], answer["decision"], answer["decided_by"]) == ("already", "approved", "ann")


@pytest.mark.parametrize("state", ["open", "decided", "expired", "cancelled", "missing"])
def test_without_a_right_token_every_answer_is_the_same(machine: Machine, state: str) -> None:
    gate = asked(machine, expires_in=60)
    other = asked(machine)
    wrong = [secrets.token_bytes(32), mint(machine, other.approval_id, "ann")]
    if state == "decided":
        decide(machine, gate.approval_id, "ann")
    elif state == "expired":
        machine.advance(61)
    elif state == "cancelled":
        machine.value("select holdfast.cancel(%s)", gate.job_id)
    approval_id = uuid4() if state == "missing" else gate.approval_id

    assert [try_token(machine, approval_id, secret) for secret in wrong] == [UNKNOWN, UNKNOWN]


@pytest.mark.parametrize("given", [None, b"", b"x", b"\0" * 32, b"x" * 100_000])
def test_what_is_no_hash_at_all_is_answered_alike(machine: Machine, given: bytes | None) -> None:
    gate = asked(machine)
    mint(machine, gate.approval_id, "ann")

    answer = machine.one("select * from holdfast.decide_by_token(%s, %s, 'approve')", gate.approval_id, given)

    assert answer == UNKNOWN


def test_after_five_wrong_tries_in_a_minute_not_even_the_right_token_is_looked_at(
    each_machine: Machine,
) -> None:
    gate = asked(each_machine)
    secret = mint(each_machine, gate.approval_id, "ann")
    for _ in range(5):
        try_token(each_machine, gate.approval_id, secrets.token_bytes(32))

    assert try_token(each_machine, gate.approval_id, secret) == UNKNOWN
    each_machine.advance(61)
    assert try_token(each_machine, gate.approval_id, secret)["result"] == "decided"


def test_four_wrong_tries_lock_nobody_out(machine: Machine) -> None:
    gate = asked(machine)
    secret = mint(machine, gate.approval_id, "ann")
    for _ in range(4):
        try_token(machine, gate.approval_id, secrets.token_bytes(32))

    assert try_token(machine, gate.approval_id, secret)["result"] == "decided"


def test_wrong_tries_are_counted_over_any_minute_not_over_the_clocks(machine: Machine) -> None:
    gate = asked(machine)
    secret = mint(machine, gate.approval_id, "ann")
    for wait in (0, 20, 20, 15, 10, 0, 0, 0):
        machine.advance(wait)
        try_token(machine, gate.approval_id, secrets.token_bytes(32))

    assert try_token(machine, gate.approval_id, secret) == UNKNOWN
    assert len(approval(machine, gate.approval_id)["wrong_tries"]) == 5


def test_wrong_tokens_do_not_lock_out_people_who_decide_as_themselves(machine: Machine) -> None:
    gate = asked(machine)
    for _ in range(6):
        try_token(machine, gate.approval_id, secrets.token_bytes(32))

    assert decide(machine, gate.approval_id, "ann")["result"] == "decided"


def test_a_delivery_gets_what_there_is_to_show(machine: Machine) -> None:
    gate = asked(machine, expires_in=60)

    told = machine.one("select * from holdfast.mint_token(%s, 'ANN', %s)", gate.approval_id, digest(b"x"))

    assert (told["job_id"], told["approver"], told["question"]) == (gate.job_id, "ann", GATE["question"])
    assert told["bound_hash"] == approval(machine, gate.approval_id)["bound_hash"]


@pytest.mark.parametrize("who", ["mallory", None, ""])
def test_no_token_is_minted_for_others(machine: Machine, who: str | None) -> None:
    gate = asked(machine)

    with machine.refused("HF005", "no approver"):
        machine.one("select * from holdfast.mint_token(%s, %s, %s)", gate.approval_id, who, digest(b"x"))


def test_no_token_is_minted_where_nobody_is_named(machine: Machine) -> None:
    gate = asked(machine, approvers=[])

    with machine.refused("HF005", "no approver"):
        mint(machine, gate.approval_id, "ann")


def test_no_token_is_minted_for_the_requester(machine: Machine) -> None:
    gate = asked(machine, enqueued={"requested_by": "Ann"})

    with machine.refused("HF005", "does not decide"):
        mint(machine, gate.approval_id, "ann")


def test_no_token_is_minted_for_what_is_decided(machine: Machine) -> None:
    gate = asked(machine)
    decide(machine, gate.approval_id, "ann")

    with machine.refused("HF022", "approved by ann"):
        mint(machine, gate.approval_id, "ben")
    with machine.refused("HF020", "no approval"):
        mint(machine, uuid4(), "ben")


@pytest.mark.parametrize("stored", [None, b"", b"short", b"x" * 33])
def test_a_stored_hash_is_a_hash(machine: Machine, stored: bytes | None) -> None:
    gate = asked(machine)

    with machine.refused("HF005", "32 bytes"):
        machine.one("select * from holdfast.mint_token(%s, 'ann', %s)", gate.approval_id, stored)


def test_a_token_stands_nowhere_in_the_database_and_its_hash_only_beside_its_approver(
    machine: Machine,
) -> None:
    gate = asked(machine, quorum=2)
    secret = mint(machine, gate.approval_id, "ann")
    try_token(machine, gate.approval_id, secrets.token_bytes(32))
    try_token(machine, gate.approval_id, secret, reason="ok")
    decide(machine, gate.approval_id, "ben")
    (claimed,) = machine.claim(machine.worker())
    ask(machine, claimed, quorum=2)

    found = {
        (table, kind)
        for table in tables(machine)
        for kind, needle in (("token", secret.hex()), ("hash", digest(secret).hex()))
        if machine.value(f"select count(*) from {table} t where strpos(t::text, %s) > 0", needle)
    }

    assert found == {("holdfast.approver", "hash")}


def tables(machine: Machine) -> list[str]:
    rows = machine.rows(
        "select oid::regclass::text as name from pg_class where relnamespace = 'holdfast'::regnamespace and relkind in ('r', 'p')"
    )
    return [row["name"] for row in rows]


# -- time and cancel ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("on_expiry", "decision", "status", "error", "voices"),
    [
        ("fail", "expired", Status.FAILED, "ApprovalExpired", []),
        ("deny", "denied", Status.FAILED, "ApprovalDenied", [("system", "deny", "system")]),
        ("approve", "approved", Status.WAITING_FOR_APPROVAL, None, [("system", "approve", "system")]),
    ],
)
@pytest.mark.parametrize("found_by", ["sweep", "decision"])
def test_an_expired_approval_does_what_its_gate_says(
    each_machine: Machine,
    on_expiry: str,
    decision: str,
    status: Status,
    error: str | None,
    voices: list[tuple[str, str, str]],
    found_by: str,
) -> None:
    gate = asked(each_machine, expires_in=60, on_expiry=on_expiry)
    each_machine.advance(60)

    if found_by == "sweep":
        assert each_machine.sweep()["expired"] == 1
    else:
        late = decide(each_machine, gate.approval_id, "ann", "deny", "too late")
        assert (late["result"], late["decision"], late["decided_by"]) == ("already", decision, "system")

    job = each_machine.job(gate.job_id)
    assert (Status(job["status"]), (job["error"] or {}).get("type")) == (status, error)
    assert [(v["who"], v["decision"], v["how"]) for v in votes(each_machine, gate.approval_id)] == voices
    assert len(each_machine.claim(each_machine.worker())) == (on_expiry == "approve")
    assert each_machine.history(gate.job_id)[-1]["metadata"]["approval"]["by"] == "system"
    if status is Status.FAILED:
        assert each_machine.history(gate.job_id)[-1]["actor"] == "system"
    assert each_machine.sweep()["expired"] == 0


def test_an_approval_before_its_deadline_is_left_alone(machine: Machine) -> None:
    gate = asked(machine, expires_in=60)
    machine.advance(50)

    assert machine.sweep()["expired"] == 0
    assert decide(machine, gate.approval_id, "ann")["result"] == "decided"


def test_an_approval_without_a_deadline_waits_for_ever(machine: Machine) -> None:
    gate = asked(machine)
    machine.advance(10 * 365 * 86_400)

    assert machine.sweep()["expired"] == 0
    assert decide(machine, gate.approval_id, "ann")["result"] == "decided"


def test_a_token_after_the_deadline_is_told_what_the_clock_decided(machine: Machine) -> None:
    gate = asked(machine, expires_in=60)
    secret = mint(machine, gate.approval_id, "ann")
    machine.advance(60)

    answer = try_token(machine, gate.approval_id, secret)

    assert (answer["result"], answer["decision"], answer["decided_by"]) == ("already", "expired", "system")


def test_a_sweep_expires_no_more_than_it_is_asked_to(machine: Machine) -> None:
    for _ in range(3):
        asked(machine, expires_in=60)
    machine.advance(60)

    assert machine.one("select * from holdfast.sweep(2)")["expired"] == 2
    assert machine.sweep()["expired"] == 1


def test_a_cancelled_job_asks_nobody_any_more(each_machine: Machine) -> None:
    gate = asked(each_machine, expires_in=60)
    secret = mint(each_machine, gate.approval_id, "ann")

    each_machine.value("select holdfast.cancel(%s, 'cho', 'changed my mind')", gate.job_id)

    answers = [
        try_token(each_machine, gate.approval_id, secret),
        decide(each_machine, gate.approval_id, "ben"),
    ]
    assert {(a["result"], a["decision"], a["decided_by"], a["reason"]) for a in answers} == {
        ("already", "cancelled", "cho", "changed my mind")
    }
    each_machine.advance(60)
    assert each_machine.sweep()["expired"] == 0
    assert each_machine.status(gate.job_id) is Status.CANCELLED


def test_an_approved_job_that_is_cancelled_stays_approved(machine: Machine) -> None:
    gate = asked(machine)
    decide(machine, gate.approval_id, "ann")

    machine.value("select holdfast.cancel(%s)", gate.job_id)

    assert approval(machine, gate.approval_id)["decision"] == "approved"
    assert machine.status(gate.job_id) is Status.CANCELLED


def test_retention_removes_approvals_with_their_job(each_db: ScratchDatabase) -> None:
    with machine_on(each_db.owner_url) as machine:
        machine.register("t", retention=10)
        gate, kept = asked(machine), asked(machine)
        mint(machine, gate.approval_id, "ann")
        decide(machine, gate.approval_id, "ann", "deny", "no")
        each_db.clock.advance(60)
        while machine.one("select * from holdfast.project()")["more"]:
            pass  # retention leaves alone what the projector has not seen

        machine.one("select * from holdfast.upkeep()")

        assert machine.rows("select id from holdfast.approval") == [{"id": kept.approval_id}]
        assert (machine.count("holdfast.approver"), machine.count("holdfast.approval_decision")) == (0, 0)


# -- whoever writes ----------------------------------------------------------------------------------------------------------------

ROLES = (
    "set local role holdfast_owner",
    "set local role none",
    "set local session_replication_role = replica",
)
TAMPERING = {
    "question": ("update holdfast.approval set question = 'x'", "never changes"),
    "facts": ("update holdfast.approval set facts = '{}'", "never changes"),
    "spelling": ("update holdfast.approval set facts = '{\"amount\": 900.0}'", "never changes"),
    "hash": ("update holdfast.approval set bound_hash = 'x'", "never changes"),
    "approvers": ("update holdfast.approval set approvers = '{mallory}'", "never changes"),
    "quorum": ("update holdfast.approval set quorum = 1", "never changes"),
    "requester": ("update holdfast.approval set requester = null", "never changes"),
    "self": ("update holdfast.approval set self_approval = true", "never changes"),
    "deadline": ("update holdfast.approval set expires_at = null", "never changes"),
    "decision": ("update holdfast.approval set decision = 'approved'", "decided once"),
    "undecided": (
        "update holdfast.approval set decision = null, decided_at = null, decided_by = null",
        "decided once",
    ),
    "who": ("update holdfast.approval set decided_by = 'mallory'", "decided once"),
    "delete": ("delete from holdfast.approval", "are kept"),
    "truncate": ("truncate holdfast.approval", "are kept"),
    "forget approver": ("delete from holdfast.approver", "are kept"),
    "truncate approver": ("truncate holdfast.approver", "are kept"),
    "vote": ("update holdfast.approval_decision set decision = 'approve'", "append-only"),
    "forget vote": ("delete from holdfast.approval_decision", "append-only"),
    "truncate votes": ("truncate holdfast.approval_decision", "append-only"),
}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("way", TAMPERING)
def test_what_was_asked_and_decided_never_changes(each_machine: Machine, way: str, role: str) -> None:
    gate = asked(
        each_machine, enqueued={"requested_by": "cho"}, approvers=["ann", "ben"], quorum=2, expires_in=60
    )
    mint(each_machine, gate.approval_id, "ann")
    decide(each_machine, gate.approval_id, "ann", "deny", "no")
    each_machine.run(role)
    statement, words = TAMPERING[way]

    with each_machine.refused("HF003", words):
        each_machine.run(statement)


@pytest.mark.parametrize("column", ["claim_order", "due_at"])
@pytest.mark.parametrize("there_is", ["no approval", "an open approval"])
def test_an_undecided_job_cannot_be_made_claimable_by_hand(
    machine: Machine, column: str, there_is: str
) -> None:
    job_id = (
        machine.job_in(Status.WAITING_FOR_APPROVAL) if there_is == "no approval" else asked(machine).job_id
    )

    with machine.refused("HF001", "before it is approved"):
        machine.run(f"update holdfast.job set {column} = now() where id = %s", job_id)


@pytest.mark.parametrize("status", [Status.RUNNING, Status.FAILED])
def test_a_job_does_not_leave_an_undecided_approval_behind(machine: Machine, status: Status) -> None:
    gate = asked(machine)

    with machine.refused("HF001", "nobody has decided"):
        machine.move(gate.job_id, status)


def test_a_cancel_by_hand_closes_the_approval_too(machine: Machine) -> None:
    gate = asked(machine)

    machine.move(gate.job_id, Status.CANCELLED)

    assert approval(machine, gate.approval_id)["decision"] == "cancelled"


# -- queries use their indexes -------------------------------------------------------------------------------------------------------


def test_the_sweep_finds_expired_approvals_by_their_index(machine: Machine) -> None:
    machine.run("set local enable_seqscan = off")

    plan = machine.rows(
        "explain select a.id from holdfast.approval a where a.decided_at is null and a.expires_at is not null"
        " and a.expires_at <= now() order by a.expires_at limit 10"
    )

    assert "approval_expiring" in str(plan)


def job_payload(machine: Machine, job_id: UUID) -> Any:
    return machine.value("select payload from holdfast.job where id = %s", job_id)


def test_the_hash_is_over_the_payload_too(machine: Machine) -> None:
    gate = asked(machine, enqueued={"payload": {"to": "ann"}})
    row = approval(machine, gate.approval_id)

    hashes = [
        machine.value(
            "select holdfast.bound_hash(%s, %s, %s, %s, %s, %s, %s)",
            gate.job_id, Jsonb(payload), row["name"], row["question"], Jsonb(row["facts"]), row["approvers"], row["quorum"],
        )
        for payload in (job_payload(machine, gate.job_id), {"to": "mallory"})
    ]  # fmt: skip

    assert (hashes[0] == row["bound_hash"], hashes[1] == row["bound_hash"]) == (True, False)


# -- an attempt that asked and does not know that it is over ---------------------------------------------------------------------------


def test_an_attempt_that_asked_writes_nothing_more(each_machine: Machine) -> None:
    gate = asked(each_machine)
    fence = (gate.job_id, gate.claimed["attempt"], gate.claimed["claim_id"])
    worker = each_machine.worker()

    for moment in ("waiting", "approved"):
        with each_machine.refused("HF011", "no longer owns"):
            each_machine.value(
                "select holdfast.save_step(%s, %s, %s, 'late', 'step', null, '1', false, 1, 0)", *fence
            )
        with each_machine.refused("HF011", "no longer owns"):
            ask(each_machine, gate.claimed, "another")
        assert [row["status"] for row in each_machine.complete(worker, gate.claimed)] == [
            "WAITING_FOR_APPROVAL"
        ]
        if moment == "waiting":
            decide(each_machine, gate.approval_id, "ann")

    assert each_machine.count("holdfast.step") == 0


@pytest.mark.parametrize("cache", ["force_custom_plan", "force_generic_plan"])
def test_lists_of_approvals_read_what_they_show(machine: Machine, cache: str) -> None:
    open_ones = [asked(machine).approval_id for _ in range(3)]
    machine.run(
        "insert into holdfast.approval (job_id, attempt, name, question, facts, approvers, quorum, self_approval, bound_hash, asked_at, on_expiry,"
        " decided_at, decision, decided_by) select gen_random_uuid(), 1, 'x', '?', '{}', '{}', 1, false, '', now(), 'fail', now(), 'approved', 'ann'"
        " from generate_series(1, 20000)"
    )
    machine.run("analyze holdfast.approval")
    machine.run(f"set local plan_cache_mode = {cache}")

    def reads(call: Call[list[Approval]]) -> tuple[list[UUID], int]:
        counted = "select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables where relid = 'holdfast.approval'::regclass"
        before = machine.value(counted)
        found = perform_sync(machine.connection, call)
        return [each.id for each in found], machine.value(counted) - before

    found, read = reads(list_approvals("open", approver="ann"))
    assert (found, read < 50) == (open_ones[::-1], True)
    assert reads(approvals_of(approval(machine, open_ones[0])["job_id"]))[1] < 50
    assert reads(approvals_between(open_ones[0], open_ones[0], 1))[1] < 50
    assert reads(list_approvals("decided", limit=10))[1] < 200
