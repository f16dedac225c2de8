"""Streams of events: who sees what, and that no cut, crash or slowness loses, repeats or leaks any."""

import asyncio
import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from itertools import chain, repeat
from typing import Any
from uuid import uuid4

import psutil
import psycopg
import pytest

from guarantees.waiting import until
from holdfast import Context, Holdfast
from holdfast.domain.access import Principal, Scope
from holdfast.domain.live import event_body, job_news
from holdfast.interfaces.http import live as http_live
from holdfast.interfaces.http import serving as http_serving
from holdfast.interfaces.http import streaming as streaming_http
from holdfast.interfaces.http.asgi import asgi
from holdfast.runtime import live, streams
from holdfast.runtime.access import create_key
from holdfast.store.project import project
from holdfast.testing import ScratchDatabase, TestServer, drain
from service.processes import serving
from service.streams import Stream, Told, streaming
from service.threads import answering
from world import strikes
from world.often import LONG, times

EVENTS = "/api/v1/events"


class World:
    """A served app, and what happens in it."""

    def __init__(self, app: Holdfast, url: str) -> None:
        self.app = app
        self.url = url

    def key(self, *scopes: str, tenant: str | None = None) -> str:
        return create_key(
            self.app, f"test-{uuid4()}", scopes=[Scope(scope) for scope in scopes or ("read",)], tenant=tenant
        )

    def stream(self, query: str, **how: Any) -> AbstractAsyncContextManager[Stream]:
        if "key" not in how:
            how["key"] = self.key()
        return streaming(self.url, f"{EVENTS}?{query}", **how)

    def publish(self, channel: str, *numbers: int) -> None:
        for number in numbers:
            self.app.publish(channel, "tick", {"n": number})
        self.project()

    def project(self) -> None:
        while (done := self.app.link.perform(project(10_000))).rows or done.more:
            pass


@pytest.fixture
def world(shop: Holdfast) -> Iterator[World]:
    with answering(asgi(shop)) as url:
        yield World(shop, url)


@pytest.fixture(scope="module")
def lasting(holdfast_server: TestServer) -> Iterator[World]:
    """Give a world for tests that leave nothing behind which another would meet."""
    with holdfast_server.database() as database:
        app = database.use(Holdfast())
        with answering(asgi(app)) as url:
            yield World(app, url)


def numbers(told: list[Told]) -> list[int]:
    return [each.data["data"]["n"] for each in told if each.name == "tick"]


# -- what is told ----------------------------------------------------------------------------------------------------------


async def test_a_stream_tells_what_happens_from_now_on_with_the_ids_of_the_feed(lasting: World) -> None:
    name = str(uuid4())
    lasting.publish(f"subject:{name}", 1, 2)

    async with lasting.stream(f"subject={name}") as stream:
        (ready,) = await stream.take(1)
        began = time.monotonic()
        await asyncio.to_thread(lasting.publish, f"subject:{name}", 3, 4)
        told = await stream.take(2)

    assert stream.headers["content-type"].startswith("text/event-stream")
    assert (stream.headers["cache-control"], stream.headers["x-accel-buffering"]) == ("no-store", "no")
    assert (ready.name, ready.id) == ("ready", "2")
    assert [(each.id, each.name, each.data["data"]) for each in told] == [
        ("3", "tick", {"n": 3}),
        ("4", "tick", {"n": 4}),
    ]
    assert time.monotonic() - began < 10


async def test_a_job_is_followed_without_subject_and_told_as_its_subject_tells_it(
    world: World, shop: Holdfast
) -> None:
    @shop.task(feed_fields=["name"])
    async def count(ctx: Context, name: str) -> None:
        await ctx.progress(1, 2, "half")

    alone = count.enqueue("Ann")
    with_subject = count.using(subject="s").enqueue("Ann")

    async with (
        world.stream(f"job={alone.id}&after=0.0") as of_job,
        world.stream(f"job={with_subject.id}&after=0.0") as of_other,
        world.stream("subject=s&after=0") as of_subject,
    ):
        await asyncio.to_thread(drain, shop)
        by_job, by_other, by_subject = [
            (await stream.take(5))[1:] for stream in (of_job, of_other, of_subject)
        ]

    assert [each.name for each in by_job] == ["job.enqueued", "job.started", "progress", "job.completed"]
    assert [each.id.split(".")[0] for each in by_job if each.id] == ["1", "2", "2", "3"]
    assert by_job[0].data["data"]["fields"] == {"name": "Ann"}
    assert [each.data for each in by_other] == [each.data for each in by_subject]


