"""Which installation and whose: the label of the environment, and one tenant for somebody who reaches all of them."""

from dataclasses import replace
from typing import NamedTuple
from urllib.parse import unquote

from starlette.requests import Request

from holdfast.domain.access import Principal

COOKIE = "holdfast-tenant"
_LONGEST_LABEL = 40
_KINDS = {
    "production": ("prod", "live"),
    "staging": ("stag", "test", "qa", "preview"),
    "development": ("dev", "local", "demo"),
}


class Label(NamedTuple):
    """What an environment is called, and the kind that its colour tells."""

    text: str
    kind: str


def label_of(environment: str | None) -> Label | None:
    """Say how an environment is shown, if it has a name."""
    text = (environment or "").strip()[:_LONGEST_LABEL]
    if not text:
        return None
    found = (kind for kind, starts in _KINDS.items() if text.lower().startswith(starts))
    return Label(text, next(found, "other"))


def narrowed(request: Request, principal: Principal) -> Principal:
    """Bind somebody who reaches all tenants to the one they chose to look at; nobody is let out of their own."""
    chosen = unquote(request.cookies.get(COOKIE, ""))
    if principal.tenant is not None or chosen in {"", "*"}:
        return principal
    request.state.is_narrowed = True
    return replace(principal, tenant=chosen)


def is_narrowed(request: Request) -> bool:
    """Whether they chose it themselves, and may choose another."""
    return getattr(request.state, "is_narrowed", False)
