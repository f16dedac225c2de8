"""How many requests a caller may make, how many secrets they may guess, and that one caller's flood is not another's."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from holdfast.domain.access import Scope
from holdfast.interfaces.http import access as http_access
from holdfast.interfaces.http.rates import LONGEST_WAIT, MOST_BUCKETS, KnownSecrets, Rates
from holdfast.runtime import access
from holdfast.runtime.access import new_key
from holdfast.store import people
from service.asking import problem
from service.house import House, log_in


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_holds_two_seconds_and_fills_at_its_rate() -> None:
    clock = Clock()
    rates = Rates(5, clock)

    at_first = [rates.take("a") for _ in range(12)]
    clock.now += 1
    later = [rates.take("a") for _ in range(6)]

    assert at_first == [None] * 10 + [1, 1]
    assert later == [None] * 5 + [1]


def test_a_refused_request_costs_nothing_and_the_wait_is_told_truly() -> None:
    clock = Clock()
    rates = Rates(0.1, clock)
    rates.take("a")

    waits = [rates.take("a") for _ in range(50)]
    clock.now += 10

    assert waits == [10] * 50
    assert rates.take("a") is None


def test_buckets_are_each_callers_own_and_bounded_in_number() -> None:
    rates = Rates(0.5, Clock())

    assert [rates.take(name) for name in ("a", "a", "b", "b")] == [None, 2, None, 2]
    for number in range(2 * MOST_BUCKETS):
        rates.take(number)
    assert len(rates._buckets) == MOST_BUCKETS


def test_a_rate_of_0_is_no_limit() -> None:
    rates = Rates(0, Clock())

    assert {rates.take("a") for _ in range(100)} == {None}


async def test_too_many_requests_of_a_key_are_refused_and_other_callers_go_on(house: House) -> None:
    keys = [access.create_key(house.app, name, scopes=[Scope.ENQUEUE]) for name in ("busy", "quiet")]
    busy, quiet = ({"Authorization": f"Bearer {key}"} for key in keys)
    async with house.browser(headers={}, rate_limit="0.01") as client:
        first = await client.get("/api/v1/keys", headers=busy)
        second = await client.get("/api/v1/keys", headers=busy)
        other = await client.get("/api/v1/keys", headers=quiet)
        nobody = await client.get("/api/v1/keys")

    assert problem(first) == (403, "forbidden")
    assert problem(second) == (429, "too-many-requests")
    assert int(second.headers["retry-after"]) in range(90, 101)
    assert problem(other) == (403, "forbidden")
    assert problem(nobody) == (401, "unauthorized")


async def test_a_flood_is_refused_before_the_database_is_asked_who_it_is(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, busy = house.person(), bearer(access.create_key(house.app, "busy", scopes=[Scope.ADMIN]))
    async with (
        house.browser(rate_limit="1") as person,
        house.browser(headers=busy, rate_limit="1") as machine,
    ):
        await log_in(person, name)
        before = [await machine.get("/api/v1/keys"), await person.get("/api/v1/keys")]
        looks: Counter[str] = Counter()
        for each in ("find_key", "find_session"):
            monkeypatch.setattr(http_access, each, counted(looks, getattr(http_access, each)))
        floods = await asyncio.gather(
            *(machine.get(path) for path in ("/api/v1/keys", "/metrics") for _ in range(20)),
            *(person.get(path) for path in ("/api/v1/keys", "/", "/jobs") for _ in range(20)),
        )

    assert [answer.status_code for answer in before] == [200, 200]
    refused = [answer for answer in floods if answer.status_code == 429]
    assert len(refused) > 50
    assert all("retry-after" in answer.headers for answer in refused)
    # As many were looked up as were let in: two seconds are saved up, and some go by.
    assert looks.total() <= len(floods) - len(refused)


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def counted(looks: Counter[str], look: Callable[..., Any]) -> Callable[..., Any]:
    def one(*given: Any, **named: Any) -> Any:
        looks[look.__name__] += 1
        return look(*given, **named)

    return one


# -- guesses ---------------------------------------------------------------------------------------------------------------


def test_what_was_done_at_once_is_owed_and_for_a_minute_at_most() -> None:
    clock = Clock()
    rates = Rates(5, clock)

    for _ in range(30):  # all were being done when the first was found wrong
        rates.charge("a")
    waits = [rates.wait("a")]
    for _ in range(10_000):
        rates.charge("a")
    waits.append(rates.wait("a"))
    clock.now += LONGEST_WAIT

    assert waits == [5, LONGEST_WAIT]
    assert (rates.wait("a"), rates.wait("b")) == (None, None)


def test_secrets_that_were_right_are_known_until_they_are_not_and_in_bounded_number() -> None:
    known = KnownSecrets()
    for number in range(MOST_BUCKETS + 10):
        known.add(str(number).encode(), number)
    known.forget(b"500")

    assert [known.whose(name) for name in (b"9", b"10", b"500", b"10009")] == [None, 10, None, 10_009]


def guess() -> dict[str, str]:
    return {"Authorization": f"Bearer {new_key().written}"}


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a guess come back after so long that none does in a test."""
    monkeypatch.setattr(http_access, "WRONG_A_SECOND", 0.01)


