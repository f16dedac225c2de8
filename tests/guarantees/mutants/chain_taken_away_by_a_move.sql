-- guard: guard_move is called for a move that takes the chain away
-- dies: tests/sql/test_rules.py::test_a_move_that_is_almost_well_written_is_put_right
do $$
declare
  v_trigger text := (select pg_get_triggerdef(oid) from pg_trigger where tgrelid = 'holdfast.job'::regclass and tgname = 'guard_move');
  v_guard text := '(new.chain <> old.chain)';
begin
  if position(v_guard in v_trigger) = 0 then
    raise exception 'guard_move has no guard: %', v_guard;
  end if;
  execute 'drop trigger guard_move on holdfast.job';
  execute replace(v_trigger, v_guard, '((new.chain <> old.chain) IS NOT FALSE)');
  alter table holdfast.job enable always trigger guard_move;
end $$;
