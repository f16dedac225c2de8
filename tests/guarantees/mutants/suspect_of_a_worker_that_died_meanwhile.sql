-- guard: who waited for a sweep that declared it dead takes no suspect
-- dies: tests/guarantees/test_fence.py::test_who_is_declared_dead_while_it_asks_for_a_suspect_gets_none
select pg_temp.without('holdfast.claim_suspect', 'perform holdfast.act_as_worker(p_worker);');
select pg_temp.without('holdfast.claim_suspect', 'update holdfast.worker w', 'perform holdfast.act_as_worker(p_worker); update holdfast.worker w');
