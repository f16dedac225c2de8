"""The approvals page: whose they are, what a card says, and that a decision is about what was seen."""

import html
import re
from uuid import UUID

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from dashboard.conftest import Looking
from holdfast import Holdfast
from holdfast.domain.access import Principal, Role
from holdfast.interfaces.http.asgi import asgi
from holdfast.store.pulse import read_pulse
from service.house import MANY, OWN_PAGE, settings
from sql.asking import asked, decide
from sql.support import Machine

HOSTILE = '<img src=x onerror="alert(1)">'


@pytest.fixture(autouse=True)
def _task(machine: Machine) -> None:
    machine.register()


def card_of(page: httpx.Response) -> str:
    return page.text.partition('id="approval-card"')[2].partition("</section>")[0]


def version_of(page: httpx.Response) -> str:
    found = re.search(r'name="version" value="([0-9a-f]+)"', page.text)
    assert found is not None, page.text
    return found[1]


async def test_approvals_stand_under_who_may_decide_them(machine: Machine, looking: Looking) -> None:
    asked(machine, question="Mine?", approvers=["Ann"])
    asked(machine, question="Anybody's?", approvers=[])
    asked(machine, question="Ben's?", approvers=["ben"])
    over = asked(machine, question="Over?", approvers=["ben"])
    decide(machine, over.approval_id, "ben")

    async with looking(Role.APPROVER, name="ann") as browser:
        page = await browser.get("/approvals")

    yours, _, rest = page.text.partition("Others&#39;")
    others, _, decided = rest.partition(">Decided")
    assert "Mine?" in yours
    assert "Anybody&#39;s?" in yours
    assert "Ben&#39;s?" in others
    assert "Over?" in decided
    assert "Approved by ben" in decided


async def test_what_waits_is_counted_on_every_page(machine: Machine, looking: Looking) -> None:
    asked(machine, approvers=["ann"])
    asked(machine, approvers=["ben"])
    half = asked(machine, approvers=["ann", "ben"], quorum=2)
    decide(machine, half.approval_id, "ANN")

    async with looking(Role.APPROVER, name="ann") as browser:
        queues = await browser.get("/queues")
        alone = await browser.get("/approvals?panel=approval_badge")
    async with looking(Role.VIEWER, name="ann") as browser:
        viewer = await browser.get("/queues")

    assert "<title>(1) Queues" in queues.text
    assert 'data-waiting="1"' in alone.text
    assert alone.text.strip() in queues.text
    assert "<title>Queues" in viewer.text


async def test_a_card_says_what_is_asked_and_what_happens(machine: Machine, looking: Looking) -> None:
    one = asked(
        machine, question="Refund 900 €?", facts={"amount": 900, "big": 12345678901234567890},
        approvers=[], quorum=2, expires_in=3600, on_expiry="deny",
    )  # fmt: skip
    decide(machine, one.approval_id, "ben", reason="known customer")

    async with looking(name="ann") as browser:
        card = card_of(await browser.get(f"/approvals/{one.approval_id}"))

    for words in (
        "Refund 900 €?", "12345678901234567890", "then it is denied", "The job goes on from here at once",
        "So far 1 of 2", "known customer", f"/jobs/{one.job_id}",
    ):  # fmt: skip
        assert words in card


async def test_a_panel_alone_is_the_panel_of_the_page(machine: Machine, looking: Looking) -> None:
    one = asked(machine, approvers=[])

    async with looking(name="ann") as browser:
        page = await browser.get(f"/approvals/{one.approval_id}")
        panels = [
            await browser.get(f"/approvals/{one.approval_id}?panel={name}")
            for name in ("approval_list", "approval_card")
        ]

    for panel in panels:
        assert panel.text.strip() in page.text


