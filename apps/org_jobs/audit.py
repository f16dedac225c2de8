"""Usage once more, added up from the whole history: slow, and what the quick figures must equal."""

from apps.org_jobs.app import app
from apps.org_jobs.usage import Usage

ADD_UP = """
with moves as (
  select (h.at at time zone 'UTC')::date as day, j.tenant::text as org_id, j.task::text as type, h.from_status, h.to_status, h.attempt,
         case when h.from_status = 'RUNNING' then h.at - before.at end as ran
    from holdfast.job_history h
    join holdfast.job j on j.id = h.job_id
    left join holdfast.job_history before on before.job_id = h.job_id and before.seq = h.seq - 1)
select m.day, m.org_id, m.type,
       count(*) filter (where m.from_status is null), count(*) filter (where m.to_status = 'RUNNING'),
       count(*) filter (where m.to_status = 'COMPLETED'), count(*) filter (where m.to_status = 'FAILED'),
       count(*) filter (where m.to_status = 'CANCELLED'), count(*) filter (where m.to_status = 'RETRY'),
       coalesce(sum(m.attempt) filter (where m.to_status in ('COMPLETED', 'FAILED', 'CANCELLED')), 0),
       coalesce(extract(epoch from sum(m.ran)), 0)
  from moves m
 group by m.day, m.org_id, m.type
 order by m.day, m.org_id nulls first, m.type"""


def usage_by_history() -> list[Usage]:
    """Add up what everybody's jobs did."""
    with app.transaction() as connection:
        connection.execute("select holdfast.enter('*')")  # all organisations' rows, for this transaction
        return [Usage(*row) for row in connection.execute(ADD_UP).fetchall()]
