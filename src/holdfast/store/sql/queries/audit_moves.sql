-- A, the state machine: jobs of a range of ids and their histories, as one snapshot sees both.
with h as materialized (
  select x.job_id, x.seq, x.from_status, x.to_status, x.attempt, x.at,
         lag(x.to_status) over w as before, lag(x.at) over w as before_at, coalesce(lag(x.attempt) over w, 0) as before_attempt,
         row_number() over w as place, case when x.to_status = 'FAILED' then x.metadata end as told,
         case when x.to_status = 'RETRY' then x.metadata -> 'retry_count' end as retries
    from holdfast.job_history x
   where x.job_id >= %(first)s::uuid and x.job_id <= %(last)s::uuid
  window w as (partition by x.job_id order by x.seq)),
newest as materialized (
  select distinct on (h.job_id) h.job_id, h.seq, h.to_status, h.at, h.told,
         count(*) filter (where h.to_status = 'RUNNING') over (partition by h.job_id) as claims,
         max(h.at) filter (where h.to_status = 'RUNNING') over (partition by h.job_id) as claimed_at
    from h
   order by h.job_id, h.seq desc),
retried as materialized (
  select distinct on (h.job_id) h.job_id, h.retries
    from h
   where h.to_status = 'RETRY'
   order by h.job_id, h.seq desc),
j as materialized (
  select b.id::uuid as id, b.status, b.seq, b.attempt, b.retry_count, b.started_at, b.finished_at, n.seq as newest_seq, n.to_status as newest, n.at as newest_at, n.claims,
         n.claimed_at, case when b.status = 'FAILED' then case when jsonb_typeof(b.error) = 'object' then b.error - 'traceback' - 'approval' else b.error end end as error,
         case when jsonb_typeof(n.told) = 'object' then n.told - 'approval' else n.told end as told,   -- beside the error: who denied it
         holdfast.broken_rule(b.status, b.holder, b.claim_order, b.due_at, b.held_by, b.deadline_at, b.finished_at, b.approval_id, b.error,
                              b.result, b.retry_count, b.max_retries, b.key, b.key_scope, b.key_held) as broken
    from holdfast.job b
    left join newest n on n.job_id = b.id
   where b.id >= %(first)s::uuid and b.id <= %(last)s::uuid)
select 'A01' as code, j.id as job_id, format('it is %%s, and its newest history row says %%s', j.status, coalesce(j.newest::text, 'nothing')) as what
  from j
 where j.newest is distinct from j.status
union all
select 'A02', h.job_id, format('history row %%s is number %%s of those it has', h.seq, h.place)
  from h
 where h.seq <> h.place
union all
select 'A03', h.job_id, format('row %%s begins at %%s, and the one before it ended at %%s', h.seq, coalesce(h.from_status::text, 'nothing'), h.before)
  from h
 where h.place > 1 and h.from_status is distinct from h.before
union all
select case when h.from_status in ('COMPLETED', 'FAILED', 'CANCELLED') then 'A05' else 'A04' end, h.job_id,
       format('row %%s says that it went from %%s to %%s', h.seq, h.from_status, h.to_status)
  from h
 where h.from_status is not null and h.from_status || '>' || h.to_status <> all (%(legal)s::text[])
union all
select 'A06', h.job_id, format('it was born as %%s, in attempt %%s', concat_ws(' after ', h.to_status::text, h.from_status::text), h.attempt)
  from h
 where h.place = 1 and (h.from_status is not null or h.to_status <> 'PENDING' or h.attempt <> 0)
union all
select 'A07', j.id, format('its seq is %%s, that of its newest history row %%s', j.seq, j.newest_seq)
  from j
 where j.newest_seq <> j.seq
union all
select 'A08', h.job_id, format('row %%s (%%s) is of attempt %%s, the one before it of attempt %%s', h.seq, h.to_status, h.attempt, h.before_attempt)
  from h
 where h.attempt <> h.before_attempt::bigint + (h.to_status = 'RUNNING')::int
union all
select 'A09', j.id, format('it counts %%s attempts, and was claimed %%s times', j.attempt, j.claims)
  from j
 where j.attempt <> j.claims
union all
select case when j.broken like 'retry_count%%' then 'A11' else 'A10' end, j.id, format('it is %%s, and yet: %%s', j.status, j.broken)
  from j
 where j.broken is not null
union all
select 'A11', j.id, format('it counts %%s retries, and its history %%s', j.retry_count, coalesce(r.retries, '0'))
  from j
  left join retried r on r.job_id = j.id
 where to_jsonb(j.retry_count) is distinct from coalesce(r.retries, '0')
union all
select 'A13', h.job_id, format('row %%s is older than the one before it, or of the future: %%s', h.seq, h.at)
  from h
 where h.at < h.before_at or h.at > holdfast.clock()
union all
select 'A13', j.id, format('it finished at %%s, and its last move was at %%s', j.finished_at, j.newest_at)
  from j
 where j.finished_at <> j.newest_at
union all
select 'A13', j.id, format('it says that it was started at %%s, and it was claimed last at %%s', coalesce(j.started_at::text, 'no time'), coalesce(j.claimed_at::text, 'no time'))
  from j
 where j.started_at is distinct from j.claimed_at
union all
select 'A10', j.id, 'its error is not the one that its history tells'
  from j
 where j.status = 'FAILED' and j.newest = 'FAILED' and j.error is distinct from j.told
