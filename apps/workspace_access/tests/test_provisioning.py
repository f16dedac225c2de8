import asyncio
import logging
from datetime import timedelta

import pytest

from apps.workspace_access import tasks
from apps.workspace_access.app import app
from apps.workspace_access.settings import Settings
from apps.workspace_access.story import ADVISORS_EMAIL
from apps.workspace_access.tests.product import Product
from holdfast import Configuration, Status
from holdfast.testing import crash_at

PROVISIONING = tasks.provision_workspace
ASSIGNMENTS = "select status, added_by, created_at, updated_at from workspace_access.project_advisors"
SESSIONS = "select actor_type, state, locale from workspace_access.chat_sessions"
MESSAGES = "select user_id, actor_type, sequence, mode, content, response_data from workspace_access.chat_messages order by sequence"


async def test_one_provisioning_assigns_opens_the_chat_and_welcomes(product: Product) -> None:
    given = await product.finalized(locale="fr")

    await product.work(projector=True)

    ((status, added_by, _, _),) = await product.rows(ASSIGNMENTS)
    assert (status, added_by) == ("active", given.owner)
    assert await product.rows(SESSIONS) == [("advisor", "active", "fr")]
    ((user, actor, sequence, mode, content, response),) = await product.rows(MESSAGES)
    assert (user, actor, sequence, mode) == (None, "system", 1, "plan")
    assert content == "Advisor has joined the workspace and is ready to help!"
    timestamp = response.pop("timestamp")
    assert response == {
        "event_code": "advisor_joined",
        "advisor_id": str(given.advisor),
        "match_id": str(given.match),
    }
    assert timestamp
    events = [event.kind for event in app.feed(f"chat:{given.project}")]
    assert events == ["advisor.matched", "advisor.finalized", "advisor.workspace_ready"]


async def test_the_chat_is_in_the_owners_locale_or_english(product: Product) -> None:
    for locale in ("ar", "fr", "es", "de", "en", "pt", None):
        await product.finalized(locale=locale)

    await product.work()

    locales = sorted(locale for _, _, locale in await product.rows(SESSIONS))
    assert locales == ["ar", "de", "en", "en", "en", "es", "fr"]


async def test_an_advisor_who_comes_again_is_updated_and_the_chat_reopened(product: Product) -> None:
    given = await product.finalized()
    await product.work()
    await tasks.leave(given.match)
    assert await product.rows(SESSIONS) == [("advisor", "closed", "en")]
    ((removed, _, created, _),) = await product.rows(ASSIGNMENTS)
    product.database.clock.advance(timedelta(hours=1))

    again = await tasks.propose(given.project, given.advisor, 90)
    await product.finalize(given)
    await product.work()

    ((status, _, created_still, updated),) = await product.rows(ASSIGNMENTS)
    assert (removed, status) == ("removed", "active")
    assert created_still == created
    assert updated - created >= timedelta(hours=1)
    assert await product.rows(SESSIONS) == [("advisor", "active", "en")]
    messages = await product.rows(MESSAGES)
    assert [message[2] for message in messages] == [1, 2]
    assert messages[-1][-1]["match_id"] == str(again)


async def test_the_message_goes_on_with_the_projects_timeline(product: Product) -> None:
    given = await product.finalized()
    await product.rows("update workspace_access.projects set timeline = 41 where id = %s", given.project)

    await product.work()

    assert [message[2] for message in await product.rows(MESSAGES)] == [42]


async def test_nobody_writes_only_system_messages(product: Product) -> None:
    given = await product.matched()
    insert = f"""
    insert into workspace_access.chat_messages (project_id, sequence, user_id, actor_type, mode, content)
    values ('{given.project}', %s, %s, %s, 'plan', 'hello')
    """
    somebody = given.owner

    await product.rows(insert, 1, None, "system")
    await product.rows(insert, 2, somebody, "user")
    for user, actor in ((None, "user"), (None, None), (somebody, "system"), (somebody, None)):
        with pytest.raises(Exception, match="nobody_writes_only_system_messages"):
            await product.rows(insert, 3, user, actor)


async def test_only_known_words_are_stored(product: Product) -> None:
    given = await product.finalized()
    await product.work()

    for table, column, words in (
        ("project_advisors", "status", ("invited", "active", "removed")),
        ("chat_sessions", "state", ("active", "closed")),
        ("chat_sessions", "actor_type", ("user", "advisor")),
        ("chat_sessions", "locale", ("en", "ar", "fr", "es", "de")),
    ):
        update = f"update workspace_access.{table} set {column} = %s where project_id = %s"
        for word in words:
            await product.rows(update, word, given.project)
        with pytest.raises(Exception, match="is_known"):
            await product.rows(update, "else", given.project)


