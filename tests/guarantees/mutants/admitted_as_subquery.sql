-- guard: of what is due no more is admitted than is asked for (a materialized CTE)
-- dies: tests/sql/test_plans.py::test_no_more_is_taken_than_is_asked_for_under_every_join_plan[admit_due]
-- As in claim_as_subquery.sql.
do $$
declare
  v_body text := pg_get_functiondef('holdfast.admit_due'::regproc);
  v_list text := substring(v_body from 'with due as materialized (\(.*?skip locked\))');
begin
  v_body := regexp_replace(v_body, 'from due\s+where not due.gated and j.id = any \(array\[due.id::uuid\]\)', 'where j.id in (select t.id from ' || v_list || ' as t)');
  execute v_body;
end $$;
