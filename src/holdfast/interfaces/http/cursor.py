"""Cursors: where a list goes on. Whose list it is, the caller's key says; a cursor says nothing but a place in it."""

import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from urllib.parse import urlencode
from uuid import UUID

from holdfast.interfaces.http.operation import ApiCall, ListQuery
from holdfast.interfaces.http.problem import INVALID, Refusal

_DIGEST = 6


def write_cursor(of: str, *place: str) -> str:
    """Write where the list of this name goes on."""
    text = json.dumps(place, separators=(",", ":")).encode()
    return urlsafe_b64encode(_digest(of, text) + text).decode().rstrip("=")


def read_cursor(of: str, cursor: str | None, parts: int = 1) -> list[str] | None:
    """Read where this list goes on; what was not written for it, letter by letter, is refused."""
    if cursor is None:
        return None
    try:
        # Whatever else decodes to the same bytes is no cursor of ours either.
        raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        place = json.loads(raw[_DIGEST:])
    except ValueError:
        place = None
    if not _is_place(place, parts) or write_cursor(of, *place) != cursor:
        raise bad_cursor()
    return list(place)


def read_id(place: list[str] | None) -> UUID | None:
    """Read a place that is an id."""
    try:
        return None if place is None else UUID(place[0])
    except ValueError:
        raise bad_cursor() from None


def link_next(call: ApiCall, query: ListQuery, cursor: str | None) -> None:
    """Name the part of a list that follows in the Link header too; relative, so that it holds under any prefix."""
    if cursor is not None:
        asked = query.model_dump(mode="json", exclude_unset=True, exclude_none=True)
        call.answer_headers["Link"] = f'<?{urlencode({**asked, "after": cursor})}>; rel="next"'


def bad_cursor() -> Refusal:
    """Refuse a cursor."""
    return Refusal(
        INVALID, "after is no cursor of this list: take `next` of the page before, with the same search"
    )


def _is_place(place: object, parts: int) -> bool:
    return isinstance(place, list) and len(place) == parts and all(isinstance(part, str) for part in place)


def _digest(of: str, text: bytes) -> bytes:
    # Against mistakes, not against forgery: who makes up a place sees the same list from there.
    return hashlib.sha256(of.encode() + b"\n" + text).digest()[:_DIGEST]