async def test_the_advisor_is_written_to_by_a_job_of_its_own(product: Product) -> None:
    given = await product.finalized()

    await product.work()

    product.database.assert_enqueued(tasks.write, letter="welcome", person_id=given.advisor)
    to = await product.engine("select recipient from holdfast.notification where channel = 'email'")
    assert to == [(ADVISORS_EMAIL,)]


async def test_a_wrong_address_keeps_nobody_out(product: Product) -> None:
    given = await product.matched()
    await product.rows("update workspace_access.advisors set email = 'nowhere'")
    await product.finalize(given)

    await product.work()

    assert await product.has_access(given)
    assert (await product.active_match(given))["data"]["workspaceStatus"] == "ready"


async def test_no_partial_state_is_ever_visible(product: Product) -> None:
    given = await product.finalized()
    await product.fail("40001", times=1, table="chat_messages")  # the last row that is written

    await product.work(projector=True)

    (job,) = product.database.jobs(task=PROVISIONING)
    if job.status is Status.RETRY:  # unless the jitter was next to nothing
        assert [await product.rows(rows) for rows in (ASSIGNMENTS, SESSIONS, MESSAGES)] == [[], [], []]
        assert [event.kind for event in app.feed(f"chat:{given.project}")][-1] == "advisor.finalized"
    await product.settle()
    assert await product.has_access(given)


async def test_a_crash_before_the_end_leaves_nothing_or_everything(product: Product) -> None:
    given = await product.finalized()

    with crash_at("claimed"):
        await product.work()

    assert not await product.has_access(given)
    assert await product.rows(ASSIGNMENTS) == []


# -- queue first ------------------------------------------------------------------------------------------------------------


async def test_the_job_is_there_before_the_first_attempt_and_commits_with_the_match(product: Product) -> None:
    given = await product.finalized()

    (job,) = product.database.jobs(task=PROVISIONING)

    assert (job.status, job.attempt) == (Status.PENDING, 0)
    assert await product.status(given) == "finalized"


async def test_the_first_attempt_waits_for_no_poll(product: Product) -> None:
    given = await product.matched()
    is_ready = asyncio.Event()
    worker = asyncio.create_task(
        app.run_worker(handle_signals=False, poll=60.0, on_ready=lambda _identity: is_ready.set())
    )
    await is_ready.wait()
    async with asyncio.timeout(30):
        await product.until(
            "select from holdfast.sleeper where queue = 'default'"
        )  # it rests as long as it may

        await product.finalize(given)

        async for event in app.feed(f"chat:{given.project}"):
            if event.kind == "advisor.workspace_ready":
                break
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)


async def test_a_double_click_returns_the_same_job(product: Product) -> None:
    given = await product.matched()

    answers = await asyncio.gather(*(product.finalize(given) for _ in range(5)))

    assert sorted(answer.status_code for answer in answers) == [200] * 4 + [201]
    assert len(product.database.jobs(task=PROVISIONING)) == 1


async def test_a_match_has_one_live_job(product: Product) -> None:
    given = await product.finalized()

    again = await PROVISIONING.aenqueue(given.match, given.project)

    assert not again.created


# -- failures ---------------------------------------------------------------------------------------------------------------


async def test_errors_are_classed_by_sqlstate(product: Product) -> None:
    recoverable = ["40001", "40P01", "55P03", "53200", "53300", "57P01", "23505", "22001", "42P01", "XX000"]
    given = {state: await product.finalized(name=state) for state in [*recoverable, "23503"]}
    await product.script("""
    create function workspace_access.fail_by_name() returns trigger language plpgsql as $$
    begin
      raise exception 'told to fail' using errcode = (select a.name from workspace_access.advisors a where a.id = new.advisor_id);
    end $$;
    create trigger fail before insert on workspace_access.project_advisors
    for each row execute function workspace_access.fail_by_name();
    """)

    await product.work()

    jobs = {job.subject: job for job in product.database.jobs(task=PROVISIONING) if job.compensates is None}
    judged = {}
    for state, one in given.items():
        first, *_ = await app.aattempts(jobs[f"match:{one.match}"].id)
        judged[state] = (first.error or {})["recoverable"]
    assert judged == {**dict.fromkeys(recoverable, True), "23503": False}
    gone = jobs[f"match:{given['23503'].match}"]
    assert (gone.status, gone.attempt) == (Status.FAILED, 1)


