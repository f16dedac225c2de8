-- guard: whoever is asked and has an address is told
-- dies: tests/sql/test_alerts.py::test_approvers_with_an_address_are_told_in_the_transaction_that_asks
drop trigger approvers_are_told on holdfast.approval;
