"""The overview says what needs somebody, how many jobs are where, and what fails alike, and each of it leads to its list."""

import json
from html import unescape
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from dashboard.looks import looking, panel_of, words_of
from holdfast import Holdfast
from holdfast.domain.access import Role
from holdfast.domain.search import parse
from holdfast.domain.states import Status
from holdfast.store.pulse import read_pulse
from sql.support import Machine
from sql.test_project import project_all

HOSTILE = "\"><script>alert(1)</script>'"


@pytest.fixture
def machine(owner: psycopg.Connection) -> Machine:
    machine = Machine(owner)
    machine.register("t", retries=0)
    return machine


def fail(machine: Machine, message: str, task: str = "t", **options: object) -> None:
    error = json.dumps({"type": "TimeoutError", "message": message})
    machine.move(machine.job_in(Status.RUNNING, task, **options), Status.FAILED, error=error)


def links(text: str) -> list[str]:
    return [unescape(part.partition('"')[0]) for part in text.split('href="')[1:]]


async def panel(app: Holdfast, name: str, query: str = "", **who: object) -> str:
    async with looking(app, **who) as browser:  # type: ignore[arg-type]  # role and tenant
        return (await browser.get(f"/?panel={name}{query}")).text


async def test_a_system_without_jobs_shows_how_to_enqueue_the_first(app: Holdfast) -> None:
    async with looking(app) as browser:
        page = (await browser.get("/")).text

    assert "No job has been enqueued yet." in page
    assert "holdfast demo" in page
    assert "<li" not in panel_of(page, "attention")
    assert 'class="failed"' not in page


async def test_a_panel_alone_is_the_same_as_on_its_page(app: Holdfast, machine: Machine) -> None:
    machine.job_in(Status.COMPLETED)
    project_all(machine)

    async with looking(app) as browser:
        page = (await browser.get("/?window=24h")).text
        alone = [(await browser.get(f"/?window=24h&panel={name}")).text for name in ("tiles", "failing")]

    assert [text.strip() for text in alone] == [panel_of(page, "tiles"), panel_of(page, "failing")]


async def test_tiles_count_the_states_and_lead_to_their_lists(app: Holdfast, machine: Machine) -> None:
    for status in (Status.COMPLETED, Status.COMPLETED, Status.FAILED, Status.PENDING):
        machine.job_in(status)
    project_all(machine)

    tiles = await panel(app, "tiles")

    assert "Pending 1 Running 0 Approval 0 Retry 0 Completed 2 Failed 1 Cancelled 0" in words_of(tiles)
    assert "/jobs?q=status%3Acompleted+since%3A1h" in tiles


async def test_jobs_that_wait_for_something_have_a_tile_once_there_are_some(
    app: Holdfast, machine: Machine
) -> None:
    machine.job_in(Status.WAITING)
    project_all(machine)

    assert "Waiting 1" in words_of(await panel(app, "tiles"))


async def test_what_ended_is_counted_within_the_window_only(app: Holdfast, machine: Machine) -> None:
    machine.job_in(Status.COMPLETED)
    project_all(machine)
    machine.run("update holdfast.statistic set minute = minute - interval '2 hours'")

    assert "Completed 0" in words_of(await panel(app, "tiles"))
    assert "Completed 1" in words_of(await panel(app, "tiles", "&window=24h"))


async def test_charts_have_the_minutes_and_the_same_as_a_table(app: Holdfast, machine: Machine) -> None:
    for _ in range(3):
        machine.job_in(Status.COMPLETED)
    project_all(machine)
    machine.run("update holdfast.statistic set minute = minute - interval '2 minutes'")

    charts = await panel(app, "charts")
    series = series_of(charts)

    assert sum(filter(None, series["completed"])) == 3
    assert {len(values) for values in series.values()} == {len(series["at"])}
    assert len(series["at"]) <= 62
    assert any(value is not None for value in series["run_p95"])
    assert "<tbody>" in charts


async def test_the_minute_that_runs_is_kept_apart_and_is_no_fall(app: Holdfast, machine: Machine) -> None:
    # In the next minute too, which may be the one that runs when this is read.
    machine.run(
        "insert into holdfast.statistic select date_bin('1 minute', holdfast.clock(), '2000-01-01') + n * interval '1 minute',"
        " 'q', 't', 0, 0, 1, 0, 0, 0, 0, 0, '0', 0, '0' from generate_series(0, 1) as n"
    )
    now = int(machine.value("select extract(epoch from holdfast.clock())::bigint"))

    charts = await panel(app, "charts", f"&from={now - 600}&to={now + 600}")
    series = series_of(charts)

    known = [value is not None for value in series["completed"]]
    assert known == sorted(known, reverse=True)
    assert [n for n, value in enumerate(series["so_far"]) if value is not None] == [known.index(False)]
    assert series["so_far"][known.index(False)] == 1
    assert "so far" in words_of(charts)


