"""What tests of the service say often."""

from typing import Any

import httpx


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
