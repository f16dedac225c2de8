"""/a/…: where an approver without a login decides. Looking is free of consequences; what decides is a person's click.

The secret stands in the link's fragment, which browsers keep to themselves: it comes only in the body of a POST.
Whoever has no right secret sees one and the same page, whatever is wrong.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal, get_args
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from holdfast.domain.access import Principal
from holdfast.domain.approval import EXPIRED, Seen, Verdict
from holdfast.domain.errors import DatabaseUnavailable
from holdfast.interfaces.http.access import Access
from holdfast.interfaces.http.forms import is_foreign, read_form
from holdfast.interfaces.http.html import headers, pages
from holdfast.interfaces.http.problem import Refusal, refusal_of
from holdfast.store import approval as store
from holdfast.store.access import record_action

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast
    from holdfast.store.transaction import AsyncTransaction

LONGEST_REASON = 500
_HEADERS = headers("script-src 'self'; style-src 'self'; form-action 'self'")
_FIELDS = frozenset({"code", "decision", "reason", "version"})
_CODE = re.compile(r"hfa_[A-Za-z0-9_-]{43}")
State = Literal["code", "question", "done", "closed", "unknown", "away"]


class ApprovalPage:
    """Shows a question to whoever has an approver's secret, and takes the answer."""

    def __init__(self, app: "Holdfast") -> None:
        self._app = app

    async def answer(self, request: Request) -> Response:
        """Answer one request; GET and HEAD get the same bytes whatever they ask for."""
        if request.method != "POST":
            return _page("code")
        try:
            return await self._posted(request)
        except DatabaseUnavailable:
            return _page("away", HTTPStatus.SERVICE_UNAVAILABLE, {"Retry-After": "5"})
        except Exception as error:  # noqa: BLE001 - nothing may reach the caller that says how we work inside
            refusal_of(error)  # it logs
            return _page("away", HTTPStatus.INTERNAL_SERVER_ERROR)

    async def _posted(self, request: Request) -> Response:
        if is_foreign(request):
            return _page("unknown", HTTPStatus.FORBIDDEN)
        sent = await _read(request)
        if sent is None:
            return _unknown()
        async with self._app.link.atransaction() as transaction:
            seen = await transaction.perform(store.look_by_token(sent.approval_id, sent.code))
            if seen is None:
                return _unknown()
            if seen.decision is not None:
                return _page("closed", seen=seen)
            return await _settle(transaction, sent, seen)


@dataclass(frozen=True, slots=True)
class Sent:
    """What somebody sent: a secret, and what they want done with it. Without a decision they only look."""

    approval_id: UUID
    code: str
    decision: str | None
    reason: str
    version: str | None
    address: str | None

    @property
    def objection(self) -> str | None:
        """What is wrong with the decision, before anybody else looks at it."""
        if self.decision not in get_args(Verdict) or self.version is None:
            return "Press one of the buttons."
        if "\x00" in self.reason + self.version or len(self.reason) > LONGEST_REASON:
            return f"The reason has at most {LONGEST_REASON} characters."
        if self.decision == "deny" and not self.reason:
            return "Say why: denying needs a reason. Nothing has been decided yet."
        return None


async def _read(request: Request) -> Sent | None:
    """Read what was sent; None when nothing could come of it."""
    try:
        approval_id = UUID(request.path_params["approval_id"])
        form = await read_form(request, _FIELDS)
    except (ValueError, Refusal):
        return None
    code = _read_code(form.get("code", ""))
    if code is None:
        return None
    reason = form.get("reason", "").replace("\r\n", "\n").strip()
    address = request.client.host if request.client else None
    return Sent(approval_id, code, form.get("decision"), reason, form.get("version"), address)


async def _settle(transaction: "AsyncTransaction", sent: Sent, seen: Seen) -> Response:
    """Show the question, or take the answer."""
    if sent.decision is None:
        return _question(sent, seen)
    if sent.objection is not None:
        return _question(sent, seen, sent.objection)
    verdict: Verdict = "approve" if sent.decision == "approve" else "deny"
    reason = sent.reason or None
    answer = await transaction.perform(
        store.decide_by_token(sent.approval_id, sent.code, verdict, reason, sent.address, sent.version)
    )
    if answer.result not in {"decided", "counted"}:  # it is locked, so only what was shown can be another
        return _question(sent, seen, f"Nothing has been decided: {answer.problem}.")
    who = Principal(seen.approver, frozenset(), seen.tenant)
    await transaction.perform(
        record_action(who, sent.address, f"approval.{verdict}", str(sent.approval_id), reason, {"by": "link"})
    )
    return _page("done", seen=seen, verdict=verdict, answer=answer)


def _read_code(text: str) -> str | None:
    """Read a secret that was pasted: alone, or with the link before it."""
    code = text.strip().rpartition("#")[2]
    return code if _CODE.fullmatch(code) else None


def _question(sent: Sent, seen: Seen, problem: str | None = None) -> Response:
    status = HTTPStatus.OK if problem is None else HTTPStatus.UNPROCESSABLE_ENTITY
    return _page("question", status, seen=seen, code=sent.code, reason=sent.reason, problem=problem)


def _unknown() -> Response:
    return _page("unknown", HTTPStatus.NOT_FOUND)


def _page(
    state: State,
    status: HTTPStatus = HTTPStatus.OK,
    more_headers: Mapping[str, str] | None = None,
    **shown: Any,
) -> Response:
    text = pages.get_template("approval.html").render(state=state, expired=EXPIRED, **shown)
    return Response(text, status, {**_HEADERS, **(more_headers or {})}, media_type="text/html")


def _as_moment(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _as_fact(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


pages.filters["moment"] = _as_moment
pages.filters["fact"] = _as_fact


def approval_page(app: "Holdfast", _access: Access) -> list[BaseRoute]:
    """Make the routes of the approval page."""
    page = ApprovalPage(app)
    script = pages.get_template("approval.js").render()
    style = pages.get_template("plain.css").render()

    async def as_page(request: Request) -> Response:
        return await page.answer(request)

    async def as_script(_request: Request) -> Response:
        return Response(script, headers=_HEADERS, media_type="text/javascript")

    async def as_style(_request: Request) -> Response:
        return Response(style, headers=_HEADERS, media_type="text/css")

    return [
        Route("/a/approval.js", as_script),
        Route("/a/approval.css", as_style),
        Route("/a/{approval_id}", as_page, methods=["GET", "POST"]),
    ]
