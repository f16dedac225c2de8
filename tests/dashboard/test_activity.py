"""Activity: moves of jobs, what people did, what other systems brought and hold; each in parts, and to keep."""

import csv
import io
import json
import secrets
from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest

from dashboard.looks import looking, panel_of, words_of
from holdfast import Holdfast
from holdfast.domain.access import Role
from holdfast.domain.states import Status
from holdfast.server import Stripe, WebhookEvent
from holdfast.testing import ScratchDatabase
from sql.support import Machine

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def app(holdfast_db: ScratchDatabase) -> Iterator[Holdfast]:
    app = holdfast_db.use(Holdfast())

    @app.task()
    async def charge(order: str) -> None: ...

    async def paid(event: WebhookEvent, conn: object) -> None:
        await charge.using(conn=conn).aenqueue(event.id)

    app.webhook("stripe", verify=Stripe("whsec_" + secrets.token_urlsafe(32)), on={"paid": paid})
    yield app
    app.close()


@pytest.fixture
def machine(owner: psycopg.Connection) -> Machine:
    machine = Machine(owner)
    machine.register("t", retries=0)
    return machine


def deliver(
    machine: Machine, event_id: str = "evt_1", status: str = "failed", tenant: str | None = None
) -> UUID:
    body = json.dumps({"id": event_id, "type": "paid", "data": {"email": "ann@example.com"}}).encode()
    found: UUID = machine.value(
        "insert into holdfast.webhook_delivery (id, endpoint, event_id, type, tenant, status, received_at, ended_at, tries, error, body, jobs)"
        " select holdfast.new_id(), 'stripe', %s, 'paid', %s, %s, c, c, 1, %s, %s, '{}' from holdfast.clock() as c returning id",
        event_id, tenant, status, "no such order" if status == "failed" else None, body,
    )  # fmt: skip
    return found


async def stream(
    app: Holdfast, query: str = "", role: Role = Role.OPERATOR, tenant: str | None = None
) -> str:
    async with looking(app, role, tenant) as browser:
        return (await browser.get(f"/activity?panel=stream{query}")).text


@pytest.mark.parametrize("show", ["events", "actions", "webhooks", "callbacks"])
async def test_an_empty_stream_says_what_will_be_in_it(app: Holdfast, show: str) -> None:
    text = await stream(app, f"&show={show}")

    assert 'class="empty"' in text
    assert 'class="snippet"' in text


async def test_moves_are_listed_the_newest_first(app: Holdfast, machine: Machine) -> None:
    job_id = machine.job_in(Status.COMPLETED)

    text = await stream(app, role=Role.VIEWER)
    said = words_of(text)

    assert said.index("Completed") < said.index("Running") < said.index("Pending")
    assert f'href="/jobs/{job_id}"' in text


async def test_moves_can_be_narrowed_down(app: Holdfast, machine: Machine) -> None:
    machine.job_in(Status.COMPLETED)
    failed = machine.job_in(Status.FAILED)

    text = await stream(app, "&kind=failures")

    assert text.count("<tr id=") == 1
    assert str(failed) in text


async def test_moves_are_read_part_by_part_without_gap_or_repeat(app: Holdfast, machine: Machine) -> None:
    machine.enqueue_many([{"task": "t", "payload": {}} for _ in range(120)])
    ids = {str(row["id"]) for row in machine.rows("select id from holdfast.job")}

    seen: list[str] = []
    path: str | None = "/activity"
    async with looking(app) as browser:
        while path:
            page = (await browser.get(path)).text
            seen += [part.partition('"')[0][5:41] for part in page.split('<tr id="')[1:]]
            older = page.partition(">Older</a>")[0].rpartition('href="')[2].partition('"')[0]
            path = older.replace("&amp;", "&") if ">Older</a>" in page else None

    assert len(seen) == 120
    assert set(seen) == ids


async def test_a_place_that_is_none_is_refused_in_a_sentence(app: Holdfast) -> None:
    places = [
        "x",
        "1.2.3",
        "-1",
        "9" * 30,
        "\N{ARABIC-INDIC DIGIT THREE}",
        "9.0190a0a0-0000-7000-8000-000000000000.99999999999",
    ]

    async with looking(app) as browser:
        answers = {
            (show, place): (
                await browser.get("/activity", params={"show": show, "after": place, "panel": "stream"})
            ).text
            for show in ("events", "actions", "webhooks", "callbacks")
            for place in places
        }

    unsaid = [asked for asked, text in answers.items() if "begin at its newest" not in text]
    assert unsaid == []


async def test_what_people_did_is_told_to_operators_alone(app: Holdfast, machine: Machine) -> None:
    machine.enqueue(queue="mail")
    async with looking(app) as browser:
        await browser.post("/queues/mail/pause", data={"reason": f"deploying {HOSTILE}"})

    told = await stream(app, "&show=actions")
    refused = await stream(app, "&show=actions", Role.VIEWER)

    assert "queue.pause" in told
    assert "deploying &lt;script&gt;" in told
    assert 'class="failed"' in refused
    assert "deploying" not in refused


