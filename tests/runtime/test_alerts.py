"""Alerts from cause to receiver: real SMTP and HTTP on loopback, with failures; and what must never be written down."""

import base64
import hashlib
import hmac
import json
import logging
import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from guarantees.waiting import until
from holdfast import (
    AnyFailure,
    BadInput,
    Configuration,
    Email,
    Failures,
    Holdfast,
    NoWorker,
    SignedWebhook,
    SlackWebhook,
    Status,
)
from holdfast.runtime.identity import slots_of
from holdfast.testing import ScratchDatabase
from sql.asking import asked
from sql.support import Machine
from world.draining import drain
from world.receivers import Endpoint, Mailbox, free_port, http_endpoint, mail_server

SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
LOCAL = ["127.0.0.1"]


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with mail_server(Mailbox()) as mailbox:
        yield mailbox


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with http_endpoint(Endpoint()) as endpoint:
        yield endpoint


def mail_to(mailbox: Mailbox, **settings: Any) -> Email:
    return Email(
        "127.0.0.1", mailbox.port, sender="Ops <ops@example.com>", to=["duty@example.com"], **settings
    )


def broken_task(app: Holdfast, name: str = "breaks") -> Any:
    @app.task(name=name, retries=0)
    def breaks() -> None:
        raise ValueError("no")

    return breaks


def states(owner: psycopg.Connection[Any]) -> list[str]:
    return [
        row[0] for row in owner.execute("select state from holdfast.notification order by created_at, id")
    ]


def job_statuses(owner: psycopg.Connection[Any]) -> list[str]:
    return [
        row[0]
        for row in owner.execute("select status from holdfast.job where queue = 'holdfast' order by id")
    ]


def everything(owner: psycopg.Connection[Any]) -> str:
    """Write every row of every table as text."""
    tables = owner.execute(
        "select relname from pg_class where relnamespace = 'holdfast'::regnamespace and relkind in ('r', 'p')"
    ).fetchall()
    rows = [
        row[0]
        for (table,) in tables
        for row in owner.execute(sql.SQL("select t::text from holdfast.{} t").format(sql.Identifier(table)))
    ]
    return "\n".join(rows)


# -- e-mail --------------------------------------------------------------------------------------------------------------


def test_a_failed_job_is_told_by_mail(
    app: Holdfast, mailbox: Mailbox, owner: psycopg.Connection[Any]
) -> None:
    app.alerts.to(mail_to(mailbox))
    app.alerts.rule("broken", AnyFailure(), severity="critical")
    breaks = broken_task(app)
    drain(app)  # registers the rule

    breaks.enqueue()
    drain(app)

    (mail,) = mailbox.accepted
    assert mail["Subject"] == "[critical] broken: a job of task breaks FAILED"
    assert (mail["From"], mail["To"], mail["Importance"]) == (
        "Ops <ops@example.com>",
        "duty@example.com",
        "high",
    )
    notification = Machine(owner).value("select id from holdfast.notification")
    assert mail["Message-ID"] == f"<{notification}@example.com>"
    assert "holdfast alert show" in mail.get_content()
    assert states(owner) == ["delivered"]


def test_failures_are_counted_by_the_projector_and_told_by_the_watch(
    app: Holdfast, mailbox: Mailbox, owner: psycopg.Connection[Any]
) -> None:
    app.alerts.to(mail_to(mailbox))
    app.alerts.rule("many", Failures(more_than=2))
    breaks = broken_task(app)
    for _ in range(3):
        breaks.enqueue()
    drain(app, projector=True)

    owner.execute("select holdfast.project()")
    owner.execute("select holdfast.judge_rules()")
    drain(app)

    assert [str(mail["Subject"]) for mail in mailbox.accepted] == [
        "[warning] many: 3 jobs of task breaks FAILED within 10 minutes"
    ]


def test_mail_that_the_server_puts_off_is_sent_again_with_the_same_id(
    app: Holdfast, mailbox: Mailbox, owner: psycopg.Connection[Any], holdfast_db: ScratchDatabase
) -> None:
    app.alerts.to(mail_to(mailbox))
    mailbox.answers = ["451 come back later", "421 busy"]
    app.notify("email", "Hello", "text")

    for _ in range(3):
        drain(app)
        holdfast_db.clock.advance(700)

    assert len({mail["Message-ID"] for mail in mailbox.seen}) == 1
    assert (len(mailbox.seen), len(mailbox.accepted)) == (3, 1)
    assert states(owner) == ["delivered"]


