-- guard: a completion leaves a job from before there were chains to guard_move, which links its whole history
-- dies: tests/sql/test_chain.py::test_a_job_from_before_gets_the_chain_of_its_whole_history_with_its_next_move[completed_by_a_worker]
-- Here together with the condition of guard_move, which a chain that begins does not fulfil either.
select pg_temp.without('holdfast.complete', $guard$holdfast.linked(j.chain, $guard$, $guard$holdfast.linked(coalesce(j.chain, uuid_send(j.id)), $guard$);
do $$
declare
  v_trigger text := (select pg_get_triggerdef(oid) from pg_trigger where tgrelid = 'holdfast.job'::regclass and tgname = 'guard_move');
  v_guard text := '(new.chain <> old.chain)';
begin
  if position(v_guard in v_trigger) = 0 then
    raise exception 'guard_move has no guard: %', v_guard;
  end if;
  execute 'drop trigger guard_move on holdfast.job';
  execute replace(v_trigger, v_guard, '(new.chain IS DISTINCT FROM old.chain)');
  alter table holdfast.job enable always trigger guard_move;
end $$;
