"""The machine without one of its guards, for mutants."""

# The body of a function without one of its guards; an error when the guard is not there to be removed.
WITHOUT = """
create function pg_temp.without(p_function text, p_guard text, p_instead text default '') returns void
language plpgsql as $$
declare
  v_body text := pg_get_functiondef(p_function::regproc);
begin
  if position(p_guard in v_body) = 0 then
    raise exception '% has no guard: %', p_function, p_guard;
  end if;
  execute replace(v_body, p_guard, p_instead);
end $$;
"""
