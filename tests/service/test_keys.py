"""/keys: made, replaced and ended; whose they are; and that nobody sees a secret twice."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest

from holdfast import KeyNotFound
from holdfast.domain.access import KeyParts, Scope, read_key
from holdfast.runtime import access
from holdfast.runtime.access import new_key
from holdfast.store import access as store
from holdfast.store.access import find_key
from service.asking import problem
from service.conftest import Calling
from service.house import House
from sql.support import until_somebody_waits

NEW = {"name": "ci", "scopes": ["enqueue"]}


async def admin(house: House, tenant: str | None = None) -> dict[str, str]:
    name = f"admin of {tenant} {new_key().id}"
    return {
        "Authorization": "Bearer " + access.create_key(house.app, name, scopes=[Scope.ADMIN], tenant=tenant)
    }


def named(name: str, **other: Any) -> dict[str, Any]:
    return {**NEW, "name": name, **other}


async def status(client: httpx.AsyncClient, key: str) -> int:
    answer = await client.get("/api/v1/jobs/x", headers={"Authorization": f"Bearer {key}"})
    return answer.status_code


async def test_a_key_is_made_shown_and_revoked_and_its_secret_told_once(house: House) -> None:
    async with house.browser(headers=await admin(house)) as client:
        made = await client.post("/api/v1/keys", json=named("reader", scopes=["read"]))
        path = f"/api/v1/keys/{made.json()['id']}"
        shown = await client.get(path)
        works = await status(client, made.json()["key"])
        revoked = await client.post(f"{path}/revoke", json={"reason": "leaked"})
        again = await client.post(f"{path}/revoke", json={})
        after = await status(client, made.json()["key"])

    assert made.status_code == 201
    assert (works, after) == (404, 401)
    assert {**shown.json(), "key": made.json()["key"]} == made.json()
    assert (shown.json()["status"], revoked.json()["status"]) == ("active", "revoked")
    assert again.json() == revoked.json()
    with psycopg.connect(house.database.owner_url) as owner:
        audit = owner.execute(
            "select action, reason from holdfast.audit where target = %s order by id", [made.json()["id"]]
        ).fetchall()
    assert audit == [("key.create", None), ("key.revoke", "leaked")]


async def test_a_key_is_replaced_and_both_count_for_a_while(house: House) -> None:
    async with house.browser(headers=await admin(house)) as client:
        old = (
            await client.post("/api/v1/keys", json=named("rotated", scopes=["read"], tenant="acme"))
        ).json()
        new = (await client.post(f"/api/v1/keys/{old['id']}/rotate", json={"overlap": 3600})).json()
        during = [await status(client, key["key"]) for key in (old, new)]
        house.database.clock.advance(timedelta(hours=1, seconds=1))
        after = [await status(client, key["key"]) for key in (old, new)]

    assert [new[part] for part in ("name", "tenant", "scopes")] == ["rotated", "acme", ["read"]]
    assert (during, after) == ([404, 404], [401, 404])


async def test_the_new_key_lives_as_long_as_the_old_one_was_to(house: House) -> None:
    async with house.browser(headers=await admin(house)) as client:
        end = datetime.now(UTC) + timedelta(days=400)
        old = (await client.post("/api/v1/keys", json=named("dated", expires_at=end.isoformat()))).json()
        new = (await client.post(f"/api/v1/keys/{old['id']}/rotate", json={})).json()

    lives = [
        datetime.fromisoformat(key["expires_at"]) - datetime.fromisoformat(key["created_at"])
        for key in (old, new)
    ]
    assert abs(lives[0] - lives[1]) < timedelta(seconds=10)


async def test_two_keys_of_a_name_count_at_most_also_when_asked_at_once(house: House) -> None:
    async with house.browser(headers=await admin(house)) as client:
        asked = [client.post("/api/v1/keys", json=named("crowded")) for _ in range(8)]
        answers = await asyncio.gather(*asked)
        made = [answer.json() for answer in answers if answer.status_code == 201]
        third = await client.post(f"/api/v1/keys/{made[0]['id']}/rotate", json={})
        at_once = await client.post(f"/api/v1/keys/{made[0]['id']}/rotate", json={"overlap": 0})
        dead = await client.post(f"/api/v1/keys/{made[0]['id']}/rotate", json={"overlap": 0})
        elsewhere = await client.post("/api/v1/keys", json=named("crowded", tenant="acme"))

    assert len(made) == 2
    assert {problem(answer) for answer in answers if answer.status_code != 201} == {(409, "conflict")}
    assert problem(third) == (409, "conflict")
    assert at_once.status_code == 201
    assert problem(dead) == (409, "conflict")
    assert elsewhere.status_code == 201


async def test_who_makes_a_key_waits_for_who_makes_one_of_its_name(house: House) -> None:
    made = "select holdfast.create_key(%s, sha256('it'), 'awaited', null, '{read}', null, 'me')"
    async with house.browser(headers=await admin(house)) as client:
        with psycopg.connect(house.database.owner_url) as owner:
            for _ in range(2):
                owner.execute(made, (new_key().id,))
            third = asyncio.create_task(client.post("/api/v1/keys", json=named("awaited")))
            await asyncio.to_thread(until_somebody_waits, house.database)
        answer = await third

    assert problem(answer) == (409, "conflict")


async def test_the_answer_that_is_kept_for_repeats_has_no_secret(house: House) -> None:
    headers = {**await admin(house), "Idempotency-Key": "once"}
    async with house.browser(headers=headers) as client:
        first = await client.post("/api/v1/keys", json=named("repeated"))
        again = await client.post("/api/v1/keys", json=named("repeated"))

    assert first.json()["key"].startswith(f"hfk_{first.json()['id']}_")
    assert again.json() == {**first.json(), "key": None}
    assert again.headers["idempotent-replayed"] == "true"
    with psycopg.connect(house.database.owner_url) as owner:
        kept = str(owner.execute("select r::text from holdfast.request r").fetchall())
    assert first.json()["id"] in kept
    assert first.json()["key"].split("_")[2] not in kept


async def test_an_admin_of_one_tenant_sees_and_touches_its_keys_only(house: House) -> None:
    async with house.browser(headers=await admin(house)) as client:
        theirs = (await client.post("/api/v1/keys", json=named("theirs", tenant="globex"))).json()["id"]
        everybodys = (await client.post("/api/v1/keys", json=named("everybody's"))).json()["id"]
    async with house.browser(headers=await admin(house, "initech")) as client:
        own = (await client.post("/api/v1/keys", json=named("own"))).json()
        listed = (await client.get("/api/v1/keys")).json()["items"]
        foreign = [
            problem(answer)
            for key in (theirs, everybodys, "x", "hfk")
            for answer in (
                await client.get(f"/api/v1/keys/{key}"),
                await client.post(f"/api/v1/keys/{key}/revoke", json={}),
                await client.post(f"/api/v1/keys/{key}/rotate", json={}),
            )
        ]
        made = await client.post("/api/v1/keys", json=named("stolen", tenant="globex"))
        cursor = await client.get("/api/v1/keys", params={"after": theirs})

    assert {key["tenant"] for key in listed} == {"initech"}
    assert own["tenant"] == "initech"
    assert set(foreign) == {(404, "not-found")}
    assert problem(made) == (404, "not-found")
    assert problem(cursor) == (422, "invalid")


def test_the_database_itself_keeps_a_tenants_admin_from_other_keys(house: House) -> None:
    key = access.create_key(house.app, "guarded", scopes=[Scope.READ], tenant="globex").split("_")[1]
    link = house.app.link

    for bound in ("initech", ""):
        with pytest.raises(KeyNotFound):
            link.perform_once(store.revoke_key(key, bound))
        with pytest.raises(KeyNotFound):
            link.perform_once(store.rotate_key(key, bound, new_key(), timedelta(), None, "initech's admin"))
        assert link.perform_once(store.find_record(key, bound)) is None
    assert link.perform_once(store.revoke_key(key, "globex")) is True


@pytest.mark.parametrize("scope", [scope for scope in Scope if scope is not Scope.ADMIN])
async def test_only_admins_may(house: House, scope: Scope) -> None:
    key = access.create_key(house.app, f"only {scope}", scopes=[scope])
    async with house.browser(headers={"Authorization": f"Bearer {key}"}) as client:
        answers = [
            await client.get("/api/v1/keys"),
            await client.post("/api/v1/keys", json=NEW),
            await client.get(f"/api/v1/keys/{key.split('_')[1]}"),
            await client.post(f"/api/v1/keys/{key.split('_')[1]}/rotate", json={}),
            await client.post(f"/api/v1/keys/{key.split('_')[1]}/revoke", json={}),
        ]

    assert {problem(answer) for answer in answers} == {(403, "forbidden")}


@pytest.mark.parametrize(
    "body",
    [
        {"name": "a", "scopes": []},
        {"name": "a", "scopes": ["everything"]},
        {"name": "", "scopes": ["read"]},
        {"name": "a\nb", "scopes": ["read"]},
        {"name": "a", "scopes": ["read"], "digest": "x"},
        {"name": "a", "scopes": ["read"], "expires_at": "2030-01-01T00:00:00"},
    ],
    ids=str,
)
async def test_a_key_that_makes_no_sense_is_refused(house: House, body: dict[str, Any]) -> None:
    async with house.browser(headers=await admin(house)) as client:
        assert problem(await client.post("/api/v1/keys", json=body)) == (422, "invalid")


async def test_the_list_is_walked_page_by_page(calling: Calling) -> None:
    async with calling("admin") as client:
        for number in range(5):
            await client.post("/api/v1/keys", json=named(f"key {number}"))
        names, after = [], None
        while True:
            page = (
                await client.get("/api/v1/keys", params={"limit": 2, **({"after": after} if after else {})})
            ).json()
            names += [key["name"] for key in page["items"]]
            after = page["next"]
            if after is None:
                break
        tampered = [
            await client.get("/api/v1/keys", params={"after": after}) for after in ("nothing", "\x00")
        ]

    assert names == ["key 4", "key 3", "key 2", "key 1", "key 0", "test"]
    assert {problem(answer) for answer in tampered} == {(422, "invalid")}


async def test_an_expired_key_opens_nothing(house: House) -> None:
    end = datetime.now(UTC) + timedelta(days=3650)
    key = access.create_key(house.app, "short-lived", scopes=[Scope.READ], expires_at=end)
    async with house.browser(headers={}) as client:
        before = await status(client, key)
        access.rotate_key(house.app, key.split("_")[1], overlap=timedelta())

        assert (before, await status(client, key)) == (404, 401)


async def test_who_knows_an_id_without_its_secret_has_not_used_the_key(house: House) -> None:
    key = read_key(access.create_key(house.app, "watched", scopes=[Scope.READ]))
    assert key is not None

    def used() -> bool:
        found = house.app.link.perform(find_key(key.id))
        assert found is not None
        return not found.is_long_unused

    async with house.browser(headers={}) as client:
        wrong = await status(client, KeyParts(key.id, "x" * 43).written)
        used_by_stranger = used()
        right = await status(client, key.written)

    assert (wrong, used_by_stranger) == (401, False)
    assert (right, used()) == (404, True)


def test_no_secret_is_shown_by_accident() -> None:
    key, cookie = new_key(), access.new_cookie("hfs")

    for shown in (repr(key), str(key), f"{key}", repr(cookie), str(cookie), f"{cookie}"):
        assert key.secret not in shown
        assert cookie.secret not in shown
