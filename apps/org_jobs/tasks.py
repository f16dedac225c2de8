"""The job types: each is a task with the product's attempts and backoff. Workers are started with `-a apps.org_jobs.tasks:app`."""

from typing import Any

from apps.org_jobs.app import app
from apps.org_jobs.rules import BACKOFF, MAX_ATTEMPTS
from holdfast import Fail, SyncContext

__all__ = ["ContactLimit", "app", "forget_contacts", "import_contacts"]

ROOM = """
select o.contact_limit - (select count(*) from org_jobs.contact c where c.org_id = o.id)
  from org_jobs.organisation o
 where o.id = %s
   for update"""
IMPORT = """
insert into org_jobs.contact (org_id, email, name)
values (%s, %s, %s)
on conflict (org_id, email) do nothing"""
FORGET = """
delete from org_jobs.contact c
 where c.added_at < holdfast.clock() - make_interval(days => %(days)s)
   and c.org_id = coalesce(%(org_id)s, c.org_id)"""


class ContactLimit(Exception):
    """The organisation may not have so many contacts; support can raise the limit meanwhile."""


@app.task(retries=MAX_ATTEMPTS - 1, backoff=BACKOFF)
def import_contacts(ctx: SyncContext, contacts: list[dict[str, str]]) -> None:
    """Add contacts; its commit is also the job's success, so none is added twice and none is missing."""
    with ctx.transaction() as connection:
        room = _room(connection, ctx.tenant)
        if len(contacts) > room:
            raise ContactLimit(f"{len(contacts)} contacts, and room for {room}")
        for contact in contacts:
            connection.execute(IMPORT, [ctx.tenant, contact["email"], contact.get("name")])


def _room(connection: Any, org_id: str | None) -> int:
    row = connection.execute(ROOM, [org_id]).fetchone()
    if row is None:
        raise Fail(f"there is no organisation {org_id!r} to have contacts")
    room: int = row[0]
    return room


@app.task(retries=MAX_ATTEMPTS - 1, backoff=BACKOFF)
def forget_contacts(ctx: SyncContext, days: int) -> int:
    """Delete contacts older than so many days: of one organisation, or of all when the job is global."""
    with app.transaction() as connection:
        deleted: int = connection.execute(FORGET, {"days": days, "org_id": ctx.tenant}).rowcount
    return deleted
