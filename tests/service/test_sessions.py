"""People who log in: what a session is worth, who can steal, plant or prolong one, and what those learn who fail."""

import asyncio
import logging
import re
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from http.cookies import SimpleCookie
from typing import Any

import httpx
import psycopg
import pytest

from holdfast.domain.access import DEVICE_PREFIX, SESSION_PREFIX, Role
from holdfast.domain.people import buckets
from holdfast.interfaces.http.login import next_path
from holdfast.runtime import access
from holdfast.runtime.access import new_cookie
from holdfast.store import people
from service.house import DEVICE, HASHED, OWN_PAGE, PASSWORD, SESSION, House, log_in, new_address
from sql.support import until_somebody_waits

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


async def status(client: httpx.AsyncClient, **options: Any) -> int:
    """Ask for something that only admins see."""
    return (await client.get("/api/v1/keys", **options)).status_code


def cookies(answer: httpx.Response) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for header in answer.headers.get_list("set-cookie"):
        found.update(SimpleCookie(header))
    return found


async def stolen(house: House, session: str, **options: Any) -> int:
    """Use a cookie in another browser."""
    async with house.browser(**options) as thief:
        return await status(thief, headers={"Cookie": f"{SESSION}={session}"})


# -- a session ----------------------------------------------------------------------------------------------------------------


async def test_a_person_logs_in_acts_and_logs_out(house: House) -> None:
    name = house.person()
    async with house.browser() as client:
        before = await status(client)
        entered = await log_in(client, name.upper())
        inside = await status(client)
        session = client.cookies[SESSION]
        left = await client.post("/logout")
        after = await status(client)

    assert (before, entered.status_code, inside, left.status_code, after) == (401, 303, 200, 303, 401)
    assert (entered.headers["location"], left.headers["location"]) == ("/", "/login")
    assert await stolen(house, session) == 401


async def test_the_cookie_is_for_this_host_alone_and_for_no_script(house: House) -> None:
    async with house.browser() as client:
        answer = await log_in(client, house.person())

    for name in (SESSION, DEVICE):
        cookie = cookies(answer)[name]
        assert (cookie["secure"], cookie["httponly"], cookie["samesite"]) == (True, True, "lax")
        assert (cookie["path"], cookie["domain"]) == ("/", "")
    assert cookies(answer)[SESSION]["max-age"] == ""


@pytest.mark.parametrize(
    ("base_url", "name", "secure"),
    [
        ("http://localhost:7070", "holdfast", ""),
        ("http://127.0.0.1:7070", "holdfast", ""),
        ("https://localhost:7070", SESSION, True),
        ("http://jobs.test", SESSION, True),
    ],
)
async def test_only_plain_http_on_this_machine_does_without_tls(
    house: House, base_url: str, name: str, secure: bool
) -> None:
    headers = {"Sec-Fetch-Site": "same-origin"}
    async with house.browser(base_url=base_url, headers=headers) as client:
        answer = await log_in(client, house.person())

    assert cookies(answer)[name]["secure"] == secure


async def test_a_cookie_that_another_host_of_the_domain_could_plant_does_not_count(house: House) -> None:
    async with house.browser() as client:
        await log_in(client, house.person())
        session = client.cookies[SESSION]

    async with house.browser() as client:
        assert await status(client, headers={"Cookie": f"{SESSION}={session}"}) == 200
        assert await status(client, headers={"Cookie": f"holdfast={session}"}) == 401
        assert await status(client, headers={"Cookie": f"{SESSION}={session}; {SESSION}=x"}) == 401
        assert await status(client, headers={"Cookie": f"{SESSION}=x; {SESSION}={session}"}) == 401
        assert await status(client, headers={"Cookie": f"{SESSION}={session.replace('hfs_', 'hfd_')}"}) == 401


