"""Workers are killed and database and mail fail at random, while people click; in the end nothing is in between."""

import asyncio
import random
from functools import partial

import pytest

from apps._chaos import times
from apps._stage import Stage, staged, until
from apps._world import mail
from apps._world.script import Script
from apps.workspace_access import story, tasks
from apps.workspace_access.app import app
from apps.workspace_access.story import ADVISORS_EMAIL, Given
from apps.workspace_access.tests.product import Product
from holdfast import Status
from holdfast.testing import ScratchDatabase

MATCHES = 6
TABLES = ("project_advisors", "chat_sessions", "chat_messages")
# A sequence remembers, also what is rolled back; with the seed it decides how the next row goes.
TROUBLE = """
create sequence workspace_access.chance;
create function workspace_access.trouble() returns trigger language plpgsql as $$
begin
  case abs(hashint8extended(nextval('workspace_access.chance'), {seed}) % 10)
    when 0 then raise exception 'chance' using errcode = '40001';
    when 1 then raise exception 'chance' using errcode = '23503';
    when 2 then perform pg_terminate_backend(pg_backend_pid());
    when 3 then perform pg_sleep(0.2);
    else null;
  end case;
  return new;
end $$;
"""
TRIGGER = """
create trigger trouble before insert or update on workspace_access.{table}
for each row execute function workspace_access.trouble();
"""


@pytest.mark.parametrize("seed", times(short=1, long=50))
async def test_finalized_means_access_whatever_happens(holdfast_db: ScratchDatabase, seed: int) -> None:
    letters = Script(seed, {"later": 0.2, "lost": 0.1})
    with (
        mail.simulated(letters) as mailbox,
        staged("workspace_access", holdfast_db, story.environment(mailbox)) as stage,
    ):
        product = Product(holdfast_db)
        await product.script(TROUBLE.format(seed=seed))
        for table in TABLES:
            await product.script(TRIGGER.format(table=table))
        await _bad_day(stage, product, random.Random(seed))
        for table in TABLES:
            await product.script(f"drop trigger trouble on workspace_access.{table}")
        await product.settle(projector=True)

        await _nothing_is_in_between(product)
        await _events_are_whole(product)
        await product.http.aclose()
        await app.aclose()


async def _bad_day(stage: Stage, product: Product, chance: random.Random) -> None:
    given = [await product.matched() for _ in range(MATCHES)]
    with stage.worker() as first, stage.worker() as second:
        clicking = asyncio.gather(*(_click(product, one, chance.random() < 0.5) for one in given))
        for worker in (first, second):
            enough = await _rows_met(product) + chance.randint(1, 8)
            await until("they have worked", partial(_have_worked, product, enough))
            worker.kill()
        await clicking


async def _have_worked(product: Product, enough: int) -> bool:
    """Whether chance had a say so many times, or nothing is left to do now."""
    jobs = await app.ajobs(f"task:{tasks.provision_workspace.name} status:pending,running")
    return await _rows_met(product) >= enough or not jobs.jobs


async def _rows_met(product: Product) -> int:
    return int(await product.one("select last_value from workspace_access.chance"))


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
    assert len(counts) == MATCHES
    assert all(row[1:] == ((1, 1, 1) if row[0] else (0, 0, 0)) for row in counts), counts
    failed = [job.id for job in jobs if job.compensates is None and job.status is Status.FAILED]
    undone = await product.rows("select job_id from workspace_access.interventions")
    assert {row[0] for row in undone} == set(failed)
    alerts = await product.engine("select from holdfast.notification where subject = %s", tasks.ALERT)
    assert len(alerts) == len(failed)
    welcomes = await product.engine("select from holdfast.notification where recipient = %s", ADVISORS_EMAIL)
    assert len(welcomes) == sum(is_final for is_final, *_ in counts)


async def _events_are_whole(product: Product) -> None:
    for (project,) in await product.rows("select id from workspace_access.projects"):
        told = [(event.data["seq"], event.kind) for event in app.feed(f"chat:{project}")]
        assert [seq for seq, _ in told] == list(range(1, len(told) + 1))
        ready = [kind for _, kind in told].count("advisor.workspace_ready")
        query = "select count(*) from workspace_access.chat_messages where project_id = %s"
        assert ready == await product.one(query, project)