async def test_an_event_that_was_brought_can_be_handled_again(app: Holdfast, machine: Machine) -> None:
    delivery = deliver(machine)

    async with looking(app) as browser:
        listed = (await browser.get("/activity?show=webhooks")).text
        done = await browser.post(
            f"/activity/webhooks/{delivery}/replay", data={"reason": "the order is there now"}, follow_redirects=True
        )  # fmt: skip

    assert "no such order" in listed
    assert "The event was handled again; 1 job came of it." in done.text
    assert "last by the operator" in words_of(done.text)
    assert machine.value("select count(*) from holdfast.job where task = 'charge'") == 1


async def test_a_body_is_shown_without_private_data_and_to_viewers_not_at_all(
    app: Holdfast, machine: Machine
) -> None:
    delivery = deliver(machine)

    async with looking(app) as browser:
        page = (await browser.get(f"/activity/webhooks/{delivery}")).text
    async with looking(app, Role.VIEWER) as browser:
        without = (await browser.get(f"/activity/webhooks/{delivery}")).text

    assert "[hidden]" in page
    assert "ann@example.com" not in page
    assert "evt_1" in without
    assert "hidden from your role" in without
    assert "[hidden]" not in without


async def test_a_viewer_cannot_have_an_event_handled_again(app: Holdfast, machine: Machine) -> None:
    delivery = deliver(machine)

    async with looking(app, Role.VIEWER) as browser:
        page = (await browser.get(f"/activity/webhooks/{delivery}")).text
        done = await browser.post(
            f"/activity/webhooks/{delivery}/replay", data={"reason": "why"}, follow_redirects=True
        )

    assert "This needs the role operator." in page
    assert "this needs the scope operate" in done.text
    assert machine.value("select replays from holdfast.webhook_delivery") == 0


@pytest.mark.parametrize("delivery", ["0190a0a0-0000-7000-8000-000000000000", "none"])
async def test_a_delivery_that_is_not_there_is_not_found(app: Holdfast, delivery: str) -> None:
    async with looking(app) as browser:
        assert (await browser.get(f"/activity/webhooks/{delivery}")).status_code == 404


async def test_runs_of_executors_are_listed_and_lead_outside_by_web_addresses_only(
    app: Holdfast, machine: Machine
) -> None:
    for url in ("https://ci.example/7", "javascript:alert(1)"):
        machine.run(
            "insert into holdfast.dispatch (job_id, attempt, claim_id, executor, inputs, state, created_at, run_id, run_url, heartbeat_limit, run_limit, retry_in)"
            " select %s, 1, gen_random_uuid(), 'github', '{}', 'sent', holdfast.clock(), 'run 7', %s, '1 hour', '2 hours', '0'",
            machine.job_in(Status.RUNNING), url,
        )  # fmt: skip

    text = await stream(app, "&show=callbacks")

    assert text.count("runs outside") == 2
    assert 'href="https://ci.example/7"' in text
    assert "javascript:" not in text


async def test_who_is_bound_to_a_tenant_sees_its_activity_alone(app: Holdfast, machine: Machine) -> None:
    own = machine.job_in(Status.COMPLETED, tenant="acme")
    foreign = machine.job_in(Status.COMPLETED, tenant="globex")
    brought = deliver(machine, tenant="globex")

    events = await stream(app, tenant="acme")
    webhooks = await stream(app, "&show=webhooks", tenant="acme")

    assert str(own) in events
    assert str(foreign) not in events
    assert str(brought) not in webhooks


async def test_names_and_labels_are_shown_as_they_are(app: Holdfast, machine: Machine) -> None:
    machine.register(HOSTILE)
    machine.enqueue(HOSTILE, label=HOSTILE)
    deliver(machine, event_id=HOSTILE)

    for show in ("events", "webhooks"):
        text = await stream(app, f"&show={show}")
        assert "<script>" not in text
        assert "&lt;script&gt;" in text


async def test_a_stream_can_be_kept_as_a_table_and_for_programs(app: Holdfast, machine: Machine) -> None:
    machine.enqueue_many([{"task": "t", "payload": {}, "label": "=1+1"} for _ in range(250)])

    async with looking(app, Role.VIEWER) as browser:
        table = await browser.get("/activity/export?show=events&form=csv")
        listed = (await browser.get("/activity/export?form=json")).json()
        refused = await browser.get("/activity/export?show=actions")

    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert len(rows) == len(listed) == 250
    assert rows[0]["label"] == "'=1+1"
    assert refused.status_code == 403


async def test_a_panel_alone_is_the_same_as_on_its_page(app: Holdfast, machine: Machine) -> None:
    machine.job_in(Status.COMPLETED)

    async with looking(app) as browser:
        page = (await browser.get("/activity?kind=ends")).text
        alone = (await browser.get("/activity?kind=ends&panel=stream")).text

    assert alone.strip() == panel_of(page, "stream")
