-- guard: of twenty equal requests at once one has an effect
-- dies: tests/service/test_core.py::test_twenty_of_one_request_at_once_have_one_effect_and_one_answer
alter table holdfast.request drop constraint request_pkey;
