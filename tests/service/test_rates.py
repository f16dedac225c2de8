"""How many requests a caller may make, and that one caller's flood is not another's."""

from holdfast.domain.access import Scope
from holdfast.interfaces.http.rates import MOST_BUCKETS, Rates
from holdfast.runtime import access
from service.asking import problem
from service.house import House


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
