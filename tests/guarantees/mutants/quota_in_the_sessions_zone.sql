-- guard: a quota's month ends with the month in UTC
-- dies: tests/sql/test_quotas.py::test_a_month_ends_with_the_month_wherever_the_session_is[America/New_York]
alter function holdfast.judge_quotas(text[]) reset timezone;
