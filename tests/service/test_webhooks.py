"""Events that came with a right signature: each has its effect once, whatever its sender, the network and the database do."""

import asyncio
import contextlib
import random
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest

from holdfast import Configuration, Holdfast, Status
from holdfast.runtime import webhooks
from holdfast.runtime.failpoints import SimulatedCrash
from holdfast.server import GitHub, StandardWebhook, Stripe, WebhookEvent
from holdfast.store.webhook import fail_webhook
from holdfast.testing import ScratchDatabase, crash_at
from service import senders
from service.senders import SECRET, event, sending
from world import held
from world.draining import adrain
from world.often import times

PAID = "checkout.session.completed"
Owner = psycopg.Connection[Any]


@pytest.fixture
def owner(owner: Owner) -> Owner:
    """Give the owner of a database in which the shop keeps its subscriptions."""
    owner.execute(
        "create table public.subscription (agent text, state text); grant all on public.subscription to public"
    )
    return owner


def make_shop(database: ScratchDatabase) -> Holdfast:
    """Make the first product's app: a paid checkout writes the subscription and queues one provisioning."""
    app = database.use(Holdfast())

    @app.task()
    async def provision(agent_id: str) -> None: ...

    async def paid(event: WebhookEvent, conn: Any) -> None:
        agent = event.body["data"]["object"]["agent"]
        await conn.execute("insert into public.subscription values (%s, 'paid')", (agent,))
        await provision.using(conn=conn, subject=agent).aenqueue(agent)

    app.webhook("stripe", verify=Stripe(SECRET), on={PAID: paid})
    return app


@pytest.fixture
def shop(holdfast_db: ScratchDatabase, owner: Owner) -> Iterator[Holdfast]:
    app = make_shop(holdfast_db)
    yield app
    app.close()


def deliveries(owner: Owner) -> list[tuple[Any, ...]]:
    return owner.execute(
        "select event_id, status, tries, cardinality(holdfast.jobs_of(d)) from holdfast.webhook_delivery d order by event_id"
    ).fetchall()


def counts(owner: Owner) -> tuple[int, int]:
    """Count the subscriptions and the jobs."""
    found = owner.execute(
        "select (select count(*) from public.subscription), (select count(*) from holdfast.job)"
    )
    return found.fetchone() or (-1, -1)


async def test_an_event_its_handlers_writes_and_its_job_commit_together(shop: Holdfast, owner: Owner) -> None:
    async with sending(shop) as sender:
        answer = await sender.bring(agent="a-1")

    assert (answer.status_code, answer.json()) == (200, {"received": True, "repeat": False})
    assert deliveries(owner) == [("evt_1", "handled", 1, 1)]
    job = owner.execute("select id, task, payload, subject from holdfast.job").fetchall()
    assert [row[1:] for row in job] == [("provision", {"agent_id": "a-1"}, "a-1")]
    assert owner.execute("select holdfast.jobs_of(d) from holdfast.webhook_delivery d").fetchone() == (
        [job[0][0]],
    )
    assert owner.execute("select agent, state from public.subscription").fetchall() == [("a-1", "paid")]
    assert owner.execute("select actor from holdfast.job_history").fetchall() == [("webhook:stripe",)]


async def test_a_delivery_knows_the_jobs_that_its_handler_enqueued_for_somebody(
    holdfast_db: ScratchDatabase, owner: Owner
) -> None:
    app = holdfast_db.use(Holdfast())

    @app.task()
    async def provision() -> None: ...

    async def paid(event: WebhookEvent, conn: Any) -> None:
        await provision.using(conn=conn, requested_by="ana").aenqueue()
        await provision.using(conn=conn).aenqueue()

    app.webhook("stripe", verify=Stripe(SECRET), on={PAID: paid})
    async with sending(app) as sender:
        await sender.bring()
    born = {row[0] for row in owner.execute("select id from holdfast.job")}

    known = owner.execute("select holdfast.jobs_of(d), id from holdfast.webhook_delivery d").fetchone()
    assert known is not None
    owner.execute("select holdfast.begin_replay(%s, 'ann')", (known[1],))

    assert (len(born), set(known[0])) == (2, born)
    kept = owner.execute("select jobs from holdfast.webhook_delivery").fetchone()
    assert kept is not None
    assert set(kept[0]) == born
    app.close()


