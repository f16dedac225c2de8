"""The API's description: it is valid, it is what git has, and the API does what it says."""

import json
from pathlib import Path

from openapi_spec_validator import OpenAPIV31SpecValidator

from holdfast.interfaces.http.asgi import all_operations
from holdfast.interfaces.http.description import written
from service.conftest import Calling

SNAPSHOT = Path(__file__).parents[2] / "docs" / "openapi.json"


def test_the_description_is_valid_and_what_git_has() -> None:
    text = written(all_operations())

    OpenAPIV31SpecValidator(json.loads(text)).validate()
    assert text == SNAPSHOT.read_text("utf-8"), "write it anew: holdfast openapi > docs/openapi.json"


def test_every_operation_has_a_name_of_its_own_and_a_sentence() -> None:
    names = [operation.name for operation in all_operations()]

    assert len(set(names)) == len(names)
    assert all(operation.summary.endswith(".") for operation in all_operations())


async def test_the_page_needs_nothing_from_elsewhere(calling: Calling) -> None:
    async with calling() as client:
        page = await client.get("/api/v1/docs")
        style = await client.get("/api/v1/docs.css")
        told = await client.get("/api/v1/openapi.json")

    assert (page.status_code, style.status_code) == (200, 200)
    assert "<script" not in page.text
    assert "http" not in page.text.replace("https", "http").partition("<main>")[0].replace("http-equiv", "")
    assert told.json()["openapi"] == "3.1.0"


async def test_the_stream_is_described_with_what_it_takes(calling: Calling) -> None:
    async with calling() as client:
        told = (await client.get("/api/v1/openapi.json")).json()
        page = (await client.get("/api/v1/docs")).text

    stream = told["paths"]["/events"]["get"]
    assert {(one["name"], one["in"]) for one in stream["parameters"]} == {
        ("subject", "query"), ("tenant", "query"), ("job", "query"), ("after", "query"), ("Last-Event-ID", "header"),
    }  # fmt: skip
    assert [*stream["responses"]["200"]["content"]] == ["text/event-stream"]
    assert {"401", "403", "404", "422", "429", "503"} <= {*stream["responses"]}
    assert "follow_events" in page