async def test_resuming_gives_what_lies_between_and_nothing_twice(lasting: World) -> None:
    name = str(uuid4())
    await asyncio.to_thread(lasting.publish, f"subject:{name}", *range(1, 8))
    async with lasting.stream(f"subject={name}&after=2") as stream:
        first = (await stream.take(4))[1:]

    # The address still says 2, as a browser's would: the header counts.
    async with lasting.stream(f"subject={name}&after=2", last=first[-1].id) as stream:
        second = (await stream.take(3))[1:]

    assert numbers(first + second) == [3, 4, 5, 6, 7]


async def test_more_than_a_page_lies_between(lasting: World, monkeypatch: pytest.MonkeyPatch) -> None:
    name = str(uuid4())
    monkeypatch.setattr(live, "PAGE", 3)
    await asyncio.to_thread(lasting.publish, f"subject:{name}", *range(1, 20))

    async with lasting.stream(f"subject={name}&after=0") as stream:
        told = await stream.take(20)
        await asyncio.to_thread(lasting.publish, f"subject:{name}", *range(20, 31))
        told += await stream.take(11)

    assert numbers(told) == list(range(1, 31))


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        ("2", "no longer kept"),
        ("0", "no longer kept"),
        ("9", "not of this stream"),
        ("x", "not of this stream"),
    ],
    ids=["too old", "from the beginning", "never given", "nonsense"],
)
async def test_a_place_that_cannot_be_resumed_is_reset_in_words(
    world: World, owner: psycopg.Connection, last: str, reason: str
) -> None:
    await asyncio.to_thread(world.publish, "subject:s", 1, 2, 3, 4, 5)
    with owner.transaction():
        owner.execute("select set_config('holdfast.retention', pg_current_xact_id()::text, true)")
        owner.execute("delete from holdfast.feed where id <= 3")

    async with world.stream("subject=s", last=last) as stream:
        first, second, *told = await stream.take(4 if reason.startswith("no longer") else 2)
        await asyncio.to_thread(world.publish, "subject:s", 6)
        told += await stream.take(1)

    # Whoever is cut between the two has seen the reset, or still has the id that leads to it.
    ready, reset = (first, second) if first.id == last else (second, first)
    assert (reset.name, ready.name) == ("reset", "ready")
    assert reason in reset.data["reason"]
    # Behind the reset's id nothing is missing.
    assert reset.id is not None
    assert numbers(told) == list(range(int(reset.id) + 1, 7))


async def test_when_everything_between_is_gone_that_is_said_too(
    world: World, owner: psycopg.Connection
) -> None:
    await asyncio.to_thread(world.publish, "subject:s", 1, 2, 3)
    with owner.transaction():
        owner.execute("select set_config('holdfast.retention', pg_current_xact_id()::text, true)")
        owner.execute("delete from holdfast.feed")

    async with world.stream("subject=s", last="1") as stream:
        _, reset = await stream.take(2)
        await asyncio.to_thread(world.publish, "subject:s", 4)
        told = await stream.take(1)

    assert (reset.name, reset.id) == ("reset", "3")
    assert numbers(told) == [4]


async def test_who_is_too_far_behind_begins_anew(lasting: World, monkeypatch: pytest.MonkeyPatch) -> None:
    name = str(uuid4())
    monkeypatch.setattr(live, "MOST_REPLAYED", 3)
    await asyncio.to_thread(lasting.publish, f"subject:{name}", 1, 2, 3, 4, 5)

    async with lasting.stream(f"subject={name}", last="1") as stream:
        reset, ready = await stream.take(2)

    assert (reset.name, reset.id, ready.id) == ("reset", "5", "5")


