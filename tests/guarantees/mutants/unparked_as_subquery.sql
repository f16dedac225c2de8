-- guard: of what is parked no more comes out than is asked for (a materialized CTE)
-- dies: tests/sql/test_plans.py::test_no_more_is_taken_than_is_asked_for_under_every_join_plan[unpark]
-- As in claim_as_subquery.sql.
do $$
declare
  v_body text := pg_get_functiondef('holdfast.unpark'::regproc);
  v_list text := substring(v_body from 'with parked as materialized (\(.*?skip locked\))');
begin
  v_body := replace(v_body, 'with parked as materialized ' || v_list || ',', 'with');
  v_body := regexp_replace(v_body, 'from parked p\s+where j.id = any \(array\[p.id::uuid\]\)', 'where j.id in (select t.id from ' || v_list || ' as t)');
  execute v_body;
end $$;
