"""An app whose jobs tell a secret at every place where something of a user's can stand, and whatever there is to read of them."""

import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import click
import httpx
from pydantic import SecretStr

from dashboard.all_pages import JOB, OPERATION
from executors.stage import SECRET as SIGNED_WITH
from executors.stage import body_of
from holdfast import Cancel, Context, Executor, Holdfast, Retry
from holdfast.domain.access import Scope
from holdfast.domain.bulk import Change
from holdfast.domain.callback import Token
from holdfast.domain.signature import sign
from holdfast.interfaces.cli import main
from holdfast.interfaces.http.asgi import all_operations, asgi
from holdfast.interfaces.http.operation import Operation
from holdfast.runtime.access import create_key
from holdfast.runtime.bulk import aasked, creating_of
from holdfast.runtime.executors.protocol import Dispatch, RunRef
from holdfast.runtime.logs import JsonFormatter, TextFormatter
from holdfast.testing import ScratchDatabase, adrain
from interfaces.calling import Cli
from service.streams import streaming
from service.threads import answering

if TYPE_CHECKING:
    import psycopg

# With what Python, JSON and addresses spell in other ways.
WORD = 'sk-"live"+90210/é'
PIN = 90210_77321
_log = logging.getLogger("shop")


def says(secret: str) -> bool:
    """Whether a text has the secret in it, in whatever spelling: a part that all of them leave alone tells."""
    return "90210" in secret


