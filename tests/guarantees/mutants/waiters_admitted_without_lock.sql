-- guard: who admits passes over waiters that somebody is at
-- dies: tests/sql/test_slots.py::test_a_slot_is_not_offered_to_who_is_cancelled_meanwhile
select pg_temp.without('holdfast.admit_waiters', $guard$
       for no key update skip locked$guard$);
