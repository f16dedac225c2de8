"""What goes wrong is told at least once, and a repeat has the same id, wherever workers are killed between the cause and the receiver."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from guarantees import shop as tasks
from guarantees.conftest import Stage
from holdfast import Holdfast
from world.receivers import Endpoint, Mailbox, http_endpoint, mail_server

DELIVERY = ["claimed:1", "delivery_begun:1", "delivery_sent:1", "ran:1", "finished:1"]


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with mail_server(Mailbox()) as mailbox:
        yield mailbox


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with http_endpoint(Endpoint()) as endpoint:
        yield endpoint


def test_an_alert_reaches_its_receivers_wherever_workers_are_killed(
    stage: Stage, shop: Holdfast, mailbox: Mailbox, endpoint: Endpoint
) -> None:
    told = {"GUARANTEES_WEBHOOK": endpoint.url, "GUARANTEES_MAIL_PORT": str(mailbox.port)}

    def kill_at(point: str, queue: str, **options: Any) -> None:
        stage.kill_at(point, env=told, queues={queue: 1}, **options)

    # The causes: two jobs fail, one before its failure is written and one after; a queue has no worker, and has one again.
    tasks.fail.enqueue()
    kill_at("ran:1", "default")
    tasks.nasty.enqueue("nul")
    kill_at("finished:1", "default")
    tasks.note.using(queue="unserved").enqueue(1)
    stage.database.clock.advance(61)
    kill_at("judged:1", "default", lease=1.0)  # which says how often rules are looked at, too
    shop.notify("webhook", "ours", "a message of our own")
    # Their messages, one at a time and each to its own point.
    for point in DELIVERY:
        kill_at(point, "holdfast")
    stage.database.clock.advance(61)
    kill_at("judged:1", "unserved", lease=1.0)

    stage.worker_after_kills(env=told, queues={"default": 2, "unserved": 1, "holdfast": 2})
    stage.until_counts(COMPLETED=10, FAILED=2)

    opened = stage.rows("select rule, about, count(*) from holdfast.alert group by 1, 2 order by 2")
    assert opened == [
        ("unserved", "queue:unserved", 1),
        ("broken", "task:fail", 1),
        ("broken", "task:nasty", 1),
    ]
    written = stage.rows("select id::text, state from holdfast.notification")
    came = Counter(endpoint.ids) + Counter(
        mail["Message-ID"].strip("<>").partition("@")[0] for mail in mailbox.seen
    )
    assert sorted(written) == sorted((message, "delivered") for message in came)
    # Only the one whose receiver had it and whose worker could not write it down came again.
    assert sorted(came.values()) == [1] * 8 + [2]
    stage.audit()
