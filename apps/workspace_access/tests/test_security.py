from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from apps.workspace_access.app import prepare
from apps.workspace_access.tests.product import Product
from holdfast import Holdfast

ROLE = "workspace_access_user"
UNREACHABLE = [
    "holdfast.job", "holdfast.job_history", "holdfast.attempt", "holdfast.job_overview", "workspace_access.users", "workspace_access.advisors",
    "workspace_access.advisor_cards", "workspace_access.matches", "workspace_access.interventions", "workspace_access.grants",
    "workspace_access.idempotency_keys", "workspace_access.access", "workspace_access.lacking_access",
]  # fmt: skip


@pytest.fixture
def owner(product: Product) -> Iterator[Holdfast]:
    """Give a way into the database as its owner, who has made the role that people come as."""
    owner = Holdfast(product.database.owner_url)
    with owner.transaction() as connection:
        connection.execute(
            f"do $$ begin create role {ROLE} nologin; exception when duplicate_object then null; end $$"
        )
        connection.execute(f"grant usage on schema workspace_access to {ROLE}")
    prepare()  # again: it grants what there is to grant
    yield owner
    owner.close()


def seen(owner: Holdfast, user: UUID | None, query: str) -> list[tuple[Any, ...]]:
    """Ask as a person."""
    with owner.transaction() as connection:
        connection.execute("select set_config('workspace_access.user_id', %s, true)", (str(user or ""),))
        connection.execute(f"set local role {ROLE}")
        return list(connection.execute(query).fetchall())


async def test_advisors_see_only_their_assignments(product: Product, owner: Holdfast) -> None:
    one, other = await product.finalized(), await product.finalized()
    await product.work()
    query = "select advisor_id from workspace_access.project_advisors"

    assert seen(owner, one.advisor, query) == [(one.advisor,)]
    assert seen(owner, other.advisor, query) == [(other.advisor,)]
    assert seen(owner, one.owner, query) == []


async def test_people_see_only_their_sessions(product: Product, owner: Holdfast) -> None:
    one, _ = await product.finalized(), await product.finalized()
    await product.work()

    assert seen(owner, one.advisor, "select user_id from workspace_access.chat_sessions") == [(one.advisor,)]


async def test_policies_tolerate_that_nobody_wrote_a_message(product: Product, owner: Holdfast) -> None:
    one, _ = await product.finalized(), await product.finalized()
    await product.work()
    query = "select project_id, user_id from workspace_access.chat_messages"

    assert seen(owner, one.advisor, query) == [(one.project, None)]


async def test_a_session_of_nobody_is_seen_by_nobody(product: Product, owner: Holdfast) -> None:
    given = await product.matched()
    insert = "insert into workspace_access.chat_sessions (project_id, actor_type, locale) values (%s, 'user', 'en')"
    await product.rows(insert, given.project)

    query = "select id from workspace_access.chat_sessions"
    assert [seen(owner, who, query) for who in (None, given.owner, given.advisor)] == [[], [], []]


async def test_who_does_not_say_who_they_are_sees_nothing(product: Product, owner: Holdfast) -> None:
    await product.finalized()
    await product.work()

    for table in ("project_advisors", "chat_sessions", "chat_messages"):
        assert seen(owner, None, f"select from workspace_access.{table}") == []


async def test_jobs_and_what_is_the_products_own_are_unreachable_for_people(
    product: Product, owner: Holdfast
) -> None:
    given = await product.finalized()

    for table in UNREACHABLE:
        with pytest.raises(Exception, match="permission denied"):
            seen(owner, given.advisor, f"select from {table}")


async def test_every_table_of_the_product_has_row_level_security(product: Product) -> None:
    without = await product.rows("""
    select c.relname from pg_class c
     where c.relnamespace = 'workspace_access'::regnamespace and c.relkind = 'r' and not c.relrowsecurity
    """)

    assert without == []
