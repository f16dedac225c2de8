"""Plain forms: read from a capped body, and told from what another site made a browser send."""

from collections.abc import Collection
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import ClientDisconnect, Request

from holdfast.interfaces.http import body as bodies
from holdfast.interfaces.http import problem as problems
from holdfast.interfaces.http.problem import Refusal

LARGEST_FORM = 16 * 1024
MOST_FIELDS = 10
_KIND = "application/x-www-form-urlencoded"


async def read_form(request: Request, fields: Collection[str]) -> dict[str, str]:
    """Read a form's fields, or refuse it. Not by Starlette, whose limits did not count for this kind of body once."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _KIND:
        raise Refusal(problems.WRONG_MEDIA_TYPE, f"Content-Type must be {_KIND}")
    try:
        raw = await bodies.read_body(request, LARGEST_FORM)
        pairs = parse_qsl(
            raw.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS
        )
    except bodies.TooLarge:
        raise Refusal(problems.TOO_LARGE) from None
    except (bodies.TooSlow, ClientDisconnect):
        raise Refusal(problems.TOO_SLOW) from None
    except ValueError:
        raise Refusal(problems.BAD_REQUEST, "the form cannot be read") from None
    form = dict(pairs)
    if len(form) < len(pairs) or not form.keys() <= set(fields):
        raise Refusal(
            problems.INVALID, f"the form has fields twice, or others than {', '.join(sorted(fields))}"
        )
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
