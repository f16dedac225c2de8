-- guard: a device speaks for its own person only
-- dies: tests/service/test_sessions.py::test_a_device_speaks_for_its_own_person_only
select pg_temp.without('holdfast.find_person', ' and d.person = p.name');
