"""A shop that has been at work for a while: something of everything that a page can show."""

import logging
import re
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

import httpx
import psycopg
from playwright.sync_api import Browser, Page
from psycopg.types.json import Jsonb

from apps._world.serving import NO_TLS, served
from dashboard.all_pages import JOB, OPERATION
from dashboard.test_activity import deliver
from dashboard.test_settings import watched
from holdfast import Context, Fail, Holdfast, chain
from holdfast.domain.access import Role
from holdfast.domain.states import Status
from holdfast.interfaces.http.asgi import asgi
from holdfast.server import Stripe, WebhookEvent
from holdfast.testing import ScratchDatabase, TestServer
from service.house import HASHED, MANY, PASSWORD, settings
from sql.support import Machine
from sql.test_project import project_all
from world.browser import Window
from world.draining import drain

P = ParamSpec("P")
T = TypeVar("T")
PEOPLE = {"ann": Role.ADMIN, "ben": Role.OPERATOR, "cleo": Role.APPROVER, "dan": Role.VIEWER}
COOKIE = "holdfast"
SEVERAL = 12
bank_answers: set[int] = set()  # about these orders
_log = logging.getLogger("shop")


def apart(call: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Call something in a thread of its own: the browser's driver has an event loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(call, *arguments, **named).result()


class Place:
    """An app with people in it, on a database of its own, and where it is served."""

    def __init__(self, database: ScratchDatabase, app: Holdfast, machine: Machine) -> None:
        self.database = database
        self.app = app
        self.machine = machine
        self.address = ""
        self._sessions: dict[str, str] = {}
        for name, role in PEOPLE.items():
            machine.run("select holdfast.create_person(%s, %s, %s, null, 'tests')", name, HASHED, role.value)

    def drain(self) -> None:
        """Let a worker do what there is to do."""
        apart(drain, self.app)

    def client(self, name: str | None = None) -> httpx.Client:
        """Come without a browser, as somebody."""
        cookies = {COOKIE: self.session(name)} if name else {}
        headers = {"Origin": self.address, "Sec-Fetch-Site": "same-origin"}
        return httpx.Client(base_url=self.address, cookies=cookies, headers=headers, verify=NO_TLS)

    def session(self, name: str) -> str:
        """Log somebody in, once."""
        if name not in self._sessions:
            with self.client() as client:
                answer = client.post("/login", data={"name": name, "password": PASSWORD})
            assert answer.status_code == 303, answer.text
            self._sessions[name] = answer.cookies[COOKIE]
        return self._sessions[name]

    @contextmanager
    def window(self, browser: Browser, name: str = "ann", **options: Any) -> Iterator[Window]:
        """Open a window of somebody who is logged in; at its end nothing in it may have been a fault."""
        window = Window(browser, base_url=self.address, **options)
        window.context.add_cookies([{"name": COOKIE, "value": self.session(name), "url": self.address}])
        try:
            yield window
            assert window.faults == [], window.faults
        finally:
            window.close()

    @contextmanager
    def looking(self, browser: Browser, name: str = "ann", **options: Any) -> Iterator[Page]:
        """Open a window, of which the page is all that is wanted."""
        with self.window(browser, name, **options) as window:
            yield window.page


@contextmanager
def open_place(server: TestServer, make: Callable[[ScratchDatabase], Holdfast]) -> Iterator[Place]:
    """Serve an app with pages, on a database of its own."""
    with (
        server.database() as database,
        psycopg.connect(database.owner_url, autocommit=True) as owner,
    ):
        app = make(database)
        place = Place(database, app, Machine(owner))
        with served(asgi(app, settings=settings(**MANY))) as place.address:
            yield place
        app.close()


# -- the shop ----------------------------------------------------------------------------------------------------------------


def shop(database: ScratchDatabase) -> Holdfast:
    """Make the shop's app."""
    app = database.use(Holdfast())
    _declare_what_fails(app)
    _declare_what_asks(app)

    @app.task(queue="mail")
    async def send_mail(to: str) -> str:
        return f"sent to {to}"

    async def paid(event: WebhookEvent, conn: object) -> None:
        await send_mail.using(conn=conn).aenqueue(event.id)

    app.webhook("stripe", verify=Stripe("whsec_" + secrets.token_urlsafe(32)), on={"paid": paid})
    return app


def _declare_what_fails(app: Holdfast) -> None:
    async def reserve(what: str) -> dict[str, Any]:
        return {"booked": what}

    async def give_back(_booked: dict[str, Any]) -> None: ...

    @app.task(retries=0, queue="travel", redact=["card.number"])
    async def book_trip(ctx: Context, order: int, card: dict[str, str]) -> None:
        _log.info("booking order %s", order)
        await ctx.step("flight", reserve, "flight", compensate=give_back)
        await ctx.step("hotel", reserve, "hotel", compensate=give_back)
        await ctx.progress(2, 3, "hotel reserved")
        _log.error("no car left at the airport for %s", card["owner"])
        raise Fail("no car left")

    @app.task(retries=0, queue="billing")
    async def charge_card(order_id: int, email: str) -> None:
        if order_id not in bank_answers:
            raise TimeoutError(f"the bank did not answer about order {order_id} of {email}")

    @app.task(retries=5, backoff=[3600.0], queue="billing")
    async def send_invoice(order_id: int) -> None:
        raise ConnectionError(f"mail.example.com refused the invoice of order {order_id}")


def _declare_what_asks(app: Holdfast) -> None:
    @app.task()
    async def refund(ctx: Context, order_id: int, amount: int) -> str:
        decision = await ctx.approval(
            "large refund", question=f"Refund {amount} € of order {order_id}?",
            facts={"amount": amount, "customer": "ana@example.com", "risk": "low"}, approvers=["ann", "cleo"], bulk=True,
        )  # fmt: skip
        return str(decision.decided_by)

    @app.task()
    async def change_plan(ctx: Context, tenant: str) -> None:
        before, after = {"plan": "small", "seats": 5}, {"plan": "large", "seats": 50}
        await ctx.approval(
            "plan", question=f"Change the plan of {tenant}?", facts={"before": before, "after": after, "monthly": "1,200 €"},
            approvers=["ann", "ben", "cleo"], quorum=2, expires_in=7200,
        )  # fmt: skip


def at_work(place: Place) -> dict[str, list[str]]:
    """Let the shop have been at work; answers what there is to see, by the paths that show one of it."""
    tasks, machine = place.app.tasks, place.machine
    trip = tasks["book_trip"].using(label="Trip to Lisbon · ana@example.com", tenant="acme", tags=["vip"])
    failed = trip.enqueue(20411, {"number": "4111-1111-1111-1111", "owner": "Ana"})
    invoice = tasks["charge_card"].using(label="order 4711 · ana@example.com", tenant="acme")
    invoice.enqueue(4711, "ana@example.com")
    for number in range(SEVERAL):
        tasks["charge_card"].using(tenant="globex").enqueue(5000 + number, f"customer{number}@example.com")
        tasks["send_mail"].using(tenant="acme" if number % 3 else None).enqueue(f"{number}@example.com")
    tasks["send_invoice"].enqueue(77)
    tasks["refund"].using(label="refund of order 42").enqueue(42, 900)
    plan = tasks["change_plan"].using(requested_by="agent-7").enqueue("acme")
    over = tasks["change_plan"].enqueue("initech")
    mail = tasks["send_mail"]
    place.app.enqueue_many(chain(mail.job("a@example.com"), mail.using(label="second").job("b@example.com")))
    place.drain()
    approval = str(_approval_of(machine, plan.id))
    machine.run("select holdfast.decide(%s, 'ben', 'approve', null, null, null)", approval)
    machine.run(
        "select holdfast.decide(%s, 'ben', 'deny', 'they still pay', null, null)",
        _approval_of(machine, over.id),
    )
    _by_hand(machine)
    return {
        JOB: [str(failed.id)],
        OPERATION: [_operation(place)],
        "/approvals/{approval_id}": [approval],
        "/queues/{name:path}": ["billing"],
        "/schedules/{name:path}": ["nightly report"],
        "/usage/{tenant:path}": ["acme"],
        "/activity/webhooks/{delivery_id}": [str(deliver(machine))],
    }


def _approval_of(machine: Machine, job_id: Any) -> Any:
    return machine.value("select approval_id from holdfast.job where id = %s", job_id)


def _by_hand(machine: Machine) -> None:
    """Bring about what would take time."""
    machine.register("t", queue="reports")
    machine.job_in(Status.RUNNING, tenant="acme", label="import of 12,000 rows")
    machine.job_in(Status.CANCELLED)
    machine.job_in(Status.WAITING)
    for number in range(4):
        machine.enqueue("t", {"n": number}, priority=number)
    machine.worker("web-1.example.com:4711")
    machine.run("select holdfast.pause_queue('reports', 'ann', 'the printer is on fire', null)")
    nightly = {
        "name": "nightly report",
        "task": "t",
        "cron": "0 2 * * *",
        "tz": "Europe/Lisbon",
        "payload": {"kind": "all"},
    }
    machine.run("select holdfast.create_schedule(%s)", Jsonb(nightly))
    watched(machine)
    machine.run("select holdfast.set_quota('acme', null, 'month', 'enqueued', 20, 1000)")
    project_all(machine)


def _operation(place: Place) -> str:
    """Let somebody run a few failed jobs again."""
    form = {
        "action": "retry",
        "q": "task:charge_card tenant:globex",
        "number": str(SEVERAL),
        "counted": "true",
        "reason": "the bank is back",
    }
    with place.client("ben") as client:
        answer = client.post("/operations/new", data=form)
    found = re.fullmatch(r"/operations/([0-9a-f-]{36})", answer.headers["location"])
    assert found is not None, answer.headers
    return found[1]
