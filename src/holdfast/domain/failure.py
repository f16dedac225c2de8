"""What kind of failure an exception is: whether trying again can help, and when.

The class word (`kind`) is short and stable; it stands in the history and people filter by it:

| kind             | what failed                                                | tried again                      |
| ---------------- | ---------------------------------------------------------- | -------------------------------- |
| `database:40001` | PostgreSQL refused, with this SQLSTATE                     | yes, but not classes 22, 23, 42  |
| `http:429`       | a server answered with this status                         | 408, 425, 429, 5xx but 501, 505  |
| `timeout`        | something took too long                                    | yes                              |
| `connection`     | a connection was refused or lost                           | yes                              |
| `payload`        | the job's own payload does not fit the task                | no                               |
| `group`          | several different failures at once                         | if every one of them is          |
| `application`    | anything else                                              | yes                              |

Libraries are recognised by the names of their classes and never imported.
"""

import errno
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, TypeAlias

from holdfast.domain.error_text import message_of, trimmed_traceback, type_name
from holdfast.domain.errors import BadInput, BadPayload
from holdfast.domain.json_rules import JSON

__all__ = ["Failure", "Rules", "classify", "trimmed_traceback"]

LONGEST_RETRY_AFTER: Final = 31 * 86_400.0
"""Seconds; a server that asks for more (monthly quotas are the longest honest case) is obeyed only this far."""

Matcher: TypeAlias = type[BaseException] | str | int | Callable[[BaseException], bool]

_PERMANENT_SQLSTATES: Final = ("22", "23", "42")
_RECOVERABLE_STATUSES: Final = {408, 425, 429}
_PERMANENT_SERVER_STATUSES: Final = {501, 505}
_EPOCH_BEGINS: Final = 1_000_000_000
"""x-ratelimit-reset is seconds for some servers and a moment for others; no server means 31 years."""

_HTTP_ERRORS: Final = {
    ("httpx", "HTTPStatusError"),
    ("requests", "HTTPError"),
    ("aiohttp", "ClientResponseError"),
    ("urllib", "HTTPError"),
}
_TIMEOUTS: Final = {
    ("httpx", "TimeoutException"),
    ("httpcore", "TimeoutException"),
    ("requests", "Timeout"),
    ("urllib3", "TimeoutError"),
    ("sqlalchemy", "TimeoutError"),
    ("psycopg", "ConnectionTimeout"),
    ("psycopg_pool", "PoolTimeout"),
}
_CONNECTION_LOSSES: Final = {
    ("httpx", "TransportError"),
    ("httpcore", "NetworkError"),
    ("requests", "ConnectionError"),
    ("urllib3", "HTTPError"),
    ("urllib", "URLError"),
    ("aiohttp", "ClientConnectionError"),
    ("http", "IncompleteRead"),
    ("socket", "gaierror"),
    ("psycopg", "OperationalError"),
    ("psycopg2", "OperationalError"),
}
_CONNECTION_ERRNOS: Final = {
    errno.EADDRNOTAVAIL,
    errno.EHOSTDOWN,
    errno.EHOSTUNREACH,
    errno.ENETDOWN,
    errno.ENETRESET,
    errno.ENETUNREACH,
    errno.ENOBUFS,
    errno.ENOTCONN,
}


@dataclass(frozen=True, slots=True)
class Failure:
    """One attempt's error as it is kept: its class, and what a person needs to read."""

    kind: str
    recoverable: bool
    retry_after: float | None
    type: str
    message: str
    traceback: str

    def as_json(self) -> dict[str, JSON]:
        """Return the failure as a JSON object that jsonb can hold."""
        return {
            "kind": self.kind,
            "recoverable": self.recoverable,
            "retry_after": self.retry_after,
            "type": self.type,
            "message": self.message,
            "traceback": self.traceback,
        }


