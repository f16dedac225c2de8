"""What tests of the service say often."""

from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    import psycopg


def problem(answer: httpx.Response) -> tuple[int, str]:
    """Read a refusal: its status and its type."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    told = answer.json()
    assert told["status"] == answer.status_code
    return answer.status_code, told["type"].removeprefix("urn:holdfast:problem:")


async def walk(client: httpx.AsyncClient, path: str, **query: Any) -> list[dict[str, Any]]:
    """Read a list from its first part to its last."""
    items: list[dict[str, Any]] = []
    while True:
        answer = await client.get(path, params=query)
        assert answer.status_code == 200, answer.text
        items += answer.json()["items"]
        if answer.json()["next"] is None:
            return items
        query["after"] = answer.json()["next"]


def leave_failed(owner: "psycopg.Connection[Any]", task: str) -> None:
    """Move jobs of a task to FAILED without running them."""
    owner.execute(
        "update holdfast.job set status = 'RUNNING', claim_id = gen_random_uuid(), holder = gen_random_uuid(),"
        " claim_order = null where task = %s and status = 'PENDING'",
        [task],
    )
    owner.execute(
        "update holdfast.job set status = 'FAILED', holder = null, error = '{\"type\": \"Boom\"}'"
        " where task = %s and status = 'RUNNING'",
        [task],
    )


def times_retried(owner: "psycopg.Connection[Any]", task: str) -> list[tuple[int, int]]:
    """Count a task's jobs by how often each was retried."""
    return owner.execute(
        "select times, count(*) from (select (select count(*) from holdfast.job r where r.retry_of = j.id) as times"
        " from holdfast.job j where j.task = %s and j.retry_of is null) as t group by times order by times",
        [task],
    ).fetchall()


def audited(owner: "psycopg.Connection") -> list[tuple[Any, ...]]:
    """Read who did what, the first first."""
    return owner.execute("select actor, action, target, reason from holdfast.audit order by id").fetchall()
