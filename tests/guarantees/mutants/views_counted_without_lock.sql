-- guard: nobody has more than a hundred views, however many are saved at once
-- dies: tests/sql/test_saved_views.py::test_of_two_that_are_saved_at_once_one_is_the_hundredth_and_the_other_too_many
select pg_temp.without('holdfast.save_view', $guard$perform pg_advisory_xact_lock(hashtextextended('holdfast:views:' || coalesce(p_tenant, '') || ':' || coalesce(p_owner, ''), 0));$guard$);
