import asyncio
import os
import random
from datetime import timedelta

from apps._stage import Stage, staged
from apps.workspace_access import story, tasks
from apps.workspace_access.app import app
from apps.workspace_access.story import Given
from apps.workspace_access.tests.product import Product
from holdfast import Status
from holdfast.testing import ScratchDatabase

TIMES = 50 if os.environ.get("HOLDFAST_LONG") == "1" else 2
MATCHES = 8
TROUBLE = """
create or replace function workspace_access.trouble() returns trigger language plpgsql as $$
begin
  case floor(random() * 10)
    when 0 then raise exception 'chance' using errcode = '40001';
    when 1 then raise exception 'chance' using errcode = '23503';
    when 2 then perform pg_terminate_backend(pg_backend_pid());
    when 3 then perform pg_sleep(0.2);
    else null;
  end case;
  return new;
end $$;
create or replace trigger trouble before insert or update on workspace_access.{table}
for each row execute function workspace_access.trouble();
"""


async def test_finalized_means_access_whatever_happens(holdfast_db: ScratchDatabase) -> None:
    """Workers are killed and the database fails at random, while people click; in the end nothing is in between."""
    chance = random.Random(5)
    with story.world() as world, staged("workspace_access", holdfast_db, world.environment) as stage:
        product = Product(holdfast_db)
        for table in ("project_advisors", "chat_sessions", "chat_messages"):
            await product.script(TROUBLE.format(table=table))
        for _ in range(TIMES):
            await _bad_day(stage, product, chance)
        for table in ("project_advisors", "chat_sessions", "chat_messages"):
            await product.script(f"drop trigger trouble on workspace_access.{table}")
        await product.settle()

        await _nothing_is_in_between(product)
        await product.http.aclose()
        await app.aclose()


async def _bad_day(stage: Stage, product: Product, chance: random.Random) -> None:
    given = [await product.matched() for _ in range(MATCHES)]
    with stage.worker() as first, stage.worker() as second:
        clicking = asyncio.gather(*(_click(product, one, chance.random() < 0.5) for one in given))
        for worker in (first, second):
            await asyncio.sleep(chance.uniform(0.5, 1.5))  # chaos, not synchronisation
            worker.kill()
        await clicking
    product.database.clock.advance(timedelta(minutes=2))  # what the dead held is taken back


async def _click(product: Product, given: Given, advisor_first: bool) -> None:
    """Approve from both sides, each of them twice."""
    sides = ("advisor", "client") if advisor_first else ("client", "advisor")
    for side in sides * 2:
        await product.decide(given, side)


async def _nothing_is_in_between(product: Product) -> None:
    jobs = product.database.jobs(task=tasks.provision_workspace)
    assert all(job.status.is_terminal for job in jobs)
    assert await product.lacking() == 0
    counts = await product.rows("""
    select m.status = 'finalized',
           (select count(*) from workspace_access.project_advisors a where a.project_id = m.project_id and a.status = 'active'),
           (select count(*) from workspace_access.chat_sessions s where s.project_id = m.project_id and s.state = 'active'),
           (select count(*) from workspace_access.chat_messages c where c.project_id = m.project_id)
      from workspace_access.matches m
    """)
    assert len(counts) == TIMES * MATCHES
    assert {(1, 1, 1) if is_final else (0, 0, 0) for is_final, *_ in counts} == {
        tuple(row[1:]) for row in counts
    }
    assert all(tuple(row[1:]) == ((1, 1, 1) if row[0] else (0, 0, 0)) for row in counts)
    failed = [job.id for job in jobs if job.compensates is None and job.status is Status.FAILED]
    undone = await product.one("select count(*) from workspace_access.interventions")
    assert undone == len(failed)
