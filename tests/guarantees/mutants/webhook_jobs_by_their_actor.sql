-- guard: a delivery's jobs are those of its transaction, whoever asked for them
-- dies: tests/service/test_webhooks.py::test_a_delivery_knows_the_jobs_that_its_handler_enqueued_for_somebody
select pg_temp.without('holdfast.jobs_of', 'h.seq = 1', $instead$h.seq = 1 and h.actor = 'webhook:' || p_delivery.endpoint$instead$);
