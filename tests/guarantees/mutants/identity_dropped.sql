-- guard: a payload never changes
-- dies: tests/guarantees/test_history.py::test_a_waiting_jobs_payload_never_changes[origin]
drop trigger identity_is_immutable on holdfast.job;
