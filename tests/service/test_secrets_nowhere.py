"""A secret is put wherever something of a user's can stand, and then looked for wherever anybody can look."""

import asyncio
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from pydantic import SecretStr

from dashboard.all_pages import PAGES, all_pages, all_paths
from holdfast import Holdfast
from holdfast.domain.access import Role
from holdfast.domain.redaction import HIDDEN
from holdfast.testing import TestServer
from service.telling import (
    COMMANDS,
    Story,
    all_commands,
    answers,
    declare,
    leaks,
    printed,
    says,
    streams,
    told,
)

# What a task works with is kept as it is; who reads it through us gets it without.
WORKED_WITH = {
    "job.payload", "job.result", "step.value", "checkpoint.value", "dispatch.inputs", "schedule.payload", "event.payload",
}  # fmt: skip
# What the caller said besides the payload, and what people said.
SAID_BY_OTHERS = {
    "job.label",
    "job.tags",
    "job.key",
    "job.metadata",
    "schedule.options",
    "approval_decision.reason",
}
# What the task, its executor and its runs said.
SAID = {
    "activity.data", "approval.facts", "approval.question", "attempt.error", "attempt.logs", "dispatch.logs", "dispatch.run_url", "feed.data",
    "job.error", "job.reason", "job_history.metadata", "job_history.reason", "progress.note",
}  # fmt: skip


def story_of(server: TestServer, kind: Any, then: str | None = None, **options: Any) -> Iterator[Story]:
    with server.database() as database, psycopg.connect(database.owner_url, autocommit=True) as owner:
        app = database.use(Holdfast())
        declare(app, kind=kind, **options)
        story = asyncio.run(told(app, database, owner))
        if then is not None:
            owner.execute(then)
        yield story
        app.close()


@pytest.fixture(scope="module")
def hidden(holdfast_server: TestServer) -> Iterator[Story]:
    """Give jobs of a task whose signature says what is a secret, and which lists the other one."""
    yield from story_of(holdfast_server, SecretStr, redact=["pin"])


@pytest.fixture(scope="module")
def hidden_later(holdfast_server: TestServer) -> Iterator[Story]:
    """Give jobs that told everything before somebody found out: what is there already is hidden by who shows it."""
    found_out = """update holdfast.task set options = options || '{"redact": ["token", "pin"]}'"""
    yield from story_of(holdfast_server, str, found_out)


def test_what_is_said_about_a_job_is_kept_without_it(hidden: Story) -> None:
    assert hidden.kept == WORKED_WITH | SAID_BY_OTHERS


def test_no_line_of_the_log_says_it(hidden: Story) -> None:
    assert [line for line in hidden.lines if says(line)] == []
    assert any("cannot run with" in line and HIDDEN in line for line in hidden.lines)
    assert any("got [redacted]" in line for line in hidden.lines)


async def test_no_stream_and_no_channel_says_it(hidden: Story) -> None:
    found = await streams(hidden)

    assert leaks(found) == {}
    assert HIDDEN in found["news"]
    assert HIDDEN in found["run"]


def test_the_control_tells_it_everywhere(hidden_later: Story) -> None:
    """The secret has really come to all these places, where nobody hides it on the way."""
    assert hidden_later.kept == WORKED_WITH | SAID_BY_OTHERS | SAID
    assert [line for line in hidden_later.lines if says(line)]


async def test_no_operation_of_the_api_shows_it(hidden_later: Story) -> None:
    found = await answers(hidden_later)

    assert leaks(found) == {}
    shown = [name for name in found if "404" not in name and "409" not in name]
    assert len([name for name in shown if HIDDEN in found[name]]) > 50


async def test_no_page_shows_it(hidden_later: Story) -> None:
    found = await all_pages(hidden_later.app, await hidden_later.things(), Role.ADMIN)

    assert leaks(found) == {}
    assert [name for name in found if not name.endswith(" 200") or '<p class="failed">' in found[name]] == []
    assert len([name for name in found if HIDDEN in found[name]]) > 40


async def test_no_page_shows_it_to_a_viewer(hidden_later: Story) -> None:
    found = await all_pages(hidden_later.app, await hidden_later.things(), Role.VIEWER)

    assert leaks(found) == {}
    assert len([name for name in found if HIDDEN in found[name]]) > 40


def test_every_page_is_looked_at() -> None:
    assert set(PAGES) == all_paths()


def test_no_command_prints_it(hidden_later: Story, hidden: Story) -> None:
    # Events are kept without it: what they said before somebody found out, they say.
    found = printed(hidden_later, set(COMMANDS) - {"events"}) | printed(hidden, ["events"])

    assert leaks(found) == {}
    assert len([name for name in found if HIDDEN in found[name]]) > 30


def test_every_command_is_called_or_known_to_show_no_job() -> None:
    assert set(all_commands()) == set(COMMANDS)


def test_whoever_is_asked_is_asked_without_it(hidden: Story) -> None:
    assert f"Take {HIDDEN}?" in hidden.page
    assert not says(hidden.page)
