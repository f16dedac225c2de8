"""The list of jobs: what it finds and counts, who may choose, and that it stays still while jobs come in."""

import re
from html import unescape
from uuid import UUID

import httpx
import pytest

from dashboard.conftest import Looking
from holdfast.domain.access import Role
from holdfast.domain.states import Status
from sql.support import Machine

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


@pytest.fixture
def jobs(machine: Machine) -> dict[str, UUID]:
    """Give a job in line, one that failed, one that is another tenant's."""
    machine.register("charge", "greet", queue="billing")
    return {
        "waiting": machine.enqueue("charge", {"order": {"id": 42}}, label="invoice 204", tenant="acme"),
        "failed": machine.job_in(Status.FAILED, "charge", tenant="acme", tags=None),
        "foreign": machine.job_in(Status.COMPLETED, "greet", tenant="globex", label="of globex"),
    }


async def seen(browser: httpx.AsyncClient, path: str = "/jobs", **query: str) -> str:
    answer = await browser.get(path, params=query or None)
    assert answer.status_code == 200, answer.text
    return answer.text


def rows(page: str) -> list[UUID]:
    return [UUID(found) for found in re.findall(r'<tr id="job-([^"]+)"', page)]


def chips(page: str) -> dict[str, str]:
    found = re.findall(r'</svg>([\w ]+) <span class="amount">([^<]+)</span>', page)
    return {word: amount for word, amount in found if amount != "0"}


def link(page: str, label: str) -> str:
    """Find where a link leads, by its words."""
    found = re.search(rf'<a [^>]*href="([^"]+)"[^>]*>\s*(?:<svg.*?</svg>)?{re.escape(label)}', page)
    assert found, f"no link {label!r}"
    return unescape(found[1])


async def test_it_shows_the_newest_first_with_what_happens_and_counts_by_state(
    looking: Looking, jobs: dict[str, UUID]
) -> None:
    async with looking() as browser:
        page = await seen(browser)

    assert rows(page) == [jobs["foreign"], jobs["failed"], jobs["waiting"]]
    assert chips(page) == {"Pending": "1", "Completed": "1", "Failed": "1"}
    assert "Boom: no" in page
    assert "No live worker serves queue billing" in page
    assert "invoice 204" in page


async def test_a_chip_adds_its_state_to_the_search_and_takes_it_away_again(
    looking: Looking, jobs: dict[str, UUID]
) -> None:
    async with looking() as browser:
        failed = await seen(browser, link(await seen(browser, q="task:charge"), "Failed"))
        both = await seen(browser, link(failed, "Pending"))
        pending = await seen(browser, link(both, "Failed"))

    assert (rows(failed), rows(both)) == ([jobs["failed"]], [jobs["failed"], jobs["waiting"]])
    assert rows(pending) == [jobs["waiting"]]
    assert chips(both) == chips(failed) == {"Pending": "1", "Failed": "1"}
    assert 'value="status:pending task:charge"' in pending


async def test_a_search_finds_by_what_a_job_was_given(looking: Looking, jobs: dict[str, UUID]) -> None:
    async with looking() as browser:
        page = await seen(browser, q="payload.order.id:42", columns="state,payload.order.id,payload.order")

    assert rows(page) == [jobs["waiting"]]
    assert '<span class="value">42</span>' in page
    assert "{&#34;id&#34;: 42}" in page
    assert "column-queue" not in page


async def test_a_viewer_chooses_nothing_and_sees_no_payload_in_the_list(
    looking: Looking, jobs: dict[str, UUID]
) -> None:
    async with looking(Role.VIEWER) as browser:
        page = await seen(browser, columns="payload.order.id")

    assert rows(page) == [jobs["foreign"], jobs["failed"], jobs["waiting"]]
    assert 'name="pick"' not in page
    assert 'id="batch"' not in page
    assert '<span class="value">42</span>' not in page


async def test_somebody_of_a_tenant_sees_and_counts_its_jobs_only(
    looking: Looking, jobs: dict[str, UUID]
) -> None:
    async with looking(tenant="acme") as browser:
        page = await seen(browser)
        asked = await seen(browser, q="tenant:globex")

    assert rows(page) == [jobs["failed"], jobs["waiting"]]
    assert chips(page) == {"Pending": "1", "Failed": "1"}
    assert "globex" not in page
    assert rows(asked) == []
    assert "greet" not in page  # nor do names of tasks complete


