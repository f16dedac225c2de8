"""The live stream: names of what changed, to who may know them, for as long as they may."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from apps._world.serving import NO_TLS, served
from guarantees.waiting import until
from holdfast import Holdfast
from holdfast.domain.access import Role
from holdfast.domain.states import Status
from holdfast.interfaces.http import streaming
from holdfast.interfaces.http.asgi import asgi
from holdfast.interfaces.http.dashboard import pulse
from holdfast.store.pulse import read_pulse
from service.house import HASHED, MANY, PASSWORD, settings
from sql.support import Machine
from sql.test_project import project_all


class Listener:
    """Somebody with a browser open."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        answer = client.post("/login", data={"name": "dan", "password": PASSWORD})
        assert answer.status_code == 303, answer.text

    @contextmanager
    def stream(self) -> Iterator[Iterator[str]]:
        with self.client.stream("GET", "/live") as answer:
            assert answer.status_code == 200
            yield (line.removeprefix("event: ") for line in answer.iter_lines() if line.startswith("event: "))


@pytest.fixture(autouse=True)
def _dan(machine: Machine) -> None:
    machine.run("select holdfast.create_person('dan', %s, %s, null, 'tests')", HASHED, Role.VIEWER.value)
    machine.register("t")


@pytest.fixture
def listener(app: Holdfast) -> Iterator[Listener]:
    with served(asgi(app, settings=settings(**MANY))) as address, client_of(address) as client:
        yield Listener(client)


def client_of(address: str) -> httpx.Client:
    headers = {"Origin": address, "Sec-Fetch-Site": "same-origin"}
    return httpx.Client(base_url=address, headers=headers, verify=NO_TLS, timeout=30)


def test_what_changed_while_a_page_was_on_its_way_is_told_at_once(
    listener: Listener, machine: Machine
) -> None:
    with listener.stream() as first:
        assert next(first) == "ready"
        until("the first look is told", lambda: next(first) == "settings")
        machine.job_in(Status.COMPLETED)
        until("the job is told", lambda: next(first) == "jobs")
        with listener.stream() as second:
            assert next(second) == "ready"
            until("the job is told again", lambda: next(second) == "jobs")


def test_who_is_logged_out_is_told_nothing_more(
    listener: Listener, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "RECHECK", 0.2)
    with listener.stream() as told:
        assert next(told) == "ready"
        machine.run("delete from holdfast.session")
        [*_rest] = told  # it ends

    assert listener.client.get("/live").status_code == 401


def test_there_are_only_so_many_streams(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse, "MOST_STREAMS", 1)
    with listener.stream() as told:
        assert next(told) == "ready"
        refused = listener.client.get("/live")

    assert (refused.status_code, refused.headers["retry-after"]) == (429, "30")


@pytest.mark.parametrize(
    "change",
    ["reprioritise(%s, 7)", "move_to_queue(%s, 'slow')", "delete_job(%s)"],
    ids=["priority", "queue", "deletion"],
)
async def test_a_change_that_is_no_move_is_told_to_open_pages(
    app: Holdfast, machine: Machine, change: str
) -> None:
    machine.register("other", queue="slow")
    job = machine.job_in(Status.FAILED) if "delete" in change else machine.enqueue()
    machine.job_in(Status.CANCELLED)  # its history stays the newest
    project_all(machine)
    before = await app.link.aperform_once(read_pulse())

    machine.run(f"select holdfast.{change}", job)

    after = await app.link.aperform_once(read_pulse())
    assert before["jobs"] != after["jobs"]
    await app.link.aclose()