@dataclass
class Lines(logging.Handler):
    """All lines that are logged, as both of our formatters write them."""

    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(logging.DEBUG)

    def __hash__(self) -> int:
        return id(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.lines += [form.format(record) for form in (JsonFormatter(), TextFormatter())]


class Runner(Executor):
    """An executor that repeats what it gets."""

    async def start(self, dispatch: Dispatch) -> RunRef | None:
        _log.warning("starting %s with %s", dispatch, dispatch.inputs)
        if dispatch.inputs["how"] == "refused":
            raise RuntimeError(f"cannot run with {dispatch.inputs}")
        return RunRef("run-1")


def declare(app: Holdfast, *, kind: Any, **options: Any) -> None:
    """Declare tasks that tell what they get; `kind` is the annotation of the secret."""
    app.executor(Runner("runner", secret=SIGNED_WITH, callback_url="https://jobs.example", tries=1))

    async def tell(ctx: Context, token: Any, pin: int, how: str) -> Any:
        said = token.get_secret_value() if isinstance(token, SecretStr) else token
        facts = {"token": said, "pin": pin, "others": [f"about {said}", {said: pin}]}
        _log.warning("got %s and %s", said, facts, extra={"more": facts})
        app.publish("news", "told", facts)
        await ctx.progress(1, 2, f"half of {said}")
        await ctx.checkpoint(facts)
        await ctx.step("first", lambda: facts)
        match how:
            case "completed":
                return facts
            case "cancelled":
                raise Cancel(f"no more of {said}")
            case "retrying":
                raise Retry(f"again with {said}", in_=3600)
            case "failed":
                raise ValueError(f"refused {said}: {facts}")
            case "asking":
                await ctx.approval(
                    "gate", question=f"Take {said}?", facts=facts, approvers=["ann", "bo"], quorum=2
                )
            case "waiting":
                await ctx.event("it")
            case _:
                await ctx.dispatch("runner", token=said, pin=pin, how=how)
        return None

    tell.__annotations__["token"] = kind
    app.task(name="tell", **{"retries": 0, **options})(tell)


WAYS = (
    "completed",
    "cancelled",
    "retrying",
    "failed",
    "asking",
    "waiting",
    "refused",
    "run",
    "run fails",
    "run ends",
)


@dataclass
class Story:
    """Jobs that have told everything."""

    app: Holdfast
    database: ScratchDatabase
    owner: "psycopg.Connection[Any]"
    jobs: dict[str, UUID]
    lines: list[str]
    page: str = ""  # what somebody who is asked saw
    kept: set[str] = field(
        default_factory=set
    )  # the columns in which the secret stood, before anybody else came

    @property
    def approval(self) -> UUID:
        return UUID(str(self._value("select id from holdfast.approval")))

    async def things(self) -> dict[str, list[Any]]:
        """Give what pages show one of, by their paths; an operation on many jobs is made for them."""
        begin = creating_of(Change("retry"), [self.jobs["failed"]], None, "tests", "again")
        async with self.app.link.atransaction() as transaction:
            operation = await aasked(begin, transaction.perform)
        return {
            JOB: list(self.jobs.values()),
            OPERATION: [operation],
            "/approvals/{approval_id}": [self.approval],
            "/queues/{name:path}": ["default"],
            "/schedules/{name:path}": [
                row[0] for row in self.owner.execute("select name from holdfast.schedule")
            ],
            "/usage/{tenant:path}": ["acme"],
            "/activity/webhooks/{delivery_id}": [],
        }

    def _value(self, query: str) -> Any:
        return self.owner.execute(query).fetchall()[0][0]


@contextmanager
def logged() -> Iterator[list[str]]:
    root, lines = logging.getLogger(), Lines()
    before = root.level
    root.addHandler(lines)
    root.setLevel(logging.INFO)
    try:
        yield lines.lines
    finally:
        root.removeHandler(lines)
        root.setLevel(before)


async def told(app: Holdfast, database: ScratchDatabase, owner: "psycopg.Connection[Any]") -> Story:
    """Let jobs tell everything, in every way in which a job can end or wait."""
    task = app.tasks["tell"]
    list(app.feed("tenant:acme"))  # somebody reads it from now on
    with logged() as lines:
        jobs = {
            how: task.using(
                tenant="acme", subject="order", retries=int(how == "retrying"), label=f"label {WORD}", tags=[f"tag {WORD}"], key=f"{how} {WORD}",
                metadata={"token": WORD, "why": f"because of {WORD}"},
            ).enqueue(WORD, PIN, how).id
            for how in WAYS
        }  # fmt: skip
        given = {"token": WORD, "pin": PIN, "how": "completed"}
        app.schedules.create(
            "nightly", task.using(label=f"label {WORD}"), every=timedelta(days=1), payload=given
        )
        await adrain(app)
        app.emit("it", {"token": WORD, "others": [f"about {WORD}"]})
        await _report(app, owner, jobs)
        await adrain(app)
        story = Story(app, database, owner, jobs, lines)
        await app.approvals.aapprove(story.approval, actor="ann", reason=f"because {WORD}")
    story.page = await _page(story)
    story.kept = _kept(story)
    return story


async def _report(app: Holdfast, owner: "psycopg.Connection[Any]", jobs: dict[str, UUID]) -> None:
    """Report as the runs of an executor do that have been told everything."""
    transport = httpx.ASGITransport(asgi(app, ["callbacks"]))
    reports: list[tuple[str, str, dict[str, Any]]] = [
        ("run", "progress", {"done": 1, "note": f"running {WORD}", "run_url": f"https://ci.example/?{WORD}"}),
        ("run fails", "failed", {"message": f"broke on {WORD}", "step": f"use {WORD}", "type": f"Bad {WORD}", "recoverable": False}),
        ("run ends", "completed", {"result": {"token": WORD, "others": [f"about {WORD}"]}}),
    ]  # fmt: skip
    async with httpx.AsyncClient(transport=transport, base_url="https://jobs.example") as client:
        for how, action, facts in reports:
            query = "select attempt, claim_id from holdfast.job where id = %s"
            attempt, claim_id = owner.execute(query, [jobs[how]]).fetchall()[0]
            token = Token(jobs[how], attempt, claim_id)
            body = body_of(token, action, **facts)
            now = int(time.time())
            signature = sign(SIGNED_WITH, token, how, now, body)
            headers = {"webhook-id": how, "webhook-timestamp": str(now), "webhook-signature": signature}
            answer = await client.post(f"/callbacks/v1/runner/{token.path}", content=body, headers=headers)
            assert answer.status_code == 200, answer.text


# -- reading ---------------------------------------------------------------------------------------------------------------

_BODIES: dict[str, Any] = {
    "decision": "approve", "reason": "because", "tenant": "acme", "enabled": True, "period": "day", "hard": 1000, "limit": 3,
    "weight": 2, "priority": 1, "queue": "default", "role": "viewer", "password": "a kettle over quiet marshes",
}  # fmt: skip
_POSTED: dict[str, dict[str, Any]] = {
    "/jobs": {"task": "tell", "payload": {"token": WORD, "pin": PIN, "how": "completed"}},
    "/jobs/batch": {"jobs": [{"task": "tell", "payload": {"token": WORD, "pin": PIN, "how": "completed"}}]},
    "/operations": {"action": "retry", "q": "status:failed"},
    "/approvals/approve": {"approvals": [{"id": "01a1e5cf-6d71-7999-8d52-10df872b5e22", "version": "00"}]},
    "/schedules": {"name": "daily", "task": "tell", "every": 86400, "payload": {"token": WORD, "pin": PIN, "how": "completed"}},
    "/schedules/{name}": {"every": 86400},
    "/keys": {"name": "another", "scopes": ["read"]},
}  # fmt: skip


async def answers(story: Story) -> dict[str, str]:
    """Call every operation of the API for everything there is; those that change something come last."""
    key = create_key(story.app, f"admin {uuid4()}", scopes=[Scope.ADMIN, Scope.APPROVE])
    headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": str(uuid4())}
    found: dict[str, str] = {}
    transport = httpx.ASGITransport(asgi(story.app))
    base_url = "http://test/api/v1"
    async with httpx.AsyncClient(transport=transport, base_url=base_url, headers=headers) as client:
        for operation in sorted(all_operations(), key=lambda one: (one.method != "GET", one.path.count("{"))):
            for path in _paths(story, operation):
                body = _body(operation) if operation.body is not None else None
                answer = await client.request(
                    operation.method, path, json=body, headers={"Idempotency-Key": str(uuid4())}
                )
                assert answer.status_code in {200, 201, 404, 409}, (operation.method, path, answer.text)
                found[f"{operation.method} {path} {answer.status_code}"] = answer.text
        found["/metrics"] = (await client.get("http://test/metrics")).text
    await story.app.link.aclose()
    return found


async def _page(story: Story) -> str:
    """Open the page of an approver without a login."""
    invited = await story.app.approvals.amint_token(story.approval, "bo")
    transport = httpx.ASGITransport(asgi(story.app))
    own_page = {"Sec-Fetch-Site": "same-origin", "Origin": "http://test"}
    async with httpx.AsyncClient(transport=transport, base_url="http://test", headers=own_page) as client:
        shown = await client.post(f"/a/{story.approval}", data={"code": invited.token})
    await story.app.link.aclose()
    assert shown.status_code == 200, shown.text
    return shown.text + repr(invited)


def _paths(story: Story, operation: Operation) -> Iterator[str]:
    """Give the paths of an operation, for all jobs and for one of everything else."""
    places: dict[str, list[Any]] = {
        # Others tell of the same story: what is deleted, and answered with its id alone, is nobody's.
        "job_id": [uuid4()] if operation.path.endswith("/delete") else list(story.jobs.values()),
        "approval_id": [story.approval],
        "operation_id": [row[0] for row in story.owner.execute("select id from holdfast.operation")] or [uuid4()],
        "delivery_id": [uuid4()],
        "key_id": ["nokeynokeyno"],
        "tenant": ["acme"],
        "worker_id": [uuid4()],
        "name": ["nightly" if "/schedules" in operation.path else "tell" if "/tasks" in operation.path else "default"],
    }  # fmt: skip
    queries = {
        "/operations/preview": "?action=retry&q=status:failed",
        "/jobs/{job_id}/wait": "?timeout=0",
        "/approvals": "?status=all",
        "/schedule-times": "?every=60",
    }
    query = queries.get(operation.path, "") if operation.method == "GET" else ""
    names = list(operation.parameters)
    assert len(names) <= 1, "say here what this path is made of"
    for value in places[names[0]] if names else [None]:
        yield operation.path.format(**({names[0]: value} if names else {})) + query


def _body(operation: Operation) -> dict[str, Any]:
    assert operation.body is not None
    if operation.path in _POSTED:
        return _POSTED[operation.path]
    return {name: _BODIES[name] for name, about in operation.body.model_fields.items() if about.is_required()}


async def streams(story: Story) -> dict[str, str]:
    """Follow everything that can be followed, from the beginning."""
    key = create_key(story.app, f"reader {uuid4()}", scopes=[Scope.READ])
    found = {}
    with answering(asgi(story.app)) as url:
        for channel in ("subject:order", "tenant:acme"):
            count = story.owner.execute(
                "select count(*) from holdfast.feed where channel = %s", [channel]
            ).fetchall()[0][0]
            path = f"/api/v1/events?{channel.replace(':', '=')}&after=0"
            async with streaming(url, path, key=key) as stream:
                found[channel] = repr(await stream.take(count))
        for how, job_id in story.jobs.items():
            count = story.owner.execute(
                "select (select count(*) from holdfast.job_history where job_id = %(id)s)"
                " + (select count(*) from holdfast.activity where job_id = %(id)s)", {"id": job_id}
            ).fetchall()[0][0]  # fmt: skip
            async with streaming(url, f"/api/v1/events?job={job_id}&after=0.0", key=key) as stream:
                found[how] = repr(await stream.take(count))
    found["news"] = repr(list(story.app.feed("news")))
    return found


# What each command is called with; None: it shows nothing of any job (it steers, serves, or asks about people and settings).
COMMANDS: dict[str, list[str] | None] = {
    "job list": [], "job show": ["JOB"], "job tail": ["JOB", "--no-follow"], "job wait": ["JOB", "--timeout", "1ms"], "approval list": ["--all"], "approval show": ["APPROVAL"],
    "events": ["subject:order"], "schedule list": [], "schedule show": ["nightly"], "schedule next": ["nightly"],
    "stats": [], "usage": [], "queue list": [], "task list": [], "worker list": [], "alert list": [], "alert rules": [], "webhook list": [],
    "flag list": [], "tenant list": [], "quota list": [], "key list": [], "doctor": [], "audit": [], "db status": [], "db check": [],
    "job retry": ["FAILED"], "job reprioritise": ["RETRYING", "--to", "1"], "job move": ["RETRYING", "--to", "nowhere"], "job cancel": ["RETRYING", "--yes"], "approval deny": ["APPROVAL", "--reason", "no", "--actor", "bo"],
    **dict.fromkeys(
        ["alert mute", "alert show", "alert test", "alert unmute", "approval approve", "config", "db migrate", "db sql", "demo", "dev",
         "enqueue", "executor key", "executor list", "flag set", "job delete", "key create", "key revoke", "key rotate", "openapi", "queue limit",
         "queue pause", "queue resume", "quota set", "schedule delete", "schedule pause", "schedule resume", "schedule run", "server",
         "task pause", "task resume", "tenant weight", "up", "user add", "user disable", "user enable", "user list", "user password",
         "user role", "version", "webhook replay", "webhook show", "worker quiet", "worker resume", "worker stop"],
    ),
}  # fmt: skip


def all_commands(group: click.Group = main, before: tuple[str, ...] = ()) -> Iterator[str]:
    """Name all commands that there are."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from all_commands(command, (*before, name))
        else:
            yield " ".join((*before, name))


def printed(story: Story, commands: Iterable[str]) -> dict[str, str]:
    """Call those of these commands that show something of jobs, for people and for programs."""
    cli, found = Cli(story.database), {}
    for command in commands:
        arguments = COMMANDS[command]
        if arguments is None:
            continue
        for given in _calls(story, arguments):
            for form in (["-v"], ["-o", "json"]):
                result = cli.told(*command.split(), *given, *form)
                found[f"{command} {given} {form} {result.exit_code}"] = result.output
    return found


def _calls(story: Story, arguments: list[str]) -> Iterator[list[str]]:
    named = {
        "APPROVAL": str(story.approval),
        "FAILED": str(story.jobs["failed"]),
        "RETRYING": str(story.jobs["retrying"]),
    }
    for job_id in story.jobs.values() if "JOB" in arguments else [None]:
        yield [str(job_id) if each == "JOB" else named.get(each, each) for each in arguments]


def _kept(story: Story) -> set[str]:
    """Name the columns of all tables in which the secret stands."""
    columns = story.owner.execute(
        "select c.relname, a.attname from pg_attribute a join pg_class c on c.oid = a.attrelid"
        " where c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition"
        " and a.attnum > 0 and not a.attisdropped"
    ).fetchall()  # fmt: skip
    return {
        f"{table}.{column}"
        for table, column in columns
        for (text,) in story.owner.execute(
            f"select coalesce(string_agg(t.\"{column}\"::text, ' '), '') from holdfast.\"{table}\" t"
        )
        if says(text)
    }


def leaks(found: dict[str, str]) -> dict[str, str]:
    """Give what has the secret in it, with what stands around it."""
    return {
        name: text[max(0, text.index("90210") - 80) : text.index("90210") + 20]
        for name, text in found.items()
        if says(text)
    }
