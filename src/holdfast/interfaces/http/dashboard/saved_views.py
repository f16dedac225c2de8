"""Lists of jobs that people come back to: links above the list, kept from its address."""

from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from holdfast.domain.access import Scope
from holdfast.domain.search import LONGEST
from holdfast.interfaces.http.api.views import (
    Reach,
    SavedView,
    ViewBody,
    delete_shared_view,
    delete_view,
    list_views,
    save_view,
    share_view,
)
from holdfast.interfaces.http.dashboard.jobs import JobsAsked, job_list, jobs, search_words, state_chips
from holdfast.interfaces.http.dashboard.look import Look
from holdfast.interfaces.http.dashboard.page import Done, Form

__all__ = ["jobs"]  # with the views that are added here


class Link(NamedTuple):
    """A view, and where it leads."""

    view: SavedView
    address: str
    is_shown: bool


@jobs.panel()
async def saved_views(look: Look, asked: JobsAsked) -> dict[str, Any]:
    """List the views, and offer to keep what is shown as one."""
    here = asked.link()
    links = [
        Link(view, address, address == here)
        for view in (await look.at(list_views)).items
        for address in [_address(view)]
    ]
    return {
        "links": links,
        "shown": [link.view for link in links if link.is_shown],
        "is_worth_keeping": here != "/jobs",
        "operates": look.may(Scope.OPERATE),
    }


def _address(view: SavedView) -> str:
    return JobsAsked(q=view.q, range=view.range, columns=view.columns).link()


jobs.page("/jobs", "Jobs", state_chips, job_list, search_words, saved_views, asked=JobsAsked)

Name = Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[^/\x00]+$")]


class SaveForm(Form):
    """Under which name, for whom, and what."""

    name: Name
    shared: Literal["on"] | None = None
    q: Annotated[str, Field(max_length=LONGEST)] = ""
    range: Reach = "7d"
    columns: Annotated[str, Field(max_length=1000)] = ""


class DeleteForm(Form):
    """Which one."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    shared: Literal["on"] | None = None


@jobs.action("/jobs/save-view")
async def save(look: Look, form: SaveForm) -> Done:
    """Keep what is shown under a name."""
    body = ViewBody(q=form.q, range=form.range, columns=form.columns)
    kept = await look.at(share_view if form.shared else save_view, form.name, body)
    whose = "for everybody here" if kept.is_shared else "yours"
    return Done(f"View {kept.name} is {whose} now: find it above the list.", _address(kept))


@jobs.action("/jobs/delete-view")
async def delete(look: Look, form: DeleteForm) -> Done:
    """Delete a view."""
    await look.at(delete_shared_view if form.shared else delete_view, form.name)
    return Done(f"View {form.name} is deleted. The jobs stay.", "/jobs")
