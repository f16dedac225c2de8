"""Rules, what they find as time goes by, and the outbox that commits with it; on the newest and the oldest PostgreSQL."""

from datetime import timedelta
from threading import Barrier, Thread
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from holdfast.domain.message import is_address
from holdfast.domain.states import Status
from holdfast.testing import ScratchDatabase
from sql.asking import asked, decide
from sql.support import Machine, Row, machine_on, meanwhile, rows_read, until_it_waits
from sql.watching import (
    alerts,
    count_failures,
    delivering_jobs,
    fail,
    judge,
    open_alerts,
    rule,
    told,
    watch,
)

MINUTE, HOUR, DAY = 60, 3600, 86_400


# -- rules that time decides ---------------------------------------------------------------------------------------------


def test_more_failures_than_allowed_within_the_window_open_one_alert(each_machine: Machine) -> None:
    watch(each_machine, rule(threshold=5, period=10 * MINUTE))
    count_failures(each_machine, "t", 5)
    assert judge(each_machine) == (0, 0)

    count_failures(each_machine, "t", 1)
    count_failures(each_machine, "other", 1)

    assert judge(each_machine) == (1, 0)
    assert judge(each_machine) == (0, 0)
    (found,) = alerts(each_machine)
    assert (found["about"], found["count"]) == ("task:t", 6)
    assert found["message"] == "6 jobs of task t FAILED within 10 minutes"
    assert told(each_machine) == [("opened", "mail")]
    assert delivering_jobs(each_machine) == 1


def test_an_alert_closes_by_itself_with_one_message_when_its_cause_is_gone(each_machine: Machine) -> None:
    watch(each_machine, rule(threshold=0, period=10 * MINUTE))
    count_failures(each_machine, "t", 1)
    judge(each_machine)
    each_machine.advance(5 * MINUTE)
    assert judge(each_machine) == (0, 0)

    each_machine.advance(12 * MINUTE)

    assert judge(each_machine) == (0, 1)
    assert judge(each_machine) == (0, 0)
    assert told(each_machine) == [("opened", "mail"), ("resolved", "mail")]
    count_failures(each_machine, "t", 1)
    assert judge(each_machine) == (1, 0)  # and comes again as another


def test_what_comes_and_goes_within_a_minute_is_one_alert(each_machine: Machine) -> None:
    watch(each_machine, rule(kind="oldest_wait", queue="default", period=10 * MINUTE))
    first = each_machine.enqueue()
    each_machine.advance(11 * MINUTE)
    assert judge(each_machine) == (1, 0)
    each_machine.run("select holdfast.cancel(%s)", first)
    assert judge(each_machine) == (0, 0)

    each_machine.advance(61)

    assert judge(each_machine) == (0, 1)


def test_a_rule_counts_the_task_and_queue_it_names(each_machine: Machine) -> None:
    watch(
        each_machine,
        rule("by task", threshold=0, period=MINUTE, task="a"),
        rule("by queue", threshold=0, period=MINUTE, queue="slow"),
    )
    count_failures(each_machine, "a", 1)
    count_failures(each_machine, "b", 1)
    count_failures(each_machine, "c", 1, queue="slow")

    judge(each_machine)

    assert [(row["rule"], row["about"]) for row in alerts(each_machine)] == [
        ("by queue", "task:c"),
        ("by task", "task:a"),
    ]


def test_failed_deliveries_alert_nobody(each_machine: Machine) -> None:
    watch(each_machine, rule(threshold=0, period=MINUTE), rule("each", "job_failed", period=HOUR))
    count_failures(each_machine, "holdfast.notify.mail", 9)
    fail(each_machine, each_machine.enqueue("holdfast.notify.mail"))

    assert judge(each_machine) == (0, 0)
    assert alerts(each_machine) == []


@pytest.mark.parametrize(("failed", "completed", "opens"), [(6, 94, 1), (5, 95, 0), (9, 0, 0)])
def test_a_success_rate_below_the_mark_alerts_unless_too_few_ended(
    each_machine: Machine, failed: int, completed: int, opens: int
) -> None:
    watch(each_machine, rule(kind="success_rate", threshold=0.95, period=DAY, least=10))
    count_failures(each_machine, "t", failed, completed)

    assert judge(each_machine) == (opens, 0)


