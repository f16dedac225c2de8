"""The page of one job."""

import html
import logging
import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from dashboard.conftest import Looking
from holdfast import Context, Fail, Holdfast, chain
from holdfast.domain.access import Principal, Role
from holdfast.domain.states import Status
from holdfast.interfaces.http.asgi import asgi
from holdfast.testing import ScratchDatabase
from service.house import MANY, OWN_PAGE, settings
from sql.support import Machine
from sql.test_project import project_all
from world.draining import adrain, drain

TABS = ("timeline", "steps", "attempts", "payload", "graph", "audit")
BIG = 12345678901234567890123
NUMBER = "4111-1111-1111-1111"
HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>'


_log = logging.getLogger("shop")


@pytest.fixture
def app(holdfast_db: ScratchDatabase) -> Iterator[Holdfast]:
    """Give an app with tasks of every kind that the page shows."""
    made = holdfast_db.use(Holdfast())

    async def reserve(what: str) -> dict[str, Any]:
        return {"booked": what}

    async def give_back(_booked: dict[str, Any]) -> None: ...

    @made.task(retries=0, redact=["card.number"])
    async def trip(ctx: Context, order: int, card: dict[str, str]) -> None:
        _log.warning("booking order %s", order)
        await ctx.step("flight", reserve, "flight", compensate=give_back)
        await ctx.step("hotel", reserve, "hotel", compensate=give_back)
        raise Fail("no car left")

    @made.task()
    async def greet(name: str) -> str:
        return f"Hello {name}"

    @made.task()
    async def refund(ctx: Context, amount: int) -> None:
        await ctx.approval("large", question="Refund 900?", facts={"amount": amount}, approvers=["ann"])

    yield made
    made.close()


@pytest.fixture
def failed(app: Holdfast) -> str:
    """Give a job that failed after two steps, which were undone."""
    job = (
        app.tasks["trip"]
        .using(label="Trip to Lisbon", tenant="acme")
        .enqueue(BIG, {"number": NUMBER, "owner": "Ana"})
    )
    drain(app)
    return str(job.id)


