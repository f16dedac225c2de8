import asyncio
import json
from typing import Any

import httpx

from apps._world.serving import served
from apps.workspace_access import tasks
from apps.workspace_access.app import app
from apps.workspace_access.story import ADVISORS_EMAIL, ADVISORS_PHONE, Given
from apps.workspace_access.tests.product import Product
from apps.workspace_access.web import web

ALL = ["advisor.matched", "advisor.finalized", "advisor.workspace_ready", "advisor.left"]


async def read(url: str, given: Given, count: int, after: int | None = None) -> list[dict[str, str]]:
    """Read so many events of a project from a real server, and hang up."""
    headers = {"x-user-id": str(given.owner), **({} if after is None else {"Last-Event-ID": str(after)})}
    events: list[dict[str, str]] = []
    async with (
        asyncio.timeout(20),
        httpx.AsyncClient() as http,
        http.stream("GET", f"{url}{given.path}/events", headers=headers) as stream,
    ):
        event: dict[str, str] = {}
        async for line in stream.aiter_lines():
            name, _, value = line.partition(": ")
            if line:
                event[name] = value
            elif "id" in event:
                events.append(event)
                if len(events) == count:
                    break
                event = {}
    return events


async def whole_story(product: Product) -> Given:
    given = await product.finalized()
    await product.work(projector=True)
    await tasks.leave(given.match)
    await product.work(projector=True)
    return given


async def test_a_project_tells_its_story_in_numbered_events(product: Product) -> None:
    given = await whole_story(product)

    with served(web) as url:
        events = await read(url, given, 4)

    assert [event["event"] for event in events] == ALL
    assert [event["id"] for event in events] == ["1", "2", "3", "4"]
    for event in events:
        data: dict[str, Any] = json.loads(event["data"])
        assert data["seq"] == int(event["id"])
        assert (data["matchId"], data["advisorId"], data["projectId"]) == tuple(
            map(str, (given.match, given.advisor, given.project))
        )
        assert data["userId"] == "system"
        assert data["timestamp"]
        assert set(data["advisor"]) == {"id", "name", "avatar", "skills", "rating"}
    assert json.loads(events[0]["data"])["matchScore"] == 87.5
    assert json.loads(events[2]["data"])["workspaceStatus"] == "ready"


async def test_an_event_never_tells_address_or_phone(product: Product) -> None:
    given = await whole_story(product)

    told = json.dumps([event.data for event in app.feed(f"chat:{given.project}")])

    assert len(told) > 500
    assert ADVISORS_EMAIL not in told
    assert ADVISORS_PHONE not in told


async def test_a_reader_that_was_cut_resumes_without_gap_or_repeat(product: Product) -> None:
    given = await product.finalized()
    await product.work(projector=True)

    with served(web) as url:
        first = await read(url, given, 2)
        await tasks.leave(given.match)
        await product.work(projector=True)
        rest = await read(url, given, 2, after=int(first[-1]["id"]))

    assert [event["id"] for event in first + rest] == ["1", "2", "3", "4"]


async def test_a_reader_is_told_while_it_happens(product: Product) -> None:
    given = await product.matched()

    with served(web) as url:
        reading = asyncio.create_task(read(url, given, 3))
        await product.finalize(given)
        await product.work(projector=True)
        events = await reading

    assert [event["event"] for event in events] == ALL[:3]


async def test_numbers_are_strictly_increasing_also_when_many_publish_at_once(product: Product) -> None:
    given = await product.matched()

    await asyncio.gather(*(tasks.propose(given.project, given.advisor, n) for n in range(20)))
    await product.work(projector=True)

    feed = [(event.id, event.data["seq"]) for event in app.feed(f"chat:{given.project}")]
    assert [seq for _, seq in feed] == list(range(1, 22))
    assert [number for number, _ in feed] == sorted(number for number, _ in feed)


async def test_projects_count_apart(product: Product) -> None:
    given = [await product.matched() for _ in range(2)]
    await product.work(projector=True)

    told = [[event.data["seq"] for event in app.feed(f"chat:{one.project}")] for one in given]

    assert told == [[1], [1]]


async def test_only_people_in_the_project_may_follow(product: Product) -> None:
    given = await product.matched()

    answers = [
        await product.http.get(f"{given.path}/events", headers={"x-user-id": str(who)})
        for who in (given.advisor, await product.user())
    ]

    assert [answer.status_code for answer in answers] == [403, 403]