def test_mail_waits_for_a_server_that_is_away(
    app: Holdfast, owner: psycopg.Connection[Any], holdfast_db: ScratchDatabase
) -> None:
    mailbox = Mailbox(port=free_port())
    app.alerts.to(mail_to(mailbox))
    app.notify("email", "Hello", "text")
    drain(app)
    assert (states(owner), job_statuses(owner)) == (["waiting"], ["RETRY"])

    holdfast_db.clock.advance(700)
    with mail_server(mailbox):
        drain(app)

    assert (len(mailbox.accepted), states(owner)) == (1, ["delivered"])


def test_mail_that_is_refused_for_good_fails_at_once_and_is_marked(
    app: Holdfast, mailbox: Mailbox, owner: psycopg.Connection[Any]
) -> None:
    app.alerts.to(mail_to(mailbox))
    mailbox.answers = ["550 no such user"]
    app.notify("email", "Hello", "text")

    drain(app)

    assert (job_statuses(owner), states(owner)) == (["FAILED"], ["failed"])
    assert mailbox.accepted == []


def test_a_resolved_alert_is_told_once(
    app: Holdfast, mailbox: Mailbox, owner: psycopg.Connection[Any], holdfast_db: ScratchDatabase
) -> None:
    app.alerts.to(mail_to(mailbox))
    app.alerts.rule("unserved", NoWorker(queue="elsewhere"))
    task = broken_task(app)
    drain(app)
    task.using(queue="elsewhere").enqueue()
    holdfast_db.clock.advance(120)
    owner.execute("select holdfast.judge_rules()")
    drain(app, queues={"holdfast": 1})
    drain(app, queues={"elsewhere": 1})

    holdfast_db.clock.advance(120)
    owner.execute("select holdfast.judge_rules()")
    drain(app, queues={"holdfast": 1})

    assert [mail["Subject"] for mail in mailbox.accepted] == [
        "[warning] unserved: jobs wait in queue elsewhere, and no live worker serves it",
        "[warning] resolved: unserved: jobs wait in queue elsewhere, and no live worker serves it",
    ]


def test_a_name_with_a_line_break_cannot_begin_a_header(
    app: Holdfast, mailbox: Mailbox, owner: psycopg.Connection[Any]
) -> None:
    app.alerts.to(mail_to(mailbox))
    app.alerts.rule("broken", AnyFailure())
    breaks = broken_task(app, "breaks\r\nBcc: thief@example.com")
    drain(app)

    breaks.enqueue()
    drain(app)

    (mail,) = mailbox.accepted
    assert mail["Bcc"] is None
    assert mail["Subject"] == "[warning] broken: a job of task breaks  Bcc: thief@example.com FAILED"


# -- webhooks ------------------------------------------------------------------------------------------------------------


def test_a_signed_webhook_can_be_verified_and_tells_what_happened(app: Holdfast, endpoint: Endpoint) -> None:
    other = "x" * 32
    app.alerts.to(SignedWebhook(endpoint.url, [SECRET, other], allow=LOCAL))
    app.alerts.rule("broken", AnyFailure())
    breaks = broken_task(app)
    drain(app)

    handle = breaks.enqueue()
    drain(app)

    (headers,), (body,) = endpoint.headers, endpoint.bodies
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = [
        "v1," + base64.b64encode(hmac.digest(key, content, "sha256")).decode()
        for key in (b"0123456789abcdef0123456789abcdef", other.encode())
    ]
    assert headers["webhook-signature"].split(" ") == expected
    event = json.loads(body)
    assert event["type"] == "alert.opened"
    assert (event["data"]["rule"], event["data"]["job_id"]) == ("broken", str(handle.id))


