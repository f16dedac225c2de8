"""Every page and file of the dashboard, with all that can stand behind its question mark and shows something else."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import httpx

from holdfast import Holdfast
from holdfast.domain.access import Principal, Role
from holdfast.interfaces.http.asgi import asgi
from holdfast.interfaces.http.dashboard.sections import SECTIONS
from service.house import MANY, OWN_PAGE, settings

_COLUMNS = (
    "state,id,label,now,subject,key,tags,worker,requested_by,payload.token,payload.others,meta.token,meta.why"
)
_TABS = ("timeline", "steps", "attempts", "payload", "graph", "audit")
_STREAMS = ("events", "events&kind=failures", "actions", "webhooks", "callbacks")
# The queries that each path is looked at with; what stands in braces is put in for everything that there is of it.
PAGES: Mapping[str, tuple[str, ...]] = {
    "/": ("",),
    "/jobs": ("", f"?range=all&columns={_COLUMNS}"),
    "/jobs/{job_id:uuid}": tuple(f"?tab={tab}" for tab in _TABS),
    "/jobs/{job_id:uuid}/log": ("", "?level=error&attempt=1"),
    "/operations/new": (
        "?action=retry&q=status:failed",
        "?action=cancel&pick={job_id}",
        "?action=reprioritise&pick={job_id}",
        "?action=move&pick={job_id}",
        "?action=delete&q=status:failed",
    ),
    "/operations": ("",),
    "/operations/{operation_id:uuid}": ("",),
    "/approvals": ("",),
    "/approvals/together": ("?pick={approval_id}.00",),
    "/approvals/{approval_id}": ("",),
    "/queues": ("",),
    "/queues/{name:path}": ("",),
    "/schedules": ("",),
    "/schedules/{name:path}": ("",),
    "/schedules/{name:path}/edit": ("",),
    "/usage": ("",),
    "/usage/{tenant:path}": ("",),
    "/usage.csv": ("",),
    "/activity": tuple(f"?show={stream}" for stream in _STREAMS),
    "/activity/export": tuple(f"?show={stream}&form={form}" for stream in _STREAMS for form in ("csv", "json")),
    "/activity/webhooks/{delivery_id}": ("",),
    "/settings": ("",),
    "/settings/alerts": ("",),
    "/settings/doctor": ("",),
    "/settings/keys": ("",),
    "/settings/people": ("",),
    "/settings/system": ("",),
    "/settings/tasks": ("",),
}  # fmt: skip


JOB = "/jobs/{job_id:uuid}"
APPROVAL = "/approvals/{approval_id}"
OPERATION = "/operations/{operation_id:uuid}"


def all_paths() -> set[str]:
    """Name the paths that can be looked at."""
    pages = {page.path for section in SECTIONS for page in section.pages}
    return pages | {download.path for section in SECTIONS for download in section.downloads}


def all_forms() -> dict[str, set[str]]:
    """Name the paths that forms are sent to, with their fields."""
    return {each.path: set(each.form.model_fields) for section in SECTIONS for each in section.actions}


def addresses(there: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    """Write every address; what is there is named by the path that shows one of it."""
    for path, queries in PAGES.items():
        for query in queries:
            yield from addresses_of(path, query, there)


def addresses_of(path: str, query: str, there: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    """Write the addresses of one page."""
    of_path = next((each for each in there if f"{path}/".startswith(f"{each}/")), path)
    named = {"{job_id}": JOB, "{approval_id}": APPROVAL}
    of_query = next((shown for name, shown in named.items() if name in query), of_path)
    for value in there.get(of_query, [""]):
        yield re.sub(r"{.*?}", str(value), path + query)


async def all_pages(app: Holdfast, there: Mapping[str, Sequence[Any]], role: Role) -> dict[str, str]:
    """Look at everything as somebody of a role."""

    async def authenticate(_request: object) -> Principal:
        return Principal.of_role(f"the {role}", role)

    served = asgi(app, authenticate=authenticate, settings=settings(**MANY))
    found: dict[str, str] = {}
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(served), base_url="https://jobs.test", headers=OWN_PAGE
    ) as browser:
        for address in addresses(there):
            answer = await browser.get(address)
            found[f"{role} {address} {answer.status_code}"] = answer.text
    await app.link.aclose()
    return found