@dataclass(frozen=True, slots=True)
class Rules:
    """A task's own opinion: `Rules(recoverable=(KeyError, "23503", 404), permanent=(ValueError, "40"))`.

    A matcher is an exception class, an SQLSTATE or its two-letter class, an HTTP status, or a function of the exception.
    They win over the general rules, and permanent wins over recoverable.
    A function that raises does not match: a failed job has to be settled whatever its rules do.
    """

    recoverable: tuple[Matcher, ...] = ()
    permanent: tuple[Matcher, ...] = ()

    def __post_init__(self) -> None:
        for matcher in (*_as_tuple("recoverable", self.recoverable), *_as_tuple("permanent", self.permanent)):
            _check_matcher(matcher)

    def verdict(self, error: BaseException) -> bool | None:
        """Return whether this error is recoverable, or None where the rules say nothing."""
        if any(_matches(matcher, error) for matcher in self.permanent):
            return False
        if any(_matches(matcher, error) for matcher in self.recoverable):
            return True
        return None


@dataclass(frozen=True, slots=True)
class _Class:
    """The part of a failure that decides what happens next."""

    kind: str
    recoverable: bool
    retry_after: float | None = None


def classify(error: BaseException, rules: Rules | None = None, *, now: datetime | None = None) -> Failure:
    """Return what kind of failure this is; `now` helps with a Retry-After date where the answer has no date."""
    told = _only_leaf(error)
    decided = _class_of(error, rules or Rules(), now)
    return Failure(
        kind=decided.kind,
        recoverable=decided.recoverable,
        retry_after=decided.retry_after if decided.recoverable else None,
        type=type_name(told),
        message=message_of(told),
        traceback=trimmed_traceback(error),
    )


def _class_of(error: BaseException, rules: Rules, now: datetime | None) -> _Class:
    if isinstance(error, BaseExceptionGroup):
        general = _class_of_group(error, rules, now)
    else:
        general = _general_class(error, now)
    verdict = rules.verdict(error)
    return general if verdict is None else replace(general, recoverable=verdict)


def _class_of_group(group: BaseExceptionGroup[BaseException], rules: Rules, now: datetime | None) -> _Class:
    parts = [_class_of(part, rules, now) for part in group.exceptions]
    kinds = {part.kind for part in parts}
    waits = [part.retry_after for part in parts if part.retry_after is not None]
    return _Class(
        kind=kinds.pop() if len(kinds) == 1 else "group",
        recoverable=all(part.recoverable for part in parts),
        retry_after=max(waits, default=None),
    )