def words(answer: httpx.Response) -> str:
    """Read what a person reads: without tags, on one line."""
    text = re.sub(r"<(script|style|title|desc)\b.*?</\1>", " ", answer.text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


async def read(browser: httpx.AsyncClient, job: str, **query: Any) -> httpx.Response:
    answer = await browser.get(f"/jobs/{job}", params=query)
    assert answer.status_code == 200, words(answer)
    assert 'class="failed"' not in answer.text, words(answer)
    return answer


async def test_the_header_says_where_a_job_is_and_why(looking: Looking, failed: str) -> None:
    async with looking() as browser:
        page = words(await read(browser, failed))

    assert "Failed Trip to Lisbon" in page
    assert failed in page
    assert "tenant acme" in page
    assert "after 1 attempt with Fail: no car left" in page
    assert "Stop, Set priority, Move: it has ended." in page
    assert "Undone by" in page


async def test_jobs_that_its_sentence_names_are_short_there_and_lead_on(
    app: Holdfast, looking: Looking, failed: str
) -> None:
    undoing = str(app.job(failed).compensated_by)  # type: ignore[union-attr]
    async with looking() as browser:
        page = (await read(browser, failed)).text

    (sentence,) = re.findall(r'<p class="job-why.*?</p>', page, re.DOTALL)
    assert f'<a class="mono" href="/jobs/{undoing}" title="{undoing}">{undoing[-8:]}</a> undoes' in sentence
    assert f">{undoing}<" not in sentence


async def test_an_id_of_something_else_in_a_sentence_stays_what_it_is(
    machine: Machine, looking: Looking
) -> None:
    other = "0199aaaa-0000-7000-8000-00000000abcd"
    machine.register("t")
    job = machine.enqueue("t")
    machine.run("select holdfast.pause_queue('default', 'ann', %s, null)", f"<b>{other}</b>")
    async with looking() as browser:
        page = (await read(browser, str(job))).text

    (sentence,) = re.findall(r'<p class="job-why.*?</p>', page, re.DOTALL)
    assert f"&lt;b&gt;{other}&lt;/b&gt;" in sentence
    assert "<a " not in sentence


async def test_the_timeline_tells_moves_steps_and_compensation(looking: Looking, failed: str) -> None:
    async with looking() as browser:
        page = words(await read(browser, failed))
        steps = words(await read(browser, failed, only="steps"))

    for told in (
        "Created",
        "Attempt 1 started",
        "Step flight",
        "Fail: no car left",
        "What it had done is undone",
    ):
        assert told in page
    assert "Step hotel" in steps
    assert "Attempt 1 started" not in steps


async def test_the_steps_are_drawn_with_what_undid_them(looking: Looking, failed: str) -> None:
    async with looking() as browser:
        page = await read(browser, failed, tab="steps")
        undoing = re.search(r'by job <a[^>]* title="([0-9a-f-]+)"', page.text)
        assert undoing
        other = await read(browser, undoing[1], tab="steps")

    for shown in (page, other):
        assert shown.text.count('class="bar kind-step"') == 2
        assert shown.text.count('class="bar undo"') == 2
    assert '{ "booked": "flight" }' in words(page)


async def test_small_steps_are_folded_in_the_timeline_and_open_without_a_script(
    app: Holdfast, looking: Looking
) -> None:
    @app.task()
    async def many(ctx: Context) -> None:
        for number in range(4):
            await ctx.step(f"small {number}", lambda: 1, importance="low")
        await ctx.step("large", lambda: 1)

    job = many.enqueue()
    await adrain(app)
    async with looking() as browser:
        page = (await read(browser, str(job.id))).text

    fold = re.search(r'<details class="entry-what".*?</details>', page, re.DOTALL)[0]  # type: ignore[index]
    assert '<summary class="muted">4 small steps</summary>' in fold
    assert all(f"Step small {number}" in fold for number in range(4))
    assert "Step large" not in fold
    assert "Step large" in page


async def test_attempts_show_errors_and_log_lines(looking: Looking, failed: str) -> None:
    async with looking() as browser:
        page = words(await read(browser, failed, tab="attempts"))
        errors = words(await read(browser, failed, tab="attempts", level="error"))

    assert "Attempt 1 failed" in page
    assert "holdfast.domain.errors.Fail : no car left" in page or "Fail : no car left" in page
    assert f"warning booking order {BIG}" in page
    assert "booking order" not in errors


async def test_an_attempt_that_runs_says_when_its_lines_come(machine: Machine, looking: Looking) -> None:
    machine.register("t")
    job = machine.job_in(Status.RUNNING)

    async with looking() as browser:
        page = words(await read(browser, str(job), tab="attempts"))

    assert "It runs, and has logged nothing yet. Lines come here a moment after they are written." in page
    assert "It logged nothing" not in page


async def test_a_long_log_leads_to_its_first_and_its_last_line(machine: Machine, looking: Looking) -> None:
    machine.register("t")
    job = machine.job_in(Status.COMPLETED)
    machine.run(
        "insert into holdfast.attempt (job_id, attempt, worker, outcome, logs)"
        " select %s, 7, 'w', 'completed', jsonb_agg(jsonb_build_object('level', 'info', 'message', 'line ' || n)) from generate_series(1, 30) as n",
        job,
    )

    async with looking() as browser:
        page = await read(browser, str(job), tab="attempts")

    assert '<a href="#attempt-7-line-30">last of 30 lines</a>' in page.text
    assert re.search(r'<li id="attempt-7-line-30"[^>]*>.*line 30<', page.text)
    assert re.search(r'<li id="attempt-7-line-1"[^>]*>.*line 1<', page.text)
    assert 'id="follow"' not in page.text


async def test_the_lines_of_an_attempt_that_runs_are_shown_and_can_be_followed(
    machine: Machine, looking: Looking
) -> None:
    machine.register("t")
    worker, job = machine.worker(), machine.enqueue()
    machine.claim(worker)
    machine.log(worker, job, 0, "halfway", "<b>bold</b>")

    async with looking() as browser:
        page = await read(browser, str(job), tab="attempts")
        kept = await browser.get(f"/jobs/{job}/log")

    assert "Attempt 1 running" in words(page)
    assert "&lt;b&gt;bold&lt;/b&gt;" in page.text
    assert 'data-on="jobs logs"' in page.text
    assert 'id="follow"' in page.text
    assert [line.rpartition(": ")[2] for line in kept.text.splitlines()] == ["halfway", "<b>bold</b>"]


async def test_what_attempts_logged_can_be_kept_from_a_level_on(looking: Looking, failed: str) -> None:
    async with looking(Role.VIEWER, tenant="acme") as browser:
        page = (await read(browser, failed, tab="attempts")).text
        whole = await browser.get(f"/jobs/{failed}/log")
        errors = await browser.get(f"/jobs/{failed}/log", params={"level": "error"})
        other = await browser.get(f"/jobs/{failed}/log", params={"attempt": 2})
    async with looking(Role.ADMIN, tenant="globex") as browser:
        foreign = await browser.get(f"/jobs/{failed}/log")

    assert f'href="/jobs/{failed}/log?level=debug" download' in page
    assert whole.headers["content-type"].startswith("text/plain")
    assert whole.headers["content-disposition"].startswith("attachment")
    assert whole.text.rstrip().endswith(f"attempt=1 warning shop: booking order {BIG}")
    assert (errors.text, other.text) == ("", "")
    assert foreign.status_code == 404


async def test_a_payload_keeps_big_numbers_and_hides_what_its_task_redacts(
    looking: Looking, failed: str
) -> None:
    async with looking() as browser:
        page = await read(browser, failed, tab="payload")

    assert f'<code class="json-value">{BIG}</code>' in page.text
    assert "redacted" in words(page)
    assert NUMBER not in page.text
    copies = [html.unescape(each) for each in re.findall(r'data-copy="([^"]*)"', page.text)]
    assert any(each.startswith("app.tasks['trip'].using(queue='default', tenant='acme'") for each in copies)
    assert any(each.startswith("curl https://jobs.test/api/v1/jobs") for each in copies)


async def test_a_viewer_sees_a_payload_only_after_saying_why_and_the_audit_has_it(
    looking: Looking, failed: str
) -> None:
    async with looking(Role.VIEWER) as browser:
        before = await read(browser, failed, tab="payload")
        steps = await read(browser, failed, tab="steps")
        answer = await browser.post(f"/jobs/{failed}/reveal", data={"reason": "Ana asked"})
        after = await read(browser, failed, tab="payload")
    async with looking(Role.OPERATOR) as browser:
        page = await read(browser, failed, tab="audit")
        kept = [
            await browser.get(html.unescape(link))
            for link in re.findall(r'href="(/activity/export[^"]+)"', page.text)
        ]
        audit = words(page)

    assert [answer.headers["content-type"].partition(";")[0] for answer in kept] == [
        "text/csv",
        "application/json",
    ]
    assert all("Ana asked" in answer.text for answer in kept)
    assert "Payloads are hidden from your role." in words(before)
    for hidden in (before, steps):
        assert "Ana" not in hidden.text
        assert "booked" not in hidden.text
    assert answer.status_code == 303
    assert "Ana" in after.text
    assert "viewer job.reveal Ana asked" in audit


async def test_a_viewer_is_told_that_the_audit_is_for_operators(looking: Looking, failed: str) -> None:
    async with looking(Role.VIEWER) as browser:
        page = words(await read(browser, failed, tab="audit"))

    assert "The audit is for operators." in page


async def test_another_viewers_reason_shows_nothing_to_this_one(looking: Looking, failed: str) -> None:
    async with looking(Role.APPROVER) as browser:
        await browser.post(f"/jobs/{failed}/reveal", data={"reason": "curious"})
    async with looking(Role.VIEWER) as browser:
        page = await read(browser, failed, tab="payload")

    assert "Payloads are hidden from your role." in words(page)


async def test_a_flow_is_drawn_and_listed(app: Holdfast, looking: Looking) -> None:
    greet = app.tasks["greet"]
    first, *_, last = app.enqueue_many(
        chain(greet.job("a"), [greet.job("b"), greet.job("c")], greet.using(label="the end").job("d"))
    )

    async with looking() as browser:
        page = await read(browser, str(last.id), tab="graph")

    drawn = re.findall(r'<a href="/jobs/([0-9a-f-]+)\?tab=graph" class="box', page.text)
    assert len(drawn) == 4
    assert str(first.id) in drawn
    assert page.text.count('class="edge needed"') == 4
    assert "after it: greet the end" in words(page)


async def test_a_flow_is_drawn_as_large_as_the_address_says(app: Holdfast, looking: Looking) -> None:
    greet = app.tasks["greet"]
    first, last = app.enqueue_many(chain(greet.job("a"), greet.job("b")))

    async with looking() as browser:
        usual = await read(browser, str(first.id), tab="graph")
        small = await read(browser, str(first.id), tab="graph", zoom="50")
        fitting = await read(browser, str(first.id), tab="graph", zoom="fit")

    assert 'viewBox="0 0 466 62" width="466" height="62"' in usual.text
    assert 'viewBox="0 0 466 62" width="233" height="31"' in small.text
    assert 'viewBox="0 0 466 62" class="flow-graph fits"' in fitting.text
    assert f"/jobs/{last.id}?tab=graph&amp;zoom=fit" in fitting.text


async def test_a_large_flow_is_drawn_as_its_tasks(app: Holdfast, looking: Looking) -> None:
    greet = app.tasks["greet"]
    first, *_ = app.enqueue_many(chain(app.tasks["refund"].job(1), [greet.job("x") for _ in range(320)]))

    async with looking() as browser:
        page = await read(browser, str(first.id), tab="graph")

    assert page.text.count('class="box ') == 2
    assert "321 jobs hang together" in words(page)
    assert "greet 320 \N{EN DASH}" in words(page)


async def test_a_job_that_failed_is_run_again_and_then_no_more(looking: Looking, failed: str) -> None:
    async with looking() as browser:
        page = await read(browser, failed)
        again = await browser.post(f"/jobs/{failed}/retry", data={"reason": "cars are back"})
        there = await read(browser, again.headers["location"].removeprefix("/jobs/"))
        old = words(await read(browser, failed))
        twice = await browser.post(f"/jobs/{failed}/retry", data={"reason": "more"})
        said = words(await browser.get(twice.headers["location"]))

    assert f'action="/jobs/{failed}/retry"' in page.text
    assert "runs again as this one" in words(there)
    assert "Run again: it was run again already" in old
    assert "Ran it again" in old
    assert "already retried" in said


async def test_a_job_in_line_is_stopped_with_a_reason(app: Holdfast, looking: Looking) -> None:
    job = str(app.tasks["greet"].enqueue("x").id)

    async with looking() as browser:
        without = await browser.post(f"/jobs/{job}/cancel", data={"reason": ""})
        answer = await browser.post(f"/jobs/{job}/cancel", data={"reason": "a mistake"})
        page = words(await read(browser, job))

    assert without.status_code == 422
    assert answer.headers["location"] == f"/jobs/{job}"
    assert "CANCELLED by operator" in page
    assert "a mistake" in page


async def test_a_viewer_is_told_why_buttons_do_nothing_and_posting_is_refused(
    app: Holdfast, looking: Looking
) -> None:
    job = str(app.tasks["greet"].enqueue("x").id)

    async with looking(Role.VIEWER) as browser:
        page = await read(browser, job)
        answer = await browser.post(f"/jobs/{job}/cancel", data={"reason": "a mistake"})
        after = words(await read(browser, job))

    assert "your role may not: ask an operator" in words(page)
    assert "/cancel" not in page.text
    assert answer.status_code == 303
    assert "Pending" in after
    assert "Your key or role does not allow this" in after


async def test_a_job_that_asks_leads_to_its_question(app: Holdfast, looking: Looking) -> None:
    job = app.tasks["refund"].enqueue(900)
    await adrain(app)

    async with looking() as browser:
        page = await read(browser, str(job.id))

    assert re.search(r'href="/approvals/[0-9a-f-]+">Decide<', page.text)
    assert "asks ann: Refund 900?" in words(page)
    assert "holdfast approval approve" not in words(page)
    assert "Asked: Refund 900?" in words(page)


async def test_another_tenants_job_is_not_there_and_neither_is_one_that_never_was(
    looking: Looking, failed: str
) -> None:
    async with looking(tenant="globex") as browser:
        answers = [await browser.get(f"/jobs/{job}") for job in (failed, uuid4())]
        acting = await browser.post(f"/jobs/{failed}/retry", data={"reason": "mine"})
    async with looking(tenant="acme") as browser:
        own = await read(browser, failed)

    assert [answer.status_code for answer in answers] == [404, 404]
    assert "There is no such thing" in words(answers[0])
    assert "Lisbon" not in answers[0].text
    assert acting.status_code == 303
    assert "Run again: it was run again" not in words(own)


@pytest.mark.parametrize("tab", TABS)
async def test_a_panel_alone_is_the_same_as_on_the_page(looking: Looking, failed: str, tab: str) -> None:
    async with looking(Role.ADMIN) as browser:
        page = await read(browser, failed, tab=tab)
        alone = await read(browser, failed, tab=tab, panel="job_tab")

    assert alone.text.strip().startswith("<section")
    assert _timeless(alone.text) in _timeless(page.text)


def _timeless(text: str) -> str:
    return re.sub(r"\d+(\.\d+)? m?s ago", "", text).strip()


@pytest.mark.parametrize("tab", TABS)
async def test_nothing_that_a_job_says_becomes_part_of_the_page(
    app: Holdfast, looking: Looking, tab: str
) -> None:
    greet = app.tasks["greet"].using(
        label=HOSTILE, subject=HOSTILE, tags=[HOSTILE], requested_by=HOSTILE, metadata={HOSTILE: HOSTILE}
    )
    first, _ = app.enqueue_many(chain(greet.job(HOSTILE), greet.job("b")))

    async with looking() as browser:
        await browser.post(f"/jobs/{first.id}/cancel", data={"reason": HOSTILE})
        page = await read(browser, str(first.id), tab=tab)

    assert "<script>alert" not in page.text
    assert "<img src=x" not in page.text
    assert "onerror" in page.text
    assert " style=" not in page.text


async def test_every_address_on_the_page_stands_under_its_prefix(app: Holdfast, failed: str) -> None:
    async def authenticate(_request: object) -> Principal:
        return Principal.of_role("ann", Role.OPERATOR)

    served = asgi(app, authenticate=authenticate, settings=settings(**MANY))
    transport = httpx.ASGITransport(served, root_path="/ops/jobs")
    async with httpx.AsyncClient(
        transport=transport, base_url="https://jobs.test", headers=OWN_PAGE
    ) as browser:
        page = await browser.get(f"/ops/jobs/jobs/{failed}?tab=graph")
    await app.link.aclose()

    addresses = re.findall(r'(?:href|action|src)="(/[^"]*)"', page.text)
    assert addresses
    assert [each for each in addresses if not each.startswith("/ops/jobs/")] == []


# -- what can be changed of it ---------------------------------------------------------------------------------------------


async def acted(browser: httpx.AsyncClient, path: str, **form: str) -> str:
    """Send a form of a job's page; give what is said afterwards."""
    done = await browser.post(path, data=form)
    assert done.status_code == 303, done.text
    shown = await browser.get(done.headers["location"])
    said = re.search(r'<p class="notice" role="status">([^<]*)</p>', shown.text)
    assert said, shown.text
    return html.unescape(said[1])


async def test_a_job_is_given_a_priority_and_moved_and_its_story_says_so(
    looking: Looking, machine: Machine
) -> None:
    machine.register("t")
    machine.register("other", queue="slow")
    job = machine.enqueue("t")

    async with looking(name="ben") as browser:
        priority = await acted(browser, f"/jobs/{job}/reprioritise", priority="40", reason="a customer waits")
        moved = await acted(browser, f"/jobs/{job}/move", queue="slow", reason="make room")
        page = words(await read(browser, str(job)))

    assert (priority, moved) == ("The job has priority 40.", "The job is in queue slow.")
    assert "Given another priority from 0 to 40; a customer waits" in page
    assert "Moved to another queue from default to slow; make room" in page
    assert page.count("a customer waits") == 1


async def test_an_admin_deletes_a_job_that_has_ended_by_typing_so(looking: Looking, machine: Machine) -> None:
    machine.register("t")
    job = machine.job_in(Status.CANCELLED)
    project_all(machine)

    async with looking(Role.OPERATOR) as browser:
        operators = await read(browser, str(job))
        refused = await acted(browser, f"/jobs/{job}/delete", typed="delete", reason="why not")
    async with looking(Role.ADMIN, name="ann") as browser:
        untyped = await acted(browser, f"/jobs/{job}/delete", reason="why not")
        said = await acted(browser, f"/jobs/{job}/delete", typed="delete", reason="the customer asked")
        gone = await browser.get(f"/jobs/{job}")

    assert "/delete" not in operators.text
    assert "admin" in refused
    assert untyped == "Nothing was done: type delete to confirm."
    assert "(t) is deleted" in said
    assert gone.status_code == 404


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("reprioritise", {"priority": "5", "reason": "a\x00b"}),
        ("move", {"queue": "a\x00b", "reason": "because"}),
    ],
)
async def test_a_form_with_what_the_database_cannot_keep_is_refused_before_it_is_asked(
    looking: Looking, machine: Machine, form: str, said: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    machine.register()
    job_id = machine.enqueue()

    async with looking() as browser:
        answer = await browser.post(f"/jobs/{job_id}/{form}", data=said)

    assert answer.status_code == 422
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
