"""What must hold of every job and its history, whatever happened to workers, connections and servers."""

from typing import Any

import psycopg

_BROKEN = """
with h as (
  select x.*,
         lag(x.to_status) over w as before,
         row_number() over w as place,
         count(*) filter (where x.to_status = 'RUNNING') over w as claims
    from holdfast.job_history x
  window w as (partition by x.job_id order by x.seq))
select 'status is not that of the last history row' as rule, j.id
  from holdfast.job j
  left join h on h.job_id = j.id and h.seq = j.seq
 where h.to_status is distinct from j.status
union all
select 'history has a gap', h.job_id from h where h.seq <> h.place
union all
select 'a move does not begin where the last ended', h.job_id from h where h.from_status is distinct from h.before
union all
select 'a move is not legal', h.job_id from h where h.from_status is not null and not holdfast.is_legal(h.from_status, h.to_status)
union all
select 'attempt is not the number of claims', h.job_id from h where h.attempt <> h.claims
union all
select 'there is history after the newest seq', h.job_id from h join holdfast.job j on j.id = h.job_id where h.seq > j.seq
union all
select 'two outcomes of one attempt', h.job_id from h where h.from_status = 'RUNNING' group by h.job_id, h.attempt having count(*) > 1
union all
select 'more retries than allowed', j.id from holdfast.job j where j.retry_count > j.max_retries
union all
select 'times run backwards', a.job_id from h a join h b on b.job_id = a.job_id and b.seq = a.seq + 1 where b.at < a.at
"""


def broken_rules(connection: psycopg.Connection[Any]) -> list[tuple[str, Any]]:
    """List what is wrong; empty when nothing is."""
    return connection.execute(_BROKEN).fetchall()


_MISPROJECTED = """
with moves as (
  select h.*, j.queue::text, j.task::text, j.tenant::text, j.subject::text,
         h.at - lag(h.at) over (partition by h.job_id order by h.seq) as lasted
    from holdfast.job_history h
    join holdfast.job j on j.id = h.job_id),
reckoned as (
  select (m.at at time zone 'UTC')::date as day, m.tenant, m.task,
         count(*) filter (where m.from_status is null) as enqueued,
         count(*) filter (where m.to_status = 'RUNNING') as runs,
         count(*) filter (where m.to_status = 'COMPLETED') as completed,
         count(*) filter (where m.to_status = 'FAILED') as failed,
         count(*) filter (where m.to_status = 'CANCELLED') as cancelled,
         count(*) filter (where m.to_status = 'RETRY') as retried,
         coalesce(sum(m.attempt) filter (where m.to_status in ('COMPLETED', 'FAILED', 'CANCELLED')), 0) as attempts,
         coalesce(sum(extract(epoch from m.lasted)) filter (where m.from_status = 'RUNNING'), 0) as run_seconds
    from moves m
   group by 1, 2, 3),
kept as (
  select day, tenant, task, enqueued, runs, completed, failed, cancelled, retried, attempts, run_seconds from holdfast.usage)
select 'usage is not that of the history' as rule, u::text
  from ((table reckoned except table kept) union all (table kept except table reckoned)) as u
union all
select 'statistics are not those of the history', s::text
  from ((select task, sum(enqueued), sum(runs), sum(completed), sum(failed), sum(cancelled), sum(retried) from reckoned group by 1)
        except
        (select task, sum(enqueued), sum(started), sum(completed), sum(failed), sum(cancelled), sum(retried) from holdfast.statistic group by 1)) as s
union all
select 'the tally is not that of the jobs', t::text
  from ((select queue::text, task::text, status, count(*) from holdfast.job group by 1, 2, 3)
        except
        (select queue, task, status, entered - departed from holdfast.tally)) as t
union all
select 'the feed has a gap', channel
  from holdfast.feed group by channel having (min(id), max(id)) <> (1, count(*))
union all
select 'the feed is not the history', (m.job_id, m.seq)::text
  from moves m
 where m.subject is not null
   and (select count(*) from holdfast.feed f
         where f.channel = 'subject:' || m.subject and f.job_id = m.job_id and (f.data ->> 'seq')::int = m.seq) <> 1
"""


def broken_projections(connection: psycopg.Connection[Any]) -> list[Any]:
    """List where feed, statistics or usage say something else than the history; empty when all of it is projected, once."""
    return connection.execute(_MISPROJECTED).fetchall()
