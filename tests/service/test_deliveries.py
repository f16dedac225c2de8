"""What operators see of events that were brought, what stays hidden, and handling one again."""

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from holdfast import Holdfast
from holdfast.runtime import webhooks
from holdfast.server import Stripe, WebhookEvent
from holdfast.testing import ScratchDatabase
from interfaces.calling import Cli
from service.asking import problem
from service.conftest import Calling
from service.senders import SECRET, event, sending, stripe

Owner = psycopg.Connection[Any]
ABOUT = {
    "agent": "a-1",
    "customer_email": "ann@example.com",
    "card": {"last4": "4242"},
    "note": "for Ann",
    "amount": 5,
}

app = Holdfast()  # found by the command line as service.test_deliveries:app
seen: list[WebhookEvent] = []
broken: list[str] = []


@app.task()
async def provision(agent_id: str) -> None: ...


async def paid(event: WebhookEvent, conn: Any) -> None:
    seen.append(event)
    await provision.using(conn=conn).aenqueue(event.body["data"]["object"]["agent"])
    if broken:
        raise RuntimeError(broken[0])


def booked(event: WebhookEvent, conn: Any) -> None:
    seen.append(event)
    provision.using(conn=conn).enqueue(event.id)
    if broken:
        raise RuntimeError(broken[0])


for name, tenant in (("stripe", None), ("acme-stripe", "acme")):
    app.webhook(
        name,
        verify=Stripe(SECRET),
        on={"paid": paid, "booked": booked},
        tenant=tenant,
        redact=["data.object.note"],
    )


@pytest.fixture
def shop(holdfast_db: ScratchDatabase) -> Iterator[Holdfast]:
    """Give the app of this module on a database of the test's own."""
    seen.clear()
    broken.clear()
    yield holdfast_db.use(app)
    app.close()


async def bring(event_id: str, kind: str = "paid", endpoint: str = "stripe") -> None:
    body = event(event_id, kind, **ABOUT)
    async with sending(app, endpoint) as sender:
        await sender.post(body, stripe(body))


async def test_deliveries_are_listed_page_by_page_newest_first(calling: Calling) -> None:
    for number in range(3):
        await bring(f"evt_{number}", "paid" if number else "other")
    async with calling("read") as client:
        first = (await client.get("/api/v1/deliveries?limit=2")).json()
        second = (await client.get(f"/api/v1/deliveries?limit=2&after={first['next']}")).json()
        ignored = (await client.get("/api/v1/deliveries?status=ignored&endpoint=stripe")).json()
        nobody = (await client.get("/api/v1/deliveries?endpoint=nobody")).json()
        wrong = [
            await client.get(f"/api/v1/deliveries?{query}") for query in ("after=x", "limit=0", "limit=201")
        ]

    assert [each["event_id"] for each in first["items"]] == ["evt_2", "evt_1"]
    assert ([each["event_id"] for each in second["items"]], second["next"]) == (["evt_0"], None)
    assert [each["event_id"] for each in ignored["items"]] == ["evt_0"]
    assert nobody["items"] == []
    assert [problem(answer) for answer in wrong] == [(422, "invalid")] * 3


async def test_a_delivery_is_shown_without_what_is_private(calling: Calling, owner: Owner) -> None:
    await bring("evt_1")
    async with calling("read") as client:
        (listed,) = (await client.get("/api/v1/deliveries")).json()["items"]
        shown = (await client.get(f"/api/v1/deliveries/{listed['id']}")).json()

    body, hidden = shown.pop("body"), shown.pop("hidden")
    assert hidden is None
    assert (listed, shown["status"], len(shown["jobs"])) == (shown, "handled", 1)
    assert body["data"]["object"] == {
        "agent": "a-1", "customer_email": "[hidden]", "card": "[hidden]", "note": "[hidden]", "amount": 5,
    }  # fmt: skip
    assert "ann@" not in json.dumps(listed)


