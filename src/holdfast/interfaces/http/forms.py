"""Plain forms: read from a capped body, and told from what another site made a browser send."""

from collections.abc import Collection
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import ClientDisconnect, Request

from holdfast.interfaces.http import body as bodies

LARGEST_FORM = 16 * 1024
MOST_FIELDS = 10
_KIND = "application/x-www-form-urlencoded"


class Unreadable(Exception):
    """This is no form of ours."""


async def read_form(request: Request, fields: Collection[str]) -> dict[str, str]:
    """Read a form's fields. Not by Starlette, whose limits did not count for this kind of body once."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _KIND:
        raise Unreadable
    try:
        raw = await bodies.read_body(request, LARGEST_FORM)
        pairs = parse_qsl(
            raw.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS
        )
    except (bodies.TooLarge, bodies.TooSlow, ClientDisconnect, ValueError) as error:
        raise Unreadable from error
    form = dict(pairs)
    if len(form) < len(pairs) or not form.keys() <= set(fields):
        raise Unreadable
    return form


def is_foreign(request: Request) -> bool:
    """Whether a browser says that another site made it send this.

    A page with the referrer policy no-referrer, as all of ours have, sends its own forms with `Origin: null`:
    Sec-Fetch-Site is what tells them from others, and where a browser knows neither, only a name that is not ours counts.
    """
    site = request.headers.getlist("sec-fetch-site")
    if site:
        return site not in (["same-origin"], ["none"])
    origins = [origin for origin in request.headers.getlist("origin") if origin != "null"]
    return any(urlsplit(origin).netloc.lower() != request.url.netloc.lower() for origin in origins)