async def test_a_session_that_was_planted_before_the_login_is_not_adopted(house: House) -> None:
    planted = new_cookie(SESSION_PREFIX).written
    async with house.browser() as client:
        answer = await log_in(client, house.person(), headers={"Cookie": f"{SESSION}={planted}"})

    assert cookies(answer)[SESSION].value != planted
    assert await stolen(house, planted) == 401


async def test_logging_in_ends_the_session_that_the_browser_had(house: House) -> None:
    name = house.person()
    async with house.browser() as client:
        await log_in(client, name)
        first = client.cookies[SESSION]
        await log_in(client, name)

        assert client.cookies[SESSION] != first
        assert await status(client) == 200
    assert await stolen(house, first) == 401


async def test_half_an_hour_of_silence_ends_a_session_and_twelve_hours_do_anyway(house: House) -> None:
    name, clock = house.person(), house.database.clock
    async with house.browser() as idle, house.browser() as busy:
        await log_in(idle, name)
        await log_in(busy, name)
        for _ in range(28):
            clock.advance(25 * MINUTE)
            assert await status(busy) == 200
        clock.advance(21 * MINUTE)

        assert await status(idle) == 401
        assert await status(busy) == 401


async def test_looking_again_at_a_stream_does_not_keep_a_session_alive(house: House) -> None:
    session = new_cookie(SESSION_PREFIX)
    name, link = house.person(), house.app.link
    known = link.perform(people.find_person(name, None))
    assert known is not None
    link.perform(people.begin_session(name, known, None, session, None, new_cookie(DEVICE_PREFIX), None, []))

    house.database.clock.advance(20 * MINUTE)
    assert link.perform(people.find_session(session, is_request=False)) is not None
    house.database.clock.advance(20 * MINUTE)
    assert link.perform(people.find_session(session, is_request=False)) is None


async def test_disabled_people_and_those_with_a_new_password_are_out_at_once(house: House) -> None:
    def disable(name: str) -> None:
        access.disable_person(house.app, name)

    def change(name: str) -> None:
        access.set_password(house.app, name, PASSWORD + "!")

    for end in (disable, change):
        name = house.person()
        async with house.browser() as client:
            await log_in(client, name)
            assert await status(client) == 200
            end(name)

            assert await status(client) == 401


async def test_another_role_counts_from_the_next_request_on(house: House) -> None:
    name = house.person(Role.ADMIN)
    async with house.browser() as client:
        await log_in(client, name)
        access.set_role(house.app, name, Role.OPERATOR)

        assert await status(client) == 403


async def test_a_person_of_one_tenant_stays_in_it(house: House) -> None:
    async with house.browser() as client:
        await log_in(client, house.person(tenant="acme"))
        refused = await client.post(
            "/api/v1/keys", json={"name": "k", "scopes": ["read"], "tenant": "globex"}
        )
        made = await client.post("/api/v1/keys", json={"name": "k", "scopes": ["read"]})

    assert refused.status_code == 404
    assert made.json()["tenant"] == "acme"


async def test_a_wrong_key_is_not_helped_out_by_a_session(house: House) -> None:
    async with house.browser() as client:
        await log_in(client, house.person())

        assert await status(client, headers={"Authorization": "Bearer hfk_abcdefghijkl_" + "x" * 43}) == 401
        assert await status(client, headers={"Authorization": "Basic YTpi"}) == 200


async def test_a_password_that_changed_while_it_was_looked_at_lets_nobody_in(house: House) -> None:
    name, link = house.person(), house.app.link
    known = link.perform(people.find_person(name, None))
    assert known is not None
    access.set_password(house.app, name, PASSWORD + "!")
    session = new_cookie(SESSION_PREFIX)

    begun = people.begin_session(name, known, None, session, None, new_cookie(DEVICE_PREFIX), None, [])

    assert link.perform(begun) is False
    assert link.perform(people.find_session(session, is_request=True)) is None


# -- what other sites make a browser send ------------------------------------------------------------------------------------

