"""Saved views of the list of jobs."""

from datetime import datetime
from typing import NamedTuple

from holdfast.store.call import Call, function, nothing, query, single


class SavedView(NamedTuple):
    """A list of jobs that somebody comes back to."""

    name: str
    is_shared: bool
    search: str
    columns: str
    reach: str
    saved_by: str
    saved_at: datetime


def saved_views(tenant: str | None, owner: str) -> Call[list[SavedView]]:
    """List somebody's own views, then those that everybody of the tenant shares."""
    return query("saved_views", lambda rows: [SavedView(*row) for row in rows], tenant=tenant, owner=owner)


def save_view(
    tenant: str | None, owner: str | None, name: str, search: str, columns: str, reach: str, saved_by: str
) -> Call[None]:
    """Keep a view; without an owner it is everybody's."""
    return function(
        "save_view", tenant, owner, name, search, columns, reach, saved_by, read=nothing, types=("text",) * 7
    )


def delete_view(tenant: str | None, owner: str | None, name: str) -> Call[bool]:
    """Delete a view, and tell whether there was one."""
    return function("delete_view", tenant, owner, name, read=single, types=("text",) * 3)