async def test_the_first_card_stays_with_its_approval(machine: Machine, looking: Looking) -> None:
    asked(machine, approvers=[], question="Later?")
    soon = asked(machine, approvers=[], question="Soon?", expires_in=60)

    async with looking(name="ann") as browser:
        page = await browser.get("/approvals")
        card = f"/approvals?panel=first_card&card={soon.approval_id}"
        decide(machine, soon.approval_id, "ben")
        later = await browser.get(card)

    assert f'hx-get="{html.escape(card)}"' in page.text
    assert 'id="first-card"' in later.text  # in the same place, or nothing could be put there again
    assert "Soon?" in later.text
    assert "Already approved by ben" in later.text


async def test_approving_what_was_seen_lets_the_job_go_on(machine: Machine, looking: Looking) -> None:
    one = asked(machine, approvers=["ann"])

    async with looking(Role.APPROVER, name="ann") as browser:
        page = await browser.get(f"/approvals/{one.approval_id}")
        done = await browser.post(
            f"/approvals/{one.approval_id}/approve", data={"version": version_of(page), "reason": ""}
        )
        after = await browser.get(done.headers["location"])

    assert (done.status_code, done.headers["location"]) == (303, "/approvals")
    assert "Approved: Refund 900 €?" in after.text
    assert machine.value("select decision from holdfast.approval") == "approved"
    assert machine.value("select action from holdfast.audit") == "approval.approve"


async def test_a_decision_about_something_else_counts_for_nothing(machine: Machine, looking: Looking) -> None:
    one = asked(machine, approvers=[])

    async with looking(name="ann") as browser:
        done = await browser.post(f"/approvals/{one.approval_id}/approve", data={"version": "0" * 64})
        after = await browser.get(done.headers["location"])

    assert "It has changed since you looked" in after.text
    assert machine.value("select decision from holdfast.approval") is None


async def test_denying_needs_a_reason(machine: Machine, looking: Looking) -> None:
    one = asked(machine, approvers=[])

    async with looking(name="ann") as browser:
        version = version_of(await browser.get(f"/approvals/{one.approval_id}"))
        silent = await browser.post(
            f"/approvals/{one.approval_id}/deny", data={"version": version, "reason": " "}
        )
        said = await browser.post(
            f"/approvals/{one.approval_id}/deny", data={"version": version, "reason": "too much"}
        )

    assert "reason" in silent.text
    assert silent.status_code == 422
    assert said.status_code == 303
    assert machine.value("select decision || ': ' || reason from holdfast.approval") == "denied: too much"


async def test_who_comes_second_sees_who_was_first(machine: Machine, looking: Looking) -> None:
    one = asked(machine, approvers=[])

    async with looking(name="ann") as browser:
        version = version_of(await browser.get(f"/approvals/{one.approval_id}"))
        decide(machine, one.approval_id, "ben", "deny", "not today")
        late = await browser.post(f"/approvals/{one.approval_id}/approve", data={"version": version})
        after = await browser.get(late.headers["location"])

    assert late.headers["location"] == f"/approvals/{one.approval_id}"
    assert "Already denied by ben" in card_of(after)
    assert "not today" in card_of(after)
    assert "/approve" not in card_of(after)


@pytest.mark.parametrize(
    ("role", "name", "words"),
    [
        (Role.VIEWER, "ann", "Your role looks on"),
        (Role.APPROVER, "carl", "Only ann may decide"),
        (Role.APPROVER, "robo", "You asked for this job"),
    ],
)
async def test_who_may_not_decide_reads_why_and_has_no_button(
    machine: Machine, looking: Looking, role: Role, name: str, words: str
) -> None:
    approvers = [] if name == "robo" else ["ann"]
    one = asked(machine, enqueued={"requested_by": "robo"}, approvers=approvers)

    async with looking(role, name=name) as browser:
        card = card_of(await browser.get(f"/approvals/{one.approval_id}"))
        version = machine.value("select bound_hash from holdfast.approval")
        await browser.post(f"/approvals/{one.approval_id}/approve", data={"version": version})

    assert words in card
    assert "<form" not in card
    assert machine.value("select decision from holdfast.approval") is None


