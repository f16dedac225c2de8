"""Django's tasks on Holdfast: what they promise, kept by a real worker."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from api.doors import job_ids
from holdfast import Holdfast, Retry
from holdfast.testing import ScratchDatabase, TestServer
from integrations.conftest import shop_on
from world.draining import drain
from world.hosts import set_up_django

set_up_django()

from django.db import transaction  # noqa: E402 - after the settings
from django_tasks import TaskResultStatus, default_task_backend  # noqa: E402
from django_tasks.exceptions import TaskResultDoesNotExist, TaskResultMismatch  # noqa: E402
from django_tasks.signals import task_enqueued, task_finished, task_started  # noqa: E402

from world.shop import tasks  # noqa: E402
from world.shop.models import Order  # noqa: E402


@dataclass
class Worked:
    """Tasks that a worker has run, as they were when they were enqueued."""

    order: Any
    pack: Any
    weigh: Any
    sent_elsewhere: Any
    count: Any
    lose: Any
    waiting: Any  # pack's result before it ran


@pytest.fixture(scope="module")
def worked(holdfast_server: TestServer) -> Worked:
    """Run tasks of all kinds, once."""
    with holdfast_server.database() as database, shop_on(database) as jobs:
        order = Order.objects.create(note="a chair")
        pack = tasks.pack.enqueue(order.id, note="in paper")
        told = Worked(
            order,
            pack,
            async_to_sync(tasks.weigh.aenqueue)(order.id),
            tasks.pack.using(queue_name="night", priority=-5).enqueue(1),
            tasks.count.enqueue("a", "b", c=3),
            tasks.lose.enqueue("the parcel"),
            tasks.pack.get_result(pack.id),
        )
        drain(jobs.app)
        for result in (told.pack, told.sent_elsewhere, told.count, told.lose):
            result.refresh()
        async_to_sync(told.weigh.arefresh)()
    return told


def test_a_worker_runs_a_task_and_its_result_can_be_read(worked: Worked) -> None:
    waiting, result = worked.waiting, worked.pack

    assert waiting.status == TaskResultStatus.READY
    assert (waiting.args, waiting.kwargs) == ([worked.order.id], {"note": "in paper"})
    assert result.status == TaskResultStatus.SUCCESSFUL
    assert result.return_value == {"order": worked.order.id, "note": "in paper"}
    assert result.enqueued_at <= result.started_at <= result.finished_at
    assert (result.attempts, result.errors) == (1, [])


def test_an_async_task_with_a_queue_and_a_priority_of_its_own(worked: Worked) -> None:
    assert worked.weigh.return_value.endswith("weighs 3 kg")
    assert (worked.weigh.task.queue_name, worked.weigh.task.priority) == ("slow", 7)


def test_a_task_can_be_sent_to_any_queue_of_its_backend_and_workers_serve_all(worked: Worked) -> None:
    assert worked.sent_elsewhere.status == TaskResultStatus.SUCCESSFUL
    assert (worked.sent_elsewhere.task.queue_name, worked.sent_elsewhere.task.priority) == ("night", -5)


def test_a_task_gets_its_context_and_any_arguments(worked: Worked) -> None:
    assert worked.count.return_value == [1, worked.count.id, ["a", "b"], {"c": 3}]


def test_a_task_that_fails_has_its_error_and_is_not_tried_again_unless_told(worked: Worked) -> None:
    assert worked.lose.status == TaskResultStatus.FAILED
    (error,) = worked.lose.errors
    assert error.exception_class is LookupError
    assert "raise LookupError(reason)" in error.traceback
    assert "contrib" not in error.traceback
    with pytest.raises(ValueError, match="failed"):
        _ = worked.lose.return_value


def test_a_task_runs_after_its_time(shop_app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    moment = datetime.now(UTC) + timedelta(hours=1)
    result = tasks.pack.using(run_after=moment).enqueue(1)

    drain(shop_app)
    before = default_task_backend.get_result(result.id)
    holdfast_db.clock.advance(timedelta(hours=2))
    drain(shop_app)

    assert (before.status, before.task.run_after) == (TaskResultStatus.READY, moment)
    assert default_task_backend.get_result(result.id).status == TaskResultStatus.SUCCESSFUL


def test_a_backend_with_retries_tries_again(shop_app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    result = tasks.lose_once.enqueue()

    drain(shop_app)
    between = tasks.lose_once.get_result(result.id)
    holdfast_db.clock.advance(60)
    drain(shop_app)
    result.refresh()

    assert (between.status, between.attempts) == (TaskResultStatus.READY, 1)
    assert (result.return_value, result.attempts) == (2, 2)
    assert [error.exception_class for error in result.errors] == [Retry]


def test_a_cancelled_job_is_a_failed_task(shop_app: Holdfast) -> None:
    result = tasks.pack.enqueue(1)

    shop_app.cancel(result.id)
    result.refresh()

    assert result.status == TaskResultStatus.FAILED


def test_enqueue_is_part_of_the_orms_transaction(shop_app: Holdfast, holdfast_db: ScratchDatabase) -> None:
    with transaction.atomic():
        kept = tasks.pack.enqueue(1)
        seen = tasks.pack.get_result(kept.id).status
        unseen = job_ids(holdfast_db.owner_url)
        with suppress(LookupError), transaction.atomic():
            lost = tasks.pack.enqueue(2)
            raise LookupError

    assert (seen, unseen) == (TaskResultStatus.READY, [])
    assert [str(job_id) for job_id in job_ids(holdfast_db.owner_url)] == [kept.id]
    with pytest.raises(TaskResultDoesNotExist):
        tasks.pack.get_result(lost.id)


def test_results_of_others_are_not_given_out(shop: Any, shop_app: Holdfast) -> None:
    of_another_task = tasks.pack.enqueue(1)
    of_no_task_of_djangos = shop.ship.enqueue(1)

    with pytest.raises(TaskResultMismatch):
        tasks.lose.get_result(of_another_task.id)
    for unknown in (str(of_no_task_of_djangos.id), "018f0000-0000-7000-8000-000000000000", "7"):
        with pytest.raises(TaskResultDoesNotExist):
            tasks.pack.get_result(unknown)


def test_djangos_signals_are_sent_and_a_listener_cannot_fail_the_task(shop_app: Holdfast) -> None:
    told: list[tuple[str, str]] = []

    def listen(signal: Any, task_result: Any, **_more: Any) -> None:
        name = {id(task_enqueued): "enqueued", id(task_started): "started", id(task_finished): "finished"}
        told.append((name[id(signal)], str(task_result.status)))
        if signal is not task_enqueued:
            raise RuntimeError("a listener's own trouble")

    signals = (task_enqueued, task_started, task_finished)
    for signal in signals:
        signal.connect(listen)
    try:
        result = tasks.pack.enqueue(1)
        drain(shop_app)
        tasks.lose.enqueue("it")
        drain(shop_app)
    finally:
        for signal in signals:
            signal.disconnect(listen)

    first = [("enqueued", "READY"), ("started", "RUNNING"), ("finished", "SUCCESSFUL")]
    assert told == [*first, *first[:2], ("finished", "FAILED")]
    assert tasks.pack.get_result(result.id).status == TaskResultStatus.SUCCESSFUL