async def test_a_repeat_is_answered_200_and_does_nothing(shop: Holdfast, owner: Owner) -> None:
    async with sending(shop) as sender:
        first = await sender.bring(agent="a-1")
        # Stripe writes what it repeats anew: the id is the same, and not every byte.
        again = await sender.bring(agent="a-1", pending_webhooks=0)

    assert [answer.status_code for answer in (first, again)] == [200, 200]
    assert again.json()["repeat"] is True
    assert counts(owner) == (1, 1)


async def test_ten_of_one_event_at_once_through_two_servers_have_one_effect(
    shop: Holdfast, holdfast_db: ScratchDatabase, owner: Owner
) -> None:
    """S1."""
    number = times(8, 1000)
    async with sending(shop) as one, sending(make_shop(holdfast_db)) as other:
        for turn in range(number):
            asked = [sender.bring(f"evt_{turn}", agent=f"a-{turn}") for sender in (one, other) * 5]
            answers = await asyncio.gather(*asked)

            assert {answer.status_code for answer in answers} == {200}
            assert sum(answer.json()["repeat"] is False for answer in answers) == 1

    assert counts(owner) == (number, number)


@pytest.mark.parametrize("crashes", [False, True], ids=["it commits", "it crashes"])
async def test_a_repeat_in_the_middle_of_the_first_waits_and_takes_its_place_if_it_must(
    holdfast_db: ScratchDatabase, owner: Owner, crashes: bool
) -> None:
    """S2."""
    first_app, second_app = Holdfast(), make_shop(holdfast_db)
    is_inside, may_go_on = asyncio.Event(), asyncio.Event()

    async def paid(event: WebhookEvent, conn: Any) -> None:
        await conn.execute("insert into public.subscription values ('a-1', 'first')")
        await second_app.tasks["provision"].using(conn=conn).aenqueue("a-1")
        is_inside.set()
        await may_go_on.wait()
        if crashes:
            raise SimulatedCrash

    holdfast_db.use(first_app).webhook("stripe", verify=Stripe(SECRET), on={PAID: paid})
    async with sending(first_app) as one, sending(second_app) as other:
        first = asyncio.create_task(one.bring(agent="a-1"))
        await is_inside.wait()
        second = asyncio.create_task(other.bring(agent="a-1"))
        await until_somebody_waits(owner)
        assert not second.done()
        may_go_on.set()
        ended = await asyncio.gather(first, second, return_exceptions=True)

    assert [type(each).__name__ for each in ended] == [
        "SimulatedCrash" if crashes else "Response",
        "Response",
    ]
    assert isinstance(ended[1], httpx.Response)
    assert (ended[1].status_code, ended[1].json()["repeat"]) == (200, not crashes)
    assert counts(owner) == (1, 1)


async def until_somebody_waits(owner: Owner) -> None:
    waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    while not owner.execute(waiting).fetchall():  # noqa: ASYNC110 - another session's wait tells nobody
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("point", ["webhook_handled", "webhook_committed"])
async def test_after_a_crash_at_any_point_the_senders_next_try_makes_it_one(
    shop: Holdfast, owner: Owner, point: Any
) -> None:
    """S2: nothing was answered, so that the sender comes again."""
    number = times(3, 150)
    async with sending(shop) as sender:
        for turn in range(number):
            with crash_at(point):
                await sender.bring(f"evt_{turn}", agent=f"a-{turn}")
            assert counts(owner) == ((turn, turn) if point == "webhook_handled" else (turn + 1, turn + 1))
            answer = await sender.bring(f"evt_{turn}", agent=f"a-{turn}")

            assert (answer.status_code, answer.json()["repeat"]) == (200, point == "webhook_committed")

    assert counts(owner) == (number, number)


