-- guard: of all suspects one is taken, under every plan (a materialized CTE)
-- dies: tests/guarantees/test_claim.py::test_of_all_suspects_one_is_taken_under_every_join_plan
-- As in claim_as_subquery.sql.
do $$
declare
  v_body text := pg_get_functiondef('holdfast.claim_suspect'::regproc);
  v_line text := substring(v_body from 'with taken as materialized (\(.*?skip locked\))');
begin
  v_body := replace(v_body, 'with taken as materialized ' || v_line, '');
  v_body := regexp_replace(v_body, 'from taken\s+where j.id = [^\n]*', 'where j.id in (select t.id from ' || v_line || ' as t)');
  execute v_body;
end $$;
