"""The two cookies: a session, and a device that somebody has come from."""

from starlette.requests import HTTPConnection
from starlette.responses import Response

from holdfast.domain.access import DEVICE_PREFIX, SESSION_PREFIX, Cookie, read_cookie
from holdfast.interfaces.http.hosts import is_local_http

_NAMES = {SESSION_PREFIX: "holdfast", DEVICE_PREFIX: "holdfast-device"}
_DEVICE_LASTS = 90 * 86400


def _name(request: HTTPConnection, prefix: str) -> str:
    # Only __Host- cookies cannot be planted by another host of the same domain, so no other name counts under TLS.
    return _NAMES[prefix] if is_local_http(request) else f"__Host-{_NAMES[prefix]}"


def find_cookie(request: HTTPConnection, prefix: str) -> Cookie | None:
    """Read a cookie of this kind; two of one name mean nothing."""
    name = _name(request, prefix)
    pairs = [
        pair.strip().partition("=")
        for header in request.headers.getlist("cookie")
        for pair in header.split(";")
    ]
    values = [value for key, _, value in pairs if key == name]
    return read_cookie(prefix, values[0]) if len(values) == 1 else None


def keep_cookie(request: HTTPConnection, response: Response, cookie: Cookie) -> None:
    """Give a browser a cookie that no script reads and no other site sends along with more than a link."""
    lasts = _DEVICE_LASTS if cookie.prefix == DEVICE_PREFIX else None
    _set(request, response, cookie.prefix, cookie.written, lasts)


def forget_session(request: HTTPConnection, response: Response) -> None:
    """Take a session from a browser."""
    _set(request, response, SESSION_PREFIX, "", 0)


def _set(request: HTTPConnection, response: Response, prefix: str, value: str, lasts: int | None) -> None:
    response.set_cookie(
        _name(request, prefix), value, max_age=lasts, path="/", secure=not is_local_http(request), httponly=True, samesite="lax",
    )  # fmt: skip
