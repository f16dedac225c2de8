"""What kind of failure an exception is, told from the real libraries' real exceptions."""

import errno
import http.client
import json
import socket
import urllib.error
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.message import Message
from typing import Any

import aiohttp
import asyncpg
import django.db.utils
import httpcore
import httpx
import psycopg
import psycopg_pool
import pytest
import requests
import sqlalchemy.exc
import urllib3
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from holdfast.domain.errors import BadInput, BadPayload
from holdfast.domain.failure import LONGEST_RETRY_AFTER, Rules, classify

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
Headers = dict[str, str]


def of_httpx(status: int, headers: Headers) -> BaseException:
    request = httpx.Request("GET", "https://example.test")
    response = httpx.Response(status, headers=headers, request=request)
    return httpx.HTTPStatusError("answered", request=request, response=response)


def of_requests(status: int, headers: Headers) -> BaseException:
    response = requests.Response()
    response.status_code = status
    response.headers.update(headers)
    return requests.HTTPError("answered", response=response)


def of_aiohttp(status: int, headers: Headers) -> BaseException:
    url = URL("https://example.test")
    sent: CIMultiDictProxy[str] = CIMultiDictProxy(CIMultiDict())
    info = aiohttp.RequestInfo(url, "GET", sent, url)
    return aiohttp.ClientResponseError(info, (), status=status, headers=CIMultiDict(headers))


def of_urllib(status: int, headers: Headers) -> BaseException:
    held = Message()
    for name, value in headers.items():
        held[name] = value
    return urllib.error.HTTPError("https://example.test", status, "answered", held, None)


Answer = Callable[[int, Headers], BaseException]
every_library = pytest.mark.parametrize("answer", [of_httpx, of_requests, of_aiohttp, of_urllib])


def with_sqlstate(code: str) -> psycopg.Error:
    return psycopg.errors.lookup(code)("refused")


def wrapped_by_django(error: BaseException) -> BaseException:
    outer: BaseException = django.db.utils.OperationalError("refused")
    outer.__cause__ = error
    return outer


POOL = urllib3.HTTPConnectionPool("example.test")
OlderDriversError = type("OperationalError", (Exception,), {"__module__": "psycopg2"})


class TestDatabase:
    @pytest.mark.parametrize(
        "code",
        [
            "40001",
            "40P01",
            "55P03",
            "53300",
            "53200",
            "57P01",
            "57P02",
            "57P03",
            "08006",
            "08001",
            "57014",
            "XX000",
        ],
    )
    def test_what_may_pass_is_tried_again(self, code: str) -> None:
        failure = classify(with_sqlstate(code))

        assert (failure.kind, failure.recoverable) == (f"database:{code}", True)

    @pytest.mark.parametrize("code", ["22001", "22P02", "23502", "23503", "23505", "42601", "42P01", "42501"])
    def test_what_will_be_refused_again_is_not(self, code: str) -> None:
        failure = classify(with_sqlstate(code))

        assert (failure.kind, failure.recoverable) == (f"database:{code}", False)

    def test_asyncpg_is_understood(self) -> None:
        assert classify(asyncpg.exceptions.UniqueViolationError("twice")).kind == "database:23505"

    def test_the_older_drivers_attribute_is_understood(self) -> None:
        error = Exception("deadlock")
        error.pgcode = "40P01"  # type: ignore[attr-defined]

        assert classify(error).kind == "database:40P01"

    def test_the_drivers_error_inside_sqlalchemys_is_understood(self) -> None:
        error = sqlalchemy.exc.IntegrityError("insert …", {}, with_sqlstate("23503"))

        assert (classify(error).kind, classify(error).recoverable) == ("database:23503", False)

    def test_the_drivers_error_behind_djangos_is_understood(self) -> None:
        assert classify(wrapped_by_django(with_sqlstate("40001"))).kind == "database:40001"

    def test_an_application_that_translates_an_error_has_its_own_failure(self) -> None:
        error = LookupError("no such booking")
        error.__cause__ = with_sqlstate("23503")

        assert (classify(error).kind, classify(error).recoverable) == ("application", True)

    @pytest.mark.parametrize("code", ["", "4000", "40001x", 40001, None, "40 01"])
    def test_an_attribute_that_is_no_sqlstate_is_ignored(self, code: Any) -> None:
        error = Exception("odd")
        error.sqlstate = code  # type: ignore[attr-defined]

        assert classify(error).kind == "application"


