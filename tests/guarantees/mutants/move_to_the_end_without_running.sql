-- guard: a job that has not run does not complete
-- dies: tests/sql/test_moves.py::test_an_illegal_move_is_refused_and_leaves_no_trace
create or replace function holdfast.is_legal(p_from holdfast.job_status, p_to holdfast.job_status) returns boolean language sql immutable parallel safe
return case when holdfast.is_terminal(p_from) then false when p_from = 'RUNNING' then p_to <> 'PENDING' else p_to in ('RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED') end;