FOREIGN = [
    {},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Origin": "https://evil.test"},
    {"Origin": "https://jobs.test.evil.test"},
    {"Origin": "https://jobs.test:8443"},
    {"Origin": "http://jobs.test"},
    {"Origin": "null"},
    {"Origin": ""},
    {"Origin": "https://jobs.test@evil.test"},
    {"Sec-Fetch-Site": "same-origin", "Origin": "https://evil.test"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "https://jobs.test"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "null"},
]


async def test_no_other_site_can_make_a_browser_act_log_in_or_log_out(house: House) -> None:
    name = house.person()
    async with house.browser(headers={}) as client:
        assert (await log_in(client, name, headers=OWN_PAGE)).status_code == 303
        for headers in FOREIGN:
            made = await client.post("/api/v1/keys", json={"name": "x", "scopes": ["admin"]}, headers=headers)
            left = await client.post("/logout", headers=headers)
            again = await log_in(client, name, headers=headers)

            assert (made.status_code, left.status_code, again.status_code) == (403, 403, 403), headers
            assert not again.headers.get_list("set-cookie")
            assert await status(client, headers=headers) == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "null"},  # a form of a page that sends no referrer
        {"Origin": "https://jobs.test"},
        {"Origin": "https://jobs.test:443"},
        {"Origin": "https://public.test"},
    ],
    ids=str,
)
async def test_pages_of_our_own_are_let_in_also_by_old_browsers_and_under_the_base_url(
    house: House, headers: dict[str, str]
) -> None:
    async with house.browser(headers=headers, public="https://public.test/") as client:
        assert (await log_in(client, house.person())).status_code == 303


# -- what those learn who fail -----------------------------------------------------------------------------------------------


async def test_a_stranger_a_disabled_person_and_a_wrong_password_get_the_same_answer(house: House) -> None:
    disabled = house.person()
    access.disable_person(house.app, disabled)
    tries = [("nobody", PASSWORD), (disabled, PASSWORD), (house.person(), PASSWORD + "?"), ("\x00'--", "x")]
    answers = []
    for name, password in tries:
        async with house.browser() as client:
            answers.append(await log_in(client, name, password))

    assert {answer.status_code for answer in answers} == {401}
    # But for the name that they have typed, which they get back.
    assert len({re.sub(r' value="[^"]*"', "", answer.text) for answer in answers}) == 1
    for answer in answers:
        del answer.headers["content-length"]
    assert len({tuple(answer.headers.items()) for answer in answers}) == 1


async def test_a_stranger_costs_as_much_time_as_a_person(house: House) -> None:
    name = house.person()

    async def quickest(who: str) -> float:
        took = []
        for _ in range(3):
            async with house.browser() as client:
                began = time.perf_counter()
                await log_in(client, who, "wrong")
                took.append(time.perf_counter() - began)
        return min(took)

    stranger, person = await quickest("nobody"), await quickest(name)

    assert stranger / 3 < person < stranger * 3


