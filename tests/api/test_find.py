"""app.jobs: a program finds jobs with the words that people use."""

import pytest

from holdfast import BadInput, Fail, Holdfast, Status
from holdfast.runtime.registry import AnyTask
from world.draining import drain


@pytest.fixture
def visit(app: Holdfast) -> AnyTask:
    @app.task(retries=0)
    async def visit(place: str) -> None:
        if place == "closed":
            raise Fail("nobody is there")

    return visit


def test_jobs_are_found_by_status_subject_and_time(app: Holdfast, visit: AnyTask) -> None:
    visit.using(subject="agent:ann").enqueue("closed")
    visit.using(subject="agent:ann").enqueue("open")
    visit.using(subject="agent:ben").enqueue("closed")
    drain(app)

    found = app.jobs('status:failed subject:"agent:ann" age:<1h')

    assert [(job.status, job.subject, job.payload) for job in found.jobs] == [
        (Status.FAILED, "agent:ann", {"place": "closed"})
    ]


async def test_a_long_list_comes_in_parts_newest_first(app: Holdfast, visit: AnyTask) -> None:
    handles = [await visit.aenqueue(f"place {n}") for n in range(5)]

    first = await app.ajobs("task:visit", limit=3)
    rest = await app.ajobs("task:visit", limit=3, before=first.next)

    assert [job.id for job in [*first.jobs, *rest.jobs]] == [handle.id for handle in reversed(handles)]
    assert rest.next is None
    await app.aclose()


def test_a_search_that_cannot_be_understood_says_where(app: Holdfast) -> None:
    with pytest.raises(BadInput, match=r"did you mean status:\?.*at character 1"):
        app.jobs("stauts:failed")


def test_a_value_from_elsewhere_is_one_value_whatever_stands_in_it(app: Holdfast, visit: AnyTask) -> None:
    odd = 'agent:"ann\\" status:failed'
    handle = visit.using(subject=odd).enqueue("open")

    assert [job.id for job in app.jobs("task:visit", where={"subject": odd, "status": "pending"}).jobs] == [
        handle.id
    ]
    assert app.jobs(where={"subject": 'ann" task:"visit'}).jobs == []
    with pytest.raises(BadInput, match="there is no field colour"):
        app.jobs(where={"colour": "red"})