def test_what_undoes_failures_does_not_better_the_success_rate(each_machine: Machine) -> None:
    watch(each_machine, rule(kind="success_rate", threshold=0.95, period=DAY, least=10))
    count_failures(each_machine, "t", failed=1, completed=18 + 1)
    assert judge(each_machine) == (0, 0)

    each_machine.run("update holdfast.statistic set undo_completed = 1")

    assert judge(each_machine) == (1, 0)
    assert "94.7 % of the 19 jobs" in alerts(each_machine)[0]["message"]


def test_the_success_rate_looks_back_exactly_its_window(each_machine: Machine) -> None:
    watch(each_machine, rule(kind="success_rate", threshold=0.95, period=DAY, least=10))
    count_failures(each_machine, "t", 10, 10)
    assert judge(each_machine) == (1, 0)
    assert "50.0 % of the 20 jobs" in alerts(each_machine)[0]["message"]

    each_machine.advance(DAY + 2 * MINUTE)

    assert judge(each_machine) == (0, 1)


def test_a_head_of_the_line_that_waits_too_long_alerts_and_a_paused_queue_does_not(
    each_machine: Machine,
) -> None:
    watch(each_machine, rule(kind="oldest_wait", period=10 * MINUTE))
    each_machine.enqueue()
    each_machine.enqueue(run_in=timedelta(hours=2), queue="default")
    each_machine.advance(9 * MINUTE)
    assert judge(each_machine) == (0, 0)
    each_machine.advance(2 * MINUTE)

    each_machine.run("select holdfast.pause_queue('default')")
    assert judge(each_machine) == (0, 0)
    each_machine.run("select holdfast.resume_queue('default')")

    assert judge(each_machine) == (1, 0)
    assert open_alerts(each_machine) == ["queue:default"]


def test_a_queue_with_jobs_that_no_live_worker_serves_alerts(each_machine: Machine) -> None:
    watch(each_machine, rule(kind="no_worker", period=MINUTE))
    each_machine.enqueue()
    each_machine.worker(lease=DAY)
    each_machine.advance(2 * MINUTE)
    assert judge(each_machine) == (0, 0)

    each_machine.run("update holdfast.worker set stopped_at = holdfast.clock(), died_at = holdfast.clock()")

    assert judge(each_machine) == (1, 0)
    each_machine.worker(lease=DAY)
    each_machine.advance(61)
    assert judge(each_machine) == (0, 1)


@pytest.mark.parametrize("queue", [None, "elsewhere"])
@pytest.mark.parametrize("kind", ["no_worker", "oldest_wait"])
def test_a_queue_that_nobody_has_ever_served_alerts_too(
    each_machine: Machine, kind: str, queue: str | None
) -> None:
    watch(each_machine, rule(kind=kind, queue=queue, period=MINUTE))
    each_machine.worker(lease=DAY)
    each_machine.enqueue(queue="elsewhere")
    each_machine.enqueue(queue="holdfast")
    each_machine.advance(2 * MINUTE)

    assert judge(each_machine) == (1, 0)
    assert open_alerts(each_machine) == ["queue:elsewhere"]


def test_an_undecided_approval_alerts_when_overdue_and_closes_when_decided(each_machine: Machine) -> None:
    watch(each_machine, rule(kind="approval_overdue", period=4 * HOUR, threshold=HOUR))
    gate = asked(each_machine)
    each_machine.advance(3 * HOUR)
    assert judge(each_machine) == (0, 0)

    each_machine.advance(2 * HOUR)

    assert judge(each_machine) == (1, 0)
    (found,) = alerts(each_machine)
    assert (found["about"], found["job_id"]) == (f"approval:{gate.approval_id}", gate.job_id)
    assert "Refund" not in found["message"]
    decide(each_machine, gate.approval_id, "ann")
    each_machine.advance(61)
    assert judge(each_machine) == (0, 1)


def test_an_approval_about_to_expire_alerts_before_it_does(each_machine: Machine) -> None:
    watch(each_machine, rule(kind="approval_overdue", period=DAY, threshold=HOUR))
    asked(each_machine, expires_in=2 * HOUR)
    assert judge(each_machine) == (0, 0)

    each_machine.advance(HOUR + MINUTE)

    assert judge(each_machine) == (1, 0)
    assert "expires within 1 hour" in alerts(each_machine)[0]["message"]