class TestHttp:
    @every_library
    @pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 529])
    def test_a_server_in_trouble_is_asked_again(self, answer: Answer, status: int) -> None:
        failure = classify(answer(status, {}))

        assert (failure.kind, failure.recoverable) == (f"http:{status}", True)

    @every_library
    @pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 422, 501, 505])
    def test_a_request_that_is_wrong_stays_wrong(self, answer: Answer, status: int) -> None:
        failure = classify(answer(status, {}))

        assert (failure.kind, failure.recoverable) == (f"http:{status}", False)

    @every_library
    def test_the_servers_wait_in_seconds_is_kept(self, answer: Answer) -> None:
        assert classify(answer(429, {"Retry-After": "120"})).retry_after == 120

    @every_library
    def test_a_date_is_counted_from_the_servers_own_clock(self, answer: Answer) -> None:
        headers = {"Retry-After": "Sun, 01 Mar 2026 12:05:00 GMT", "Date": "Sun, 01 Mar 2026 12:00:00 GMT"}

        assert classify(answer(503, headers), now=NOW + timedelta(hours=5)).retry_after == 300

    def test_a_date_is_counted_from_the_callers_clock_if_the_server_tells_none(self) -> None:
        error = of_httpx(503, {"Retry-After": "Sun, 01 Mar 2026 12:05:00 GMT"})

        assert classify(error, now=NOW).retry_after == 300

    def test_a_date_without_any_clock_is_no_wait(self) -> None:
        error = of_httpx(503, {"Retry-After": "Sun, 01 Mar 2026 12:05:00 GMT"})

        assert classify(error).retry_after is None

    def test_a_date_without_a_zone_is_utc(self) -> None:
        error = of_httpx(503, {"Retry-After": "Sun, 01 Mar 2026 12:05:00 -0000"})

        assert classify(error, now=NOW).retry_after == 300

    @pytest.mark.parametrize("past", ["-5", "Sun, 01 Mar 2026 11:00:00 GMT"])
    def test_a_wait_that_is_over_is_no_wait(self, past: str) -> None:
        assert classify(of_httpx(503, {"Retry-After": past}), now=NOW).retry_after == 0

    @pytest.mark.parametrize("nonsense", ["soon", "", "nan", "inf", "Sun, 99 Mar 2026 11:00:00 GMT"])
    def test_a_wait_nobody_can_read_is_ignored(self, nonsense: str) -> None:
        assert classify(of_httpx(503, {"Retry-After": nonsense}), now=NOW).retry_after is None

    def test_a_wait_of_years_is_cut(self) -> None:
        assert classify(of_httpx(503, {"Retry-After": "9" * 30})).retry_after == LONGEST_RETRY_AFTER

    def test_a_wait_means_nothing_for_what_is_not_tried_again(self) -> None:
        assert classify(of_httpx(404, {"Retry-After": "120"})).retry_after is None

    @every_library
    @pytest.mark.parametrize("headers", [{"retry-after": "60"}, {"X-RateLimit-Remaining": "0"}])
    def test_forbidden_because_of_a_limit_is_tried_again(self, answer: Answer, headers: Headers) -> None:
        assert classify(answer(403, headers)).recoverable

    def test_forbidden_within_the_limit_is_not(self) -> None:
        assert not classify(of_httpx(403, {"X-RateLimit-Remaining": "7"})).recoverable

    @pytest.mark.parametrize("reset", ["90", str(int(NOW.timestamp()) + 90)])
    def test_the_end_of_a_reached_limit_is_the_wait(self, reset: str) -> None:
        headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}

        assert classify(of_httpx(403, headers), now=NOW).retry_after == 90

    def test_the_end_of_a_limit_not_reached_is_no_wait(self) -> None:
        headers = {"X-RateLimit-Remaining": "7", "X-RateLimit-Reset": "90"}

        assert classify(of_httpx(429, headers)).retry_after is None

    def test_an_error_without_its_answer_is_unknown(self) -> None:
        assert classify(requests.HTTPError("no answer kept")).kind == "application"

    def test_an_applications_own_status_attribute_means_nothing(self) -> None:
        error = Exception("about an order")
        error.status = 404  # type: ignore[attr-defined]

        assert classify(error).recoverable