async def test_a_silent_stream_is_kept_alive_without_ids(
    lasting: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = str(uuid4())
    monkeypatch.setattr(streaming_http, "KEEP_ALIVE", 0.05)

    async with lasting.stream(f"subject={name}") as stream:
        await stream.take(1)
        lines = [await stream.line() for _ in range(4)]

    assert lines == [b": still here", b"", b": still here", b""]


def test_moves_and_happenings_stay_in_their_order_though_a_clock_goes_back() -> None:
    from datetime import UTC, datetime, timedelta

    from holdfast.domain.live import JobRow

    noon, job = datetime(2030, 1, 1, 12, tzinfo=UTC), uuid4()
    rows = [
        JobRow(1, 0, "a", job, noon + timedelta(seconds=2), {}),
        JobRow(2, 0, "b", job, noon, {}),
        JobRow(0, 7, "c", job, noon + timedelta(seconds=1), {}),
    ]

    news = job_news(rows, (0, 0))

    assert [event.place for event in news.events] == [(0, 7), (1, 0), (2, 0)]
    assert news.place == (2, 7)


# -- cuts --------------------------------------------------------------------------------------------------------------------


async def test_connections_cut_at_random_lose_and_repeat_nothing(world: World) -> None:
    chance, key = random.Random(4), world.key()
    cuts, readers = times(100, 500), 10
    done = asyncio.Event()

    async def happen() -> int:
        number = 0
        while not done.is_set():
            count = chance.randint(1, 20)
            await asyncio.to_thread(world.publish, "subject:s", *range(number, number + count))
            number += count
            await asyncio.sleep(chance.uniform(0, 0.02))
        return number

    async def read(cuts: int) -> list[Told]:
        told: list[Told] = []
        last = "0"
        for _ in range(cuts):
            async with world.stream("subject=s", key=key, last=last) as stream:
                # By time, which may be inside an event, or behind one: a slow machine must come to some, too.
                moment = chance.choice([chance.uniform(0, 0.02), 5.0])
                cut = asyncio.get_running_loop().call_later(moment, stream.cut)
                enough = len(told) + chance.randint(1, 30)
                async for each in stream.events():
                    told.append(each)
                    last = each.id or last
                    if len(told) == enough:
                        break
                cut.cancel()
            strikes.strike()
            if numbers(told) != list(range(len(numbers(told)))):
                strikes.saw_it()
                break  # what is read again and again would take ever longer
        return told

    happening = asyncio.create_task(happen())
    everybody = await asyncio.gather(*(read(cuts // readers) for _ in range(readers)))
    done.set()
    made = await happening

    for told in everybody:
        assert not [each for each in told if each.name == "reset"]
        seen = numbers(told)
        assert seen == list(range(len(seen)))
    assert sum(len(numbers(told)) for told in everybody) > cuts
    assert made > cuts / 10


# -- E1-E5: streams as a way in -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "who", "expected"),
    [
        ("subject=s", {"key": None}, 401),
        ("subject=s", {"scopes": ["enqueue"]}, 403),
        ("tenant=globex", {"tenant": "acme"}, 404),
        ("job=01890a5d-ac96-774b-bcce-b302099a8057", {}, 404),
        ("", {}, 422),
        ("subject=s&tenant=acme", {}, 422),
        ("subject=", {}, 422),
        ("subject=a%00b", {}, 422),
        ("subject=s&subject=t", {}, 422),
        ("job=nonsense", {}, 422),
        ("subject=s&after=-1", {}, 422),
        ("subject=s&key=hfk_in_the_address", {}, 422),
    ],
)
async def test_who_may_not_follow_is_told_so_before_anything_streams(
    lasting: World, query: str, who: dict[str, Any], expected: int
) -> None:
    key = who["key"] if "key" in who else lasting.key(*who.get("scopes", ()), tenant=who.get("tenant"))

    async with lasting.stream(query, key=key) as stream:
        assert stream.status == expected
        assert stream.headers["content-type"] == "application/problem+json"


async def test_a_tenant_sees_its_own_jobs_on_a_subject_that_others_use_too(
    world: World, shop: Holdfast
) -> None:
    greet = shop.tasks["greet"]
    others = [greet.using(subject="s", tenant="globex").enqueue("Eve").id for _ in range(3)]
    own = greet.using(subject="s", tenant="acme").enqueue("Ann").id
    world.publish("subject:s", 1)
    key = world.key(tenant="acme")

    async with (
        world.stream("subject=s&after=0", key=key) as of_subject,
        world.stream("", key=key) as of_tenant,
        world.stream(f"job={others[0]}", key=key) as foreign,
        world.stream("subject=s&after=0") as all_of_them,
    ):
        await of_tenant.take(1)
        more = await asyncio.to_thread(greet.using(subject="s", tenant="acme").enqueue, "Bob")
        await asyncio.to_thread(world.project)
        by_subject = (await of_subject.take(3))[1:]
        by_tenant = await of_tenant.take(1)
        everything = (await all_of_them.take(7))[1:]

    assert [each.data["job_id"] for each in by_subject] == [str(own), str(more.id)]
    assert [each.data["job_id"] for each in by_tenant] == [str(more.id)]
    assert foreign.status == 404
    assert len(everything) == 6


async def test_e3_a_key_that_is_revoked_ends_its_stream(
    world: World, owner: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert streaming_http.RECHECK + streaming_http.SLOWEST < 60
    monkeypatch.setattr(streaming_http, "RECHECK", 0.1)
    async with world.stream("subject=s") as stream:
        await stream.take(1)
        owner.execute("update holdfast.api_key set revoked_at = holdfast.clock()")

        assert await stream.take(1) == []


async def test_e3_a_caller_whose_tenant_changes_is_cut(
    shop: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming_http, "RECHECK", 0.1)
    tenants = chain(["acme", "acme"], repeat("globex"))

    async def authenticate(_request: object) -> Principal:
        return Principal("host's", frozenset({Scope.READ}), next(tenants))

    with answering(asgi(shop, authenticate=authenticate)) as url:
        async with streaming(url, EVENTS) as stream:
            assert [each.name for each in await stream.take(9)] == ["ready"]


@pytest.mark.parametrize("caps", [{"most": 3}, {"most_of_tenant": 3}], ids=["of all", "of a tenant"])
async def test_e1_streams_beyond_the_cap_are_refused_and_one_that_ends_makes_room(
    shop: Holdfast, caps: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_live, "Live", partial(live.Live, **caps))
    with answering(asgi(shop)) as url:
        world = World(shop, url)
        opened = partial(world.stream, "", key=world.key(tenant="acme"))
        async with opened(), opened():
            async with opened(), opened() as fourth:
                assert fourth.status == 429
                assert fourth.headers["retry-after"]
            assert await _status_is(opened, 200)


async def _status_is(opened: Callable[[], AbstractAsyncContextManager[Stream]], status: int) -> bool:
    async with asyncio.timeout(10):
        while True:
            async with opened() as stream:
                if stream.status == status:
                    return True


async def test_e2_who_does_not_read_is_cut_and_costs_nobody_anything(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming_http, "SLOWEST", 0.5)
    text = "x" * 60_000
    async with (
        world.stream("subject=s", buffer=1024) as slow,
        world.stream("subject=s") as quick,
    ):
        await quick.take(1)

        async def happen() -> None:
            # More than all buffers between here and there hold.
            for number in range(200):
                await asyncio.to_thread(world.app.publish, "subject:s", "tick", {"n": number, "text": text})
                if number % 10 == 9:
                    await asyncio.to_thread(world.project)

        happening = asyncio.create_task(happen())
        told = await quick.take(200, within=60)
        await happening
        (hub,) = [hub for hub in streams._all if isinstance(hub, live.Live) and hub._sources]
        (source,) = hub._sources.values()
        until("the slow one is gone", lambda: len(source.readers) == 1)
        assert source._bytes <= live.RECENT_BYTES

        left = [each.data["data"]["n"] for each in await slow.take(1000) if each.name == "tick"]

    assert numbers(told) == list(range(200))
    assert left == list(range(len(left)))
    assert len(left) < 200


@pytest.mark.parametrize(
    "kind",
    ["a\ndata: forged", "a\r\nid: 9", "a\rb", "reset", "ready", "open", "error", "ü\u2028"],
)
async def test_e5_nothing_in_an_event_passes_for_another(lasting: World, kind: str) -> None:
    text, subject = "x\n\nevent: reset\r\ndata: {}\r\r", uuid4()
    lasting.app.publish(f"subject:{subject}", kind, {"text": text, text: 1})
    lasting.publish(f"subject:{subject}", 2)

    async with lasting.stream(f"subject={subject}&after=0") as stream:
        _, told, tick = await stream.take(3)

    assert (told.id, told.name, told.data["kind"]) == ("1", "message", kind)
    assert told.data["data"] == {"text": text, text: 1}
    assert (tick.id, tick.name) == ("2", "tick")


def test_an_event_is_written_on_two_lines() -> None:
    from datetime import UTC, datetime

    body = event_body("tick", None, datetime(2030, 1, 1, tzinfo=UTC), {"a": "\n\r\u2028"})

    assert body.count(b"\n") == 3
    assert b"\r" not in body


# -- ends ------------------------------------------------------------------------------------------------------------------------


async def test_a_server_with_open_streams_ends_at_once_and_with_0(holdfast_db: ScratchDatabase) -> None:
    with serving(holdfast_db, "server", "--no-auth", "--parts", "live") as server:
        opened = partial(streaming, server.url)
        async with opened(f"{EVENTS}?subject=s") as one, opened(f"{EVENTS}?subject=t") as other:
            assert [(await each.take(1))[0].name for each in (one, other)] == ["ready", "ready"]
            began = time.monotonic()

            code = await asyncio.to_thread(server.stop)

            took = time.monotonic() - began
            assert (await one.line(), await other.line()) == (None, None)
    assert code == 0, server.said
    assert took < 3
    assert [line for line in server.said if "ERROR" in line] == []


async def test_a_server_that_people_watch_ends_at_once_and_with_0(holdfast_db: ScratchDatabase) -> None:
    with serving(holdfast_db, "server", "--no-auth", "--parts", "dashboard") as server:
        async with streaming(server.url, "/live") as page:
            assert [await page.line() for _ in range(4)][1] == b"event: ready"
            began = time.monotonic()

            code = await asyncio.to_thread(server.stop)

            took = time.monotonic() - began
            while await page.line() is not None:  # what it was told before
                pass
    assert code == 0, server.said
    assert took < 3


async def test_a_stream_outlives_the_connections_to_the_database(
    world: World, owner: psycopg.Connection
) -> None:
    async with world.stream("subject=s") as stream:
        await stream.take(1)
        owner.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and usename <> current_user"
            " and datname = current_database()"
        )
        owner.execute("""select holdfast.publish('subject:s', 'tick', '{"n": 1}')""")
        for _ in range(3):  # the first pass of all learns which cluster this is
            owner.execute("select holdfast.project()")

        assert numbers(await stream.take(1)) == [1]


@pytest.mark.new_database
async def test_the_connection_that_listens_is_shared_and_goes_with_the_last_stream(
    world: World, owner: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "LINGER", 0.1)
    monkeypatch.setattr(live, "LOOK_EVERY", 0.1)

    def listening() -> int:
        asked = "select count(*) from pg_stat_activity where application_name = 'holdfast listen' and datname = current_database()"
        found = owner.execute(asked).fetchone()
        assert found
        return int(found[0])

    async with world.stream("subject=s") as one, world.stream("subject=t") as other:
        await one.take(1)
        await other.take(1)
        await asyncio.to_thread(until, "somebody listens", lambda: listening() == 1)

    await asyncio.to_thread(until, "nobody listens", lambda: listening() == 0)


async def test_e1_many_streams_at_once_hear_of_everything(holdfast_db: ScratchDatabase) -> None:
    """A process serves a thousand of them, each within a second, in less than 200 MB."""
    many = times(60, 1000)
    http_serving.allow_many_files()
    app = holdfast_db.use(Holdfast())
    with serving(holdfast_db, "server", "--no-auth", "--parts", "live") as server:
        async with AsyncExitStack() as opened:
            all_streams = [
                await opened.enter_async_context(streaming(server.url, f"{EVENTS}?subject=s{number % 10}"))
                for number in range(many)
            ]
            assert {stream.status for stream in all_streams} == {200}
            assert {(await stream.take(1))[0].name for stream in all_streams} == {"ready"}
            world = World(app, server.url)
            began = time.monotonic()
            for number in range(10):
                await asyncio.to_thread(world.publish, f"subject:s{number}", 1)
            told = await asyncio.gather(*(stream.take(1) for stream in all_streams))
            took = time.monotonic() - began
            memory = psutil.Process(server.process.pid).memory_info().rss

    app.close()
    assert [numbers(each) for each in told] == [[1]] * many
    assert memory < 200 * 2**20
    assert not LONG or took < 2  # of which the ten projections are a part
