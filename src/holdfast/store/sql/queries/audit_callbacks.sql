-- E, callbacks: what runs outside have said, against the attempts they speak for.
with said as materialized (
  select a.job_id, a.id, a.kind, a.at, substring(a.data ->> 'attempt' from '^[0-9]{1,9}$')::int as attempt
    from holdfast.activity a
   where a.job_id >= %(first)s::uuid and a.job_id <= %(last)s::uuid and a.kind like 'callback.%%'),
run as materialized (
  select d.id, d.job_id, d.attempt, d.claim_id, d.executor, d.state, j.status, j.holder, j.attempt as newest, j.claim_id as newest_claim, j.finished_at
    from holdfast.dispatch d
    join holdfast.job j on j.id = d.job_id
   where d.job_id >= %(first)s::uuid and d.job_id <= %(last)s::uuid),
-- The callback that ended the job is answered behind the end, once all that follows from it is written; no other is.
late as materialized (
  select n.job_id, n.at, j.finished_at, row_number() over (partition by n.job_id order by n.at) as place, e.job_id is not null as by_callback
    from holdfast.callback_nonce n
    join holdfast.job j on j.id = n.job_id
    left join (select distinct s.job_id from said s where s.kind in ('callback.completed', 'callback.failed')) as e on e.job_id = n.job_id
   where n.job_id >= %(first)s::uuid and n.job_id <= %(last)s::uuid and n.answer = 'ok' and n.at > j.finished_at)
select 'E01' as code, s.job_id, format('%%s counted for attempt %%s, and the history has no such end of a run', s.kind, coalesce(s.attempt::text, 'none')) as what
  from said s
 where s.kind in ('callback.completed', 'callback.failed')
   and not exists (
     select from holdfast.job_history h
      where h.job_id = s.job_id and h.attempt = s.attempt and h.from_status = 'RUNNING' and h.actor like 'executor:%%'
        and h.to_status = any (case s.kind when 'callback.completed' then '{COMPLETED}' else '{RETRY,FAILED}' end::holdfast.job_status[]))
union all
select 'E01', s.job_id, format('%%s counted for attempt %%s, which was handed over to nobody', s.kind, coalesce(s.attempt::text, 'none'))
  from said s
 where not exists (select from run r where r.job_id = s.job_id and r.attempt = s.attempt)
union all
select 'E01', r.job_id, format('the run at executor %%s has another claim than attempt %%s', r.executor, r.attempt)
  from run r
 where r.attempt = r.newest and r.claim_id is distinct from r.newest_claim
union all
select 'E02', s.job_id, format('%%s ends were taken from runs of attempt %%s', count(*), coalesce(s.attempt::text, 'none'))
  from said s
 where s.kind in ('callback.completed', 'callback.failed')
 group by s.job_id, s.attempt
having count(*) > 1
union all
select 'E04', s.job_id, format('%%s was taken at %%s, after the job had ended', s.kind, s.at)
  from said s
  join holdfast.job j on j.id = s.job_id
 where s.at > j.finished_at
union all
select 'E04', n.job_id, format('a callback was answered with ok at %%s, after the job had ended', n.at)
  from late n
 where n.at > n.finished_at + interval '5 seconds' or n.place > n.by_callback::int
union all
select 'E05', r.job_id, format('the run of attempt %%s at executor %%s is %%s, and the job is %%s', r.attempt, r.executor, r.state,
         case when r.holder = r.id then 'in its hands' else lower(r.status::text) || ', in other hands' end)
  from run r
 where (r.state = 'over') = (r.status = 'RUNNING' and r.holder is not distinct from r.id)
