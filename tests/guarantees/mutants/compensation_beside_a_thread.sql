-- guard: what timed out in a thread is undone only when the thread has ended
-- dies: tests/runtime/test_compensation.py::test_what_timed_out_in_a_thread_is_undone_as_soon_as_the_thread_has_ended
-- pace: quick
create or replace function holdfast.running_on(p_job uuid, p_holder uuid) returns text language sql return null::text;
