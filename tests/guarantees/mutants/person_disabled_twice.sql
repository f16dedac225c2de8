-- guard: of two that disable a person at once one is told that it was otherwise
-- dies: tests/service/test_people.py::test_of_two_that_change_a_person_at_once_one_is_told_that_it_was_otherwise[disable]
select pg_temp.without('holdfast.disable_person', $guard$ for update$guard$);
