"""What surrounds the doors: headers for browsers, hosts, proxies, the host's own users, and no doors that stand open by mistake."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, cast

import httpx
import psycopg
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount

from holdfast import Configuration, Holdfast
from holdfast.domain.access import Scope
from holdfast.interfaces.http.asgi import asgi
from holdfast.interfaces.http.exposure import refuse_open_door
from holdfast.interfaces.http.guard import STRICT
from holdfast.runtime import access
from holdfast.server import Principal, Role
from service.asking import problem
from service.house import DEVICE, OWN_PAGE, House, log_in, settings

NEW_KEY = {"name": "x", "scopes": ["read"]}
LOCAL = "http://localhost:7070"


# -- headers -----------------------------------------------------------------------------------------------------------------


async def test_every_answer_tells_browsers_to_be_strict(house: House) -> None:
    async with house.browser() as client:
        for path in ("/api/v1/keys", "/api/v1/nothing", "/nothing", "/login", "/logout"):
            headers = (await client.get(path)).headers

            assert [name for name in STRICT if name not in headers] == [], path
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["strict-transport-security"] == "max-age=31536000"
            assert "unsafe" not in headers["content-security-policy"]


async def test_without_tls_nothing_is_said_about_it(house: House) -> None:
    async with house.browser(base_url="http://jobs.test") as client:
        assert "strict-transport-security" not in (await client.get("/login")).headers


# -- hosts -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("jobs.example.com", 200),
        ("JOBS.example.com.:443", 200),
        ("public.test", 200),
        ("localhost:7070", 200),
        ("[::1]:7070", 200),
        ("jobs.test", 421),
        ("evil.test", 421),
        ("jobs.example.com.evil.test", 421),
        ("evil.test:80@jobs.example.com", 400),
        ("jobs.example.com/evil", 400),
        ("", 400),
        ("10.1.2.3", 421),
    ],
)
async def test_a_name_that_somebody_else_points_at_us_is_refused(
    house: House, host: str, expected: int
) -> None:
    allowed = "jobs.example.com, other.example.com"
    async with house.browser(public="https://public.test", allowed_hosts=allowed) as client:
        answer = await client.get("/login", headers={"Host": host})

    assert answer.status_code == expected


async def raw(app: Any, **scope: Any) -> int:
    """Ask as no client library would."""
    seen: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        seen.append(message.get("status", 0))

    usual = {
        "type": "http", "method": "GET", "path": "/login", "raw_path": b"/login", "query_string": b"", "root_path": "",
        "scheme": "http", "http_version": "1.1", "headers": [], "client": ("10.9.9.9", 1), "server": ("10.1.2.3", 7070),
    }  # fmt: skip
    await app({**usual, **scope}, receive, send)
    return seen[0]


async def test_a_probe_may_name_the_address_it_came_in_at_and_two_hosts_are_none(house: House) -> None:
    app = asgi(house.app, settings=settings(allowed_hosts="jobs.example.com"))

    assert await raw(app, headers=[(b"host", b"10.1.2.3:7070")]) == 200
    assert await raw(app, headers=[(b"host", b"[fe80::1]:7070")], server=("fe80::1", 7070)) == 200
    assert await raw(app, headers=[(b"host", b"10.1.2.4:7070")]) == 421
    assert await raw(app, headers=[(b"host", b"jobs.example.com"), (b"host", b"evil.test")]) == 400
    assert await raw(app) == 400


async def test_a_length_beside_chunks_is_refused_behind_any_server(house: House) -> None:
    """The server of ours refuses some of them itself; a host's may not."""
    app, host = asgi(house.app, settings=settings()), (b"host", b"127.0.0.1")
    length, chunks = (b"content-length", b"2"), (b"transfer-encoding", b"chunked")

    assert [await raw(app, headers=[host, one]) for one in (length, chunks)] == [200, 200]
    assert await raw(app, headers=[host, length, chunks]) == 400