async def test_events_in_any_order_end_in_the_providers_present_state(
    holdfast_db: ScratchDatabase, owner: Owner
) -> None:
    """S6: an event is a reason to look, not a state to believe."""
    app, number = holdfast_db.use(Holdfast()), times(6, 170)
    provider = {f"sub_{n}": ["active", "past_due", "deleted"][n % 3] for n in range(number)}

    @app.task(limit={"key": "subscription:{subscription}", "max": 1})
    async def look(subscription: str) -> None:
        state = provider[subscription]
        async with app.link.atransaction() as transaction:
            await transaction.connection.execute(
                "delete from public.subscription where agent = %s", (subscription,)
            )
            await transaction.connection.execute(
                "insert into public.subscription values (%s, %s)", (subscription, state)
            )

    async def changed(event: WebhookEvent, conn: Any) -> None:
        await look.using(conn=conn).aenqueue(event.body["data"]["object"]["subscription"])

    app.webhook("stripe", verify=Stripe(SECRET), on={"*": changed})
    sent = [(kind, name) for kind in ("created", "updated", "deleted") for name in provider]
    random.Random(11).shuffle(sent)
    async with sending(app) as sender:
        for kind, name in sent:
            about = {"subscription": name, "status": kind}
            answer = await sender.bring(f"evt_{kind}_{name}", f"customer.subscription.{kind}", **about)
            assert answer.status_code == 200
        await adrain(app)

    assert dict(owner.execute("select agent, state from public.subscription").fetchall()) == provider


# -- types and handlers ----------------------------------------------------------------------------------------------------


async def test_a_type_that_nobody_handles_is_kept_and_answered_200(shop: Holdfast, owner: Owner) -> None:
    async with sending(shop) as sender:
        answer = await sender.bring("evt_1", "customer.created", agent="a-1")

    assert answer.status_code == 200
    assert (deliveries(owner), counts(owner)) == ([("evt_1", "ignored", 1, 0)], (0, 0))


async def test_a_handler_that_is_no_coroutine_gets_a_connection_of_its_own_kind(
    shop: Holdfast, owner: Owner
) -> None:
    def paid(event: WebhookEvent, conn: Any) -> None:
        conn.execute("insert into public.subscription values ('a-1', 'paid')")
        shop.tasks["provision"].using(conn=conn).enqueue("a-1")

    shop.webhook("sync", verify=Stripe(SECRET), on={"*": paid})
    async with sending(shop, "sync") as sender:
        answers = await asyncio.gather(*(sender.bring() for _ in range(5)))

    assert sorted(answer.json()["repeat"] for answer in answers) == [False, True, True, True, True]
    assert (deliveries(owner), counts(owner)) == ([("evt_1", "handled", 1, 1)], (1, 1))


async def test_functions_that_are_no_coroutines_wait_for_no_thread_of_asyncio(
    shop: Holdfast, owner: Owner
) -> None:
    called = asyncio.Queue[str]()
    loop = asyncio.get_running_loop()

    def note(event: WebhookEvent, _conn: Any = None) -> None:
        loop.call_soon_threadsafe(called.put_nowait, event.id)

    shop.webhook("sync", verify=Stripe(SECRET), on={"*": note}, after=note)
    async with sending(shop, "sync") as sender, held.all_threads_of_asyncio():
        answer = await sender.bring()
        ((delivery_id,),) = owner.execute("select id from holdfast.webhook_delivery").fetchall()
        replayed = await webhooks.replay(shop, delivery_id, "ann")

    assert (answer.status_code, replayed) == (200, [])
    assert [called.get_nowait() for _ in range(3)] == ["evt_1"] * 3


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
async def test_a_handlers_failure_undoes_all_is_kept_and_the_next_try_may_succeed(
    shop: Holdfast, owner: Owner, is_async: bool
) -> None:
    failures = ["no such agent", "bad luck"]

    def fail() -> None:
        if failures:
            raise ValueError(failures.pop(0))

    def paid(_event: WebhookEvent, conn: Any) -> None:
        conn.execute("insert into public.subscription values ('a-1', 'paid')")
        fail()

    async def apaid(_event: WebhookEvent, conn: Any) -> None:
        await conn.execute("insert into public.subscription values ('a-1', 'paid')")
        fail()

    shop.webhook("other", verify=Stripe(SECRET), on={PAID: apaid if is_async else paid})
    async with sending(shop, "other") as sender:
        first = await sender.bring()
        assert (first.status_code, counts(owner)) == (500, (0, 0))
        assert "agent" not in first.text
        second = await sender.bring()
        kept = owner.execute("select status, tries, error from holdfast.webhook_delivery").fetchall()
        third = await sender.bring()
        fourth = await sender.bring()

    assert kept == [("failed", 2, "ValueError: bad luck")]
    assert [answer.status_code for answer in (second, third, fourth)] == [500, 200, 200]
    assert (deliveries(owner), counts(owner)) == ([("evt_1", "handled", 3, 0)], (1, 0))
    assert fourth.json()["repeat"] is True