async def test_nothing_secret_is_written_anywhere(house: House, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    name, typed = house.person(), "typed my password as name"
    async with house.browser() as client:
        await log_in(client, name)
        kept = [client.cookies[SESSION], client.cookies[DEVICE]]
        await log_in(client, typed, "something wrong")
    with psycopg.connect(house.database.owner_url) as owner:
        tables = owner.execute(
            "select c.relname from pg_class c where c.relnamespace = 'holdfast'::regnamespace and c.relkind = 'r'"
        ).fetchall()
        rows = [
            str(owner.execute(f"select t::text from holdfast.{table} t").fetchall()) for (table,) in tables
        ]

    logged = [f"{record.getMessage()} {record.__dict__}" for record in caplog.records]
    for secret in (PASSWORD, typed, "something wrong", *kept, *(each[4:] for each in kept)):
        assert not [line for line in [*logged, *rows] if secret in line]
    assert any("login:refused" in line for line in logged)


# -- how often somebody may try -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exists", [True, False], ids=["a person", "a stranger"])
async def test_after_five_tries_nobody_looks_at_the_password_for_a_while(house: House, exists: bool) -> None:
    name = house.person() if exists else "somebody-else"
    async with house.browser() as client:
        tried = [(await log_in(client, name, "wrong")).status_code for _ in range(5)]
        locked = await log_in(client, name)
        house.database.clock.advance(timedelta(seconds=int(locked.headers["retry-after"])))
        later = await log_in(client, name)

    assert tried == [401] * 5
    assert locked.status_code == 429
    assert 1 <= int(locked.headers["retry-after"]) <= 60
    assert later.status_code == (303 if exists else 401)


async def test_tries_at_once_are_as_many_tries(house: House) -> None:
    name = house.person()
    async with house.browser() as client:
        answers = await asyncio.gather(*(log_in(client, name, "wrong") for _ in range(20)))

    assert sorted(answer.status_code for answer in answers) == [401] * 5 + [429] * 15


def test_a_try_waits_for_one_that_is_being_taken(house: House) -> None:
    take = "select holdfast.take_tries(array['of one moment'], array[2], array[interval '1 hour'])"
    with (
        psycopg.connect(house.database.owner_url, autocommit=True) as watcher,
        psycopg.connect(house.database.owner_url) as first,
        psycopg.connect(house.database.owner_url) as second,
        ThreadPoolExecutor(1) as thread,
    ):
        watcher.execute(take)
        first.execute("select from holdfast.login_try where bucket = 'of one moment' for update")
        waiting = thread.submit(lambda: second.execute(take).fetchone())
        until_somebody_waits(house.database)
        taken = first.execute(take).fetchone()
        first.commit()
        refused = waiting.result(timeout=30)

    assert taken == (None,)
    assert refused != (None,)


async def test_who_locks_a_name_locks_their_own_address_only(house: House) -> None:
    name = house.person()
    async with house.browser() as attacker, house.browser() as owner:
        for _ in range(6):
            await log_in(attacker, name, "wrong")

        assert (await log_in(owner, name)).status_code == 303


async def test_strangers_from_everywhere_cannot_lock_out_who_has_been_here_before(house: House) -> None:
    name, link = house.person(), house.app.link
    address = new_address()
    async with house.browser(address=address) as owner, house.browser() as stranger:
        await log_in(owner, name)
        for _ in range(50):
            link.perform_once(people.take_tries(buckets(name, new_address(), None)))
        for _ in range(30):
            link.perform_once(people.take_tries(buckets(name + "x", address, None)))

        assert (await log_in(stranger, name)).status_code == 429
        assert (await log_in(owner, name)).status_code == 303


async def test_a_device_speaks_for_its_own_person_only(house: House) -> None:
    name, other, link = house.person(), house.person(), house.app.link
    async with house.browser() as client:
        await log_in(client, other)
        for _ in range(50):
            link.perform_once(people.take_tries(buckets(name, new_address(), None)))

        assert (await log_in(client, name)).status_code == 429


async def test_one_address_cannot_try_many_names(house: House) -> None:
    address, link = new_address(), house.app.link
    for number in range(30):
        assert link.perform_once(people.take_tries(buckets(f"name{number}", address, None))) is None

    async with house.browser(address=address) as client:
        assert (await log_in(client, house.person())).status_code == 429


async def test_a_right_password_gives_its_try_back(house: House) -> None:
    name = house.person()
    async with house.browser() as client:
        for _ in range(7):
            client.cookies.clear()
            assert (await log_in(client, name)).status_code == 303


async def test_upkeep_forgets_sessions_devices_and_tries(house: House) -> None:
    async with house.browser() as client:
        await log_in(client, house.person())
        await log_in(client, "nobody")
    house.database.clock.advance(91 * 24 * HOUR)

    with psycopg.connect(house.database.owner_url, autocommit=True) as owner:
        owner.execute("select holdfast.upkeep()")
        left = [
            owner.execute(f"select count(*) from holdfast.{table}").fetchone()
            for table in ("session", "device", "login_try")
        ]

    assert left == [(0,), (0,), (0,)]


# -- the form ---------------------------------------------------------------------------------------------------------------


async def test_the_page_works_without_script_and_cannot_be_framed(house: House) -> None:
    async with house.browser() as client:
        page = await client.get("/login", params={"next": '/jobs?"><script>alert(1)</script>'})

    assert page.status_code == 200
    assert "<form" in page.text
    assert "<script" not in page.text
    policy = page.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self'" in policy
    assert page.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("/jobs?q=status:failed", "/jobs?q=status:failed"),
        ("//evil.test", "/"),
        ("/\\evil.test", "/"),
        ("https://evil.test", "/"),
        ("javascript:alert(1)", "/"),
        ("/a\r\nSet-Cookie: x=y", "/"),
        ("/\t/evil.test", "/"),
        ("", "/"),
        (None, "/"),
    ],
)
def test_after_the_login_nobody_is_led_elsewhere(asked: str | None, given: str) -> None:
    assert next_path(asked) == given