# -- proxies -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trusted", "peer", "headers", "address"),
    [
        ("", "203.0.113.9", {"X-Forwarded-For": "1.1.1.1"}, "203.0.113.9"),
        ("10.0.0.0/8", "203.0.113.9", {"X-Forwarded-For": "1.1.1.1"}, "203.0.113.9"),
        ("10.0.0.0/8", "10.0.0.1", {"X-Forwarded-For": "1.1.1.1"}, "1.1.1.1"),
        ("10.0.0.0/8", "10.0.0.1", {"X-Forwarded-For": "6.6.6.6, 1.1.1.1"}, "1.1.1.1"),
        ("10.0.0.0/8", "10.0.0.1", {"X-Forwarded-For": "6.6.6.6, 1.1.1.1, 10.0.0.2"}, "1.1.1.1"),
        ("10.0.0.0/8", "10.0.0.1", {"X-Forwarded-For": "6.6.6.6, nonsense"}, "10.0.0.1"),
        ("10.0.0.0/8", "10.0.0.1", {"X-Forwarded-For": "[2001:db8::1]:99"}, "2001:db8::1"),
        ("10.0.0.0/8", "10.0.0.1", {"X-Forwarded-For": "1.1.1.1:99"}, "1.1.1.1"),
        ("10.0.0.0/8", "10.0.0.1", {"X-Real-IP": "6.6.6.6", "Forwarded": "for=6.6.6.6"}, "10.0.0.1"),
        ("10.0.0.0/8", "10.0.0.1", {}, "10.0.0.1"),
    ],
    ids=str,
)
async def test_only_trusted_proxies_say_where_a_request_came_from(
    house: House, trusted: str, peer: str, headers: dict[str, str], address: str
) -> None:
    name = house.person()
    async with house.browser(address=peer, trusted_proxies=trusted) as client:
        await log_in(client, name, headers=headers)

    with psycopg.connect(house.database.owner_url) as owner:
        found = owner.execute("select address from holdfast.audit where target = %s", [name]).fetchone()
    assert found == (address,)


async def test_a_stranger_cannot_escape_the_limit_of_tries_by_a_header(house: House) -> None:
    name = house.person()
    async with house.browser() as client:
        statuses = [
            (await log_in(client, name, "wrong", headers={"X-Forwarded-For": f"1.1.1.{number}"})).status_code
            for number in range(6)
        ]

    assert statuses == [401] * 5 + [429]


async def test_a_trusted_proxy_says_whether_the_browser_spoke_tls(house: House) -> None:
    said = {"X-Forwarded-Proto": "https"}
    async with house.browser(base_url="http://jobs.test") as stranger:
        assert "strict-transport-security" not in (await stranger.get("/login", headers=said)).headers
    proxied = house.browser(base_url="http://jobs.test", address="10.0.0.1", trusted_proxies="10.0.0.0/8")
    async with proxied as client:
        assert "strict-transport-security" in (await client.get("/login", headers=said)).headers


@pytest.mark.parametrize(
    "flags", [{"trusted_proxies": "10.0.0.1/8"}, {"trusted_proxies": "proxy"}, {"allowed_hosts": "https://a"}]
)
def test_settings_that_make_no_sense_are_refused_at_the_start(house: House, flags: dict[str, str]) -> None:
    with pytest.raises(Configuration, match=next(iter(flags))):
        asgi(house.app, settings=settings(**flags))


# -- the host's own users -----------------------------------------------------------------------------------------------------


async def by_header(request: Request) -> Principal | None:
    """Know users as a host does that has put a name into its own cookie."""
    name = request.cookies.get("host-user")
    return Principal.of_role(name, Role.ADMIN, tenant="acme") if name else None


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, 201),
        ({"Sec-Fetch-Site": "same-origin"}, 201),
        ({"Origin": "https://jobs.test"}, 201),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "https://evil.test"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Authorization": "Bearer token-of-the-host"}, 201),
    ],
    ids=str,
)
async def test_the_hosts_users_are_let_in_and_guarded_from_other_sites(
    house: House, headers: dict[str, str], expected: int
) -> None:
    given = {"Cookie": "host-user=ann", **headers}
    async with house.browser(headers=given, authenticate=by_header) as client:
        made = await client.post("/api/v1/keys", json={**NEW_KEY, "name": str(headers)})

    assert made.status_code == expected
    if expected == 201:
        assert (made.json()["tenant"], made.json()["created_by"]) == ("acme", "ann")


async def test_beside_the_hosts_users_keys_still_count(house: House) -> None:
    key = access.create_key(house.app, "beside", scopes=[Scope.ADMIN])
    async with house.browser(headers={"Authorization": f"Bearer {key}"}, authenticate=by_header) as client:
        assert (await client.get("/api/v1/keys")).status_code == 200
    async with house.browser(authenticate=by_header) as client:
        assert (await client.get("/api/v1/keys")).status_code == 401


async def key_by_name(_request: Request) -> Principal | None:
    return Principal.of_role("key:deploy", Role.ADMIN)


async def no_principal(_request: Request) -> Principal | None:
    return cast("Principal", "ann")


async def failing(_request: Request) -> Principal | None:
    raise RuntimeError("the host's database password is hunter2")


@pytest.mark.parametrize("hook", [key_by_name, no_principal, failing])
async def test_a_hook_that_answers_nonsense_lets_nobody_in(house: House, hook: Any) -> None:
    async with house.browser(authenticate=hook) as client:
        answer = await client.get("/api/v1/keys")

    assert problem(answer) == (500, "internal")
    assert "hunter2" not in answer.text


# -- under a prefix -----------------------------------------------------------------------------------------------------------