def _only_leaf(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _general_class(error: BaseException, now: datetime | None) -> _Class:
    if isinstance(error, BadPayload):
        return _Class("payload", recoverable=False)
    if (sqlstate := _sqlstate(error)) is not None:
        return _Class(f"database:{sqlstate}", recoverable=not sqlstate.startswith(_PERMANENT_SQLSTATES))
    if (status := _status(error)) is not None:
        return _class_of_answer(status, _Headers.of(error), now)
    if any(_is_timeout(one) for one in _wrapped(error)):
        return _Class("timeout", recoverable=True)
    if any(_is_connection_loss(one) for one in _wrapped(error)):
        return _Class("connection", recoverable=True)
    return _Class("application", recoverable=True)


def _wrapped(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and, for libraries that wrap a driver's error in their own, the driver's."""
    yield error
    inner = getattr(error, "orig", None)
    if isinstance(inner, BaseException):
        yield inner
    if error.__cause__ is not None and _packages(error) & {"django", "sqlalchemy"}:
        yield error.__cause__


def _sqlstate(error: BaseException) -> str | None:
    for one in _wrapped(error):
        for name in ("sqlstate", "pgcode"):
            code = getattr(one, name, None)
            if isinstance(code, str) and _is_sqlstate(code):
                return code
    return None


def _is_sqlstate(code: str) -> bool:
    return len(code) == len("40001") and code.isascii() and code.isalnum()


def _names(error: BaseException) -> set[tuple[str, str]]:
    """Return (package, class name) of the error's class and all its bases."""
    return {(cls.__module__.partition(".")[0].lstrip("_"), cls.__name__) for cls in type(error).__mro__}


def _packages(error: BaseException) -> set[str]:
    return {package for package, _ in _names(error)}


def _is_timeout(error: BaseException) -> bool:
    return isinstance(error, TimeoutError) or not _names(error).isdisjoint(_TIMEOUTS)


def _is_connection_loss(error: BaseException) -> bool:
    if isinstance(error, ConnectionError) or not _names(error).isdisjoint(_CONNECTION_LOSSES):
        return True
    return isinstance(error, OSError) and error.errno in _CONNECTION_ERRNOS


def _status(error: BaseException) -> int | None:
    if _names(error).isdisjoint(_HTTP_ERRORS):
        return None
    response = getattr(error, "response", None)
    for holder, name in ((response, "status_code"), (error, "status"), (error, "code")):
        status = getattr(holder, name, None)
        if isinstance(status, int):
            return status
    return None


def _class_of_answer(status: int, headers: "_Headers", now: datetime | None) -> _Class:
    wait = headers.retry_after(now)
    return _Class(f"http:{status}", _is_recoverable_answer(status, headers), wait)


def _is_recoverable_answer(status: int, headers: "_Headers") -> bool:
    if status == 403:  # noqa: PLR2004 - some servers say "forbidden" for "too often"
        return headers.get("retry-after") is not None or headers.is_limit_reached
    if 400 <= status < 500:  # noqa: PLR2004 - the client's errors
        return status in _RECOVERABLE_STATUSES
    return status not in _PERMANENT_SERVER_STATUSES


@dataclass(frozen=True, slots=True)
class _Headers:
    """An answer's headers, which every library holds in a mapping that ignores case."""

    held: Any

    @classmethod
    def of(cls, error: BaseException) -> "_Headers":
        holder = getattr(error, "response", None)
        return cls(getattr(error if holder is None else holder, "headers", None))

    def get(self, name: str) -> str | None:
        value = self.held.get(name) if hasattr(self.held, "get") else None
        return value.strip() if isinstance(value, str) else None

    @property
    def is_limit_reached(self) -> bool:
        return self.get("x-ratelimit-remaining") == "0"

    def retry_after(self, now: datetime | None) -> float | None:
        """Return the seconds the server asks to wait, never more than it could mean."""
        asked = _seconds_or_date(self.get("retry-after"), self._sent_at(now))
        if asked is None and self.is_limit_reached:
            asked = _seconds_or_moment(self.get("x-ratelimit-reset"), self._sent_at(now))
        return None if asked is None else min(max(asked, 0.0), LONGEST_RETRY_AFTER)

    def _sent_at(self, now: datetime | None) -> datetime | None:
        """Prefer the server's own clock: its dates are relative to that."""
        return _http_date(self.get("date")) or now


def _seconds_or_date(text: str | None, now: datetime | None) -> float | None:
    if (seconds := _number(text)) is not None:
        return seconds
    moment = _http_date(text)
    return None if moment is None or now is None else (moment - now).total_seconds()


def _seconds_or_moment(text: str | None, now: datetime | None) -> float | None:
    seconds = _number(text)
    if seconds is None or seconds < _EPOCH_BEGINS:
        return seconds
    return None if now is None else seconds - now.timestamp()


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _http_date(text: str | None) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _as_tuple(name: str, matchers: object) -> tuple[Any, ...]:
    if isinstance(matchers, tuple | list):
        return tuple(matchers)
    raise BadInput(f"rules: {name} must be a tuple such as (KeyError, 404), got {matchers!r}")


def _check_matcher(matcher: object) -> None:
    match matcher:
        case type() if issubclass(matcher, BaseException):
            return
        case str() if _is_sqlstate(matcher) or (len(matcher) == len("40") and matcher.isalnum()):
            return
        case int() if 100 <= matcher <= 599:  # noqa: PLR2004 - HTTP's range
            return
        case _ if callable(matcher) and not isinstance(matcher, type):
            return
    raise BadInput(
        "rules: expected an exception class, an SQLSTATE such as '23503' or its class '23', an HTTP status or a "
        f"function of the exception, got {matcher!r}"
    )


def _matches(matcher: Matcher, error: BaseException) -> bool:
    match matcher:
        case type():
            return isinstance(error, matcher)
        case str():
            return (_sqlstate(error) or "").startswith(matcher)
        case int():
            return _status(error) == matcher
    try:
        return bool(matcher(error))
    except Exception:  # noqa: BLE001 - see Rules: the failure at hand matters more than its judge
        return False