async def test_another_tenants_approvals_are_not_there(machine: Machine, looking: Looking) -> None:
    one = asked(machine, enqueued={"tenant": "globex"}, question="Secret?", approvers=[])

    async with looking(Role.APPROVER, tenant="acme", name="ann") as browser:
        listed = await browser.get("/approvals")
        shown = await browser.get(f"/approvals/{one.approval_id}")

    assert "Secret?" not in listed.text + shown.text
    assert "<title>Approvals" in listed.text


async def test_what_jobs_say_stays_text(machine: Machine, looking: Looking) -> None:
    one = asked(
        machine, question=HOSTILE, facts={HOSTILE: HOSTILE, "deep": {"x": [HOSTILE]}, "before": {HOSTILE: 1}, "after": {"b": HOSTILE}},
        approvers=[HOSTILE],
    )  # fmt: skip

    async with looking(name=HOSTILE) as browser:
        page = await browser.get(f"/approvals/{one.approval_id}")

    assert "<img" not in page.text
    assert "&lt;img" in page.text


@pytest.mark.parametrize("approval_id", ["nonsense", str(UUID(int=5))])
async def test_what_nobody_asked_is_not_found(looking: Looking, approval_id: str) -> None:
    async with looking() as browser:
        page = await browser.get(f"/approvals/{approval_id}")

    assert "There is no such thing" in page.text


async def test_one_voice_of_several_is_told_to_open_pages(app: Holdfast, machine: Machine) -> None:
    one = asked(machine, approvers=[], quorum=2)
    before = await app.link.aperform_once(read_pulse())
    decide(machine, one.approval_id, "ben")

    after = await app.link.aperform_once(read_pulse())

    assert before["approvals"] != after["approvals"]
    await app.link.aclose()


async def test_under_a_prefix_everything_leads_within_it(app: Holdfast, machine: Machine) -> None:
    async def authenticate(_request: object) -> Principal:
        return Principal.of_role("ann", Role.ADMIN)

    one = asked(machine, approvers=[])
    service = asgi(app, authenticate=authenticate, settings=settings(**MANY))
    transport = httpx.ASGITransport(Starlette(routes=[Mount("/ops/jobs", service)]))
    async with httpx.AsyncClient(
        transport=transport, base_url="https://jobs.test/ops/jobs/", headers=OWN_PAGE
    ) as browser:
        pages = [
            await browser.get(path)
            for path in (
                "approvals",
                "queues",
                "queues/default",
                "schedules",
                "settings/keys",
                "settings/people",
            )
        ]
        version = version_of(await browser.get(f"approvals/{one.approval_id}"))
        done = await browser.post(f"approvals/{one.approval_id}/approve", data={"version": version})
    await app.link.aclose()

    for page in pages:
        links = re.findall(r'(?:href|src|action|hx-get)="(/[^"]*)"', page.text)
        assert len(links) > 10
        assert all(link.startswith("/ops/jobs/") for link in links)
    assert done.headers["location"] == "/ops/jobs/approvals"


async def test_an_empty_inbox_teaches_how_to_ask(looking: Looking) -> None:
    async with looking() as browser:
        page = await browser.get("/approvals")

    assert "Nothing waits for you." in page.text
    assert "ctx.approval(" in page.text


# -- together --------------------------------------------------------------------------------------------------------------


def picks_of(page: httpx.Response) -> list[str]:
    return re.findall(r'name="pick" value="([^"]+)"', page.text)


async def test_only_gates_that_say_so_can_be_ticked(machine: Machine, looking: Looking) -> None:
    bulk = asked(machine, question="Small?", approvers=["ann"], bulk=True)
    asked(machine, question="Large?", approvers=["ann"])
    asked(machine, question="Ben's?", approvers=["ben"], bulk=True)

    async with looking(Role.APPROVER, name="ann") as browser:
        page = await browser.get("/approvals")
    async with looking(Role.VIEWER, name="dan") as browser:
        viewer = await browser.get("/approvals")

    assert [pick.partition(".")[0] for pick in picks_of(page)] == [str(bulk.approval_id)]
    assert picks_of(viewer) == []