async def test_mounted_under_a_prefix_people_come_back_to_it(house: House) -> None:
    host = Starlette(routes=[Mount("/jobs", asgi(house.app, settings=settings()))])
    transport = httpx.ASGITransport(host)
    async with httpx.AsyncClient(
        transport=transport, base_url="https://jobs.test", headers=OWN_PAGE
    ) as client:
        page = await client.get("/jobs/login")
        entered = await client.post(
            "/jobs/login", data={"name": house.person(), "password": "a kettle over quiet marshes"}
        )
        inside = await client.get("/jobs/api/v1/keys")
        left = await client.post("/jobs/logout")
    await house.app.link.aclose()

    assert 'action="/jobs/login"' in page.text
    assert (entered.headers["location"], inside.status_code) == ("/jobs/", 200)
    assert left.headers["location"] == "/jobs/login"
    assert DEVICE in entered.headers["set-cookie"] or DEVICE in str(entered.headers.get_list("set-cookie"))


# -- without authentication ---------------------------------------------------------------------------------------------------

Opening = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]


@pytest.fixture
def opened(house: House) -> Opening:
    @asynccontextmanager
    async def opened(**options: Any) -> AsyncIterator[httpx.AsyncClient]:
        given = {"base_url": LOCAL, "address": "127.0.0.1", "headers": {}, "auth": False, **options}
        async with house.browser(**given) as client:
            yield client

    return opened


async def test_without_authentication_this_machine_may_do_everything(opened: Opening) -> None:
    async with opened() as client:
        assert (await client.get("/api/v1/keys")).status_code == 200


@pytest.mark.parametrize(
    ("options", "headers", "expected"),
    [
        ({"address": "192.168.1.7"}, {}, 401),
        ({"base_url": "http://evil.test:7070"}, {}, 421),
        ({"base_url": "http://evil.test:7070", "allowed_hosts": "evil.test"}, {}, 421),
        ({}, {"Host": "evil.test"}, 421),
        ({}, {"Origin": "https://evil.test"}, 401),
        ({}, {"Origin": "null"}, 401),
        ({}, {"Sec-Fetch-Site": "cross-site"}, 401),
        ({}, {"X-Forwarded-For": "127.0.0.1"}, 401),
        ({}, {"Forwarded": "for=127.0.0.1"}, 401),
        (
            {"address": "192.168.1.7", "trusted_proxies": "192.168.0.0/16"},
            {"X-Forwarded-For": "127.0.0.1"},
            401,
        ),
    ],
    ids=str,
)
async def test_without_authentication_no_other_machine_and_no_other_site_gets_in(
    opened: Opening, options: dict[str, str], headers: dict[str, str], expected: int
) -> None:
    async with opened(**options) as client:
        assert (await client.get("/api/v1/keys", headers=headers)).status_code == expected
        assert (await client.post("/api/v1/keys", json=NEW_KEY, headers=headers)).status_code == expected


# -- before the doors open ----------------------------------------------------------------------------------------------------

ALL = ["api", "login"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_on_this_machine_the_server_listens_whatever_there_is(house: House, host: str) -> None:
    refuse_open_door(house.app, host, ALL, auth=False)


BEYOND = ["0.0.0.0", "::", "", "10.1.2.3", "jobs.example.com", "localhost.evil.test"]


@pytest.mark.parametrize("host", BEYOND)
def test_beyond_it_nobody_is_let_in_unasked(house: House, host: str) -> None:
    with pytest.raises(Configuration, match="this machine only"):
        refuse_open_door(house.app, host, ALL, authenticate=by_header, auth=False)


def test_beyond_it_there_must_be_somebody_who_can_come(app: Holdfast) -> None:
    for host in BEYOND:
        with pytest.raises(Configuration, match="neither a key nor a person"):
            refuse_open_door(app, host, ALL)
        refuse_open_door(app, host, ["callbacks", "webhooks"])
        refuse_open_door(app, host, ALL, authenticate=by_header)

    key = access.create_key(app, "k", scopes=[Scope.READ])
    refuse_open_door(app, "0.0.0.0", ALL)
    access.revoke_key(app, key.split("_")[1])
    with pytest.raises(Configuration, match="neither a key nor a person"):
        refuse_open_door(app, "0.0.0.0", ALL)


def test_a_person_is_somebody_who_can_come_unless_disabled(app: Holdfast) -> None:
    access.add_person(app, "ann", "a kettle over quiet marshes")
    refuse_open_door(app, "0.0.0.0", ALL)
    access.disable_person(app, "ann")

    with pytest.raises(Configuration, match="neither a key nor a person"):
        refuse_open_door(app, "0.0.0.0", ALL)


def test_with_a_weak_master_key_the_server_does_not_start_anywhere(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_SECRET_KEY", "change-me-" * 4 + "12")

    with pytest.raises(Configuration, match="HOLDFAST_SECRET_KEY is too weak"):
        refuse_open_door(house.app, "127.0.0.1", ALL)