def series_of(charts: str) -> dict[str, list[float | None]]:
    read: dict[str, list[float | None]] = json.loads(
        unescape(charts.partition('data-series="')[2].partition('"')[0])
    )
    return read


async def test_a_zoom_is_in_the_address_and_narrows_what_is_read(app: Holdfast, machine: Machine) -> None:
    machine.job_in(Status.COMPLETED)
    project_all(machine)
    now = int(machine.value("select extract(epoch from holdfast.clock())::bigint"))

    there = await panel(app, "charts", f"&from={now - 600}&to={now + 60}")
    elsewhere = await panel(app, "charts", f"&from={now - 7200}&to={now - 3600}")

    assert "Show the last hour" in there
    assert "since%3A" in (tiles := await panel(app, "tiles", f"&from={now - 600}&to={now + 60}"))
    assert "until%3A" in tiles
    assert "Nothing moved in this time." not in there
    assert "Nothing moved in this time." in elsewhere


@pytest.mark.parametrize("query", ["from=5&to=1", "from=1", "window=24h&from=0&to=250000000000"])
async def test_a_zoom_that_is_none_or_too_wide_is_answered(app: Holdfast, query: str) -> None:
    async with looking(app) as browser:
        answer = await browser.get(f"/?{query}")

    assert answer.status_code == 200
    assert 'class="failed"' not in answer.text


async def test_an_unknown_window_is_refused_in_a_sentence(app: Holdfast) -> None:
    async with looking(app) as browser:
        answer = await browser.get("/?window=forever")

    assert answer.status_code == 422
    assert "window" in answer.text


async def test_failures_are_grouped_by_task_and_error(app: Holdfast, machine: Machine) -> None:
    machine.register("u")
    for number in (17, 99):
        fail(machine, f"order {number} of ann{number}@example.com timed out after {number}.5 s")
    fail(machine, "the bank said no")
    fail(machine, "the bank said no", task="u")
    project_all(machine)

    failing = await panel(app, "failing")

    assert failing.count("Run all again…") == 3
    assert "order … of … timed out after … s" in failing
    assert words_of(failing).index("order …") < words_of(failing).index("the bank")


async def test_run_all_again_leads_to_a_search_that_finds_the_group(app: Holdfast, machine: Machine) -> None:
    fail(machine, 'no "door\\way" at 5')
    project_all(machine)

    (again,) = [
        link
        for link in links(await panel(app, "failing"))
        if link.startswith("/operations/new?action=retry&")
    ]
    query = parse_qs(urlsplit(again).query)
    async with looking(app) as browser:
        found = (await browser.get("/api/v1/jobs", params={"q": query["q"][0]})).json()

    assert len(parse(query["q"][0]).terms) == 5
    assert len(found["items"]) == 1


async def test_a_viewer_sees_failures_and_no_button(app: Holdfast, machine: Machine) -> None:
    fail(machine, "no")
    project_all(machine)

    failing = await panel(app, "failing", role=Role.VIEWER)

    assert "TimeoutError" in failing
    assert "Run all again" not in failing


async def test_names_and_messages_are_shown_as_they_are(app: Holdfast, machine: Machine) -> None:
    machine.register(HOSTILE)
    fail(machine, f"{HOSTILE} in {HOSTILE}", task=HOSTILE)
    machine.enqueue(queue=HOSTILE)
    project_all(machine)

    async with looking(app) as browser:
        page = (await browser.get("/")).text

    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


async def test_a_queue_without_a_worker_is_told_and_leads_to_its_jobs(
    app: Holdfast, machine: Machine
) -> None:
    machine.enqueue(queue="billing")
    machine.enqueue(queue="billing")
    machine.enqueue(queue="held")
    machine.run("select holdfast.pause_queue('held', 'ann', null, null)")

    attention = await panel(app, "attention")

    assert "Queue billing has 2 jobs and no worker." in attention
    assert "/jobs?q=queue%3Abilling+status%3Apending%2Cretry" in links(attention)
    assert "held" not in attention
    assert "no worker" in await panel(app, "oldest")


async def test_approvals_that_wait_are_told(app: Holdfast, machine: Machine) -> None:
    job_id = machine.job_in(Status.WAITING_FOR_APPROVAL)
    _ask(machine, job_id)

    attention = await panel(app, "attention")

    assert "1 approval waiting, the oldest for" in attention
    assert "/approvals" in links(attention)


