"""What cannot be stored or obeyed: an error that says what and where, and no row."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from api.doors import job_ids
from holdfast import BadInput, BadPayload, Holdfast, JobNotFound, UnknownTask
from holdfast.domain.job import NewJob
from holdfast.runtime.registry import AnyTask
from holdfast.store.ids import new_id
from holdfast.testing import ScratchDatabase

NAIVE = datetime(2026, 7, 1, 12, 0)  # noqa: DTZ001 - the mistake under test


@pytest.fixture
def nothing_enqueued(holdfast_db: ScratchDatabase) -> Iterator[None]:
    yield
    assert job_ids(holdfast_db.owner_url) == []


def noting(app: Holdfast) -> AnyTask:
    @app.task()
    def note(what: Any = None, at: datetime | None = None, count: int = 0) -> None: ...

    task: AnyTask = note
    return task


@pytest.fixture
def unsent() -> AnyTask:
    """Give a task of an app whose database is nowhere: what is refused was refused before it was sent."""
    return noting(Holdfast("postgresql://nobody@127.0.0.1:1/nowhere"))


@pytest.fixture
def note(app: Holdfast, nothing_enqueued: None) -> AnyTask:
    return noting(app)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"what": object()}, "what: is a object, which is not plain JSON"),
        ({"what": {"a": [1, {2, 3}]}}, r"what\.a\[1\]: is a set, which JSON cannot hold"),
        ({"what": [1.0, float("nan")]}, r"what\[1\]: is nan, which JSON cannot hold"),
        ({"what": {"depth": float("inf")}}, r"what\.depth: is inf, which JSON cannot hold"),
        ({"what": "a\x00b"}, r"what: contains the character \\u0000"),
        ({"what": {"k\x00": 1}}, r"\\u0000"),
        ({"what": {"name": "\ud800"}}, r"what\.name: contains half of a surrogate pair"),
        ({"at": NAIVE}, "at: .*time ?zone"),
        ({"what": b"bytes"}, "what: is bytes, which JSON cannot hold; pass base64 text"),
        (
            {"what": "x" * 262_144},
            "payload: is 262,155 bytes of JSON, more than the 262,144 allowed; store the data elsewhere",
        ),
        ({"count": "many"}, "count: "),
        ({"how": 1}, "how"),
    ],
)
def test_an_argument_that_cannot_be_kept_is_named(
    unsent: AnyTask, arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(BadPayload, match=said):
        unsent.enqueue(**arguments)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"priority": 101}, "priority=101: allowed are whole numbers from -100 to 100"),
        ({"priority": -101}, "priority=-101"),
        ({"priority": "5"}, "priority='5'"),
        ({"priority": True}, "priority=True"),
        ({"retries": -1}, "retries=-1: allowed are whole numbers from 0 to 100"),
        ({"timeout": 0}, "timeout=0 must be more than 0 seconds"),
        ({"timeout": timedelta(seconds=-1)}, "timeout=-1 must be more than 0"),
        ({"run_at": NAIVE}, "run_at=2026-07-01T12:00:00 has no time zone: use an aware datetime"),
        ({"run_at": "tomorrow"}, "run_at='tomorrow' is no datetime"),
        ({"run_in": "5m"}, "run_in='5m' is neither a number of seconds nor a timedelta"),
        ({"run_in": float("nan")}, "run_in=nan"),
        ({"run_at": datetime.now(UTC), "run_in": 5}, "run_at= and run_in= were both given"),
        ({"key": ""}, "key= is empty: leave it out"),
        ({"tenant": ""}, "tenant= is empty: leave it out"),
        ({"queue": ""}, "queue= is empty"),
        ({"subject": ""}, "subject= is empty"),
        ({"key": 5}, "key=5 is no text"),
        ({"key": "x" * 501}, "key= has 501 characters; at most 500 fit"),
        ({"tenant": "a\x00"}, r"tenant: contains the character \\u0000"),
        ({"label": "\udcff"}, "label: contains half of a surrogate pair"),
        ({"key_scope": "forever"}, "key_scope='forever' is not one of active, success, ever"),
        ({"on_conflict": "ignore"}, "on_conflict='ignore' is not one of return, raise, replace"),
        ({"tags": "urgent"}, r"tags='urgent' is a string: give a list, e\.g\. tags=\['urgent'\]"),
        ({"tags": ["a", 5]}, r"tags\[1\] is 5: tags are strings"),
        ({"tags": ["\x00"]}, r"tags\[0\]: contains the character"),
        ({"metadata": ["a"]}, r"metadata=\['a'\] is no dictionary"),
        ({"metadata": {"at": datetime.now(UTC)}}, r"metadata\.at: is a datetime, which is not plain JSON"),
        ({"metadata": {"ratio": float("nan")}}, r"metadata\.ratio: is nan"),
        ({"metadata": {"text": "x" * 70_000}}, "metadata= has 70,012 bytes; at most 65,536 fit"),
    ],
)
def test_an_option_that_makes_no_sense_is_named_before_anything_is_sent(
    unsent: AnyTask, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        unsent.using(**options)


def written_by_hand(task: str, payload: str, options: str = "") -> NewJob:
    return NewJob(new_id(), task, payload, options)


@pytest.mark.parametrize(
    ("job", "error", "said"),
    [
        (
            written_by_hand("note", "[1]"),
            BadInput,
            "job 2: the payload of note must be a JSON object, not array",
        ),
        (written_by_hand("note", '{"what": "\\u0000"}'), BadInput, "PostgreSQL cannot store this JSON"),
        (written_by_hand("note", '{"what": NaN}'), BadInput, "PostgreSQL cannot store this JSON"),
        (
            written_by_hand("note", json.dumps({"what": "x" * 262_144})),
            BadInput,
            "job 2: the payload of note has 262,?1",
        ),
        (
            written_by_hand("note", "{}", ',"priority":500'),
            BadInput,
            "job 2: priority 500 is outside -100 to 100",
        ),
        (
            written_by_hand("note", "{}", ',"tags":"urgent"'),
            BadInput,
            "job 2: tags must be a list of strings",
        ),
        (
            written_by_hand("nobody", "{}"),
            UnknownTask,
            "job 2: task 'nobody' is not registered in this database",
        ),
    ],
)
def test_the_database_refuses_what_got_past_python_and_names_the_job(
    app: Holdfast, note: AnyTask, job: NewJob, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        app.enqueue_many([note.job(1), job, note.job(2)])


def test_what_is_no_job_is_named(app: Holdfast, note: AnyTask) -> None:
    with pytest.raises(BadInput, match=r"jobs\[1\] is a tuple: make jobs with task\.job\(…\)"):
        app.enqueue_many([note.job(1), ("note", 2)])  # type: ignore[list-item]


def test_what_is_no_job_id_is_named(app: Holdfast) -> None:
    with pytest.raises(BadInput, match="'42' is not a job id"):
        app.handle("42")


def test_an_id_nobody_has_is_not_found(app: Holdfast) -> None:
    nobody = new_id()

    with pytest.raises(JobNotFound, match=str(nobody)):
        app.handle(nobody).status()
    with pytest.raises(JobNotFound, match=str(nobody)):
        app.cancel(nobody)
    with pytest.raises(JobNotFound, match=str(nobody)):
        app.retry(nobody)


def test_an_argument_called_self_is_one_like_any_other(unsent: AnyTask) -> None:
    for enqueue in (unsent.job, unsent.enqueue):
        with pytest.raises(BadPayload, match="self"):
            enqueue(self=1)