async def test_what_is_ticked_is_named_once_more_and_approved_with_one_word(
    machine: Machine, looking: Looking
) -> None:
    ones = [asked(machine, question=f"Refund {n} €?", approvers=["ann"], bulk=True) for n in range(3)]

    async with looking(Role.APPROVER, name="ann") as browser:
        ticked = picks_of(await browser.get("/approvals"))
        named = await browser.get("/approvals/together", params={"pick": ticked})
        seen = re.search(r'name="seen" value="([^"]+)"', named.text)
        assert seen is not None
        told = await browser.post("/approvals/together", data={"seen": seen[1], "reason": "small"})

    assert "Approve these 3?" in named.text
    assert [f"Refund {n} €?" in named.text for n in range(3)] == [True] * 3
    assert "3 approved" in told.text
    decided = machine.rows("select id, decision, decided_by, reason from holdfast.approval order by id")
    assert [tuple(row.values()) for row in decided] == [
        (one.approval_id, "approved", "ann", "small") for one in ones
    ]
    audit = machine.rows("select target, reason, data from holdfast.audit order by target")
    assert [tuple(row.values()) for row in audit] == [
        (str(one.approval_id), "small", {"together": 3}) for one in ones
    ]


async def test_who_loses_one_of_them_is_told_on_its_card_and_gets_the_others(
    machine: Machine, looking: Looking
) -> None:
    mine, theirs = (asked(machine, question=q, approvers=[], bulk=True) for q in ("Mine?", "Theirs?"))

    async with looking(name="ann") as browser:
        ticked = picks_of(await browser.get("/approvals"))
        decide(machine, theirs.approval_id, "ben", "deny", "no")
        told = await browser.post("/approvals/together", data={"seen": ",".join(ticked)})

    _, _, lost = told.text.partition("Theirs?")
    assert "1 approved, 1 not" in told.text
    assert "Already denied by ben" in lost.partition("</li>")[0]
    decisions = machine.rows("select decision from holdfast.approval order by id")
    assert [row["decision"] for row in decisions] == ["approved", "denied"]
    assert mine.approval_id != theirs.approval_id


async def test_a_gate_that_does_not_say_so_is_refused_whoever_sends_it(
    machine: Machine, looking: Looking
) -> None:
    alone = asked(machine, question="Large?", approvers=[])
    version = machine.value("select bound_hash from holdfast.approval")

    async with looking(name="ann") as browser:
        sent = f"{alone.approval_id}.{version}"
        named = await browser.get("/approvals/together", params={"pick": sent})
        told = await browser.post("/approvals/together", data={"seen": sent})
        nothing = [
            await browser.get("/approvals/together", params={"pick": pick})
            for pick in ("x", f"{'-' * 36}.ab")
        ]

    assert "does not let it be approved with others" in named.text
    assert 'name="seen"' not in named.text
    assert "0 approved, 1 not" in told.text
    assert ["Tick 1 to 100 approvals" in page.text for page in nothing] == [True, True]
    assert machine.value("select decision from holdfast.approval") is None


async def test_what_has_changed_since_it_was_ticked_is_not_approved(
    machine: Machine, looking: Looking
) -> None:
    one = asked(machine, approvers=[], bulk=True)

    async with looking(name="ann") as browser:
        sent = f"{one.approval_id}.{'0' * 64}"
        named = await browser.get("/approvals/together", params={"pick": sent})
        told = await browser.post("/approvals/together", data={"seen": sent})

    assert "It has changed since you looked" in named.text
    assert "What was shown is not what is asked" in told.text
    assert machine.value("select decision from holdfast.approval") is None


async def test_who_only_looks_on_approves_nothing_together(machine: Machine, looking: Looking) -> None:
    one = asked(machine, approvers=[], bulk=True)
    version = machine.value("select bound_hash from holdfast.approval")

    async with looking(Role.VIEWER) as browser:
        refused = await browser.post("/approvals/together", data={"seen": f"{one.approval_id}.{version}"})

    assert refused.status_code == 303
    assert machine.value("select decision from holdfast.approval") is None