def schedule(machine: Machine, name: str) -> None:
    definition = {"name": name, "task": "t", "cron": "* * * * *"}
    machine.run("select holdfast.create_schedule(%s)", Jsonb(definition))
    machine.run(
        "update holdfast.schedule set next_at = holdfast.clock() + interval '1 minute' where name = %s", name
    )


def test_a_late_schedule_alerts_and_a_paused_one_does_not(each_machine: Machine) -> None:
    watch(each_machine, rule(kind="schedule_missed", period=5 * MINUTE))
    schedule(each_machine, "late")
    schedule(each_machine, "paused")
    each_machine.run("select holdfast.pause_schedule('paused', 'ann', null)")
    each_machine.advance(5 * MINUTE)
    assert judge(each_machine) == (0, 0)

    each_machine.advance(2 * MINUTE)

    assert judge(each_machine) == (1, 0)
    assert open_alerts(each_machine) == ["schedule:late"]


def test_a_time_that_was_missed_alerts_for_an_hour(each_machine: Machine) -> None:
    watch(each_machine, rule(kind="schedule_missed", period=DAY))
    schedule(each_machine, "s")
    each_machine.run(
        "insert into holdfast.schedule_run (schedule, slot, last_slot, times, outcome, at, actor)"
        " values ('s', holdfast.clock() - interval '3 days', holdfast.clock(), 3, 'missed', holdfast.clock(), 'w')"
    )

    assert judge(each_machine) == (1, 0)
    assert alerts(each_machine)[0]["count"] == 3
    each_machine.advance(HOUR + 2 * MINUTE)
    assert judge(each_machine) == (0, 1)


def test_an_outside_run_that_fell_silent_alerts_until_it_is_heard_of(each_machine: Machine) -> None:
    watch(each_machine, rule(kind="callback_silent", period=5 * MINUTE))
    worker, job_id = each_machine.worker(lease=DAY), each_machine.enqueue()
    (claimed,) = each_machine.claim(worker)
    run_id = each_machine.value(
        "select holdfast.hand_over(%s, %s, %s, 'ci', '{}', 600, 900, 0, null)",
        job_id, claimed["attempt"], claimed["claim_id"],
    )  # fmt: skip
    each_machine.run("select holdfast.dispatch_sent(%s, '1', null)", run_id)
    assert judge(each_machine) == (0, 0)

    each_machine.advance(6 * MINUTE)

    assert judge(each_machine) == (1, 0)
    assert open_alerts(each_machine) == [f"job:{job_id}"]
    each_machine.advance(61)
    each_machine.run("update holdfast.dispatch set seen_at = holdfast.clock()")
    assert judge(each_machine) == (0, 1)


# -- causes that are moves -----------------------------------------------------------------------------------------------


def test_a_failed_job_alerts_in_its_own_transaction_and_further_ones_are_counted(
    each_machine: Machine,
) -> None:
    watch(each_machine, rule(kind="job_failed", period=HOUR, channels=["mail", "hook"]))
    first, second = each_machine.enqueue(), each_machine.enqueue()

    fail(each_machine, first)
    fail(each_machine, second)

    found = [(row["about"], row["job_id"], row["message"]) for row in alerts(each_machine)]
    assert found == [("task:t", first, "a job of task t FAILED")]
    assert sorted(told(each_machine)) == [("opened", "hook"), ("opened", "mail")]
    count_failures(each_machine, "t", 2)
    judge(each_machine)
    assert alerts(each_machine)[0]["message"] == "2 jobs of task t FAILED"


def test_rolling_the_failure_back_leaves_neither_alert_nor_message_nor_job(each_machine: Machine) -> None:
    watch(each_machine, rule(kind="job_failed", period=HOUR))
    job_id = each_machine.enqueue()

    with each_machine.connection.transaction(force_rollback=True):
        fail(each_machine, job_id)
        assert delivering_jobs(each_machine) == 1

    assert (alerts(each_machine), told(each_machine), delivering_jobs(each_machine)) == ([], [], 0)