class TestTimeoutsAndConnections:
    @pytest.mark.parametrize(
        "error",
        [
            TimeoutError("late"),
            OSError(errno.ETIMEDOUT, "late"),
            httpx.ReadTimeout("late"),
            httpx.ConnectTimeout("late"),
            requests.ReadTimeout("late"),
            requests.ConnectTimeout("late"),
            aiohttp.ServerTimeoutError("late"),
            httpcore.ReadTimeout("late"),
            urllib3.exceptions.ReadTimeoutError(POOL, "/", "late"),
            sqlalchemy.exc.TimeoutError("the pool is empty"),
            psycopg.errors.ConnectionTimeout("late"),
            psycopg_pool.PoolTimeout("late"),
            wrapped_by_django(psycopg.errors.ConnectionTimeout("late")),
        ],
        ids=lambda error: type(error).__name__,
    )
    def test_a_timeout_is_tried_again(self, error: BaseException) -> None:
        failure = classify(error)

        assert (failure.kind, failure.recoverable) == ("timeout", True)

    @pytest.mark.parametrize(
        "error",
        [
            ConnectionResetError("gone"),
            BrokenPipeError("gone"),
            OSError(errno.EHOSTUNREACH, "gone"),
            socket.gaierror(socket.EAI_AGAIN, "no name"),
            urllib.error.URLError("gone"),
            http.client.IncompleteRead(b""),
            httpcore.ConnectError("gone"),
            urllib3.exceptions.ProtocolError("gone"),
            OlderDriversError("gone"),
            httpx.ConnectError("gone"),
            httpx.RemoteProtocolError("gone"),
            requests.ConnectionError("gone"),
            aiohttp.ServerDisconnectedError(),
            psycopg.OperationalError("the connection is closed"),
            sqlalchemy.exc.OperationalError("select 1", {}, psycopg.OperationalError("gone")),
            wrapped_by_django(psycopg.OperationalError("gone")),
        ],
        ids=lambda error: type(error).__name__,
    )
    def test_a_lost_connection_is_tried_again(self, error: BaseException) -> None:
        failure = classify(error)

        assert (failure.kind, failure.recoverable) == ("connection", True)

    def test_a_full_disk_is_no_lost_connection(self) -> None:
        assert classify(OSError(errno.ENOSPC, "full")).kind == "application"


class TestEverythingElse:
    def test_an_unknown_error_is_tried_again(self) -> None:
        failure = classify(ValueError("what?"))

        assert (failure.kind, failure.recoverable, failure.retry_after) == ("application", True, None)

    def test_a_payload_that_does_not_fit_will_not_fit_later(self) -> None:
        failure = classify(BadPayload("number: is missing"))

        assert (failure.kind, failure.recoverable) == ("payload", False)

    def test_a_failure_is_plain_json(self) -> None:
        failure = classify(of_httpx(429, {"Retry-After": "2"}))

        kept = json.loads(json.dumps(failure.as_json(), allow_nan=False))

        assert kept == {
            "kind": "http:429",
            "recoverable": True,
            "retry_after": 2.0,
            "type": "httpx.HTTPStatusError",
            "message": "answered",
            "traceback": "httpx.HTTPStatusError: answered",
        }