@pytest.mark.parametrize("kind", ["async", "sync"])
async def test_a_handler_that_goes_on_after_a_failed_statement_has_handled_nothing(
    shop: Holdfast, owner: Owner, kind: str
) -> None:
    def careless(_event: WebhookEvent, conn: Any) -> None:
        with contextlib.suppress(psycopg.errors.UndefinedTable):
            conn.execute("insert into public.nothing values (1)")

    async def acareless(_event: WebhookEvent, conn: Any) -> None:
        with contextlib.suppress(psycopg.errors.UndefinedTable):
            await conn.execute("insert into public.nothing values (1)")

    handler = careless if kind == "sync" else acareless
    shop.webhook("careless", verify=Stripe(SECRET), on={PAID: handler})
    async with sending(shop, "careless") as sender:
        answer = await sender.bring(agent="a-1")

    assert answer.status_code == 500
    assert deliveries(owner) == [("evt_1", "failed", 1, 0)]
    said = owner.execute("select error from holdfast.webhook_delivery").fetchone()
    assert said is not None
    assert "nothing of it can be committed" in said[0]


async def test_transactions_of_another_server_are_not_a_deliverys(shop: Holdfast, owner: Owner) -> None:
    """After a restore elsewhere the numbers of transactions begin anew."""
    async with sending(shop) as sender:
        await sender.bring(agent="a-1")
        owner.execute("update holdfast.webhook_delivery set ended_at = ended_at - interval '1 hour'")

    assert deliveries(owner) == [("evt_1", "handled", 1, 0)]


async def test_what_a_handlers_enqueue_refuses_is_no_senders_mistake(shop: Holdfast, owner: Owner) -> None:
    """A 4xx would tell some senders never to come again."""

    async def paid(_event: WebhookEvent, conn: Any) -> None:
        provision = shop.tasks["provision"]
        await provision.using(conn=conn, key="k").aenqueue("a-1")
        await provision.using(conn=conn, key="k", on_conflict="raise").aenqueue("a-1")

    shop.webhook("other", verify=Stripe(SECRET), on={PAID: paid})
    async with sending(shop, "other") as sender:
        answer = await sender.bring()

    assert (answer.status_code, counts(owner)) == (500, (0, 0))
    assert [row[1] for row in deliveries(owner)] == ["failed"]


async def test_a_handler_that_hangs_is_cut_off_and_the_sender_comes_again(
    shop: Holdfast, owner: Owner
) -> None:
    async def hang(_event: WebhookEvent, conn: Any) -> None:
        await conn.execute("insert into public.subscription values ('a-1', 'paid')")
        await conn.execute("select pg_sleep(60)")

    shop.webhook("slow", verify=Stripe(SECRET), on={PAID: hang}, timeout=0.3)
    async with sending(shop, "slow") as sender:
        answer = await sender.bring()

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert ([row[1] for row in deliveries(owner)], counts(owner)) == (["failed"], (0, 0))


async def test_the_same_id_at_two_endpoints_is_two_events(shop: Holdfast, owner: Owner) -> None:
    shop.webhook("other", verify=Stripe(SECRET), on=dict(shop.webhooks["stripe"].on))
    for endpoint in ("stripe", "other"):
        async with sending(shop, endpoint) as sender:
            assert (await sender.bring(agent="a-1")).json()["repeat"] is False

    assert counts(owner) == (2, 2)