def test_failures_are_over_when_none_was_seen_for_the_rules_period(each_machine: Machine) -> None:
    watch(each_machine, rule(kind="job_failed", period=HOUR))
    fail(each_machine, each_machine.enqueue())
    each_machine.advance(50 * MINUTE)
    count_failures(each_machine, "t", 1)
    judge(each_machine)

    each_machine.advance(50 * MINUTE)
    assert judge(each_machine) == (0, 0)
    each_machine.advance(15 * MINUTE)

    assert judge(each_machine) == (0, 1)


@pytest.mark.parametrize(("tenant", "found"), [("acme", 1), ("globex", 0)])
def test_a_rule_for_a_tenant_sees_only_its_jobs(each_machine: Machine, tenant: str, found: int) -> None:
    watch(each_machine, rule(kind="job_failed", period=HOUR, tenant="acme"))

    fail(each_machine, each_machine.enqueue(tenant=tenant))

    assert len(alerts(each_machine)) == found


def test_a_rule_for_a_tenant_counts_its_jobs_and_is_over_when_none_of_them_failed(
    each_machine: Machine,
) -> None:
    watch(each_machine, rule(kind="job_failed", period=HOUR, tenant="acme"))
    fail(each_machine, each_machine.enqueue(tenant="acme"))
    fail(each_machine, each_machine.enqueue(tenant="acme"))
    fail(each_machine, each_machine.enqueue(tenant="globex"))
    count_failures(each_machine, "t", 3)
    judge(each_machine)
    counted = [(row["count"], row["message"]) for row in alerts(each_machine)]
    each_machine.advance(50 * MINUTE)
    fail(each_machine, each_machine.enqueue(tenant="globex"))
    count_failures(each_machine, "t", 1)
    judge(each_machine)

    each_machine.advance(15 * MINUTE)

    assert counted == [(2, "2 jobs of task t FAILED")]
    assert judge(each_machine) == (0, 1)
    fail(each_machine, each_machine.enqueue(tenant="acme"))
    assert [kind for kind, _ in told(each_machine)] == ["opened", "resolved", "opened"]


def test_what_a_tenant_failed_is_counted_along_its_index(machine: Machine) -> None:
    machine.run("analyze holdfast.job")
    watch(machine, rule(kind="job_failed", period=HOUR, tenant="acme"))
    machine.enqueue_many([{"task": "t", "payload": {}, "tenant": "acme"} for _ in range(500)])
    fail(machine, machine.enqueue(tenant="acme"))

    before = rows_read(machine)
    judge(machine)

    assert rows_read(machine) - before < 20


def test_a_failed_compensation_alerts_until_a_retry_has_undone_it(each_machine: Machine) -> None:
    watch(
        each_machine,
        rule(kind="compensation_failed", severity="critical"),
        rule("each", "job_failed", period=HOUR),
    )
    each_machine.register("pays", options={"compensate": True})
    paid = each_machine.enqueue("pays")
    fail(each_machine, paid)
    undoing: UUID = each_machine.value("select id from holdfast.job where compensates = %s", paid)

    fail(each_machine, undoing)

    found = next(row for row in alerts(each_machine) if row["rule"] == "r")
    assert (found["about"], found["job_id"], found["severity"]) == (f"job:{paid}", undoing, "critical")
    each_machine.advance(DAY)
    judge(each_machine)
    assert f"job:{paid}" in open_alerts(each_machine)
    again: UUID = each_machine.value("select holdfast.retry(%s)", undoing)
    each_machine.run("update holdfast.job set status = 'RUNNING', holder = %s, claim_id = %s, claim_order = null, due_at = null, held_by = null where id = %s", uuid4(), uuid4(), again)  # fmt: skip
    each_machine.run("update holdfast.job set status = 'COMPLETED', holder = null where id = %s", again)
    each_machine.advance(61)
    judge(each_machine)
    assert f"job:{paid}" not in open_alerts(each_machine)


def test_an_app_without_rules_writes_nothing_and_is_not_asked(each_machine: Machine) -> None:
    each_machine.rows("select * from holdfast.register_alerts('shop:app', '[]', '[]')")

    fail(each_machine, each_machine.enqueue())

    assert each_machine.one("select * from holdfast.evaluate_alerts()") == {"opened": None, "closed": None}
    assert alerts(each_machine) == []
    assert each_machine.value("select ran_at from holdfast.alert_watch") is None