@pytest.mark.parametrize(
    ("content", "kind", "expected"),
    [
        (b"{}", "application/json", 415),
        (b"", "multipart/form-data; boundary=x", 415),
        (b"name=a&name=b", "application/x-www-form-urlencoded", 422),
        (b"surprise=a", "application/x-www-form-urlencoded", 422),
        (b"a=&" * 20, "application/x-www-form-urlencoded", 400),
        (b"name=%ff", "application/x-www-form-urlencoded", 400),
        (b"name=" + b"a" * 20_000, "application/x-www-form-urlencoded", 413),
        (b"", "application/x-www-form-urlencoded", 401),
    ],
)
async def test_a_form_is_read_within_limits(house: House, content: bytes, kind: str, expected: int) -> None:
    async with house.browser() as client:
        answer = await client.post("/login", content=content, headers={"Content-Type": kind})

    assert answer.status_code == expected


async def test_a_password_of_former_costs_is_hashed_anew(house: House) -> None:
    from argon2 import PasswordHasher

    name = house.person()
    cheap = PasswordHasher(time_cost=1, memory_cost=8 * 1024, parallelism=1).hash(PASSWORD)
    house.app.link.perform_once(people.set_password(name, cheap))
    async with house.browser() as client:
        assert (await log_in(client, name)).status_code == 303

    known = house.app.link.perform_once(people.find_person(name, None))
    assert known is not None
    assert known.password != cheap
    assert known.password.split("$")[3] == HASHED.split("$")[3]


async def test_a_refused_login_keeps_the_name_and_ties_the_message_to_the_fields(house: House) -> None:
    hostile = 'ann"><script>alert(1)</script>'
    async with house.browser() as client:
        first = (await client.get("/login")).text
        page = await client.post("/login", data={"name": hostile, "password": "wrong"})
        long = await client.post("/login", data={"name": "a" * 3000, "password": "wrong"})

    name, password = re.findall(r"<input id=[^>]*>", page.text)
    assert page.status_code == 401
    assert hostile not in page.text
    assert 'value="ann&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"' in page.text
    assert '<p role="alert" id="refused">Name or password is wrong.</p>' in page.text
    assert all('aria-describedby="refused"' in field for field in (name, password))
    assert ("autofocus" in name, "autofocus" in password) == (False, True)
    assert "wrong" not in password
    assert "aria-describedby" not in first
    assert re.findall(r"<input id=[^>]*autofocus[^>]*>", first)[0].startswith('<input id="name"')
    assert "a" * 201 not in long.text


async def test_logins_and_logouts_are_in_the_audit(house: House) -> None:
    name, address = house.person(), new_address()
    async with house.browser(address=address) as client:
        await log_in(client, name)
        await client.post("/logout")

    with psycopg.connect(house.database.owner_url) as owner:
        audit = owner.execute(
            "select actor, address, action from holdfast.audit where target = %s order by id", [name]
        ).fetchall()
    assert audit == [(name, address, "person.login"), (name, address, "person.logout")]
