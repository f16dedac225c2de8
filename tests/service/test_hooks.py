"""Hooks of the application that serves ours: its rule narrows and never widens, and what it says of a job is text."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias
from uuid import uuid4

import httpx
import psycopg
import pytest

from dashboard.all_pages import JOB, addresses
from holdfast import Configuration, Holdfast
from holdfast.domain.access import Principal, Role
from holdfast.interfaces.http.asgi import all_operations, asgi
from holdfast.interfaces.http.hooks import Hooks, JobFacts, JobLink, JobPanel
from service.asking import leave_failed, problem
from service.house import MANY, OWN_PAGE, settings

Browsing: TypeAlias = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]
SECRET = "nobody's business"
REFUSED = (403, "forbidden")


@pytest.fixture
def browsing(shop: Holdfast) -> Browsing:
    """Come as somebody to a service with hooks: `async with browsing(Role.ADMIN, authorize=…) as browser: …`."""

    @asynccontextmanager
    async def browsing(
        role: Role = Role.ADMIN, flags: dict[str, str] | None = None, **hooks: Any
    ) -> AsyncIterator[httpx.AsyncClient]:
        async def authenticate(_request: object) -> Principal:
            return Principal.of_role("ann", role)

        known = settings(**MANY, **(flags or {}))
        served = asgi(shop, authenticate=authenticate, settings=known, hooks=Hooks(**hooks))
        transport = httpx.ASGITransport(served)
        async with httpx.AsyncClient(
            transport=transport, base_url="https://jobs.test", headers=OWN_PAGE
        ) as browser:
            yield browser
        await shop.link.aclose()

    return browsing


@pytest.fixture
def job(shop: Holdfast) -> str:
    made = shop.tasks["greet"].using(label=SECRET, tenant="acme", tags=["vip"]).enqueue("<b>Ann</b>")
    return str(made.id)


async def nobody(_principal: Principal, _action: str, _job: JobFacts | None) -> bool:
    return False


async def everybody(_principal: Principal, _action: str, _job: JobFacts | None) -> bool:
    return True


# -- authorize -------------------------------------------------------------------------------------------------------------

READS = [each for each in all_operations() if each.body is None and each.method in {"GET", "DELETE"}]


@pytest.mark.parametrize("operation", READS, ids=lambda each: each.name)
async def test_every_operation_asks_the_application(browsing: Browsing, job: str, operation: Any) -> None:
    given = {name: "1" if kind is int else str(uuid4()) for name, kind in operation.parameters.items()}
    path = operation.path.format(**{**given, **({"job_id": job} if "job_id" in given else {})})

    async with browsing(authorize=nobody) as browser:
        query = {"q": "x", "action": "cancel"} if operation.name == "preview_operation" else {}
        answer = await browser.request(operation.method, f"/api/v1{path}", params=query)

    assert problem(answer) == REFUSED
    assert answer.json()["detail"] == "this application does not let you do that"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/jobs", {"task": "greet", "payload": {"name": "x"}}),
        ("/jobs/{job}/cancel", {"reason": "because"}),
        ("/jobs/{job}/retry", {"reason": "because"}),
        ("/jobs/{job}/reveal", {"reason": "because"}),
        ("/queues/default/pause", {"reason": "because"}),
    ],
)
async def test_nothing_is_done_that_the_application_refuses(
    browsing: Browsing, shop: Holdfast, job: str, path: str, body: dict[str, Any]
) -> None:
    async with browsing(authorize=nobody) as browser:
        answer = await browser.post(f"/api/v1{path.format(job=job)}", json=body)

    assert problem(answer) == REFUSED
    assert shop.job(job).status == "PENDING"  # type: ignore[union-attr]


async def test_no_page_shows_a_job_that_the_application_refuses(browsing: Browsing, job: str) -> None:
    async with browsing(authorize=nobody) as browser:
        found = {path: (await browser.get(path)).text for path in addresses({JOB: [job]})}

    assert len(found) > 20
    assert [path for path, text in found.items() if "nobody&#39;s business" in text or SECRET in text] == []


async def test_no_form_does_what_the_application_refuses(
    browsing: Browsing, shop: Holdfast, job: str
) -> None:
    async with browsing(authorize=nobody) as browser:
        await browser.post(f"/jobs/{job}/cancel", data={"reason": "because"})

    assert shop.job(job).status == "PENDING"  # type: ignore[union-attr]


async def test_a_stream_asks_the_application(browsing: Browsing, job: str) -> None:
    async with browsing(authorize=nobody) as browser:
        answers = [
            problem(await browser.get("/api/v1/events", params=asked))
            for asked in ({"job": job}, {"tenant": "acme"})
        ]

    assert answers == [REFUSED, REFUSED]


async def test_the_application_cannot_allow_what_a_role_does_not(browsing: Browsing, job: str) -> None:
    asked = []

    async def authorize(_principal: Principal, action: str, _job: JobFacts | None) -> bool:
        asked.append(action)
        return True

    async with browsing(Role.VIEWER, authorize=authorize) as browser:
        answer = await browser.post(f"/api/v1/jobs/{job}/cancel", json={"reason": "because"})

    assert (problem(answer), asked) == (REFUSED, [])


async def test_the_application_is_asked_once_who_does_what_with_which_job(
    browsing: Browsing, job: str
) -> None:
    asked: list[Any] = []

    async def authorize(principal: Principal, action: str, job: JobFacts | None) -> bool:
        asked.append((principal.name, action, job and (str(job.id), job.status, job.tags, job.payload)))
        return job is None or job.status == "PENDING"  # a second question would be refused

    async with browsing(authorize=authorize) as browser:
        answer = await browser.post(f"/api/v1/jobs/{job}/cancel", json={"reason": "because"})

    assert answer.status_code == 200
    assert asked == [("ann", "cancel_job", (job, "PENDING", ("vip",), {"name": "<b>Ann</b>"}))]


async def test_a_list_leaves_out_what_may_not_be_shown(browsing: Browsing, job: str) -> None:
    async def authorize(_principal: Principal, _action: str, job: JobFacts | None) -> bool:
        return job is None or job.tenant != "acme"

    async with browsing(authorize=authorize) as browser:
        listed = (await browser.get("/api/v1/jobs")).json()["items"]

    assert [each["label"] for each in listed] == [None]


@pytest.mark.parametrize("answer", [None, 1, "yes", RuntimeError("no words")])
async def test_what_is_no_clear_yes_is_a_no_and_an_error_is_logged(
    browsing: Browsing, job: str, caplog: pytest.LogCaptureFixture, answer: Any
) -> None:
    async def authorize(*_asked: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    with caplog.at_level(logging.ERROR, "holdfast"):
        async with browsing(authorize=authorize) as browser:
            refused = await browser.get(f"/api/v1/jobs/{job}")

    assert problem(refused) == REFUSED
    assert ("hook:failed" in caplog.messages) is isinstance(answer, Exception)


async def test_a_button_that_the_application_refuses_says_so(browsing: Browsing, job: str) -> None:
    async def authorize(_principal: Principal, action: str, _job: JobFacts | None) -> bool:
        return action != "cancel_job"

    async with browsing(authorize=authorize) as browser:
        page = (await browser.get(f"/jobs/{job}")).text
    async with browsing(authorize=everybody) as browser:
        other = (await browser.get(f"/jobs/{job}")).text

    assert "Stop: this application does not let you." in page
    assert "does not let you" not in other


async def test_the_form_that_deletes_asks_about_its_job(
    browsing: Browsing, owner: psycopg.Connection, job: str
) -> None:
    asked: list[str] = []

    async def authorize(_principal: Principal, action: str, job: JobFacts | None) -> bool:
        asked.append(f"{action} of {job and job.tenant}")
        return True

    leave_failed(owner, "greet")

    async with browsing(authorize=authorize) as browser:
        for typed in ("", "delete"):
            await browser.post(f"/jobs/{job}/delete", data={"reason": "because", "typed": typed})

    assert asked == ["delete_job of acme"] * 2


# -- words, links and panels -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "href",
    ["https://admin.test/orders/1", "http://admin.test", "/admin/orders/1?x=1#y", "https://x.test/%0a"],
)
def test_links_lead_to_other_pages(href: str) -> None:
    assert JobLink("x", href).is_safe


@pytest.mark.parametrize(
    "href",
    [
        "javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\nscript:alert(1)", " javascript:alert(1)", "data:text/html,x", "//evil.test",
        "/\\evil.test", "/\t/evil.test", "https:evil", "http://", "orders/1", "", "vbscript:x", "file:///etc/passwd", "http://[", "\x00/x",
    ],
)  # fmt: skip
def test_links_lead_nowhere_else(href: str) -> None:
    assert not JobLink("x", href).is_safe


async def test_a_job_is_told_in_the_applications_words_and_has_its_links(
    browsing: Browsing, job: str
) -> None:
    def format_args(job: JobFacts) -> str:
        return f"greets {(job.payload or {})['name']}"

    def job_links(job: JobFacts) -> list[JobLink]:
        return [JobLink("<i>Order</i>", f'/admin?"{job.tenant}'), JobLink("bad", "javascript:alert(1)")]

    async with browsing(format_args=format_args, job_links=job_links) as browser:
        page = (await browser.get(f"/jobs/{job}")).text
        listed = (await browser.get("/jobs")).text

    assert "greets &lt;b&gt;Ann&lt;/b&gt;" in page
    assert "greets &lt;b&gt;Ann&lt;/b&gt;" in listed
    assert 'href="/admin?&#34;acme"' in page
    assert "&lt;i&gt;Order&lt;/i&gt;" in page
    assert "javascript:" not in page
    assert "greets <b>" not in page + listed


async def test_a_hook_that_fails_leaves_the_page_as_it_is_without(
    browsing: Browsing, job: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(_job: JobFacts) -> Any:
        raise RuntimeError("no words")

    async with browsing(format_args=fails, job_links=fails) as browser:
        answers = [await browser.get(f"/jobs/{job}"), await browser.get("/jobs")]

    assert all(answer.status_code == 200 and '<p class="failed">' not in answer.text for answer in answers)
    assert "nobody&#39;s business" in answers[0].text
    assert "hook:failed" in caplog.messages


async def test_hooks_see_no_more_of_a_job_than_who_looks(browsing: Browsing, job: str) -> None:
    seen: list[Any] = []

    def format_args(job: JobFacts) -> str:
        seen.append(job.payload)
        return "words"

    def job_links(job: JobFacts) -> list[JobLink]:
        seen.append(job.payload)
        return []

    async with browsing(Role.VIEWER, format_args=format_args, job_links=job_links) as browser:
        page = (await browser.get(f"/jobs/{job}")).text
        listed = (await browser.get("/jobs")).text

    assert seen == [None]  # of the links: there are no words for what is hidden
    assert "words" not in page.split("<main")[1].split("</main")[0]
    assert "Payloads are not shown to you in lists" in listed


async def test_a_panel_shows_what_it_reads_as_text(browsing: Browsing, job: str) -> None:
    async def read(principal: Principal, job: JobFacts) -> dict[str, object]:
        return {
            "<u>Plan</u>": "<script>alert(1)</script>",
            "asked by": principal.name,
            "order": JobLink("Order 7", "/orders/7"),
            "bad": JobLink("Bad", "javascript:alert(1)"),
            "tenant": job.tenant,
        }

    async with browsing(panels=[JobPanel("customer", "The customer", read)]) as browser:
        page = (await browser.get(f"/jobs/{job}")).text
        alone = (await browser.get(f"/jobs/{job}", params={"panel": "own_customer"})).text

    assert "The customer" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "&lt;u&gt;Plan&lt;/u&gt;" in page
    assert '<a href="/orders/7" rel="noopener noreferrer">Order 7</a>' in alone
    assert "javascript:" not in page
    assert "<script>alert" not in page


async def test_a_panel_fails_alone(browsing: Browsing, job: str) -> None:
    async def fails(_principal: Principal, _job: JobFacts) -> dict[str, object]:
        raise RuntimeError(SECRET)

    async def reads(_principal: Principal, _job: JobFacts) -> dict[str, object]:
        return {"plan": "pro"}

    panels = [JobPanel("broken", "Broken", fails), JobPanel("whole", "Whole", reads)]
    async with browsing(panels=panels) as browser:
        page = await browser.get(f"/jobs/{job}")

    assert page.status_code == 200
    assert page.text.count('<p class="failed">') == 1
    assert "Broken" in page.text
    assert "nobody&#39;s business</p>" not in page.text
    assert "<dd>pro</dd>" in page.text


@pytest.mark.parametrize("name", ["", "A", "a b", "a/b", "x" * 50])
def test_a_panel_has_a_name_that_can_stand_in_an_address(name: str) -> None:
    with pytest.raises(Configuration):
        JobPanel(name, "x", nobody)  # type: ignore[arg-type]


def test_two_panels_do_not_have_one_name() -> None:
    with pytest.raises(Configuration):
        Hooks(panels=[JobPanel("a", "x", nobody), JobPanel("a", "y", nobody)])  # type: ignore[arg-type]


# -- HOLDFAST_HIDE_ARGS ----------------------------------------------------------------------------------------------------

HIDING = {"hide_args": "1"}


@pytest.mark.parametrize("role", Role)
async def test_where_args_are_hidden_everybody_says_why_first(
    browsing: Browsing, shop: Holdfast, job: str, role: Role
) -> None:
    async with browsing(role, HIDING) as browser:
        before = (await browser.get(f"/api/v1/jobs/{job}")).json()
        page = (await browser.get(f"/jobs/{job}", params={"tab": "payload"})).text
        listed = (await browser.get("/jobs", params={"columns": "label,payload.name,args"})).text
        await browser.post(f"/jobs/{job}/reveal", data={"reason": "a complaint"})
        after = (await browser.get(f"/api/v1/jobs/{job}")).json()

    assert (before["payload"], after["payload"]) == (None, {"name": "<b>Ann</b>"})
    assert "Payloads are hidden here until somebody says why." in page
    assert "Ann" not in page + listed
    assert listed.count("Payloads are not shown to you in lists") >= 2
    async with browsing() as browser:
        (action,) = (await browser.get("/api/v1/audit", params={"target": job})).json()["items"]
    assert (action["actor"], action["action"], action["reason"]) == ("ann", "job.reveal", "a complaint")


async def test_where_args_are_not_hidden_an_operator_sees_them(browsing: Browsing, job: str) -> None:
    async with browsing(Role.OPERATOR) as browser:
        shown = (await browser.get(f"/api/v1/jobs/{job}")).json()
        listed = (await browser.get("/jobs", params={"columns": "label,payload.name"})).text

    assert shown["payload"] == {"name": "<b>Ann</b>"}
    assert "&lt;b&gt;Ann" in listed
