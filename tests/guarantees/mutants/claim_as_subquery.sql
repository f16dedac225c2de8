-- guard: the line is read once a claim (a materialized CTE)
-- dies: tests/guarantees/test_claim.py::test_a_claim_takes_no_more_than_its_limit_under_every_join_plan
-- pace: core
-- The same claim with its line as a subquery, which a nested loop runs again for every row. (Taking the word MATERIALIZED
-- away is not enough: PostgreSQL never inlines a CTE that locks rows.)
do $$
declare
  v_body text := pg_get_functiondef('holdfast.claim'::regproc);
  v_line text := substring(v_body from 'with taken as materialized (\(.*?skip locked\) as line\s+limit v_left\))');
begin
  v_body := replace(v_body, 'with taken as materialized ' || v_line, '');
  v_body := replace(v_body, 'taken.claim_order', 'j.created_at');
  v_body := regexp_replace(v_body, 'from taken\s+where j.id = [^\n]*', 'where j.id in (select t.id from ' || v_line || ' as t)');
  execute v_body;
end $$;
