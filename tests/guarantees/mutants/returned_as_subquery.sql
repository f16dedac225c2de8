-- guard: of what the dead hold no more comes back than is asked for (two materialized CTEs, of which either would do)
-- dies: tests/sql/test_plans.py::test_no_more_is_taken_than_is_asked_for_under_every_join_plan[return_jobs]
-- As in claim_as_subquery.sql.
do $$
declare
  v_body text := pg_get_functiondef('holdfast.return_jobs'::regproc);
  v_held text := substring(v_body from 'with held as materialized (\(.*?skip locked\))');
  v_judged text := substring(v_body from 'judged as materialized (\(.*?h.id::uuid\]\)\))');
begin
  v_body := replace(v_body, 'held as materialized ' || v_held || ',', '');
  v_body := replace(v_body, 'judged as materialized ' || v_judged || ',', '');
  v_body := replace(v_body, 'from judged g', 'from ' || replace(v_judged, 'from held h', 'from ' || v_held || ' as h') || ' as g');
  execute v_body;
end $$;