@pytest.mark.parametrize(
    ("verifier", "sign", "name"),
    [
        (GitHub(SECRET), senders.github, ("72d3162e-cc78", "push")),
        (StandardWebhook(SECRET), senders.standard, ("msg_1", PAID)),
    ],
    ids=["github", "standard"],
)
async def test_events_of_other_systems_count_once_too(
    shop: Holdfast, owner: Owner, verifier: Any, sign: Any, name: tuple[str, str]
) -> None:
    seen: list[WebhookEvent] = []

    async def keep(event: WebhookEvent, _conn: Any) -> None:
        seen.append(event)

    shop.webhook("other", verify=verifier, on={name[1]: keep}, tenant="acme")
    async with sending(shop, "other") as sender:
        answers = [await sender.post(event(), sign(event())) for _ in range(3)]

    assert [answer.json()["repeat"] for answer in answers] == [False, True, True]
    assert [(each.id, each.type, each.tenant, each.raw) for each in seen] == [(*name, "acme", event())]
    kept = owner.execute("select id, event_id, type, tenant, body from holdfast.webhook_delivery").fetchall()
    assert kept == [(seen[0].delivery_id, *name, "acme", event())]


async def test_after_the_answer_comes_what_may_be_slow_and_wrong(shop: Holdfast, owner: Owner) -> None:
    called: list[str] = []

    async def kick(event: WebhookEvent) -> None:
        called.append(event.id)
        raise RuntimeError("nobody listens")

    shop.webhook("kicks", verify=Stripe(SECRET), on=dict(shop.webhooks["stripe"].on), after=kick)
    async with sending(shop, "kicks") as sender:
        answers = [await sender.bring(agent="a-1") for _ in range(2)]

    assert ([answer.status_code for answer in answers], called) == ([200, 200], ["evt_1"])
    assert counts(owner) == (1, 1)


async def test_an_endpoint_takes_so_many_a_second_and_strangers_use_up_none_of_them(
    shop: Holdfast, owner: Owner
) -> None:
    shop.webhook("few", verify=Stripe(SECRET), on=dict(shop.webhooks["stripe"].on), per_second=0.01)
    async with sending(shop, "few") as sender:
        strangers = [await sender.post(event(), {}) for _ in range(5)]
        first, second = await sender.bring("evt_1", agent="a"), await sender.bring("evt_2", agent="b")

    assert {answer.status_code for answer in strangers} == {401}
    assert (first.status_code, second.status_code) == (200, 429)
    assert 90 <= int(second.headers["retry-after"]) <= 100
    assert counts(owner) == (1, 1)


# -- the database ----------------------------------------------------------------------------------------------------------


async def test_a_failure_told_late_does_not_hide_that_another_try_succeeded(
    shop: Holdfast, owner: Owner
) -> None:
    async with sending(shop) as sender:
        await sender.bring(agent="a-1")
        late = WebhookEvent("stripe", "evt_1", PAID, {}, b"{}", uuid4())
        await shop.link.aperform(fail_webhook(late, "RuntimeError: late"))

    assert deliveries(owner) == [("evt_1", "handled", 1, 1)]


async def test_a_failure_is_kept_without_what_the_body_hides(shop: Holdfast, owner: Owner) -> None:
    async def refuse(event: WebhookEvent, _conn: Any) -> None:
        told = event.body["data"]["object"]
        raise ValueError(f"{told['email']} has no {told['plan']} {told['pin']}")

    shop.webhook("told", verify=Stripe(SECRET), on={"*": refuse}, redact=["data.object.pin"])
    async with sending(shop, "told") as sender:
        await sender.bring(email="ann@example.com", plan="gold", pin=987654)

    assert owner.execute("select error from holdfast.webhook_delivery").fetchall() == [
        ("ValueError: [redacted] has no gold [redacted]",)
    ]


