"""What customers ask for is what the run offers, and what the judge holds against what they were answered."""

from pathlib import Path

import pytest

from chaos.customers import Customers
from chaos.evidence import Evidence
from chaos.offer import REQUESTS, offer_of
from chaos.strikes.strike import Record
from chaos.timing import LONGEST, RECOVERED_WITHIN, kept_up

RATES = [0.5, 8, 99, 100, 101, 150, 240, 300, 999]


@pytest.mark.parametrize("rate", RATES)
def test_requests_times_the_jobs_in_each_are_the_rate_that_was_asked_for(rate: float) -> None:
    offer = offer_of(rate)

    assert offer.jobs == pytest.approx(rate)
    assert offer.requests <= REQUESTS


@pytest.mark.parametrize("rate", RATES)
def test_customers_ask_for_what_the_judge_takes_for_offered(rate: float, tmp_path: Path) -> None:
    customers = Customers(tmp_path, seed=1, rate=rate, subjects=0)
    seconds = 100.0
    evidence = Evidence(
        records=[Record("kill_worker", 0.0, 0.0, 1, "", away=False)],
        rate=rate,
        loaded_until=RECOVERED_WITHIN + seconds + LONGEST,
    )

    (kept,) = kept_up(evidence)

    assert kept.offered == pytest.approx(customers.offer.jobs * seconds)
