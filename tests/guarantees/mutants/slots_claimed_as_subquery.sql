-- guard: of what has a slot no more is claimed than is asked for (a materialized CTE)
-- dies: tests/guarantees/test_claim.py::test_a_claim_takes_no_more_than_its_limit_under_every_join_plan[by_slots]
-- As in claim_as_subquery.sql.
do $$
declare
  v_body text := pg_get_functiondef('holdfast.claim_by_slots'::regproc);
  v_line text := substring(v_body from 'taken as materialized (\(.*?skip locked\))');
begin
  v_body := regexp_replace(v_body, ',\s+taken as materialized \(.*?skip locked\)', '');
  v_body := replace(v_body, 'taken.claim_order', 'j.created_at');
  v_body := regexp_replace(v_body, 'from taken\s+where j.id = [^\n]*', 'where j.id in (select t.id from ' || v_line || ' as t)');
  execute v_body;
end $$;
