-- Only a database that tests made for themselves can be given this clock: it takes the schema's owner, and a name to match.
do $$
begin
  if current_database() not like 'holdfast\_test\_%' then
    raise exception 'the clock of % is not moved: only databases called holdfast_test_… are for tests', current_database()
      using errcode = 'HF005';
  end if;
end $$;
create or replace function holdfast.clock() returns timestamptz
language sql volatile parallel safe
return clock_timestamp() + make_interval(secs => {seconds});