async def test_a_delivery_whose_endpoint_is_gone_is_shown_without_a_body(
    calling: Calling, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bring("evt_1")
    monkeypatch.setattr(app, "webhooks", {})
    async with calling("admin") as client:
        (listed,) = (await client.get("/api/v1/deliveries")).json()["items"]
        shown = (await client.get(f"/api/v1/deliveries/{listed['id']}")).json()
        refused = await client.post(f"/api/v1/deliveries/{listed['id']}/replay", json={})

    assert shown["body"] is None
    assert problem(refused) == (422, "invalid")


@pytest.mark.parametrize("kind", ["paid", "booked"], ids=["async", "sync"])
async def test_a_replay_handles_it_again_once_a_request_and_is_in_the_audit(
    calling: Calling, owner: Owner, kind: str
) -> None:
    await bring("evt_1", kind)
    ((delivery_id,),) = owner.execute("select id from holdfast.webhook_delivery").fetchall()
    path = f"/api/v1/deliveries/{delivery_id}/replay"
    async with calling("operate") as client:
        asked = [
            client.post(path, json={"reason": "again"}, headers={"Idempotency-Key": "k"}) for _ in range(3)
        ]
        answers = await asyncio.gather(*asked)

    assert {answer.status_code for answer in answers} == {200}
    (made,) = {tuple(answer.json()["jobs"]) for answer in answers}
    jobs = [job for (job,) in owner.execute("select id from holdfast.job order by id").fetchall()]
    assert jobs[1:] == [UUID(job) for job in made]
    kept = "select status, tries, replays, replayed_by, jobs from holdfast.webhook_delivery"
    assert owner.execute(kept).fetchall() == [("handled", 1, 1, "key:test", jobs)]
    assert [(each.replay, each.raw, each.delivery_id) for each in seen] == [
        (number, event("evt_1", kind, **ABOUT), delivery_id) for number in (0, 1)
    ]
    audit = owner.execute("select actor, action, target, reason, data from holdfast.audit").fetchall()
    assert audit == [("key:test", "delivery.replay", str(delivery_id), "again", {"jobs": list(made)})]


@pytest.mark.parametrize("kind", ["paid", "booked"], ids=["async", "sync"])
async def test_what_failed_can_be_replayed_when_the_handler_is_mended(
    calling: Calling, owner: Owner, kind: str
) -> None:
    broken.append("a mistake")
    await bring("evt_1", kind)
    ((delivery_id,),) = owner.execute("select id from holdfast.webhook_delivery").fetchall()
    path = f"/api/v1/deliveries/{delivery_id}/replay"
    async with calling("operate", "read") as client:
        still = await client.post(path, json={})
        shown = (await client.get(f"/api/v1/deliveries/{delivery_id}")).json()
        broken.clear()
        mended = await client.post(path, json={})

    assert problem(still) == (500, "internal")
    assert (shown["status"], shown["error"], shown["replays"]) == ("failed", "RuntimeError: a mistake", 0)
    assert (mended.status_code, len(mended.json()["jobs"])) == (200, 1)
    status = owner.execute("select status, error, replays from holdfast.webhook_delivery").fetchone()
    assert status == ("handled", None, 1)


@pytest.mark.parametrize("kind", ["paid", "booked"], ids=["async", "sync"])
async def test_a_replay_is_done_whole_or_not_at_all(calling: Calling, owner: Owner, kind: str) -> None:
    """A failed delivery's handler, its jobs, the audit and the kept answer: what fails behind the handler undoes it, too."""
    broken.append("a mistake")
    await bring("evt_1", kind)
    broken.clear()
    ((delivery_id,),) = owner.execute("select id from holdfast.webhook_delivery").fetchall()
    path, headers = f"/api/v1/deliveries/{delivery_id}/replay", {"Idempotency-Key": "k"}
    owner.execute(
        "alter table holdfast.audit add constraint full_up check (action <> 'delivery.replay') not valid"
    )
    async with calling("operate") as client:
        undone = await client.post(path, json={}, headers=headers)
        left = owner.execute("select status, replays, jobs from holdfast.webhook_delivery").fetchone()
        jobs = owner.execute("select count(*) from holdfast.job").fetchone()
        owner.execute("alter table holdfast.audit drop constraint full_up")
        answers = [await client.post(path, json={}, headers=headers) for _ in range(3)]

    assert (undone.status_code >= 400, left, jobs) == (True, ("failed", 0, []), (0,))
    assert {(answer.status_code, answer.text) for answer in answers} == {(200, answers[0].text)}
    done = owner.execute(
        "select status, replays, cardinality(jobs) from holdfast.webhook_delivery"
    ).fetchone()
    assert (done, owner.execute("select count(*) from holdfast.job").fetchone()) == (("handled", 1, 1), (1,))
    assert [each.replay for each in seen] == [0, 1, 1]  # it failed, it was undone, it was done


async def test_a_connection_that_was_lent_to_a_handler_is_in_nobodys_hands_afterwards(
    calling: Calling, owner: Owner
) -> None:
    kept: list[Any] = []

    def keep(_event: WebhookEvent, conn: Any) -> None:
        kept.append(conn)
        with pytest.raises(Exception, match="forbidden within a Transaction"):
            conn.commit()  # the request's transaction is not the handler's to end

    app.webhook("keeps", verify=Stripe(SECRET), on={"paid": keep})
    try:
        await bring("evt_1", endpoint="keeps")
        ((delivery_id,),) = owner.execute("select id from holdfast.webhook_delivery").fetchall()
        async with calling("operate") as client:
            answers = [
                await client.post(f"/api/v1/deliveries/{delivery_id}/replay", json={}) for _ in range(8)
            ]
    finally:
        del app.webhooks["keeps"]

    assert {answer.status_code for answer in answers} == {200}
    with pytest.raises(AttributeError):
        kept[-1].execute("select 1")


async def test_a_replay_that_is_given_up_ends_its_handler_and_commits_nothing(
    shop: Holdfast, owner: Owner
) -> None:
    ends: list[Exception] = []
    is_inside = threading.Event()

    def hang(event: WebhookEvent, conn: Any) -> None:
        if event.replay:
            provision.using(conn=conn).enqueue(event.id)
            is_inside.set()
            try:
                conn.execute("select pg_sleep(60)")
            except Exception as error:
                ends.append(error)
                raise

    app.webhook("hangs", verify=Stripe(SECRET), on={"paid": hang})
    try:
        await bring("evt_1", endpoint="hangs")
        ((delivery_id,),) = owner.execute("select id from holdfast.webhook_delivery").fetchall()
        replaying = asyncio.create_task(webhooks.replay(shop, delivery_id, "ann"))
        await asyncio.to_thread(is_inside.wait, 20)
        replaying.cancel()
        ended = await asyncio.gather(replaying, return_exceptions=True)
        await shop.link.aclose()
    finally:
        del app.webhooks["hangs"]

    assert isinstance(ended[0], asyncio.CancelledError | Exception)
    assert len(ends) == 1
    assert owner.execute("select count(*) from holdfast.job").fetchone() == (0,)


async def test_a_tenants_key_sees_and_replays_its_own_endpoints_only(calling: Calling, owner: Owner) -> None:
    await bring("evt_1")
    await bring("evt_2", endpoint="acme-stripe")
    ids = dict(owner.execute("select event_id, id from holdfast.webhook_delivery").fetchall())
    async with calling("read", "operate", tenant="acme") as client:
        listed = (await client.get("/api/v1/deliveries")).json()["items"]
        foreign = [
            await client.get(f"/api/v1/deliveries/{ids['evt_1']}"),
            await client.post(f"/api/v1/deliveries/{ids['evt_1']}/replay", json={}),
            await client.get(f"/api/v1/deliveries/{uuid4()}"),
        ]
        own = await client.post(f"/api/v1/deliveries/{ids['evt_2']}/replay", json={})
    async with calling("read", tenant="globex") as client:
        nothing = (await client.get("/api/v1/deliveries")).json()["items"]

    assert [each["event_id"] for each in listed] == ["evt_2"]
    assert [problem(answer) for answer in foreign] == [(404, "not-found")] * 3
    assert (own.status_code, nothing) == (200, [])


async def test_reading_is_not_replaying(calling: Calling) -> None:
    async with calling("read") as client:
        assert problem(await client.post(f"/api/v1/deliveries/{uuid4()}/replay", json={})) == (
            403,
            "forbidden",
        )
    async with calling("enqueue") as client:
        assert problem(await client.get("/api/v1/deliveries")) == (403, "forbidden")


# -- the command line ------------------------------------------------------------------------------------------------------


@pytest.fixture
def cli(holdfast_db: ScratchDatabase) -> Cli:
    return Cli(holdfast_db)


def test_the_command_line_lists_shows_and_replays(cli: Cli, shop: Holdfast, owner: Owner) -> None:
    asyncio.run(bring("evt_1"))
    named = ("-a", "service.test_deliveries:app")

    (listed,) = cli.json("webhook", "list", "--endpoint", "stripe", "--status", "handled")
    table = cli("webhook", "list").stdout
    shown = cli(*named, "webhook", "show", listed["id"][:13]).stdout
    bare = cli("webhook", "show", listed["id"]).stdout
    replayed = cli.json(*named, "webhook", "replay", listed["id"], "--as", "ann", "--reason", "again")

    assert "evt_1" in table
    assert "✓ handled" in table
    assert '"agent": "a-1"' in shown
    assert "ann@example.com" not in shown
    assert "for Ann" not in shown + bare
    assert '"a-1"' not in bare  # without its quotes an id may have it
    assert len(replayed["jobs"]) == 1
    audit = owner.execute("select actor, action, target, reason from holdfast.audit").fetchall()
    assert audit == [("ann", "delivery.replay", listed["id"], "again")]
    assert cli.json("webhook", "list", "--endpoint", "nobody") == []
    cli(*named, "webhook", "show", str(uuid4()), code=4)
    cli("webhook", "replay", listed["id"], code=2)