class TestGroups:
    def test_a_group_of_one_is_that_one(self) -> None:
        inner = ExceptionGroup("inner", [with_sqlstate("23505")])

        failure = classify(ExceptionGroup("outer", [inner]))

        assert (failure.kind, failure.recoverable) == ("database:23505", False)
        assert (failure.type, failure.message) == ("psycopg.errors.UniqueViolation", "refused")

    def test_a_group_is_tried_again_only_if_every_part_is(self) -> None:
        both = ExceptionGroup("two", [TimeoutError(), ConnectionError()])
        mixed = ExceptionGroup("two", [TimeoutError(), with_sqlstate("23505")])

        assert classify(both).recoverable
        assert not classify(mixed).recoverable

    def test_a_group_of_one_kind_has_that_kind(self) -> None:
        assert classify(ExceptionGroup("two", [TimeoutError(), TimeoutError()])).kind == "timeout"

    def test_a_group_of_several_kinds_is_a_group(self) -> None:
        assert classify(ExceptionGroup("two", [TimeoutError(), KeyError()])).kind == "group"

    def test_a_group_waits_as_long_as_its_most_patient_part(self) -> None:
        parts = [of_httpx(429, {"Retry-After": "5"}), of_httpx(503, {"Retry-After": "9"}), TimeoutError()]

        assert classify(BaseExceptionGroup("three", parts)).retry_after == 9

    def test_a_tasks_rules_reach_the_parts(self) -> None:
        group = ExceptionGroup("two", [TimeoutError(), KeyError()])

        assert not classify(group, Rules(permanent=(KeyError,))).recoverable


class TestOwnRules:
    @pytest.mark.parametrize(
        ("matcher", "error"),
        [
            (LookupError, KeyError("x")),
            ("40001", with_sqlstate("40001")),
            ("40", with_sqlstate("40P01")),
            (503, of_httpx(503, {})),
            (lambda error: "quota" in str(error), RuntimeError("quota used up")),
        ],
    )
    def test_permanent_makes_it_so(self, matcher: Any, error: BaseException) -> None:
        assert not classify(error, Rules(permanent=(matcher,))).recoverable

    @pytest.mark.parametrize(
        ("matcher", "error"),
        [("23503", with_sqlstate("23503")), ("23", with_sqlstate("23503")), (404, of_httpx(404, {}))],
    )
    def test_recoverable_makes_it_so(self, matcher: Any, error: BaseException) -> None:
        assert classify(error, Rules(recoverable=(matcher,))).recoverable

    def test_permanent_wins_over_recoverable(self) -> None:
        assert not classify(KeyError(), Rules(recoverable=(KeyError,), permanent=(LookupError,))).recoverable

    def test_a_rule_that_does_not_match_changes_nothing(self) -> None:
        rules = Rules(recoverable=("23505", 500), permanent=(KeyError, "40001", lambda _: False))

        assert not classify(with_sqlstate("23503"), rules).recoverable
        assert classify(ValueError(), rules).recoverable

    def test_the_kind_stays_what_it_was(self) -> None:
        assert classify(of_httpx(404, {}), Rules(recoverable=(404,))).kind == "http:404"

    def test_the_servers_wait_is_kept_for_what_a_rule_makes_recoverable(self) -> None:
        error = of_httpx(404, {"Retry-After": "7"})

        assert classify(error, Rules(recoverable=(404,))).retry_after == 7

    def test_a_rule_that_raises_does_not_match(self) -> None:
        def broken(error: BaseException) -> bool:
            raise KeyError(error)

        assert classify(ValueError(), Rules(permanent=(broken,))).recoverable

    @pytest.mark.parametrize("matcher", [True, 99, 600, "4000", "4", "40-", None, int, 4.5])
    def test_a_rule_that_can_never_match_is_refused(self, matcher: Any) -> None:
        with pytest.raises(BadInput, match="expected an exception class"):
            Rules(permanent=(matcher,))

    def test_a_rule_outside_a_tuple_is_refused(self) -> None:
        with pytest.raises(BadInput, match="must be a tuple"):
            Rules(recoverable=KeyError)  # type: ignore[arg-type]