def test_a_webhook_is_repeated_with_the_same_id_until_it_is_taken(
    app: Holdfast, endpoint: Endpoint, owner: psycopg.Connection[Any], holdfast_db: ScratchDatabase
) -> None:
    app.alerts.to(SignedWebhook(endpoint.url, SECRET, allow=LOCAL, timeout=1.0))
    endpoint.answers = [503, 429, 0]  # broken, too busy, and taken but too slow to say so
    app.notify("webhook", "Hello", "text")

    for _ in range(4):
        drain(app)
        holdfast_db.clock.advance(700)

    assert len(endpoint.ids) == 4
    assert len(set(endpoint.ids)) == 1
    assert states(owner) == ["delivered"]


@pytest.mark.parametrize("status", [302, 400, 401, 404, 410])
def test_a_webhook_that_says_no_is_not_asked_again(
    app: Holdfast, endpoint: Endpoint, owner: psycopg.Connection[Any], status: int
) -> None:
    app.alerts.to(SignedWebhook(endpoint.url, SECRET, allow=LOCAL))
    endpoint.answers = [status]
    app.notify("webhook", "Hello", "text")

    drain(app, projector=True)

    assert (job_statuses(owner), states(owner), len(endpoint.ids)) == (["FAILED"], ["failed"], 1)
    assert "own words" not in everything(owner)


def test_a_webhook_does_not_lead_inside_unless_that_is_allowed(
    app: Holdfast, endpoint: Endpoint, owner: psycopg.Connection[Any]
) -> None:
    app.alerts.to(SlackWebhook(endpoint.url))
    app.notify("slack", "Hello", "text")

    drain(app)

    assert (job_statuses(owner), endpoint.bodies) == (["FAILED"], [])


def test_slack_gets_text_that_cannot_mention_anybody(app: Holdfast, endpoint: Endpoint) -> None:
    app.alerts.to(SlackWebhook(endpoint.url, allow=LOCAL))
    app.notify("slack", "Disk <!channel>", "a & b")

    drain(app)

    assert json.loads(endpoint.bodies[0]) == {"text": "*Disk &lt;!channel&gt;*\na &amp; b"}


def test_secrets_are_in_no_row_and_no_log_line(
    app: Holdfast, endpoint: Endpoint, mailbox: Mailbox, owner: psycopg.Connection[Any],
    holdfast_db: ScratchDatabase, caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    caplog.set_level(logging.DEBUG)
    app.alerts.to(SlackWebhook(endpoint.url, allow=LOCAL))
    app.alerts.to(SignedWebhook(endpoint.url, SECRET, allow=LOCAL))
    app.alerts.to(
        mail_to(mailbox, username="ops", password="hunter2hunter2")
    )  # aiosmtpd offers no login: refused
    app.alerts.rule("broken", AnyFailure())
    breaks = broken_task(app)
    drain(app)
    endpoint.answers = [500, 500, 404]

    breaks.enqueue()
    for _ in range(3):
        drain(app, projector=True)
        holdfast_db.clock.advance(700)

    assert len(endpoint.ids) >= 4
    written = everything(owner) + caplog.text + repr(app.alerts.channels)
    assert "holdfast.notify.slack" in written
    for secret in ("veryhiddenpath", SECRET, SECRET.removeprefix("whsec_"), "hunter2"):
        assert secret not in written


# -- messages of the application's own -----------------------------------------------------------------------------------


def test_a_message_commits_or_vanishes_with_the_callers_transaction(
    app: Holdfast, mailbox: Mailbox, holdfast_db: ScratchDatabase, owner: psycopg.Connection[Any]
) -> None:
    app.alerts.to(mail_to(mailbox))
    with psycopg.connect(holdfast_db.url) as connection:
        app.notify("email", "Gone", "text", conn=connection)
        connection.rollback()
        assert (states(owner), job_statuses(owner)) == ([], [])
        app.notify("email", "Rolled back", "A match was rolled back.", to=["a@example.com", "b@example.com"], priority="high", conn=connection)  # fmt: skip
        assert states(owner) == []
        connection.commit()

    drain(app)

    assert sorted(str(mail["To"]) for mail in mailbox.accepted) == ["a@example.com", "b@example.com"]
    assert {mail["Importance"] for mail in mailbox.accepted} == {"high"}


async def test_a_message_is_sent_from_asynchronous_code_in_its_transaction(
    app: Holdfast, mailbox: Mailbox, holdfast_db: ScratchDatabase, owner: psycopg.Connection[Any]
) -> None:
    app.alerts.to(mail_to(mailbox))
    connection = await psycopg.AsyncConnection.connect(holdfast_db.url)
    async with connection:
        (first,) = await app.anotify("email", "Hello", "text", conn=connection)
        assert states(owner) == []
    (second,) = await app.anotify("email", "Hello", "text")
    await app.aclose()

    assert [row[0] for row in owner.execute("select id from holdfast.notification order by created_at")] == [first, second]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"subject": "Hi\r\nBcc: thief@example.com"}, "line break"),
        ({"subject": "Hi\nthere"}, "line break"),
        ({"subject": ""}, "empty"),
        ({"text": ""}, "needs a text"),
        ({"to": "Ann\r\n <a@example.com>"}, "no e-mail address"),
        ({"to": "a@example.com\nBcc: b@example.com"}, "no e-mail address"),
        ({"to": []}, "nobody"),
        ({"priority": "soon"}, "priority"),
        ({"channel": "pager"}, "no channel is called 'pager'"),
    ],
)
def test_a_message_that_cannot_be_sent_safely_is_refused(
    app: Holdfast, mailbox: Mailbox, owner: psycopg.Connection[Any], given: dict[str, Any], said: str
) -> None:
    app.alerts.to(mail_to(mailbox))
    message: dict[str, Any] = {"channel": "email", "subject": "Hello", "text": "text", **given}

    with pytest.raises(BadInput, match=said):
        app.notify(**message)

    assert states(owner) == []