def _ask(machine: Machine, job_id: object) -> None:
    machine.run(
        "insert into holdfast.approval (job_id, attempt, name, question, facts, approvers, quorum, self_approval, bound_hash, asked_at, on_expiry)"
        " select %s, 1, 'large', 'Refund?', '{}', '{ann}', 1, false, 'x', holdfast.clock(), 'deny'",
        job_id,
    )


async def test_more_failures_than_usual_are_told(app: Holdfast, machine: Machine) -> None:
    for _ in range(6):
        fail(machine, "no")
    project_all(machine)
    assert "6 jobs failed within 15 minutes." in await panel(app, "attention")

    _failed_before(machine, each=1)
    assert "6 jobs failed within 15 minutes; usual are 1." in await panel(app, "attention")

    _failed_before(machine, each=5)
    assert "failed within" not in await panel(app, "attention")


def _failed_before(machine: Machine, each: int) -> None:
    machine.run(
        "insert into holdfast.statistic as s select date_bin('1 minute', holdfast.clock(), '2000-01-01') - n * interval '15 minutes' - interval '16 minutes',"
        " 'q', 't', 0, 0, 0, %s, 0, 0, 0, 0, '0', 0, '0' from generate_series(1, 90) as n"
        " on conflict (minute, queue, task) do update set failed = excluded.failed",
        each,
    )


async def test_a_schedule_that_missed_its_time_is_told(app: Holdfast, machine: Machine) -> None:
    machine.run(
        "insert into holdfast.schedule (name, task, every, anchor, declared, settled_to, next_at, created_at, updated_at)"
        " select 'nightly', 't', '1 hour', c, false, c - interval '2 hours', c - interval '1 hour', c, c from holdfast.clock() as c"
    )

    attention = await panel(app, "attention")

    assert "Schedule nightly is late by 1h 00m." in attention
    assert "/schedules/nightly" in links(attention)


async def test_an_executor_that_is_silent_is_told(app: Holdfast, machine: Machine) -> None:
    job_id = machine.job_in(Status.RUNNING)
    machine.run(
        "insert into holdfast.dispatch (job_id, attempt, claim_id, executor, inputs, state, created_at, sent_at, heartbeat_limit, run_limit, retry_in)"
        " select %s, 1, gen_random_uuid(), 'github', '{}', 'sent', c, c - interval '35 minutes', '1 hour', '2 hours', '0' from holdfast.clock() as c",
        job_id,
    )

    assert "Executor github has been silent for 35m 00s about 1 run." in await panel(app, "attention")


async def test_open_alerts_are_told_and_lead_to_what_they_are_about(app: Holdfast, machine: Machine) -> None:
    machine.run(
        "insert into holdfast.alert (id, rule, about, severity, message, count, opened_at, last_seen_at)"
        " select gen_random_uuid(), 'slow', 'queue:mail', 'critical', 'the oldest job in queue mail has waited', 1, c, c from holdfast.clock() as c"
    )

    attention = await panel(app, "attention")

    assert "The oldest job in queue mail has waited." in attention
    assert "/jobs?q=queue%3Amail" in links(attention)


async def test_a_schema_that_is_behind_is_told(app: Holdfast, machine: Machine) -> None:
    last = machine.value("select max(what) from holdfast.installed where what like '00%'")
    machine.run("delete from holdfast.installed where what = %s", last)

    assert "The schema is behind by" in await panel(app, "attention")


async def test_who_is_bound_to_a_tenant_sees_nothing_of_others(app: Holdfast, machine: Machine) -> None:
    fail(machine, "theirs", tenant="globex")
    machine.job_in(Status.COMPLETED, tenant="acme")
    machine.enqueue(queue="secret", tenant="globex")
    project_all(machine)

    async with looking(app, tenant="acme") as browser:
        page = (await browser.get("/")).text

    assert "Completed 1 Failed 0" in words_of(panel_of(page, "tiles"))
    assert not {"theirs", "globex", "secret"} & set(words_of(page).split())
    assert 'class="failed"' not in page


async def test_links_carry_the_prefix_of_the_mount(app: Holdfast, machine: Machine) -> None:
    machine.enqueue(queue="billing")
    project_all(machine)

    async with looking(app, prefix="/ops") as browser:
        page = (await browser.get("/ops/")).text

    assert 'href="/ops/jobs?q=queue%3Abilling' in page
    assert 'hx-get="/ops/?panel=tiles"' in page
    assert 'href="/ops/?window=24h"' in page


async def test_a_pass_of_the_projector_is_told_to_pages_of_figures(app: Holdfast, machine: Machine) -> None:
    before = await app.link.aperform_once(read_pulse())
    machine.job_in(Status.COMPLETED)
    project_all(machine)

    after = await app.link.aperform_once(read_pulse())
    await app.link.aclose()

    assert after["figures"] != before["figures"]
    assert 'data-on="figures"' in await panel(app, "tiles")