async def test_jobs_that_come_are_counted_and_the_list_stays_as_it_is(
    looking: Looking, jobs: dict[str, UUID], machine: Machine
) -> None:
    async with looking() as browser:
        opened = await seen(browser)
        again = re.search(r'hx-get="([^"]*panel=job_list)"', opened)
        assert again
        machine.enqueue("charge")
        machine.enqueue("charge")
        morphed = await seen(browser, unescape(again[1]))
        shown = await seen(browser, link(morphed, "2 new"))

    assert rows(morphed) == rows(opened)
    assert len(rows(shown)) == len(rows(opened)) + 2
    assert "new —" not in shown


async def test_a_panel_alone_is_the_panel_of_the_page(looking: Looking, jobs: dict[str, UUID]) -> None:
    async with looking() as browser:
        page = await seen(browser, q="task:charge")
        chips_alone = await seen(browser, q="task:charge", panel="state_chips")

    assert chips_alone in page


async def test_older_jobs_come_on_the_next_page(looking: Looking, machine: Machine) -> None:
    machine.register("charge")
    machine.enqueue_many([{"task": "charge", "payload": {}} for _ in range(60)])

    async with looking() as browser:
        first = await seen(browser)
        second = await seen(browser, link(first, "Older"))

    assert (len(rows(first)), len(rows(second))) == (50, 10)
    assert not set(rows(first)) & set(rows(second))
    assert rows(await seen_newest(looking, second)) == rows(first)


async def seen_newest(looking: Looking, page: str) -> str:
    async with looking() as browser:
        return await seen(browser, link(page, "Newest"))


async def test_the_usual_week_is_left_only_when_somebody_says_so(looking: Looking, machine: Machine) -> None:
    machine.register("charge")
    moment: UUID = machine.value("select holdfast.uuid_at(holdfast.clock() - interval '30 days')")
    old = UUID(int=moment.int | 7 << 76 | 2 << 62)  # as ids of version 7 are
    machine.enqueue_many([{"id": str(old), "task": "charge", "payload": {}, "label": "long ago"}])

    async with looking() as browser:
        week = await seen(browser)
        older = await seen(browser, link(week, "Search older than 7 days"))
        word = await seen(browser, q="label:long", range="all")
        dated = await seen(browser, q="since:60d")

    assert (rows(week), rows(older), rows(word), rows(dated)) == ([], [old], [old], [old])
    assert "Nothing fits." in week
    assert "as the search says" in dated


async def test_an_empty_database_teaches_how_to_enqueue(looking: Looking) -> None:
    async with looking() as browser:
        page = await seen(browser)

    assert "No job has ever been enqueued here." in page
    assert "greet.enqueue(" in page


async def test_a_search_that_finds_nothing_is_told_in_words(looking: Looking, jobs: dict[str, UUID]) -> None:
    async with looking() as browser:
        page = await seen(browser, q='status:retry task:charge "two words"', range="24h")
        cleared = await seen(browser, link(page, "Clear the search"))

    assert "Jobs that are retry, whose task is charge, that are known by “two words”" in page
    assert "Search older than 24 hours" in page
    assert len(rows(cleared)) == 3


async def test_a_search_that_cannot_be_understood_says_where(looking: Looking, jobs: dict[str, UUID]) -> None:
    async with looking() as browser:
        page = await seen(browser, q="statsu:failed")

    assert "did you mean status:?" in page
    assert rows(page) == []


async def test_values_of_jobs_are_text_and_nothing_else(looking: Looking, machine: Machine) -> None:
    machine.register("charge")
    machine.register(HOSTILE[:100])
    machine.enqueue(
        HOSTILE[:100], {"x": HOSTILE}, label=HOSTILE, tenant=HOSTILE, queue=HOSTILE, subject=HOSTILE
    )

    async with looking() as browser:
        page = await seen(
            browser,
            q=f'subject:"{HOSTILE.replace(chr(34), chr(92) + chr(34))}"',
            columns="label,tenant,queue,subject,payload.x",
        )

    assert len(rows(page)) == 1
    assert "<script>alert" not in page
    assert "<img" not in page


@pytest.mark.parametrize(
    "query",
    [
        {"after": "nonsense"}, {"after": ""}, {"top": "ffffffff-ffff-ffff-ffff-ffffffffffff"}, {"range": "ever"}, {"columns": ",,x,payload."},
        {"q": "a" * 1000}, {"q": "tag:x " * 20},
    ],
)  # fmt: skip
async def test_an_address_that_somebody_edited_is_answered(
    looking: Looking, jobs: dict[str, UUID], query: dict[str, str]
) -> None:
    async with looking() as browser:
        answer = await browser.get("/jobs", params=query)

    assert answer.status_code == 200
    assert "incident" not in answer.text
