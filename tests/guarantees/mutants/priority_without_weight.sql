-- guard: a point of priority moves a job ahead in line
-- dies: tests/sql/test_claim.py::test_a_job_with_priority_goes_before_older_ones_within_its_head_start
create or replace function holdfast.place_in_line(p_due timestamptz, p_priority int) returns timestamptz language sql stable parallel safe return p_due;
create or replace function holdfast.ready_since(p_claim_order timestamptz, p_priority int) returns timestamptz language sql stable parallel safe return p_claim_order;
