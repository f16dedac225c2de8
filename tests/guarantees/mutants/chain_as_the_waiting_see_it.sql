-- guard: who waited for the lock of a job without a chain links behind what was written meanwhile
-- dies: tests/sql/test_chain.py::test_two_who_move_a_job_without_a_chain_link_one_behind_the_other
-- Each of the three looks anew: only when none of them does is what they see the statement's own snapshot.
alter function holdfast.heads stable;
alter function holdfast.head_of stable;
alter function holdfast.guard_move stable;