async def test_a_lost_connection_is_recoverable(product: Product) -> None:
    given = await product.finalized()
    await product.script("""
    create sequence workspace_access.failures;
    create function workspace_access.hang_up() returns trigger language plpgsql as $$
    begin
      if nextval('workspace_access.failures') = 1 then
        perform pg_terminate_backend(pg_backend_pid());
      end if;
      return new;
    end $$;
    create trigger fail before insert on workspace_access.project_advisors
    for each row execute function workspace_access.hang_up();
    """)

    await product.settle()

    (job,) = product.database.jobs(task=PROVISIONING)
    assert job.status is Status.COMPLETED
    assert [(attempt.error or {})["recoverable"] for attempt in await app.aattempts(job.id)] == [True]
    assert await product.has_access(given)


async def test_three_retries_make_four_runs_and_every_error_is_kept(product: Product) -> None:
    await product.finalized()
    await product.fail("40001")

    await product.settle()

    (job, rollback) = product.database.jobs(task=PROVISIONING)
    assert (job.status, job.attempt, rollback.compensates) == (Status.FAILED, 4, job.id)
    attempts = await app.aattempts(job.id)
    assert [attempt.attempt for attempt in attempts] == [1, 2, 3, 4]
    assert attempts == sorted(attempts, key=lambda attempt: attempt.at)
    errors = [attempt.error or {} for attempt in attempts]
    assert all(error["recoverable"] and "told to fail" in error["message"] for error in errors)


def test_retries_wait_1_5_and_25_seconds_with_full_jitter() -> None:
    backoff = PROVISIONING.settings.backoff

    assert [backoff.delay(retry, 1.0) for retry in range(3)] == [1, 5, 25]
    assert [backoff.delay(retry, 0.0) for retry in range(3)] == [0, 0, 0]


async def test_a_first_retry_comes_within_a_minute(product: Product) -> None:
    given = await product.finalized()
    await product.fail("40001", times=1)
    await product.work()

    product.database.clock.advance(timedelta(seconds=1))
    await product.work()

    assert await product.has_access(given)


def test_retries_are_configurable_from_1_to_10() -> None:
    assert PROVISIONING.settings.retries == 3
    assert [Settings.read({"ADVISOR_RETRIES": said}).retries for said in ("1", "10")] == [1, 10]
    for said in ("0", "11", "many"):
        with pytest.raises(Configuration, match="ADVISOR_RETRIES"):
            Settings.read({"ADVISOR_RETRIES": said})


def test_admins_stand_apart_by_commas() -> None:
    assert Settings.read({"ADMIN_EMAILS": "ann@example.com, ben@example.com,"}).admins == (
        "ann@example.com",
        "ben@example.com",
    )
    assert Settings.read({}).admins == ("admins@example.com",)


async def test_several_instances_never_do_the_same_twice(product: Product) -> None:
    given = [await product.finalized() for _ in range(10)]

    await asyncio.gather(*(product.work() for _ in range(3)))

    assert [await product.has_access(one) for one in given] == [True] * 10
    assert await product.one("select count(*) from workspace_access.chat_messages") == 10


async def test_a_crashed_worker_is_reaped_within_two_minutes_and_the_job_retried(product: Product) -> None:
    given = await product.finalized()
    with crash_at("claimed"):
        await product.work()
    (held,) = product.database.jobs(task=PROVISIONING)

    product.database.clock.advance(timedelta(minutes=2))
    await product.work()

    assert held.status is Status.RUNNING
    assert held.worker is not None
    reaped, *_ = await app.aattempts(held.id)
    assert (reaped.outcome, reaped.worker) == ("crashed", held.worker)
    assert await product.has_access(given)


async def test_an_instance_has_an_id_that_lock_and_log_show(
    product: Product, caplog: pytest.LogCaptureFixture
) -> None:
    await product.finalized()
    with caplog.at_level(logging.INFO, "holdfast"), crash_at("claimed"):
        await product.work()

    (held,) = product.database.jobs(task=PROVISIONING)

    assert held.worker is not None
    kind, pid, random = held.worker.split("-")
    assert (kind, pid.isdecimal(), len(random), int(random, 16) >= 0) == ("worker", True, 8, True)
    (started,) = [line for line in caplog.records if line.message == "worker:started"]
    assert vars(started)["worker"] == held.worker
