-- guard: who lets jobs go has locked them when it looks
-- dies: tests/sql/test_after.py::test_what_was_let_go_and_claimed_meanwhile_is_not_put_into_the_line_again
select pg_temp.without('holdfast.let_go', $guard$
             order by j.id
               for no key update$guard$);