@pytest.mark.parametrize(("tenant", "reaches"), [("acme", "acme"), (None, "*")])
async def test_a_handlers_transaction_reaches_its_endpoints_tenant(
    shop: Holdfast, tenant: str | None, reaches: str
) -> None:
    seen: list[Any] = []

    async def look(_event: WebhookEvent, conn: Any) -> None:
        setting = await conn.execute("select current_setting('holdfast.tenant'), current_user = session_user")
        seen.extend(await setting.fetchall())

    shop.webhook("bound", verify=Stripe(SECRET), on={"*": look}, tenant=tenant)
    async with sending(shop, "bound") as sender:
        await sender.bring()

    assert seen == [(reaches, True)]


def test_what_is_left_is_the_role_that_a_request_took_on(owner: Owner) -> None:
    """A replay's handler writes the application's tables, which the service's roles may not."""
    with owner.transaction():
        owner.execute("set local role holdfast_api")
        owner.execute("select holdfast.leave()")

        assert owner.execute("select current_user = session_user").fetchone() == (True,)


async def test_a_lost_connection_is_replaced_before_the_sender_hears_of_it(
    shop: Holdfast, owner: Owner
) -> None:
    async with sending(shop) as sender:
        await sender.bring("evt_1", agent="a-1")
        owner.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )
        answer = await sender.bring("evt_2", agent="a-2")

    assert (answer.status_code, counts(owner)) == (200, (2, 2))


async def test_what_breaks_in_the_handlers_hands_is_tried_again(shop: Holdfast, owner: Owner) -> None:
    tries: list[int] = []

    async def paid(_event: WebhookEvent, conn: Any) -> None:
        tries.append(1)
        await conn.execute("insert into public.subscription values ('a-1', 'paid')")
        if len(tries) == 1:
            await conn.execute("select pg_terminate_backend(pg_backend_pid())")

    shop.webhook("other", verify=Stripe(SECRET), on={PAID: paid})
    async with sending(shop, "other") as sender:
        answer = await sender.bring()

    assert (answer.status_code, len(tries), counts(owner)) == (200, 2, (1, 0))


async def test_deliveries_are_known_for_thirty_days(
    shop: Holdfast, owner: Owner, holdfast_db: ScratchDatabase
) -> None:
    async with sending(shop) as sender:
        await sender.bring(agent="a-1")
        holdfast_db.clock.advance(29 * 86_400)
        owner.execute("select holdfast.upkeep()")
        assert (await sender.bring(agent="a-1")).json()["repeat"] is True
        holdfast_db.clock.advance(2 * 86_400)
        owner.execute("select holdfast.upkeep()")

    assert deliveries(owner) == []


# -- declarations ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "No/Slash"},
        {"name": "stripe"},
        {"on": {}},
        {"on": {"a": 1}},
        {"largest": 0},
        {"redact": ["a..b"]},
    ],
    ids=["name", "twice", "no handlers", "no function", "size", "path"],
)
def test_a_declaration_that_cannot_work_is_refused(shop: Holdfast, wrong: dict[str, Any]) -> None:
    given: dict[str, Any] = {"name": "other", "verify": Stripe(SECRET), "on": {"*": print}, **wrong}

    with pytest.raises(Configuration):
        shop.webhook(given.pop("name"), **given)


async def test_a_job_that_waits_for_its_turn_is_never_dropped(
    shop: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    """A paid event that arrives while another provision of its user runs has its job, which waits."""

    @shop.task(limit={"key": "user:{user}", "max": 1})
    async def provide(user: str, agent: str) -> None: ...

    async def paid(event: WebhookEvent, conn: Any) -> None:
        await provide.using(conn=conn).aenqueue("ann", event.id)

    shop.webhook("turns", verify=Stripe(SECRET), on={PAID: paid})
    async with sending(shop, "turns") as sender:
        answers = [await sender.bring(f"evt_{n}") for n in range(3)]
        await adrain(shop)

    assert {answer.status_code for answer in answers} == {200}
    jobs = holdfast_db.jobs(task=provide)
    assert [(job.status, isinstance(job.id, UUID)) for job in jobs] == [(Status.COMPLETED, True)] * 3