@pytest.mark.usefixtures("slowly")
async def test_keys_are_guessed_so_often_and_no_more_from_one_place(house: House) -> None:
    known = access.create_key(house.app, "known", scopes=[Scope.ENQUEUE])
    async with house.browser(headers={}, address="2001:db8:1:2::1") as client:
        before = await client.get("/api/v1/keys", headers={"Authorization": f"Bearer {known}"})
        guesses = [await client.get("/api/v1/keys", headers=guess()) for _ in range(5)]
        # Who was known before is not held up by whoever guesses beside them.
        after = await client.get("/api/v1/keys", headers={"Authorization": f"Bearer {known}"})
        nonsense = await client.get("/api/v1/keys", headers={"Authorization": "Bearer nonsense"})

    assert [answer.status_code for answer in guesses] == [401, 429, 429, 429, 429]
    assert problem(guesses[1]) == (429, "too-many-requests")
    assert int(guesses[1].headers["retry-after"]) in range(90, 101)
    assert (before.status_code, after.status_code) == (403, 403)
    assert problem(nonsense) == (401, "unauthorized")  # the database is not asked


@pytest.mark.usefixtures("slowly")
async def test_the_place_of_a_guess_is_what_costs_something_to_leave(house: House) -> None:
    """An IPv6 subscriber has as many addresses as there are, all in one network; the next house is not theirs."""
    served = house.browser(headers={}, address="2001:db8:7:7::1", trusted_proxies="2001:db8:7:7::1/128")
    places = ["2001:db8:9:9::1", "2001:db8:9:9::2", "2001:db8:9:9:ffff::3", "2001:db8:9:a::1", "198.51.100.7"]
    async with served as client:
        answers = [
            await client.get("/api/v1/keys", headers={**guess(), "X-Forwarded-For": place})
            for place in places
        ]

    assert [answer.status_code for answer in answers] == [401, 429, 429, 401, 401]


async def test_guesses_at_once_are_owed(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_access, "WRONG_A_SECOND", 0.5)
    async with house.browser(headers={}) as client:
        await asyncio.gather(*(client.get("/api/v1/keys", headers=guess()) for _ in range(30)))
        late = await client.get("/api/v1/keys", headers=guess())

    assert problem(late) == (429, "too-many-requests")
    assert int(late.headers["retry-after"]) > 10  # not the two seconds of one


@pytest.mark.usefixtures("slowly")
async def test_sessions_are_guessed_no_more_often_and_a_lost_one_is_a_guess(house: House) -> None:
    name = house.person()
    async with house.browser() as client:
        await log_in(client, name)
        inside = [(await client.get("/api/v1/keys")).status_code for _ in range(3)]
        house.app.link.perform_once(people.disable_person(name))
        outside = [(await client.get("/api/v1/keys")).status_code for _ in range(3)]

    assert inside == [200, 200, 200]
    assert outside == [401, 429, 429]
