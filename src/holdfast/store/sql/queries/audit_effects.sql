-- C, effects: what attempts left behind, against the attempts that the history knows. F01: of attempts that were never made.
-- Only a COMPLETED may be stamped a moment before a write that came in ahead of it: its finisher reads the clock before it waits for the row
-- (complete). Every other end, and so the next claim, is stamped by whoever has the row (guard_move), behind all that its attempt wrote.
with a as materialized (
  select h.job_id, h.attempt, min(h.at) filter (where h.to_status = 'RUNNING') as began,
         max(h.at) filter (where h.from_status = 'RUNNING')
           + case when bool_or(h.to_status = 'COMPLETED') then interval '5 seconds' else interval '0' end as ended,
         array_agg(h.to_status::text order by h.seq) filter (where h.from_status = 'RUNNING') as outcomes
    from holdfast.job_history h
   where h.job_id >= %(first)s::uuid and h.job_id <= %(last)s::uuid
   group by h.job_id, h.attempt),
left_behind as (
  select s.job_id, s.attempt, 'step ' || s.name as what, case when s.kind = 'sleep' then s.started_at else s.finished_at end as at
    from holdfast.step s
   where s.job_id >= %(first)s::uuid and s.job_id <= %(last)s::uuid
  union all
  select c.job_id, c.attempt, 'its checkpoint', c.at
    from holdfast.checkpoint c
   where c.job_id >= %(first)s::uuid and c.job_id <= %(last)s::uuid
  union all
  select p.job_id, p.attempt, 'its progress', p.at
    from holdfast.progress p
   where p.job_id >= %(first)s::uuid and p.job_id <= %(last)s::uuid
  union all
  select g.job_id, g.attempt, 'approval ' || g.name, g.asked_at
    from holdfast.approval g
   where g.job_id >= %(first)s::uuid and g.job_id <= %(last)s::uuid
  union all
  select d.job_id, d.attempt, 'the run at executor ' || d.executor, d.created_at
    from holdfast.dispatch d
   where d.job_id >= %(first)s::uuid and d.job_id <= %(last)s::uuid
  union all
  select t.job_id, t.attempt, 'its outcome', null
    from holdfast.attempt t
   where t.job_id >= %(first)s::uuid and t.job_id <= %(last)s::uuid
  union all
  select l.job_id, l.attempt, 'a part of its log', null
    from holdfast.log_part l
   where l.job_id >= %(first)s::uuid and l.job_id <= %(last)s::uuid)
select 'C02' as code, a.job_id, format('attempt %%s has %%s outcomes: %%s', a.attempt, cardinality(a.outcomes), array_to_string(a.outcomes, ', ')) as what
  from a
 where cardinality(a.outcomes) > 1
union all
select 'C03', t.job_id, format('attempt %%s is kept as %%s, and the history says %%s', t.attempt, t.outcome, coalesce(array_to_string(a.outcomes, ', '), 'nothing'))
  from holdfast.attempt t
  join a on a.job_id = t.job_id and a.attempt = t.attempt
 where (case t.outcome
          when 'completed' then a.outcomes[1] = 'COMPLETED'
          when 'failed' then a.outcomes[1] in ('RETRY', 'FAILED')
          when 'crashed' then a.outcomes[1] in ('RETRY', 'FAILED')
          when 'released' then a.outcomes[1] = 'RETRY'
          when 'waiting' then a.outcomes[1] in ('WAITING', 'WAITING_FOR_APPROVAL')
          when 'cancelled' then a.outcomes[1] = 'CANCELLED'
        end) is not true
union all
select 'C04', b.job_id, format('%%s was written at %%s, when attempt %%s did not own the job', b.what, b.at, b.attempt)
  from left_behind b
  join a on a.job_id = b.job_id and a.attempt = b.attempt
 where b.at < a.began or b.at > a.ended
union all
select 'F01', b.job_id, format('%%s is of attempt %%s, which was never made', b.what, b.attempt)
  from left_behind b
  left join a on a.job_id = b.job_id and a.attempt = b.attempt
 where a.began is null and exists (select from holdfast.job j where j.id = b.job_id)