# -- approvals -----------------------------------------------------------------------------------------------------------


def test_each_delivery_of_an_approval_mints_a_token_that_is_nowhere_else(
    app: Holdfast, mailbox: Mailbox, owner: psycopg.Connection[Any], holdfast_db: ScratchDatabase,
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("HOLDFAST_BASE_URL", "https://jobs.example.com/")
    app.alerts.to(mail_to(mailbox))
    drain(app)
    machine = Machine(owner)
    machine.register("t")
    mailbox.answers = ["451 grey-listed"]
    gate = asked(machine, approvers=["ann@example.com", "ben"])

    drain(app, projector=True)
    holdfast_db.clock.advance(700)
    drain(app, projector=True)

    links = [re.search(r"https://\S+", mail.get_content()) for mail in mailbox.seen]
    pages = [found[0].partition("#") for found in links if found]
    assert [page for page, _, _ in pages] == [f"https://jobs.example.com/a/{gate.approval_id}"] * 2
    void, valid = (secret for _, _, secret in pages)
    assert re.fullmatch(r"hfa_[\w-]{43}", valid)
    assert void != valid
    assert "900" in mailbox.accepted[0].get_content()
    written = everything(owner) + caplog.text
    assert void not in written
    assert valid not in written
    assert decided(machine, gate.approval_id, void) == "unknown"
    assert decided(machine, gate.approval_id, valid) == "decided"


def decided(machine: Machine, approval: UUID, secret: str) -> str:
    hashed = hashlib.sha256(secret.encode()).digest()
    answer: str = machine.one("select * from holdfast.decide_by_token(%s, %s, 'approve')", approval, hashed)[
        "result"
    ]
    return answer


def test_without_a_base_url_an_approver_gets_no_link_and_the_job_says_what_to_set(
    app: Holdfast, mailbox: Mailbox, owner: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOLDFAST_BASE_URL", raising=False)
    app.alerts.to(mail_to(mailbox))
    drain(app)
    machine = Machine(owner)
    machine.register("t")
    asked(machine, approvers=["ann@example.com"])

    drain(app)

    error = machine.value("select error ->> 'message' from holdfast.job where queue = 'holdfast'")
    assert "HOLDFAST_BASE_URL" in error
    assert mailbox.seen == []


# -- Holdfast's own tasks ------------------------------------------------------------------------------------------------


def test_holdfasts_own_tasks_are_served_in_few_slots_and_listed_nowhere(
    app: Holdfast, mailbox: Mailbox
) -> None:
    broken_task(app)
    assert set(app.all_tasks) == {"breaks", "holdfast.bulk"}

    app.alerts.to(mail_to(mailbox))

    assert list(app.tasks) == ["breaks"]
    assert slots_of(app.all_tasks.values(), None, 50) == {"default": 50, "holdfast": 5}
    with pytest.raises(Configuration, match=r"Holdfast's own"):
        broken_task(app, "holdfast.mine")


def test_a_worker_without_the_channel_leaves_its_messages_to_one_that_has_it(
    app: Holdfast, mailbox: Mailbox, owner: psycopg.Connection[Any], holdfast_db: ScratchDatabase
) -> None:
    app.alerts.to(mail_to(mailbox))
    other = holdfast_db.use(Holdfast())
    other.alerts.to(SlackWebhook("https://hooks.example.com/x"))
    app.notify("email", "Hello", "text")

    drain(other)
    assert (states(owner), job_statuses(owner)) == (["waiting"], ["PENDING"])
    drain(app)

    assert states(owner) == ["delivered"]


@pytest.mark.parametrize(
    ("declare", "said"),
    [
        (lambda app: app.alerts.rule("r", Failures(more_than=-1)), "not negative"),
        (lambda app: app.alerts.rule("r\nx", Failures()), "line break"),
        (lambda app: app.alerts.rule("r", Failures(), severity="urgent"), "severity"),
        (lambda app: [app.alerts.rule("r", Failures()) for _ in range(2)], "two alert rules"),
        (lambda app: app.alerts.to(SlackWebhook("https://a.example/x"), name="Ops Team"), "1 to 50"),
        (lambda app: [app.alerts.to(SlackWebhook("https://a.example/x")) for _ in range(2)], "two channels"),
        (lambda _: SlackWebhook("ftp://a.example/x"), "not https"),
        (lambda _: SignedWebhook("https://a.example/x", "short"), "fewer than 24"),
        (lambda _: Email("mail.example.com", sender="nobody", to=[]), "no e-mail address"),
        (lambda _: Email("mail.example.com", sender="a@b.co\r\nBcc: c@d.co"), "line break"),
        (lambda _: Email("mail.example.com", sender="a@b.co", to="c@d.co"), "give a list"),
        (lambda _: Email("mail.example.com", 25, "u", "p", "a@b.co", tls="none"), "in clear"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_where_it_is_declared(declare: Any, said: str) -> None:
    with pytest.raises(Configuration, match=said):
        declare(Holdfast())


def test_a_rule_that_tells_an_undeclared_channel_keeps_the_worker_from_starting(app: Holdfast) -> None:
    broken_task(app)
    app.alerts.rule("r", Failures(), channels=["pager"])

    with pytest.raises(Configuration, match="pager"):
        drain(app)


def test_a_worker_looks_at_the_rules_as_time_goes_by(
    app: Holdfast, owner: psycopg.Connection[Any], holdfast_db: ScratchDatabase
) -> None:
    app.alerts.rule("unserved", NoWorker(queue="elsewhere"))
    app.alerts.to(SlackWebhook("https://hooks.example.com/x"))

    @app.task()
    def waits() -> None:
        until("the alert", lambda: owner.execute("select from holdfast.alert").rowcount)

    owner.execute("insert into holdfast.queue (name) values ('elsewhere')")
    waits.using(queue="elsewhere").enqueue()
    holdfast_db.clock.advance(3600)
    handle = waits.enqueue()
    drain(app, lease=1.0, queues={"default": 1})

    assert handle.status() is Status.COMPLETED


def test_a_worker_whose_channel_another_app_had_declared_says_so_and_works(
    holdfast_db: ScratchDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = (holdfast_db.use(Holdfast()) for _ in range(2))
    for number, app in enumerate((first, second)):
        app.made_in = f"shop{number}"
        app.alerts.to(Email("127.0.0.1", free_port(), sender="us@example.com", to=["ops@example.com"]))
    drain(first)

    with caplog.at_level(logging.WARNING, "holdfast"):
        drain(second)

    taken = [record for record in caplog.records if record.message == "alerts:taken"]
    assert [vars(record)["declared"] for record in taken] == ["email"]
