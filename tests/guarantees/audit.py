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