# -- declarations --------------------------------------------------------------------------------------------------------


def test_what_an_app_no_longer_declares_is_forgotten_and_its_alerts_close_without_a_word(
    each_machine: Machine,
) -> None:
    watch(each_machine, rule("kept", threshold=0, period=HOUR), rule("gone", threshold=0, period=HOUR))
    watch(each_machine, rule("theirs", threshold=0, period=HOUR), app="other:app", channels=[])
    count_failures(each_machine, "t", 1)
    judge(each_machine)
    assert len(open_alerts(each_machine)) == 3

    watch(each_machine, rule("kept", threshold=0, period=HOUR))
    judge(each_machine)

    assert [row["rule"] for row in alerts(each_machine) if row["closed_at"] is None] == ["kept", "theirs"]
    assert [kind for kind, _ in told(each_machine)].count("resolved") == 0


def test_a_name_that_another_app_had_is_taken_over_and_told(each_machine: Machine) -> None:
    watch(each_machine, rule())

    assert watch(each_machine, rule(), app="other:app", channels=[]) == ["r"]
    assert watch(each_machine, rule(), app="other:app", channels=[]) == []


def test_of_two_apps_that_take_a_name_at_once_the_second_is_told(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    register = 'select * from holdfast.register_alerts(%s, \'[{"name": "ops", "kind": "email"}]\', \'[]\')'

    with meanwhile(holdfast_db) as (first, ask):
        first.execute(register, ["one:app"])
        asked = ask(register, "other:app")
        until_it_waits(holdfast_db, asked)
        first.commit()

        assert asked.result() == "[('ops',)]"


def test_a_muted_rule_finds_nothing_and_stays_muted_when_it_is_registered_again(
    each_machine: Machine,
) -> None:
    watch(each_machine, rule(threshold=0, period=HOUR), rule("each", "job_failed", period=HOUR))
    for name in ("r", "each"):
        assert each_machine.value("select holdfast.mute_rule(%s, true)", name)
    watch(each_machine, rule(threshold=0, period=HOUR), rule("each", "job_failed", period=HOUR))
    count_failures(each_machine, "t", 1)
    fail(each_machine, each_machine.enqueue())

    assert judge(each_machine) == (0, 0)
    assert alerts(each_machine) == []


def test_an_alert_of_a_rule_that_is_muted_closes_without_a_word(each_machine: Machine) -> None:
    watch(each_machine, rule(threshold=0, period=HOUR))
    count_failures(each_machine, "t", 1)
    judge(each_machine)

    each_machine.run("select holdfast.mute_rule('r', true)")

    assert judge(each_machine) == (0, 1)
    assert told(each_machine) == [("opened", "mail")]


def test_a_rule_whose_channel_nobody_has_opens_its_alert_all_the_same(each_machine: Machine) -> None:
    watch(each_machine, rule(threshold=0, period=HOUR, channels=["pager"]))
    count_failures(each_machine, "t", 1)

    assert judge(each_machine) == (1, 0)
    assert told(each_machine) == []


# -- who looks -----------------------------------------------------------------------------------------------------------


def test_rules_are_looked_at_once_in_ten_seconds_whoever_asks(each_machine: Machine) -> None:
    watch(each_machine, rule(threshold=0, period=HOUR))
    looks = [each_machine.one("select * from holdfast.evaluate_alerts()")["opened"] for _ in range(2)]
    each_machine.advance(11)
    looks.append(each_machine.one("select * from holdfast.evaluate_alerts()")["opened"])

    assert looks == [0, None, 0]


def test_a_clock_that_was_set_back_does_not_silence_the_watch(each_machine: Machine) -> None:
    watch(each_machine, rule(threshold=0, period=HOUR))
    each_machine.run("update holdfast.alert_watch set ran_at = holdfast.clock() + interval '1 day'")

    assert each_machine.one("select * from holdfast.evaluate_alerts()")["opened"] == 0


def test_eight_that_judge_at_once_open_one_alert_with_one_message_and_close_it_once(
    each_db: ScratchDatabase,
) -> None:
    with machine_on(each_db.owner_url) as machine:
        machine.register("t")
        watch(machine, rule(threshold=0, period=10 * MINUTE))
        count_failures(machine, "t", 3)

        opened = race(each_db, 8)
        each_db.clock.advance(20 * MINUTE)
        closed = race(each_db, 8)

        assert (sum(each[0] for each in opened), sum(each[1] for each in closed)) == (1, 1)
        assert told(machine) == [("opened", "mail"), ("resolved", "mail")]
        assert len(alerts(machine)) == 1


def race(database: ScratchDatabase, many: int) -> list[tuple[int, int]]:
    barrier, answers = Barrier(many), []

    def look() -> None:
        with machine_on(database.owner_url) as machine:
            machine.value("select 1")
            barrier.wait()
            answers.append(judge(machine))

    threads = [Thread(target=look) for _ in range(many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_failures_of_many_at_once_open_one_alert(each_db: ScratchDatabase) -> None:
    with machine_on(each_db.owner_url) as machine:
        machine.register("t")
        watch(machine, rule(kind="job_failed", period=HOUR))
        jobs = [machine.enqueue() for _ in range(8)]
        barrier, broken = Barrier(8), []

        def end(job_id: UUID) -> None:
            with machine_on(each_db.owner_url) as other:
                barrier.wait()
                try:
                    fail(other, job_id)
                except psycopg.Error as error:
                    broken.append(error)

        threads = [Thread(target=end, args=(job_id,)) for job_id in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert broken == []
        assert [machine.status(job_id) for job_id in jobs] == [Status.FAILED] * 8
        assert told(machine) == [("opened", "mail")]


# -- the outbox ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("broken", ["two\nlines", "two\rlines", "", "x" * 201])
def test_a_subject_that_is_no_single_line_is_refused_by_the_database_itself(
    each_machine: Machine, broken: str
) -> None:
    watch(each_machine)
    message = {"channel": "mail", "subject": broken, "body": "text"}

    with each_machine.refused("23514", "notification_subject"):
        each_machine.run("select holdfast.notify(%s)", Jsonb([message]))


def test_a_message_to_an_unknown_channel_is_refused(each_machine: Machine) -> None:
    with each_machine.refused("HF005", "no channel is called 'pager'"):
        each_machine.run(
            "select holdfast.notify(%s)", Jsonb([{"channel": "pager", "subject": "s", "body": "b"}])
        )


def test_a_repeated_message_is_known_by_its_id(each_machine: Machine) -> None:
    watch(each_machine)
    message = {"id": str(uuid4()), "channel": "mail", "subject": "s", "body": "b", "priority": 50}

    for _ in range(2):
        each_machine.run("select holdfast.notify(%s)", Jsonb([message]))

    assert told(each_machine) == [("message", "mail")]
    assert each_machine.one("select priority, task from holdfast.job where queue = 'holdfast'") == {"priority": 50, "task": "holdfast.notify.mail"}  # fmt: skip


def test_approvers_with_an_address_are_told_in_the_transaction_that_asks(each_machine: Machine) -> None:
    watch(each_machine)
    people = ["ann@example.com", "ben", "me@example.com", "x@y\nbcc: z@example.com"]

    asked(each_machine, approvers=people, enqueued={"requested_by": "Me@example.com"})

    rows = each_machine.rows("select recipient, kind, channel from holdfast.notification")
    assert rows == [{"recipient": "ann@example.com", "kind": "approval", "channel": "mail"}]


def test_without_an_e_mail_channel_nobody_is_told_of_an_approval(each_machine: Machine) -> None:
    watch(each_machine, channels=[{"name": "hook", "kind": "webhook"}])

    asked(each_machine, approvers=["ann@example.com"])

    assert told(each_machine) == []


def claimed_delivery(machine: Machine) -> tuple[UUID, Row]:
    worker = machine.worker(lease=DAY)
    (claimed,) = machine.claim(worker, queue="holdfast", tasks=("holdfast.notify.mail",))
    return machine.value("select id from holdfast.notification"), claimed


def begin(machine: Machine, notification: UUID, claimed: Row) -> object:
    return machine.value(
        "select holdfast.begin_delivery(%s, %s, %s, %s, sha256('x'))",
        claimed["id"], claimed["attempt"], claimed["claim_id"], notification,
    )  # fmt: skip


def end(machine: Machine, notification: UUID, claimed: Row) -> None:
    machine.run(
        "select holdfast.end_delivery(%s, %s, %s, %s)",
        claimed["id"], claimed["attempt"], claimed["claim_id"], notification,
    )  # fmt: skip


def test_an_attempt_that_lost_its_job_can_neither_begin_nor_end_a_delivery(each_machine: Machine) -> None:
    watch(each_machine)
    each_machine.run("select holdfast.notify(%s)", Jsonb([{"channel": "mail", "subject": "s", "body": "b"}]))
    notification, claimed = claimed_delivery(each_machine)
    stale = {**claimed, "claim_id": uuid4()}

    with each_machine.refused("HF011"):
        begin(each_machine, notification, stale)
    with each_machine.refused("HF011"):
        end(each_machine, notification, stale)

    assert begin(each_machine, notification, claimed)
    end(each_machine, notification, claimed)
    row = each_machine.one("select state, delivered_at is not null as at from holdfast.notification")
    assert row == {"state": "delivered", "at": True}
    assert begin(each_machine, notification, claimed) is None  # a delivered message is not sent again


def test_a_stale_delivery_leaves_the_approvers_newest_token_alone(each_machine: Machine) -> None:
    watch(each_machine)
    asked(each_machine, approvers=["ann@example.com"])
    notification, claimed = claimed_delivery(each_machine)

    with each_machine.refused("HF011"):
        begin(each_machine, notification, {**claimed, "claim_id": uuid4()})

    assert each_machine.count("holdfast.approver") == 0


def test_a_decided_approval_is_not_asked_for_any_more(each_machine: Machine) -> None:
    watch(each_machine)
    gate = asked(each_machine, approvers=["ann@example.com"])
    notification, claimed = claimed_delivery(each_machine)
    decide(each_machine, gate.approval_id, "ann@example.com")

    assert begin(each_machine, notification, claimed) is None
    assert each_machine.value("select state from holdfast.notification") == "void"


def test_a_delivery_that_failed_for_good_is_marked_and_a_retry_may_deliver_it(each_machine: Machine) -> None:
    watch(each_machine)
    each_machine.run("select holdfast.notify(%s)", Jsonb([{"channel": "mail", "subject": "s", "body": "b"}]))
    notification, claimed = claimed_delivery(each_machine)
    worker = each_machine.value("select holder from holdfast.job where id = %s", claimed["id"])
    each_machine.settle(worker, claimed, outcome="failed", recoverable=False, error={"type": "Fail"}, delay=0)
    assert each_machine.status(claimed["id"]) is Status.FAILED
    assert each_machine.value("select state from holdfast.notification") == "failed"

    each_machine.run("select holdfast.retry(%s)", claimed["id"])
    (again,) = each_machine.claim(worker, queue="holdfast", tasks=("holdfast.notify.mail",))
    assert begin(each_machine, notification, again)
    end(each_machine, notification, again)

    assert each_machine.value("select state from holdfast.notification") == "delivered"


def test_closed_alerts_and_sent_messages_are_forgotten_after_ninety_days(each_machine: Machine) -> None:
    watch(each_machine, rule(threshold=0, period=MINUTE))
    count_failures(each_machine, "t", 1)
    judge(each_machine)
    each_machine.advance(HOUR)
    judge(each_machine)
    each_machine.run(
        "update holdfast.notification set state = 'delivered', delivered_at = holdfast.clock() where kind = 'opened'"
    )

    each_machine.advance(91 * DAY)
    each_machine.run("select holdfast.forget_alerts(1000)")

    assert alerts(each_machine) == []
    assert told(each_machine) == [("resolved", "mail")]  # not sent yet


@pytest.mark.parametrize(
    "name",
    ["a@b.co", "a.b+c@sub.example.com", "a", "a@b", "a@b..co", "@b.co", "a@-b.co", "a b@c.co", "a@b.co\n", "a@b.co,d@e.co", "A <a@b.co>", "x" * 250 + "@b.co"],
)  # fmt: skip
def test_sql_and_python_agree_on_what_an_address_is(each_machine: Machine, name: str) -> None:
    assert each_machine.value("select holdfast.is_address(%s)", name) == is_address(name)
