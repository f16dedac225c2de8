-- guard: of the calls that are due no more are taken than are asked for (a materialized CTE)
-- dies: tests/sql/test_plans.py::test_no_more_is_taken_than_is_asked_for_under_every_join_plan[take_dispatches]
-- As in claim_as_subquery.sql.
do $$
declare
  v_body text := pg_get_functiondef('holdfast.take_dispatches'::regproc);
  v_list text := substring(v_body from 'with due as materialized (\(.*?skip locked\))');
begin
  v_body := replace(v_body, 'with due as materialized ' || v_list, '');
  v_body := regexp_replace(v_body, 'from due\s+where d.id = any \(array\[due.id\]\)', 'where d.id in (select t.id from ' || v_list || ' as t)');
  v_body := replace(replace(v_body, 'due.is_over', '(d.state = ''over'')'), 'due.doubtful', 'd.doubtful');
  execute v_body;
end $$;
